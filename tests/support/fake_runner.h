// A model without weights whose KV memory is integers: any error in tables, chunks, positions, copies, sharing or
// preemption changes its answers or ends the test.
//
// It has a PagedKvCache of a tiny shape, one layer for each window, and ignores its arena. forward() makes the batch's
// copies, then writes each row's (token, position) into the block slots that the batch names, in every group; the
// logits of a row are a pseudo-random function of what its tables hold within each group's window up to the row's own
// position. A slot never written, or written for another position, ends the process; so does a write to a block that
// another sequence holds or that is cached.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <memory>
#include <span>
#include <stdexcept>
#include <vector>

#include "model/model_runner.h"

namespace octavo::test {

constexpr std::uint64_t mix(std::uint64_t x) {  // the finalizer of SplitMix64
  x += 0x9E3779B97F4A7C15;
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EB;
  return x ^ (x >> 31);
}

/// The state of a group after one more token at `position`.
constexpr std::uint64_t next_state(std::uint64_t state, std::int32_t token, std::int32_t position) {
  return mix(state ^ mix(static_cast<std::uint64_t>(token) << 32 | static_cast<std::uint32_t>(position)));
}

/// The first position that position `last` sees.
constexpr int first_seen(int last, int window) { return window == 0 ? 0 : std::max(0, last - window + 1); }

/// The state of a row at position `last`: all groups together; `token_at(group, position)` reads the cache.
template <class TokenAt>
std::uint64_t row_state(std::span<const int> windows, int last, const TokenAt& token_at) {
  std::uint64_t state = 0;
  for (std::size_t group = 0; group < windows.size(); ++group) {
    std::uint64_t of_group = 0;
    for (int position = first_seen(last, windows[group]); position <= last; ++position) {
      of_group = next_state(of_group, token_at(group, position), position);
    }
    state = group == 0 ? of_group : mix(state ^ of_group);
  }
  return state;
}

class FakeRunner final : public ModelRunner {
 public:
  struct Options {
    int vocab_size = 32;
    int block_size = 4;
    int num_blocks = 64;             // of each group; 0: as many as memory_bytes holds
    std::vector<int> windows = {0};  // of each layer; equal ones form a group
    std::uint64_t memory_bytes = 0;
    KvLayout layout = KvLayout::kPaged;
    bool prefix_cache = true;
    int max_rows = 512;
    /// Changes the logits of a row, given the row's own token.
    std::function<void(std::int32_t token, std::span<float> logits)> edit = {};
    std::function<void()> before_forward = {};  // may throw
  };

  explicit FakeRunner(Options options) : options_(std::move(options)) {
    Result<std::unique_ptr<PagedKvCache>> kv = PagedKvCache::create({.type = KvType::kF32,
                                                                     .layout = options_.layout,
                                                                     .block_size = options_.block_size,
                                                                     .num_kv_heads = 1,
                                                                     .head_dim = 1,
                                                                     .layer_windows = options_.windows,
                                                                     .num_blocks = options_.num_blocks,
                                                                     .memory_bytes = options_.memory_bytes,
                                                                     .prefix_cache = options_.prefix_cache});
    if (!kv) throw std::runtime_error(kv.error().message);
    kv_ = std::move(*kv);
    for (int g = 0; g < kv_->num_groups(); ++g) {
      windows_.push_back(kv_->group(g).window);
      slots_.emplace_back(at(kv_->group(g).num_blocks) * at(kv_->block_size()));
    }
    states_.reserve(at(options_.max_rows));
    row_tokens_.reserve(at(options_.max_rows));
    logits_.resize(at(kMaxLogitRows * options_.vocab_size));
  }

  PagedKvCache& kv() override { return *kv_; }
  int vocab_size() const override { return options_.vocab_size; }
  int max_rows() const override { return options_.max_rows; }

  void forward(const Batch& batch) override {
    if (options_.before_forward) options_.before_forward();
    require(batch.num_rows() >= 1 && batch.num_rows() <= options_.max_rows, "number of rows");
    require(batch.groups.size() == slots_.size(), "number of groups");
    require(batch.seq_begin.size() == batch.kv_len.size() + 1, "seq_begin");
    ++num_forwards_;
    num_rows_ += batch.num_rows();
    num_copies_ += static_cast<int>(batch.copies.size());
    max_sequences_seen_ = std::max(max_sequences_seen_, batch.num_seqs());
    for (const BlockCopy& copy : batch.copies) make_copy(copy);
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

  /// Windows of the groups, in their order.
  std::span<const int> windows() const { return windows_; }
  int num_forwards() const { return num_forwards_; }
  int num_rows() const { return num_rows_; }
  int num_copies() const { return num_copies_; }
  /// For steps whose answers nobody looks at.
  void let_read_anything(bool may) { may_read_anything_ = may; }
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

  void make_copy(const BlockCopy& copy) {
    require(at(copy.group) < slots_.size(), "group of a copy");
    const int num_blocks = kv_->group(copy.group).num_blocks;
    require(copy.from >= 0 && copy.from < num_blocks && copy.to >= 0 && copy.to < num_blocks, "block of a copy");
    std::vector<Slot>& slots = slots_[at(copy.group)];
    const std::size_t size = at(kv_->block_size());
    std::copy_n(&slots[at(copy.from) * size], size, &slots[at(copy.to) * size]);
  }

  BlockId block_of(const Batch& batch, std::size_t group, int s, int position) const {
    const Batch::Group& tables = batch.groups[group];
    const int index = tables.block_begin[at(s)] + position / kv_->block_size();
    require(index < tables.block_begin[at(s + 1)], "table length");
    const int block = tables.block_ids[at(index)];
    require(block >= 0 && block < kv_->group(static_cast<int>(group)).num_blocks, "block id");
    return block;
  }

  Slot& slot(const Batch& batch, std::size_t group, int s, int position) {
    const std::size_t size = at(kv_->block_size());
    return slots_[group][at(block_of(batch, group, s, position)) * size + at(position) % size];
  }

  void write(const Batch& batch, int s) {
    const int begin = batch.seq_begin[at(s)], end = batch.seq_begin[at(s + 1)];
    require(begin < end, "empty sequence");
    require(batch.kv_len[at(s)] == batch.positions[at(end - 1)] + 1, "kv_len");
    for (int row = begin; row < end; ++row) {
      const int position = batch.positions[at(row)];
      require(position == batch.positions[at(begin)] + row - begin, "positions");
      require(batch.tokens[at(row)] >= 0 && batch.tokens[at(row)] < options_.vocab_size, "token");
      for (std::size_t group = 0; group < slots_.size(); ++group) {
        const BlockPool& pool = kv_->pool(static_cast<int>(group));
        const BlockId block = block_of(batch, group, s, position);
        require(pool.references(block) == 1 && !pool.is_cached(block), "write: the block is shared");
        slot(batch, group, s, position) = {batch.tokens[at(row)], position};
      }
    }
  }

  std::uint64_t read(const Batch& batch, int s, int last) {
    return row_state(windows_, last, [&](std::size_t group, int position) {
      const Slot seen = slot(batch, group, s, position);
      require(seen.position == position || may_read_anything_, "slot: never written, or by another sequence");
      return seen.token;
    });
  }

  Options options_;
  std::unique_ptr<PagedKvCache> kv_;
  std::vector<int> windows_;              // [groups]
  std::vector<std::vector<Slot>> slots_;  // [groups][blocks * block_size]
  std::vector<std::uint64_t> states_;     // [logit rows]
  std::vector<std::int32_t> row_tokens_;  // [logit rows]
  std::vector<float> logits_;             // [kMaxLogitRows, vocab_size]
  bool may_read_anything_ = false;
  int num_forwards_ = 0, num_rows_ = 0, num_copies_ = 0;
  int max_sequences_seen_ = 0;
};

}  // namespace octavo::test
