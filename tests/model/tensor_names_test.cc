#include "model/tensor_names.h"

#include <gtest/gtest.h>

#include <set>

#include "model/model_part.h"

namespace octavo {
namespace {

using namespace tensor_names;

constexpr std::string_view kOfLayers[] = {
    kAttentionNorm, kQ,           kK,         kV,          kQBias,       kKBias,           kVBias,
    kQNorm,         kKNorm,       kFfnNorm,   kGate,       kUp,          kAttentionOutput, kPostAttentionNorm,
    kDown,          kPostFfnNorm, kDeltaQkv,  kDeltaGate,  kConvolution, kDecay,           kDecayBias,
    kDecayScale,    kBeta,        kDeltaNorm, kDeltaOutput};

TEST(TensorNames, ALayersTensorIsNamedWithItsNumber) {
  EXPECT_EQ(of_layer(0, kQ), "blk.0.attn_q.weight");
  EXPECT_EQ(of_layer(127, kPostFfnNorm), "blk.127.post_ffw_norm.weight");
}

TEST(TensorNames, NoTwoTensorsHaveOneName) {
  std::set<std::string_view> names(std::begin(kOfLayers), std::end(kOfLayers));
  names.insert({kEmbedding, kOutput, kOutputNorm, kRopeFactors});
  EXPECT_EQ(names.size(), std::size(kOfLayers) + 4);
}

TEST(TensorNames, EachIsCountedAsItsPartOfTheModel) {
  EXPECT_EQ(part_of(kEmbedding), ModelPart::kEmbedding);
  EXPECT_EQ(part_of(kOutput), ModelPart::kOutput);
  EXPECT_EQ(part_of(kRopeFactors), ModelPart::kOther);
  for (const std::string_view name : {kQ, kK, kV, kQBias, kKBias, kVBias, kAttentionOutput})
    EXPECT_EQ(part_of(of_layer(3, name)), ModelPart::kAttention) << name;
  for (const std::string_view name :
       {kDeltaQkv, kDeltaGate, kConvolution, kDecay, kDecayBias, kDecayScale, kBeta, kDeltaOutput})
    EXPECT_EQ(part_of(of_layer(3, name)), ModelPart::kRecurrence) << name;
  for (const std::string_view name : {kGate, kUp, kDown})
    EXPECT_EQ(part_of(of_layer(3, name)), ModelPart::kFeedForward) << name;
  EXPECT_EQ(part_of(kOutputNorm), ModelPart::kNorms);
  for (const std::string_view name :
       {kAttentionNorm, kQNorm, kKNorm, kPostAttentionNorm, kFfnNorm, kPostFfnNorm, kDeltaNorm})
    EXPECT_EQ(part_of(of_layer(3, name)), ModelPart::kNorms) << name;
}

}  // namespace
}  // namespace octavo
