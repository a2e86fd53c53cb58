#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "model/architectures/family_keys.h"

namespace octavo::test {
namespace {

TEST(Phi3, GateAndUpLieInOneMatrixAndAWindowIsNotComputed) {
  MemorySource source = family_keys("phi3");
  source.add("phi3.rope.dimension_count", 12U).add("phi3.attention.sliding_window", 7U);
  const ModelConfig config = ModelConfig::load(source).value();
  const AttentionSpec& attention = *config.layer(1).attention();
  EXPECT_TRUE(std::get<DenseFfnSpec>(config.layer(1).feed_forward).gate_in_up);
  EXPECT_EQ(config.logit_bias, Presence::kOptional);
  EXPECT_EQ(attention.window, 0);
  EXPECT_EQ(attention.rope.num_rotated, 12);
  EXPECT_EQ(attention.rope.base, 10000.0);
  EXPECT_EQ(attention.rope.factors, Presence::kAbsent) << "models of 4,096 tokens have none";
}

// Files of Phi have the lists, and no rope.scaling.type.
TEST(Phi3, TheServedContextChoosesBetweenTheListsOfFactors) {
  MemorySource source = family_keys("phi3");
  source.add("phi3.rope.scaling.original_context_length", 64U).add("phi3.rope.scaling.attn_factor", 1.19F);
  for (const char* name : {"rope_factors_short.weight", "rope_factors_long.weight"})
    source.add_tensor(name, {8}, DType::kF32, std::string(32, '\0'));
  const auto rope = [&](int served) { return ModelConfig::load(source, Math(), served)->layer(0).attention()->rope; };
  EXPECT_EQ(rope(0).list, RopeFactors::kOfLongContexts) << "the model's 512 tokens are more than 64";
  EXPECT_EQ(rope(65).list, RopeFactors::kOfLongContexts);
  EXPECT_EQ(rope(64).list, RopeFactors::kOfShortContexts);
  EXPECT_EQ(rope(64).factors, Presence::kRequired);
  EXPECT_FLOAT_EQ(static_cast<float>(rope(64).scaling.magnitude), 1.19F) << "whichever list it is";
}

}  // namespace
}  // namespace octavo::test
