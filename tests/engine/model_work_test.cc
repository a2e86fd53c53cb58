// What a model's work is counted to be, by hand from the shape of a tiny file.
#include "engine/model_work.h"

#include <gtest/gtest.h>

#include "support/tiny_model.h"

namespace octavo {
namespace {

using test::TinyModel;

struct Loaded {
  explicit Loaded(const TinyModel& model) : bytes(model.bytes()), aligned((bytes.size() + 7) / 8) {
    std::memcpy(aligned.data(), bytes.data(), bytes.size());
  }
  GgufFile file() const {
    return GgufFile::parse(std::as_bytes(std::span(aligned)).first(bytes.size()), "tiny").value();
  }
  std::string bytes;
  std::vector<std::uint64_t> aligned;
};

// Width 64, 4 query heads and 2 KV heads of 32 dimensions, 96 hidden units, 80 tokens, 2 layers.
constexpr std::uint64_t kLayerWeights = 64 * 128 + 2 * 64 * 64 + 128 * 64 + 3 * 64 * 96;

TEST(ModelWork, MatricesOfLayersAndTheOutputAreCountedByTheirWeights) {
  const Loaded quantized({.type = DType::kQ8_0});
  const MatrixWork layers = layer_work(quantized.file()), output = output_work(quantized.file());
  EXPECT_EQ(layers.int8_multiply_adds, 2 * kLayerWeights);
  EXPECT_EQ(layers.float_multiply_adds, 0U);
  EXPECT_EQ(layers.bytes, 2 * kLayerWeights / 32 * 34);
  EXPECT_EQ(output.int8_multiply_adds, 80U * 64U);
  EXPECT_EQ(output.bytes, 80U * 64U / 32U * 34U);
}

TEST(ModelWork, PlainFloatsAreFloatWork) {
  const Loaded floats({.tied = false});
  EXPECT_EQ(layer_work(floats.file()).float_multiply_adds, 2 * kLayerWeights);
  EXPECT_EQ(layer_work(floats.file()).int8_multiply_adds, 0U);
  EXPECT_EQ(output_work(floats.file()).float_multiply_adds, 80U * 64U);
}

TEST(ModelWork, AttentionIsCountedForEachDistanceThatLayersLookBack) {
  const Loaded llama({});
  const auto config = ModelConfig::load(llama.file());
  ASSERT_TRUE(config) << config.error().message;
  const std::vector<AttentionWork> all = attention_work(*config, KvType::kF16);
  ASSERT_EQ(all.size(), 1U);
  EXPECT_EQ(all[0].num_layers, 2);
  EXPECT_EQ(all[0].window, 0);
  EXPECT_EQ(all[0].kv_bytes, 2U * 2 * 64 * 2);          // layers, K and V, dimensions, bytes
  EXPECT_EQ(all[0].float_multiply_adds, 2U * 2 * 128);  // layers, scores and values, dimensions

  const Loaded gemma({.arch = "gemma3", .layers = 6});
  const auto windowed = ModelConfig::load(gemma.file());
  ASSERT_TRUE(windowed) << windowed.error().message;
  const std::vector<AttentionWork> two = attention_work(*windowed, KvType::kF16);
  ASSERT_EQ(two.size(), 2U);
  EXPECT_EQ(two[0].window, 24);
  EXPECT_EQ(two[0].num_layers, 5);
  EXPECT_EQ(two[1].window, 0);
  EXPECT_EQ(two[1].num_layers, 1);
}

}  // namespace
}  // namespace octavo
