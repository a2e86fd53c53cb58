// The slots of a group's blocks that are written: a bit per layer and slot.
//
// Owned by BlockManager, with one row of bits a block and layer. One thread at a time; nothing allocates after
// construction.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

#include "base/to_size.h"
#include "octavo/kv/types.h"

namespace octavo {

class WrittenBits {
 public:
  WrittenBits(int num_blocks, int num_layers, int block_size)
      : num_layers_(num_layers),
        block_size_(block_size),
        row_bytes_((to_size(block_size) + 7) / 8),
        bits_(to_size(num_blocks) * to_size(num_layers) * row_bytes_) {}

  bool test(BlockId block, int layer, int slot) const { return (row(block, layer)[slot / 8] >> (slot % 8) & 1) != 0; }

  /// Marks the slots first .. end - 1 as written in one layer.
  void set(BlockId block, int layer, int first, int end) {
    std::uint8_t* const bits = row(block, layer);
    for (int slot = first; slot < end;) {
      if (slot % 8 == 0 && end - slot >= 8) {
        bits[slot / 8] = 0xFF;
        slot += 8;
      } else {
        bits[slot / 8] = static_cast<std::uint8_t>(bits[slot / 8] | 1U << (slot % 8));
        ++slot;
      }
    }
  }
  /// Marks the slots as written in all layers.
  void set_all(BlockId block, int first, int end) {
    for (int layer = 0; layer < num_layers_; ++layer) set(block, layer, first, end);
  }

  /// Marks the slots from `first` on as not written, in all layers.
  void clear_from(BlockId block, int first) {
    for (int layer = 0; layer < num_layers_; ++layer) {
      std::uint8_t* const bits = row(block, layer);
      auto at = to_size(first) / 8;
      if (first % 8 != 0) {
        bits[at] = static_cast<std::uint8_t>(bits[at] & ((1U << (first % 8)) - 1));
        ++at;
      }
      std::memset(bits + at, 0, row_bytes_ - at);
    }
  }
  bool any_from(BlockId block, int first) const {
    for (int layer = 0; layer < num_layers_; ++layer)
      for (int slot = first; slot < block_size_; ++slot)
        if (test(block, layer, slot)) return true;
    return false;
  }

  void copy(BlockId from, BlockId to) { std::memcpy(row(to, 0), row(from, 0), to_size(num_layers_) * row_bytes_); }

  /// The number of leading slots that are written in a layer, at most `most`; the first `known` are known to be.
  int leading_of_layer(BlockId block, int layer, int known, int most) const {
    const std::uint8_t* const bits = row(block, layer);
    int slots = known / 8 * 8;
    while (slots < most && bits[slots / 8] == 0xFF) slots += 8;
    if (slots < most) slots += std::countr_one(bits[slots / 8]);
    return std::min(most, slots);
  }
  /// The number of leading slots that every layer has written.
  int leading(BlockId block, int known = 0) const {
    int least = block_size_;
    for (int layer = 0; layer < num_layers_ && least > known; ++layer)
      least = leading_of_layer(block, layer, known, least);
    return least;
  }
  /// The number of slots up to the last one that any layer has written.
  int extent(BlockId block) const {
    int most = 0;
    for (int layer = 0; layer < num_layers_; ++layer)
      for (int slot = block_size_; slot > most; --slot)
        if (test(block, layer, slot - 1)) most = slot;
    return most;
  }

 private:
  std::uint8_t* row(BlockId block, int layer) { return bits_.data() + offset(block, layer); }
  const std::uint8_t* row(BlockId block, int layer) const { return bits_.data() + offset(block, layer); }
  std::size_t offset(BlockId block, int layer) const {
    return (to_size(block) * to_size(num_layers_) + to_size(layer)) * row_bytes_;
  }

  int num_layers_;
  int block_size_;
  std::size_t row_bytes_;
  std::vector<std::uint8_t> bits_;  // [blocks][layers][row_bytes_]
};

}  // namespace octavo
