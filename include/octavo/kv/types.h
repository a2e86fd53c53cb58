// Types that every part of the KV memory shares: the ids of blocks and sequences.
#pragma once

#include <cstdint>

#include "octavo/kv_type.h"
#include "octavo/token.h"

namespace octavo {

/// A block of the KV arena, in one attention group; ids are 0 .. capacity - 1.
using BlockId = std::int32_t;
inline constexpr BlockId kNoBlock = -1;

/// The id of a sequence of a PagedKvCache; ids count from 0 and are never used again.
using SequenceId = std::uint64_t;

/// A copy on write: the contents of block `from` go to block `to` in all layers of the group, before a step writes.
struct BlockCopy {
  std::int32_t group;
  BlockId from, to;
};

}  // namespace octavo
