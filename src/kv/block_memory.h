// The memory of blocks and snapshots, for callers that move their bytes and compute nothing.
#pragma once

#include <cstddef>
#include <span>

#include "octavo/kv/types.h"

namespace octavo {

class BlockMemory {
 public:
  virtual ~BlockMemory() = default;
  /// The bytes of a block in layer `layer_index` of a group, all of them in one piece. `pool`: the group's number, or
  /// num_groups for the snapshots, whose only piece has the index 0. Any thread, also while other blocks are computed;
  /// the caller holds the block and makes sure that nobody else writes it.
  virtual std::span<std::byte> piece(int pool, BlockId block, int layer_index) = 0;
};

}  // namespace octavo
