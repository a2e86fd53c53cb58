// The attention of one layer against a plain computation: whatever the chunks, with its state written before or not.
#include "cpu/attention_mixer.h"

#include <gtest/gtest.h>

#include <cstring>
#include <functional>
#include <vector>

#include "base/to_size.h"
#include "cpu/compute_fixture.h"
#include "cpu/plain_transformer.h"
#include "kv/kv_arena.h"
#include "kv/kv_budget.h"
#include "model/model_state.h"
#include "support/load_runner.h"
#include "support/tiny_model.h"

namespace octavo::test {
namespace {

constexpr int kRows = 40, kWidth = 64;

std::unique_ptr<KvArena> make_arena(const ModelConfig& config) {
  StateLayout layout = state_layout(config, KvType::kF32, KvLayout::kPaged, kDefaultBlockSize).value();
  return std::make_unique<KvArena>(KvArena::create(make_room(std::move(layout), {.bytes = 4U << 20}).value()).value());
}

/// The mixers of a tiny model of floats, and a stream of their own.
class Mixer {
 public:
  explicit Mixer(const TinyModel& recipe, const std::function<void(ModelConfig&)>& change = {})
      : source_(recipe.source()), config_(ModelConfig::load(source_).value()) {
    if (change) change(config_);
    weights_ = load_weights(source_, config_, fixture_.pool, false).value();
    kv_ = make_arena(config_);
    mixer_.emplace(config_, weights_, *kv_, fixture_.context, stream_);
  }

  /// The result of layer `index` for the rows of `x`, read `chunk` at a time; only to those that `wanted` names if
  /// there are any, whose state is written beforehand.
  std::vector<float> run(int index, const std::vector<float>& x, int chunk, const std::vector<int>& wanted = {}) {
    std::vector<float> added;
    for (int begin = 0; begin < kRows; begin += chunk) {
      const int count = std::min(chunk, kRows - begin);
      const Batch batch = make_batch(begin, count, wanted);
      StepRows rows(kRows);
      rows.begin(batch);
      const ThreadPool::Step step(fixture_.pool);
      mixer_->plan(rows);
      mixer_->compute_angles(batch);
      std::memcpy(stream_.x(0), x.data() + begin * kWidth, sizeof(float) * to_size(count * kWidth));
      norm_rows(index, count);
      if (!wanted.empty()) {
        mixer_->write_state(index, rows);
        rows.keep_logit_rows();
        stream_.keep_rows(batch.logit_rows);
        norm_rows(index, rows.count());
        mixer_->plan(rows);
      }
      // The sum begins at nothing, so that it is the mixer's result.
      std::fill_n(stream_.x(0), rows.count() * kWidth, 0.0F);
      mixer_->run(index, rows, !wanted.empty(), {});
      added.insert(added.end(), stream_.x(0), stream_.x(0) + rows.count() * kWidth);
    }
    return added;
  }

  ModelConfig& config() { return config_; }
  /// Rotations read every `stride`-th position from now on.
  void set_rope_stride(int stride) { rope_stride_ = stride; }
  PlainTransformer plain() const { return {config_, weights_}; }

 private:
  Batch make_batch(int begin, int count, const std::vector<int>& wanted) const {
    Batch batch;
    batch.groups.resize(to_size(kv_->layout().num_groups()));
    batch.clear();
    for (int position = begin; position < begin + count; ++position)
      batch.add_row(0, position, position * rope_stride_);
    batch.seq_begin.push_back(count);
    batch.kv_len.push_back(begin + count);
    for (Batch::Group& group : batch.groups) {
      group.block_ids = {2, 0, 1};
      group.block_begin.push_back(3);
    }
    batch.logit_rows.assign(wanted.begin(), wanted.end());
    return batch;
  }
  void norm_rows(int index, int count) {
    const float* weight = weights_.layers[to_size(index)].mixer_norm;
    for (int row = 0; row < count; ++row) stream_.norm_row({.weight = weight}, row, row, count);
  }

  ComputeFixture fixture_{IsaLevel::kScalar, 2, kRows};
  MemorySource source_;
  ModelConfig config_;
  Weights weights_;
  std::unique_ptr<KvArena> kv_;
  ResidualStream stream_{fixture_.context, kWidth, 128, {.epsilon = 1e-5F, .epsilon_of_results = 1e-5F}};
  std::optional<AttentionMixer> mixer_;
  int rope_stride_ = 1;
};

std::vector<float> some_rows(unsigned seed) { return random_floats(std::size_t{kRows} * kWidth, seed); }

PlainTransformer::Rows as_rows(const std::vector<float>& x) {
  PlainTransformer::Rows rows;
  for (auto row = x.begin(); row != x.end(); row += kWidth) rows.emplace_back(row, row + kWidth);
  return rows;
}

void expect_near(const std::vector<float>& found, const PlainTransformer::Rows& expected) {
  ASSERT_EQ(found.size(), expected.size() * kWidth);
  double largest = 0;
  for (std::size_t i = 0; i < found.size(); ++i)
    largest = std::max(largest, std::abs(static_cast<double>(found[i]) - expected[i / kWidth][i % kWidth]));
  EXPECT_LT(largest, 1e-4);
}

TEST(AttentionMixer, EveryFamilysLayerIsAsItsSpecSaysInAnyChunk) {
  for (const char* arch : {"llama", "mistral3", "qwen2", "qwen3", "gemma2", "gemma3", "gemma4"}) {
    SCOPED_TRACE(arch);
    Mixer mixer({.arch = arch, .window = 9});
    const std::vector<float> x = some_rows(1), whole = mixer.run(0, x, kRows);
    expect_near(whole, mixer.plain().mixed(0, as_rows(x)));
    for (const int chunk : {1, 7}) EXPECT_EQ(mixer.run(0, x, chunk), whole) << chunk;
  }
}

// Every second position is turned as every one by angles twice as large, and lies in the same slots.
TEST(AttentionMixer, RotationsReadPositionsOfTheirOwn) {
  for (const char* arch : {"llama", "gemma3"}) {
    SCOPED_TRACE(arch);
    const std::vector<float> x = some_rows(3);
    Mixer spread({.arch = arch, .window = 9});
    const std::vector<float> dense = spread.run(0, x, kRows);
    spread.set_rope_stride(2);
    Mixer faster({.arch = arch, .window = 9},
                 [](ModelConfig& config) { config.layers[0].attention()->rope.scaling.divisor /= 2; });
    const std::vector<float> expected = faster.run(0, x, kRows);
    EXPECT_NE(expected, dense);
    for (const int chunk : {kRows, 7, 1}) EXPECT_EQ(spread.run(0, x, chunk), expected) << chunk;
  }
}

TEST(AttentionMixer, AGatedOutputIsAsItsSpecSaysInAnyChunk) {
  Mixer mixer({.arch = "qwen35"});
  const std::vector<float> x = some_rows(6), whole = mixer.run(1, x, kRows);
  expect_near(whole, mixer.plain().mixed(1, as_rows(x)));
  for (const int chunk : {1, 7}) EXPECT_EQ(mixer.run(1, x, chunk), whole) << chunk;
}

TEST(AttentionMixer, VMayBeK) {
  Mixer mixer({.arch = "gemma4", .layers = 3});
  const std::vector<float> x = some_rows(7), whole = mixer.run(2, x, kRows);
  expect_near(whole, mixer.plain().mixed(2, as_rows(x)));
  for (const int chunk : {1, 7}) EXPECT_EQ(mixer.run(2, x, chunk), whole) << chunk;
}

TEST(AttentionMixer, StateThatIsWrittenBeforehandGivesTheSameBits) {
  for (const char* arch : {"llama", "mistral3", "gemma3", "gemma4"}) {
    const TinyModel model{.arch = arch, .layers = 3, .window = 9};
    Mixer mixer(model);
    const std::vector<float> x = some_rows(2), whole = mixer.run(2, x, kRows);
    Mixer other(model);
    const std::vector<int> wanted = {0, 13, 39};
    const std::vector<float> some = other.run(2, x, kRows, wanted);
    std::vector<float> expected;
    for (const int row : wanted)
      expected.insert(expected.end(), whole.begin() + row * kWidth, whole.begin() + (row + 1) * kWidth);
    EXPECT_EQ(some, expected) << arch;
  }
}

TEST(AttentionMixer, ALayerThatBorrowsReadsItsLendersKeysAndValues) {
  Mixer mixer({.layers = 3, .without = {"blk.2.attn_k.weight", "blk.2.attn_v.weight"}},
              [](ModelConfig& config) { config.layers[2].attention()->borrows_from = 1; });
  PlainTransformer plain = mixer.plain();
  const std::vector<float> of_lender = some_rows(3), of_neighbour = some_rows(4), of_borrower = some_rows(5);
  mixer.run(1, of_lender, kRows);
  mixer.run(0, of_neighbour, kRows);
  plain.mixed(1, as_rows(of_lender));
  expect_near(mixer.run(2, of_borrower, kRows), plain.mixed(2, as_rows(of_borrower)));
}

TEST(AttentionMixer, KnowsWhatItReadsAndHowWideItsRowsAre) {
  const WeightMatrix floats{.type = DType::kBF16},
      quantized{.type = DType::kQ8_0, .activations = ActivationForm::kInt8Blocks};
  AttentionWeights w{.q = floats, .k = floats, .v = floats, .o = quantized};
  EXPECT_FALSE(AttentionMixer::forms(w).any());
  for (WeightMatrix* matrix : {&w.q, &w.k, &w.v}) {
    *matrix = quantized;
    EXPECT_TRUE(AttentionMixer::forms(w).int8);
    *matrix = floats;
  }
  const auto heads = [](int num_heads, int head_dim) {
    AttentionSpec spec;
    spec.num_heads = num_heads;
    spec.head_dim = head_dim;
    return spec;
  };
  ModelConfig config;
  config.layers.resize(3);
  config.layers[1].mixer = heads(6, 32);
  config.layers[2].mixer = heads(3, 48);
  EXPECT_EQ(AttentionMixer::max_cols(config), 192);
}

}  // namespace
}  // namespace octavo::test
