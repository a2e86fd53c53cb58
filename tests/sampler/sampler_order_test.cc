#include "sampler/sampler_order.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace octavo {
namespace {

using enum SamplerStep;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::ElementsAreArray;
using ::testing::HasSubstr;

std::string error_of(std::string_view text) {
  const auto order = SamplerOrder::parse(text);
  return order ? std::string() : order.error().message;
}

TEST(SamplerOrder, TheDefaultWrittenOutIsTheDefault) {
  const auto order = SamplerOrder::parse("penalties;dry;top_n_sigma;top_k;typ_p;top_p;min_p;xtc;temperature");
  ASSERT_TRUE(order);
  EXPECT_THAT(order->steps, ElementsAreArray(kDefaultSamplerOrder));
  SamplingParams params{.repetition_penalty = 1.5F, .dry = {.multiplier = 0.8F}};
  order->apply_to(params);
  EXPECT_EQ(params.repetition_penalty, 1.5F);
  EXPECT_EQ(params.dry.multiplier, 0.8F);
}

TEST(SamplerOrder, NamesAreReadAsOtherProgramsSpellThem) {
  const auto order = SamplerOrder::parse("temp;top-p;typical;top-k");
  ASSERT_TRUE(order);
  EXPECT_THAT(order->steps, ElementsAre(kTemperature, kTopP, kTypical, kTopK));
  EXPECT_TRUE(SamplerOrder::parse(std::vector<std::string>{"typical_p", "top-nsigma"}));
}

TEST(SamplerOrder, PenaltiesAndDryThatAreNotNamedAreOff) {
  SamplingParams params{.repetition_penalty = 1.5F, .frequency_penalty = 1, .dry = {.multiplier = 0.8F}};
  SamplerOrder::parse("top_k;temperature")->apply_to(params);
  EXPECT_EQ(params.repetition_penalty, 1);
  EXPECT_EQ(params.frequency_penalty, 0);
  EXPECT_EQ(params.dry.multiplier, 0);
  EXPECT_THAT(params.order, ElementsAre(kTopK, kTemperature));
}

TEST(SamplerOrder, ErrorsSayWhatWasFoundAndExpected) {
  EXPECT_THAT(error_of("top_k;top_q"), AllOf(HasSubstr("'top_q'"), HasSubstr("typ_p"), HasSubstr("penalties")));
  EXPECT_THAT(error_of("top_k;top-k"), HasSubstr("top_k twice"));
  EXPECT_THAT(error_of("dry;dry;top_k"), HasSubstr("dry twice"));
  EXPECT_THAT(error_of("top_k;penalties"), AllOf(HasSubstr("penalties behind top_k"), HasSubstr("in front")));
  EXPECT_THAT(error_of(";"), HasSubstr("no step"));
}

}  // namespace
}  // namespace octavo
