// The memory that blocks and snapshots lie in, for somebody who moves their bytes and computes nothing.
#pragma once

#include <cstddef>
#include <span>

#include "octavo/kv/types.h"

namespace octavo {

class BlockMemory {
 public:
  virtual ~BlockMemory() = default;
  /// The bytes of a block in layer `layer_index` of a group, all of them in one piece. `pool`: the group; behind the
  /// last group: snapshots, whose only piece has the index 0. Any thread, also while other blocks are computed; who
  /// reads or writes the bytes sees to it that the block is held, and that nobody else writes it.
  virtual std::span<std::byte> piece(int pool, BlockId block, int layer_index) = 0;
};

}  // namespace octavo
