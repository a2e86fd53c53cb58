// Reads single positions of KV memory: decoded copies of every element type, views of f32. For callers that look at the
// cache from outside; attention reads it with the kernels. Pure functions of the memory.
#pragma once

#include "kernels/kernels.h"
#include "octavo/kv/paged_kv_cache.h"

namespace octavo {

/// K and V of one slot of a block, [num_kv_heads][head_dim] floats each.
void decode_kv(const KvLayer& kv, KvType type, BlockId block, int slot, float* key, float* value);

/// A view of f32 elements where they lie.
KvView view_kv(const KvLayer& kv, BlockId block, int slot);

}  // namespace octavo
