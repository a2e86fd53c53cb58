// Prefetches: while attention works on a tile, it asks at an even pace for memory that will be read after the tile.
#pragma once

#include "kernels/generic/kv_elements.inl"

namespace octavo {
namespace {

inline const uint8_t* const kNoEnd = (const uint8_t*)UINTPTR_MAX;

/// The next blocks, handed out one by one to the passes over a tile, of which each has its portion.
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
  /// Begins a pass after which `queries_left` of `queries` queries are left: their portion is left to them.
  void begin_portion(int queries_left, int queries) { end_ = (int)((int64_t)heads_ * queries_left / queries); }

  /// The next block; none when the portion is used up. Rarely called, so apart from the loops over products.
  __attribute__((noinline, cold)) Lines next() {
    if (left_ <= end_) return {nullptr, kNoEnd};
    while (block_ == ahead_.parts[part_].num_blocks) ++part_, block_ = 0;
    const AttentionAhead::Part& part = ahead_.parts[part_];
    const uint8_t* begin =
        kv_.data + (size_t)part.blocks[block_++] * kv_.block_bytes + (size_t)part.first_head * kv_.head_bytes;
    left_ -= part.num_heads;
    to_last_ = last_ != nullptr ? last_ - begin : 0;
    last_ = begin;
    return {begin, begin + (size_t)part.num_heads * kv_.head_bytes};
  }

  /// The distance from the block that was handed out last to the one before it; 0 if there was none.
  ptrdiff_t to_last() const { return to_last_; }

 private:
  const KvLayer& kv_;
  const AttentionAhead& ahead_;
  int heads_ = 0, left_ = 0, end_ = 0;  // counts of blocks: all, left, left after this portion
  int part_ = 0, block_ = 0;
  const uint8_t* last_ = nullptr;  // the block that was handed out last
  ptrdiff_t to_last_ = 0;
};

/// Gives the same address some cycles later, after a multiplication.
OCTAVO_KERNEL_PART const uint8_t* delay_address(const uint8_t* at) {
  uintptr_t one = 1;
  asm("" : "+r"(one));  // the compiler must not know
  return (const uint8_t*)((uintptr_t)at * one);
}

/// Prefetches the lines of these blocks in the order of addresses, at the rate at which the present tile is used up.
/// They are more than the L1 cache holds, but are asked for there all the same: Zen 5 drops more of the requests for
/// the L2 cache when they come in bursts.
struct Ahead {
  AheadBlocks* blocks = nullptr;
  const uint8_t *at = nullptr, *end = kNoEnd;  // the lines of the present block
  size_t step = 0;                             // 0 when nothing is left

  Ahead() = default;  // nothing is prefetched
  explicit Ahead(AheadBlocks& from) : blocks(&from), end(nullptr) {}

  /// Asks for N lines. `Spaced`: each comes at least a multiplication after the one before it. A processor that waits
  /// for a value goes on with the rest, and asks for the lines of many rounds of a loop within a few cycles; it drops
  /// the requests that it cannot track. Spaced requests take less time than memory does, but more than loops that do
  /// not wait for memory have. `Again`: each line is asked for a second time a block later, in case it was dropped.
  template <int N, bool Spaced, bool Again>
  __attribute__((always_inline)) void fetch() {
    static_assert(Spaced || !Again, "only spaced requests stop where no block is left");
    if (at >= end) next_block();
    if (Spaced && step == 0) return;
#pragma GCC unroll 8
    for (int i = 0; i < N; ++i) {
      prefetch(at);
      if (Again) prefetch(at + blocks->to_last());
      at = Spaced ? delay_address(at + step) : at + step;
    }
  }
  /// Asks for the lines that the loops did not come to, so that no block is left to be waited for.
  void fetch_rest() {
    do fetch<1, true, false>();
    while (step != 0);
  }

 private:
  // Inlined, so that these members can stay in registers: a call with their address would keep them in memory.
  __attribute__((always_inline)) void next_block() {
    const AheadBlocks::Lines lines = blocks->next();
    if (lines.begin != nullptr) at = lines.begin;
    end = lines.end;
    step = lines.begin != nullptr ? 64 : 0;
  }
};

/// Whether the products of N queries wait for memory more than for arithmetic units. Integers of 16 bits have as many
/// bytes as halfs and are multiplied twice as fast; integers of 8 bits have half as many bytes.
template <KvElement E, int N>
inline constexpr bool kSpacedFetch = E == KvElement::kI16 || (E == KvElement::kQ8_0 ? N <= kFewQueries : N <= 7);

/// Whether requests are dropped although they are spaced, because loops are much faster than memory or, with more than
/// a few queries, wait for neither memory nor units for long. With vectors of 8 lanes, and elsewhere, a second request
/// costs more than it saves.
template <KvElement E, int N>
inline constexpr bool kFetchAgain =
    E == KvElement::kQ8_0 ? N == 1 : (kLanes == 16 && N > kFewQueries && kSpacedFetch<E, N>);

/// Asks for N lines in the way that suits the loops over Q queries.
template <KvElement E, int Q, int N>
OCTAVO_KERNEL_PART void fetch_lines(Ahead& ahead) {
  ahead.fetch<N, kSpacedFetch<E, Q>, kFetchAgain<E, Q>>();
}

}  // namespace
}  // namespace octavo
