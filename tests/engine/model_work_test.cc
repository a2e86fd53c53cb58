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

// All rows go through the first layer and through K and V of the last.
constexpr std::uint64_t kAllRows = kLayerWeights + 2 * 64 * 64, kLogitRows = kLayerWeights - 2 * 64 * 64 + 80 * 64;

TEST(ModelWork, MatricesAreCountedByTheirWeightsForTheRowsThatMeetThem) {
  const Loaded quantized({.type = DType::kQ8_0});
  const auto config = ModelConfig::load(quantized.file());
  ASSERT_TRUE(config) << config.error().message;
  const MatrixWork layers = layer_work(quantized.file(), *config), output = output_work(quantized.file(), *config);
  EXPECT_EQ(layers.int8_multiply_adds, kAllRows);
  EXPECT_EQ(layers.float_multiply_adds, 0U);
  EXPECT_EQ(layers.bytes, kAllRows / 32 * 34);
  EXPECT_EQ(output.int8_multiply_adds, kLogitRows);
  EXPECT_EQ(output.bytes, kLogitRows / 32 * 34);
}

TEST(ModelWork, PlainFloatsAreFloatWork) {
  const Loaded floats({.tied = false});
  const auto config = ModelConfig::load(floats.file());
  ASSERT_TRUE(config) << config.error().message;
  EXPECT_EQ(layer_work(floats.file(), *config).float_multiply_adds, kAllRows);
  EXPECT_EQ(layer_work(floats.file(), *config).int8_multiply_adds, 0U);
  EXPECT_EQ(output_work(floats.file(), *config).float_multiply_adds, kLogitRows);
}

TEST(ModelWork, AttentionIsCountedForEachDistanceThatLayersLookBack) {
  const Loaded llama({});
  const auto config = ModelConfig::load(llama.file());
  ASSERT_TRUE(config) << config.error().message;
  const std::vector<AttentionWork> all = attention_work(*config, KvType::kF16);
  ASSERT_EQ(all.size(), 2U);
  for (const AttentionWork& layers : all) {
    EXPECT_EQ(layers.num_layers, 1);
    EXPECT_EQ(layers.window, 0);
    EXPECT_EQ(layers.kv_bytes, 2U * 64 * 2);          // K and V, dimensions, bytes
    EXPECT_EQ(layers.float_multiply_adds, 2U * 128);  // scores and values, dimensions
  }
  EXPECT_FALSE(all[0].only_logit_rows);
  EXPECT_TRUE(all[1].only_logit_rows);

  const Loaded gemma({.arch = "gemma3", .layers = 6});
  const auto windowed = ModelConfig::load(gemma.file());
  ASSERT_TRUE(windowed) << windowed.error().message;
  const std::vector<AttentionWork> two = attention_work(*windowed, KvType::kF16);
  ASSERT_EQ(two.size(), 2U);
  EXPECT_EQ(two[0].window, 24);
  EXPECT_EQ(two[0].num_layers, 5);
  EXPECT_EQ(two[1].window, 0);
  EXPECT_EQ(two[1].num_layers, 1);
  EXPECT_TRUE(two[1].only_logit_rows);
}

TEST(ModelWork, InTheLastLayerOnlyRowsWhoseLogitsAreNeededAttend) {
  const RowRange chunk{.first = 10, .count = 6};
  const RowRange all = attending_rows({}, chunk, 2), last = attending_rows({.only_logit_rows = true}, chunk, 2);
  EXPECT_EQ(std::pair(all.first, all.count), std::pair(10, 6));
  EXPECT_EQ(std::pair(last.first, last.count), std::pair(14, 2));
}

}  // namespace
}  // namespace octavo
