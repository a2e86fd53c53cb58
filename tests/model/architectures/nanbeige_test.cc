#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "model/architectures/family_keys.h"

namespace octavo::test {
namespace {

using testing::HasSubstr;

MemorySource nanbeige(std::uint32_t passes) {
  MemorySource source = family_keys("nanbeige");
  source.add("nanbeige.rope.freq_base", 1e4F).add("nanbeige.num_loops", passes);
  return source;
}

TEST(Nanbeige, LayersRunAgainBehindTheNormOfTheOutput) {
  MemorySource source = nanbeige(3);
  const ModelConfig config = ModelConfig::load(source).value();
  ASSERT_EQ(config.num_layers(), 6);
  for (int i = 0; i < 6; ++i) {
    EXPECT_EQ(config.layer(i).repeats, i < 2 ? std::nullopt : std::optional(i % 2)) << i;
    EXPECT_EQ(config.layer(i).ends_pass, i == 1 || i == 3) << i;
    EXPECT_EQ(config.layer(i).kv_shape()->borrows_from, std::nullopt) << "each pass has keys and values of its own";
    EXPECT_EQ(config.layer(i).attention()->rope.layout, RopeLayout::kNeighbours);
  }
  source.add("nanbeige.skip_loop_final_norm", true);
  const ModelConfig skipping = ModelConfig::load(source).value();
  for (int i = 0; i < 6; ++i) EXPECT_FALSE(skipping.layer(i).ends_pass) << i;
}

TEST(Nanbeige, OnePassIsLlama) {
  MemorySource source = nanbeige(1);
  const ModelConfig config = ModelConfig::load(source).value();
  EXPECT_EQ(config.num_layers(), 2);
  EXPECT_FALSE(config.layer(1).ends_pass);
}

TEST(Nanbeige, TooManyLayersInAllPassesAreRefused) {
  EXPECT_THAT(error_of(nanbeige(513)),
              HasSubstr("nanbeige.num_loops is 513 for 2 layers, expected at most 1024 layers in all passes"));
  EXPECT_EQ(error_of(nanbeige(512)), "no error");
}

}  // namespace
}  // namespace octavo::test
