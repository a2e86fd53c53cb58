// What attention fetches while it works on a tile: memory that will be read after it, at an even pace.
#pragma once

#include "kernels/generic/kv_elements.inl"

namespace octavo {
namespace {

inline const uint8_t* const kNoEnd = (const uint8_t*)UINTPTR_MAX;

/// Blocks that come next, handed out one by one to the passes over a tile, to each its share.
class AheadBlocks {
 public:
  struct Lines {
    const uint8_t *begin, *end;
  };
  AheadBlocks(const KvLayer& kv, const AttentionAhead& ahead) : kv_(kv), ahead_(ahead) {
    if (kv.k_order == KOrder::kTokenMajor) return;  // a block is a whole sequence
    for (int i = 0; i < ahead.num_parts; ++i) heads_ += ahead.parts[i].num_blocks * ahead.parts[i].num_heads;
    left_ = heads_;
  }
  void begin_share(int share, int shares) { end_ = (int)((int64_t)heads_ * (shares - 1 - share) / shares); }

  /// The next block; nothing when the share is used up.
  Lines next() {
    if (left_ <= end_) return {nullptr, kNoEnd};
    while (block_ == ahead_.parts[part_].num_blocks) ++part_, block_ = 0;
    const AttentionAhead::Part& part = ahead_.parts[part_];
    const uint8_t* begin =
        kv_.data + (size_t)part.blocks[block_++] * kv_.block_bytes + (size_t)part.first_head * kv_.head_bytes;
    left_ -= part.num_heads;
    return {begin, begin + (size_t)part.num_heads * kv_.head_bytes};
  }

 private:
  const KvLayer& kv_;
  const AttentionAhead& ahead_;
  int heads_ = 0, left_ = 0, end_ = 0;  // of blocks: all, left, left after this share
  int part_ = 0, block_ = 0;
};

/// Their lines, brought into the caches in the order of addresses, at the rate at which the tile at hand is used up.
/// They are more than the first-level cache holds, and yet asked for there: Zen 5 drops more of the requests for the
/// second level alone when they come in bursts.
struct Ahead {
  AheadBlocks* blocks = nullptr;
  const uint8_t *at = nullptr, *end = kNoEnd;  // lines of the block under way
  ptrdiff_t step = 0;                          // 0 when nothing is left

  Ahead() = default;  // nothing
  explicit Ahead(AheadBlocks& from) : blocks(&from), end(nullptr) {}

  __attribute__((noinline, cold)) void next_block() {
    const AheadBlocks::Lines lines = blocks->next();
    if (lines.begin != nullptr) at = lines.begin;
    end = lines.end;
    step = lines.begin != nullptr ? 64 : 0;
  }

  template <int N>
  __attribute__((always_inline)) void fetch() {
    if (at >= end) next_block();
#pragma GCC unroll 8
    for (int i = 0; i < N; ++i) prefetch(at + i * step);
    at += N * step;
  }
  /// What the loops did not come to, so that no block is left to be waited for.
  void fetch_rest() {
    if (blocks == nullptr) return;
    do fetch<1>();
    while (step != 0);
  }
};

}  // namespace
}  // namespace octavo
