#include "source/tensor_names.h"

#include <gtest/gtest.h>

#include <set>

#include "model/model_part.h"

namespace octavo {
namespace {

using namespace tensor_names;

constexpr std::string_view kOfLayers[] = {kAttentionNorm,
                                          kQ,
                                          kK,
                                          kV,
                                          kQBias,
                                          kKBias,
                                          kVBias,
                                          kQNorm,
                                          kKNorm,
                                          kFfnNorm,
                                          kGate,
                                          kUp,
                                          kAttentionOutput,
                                          kPostAttentionNorm,
                                          kDown,
                                          kPostFfnNorm,
                                          kQkv,
                                          kQkvBias,
                                          kGateOfMixer,
                                          kConvolution,
                                          kDecay,
                                          kDecayBias,
                                          kDecayScale,
                                          kBeta,
                                          kDeltaNorm,
                                          kDeltaOutput,
                                          kPerLayerGate,
                                          kPerLayerUp,
                                          kPerLayerPostNorm,
                                          kOutputScale};

TEST(TensorNames, ALayersTensorIsNamedWithItsNumber) {
  EXPECT_EQ(of_layer(0, kQ), "blk.0.attn_q.weight");
  EXPECT_EQ(of_layer(127, kPostFfnNorm), "blk.127.post_ffw_norm.weight");
}

TEST(TensorNames, NoTwoTensorsHaveOneName) {
  std::set<std::string_view> names(std::begin(kOfLayers), std::end(kOfLayers));
  names.insert({kEmbedding, kOutput, kOutputNorm, kRopeFactors, kPerLayerTable, kPerLayerProjection, kPerLayerNorm});
  EXPECT_EQ(names.size(), std::size(kOfLayers) + 7);
}

TEST(TensorNames, ALayersTensorIsSplitIntoItsNumberAndName) {
  const std::optional<OfLayer> split_name = split("blk.127.post_ffw_norm.weight");
  ASSERT_TRUE(split_name);
  EXPECT_EQ(split_name->layer, 127);
  EXPECT_EQ(split_name->name, kPostFfnNorm);
  for (const char* other :
       {"", "blk", "blk.", "blk..x", "blk.x.y", "blk.1", "blk.-1.x", "blk.99999999999.x", "v.blk.1.x"})
    EXPECT_FALSE(split(other)) << other;
}

TEST(TensorNames, EachIsCountedAsItsPartOfTheModel) {
  EXPECT_EQ(part_of(kEmbedding), ModelPart::kEmbedding);
  for (const std::string_view name : {kOutput, kOutputBias}) EXPECT_EQ(part_of(name), ModelPart::kOutput) << name;
  EXPECT_EQ(part_of(kRopeFactors), ModelPart::kOther);
  for (const char* name : {"cls.output.weight", "cls.norm.weight"}) EXPECT_EQ(part_of(name), ModelPart::kRanking);
  for (const std::string_view name : {kPerLayerTable, kPerLayerProjection})
    EXPECT_EQ(part_of(name), ModelPart::kPerLayer) << name;
  for (const std::string_view name : {kPerLayerGate, kPerLayerUp})
    EXPECT_EQ(part_of(of_layer(3, name)), ModelPart::kPerLayer) << name;
  EXPECT_EQ(part_of(of_layer(3, kOutputScale)), ModelPart::kOther);
  for (const std::string_view name : {kQ, kK, kV, kQBias, kKBias, kVBias, kAttentionOutput})
    EXPECT_EQ(part_of(of_layer(3, name)), ModelPart::kAttention) << name;
  for (const std::string_view name :
       {kQkv, kGateOfMixer, kConvolution, kDecay, kDecayBias, kDecayScale, kBeta, kDeltaOutput})
    EXPECT_EQ(part_of(of_layer(3, name)), ModelPart::kRecurrence) << name;
  for (const std::string_view name : {kGate, kUp, kDown, kGateBias, kUpBias, kDownBias})
    EXPECT_EQ(part_of(of_layer(3, name)), ModelPart::kFeedForward) << name;
  for (const std::string_view name : {kOutputNorm, kPerLayerNorm}) EXPECT_EQ(part_of(name), ModelPart::kNorms) << name;
  for (const std::string_view name :
       {kAttentionNorm, kQNorm, kKNorm, kPostAttentionNorm, kFfnNorm, kPostFfnNorm, kDeltaNorm, kPerLayerPostNorm})
    EXPECT_EQ(part_of(of_layer(3, name)), ModelPart::kNorms) << name;
}

}  // namespace
}  // namespace octavo
