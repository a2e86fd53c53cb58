// Tensors that text needs nothing of, and the memory of the others.
#include "model/weight_need.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cpu/weights.h"
#include "cpu/weights_fixture.h"
#include "support/tiny_model.h"

namespace octavo::test {
namespace {

using testing::HasSubstr;

void add_floats(MemorySource& source, const std::string& name, std::uint64_t cols, std::uint64_t rows) {
  source.add_tensor(name, {cols, rows}, DType::kF32, std::string(cols * rows * sizeof(float), '\0'));
}

/// Adding these tensors changes neither the model nor its memory.
void expect_skipped(const TinyModel& model, const std::vector<std::string>& names) {
  MemorySource source = model.source();
  const ModelConfig config = ModelConfig::load(source).value();
  const WeightNeed before = weight_need(source, config).value();
  for (const std::string& name : names) {
    EXPECT_TRUE(is_skipped(config, name)) << name;
    add_floats(source, name, 64, 32);
  }
  const WeightNeed need = weight_need(source, config).value();
  EXPECT_EQ(need.packed_bytes, before.packed_bytes);
  EXPECT_EQ(need.mapped_bytes, before.mapped_bytes);
  EXPECT_EQ(need.vector_bytes, before.vector_bytes);
  EXPECT_EQ(try_load(source, config).value().total_bytes(), need.packed_bytes + need.vector_bytes);
}

TEST(WeightNeed, EncodersOfPicturesAndSoundAreSkipped) {
  for (const char* arch : {"llama", "gemma4"})
    expect_skipped({.arch = arch}, {"v.blk.0.attn_q.weight", "a.blk.7.ffn_up.weight", "mm.input_projection.weight"});
}

TEST(WeightNeed, PartsOfAHeadWithoutScoresAreSkipped) {
  expect_skipped({.arch = "qwen3"}, {"cls.output.bias", "cls.weight"});
}

TEST(WeightNeed, HeadsThatRankOrEmbedAreLoaded) {
  const TinyModel model{.arch = "qwen3"};
  MemorySource source = model.source();
  add_floats(source, "cls.output.weight", 64, 2);
  add_floats(source, "dense_2.weight", 64, 96);
  add_floats(source, "dense_3.weight", 96, 48);
  const ModelConfig config = ModelConfig::load(source).value();
  EXPECT_EQ(config.head.num_scores, 2);
  EXPECT_EQ(config.head.width, 48);
  const Weights weights = try_load(source, config).value();
  EXPECT_EQ(weights.head.scores.rows, 2);
  EXPECT_EQ(weights.head.vector_up.rows, 96);
  EXPECT_EQ(weights.head.vector.rows, 48);
}

TEST(WeightNeed, KeysAndValuesOfLayersThatBorrowAreSkipped) {
  expect_skipped({.arch = "gemma4", .layers = 5},
                 {"blk.3.attn_k.weight", "blk.3.attn_v.weight", "blk.4.attn_k_norm.weight", "blk.4.attn_k.weight"});
}

TEST(WeightNeed, NothingElseIsSkipped) {
  const TinyModel model{.arch = "gemma4", .layers = 5};
  const ModelConfig config = ModelConfig::load(model.source()).value();
  const MemorySource whole = model.source();
  for (const SourceTensor& tensor : whole.tensors()) EXPECT_FALSE(is_skipped(config, tensor.name));
  for (const std::string name : {"blk.2.attn_k.weight", "blk.3.attn_k.bias", "blk.3.other", "blk.5.attn_k.weight",
                                 "blk.-1.attn_k.weight", "blk.x", "blk.3", "vision", "a", "mmx"}) {
    EXPECT_FALSE(is_skipped(config, name)) << name;
    if (model.source().find_tensor(name) != nullptr) continue;
    MemorySource source = model.source();
    add_floats(source, name, 64, 32);
    const Result<Weights> weights = try_load(source, config);
    ASSERT_FALSE(weights) << name;
    EXPECT_THAT(weights.error().message, HasSubstr("tensor '" + name + "' is not part of architecture gemma4"));
  }
}

TEST(WeightNeed, VectorsEndAtCacheLines) {
  EXPECT_EQ(vector_floats(1), 16U);
  EXPECT_EQ(vector_floats(16), 16U);
  EXPECT_EQ(vector_floats(17), 32U);
}

}  // namespace
}  // namespace octavo::test
