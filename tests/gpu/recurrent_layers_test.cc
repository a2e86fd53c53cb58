// Hybrids with a stage on a card against the same on the processor: batch for batch the same bits, through
// drafted rows, their advances, copies of states and company. The card is an emulation (standin/libcuda.cc).
#include <dlfcn.h>
#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "base/to_size.h"
#include "cpu/cpu_runner.h"
#include "gpu/card_stage.h"
#include "gpu/kernels_ptx.h"
#include "gpu/make_card_stage.h"
#include "support/tiny_model.h"

namespace octavo::test {
namespace {

constexpr int kBlocksOfSequence = 4;  // of 16 tokens

/// Rows of a sequence, the last ones drafted. Its state slot has its number, and so do its blocks.
struct Turn {
  int sequence, first, count;
  int num_drafted = 0;
};

/// Makes a stage on the card of any layers.
MakeStage maker_of(LayerRange layers, Bits bits) {
  return [layers, bits](const StageParts& parts) -> Result<std::unique_ptr<StageLoad>> {
    OCTAVO_TRY(std::unique_ptr<gpu::CudaDevice> device, gpu::CudaDevice::open());
    OCTAVO_TRY(const gpu::SumOrder order, gpu::sum_order_of(IsaLevel::kAvx2, bits));
    OCTAVO_TRY(std::unique_ptr<gpu::CardStage> stage,
               gpu::CardStage::create(std::move(device), parts, gpu::shapes_of(parts.weights), order, layers, false));
    return gpu::CardStage::load(std::move(stage), parts);
  };
}

/// A runner and what it lives by.
struct Loaded {
  MemorySource source;
  ThreadPool pool{1};
  MemoryBudget budget{0};
  std::unique_ptr<CpuRunner> runner = {};

  /// With the first `gpu_layers` on the card, or those of `stage`.
  Loaded(const TinyModel& recipe, Bits bits, Device device, int gpu_layers, std::optional<LayerRange> stage = {})
      : source(recipe.source()) {
    ModelConfig config = ModelConfig::load(source).value();
    if (recipe.head != TinyModel::Head::kNone) config.add_draft_head();
    WeightList list = WeightList::create(source, config).value();
    RunnerRequest request{.source = source,
                          .config = std::move(config),
                          .weights = std::move(list),
                          .options = {.bits = bits,
                                      .device = device,
                                      .gpu_layers = gpu_layers,
                                      .kv_memory_bytes = 4U << 20,
                                      .max_step_tokens = 32,
                                      .max_sequences = 8},
                          .isa = IsaLevel::kAvx2,
                          .pool = pool,
                          .kv_budget = budget};
    const MakeStage make = stage ? maker_of(*stage, bits) : gpu::card_stage_for(request).value();
    runner = CpuRunner::load(std::move(request), make).value();
  }
};

/// The same batches on the processor and with layers on a card.
class Both {
 public:
  Both(const TinyModel& recipe, Bits bits, int gpu_layers, std::optional<LayerRange> stage = {})
      : cpu_(recipe, bits, Device::kCpu, 0), card_(recipe, bits, Device::kCuda, gpu_layers, stage) {
    EXPECT_NE(card_.runner->info().device, cpu_.runner->info().device);
    std::mt19937 random(3);
    for (std::int32_t& token : tokens_) token = static_cast<std::int32_t>(random() % 80);
  }

  /// Computes rows on both, with logits of each `every`-th one. Advances and copies are those of this batch.
  void step(const std::vector<Turn>& turns, int every = 1, const std::vector<StateAdvance>& advances = {},
            const std::vector<BlockCopy>& copies = {}) {
    Batch batch = batch_of(turns);
    batch.advances = advances;
    batch.copies = copies;
    for (int row = 0; row < batch.num_rows(); ++row)
      if (row % every == every - 1) batch.logit_rows.push_back(row);
    std::vector<float> of_cpu = logits(cpu_, batch), of_card = logits(card_, batch);
    EXPECT_EQ(std::memcmp(of_cpu.data(), of_card.data(), of_cpu.size() * sizeof(float)), 0) << "step " << steps_;
    ++steps_;
  }
  /// The draft head's guesses behind a sequence's tokens up to `position`.
  void guess(int sequence, int position) {
    GuessBatch batch;
    batch.clear();
    batch.rows = batch_of({{.sequence = sequence, .first = position, .count = 1}});
    batch.num_guesses.push_back(3);
    batch.draws.emplace_back();
    batch.candidate_begin.push_back(0);
    const std::vector<std::int32_t> of_cpu = guesses(cpu_, batch), of_card = guesses(card_, batch);
    EXPECT_FALSE(of_cpu.empty());
    EXPECT_EQ(of_cpu, of_card) << "step " << steps_;
  }
  /// A state, and where there are `blocks` its first blocks, becomes another sequence's.
  std::vector<BlockCopy> fork(int from, int to, int blocks) const {
    const auto groups = static_cast<std::int32_t>(cpu_.runner->info().room.num_blocks.size());
    std::vector<BlockCopy> copies = {{.group = groups, .from = from, .to = to}};
    for (std::int32_t g = 0; g < groups; ++g)
      for (int b = 0; b < blocks; ++b)
        copies.push_back({.group = g, .from = from * kBlocksOfSequence + b, .to = to * kBlocksOfSequence + b});
    return copies;
  }

 private:
  Batch batch_of(const std::vector<Turn>& turns) const {
    Batch batch;
    batch.groups.resize(cpu_.runner->info().room.num_blocks.size());
    batch.clear();
    for (const Turn& turn : turns) {
      for (int i = turn.first; i < turn.first + turn.count; ++i) batch.add_row(tokens_[to_size(i)], i, i);
      batch.seq_begin.push_back(batch.num_rows());
      batch.kv_len.push_back(turn.first + turn.count);
      batch.state_slots.push_back(turn.sequence);
      batch.num_drafted.push_back(turn.num_drafted);
      for (Batch::Group& group : batch.groups) {
        for (int b = 0; b < kBlocksOfSequence; ++b) group.block_ids.push_back(turn.sequence * kBlocksOfSequence + b);
        group.block_begin.push_back(static_cast<std::int32_t>(group.block_ids.size()));
      }
    }
    return batch;
  }
  template <class AnyBatch>
  static BatchOutcome run(Loaded& loaded, const AnyBatch& batch) {
    loaded.runner->begin(batch);
    const BatchOutcome outcome = loaded.runner->wait();
    EXPECT_FALSE(outcome.is_refused) << loaded.runner->fault();
    return outcome;
  }
  static std::vector<float> logits(Loaded& loaded, const Batch& batch) {
    const ThreadPool::Step workers(loaded.pool);
    run(loaded, batch);
    if (batch.logit_rows.empty()) return {};
    const std::span<const float> found = loaded.runner->logits(0, static_cast<int>(batch.logit_rows.size()));
    return {found.begin(), found.end()};
  }
  static std::vector<std::int32_t> guesses(Loaded& loaded, const GuessBatch& batch) {
    const ThreadPool::Step workers(loaded.pool);
    std::vector<std::int32_t> found;
    for (const GuessedToken& guess : run(loaded, batch).guesses) {
      found.push_back(guess.token);
      found.push_back(guess.chance);
    }
    return found;
  }

  Loaded cpu_, card_;
  std::array<std::int32_t, 64> tokens_{};
  int steps_ = 0;
};

/// All that happens to states: prompts in parts, company, drafts that are right in part, checkpoints and forks.
void live(Both& both) {
  both.step({{.sequence = 0, .first = 0, .count = 9}, {.sequence = 1, .first = 0, .count = 2}}, 3);
  both.step({{.sequence = 0, .first = 9, .count = 4}}, 5);  // no logits
  // Sequence 2 keeps the state behind 13 tokens of sequence 0.
  both.step({{.sequence = 0, .first = 13, .count = 4, .num_drafted = 3},
             {.sequence = 1, .first = 2, .count = 3, .num_drafted = 2}},
            1, {}, both.fork(0, 2, 1));
  both.step({{.sequence = 0, .first = 16, .count = 3, .num_drafted = 2}, {.sequence = 1, .first = 4, .count = 1}}, 1,
            {{.state_slot = 0, .first_row = 0, .num_rows = 2}, {.state_slot = 1, .first_row = 3, .num_rows = 1}});
  // Two advances without a step between them: the first is of all drafted rows, the other of none.
  both.step({}, 1, {{.state_slot = 0, .first_row = 0, .num_rows = 2}});
  both.step({{.sequence = 3, .first = 13, .count = 5, .num_drafted = 4}, {.sequence = 0, .first = 19, .count = 1}}, 2,
            {{.state_slot = 0, .first_row = 0, .num_rows = 0}}, both.fork(2, 3, 1));
  both.step({{.sequence = 3, .first = 18, .count = 2}, {.sequence = 0, .first = 20, .count = 2}}, 1,
            {{.state_slot = 3, .first_row = 0, .num_rows = 4}});
  both.step({{.sequence = 0, .first = 0, .count = 20}}, 20);  // begins anew in a used slot
  both.step({{.sequence = 0, .first = 20, .count = 1}});
}

class RecurrentLayersOfACard : public ::testing::TestWithParam<Bits> {
 protected:
  void SetUp() override {
    if (gpu::kernels_ptx().empty()) GTEST_SKIP() << "built without kernels for cards";
  }
  // The program opens the driver by this library's name, which is found where it is loaded already.
  static void SetUpTestSuite() { ASSERT_NE(dlopen(OCTAVO_STANDIN_CUDA, RTLD_NOW | RTLD_LOCAL), nullptr) << dlerror(); }
};

TEST_P(RecurrentLayersOfACard, HaveTheProcessorsBits) {
  // Of three layers the last one with state is recurrent.
  for (const std::uint32_t layers : {3U, 4U})
    for (const int on_card : {1, 2, 9}) {
      SCOPED_TRACE(std::to_string(on_card) + " of " + std::to_string(layers));
      Both both({.arch = "qwen35", .layers = layers, .taps = 2 + layers}, GetParam(), on_card);
      live(both);
    }
}

TEST_P(RecurrentLayersOfACard, HaveThemBetweenStagesOfTheProcessor) {
  for (const LayerRange stage : {LayerRange{.first = 1, .end = 3}, LayerRange{.first = 2, .end = 4}}) {
    SCOPED_TRACE(stage.first);
    Both both({.arch = "qwen35", .layers = 4, .taps = 3}, GetParam(), 0, stage);
    live(both);
  }
}

TEST_P(RecurrentLayersOfACard, HaveThemInFrontOfADraftHead) {
  for (const int on_card : {1, 9}) {
    SCOPED_TRACE(on_card);
    Both both({.arch = "qwen35", .type = DType::kQ8_0, .head = TinyModel::Head::kAgrees}, GetParam(), on_card);
    live(both);
    both.guess(0, 21);
    both.step({{.sequence = 0, .first = 21, .count = 4, .num_drafted = 3}, {.sequence = 1, .first = 5, .count = 1}}, 2);
    both.step({{.sequence = 0, .first = 24, .count = 2}}, 1, {{.state_slot = 0, .first_row = 0, .num_rows = 2}});
    both.guess(0, 26);
  }
}

INSTANTIATE_TEST_SUITE_P(Orders, RecurrentLayersOfACard, ::testing::Values(Bits::kNative, Bits::kPortable));

}  // namespace
}  // namespace octavo::test
