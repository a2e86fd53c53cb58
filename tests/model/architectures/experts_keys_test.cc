// Keys of mixtures into specs, for the families that have them.
#include "model/architectures/experts_keys.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "model/architectures/family_keys.h"

namespace octavo::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;

MemorySource mixture(std::uint64_t experts = 8, std::uint64_t chosen = 2) {
  MemorySource source = family_keys("llama");
  source.add("llama.expert_count", experts).add("llama.expert_used_count", chosen);
  return source;
}

TEST(ExpertsKeys, ANumberThatNoMixtureHasIsRefused) {
  EXPECT_THAT(error_of(mixture(1ULL << 31)), HasSubstr("llama.expert_count is 2147483648, expected 1 to 4096"));
  EXPECT_THAT(error_of(mixture(4097)), HasSubstr("llama.expert_count is 4097, expected 1 to 4096"));
  EXPECT_THAT(error_of(mixture(8, 0)), HasSubstr("llama.expert_used_count is 0, expected 1 to 64"));
  EXPECT_THAT(error_of(mixture(100, 65)), HasSubstr("llama.expert_used_count is 65, expected 1 to 64"));
  EXPECT_THAT(error_of(mixture(8, 9)), HasSubstr("llama.expert_used_count is 9, but llama.expert_count is 8"));
  EXPECT_EQ(error_of(mixture(8, 8)), "no error");
}

TEST(ExpertsKeys, AScaleOfZeroIsNone) {
  for (const float scale : {0.0F, 1.0F, 2.5F}) {
    MemorySource source = mixture();
    source.add("llama.expert_weights_scale", scale);
    const ModelConfig config = ModelConfig::load(source).value();
    EXPECT_EQ(std::get<ExpertsFfnSpec>(config.layer(0).feed_forward).router.weights_scale, scale == 0 ? 1.0F : scale);
  }
}

TEST(ExpertsKeys, MixturesOfOtherKindsAreRefusedByTheirKey) {
  const auto with = [](std::string_view key, auto value) {
    MemorySource source = mixture();
    source.add(key, value);
    return error_of(source);
  };
  EXPECT_EQ(with("llama.expert_gating_func", 1U), "no error");
  EXPECT_THAT(with("llama.expert_gating_func", 2U),
              AllOf(HasSubstr("llama.expert_gating_func is 2"), HasSubstr("not supported")));
  EXPECT_THAT(with("llama.expert_group_count", 4U), HasSubstr("llama.expert_group_count is 4"));
  EXPECT_THAT(with("llama.expert_shared_count", 1U), HasSubstr("llama.expert_shared_count is 1"));
  EXPECT_THAT(with("llama.leading_dense_block_count", 1U), HasSubstr("llama.leading_dense_block_count is 1"));
  EXPECT_EQ(with("llama.expert_weights_norm", true), "no error");
  EXPECT_THAT(with("llama.expert_weights_norm", false), HasSubstr("llama.expert_weights_norm is false"));
}

}  // namespace
}  // namespace octavo::test
