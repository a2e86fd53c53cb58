// Stretches of items that a thread of an AttentionPlan has taken, and the progress of asking for the memory of the next
// ones.
#pragma once

#include <array>
#include <cstddef>

#include "kernels/kernels.h"

namespace octavo {

/// Items of neighbouring heads over the same positions. Their blocks are fetched in the order of addresses, through
/// all these heads, while a thread works on what it does before.
struct AttentionStretch {
  AttentionItem first;
  int num_heads = 1;
  std::ptrdiff_t head_floats = 0;  // the distance from one head's results to the next head's

  AttentionItem item(int i) const;
  /// The blocks of its first tile; an item fetches further tiles itself.
  AttentionAhead::Part first_tile(int block_size) const;
  bool is_one_tile() const { return first.end <= (first.begin / kTileTokens + 1) * kTileTokens; }
};

/// The next stretches of a thread. Memory has a steady rate, and work has not: many queries of a tile take long for few
/// bytes, a few take no time for as many. So a thread that works on many queries fetches the blocks of several
/// stretches ahead, as far as a cache holds them.
class StretchQueue {
 public:
  explicit StretchQueue(const KvLayer& kv) : kv_(kv) {}

  /// Whether an item that can fetch `bytes` can use one more stretch.
  bool wants_more(std::size_t bytes) const;
  void push(const AttentionStretch& stretch);
  bool empty() const { return count_ == 0; }
  AttentionStretch pop();

  /// The blocks that the item, part `part` of `parts` of the work before the first stretch, fetches: at least its
  /// portion of that stretch, and up to `bytes` more in all, none of them twice.
  AttentionAhead fetch(int part, int parts, std::size_t bytes);

 private:
  struct Waiting {
    AttentionStretch stretch;
    AttentionAhead::Part left;  // the part of its first tile that is not yet fetched
    std::size_t bytes = 0;      // the bytes of its first tile
  };
  std::size_t block_bytes(const AttentionAhead::Part& part) const;

  const KvLayer& kv_;
  std::array<Waiting, AttentionAhead::kMaxParts> waiting_{};  // first to last
  std::size_t count_ = 0;
  std::size_t bytes_ = 0, fetched_ = 0;  // the sums over stretches that wait
};

/// The bound of K and V of a stretch, and of the bytes fetched ahead: two of them about fill a second-level cache of 1
/// MiB. Whole blocks go through that cache faster than parts: four heads of 128 dimensions of i16, a little more than
/// half of it, gave 46 GB/s, three heads 36.
inline constexpr std::size_t kStretchBytes = std::size_t{640} << 10;

}  // namespace octavo
