// A model without weights whose KV memory is integers: any error in tables, chunks, positions or preemption changes its
// answers or ends the test.
//
// forward() writes each row's (token, position) into the block slots that the batch names, in every group; the logits
// of a row are a pseudo-random function of all that its table holds up to the row's own position. A slot never written,
// or written for another position, ends the process.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <span>
#include <vector>

#include "model/model_runner.h"

namespace octavo::test {

constexpr std::uint64_t mix(std::uint64_t x) {  // the finalizer of SplitMix64
  x += 0x9E3779B97F4A7C15;
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EB;
  return x ^ (x >> 31);
}

/// The state after one more token at `position`.
constexpr std::uint64_t next_state(std::uint64_t state, std::int32_t token, std::int32_t position) {
  return mix(state ^ mix(static_cast<std::uint64_t>(token) << 32 | static_cast<std::uint32_t>(position)));
}

class FakeRunner final : public ModelRunner {
 public:
  struct Options {
    int vocab_size = 32;
    int block_size = 4;
    std::vector<int> num_blocks = {64};  // one entry a group
    int max_rows = 512;
    /// Changes the logits of a row, given the row's own token.
    std::function<void(std::int32_t token, std::span<float> logits)> edit = {};
  };

  explicit FakeRunner(Options options) : options_(std::move(options)) {
    geometry_.block_size = options_.block_size;
    for (const int num_blocks : options_.num_blocks) {
      geometry_.groups.push_back({.num_blocks = num_blocks});
      slots_.emplace_back(static_cast<std::size_t>(num_blocks * options_.block_size));
    }
    states_.reserve(static_cast<std::size_t>(options_.max_rows));
    row_tokens_.reserve(static_cast<std::size_t>(options_.max_rows));
    logits_.resize(static_cast<std::size_t>(kMaxLogitRows * options_.vocab_size));
  }

  const KvGeometry& kv_geometry() const override { return geometry_; }
  int vocab_size() const override { return options_.vocab_size; }
  int max_rows() const override { return options_.max_rows; }

  void forward(const Batch& batch) override {
    require(batch.num_rows() >= 1 && batch.num_rows() <= options_.max_rows, "number of rows");
    require(batch.groups.size() == slots_.size(), "number of groups");
    require(batch.seq_begin.size() == batch.kv_len.size() + 1, "seq_begin");
    ++num_forwards_;
    max_sequences_seen_ = std::max(max_sequences_seen_, batch.num_seqs());
    for (int s = 0; s < batch.num_seqs(); ++s) write(batch, s);
    states_.clear();
    row_tokens_.clear();
    int s = 0;
    for (const std::int32_t row : batch.logit_rows) {
      while (row >= batch.seq_begin[at(s + 1)]) ++s;
      states_.push_back(read(batch, s, batch.positions[at(row)]));
      row_tokens_.push_back(batch.tokens[at(row)]);
    }
  }

  std::span<const float> logits(int first, int count) override {
    require(count >= 1 && count <= kMaxLogitRows && at(first + count) <= states_.size(), "logit rows");
    for (int i = 0; i < count; ++i) {
      const std::span<float> row = std::span(logits_).subspan(at(i * options_.vocab_size), at(options_.vocab_size));
      fill_logits(states_[at(first + i)], row);
      if (options_.edit) options_.edit(row_tokens_[at(first + i)], row);
    }
    return std::span(logits_).first(at(count * options_.vocab_size));
  }

  /// The logits of a row in this state, before any edit.
  static void fill_logits(std::uint64_t state, std::span<float> row) {
    for (std::size_t i = 0; i < row.size(); ++i)
      row[i] = static_cast<float>(mix(state + i) >> 40) * 0x1p-22F;  // 0 to 4
  }

  int num_forwards() const { return num_forwards_; }
  int max_sequences_seen() const { return max_sequences_seen_; }

 private:
  struct Slot {
    std::int32_t token = -1, position = -1;
  };

  static std::size_t at(int i) { return static_cast<std::size_t>(i); }
  static void require(bool condition, const char* what) {
    if (condition) return;
    std::fprintf(stderr, "FakeRunner: wrong %s\n", what);
    std::abort();
  }

  Slot& slot(const Batch& batch, std::size_t group, int s, int position) {
    const Batch::Group& tables = batch.groups[group];
    const int index = tables.block_begin[at(s)] + position / options_.block_size;
    require(index < tables.block_begin[at(s + 1)], "table length");
    const int block = tables.block_ids[at(index)];
    require(block >= 0 && block < options_.num_blocks[group], "block id");
    return slots_[group][at(block * options_.block_size + position % options_.block_size)];
  }

  void write(const Batch& batch, int s) {
    const int begin = batch.seq_begin[at(s)], end = batch.seq_begin[at(s + 1)];
    require(begin < end, "empty sequence");
    require(batch.kv_len[at(s)] == batch.positions[at(end - 1)] + 1, "kv_len");
    for (int row = begin; row < end; ++row) {
      require(batch.positions[at(row)] == batch.positions[at(begin)] + row - begin, "positions");
      require(batch.tokens[at(row)] >= 0 && batch.tokens[at(row)] < options_.vocab_size, "token");
      for (std::size_t group = 0; group < slots_.size(); ++group) {
        slot(batch, group, s, batch.positions[at(row)]) = {batch.tokens[at(row)], batch.positions[at(row)]};
      }
    }
  }

  std::uint64_t read(const Batch& batch, int s, int last) {
    std::uint64_t state = 0;
    for (int position = 0; position <= last; ++position) {
      const Slot seen = slot(batch, 0, s, position);
      require(seen.position == position, "slot: never written, or by another sequence");
      for (std::size_t group = 1; group < slots_.size(); ++group) {
        require(slot(batch, group, s, position).token == seen.token, "slot: the groups differ");
      }
      state = next_state(state, seen.token, position);
    }
    return state;
  }

  Options options_;
  KvGeometry geometry_;
  std::vector<std::vector<Slot>> slots_;  // [groups][blocks * block_size]
  std::vector<std::uint64_t> states_;     // [logit rows]
  std::vector<std::int32_t> row_tokens_;  // [logit rows]
  std::vector<float> logits_;             // [kMaxLogitRows, vocab_size]
  int num_forwards_ = 0;
  int max_sequences_seen_ = 0;
};

}  // namespace octavo::test
