// A recurrent mixer of one layer, with a stream and states of its own, for tests of what it computes and keeps.
#pragma once

#include <gtest/gtest.h>

#include <cstring>
#include <numeric>
#include <vector>

#include "base/to_size.h"
#include "cpu/compute_fixture.h"
#include "cpu/plain_transformer.h"
#include "kv/kv_budget.h"
#include "model/model_state.h"
#include "support/load_runner.h"
#include "support/tiny_model.h"

namespace octavo::test {

inline constexpr int kRows = 40, kWidth = 64;

/// Rows of one sequence in a step.
struct Part {
  int state_slot, first, count;
  const std::vector<float>* x;  // [tokens, kWidth] of the whole sequence
  int num_drafted = 0;          // of the rows, the last ones
};

/// The mixer of the first layer of a tiny hybrid.
template <class Mixer>
class RecurrentMixer {
 public:
  explicit RecurrentMixer(const TinyModel& recipe, IsaLevel level = IsaLevel::kScalar)
      : fixture_(level, 2, 2 * kRows), source_(recipe.source()), config_(ModelConfig::load(source_).value()) {
    weights_ = load_weights(source_, config_, fixture_.pool, false).value();
    const StateLayout layout = state_layout(config_, KvType::kF32, KvLayout::kPaged, kDefaultBlockSize).value();
    bytes_ = layout.snapshot.bytes;
    const StateRoom room = make_room(layout, {.num_blocks = 1, .num_snapshots = 3}).value();
    snapshots_.emplace(SnapshotArena::create(room).value());
    mixer_.emplace(config_, weights_, *snapshots_, fixture_.context, stream_);
  }

  /// The results of the parts' rows, or of those that `wanted` names, whose state is written beforehand.
  std::vector<float> step(const std::vector<Part>& parts, const std::vector<int>& wanted = {}) {
    Batch batch;
    batch.clear();
    for (const Part& part : parts) {
      std::memcpy(stream_.x(batch.num_rows()), part.x->data() + part.first * kWidth,
                  sizeof(float) * to_size(part.count * kWidth));
      for (int i = part.first; i < part.first + part.count; ++i) batch.add_row(0, i, i);
      batch.seq_begin.push_back(batch.num_rows());
      batch.kv_len.push_back(part.first + part.count);
      batch.state_slots.push_back(part.state_slot);
      batch.num_drafted.push_back(part.num_drafted);
    }
    batch.logit_rows.assign(wanted.begin(), wanted.end());
    StepRows rows(2 * kRows);
    rows.begin(batch);
    const ThreadPool::Step step(fixture_.pool);
    mixer_->plan(batch);
    norm_rows(rows.count());
    if (!wanted.empty()) {
      mixer_->write_state(0, rows);
      rows.keep_logit_rows();
      stream_.keep_rows(batch.logit_rows);
      norm_rows(rows.count());
    }
    // The sum begins at nothing, so that it is the mixer's result.
    std::fill_n(stream_.x(0), rows.count() * kWidth, 0.0F);
    mixer_->run(0, rows, !wanted.empty(), {});
    return {stream_.x(0), stream_.x(0) + rows.count() * kWidth};
  }
  /// All rows of one sequence, `chunk` at a time.
  std::vector<float> run(int state_slot, const std::vector<float>& x, int chunk) {
    std::vector<float> all;
    for (int first = 0; first < kRows; first += chunk) {
      const std::vector<float> part = step({{state_slot, first, std::min(chunk, kRows - first), &x}});
      all.insert(all.end(), part.begin(), part.end());
    }
    return all;
  }

  std::vector<float> state(int state_slot) {
    const float* begin = snapshots_->state(state_slot, 0);
    return {begin, begin + config_.layer(0).state_bytes() / sizeof(float)};
  }
  void advance(std::vector<StateAdvance> advances) {
    const ThreadPool::Step step(fixture_.pool);
    mixer_->advance_states(advances);
  }
  void spoil(int state_slot) { std::memset(snapshots_->state(state_slot, 0), 0xFF, bytes_); }
  PlainTransformer plain() const { return {config_, weights_}; }

 private:
  void norm_rows(int count) {
    for (int row = 0; row < count; ++row) stream_.norm_row({.weight = weights_.layers[0].mixer_norm}, row, row, count);
  }

  ComputeFixture fixture_;
  MemorySource source_;
  ModelConfig config_;
  Weights weights_;
  std::size_t bytes_ = 0;
  std::optional<SnapshotArena> snapshots_;
  ResidualStream stream_{fixture_.context, kWidth, 128, {.epsilon = 1e-5F, .epsilon_of_results = 1e-5F}};
  std::optional<Mixer> mixer_;
};

inline std::vector<float> some_rows(unsigned seed) { return random_floats(std::size_t{kRows} * kWidth, seed); }

inline std::vector<float> rows_of(const std::vector<float>& x, int first, int count) {
  return {x.begin() + first * kWidth, x.begin() + (first + count) * kWidth};
}

/// Whatever the chunks, on a level: the results of the plain computation, and one state.
template <class Mixer>
void expect_as_its_spec_says(const TinyModel& recipe, IsaLevel level) {
  RecurrentMixer<Mixer> mixer(recipe, level);
  const std::vector<float> x = some_rows(1), whole = mixer.run(0, x, kRows);
  PlainTransformer::Rows rows;
  for (int row = 0; row < kRows; ++row) {
    const std::vector<float> floats = rows_of(x, row, 1);
    rows.emplace_back(floats.begin(), floats.end());
  }
  const PlainTransformer::Rows expected = mixer.plain().mixed(0, rows);
  double largest = 0;
  for (std::size_t i = 0; i < whole.size(); ++i)
    largest = std::max(largest, std::abs(static_cast<double>(whole[i]) - expected[i / kWidth][i % kWidth]));
  EXPECT_LT(largest, 1e-4) << isa_name(level);
  for (const int chunk : {1, 3, 7}) {
    mixer.spoil(1);  // by a sequence that had the state slot before
    EXPECT_EQ(mixer.run(1, x, chunk), whole) << chunk;
    EXPECT_EQ(mixer.state(1), mixer.state(0)) << chunk;
  }
}

/// A part of two sequences' drafted rows is right: their states are those of the rows that were, and the rows' results
/// those that they have one by one.
template <class Mixer>
void expect_states_behind_drafted_rows(const TinyModel& recipe, IsaLevel level) {
  const std::vector<float> first = some_rows(5), second = some_rows(6);
  for (const int num_right : {0, 1, 2, 6}) {
    RecurrentMixer<Mixer> drafting(recipe, level), plain(recipe, level);
    const std::vector<float> of_first = plain.run(0, first, kRows);
    drafting.step({{0, 0, 10, &first}, {1, 0, 3, &second}});
    const std::vector<float> rows = drafting.step({{0, 10, 9, &first, 7}, {1, 3, 6, &second, 5}});
    EXPECT_EQ(std::vector(rows.begin(), rows.begin() + 9 * kWidth), rows_of(of_first, 10, 9));
    drafting.advance({{0, 0, num_right}, {1, 7, std::min(num_right, 5)}});
    plain.step({{1, 0, 12 + num_right, &first}});
    EXPECT_EQ(drafting.state(0), plain.state(1)) << num_right;
    plain.step({{1, 0, 4 + std::min(num_right, 5), &second}});
    EXPECT_EQ(drafting.state(1), plain.state(1)) << num_right;
    EXPECT_EQ(drafting.step({{0, 12 + num_right, 5, &first}}), rows_of(of_first, 12 + num_right, 5));
  }
}

template <class Mixer>
void expect_sequences_side_by_side_as_alone(const TinyModel& recipe) {
  RecurrentMixer<Mixer> mixer(recipe), alone(recipe);
  const std::vector<float> first = some_rows(2), second = some_rows(3), third = some_rows(4);
  const std::vector<float> of_first = alone.run(0, first, kRows), of_second = alone.run(1, second, kRows),
                           of_third = alone.run(2, third, kRows);
  mixer.step({{2, 0, 11, &first}, {0, 0, 5, &second}});
  const std::vector<float> together = mixer.step({{0, 5, 2, &second}, {2, 11, 20, &first}, {1, 0, 9, &third}});
  EXPECT_EQ(rows_of(together, 0, 2), rows_of(of_second, 5, 2));
  EXPECT_EQ(rows_of(together, 2, 20), rows_of(of_first, 11, 20));
  EXPECT_EQ(rows_of(together, 22, 9), rows_of(of_third, 0, 9));
}

template <class Mixer>
void expect_bits_of_a_state_written_beforehand(const TinyModel& recipe) {
  RecurrentMixer<Mixer> mixer(recipe), other(recipe);
  const std::vector<float> x = some_rows(5), whole = mixer.run(0, x, kRows);
  const std::vector<float> some = other.step({{0, 0, kRows, &x}}, {0, 13, 39});
  EXPECT_EQ(rows_of(some, 0, 1), rows_of(whole, 0, 1));
  EXPECT_EQ(rows_of(some, 1, 1), rows_of(whole, 13, 1));
  EXPECT_EQ(rows_of(some, 2, 1), rows_of(whole, 39, 1));
  EXPECT_EQ(other.state(0), mixer.state(0));
}

}  // namespace octavo::test
