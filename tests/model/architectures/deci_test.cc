#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "model/architectures/family_keys.h"

namespace octavo::test {
namespace {

using testing::HasSubstr;

MemorySource deci_keys(const std::vector<std::int32_t>& heads, const std::vector<std::int32_t>& kv_heads,
                       const std::vector<std::int32_t>& widths) {
  MemorySource source = family_keys("deci", 4);
  source.add_array("deci.attention.head_count", heads).add_array("deci.attention.head_count_kv", kv_heads);
  source.add_array("deci.feed_forward_length", widths);
  return source;
}

TEST(Deci, EachLayerHasHeadsAndAFeedForwardOfItsOwnSizeOrNone) {
  const ModelConfig config = ModelConfig::load(deci_keys({4, 0, 4, 0}, {2, 0, 1, 0}, {96, 32, 0, 0})).value();
  EXPECT_EQ(config.layer(0).attention()->num_kv_heads, 2);
  EXPECT_EQ(config.layer(0).attention()->head_dim, 16);
  EXPECT_EQ(config.layer(0).attention()->rope.layout, RopeLayout::kNeighbours);
  EXPECT_EQ(config.layer(0).attention()->rope.factors, Presence::kOptional);
  EXPECT_EQ(std::get<DenseFfnSpec>(config.layer(0).feed_forward).width, 96);
  EXPECT_FALSE(config.layer(1).has_mixer());
  EXPECT_EQ(std::get<DenseFfnSpec>(config.layer(1).feed_forward).width, 32);
  EXPECT_EQ(config.layer(2).attention()->num_kv_heads, 1);
  EXPECT_FALSE(config.layer(2).has_feed_forward());
  EXPECT_FALSE(config.layer(3).has_mixer() || config.layer(3).has_feed_forward());
  EXPECT_EQ(config.last_layer_with_state(), 2);
}

TEST(Deci, OneNumberIsThatOfAllLayers) {
  const ModelConfig config = ModelConfig::load(family_keys("deci")).value();
  EXPECT_EQ(config.layer(1).attention()->num_heads, 4);
  EXPECT_EQ(std::get<DenseFfnSpec>(config.layer(1).feed_forward).width, 96);
}

TEST(Deci, AMatrixInThePlaceOfAttentionIsRefused) {
  EXPECT_THAT(error_of(deci_keys({4, 4, 4, 4}, {2, 0, 1, 2}, {96, 96, 96, 96})),
              HasSubstr("deci.attention.head_count_kv is 0 for a layer with 4 heads"));
}

TEST(Deci, ALayerMustAttend) {
  EXPECT_THAT(error_of(deci_keys({0, 0, 0, 0}, {0, 0, 0, 0}, {96, 96, 96, 96})),
              HasSubstr("deci.attention.head_count is 0 for all 4 layers, expected one that attends at least"));
  EXPECT_THAT(error_of(deci_keys({-1, 4, 4, 4}, {2, 2, 2, 2}, {96, 96, 96, 96})),
              HasSubstr("deci.attention.head_count is -1 for layer 0, expected 0 to"));
}

}  // namespace
}  // namespace octavo::test
