// Whole models of a mixture on a card, which the stand-in for its driver emulates: logits and counts of a step are
// those of the processor.
#include <dlfcn.h>
#include <gtest/gtest.h>

#include <cstring>
#include <limits>
#include <memory>
#include <random>
#include <stdexcept>
#include <vector>

#include "base/to_size.h"
#include "cpu/cpu_runner.h"
#include "gpu/kernels_ptx.h"
#include "gpu/make_card_stage.h"
#include "support/tiny_model.h"

namespace octavo::gpu {
namespace {

constexpr int kVocab = 80, kWidth = 64, kBadToken = 7;

/// The numbers that a step gives.
struct Given {
  std::vector<float> logits;
  std::uint64_t expert_bytes = 0;
  std::vector<std::int32_t> not_finite, spoiled;
};

/// A model with some of its layers on the card.
class Loaded {
 public:
  Loaded(const test::MemorySource& source, int gpu_layers) {
    Result<ModelConfig> config = ModelConfig::load(source);
    if (!config) throw std::runtime_error(config.error().message);
    Result<WeightList> weights = WeightList::create(source, *config);
    if (!weights) throw std::runtime_error(weights.error().message);
    RunnerRequest request{.source = source,
                          .config = *config,
                          .weights = *weights,
                          .options = {.bits = Bits::kPortable,
                                      .device = gpu_layers > 0 ? Device::kCuda : Device::kCpu,
                                      .gpu_layers = gpu_layers,
                                      .kv_memory_bytes = 1U << 20},
                          .pool = pool_,
                          .kv_budget = budget_};
    const Result<MakeStage> make = card_stage_for(request);
    if (!make) throw std::runtime_error(make.error().message);
    Result<std::unique_ptr<CpuRunner>> runner = CpuRunner::load(std::move(request), *make);
    if (!runner) throw std::runtime_error(runner.error().message);
    runner_ = std::move(*runner);
  }

  /// Sequences from their first tokens on, each in a block of its own; logits of all rows or of the last of each.
  Given step(const std::vector<std::vector<std::int32_t>>& sequences, bool all) {
    Batch batch;
    batch.groups.resize(runner_->info().room.num_blocks.size());
    batch.clear();
    for (const std::vector<std::int32_t>& tokens : sequences) {
      for (std::size_t i = 0; i < tokens.size(); ++i) {
        if (all || i + 1 == tokens.size()) batch.logit_rows.push_back(batch.num_rows());
        batch.add_row(tokens[i], static_cast<std::int32_t>(i), static_cast<std::int32_t>(i));
      }
      batch.seq_begin.push_back(batch.num_rows());
      batch.kv_len.push_back(static_cast<std::int32_t>(tokens.size()));
      for (Batch::Group& group : batch.groups) {
        group.block_ids.push_back(static_cast<std::int32_t>(group.block_ids.size()));
        group.block_begin.push_back(static_cast<std::int32_t>(group.block_ids.size()));
      }
    }
    const ThreadPool::Step workers(pool_);
    runner_->begin(batch);
    const BatchOutcome outcome = runner_->wait();
    Given given{.logits = {},
                .expert_bytes = outcome.expert_bytes,
                .not_finite = {outcome.not_finite.begin(), outcome.not_finite.end()},
                .spoiled = {outcome.spoiled.begin(), outcome.spoiled.end()}};
    const std::span<const float> logits = runner_->logits(0, static_cast<int>(batch.logit_rows.size()));
    given.logits.assign(logits.begin(), logits.end());
    return given;
  }

 private:
  ThreadPool pool_{1};
  MemoryBudget budget_{0};
  std::unique_ptr<CpuRunner> runner_;
};

class MixturesOnACard : public ::testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    if (kernels_ptx().empty()) GTEST_SKIP() << "not run, this program has no kernels for cards";
    // Whoever asks for libcuda.so.1 later gets this one.
    ASSERT_NE(dlopen(OCTAVO_STANDIN_CUDA, RTLD_NOW | RTLD_LOCAL), nullptr) << dlerror();
  }

  /// Three layers, with a token whose embedding is no number.
  static test::MemorySource source() {
    const test::TinyModel model{
        .arch = GetParam(), .layers = 3, .type = DType::kQ8_0, .without = {"token_embd.weight"}};
    std::mt19937 random(3);
    std::normal_distribution<float> normal;
    std::vector<float> embedding(to_size(kVocab * kWidth));
    for (float& x : embedding) x = normal(random);
    embedding[kBadToken * kWidth + 5] = std::numeric_limits<float>::quiet_NaN();
    test::MemorySource source = model.source();
    source.add_tensor("token_embd.weight", {kWidth, kVocab}, DType::kF32, test::bytes_of(embedding));
    return source;
  }
};

TEST_P(MixturesOnACard, GiveLogitsAndCountsOfTheProcessor) {
  const test::MemorySource model = source();
  // Behind a token that is no number keys and values are any.
  const std::vector<std::vector<std::int32_t>> one = {{5}}, several = {{1, 2, 3, 4}, {9}, {8, 6, 8, 6, 8, 6, 11}},
                                               bad = {{1, 2}, {3, kBadToken}, {kBadToken}, {5}};
  Loaded processor(model, 0);
  for (const int layers : {1, 3, 4}) {
    Loaded card(model, layers);
    for (const auto& sequences : {one, several, bad})
      for (const bool all : {true, false}) {
        const Given expected = processor.step(sequences, all), found = card.step(sequences, all);
        EXPECT_GT(expected.expert_bytes, 0U);
        EXPECT_EQ(found.expert_bytes, expected.expert_bytes) << layers;
        EXPECT_EQ(found.not_finite, expected.not_finite) << layers;
        EXPECT_EQ(found.spoiled, expected.spoiled) << layers;
        if (!expected.not_finite.empty()) continue;
        EXPECT_EQ(std::memcmp(found.logits.data(), expected.logits.data(), expected.logits.size() * sizeof(float)), 0);
      }
  }
  EXPECT_EQ(processor.step(bad, false).not_finite, (std::vector<std::int32_t>{1, 2}));
}

INSTANTIATE_TEST_SUITE_P(Families, MixturesOnACard, ::testing::Values("qwen3moe", "gpt-oss"));

}  // namespace
}  // namespace octavo::gpu
