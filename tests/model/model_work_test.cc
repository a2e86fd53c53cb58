// The count of a model's work, against one by hand from the shape of a tiny file.
#include "model/model_work.h"

#include <gtest/gtest.h>

#include <memory>
#include <tuple>

#include "kernels/pack.h"
#include "model/model_state.h"
#include "source/open_model.h"
#include "support/temp_file.h"
#include "support/tiny_model.h"

namespace octavo {
namespace {

using test::TinyModel;

struct Loaded {
  explicit Loaded(const TinyModel& model, bool with_head = false) : path(model.bytes(), ".gguf") {
    source = open_model(path.path()).value();
    config = ModelConfig::load(*source).value();
    if (with_head) config.add_draft_head();
    weights = WeightList::create(*source, config).value();
  }
  MatrixWork of_all_rows() const { return layer_work(config, weights); }
  MatrixWork of_logit_rows() const { return output_work(config, weights); }

  test::TempFile path;
  std::unique_ptr<const ModelSource> source;
  ModelConfig config;
  WeightList weights;
};

// Width 64, 4 query heads and 2 KV heads of 32 dimensions, 96 hidden units, 80 tokens, 2 layers.
constexpr std::uint64_t kLayerWeights = 64 * 128 + 2 * 64 * 64 + 128 * 64 + 3 * 64 * 96;

// All rows go through the first layer and through K and V of the last.
constexpr std::uint64_t kAllRows = kLayerWeights + 2 * 64 * 64, kLogitRows = kLayerWeights - 2 * 64 * 64 + 80 * 64;

TEST(ModelWork, MatricesAreCountedByTheirWeightsForTheRowsThatMeetThem) {
  const Loaded quantized({.type = DType::kQ8_0});
  const MatrixWork layers = quantized.of_all_rows(), output = quantized.of_logit_rows();
  EXPECT_EQ(layers.int8_multiply_adds, kAllRows);
  EXPECT_EQ(layers.float_multiply_adds, 0U);
  EXPECT_EQ(layers.bytes, kAllRows / 32 * 34);
  EXPECT_EQ(output.int8_multiply_adds, kLogitRows);
  EXPECT_EQ(output.bytes, kLogitRows / 32 * 34);
}

TEST(ModelWork, OfAMixtureTheMatricesThatARowMeetsAreCountedAndAnExpertsBytes) {
  const Loaded mixture({.arch = "qwen3moe", .type = DType::kQ8_0});  // 8 experts, of which a row chooses 3
  const std::uint64_t expert = 3 * 64 * 96, attention = kLayerWeights - expert;
  EXPECT_EQ(mixture.of_all_rows().int8_multiply_adds, attention + 3 * expert + 2 * 64 * 64);
  EXPECT_EQ(mixture.of_all_rows().float_multiply_adds, 8U * 64) << "the router";
  EXPECT_EQ(mixture.of_logit_rows().int8_multiply_adds, attention + 3 * expert - 2 * 64 * 64 + 80 * 64);
  const std::vector<ExpertsWork> all = experts_work(mixture.config, mixture.weights, true);
  ASSERT_EQ(all.size(), 2U);
  for (const ExpertsWork& layers : all) {
    EXPECT_EQ(layers.num_experts, 8);
    EXPECT_EQ(layers.num_chosen, 3);
    EXPECT_EQ(layers.bytes, 2 * packed_bytes(DType::kQ8_0, 96, 64) + packed_bytes(DType::kQ8_0, 64, 96));
  }
  EXPECT_FALSE(all[0].only_logit_rows);
  EXPECT_TRUE(all[1].only_logit_rows);
  const Loaded biased({.arch = "gpt-oss", .type = DType::kQ8_0});
  for (const ExpertsWork& layers : experts_work(biased.config, biased.weights, true))
    EXPECT_EQ(layers.bytes, all[0].bytes + (2 * 96 + 64) * sizeof(float));
  const Loaded dense({});
  EXPECT_TRUE(experts_work(dense.config, dense.weights, true).empty());
}

TEST(ModelWork, RowsThatChooseByChanceReadNeverMoreThanAllExperts) {
  const ExpertsWork layers{.num_experts = 128, .num_chosen = 8};
  EXPECT_DOUBLE_EQ(distinct_experts(layers, 1), 8);
  EXPECT_DOUBLE_EQ(distinct_experts(layers, 2), 8 + 8 * (1 - 8.0 / 128));
  EXPECT_NEAR(distinct_experts(layers, 1000), 128, 1e-9);
}

TEST(ModelWork, PlainFloatsAreFloatWork) {
  const Loaded floats({.tied = false});
  EXPECT_EQ(floats.of_all_rows().float_multiply_adds, kAllRows);
  EXPECT_EQ(floats.of_all_rows().int8_multiply_adds, 0U);
  EXPECT_EQ(floats.of_logit_rows().float_multiply_adds, kLogitRows);
}

TEST(ModelWork, AttentionIsCountedForEachDistanceThatLayersLookBack) {
  const std::vector<AttentionWork> all = attention_work(Loaded({}).config, KvType::kF16);
  ASSERT_EQ(all.size(), 2U);
  for (const AttentionWork& layers : all) {
    EXPECT_EQ(layers.num_layers, 1);
    EXPECT_EQ(layers.window, 0);
    EXPECT_EQ(layers.kv_bytes, 2U * 64 * 2);          // K and V, dimensions, bytes
    EXPECT_EQ(layers.float_multiply_adds, 2U * 128);  // scores and values, dimensions
  }
  EXPECT_FALSE(all[0].only_logit_rows);
  EXPECT_TRUE(all[1].only_logit_rows);

  const std::vector<AttentionWork> two = attention_work(Loaded({.arch = "gemma3", .layers = 6}).config, KvType::kF16);
  ASSERT_EQ(two.size(), 2U);
  EXPECT_EQ(two[0].window, 24);
  EXPECT_EQ(two[0].num_layers, 5);
  EXPECT_EQ(two[1].window, 0);
  EXPECT_EQ(two[1].num_layers, 1);
  EXPECT_TRUE(two[1].only_logit_rows);
}

// The first of two layers is a convolution of 4 taps over 64 channels: its state is read and written.
TEST(ModelWork, AShortConvolutionLooksBackAtItsStateAlone) {
  const Loaded loaded({.arch = "lfm2"});
  const std::vector<AttentionWork> all = attention_work(loaded.config, KvType::kF16);
  ASSERT_EQ(all.size(), 2U);
  EXPECT_EQ(all[0].window, 1);
  EXPECT_EQ(all[0].kv_bytes, 2U * 3 * 64 * sizeof(float));
  EXPECT_EQ(all[0].float_multiply_adds, (4U + 2) * 64);
  EXPECT_EQ(all[1].window, 0);
  const std::uint64_t of_convolution = 4 * 64 * 64, ffn = 3 * 64 * 96, kv = 2 * 64 * 64;
  EXPECT_EQ(loaded.of_all_rows().float_multiply_adds, of_convolution + ffn + kv);
}

// The first of two layers is Mamba-2 with 4 heads of 24 dimensions, states of 18 and 2 groups.
TEST(ModelWork, Mamba2LooksBackAtItsStateAlone) {
  const Loaded loaded({.arch = "granitehybrid"});
  const std::vector<AttentionWork> all = attention_work(loaded.config, KvType::kF16);
  ASSERT_EQ(all.size(), 2U);
  EXPECT_EQ(all[0].window, 1);
  EXPECT_EQ(all[0].num_layers, 1);
  EXPECT_EQ(all[0].kv_bytes, 2U * (4 * 18 * 32 + 3 * 168) * sizeof(float));
  EXPECT_EQ(all[0].float_multiply_adds, 3U * 18 * 96);
  const std::uint64_t of_mixer = (96 + 168 + 4) * 64 + 64 * 96, ffn = 3 * 64 * 96, kv = 2 * 64 * 64;
  EXPECT_EQ(loaded.of_all_rows().float_multiply_adds, of_mixer + ffn + kv);
}

TEST(ModelWork, OfALastLayerWithMamba2AllRowsMeetWhatItsStateIsMadeOf) {
  const Loaded loaded({.arch = "granitehybrid", .layers = 3});
  EXPECT_EQ(loaded.config.last_layer_with_state(), 2);
  const std::uint64_t first = (96 + 168 + 4) * 64 + 64 * 96 + 3 * 64 * 96;
  EXPECT_EQ(loaded.of_all_rows().float_multiply_adds, first + kLayerWeights + (168 + 4) * 64);
}

// Of gemma4's six layers the last two read the keys and values of earlier ones, the third and the sixth have wide
// heads.
TEST(ModelWork, LayersBehindTheLastThatWritesStateAreForLogitRowsOnly) {
  const Loaded loaded({.arch = "gemma4", .layers = 6});
  ASSERT_EQ(loaded.config.last_layer_with_state(), 3);
  const std::uint64_t own_embedding = 2 * 32 * 64, narrow = 2 * 64 * 128, wide = 2 * 64 * 256;  // Q and the output
  const std::uint64_t k = 64 * 64, ffn = 3 * 64 * 96;
  const std::uint64_t first = narrow + 2 * k + ffn + own_embedding, third = wide + k + ffn + own_embedding;
  EXPECT_EQ(loaded.of_all_rows().float_multiply_adds, 2 * first + third + 2 * k + 6 * 32 * 64);
  const std::uint64_t borrowing = narrow + wide + 2 * (2 * ffn + own_embedding);
  EXPECT_EQ(loaded.of_logit_rows().float_multiply_adds, first - 2 * k + borrowing + 80 * 64);

  const std::vector<AttentionWork> all = attention_work(loaded.config, KvType::kF16);
  ASSERT_EQ(all.size(), 4U);
  const std::vector<std::tuple<int, bool, int>> expected = {{24, false, 2}, {0, false, 1}, {24, true, 2}, {0, true, 1}};
  for (std::size_t i = 0; i < all.size(); ++i)
    EXPECT_EQ(std::tuple(all[i].window, all[i].only_logit_rows, all[i].num_layers), expected[i]) << i;
  EXPECT_EQ(all[3].kv_bytes, 2U * 64 * 2) << "as many as its lender's";
  EXPECT_EQ(all[3].float_multiply_adds, 2U * 256);
}

// Every row goes through all layers, and leaves keys and values for the draft head.
TEST(ModelWork, ADraftHeadNeedsTheLastLayerOfEveryRowAndHasKeysAndValuesOfItsOwn) {
  const TinyModel model{.arch = "qwen35", .head = TinyModel::Head::kRandom};
  const Loaded plain(model), with_head(model, true);
  const std::uint64_t kv = 2 * 64 * 64, projection = 64 * 128, output = 80 * 64;
  const std::uint64_t last = plain.of_logit_rows().float_multiply_adds - output;
  EXPECT_EQ(with_head.of_logit_rows().float_multiply_adds, output);
  EXPECT_EQ(with_head.of_all_rows().float_multiply_adds,
            plain.of_all_rows().float_multiply_adds + last + kv + projection);
  for (const AttentionWork& layers : attention_work(with_head.config, KvType::kF16))
    EXPECT_FALSE(layers.only_logit_rows);
  const auto bytes = [](const Loaded& loaded) { return kv_need(loaded.config, KvType::kF16, 16, 16).bytes_per_token; };
  EXPECT_EQ(bytes(with_head), 2 * bytes(plain)) << "one layer of two attends";
}

TEST(ModelWork, InTheLastLayerOnlyRowsWhoseLogitsAreNeededAttend) {
  const RowRange chunk{.first = 10, .count = 6};
  const RowRange all = attending_rows({}, chunk, 2), last = attending_rows({.only_logit_rows = true}, chunk, 2);
  EXPECT_EQ(std::pair(all.first, all.count), std::pair(10, 6));
  EXPECT_EQ(std::pair(last.first, last.count), std::pair(14, 2));
}

}  // namespace
}  // namespace octavo
