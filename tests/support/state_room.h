// The smallest KV memories that there are: layers of one head of one dimension, of which tests count the blocks.
#pragma once

#include <cstdlib>
#include <stdexcept>
#include <utility>
#include <vector>

#include "kv/kv_budget.h"
#include "kv/kv_cache_manager.h"

namespace octavo::test {

/// In place of a window: a recurrent layer.
inline constexpr int kRecurrent = -1;
/// In place of a window: a layer that sees chunks of `tokens`, two at least.
constexpr int chunks_of(int tokens) { return -tokens; }

/// One layer for each window; equal ones form a group.
inline StateRoom tiny_room(const std::vector<int>& windows, int block_size, const KvBudget& budget,
                           KvLayout kind = KvLayout::kPaged, std::size_t state_bytes = 64) {
  std::vector<std::optional<KvLayerShape>> layers;
  std::vector<std::size_t> recurrent_bytes;
  for (const int window : windows) {
    layers.emplace_back(KvLayerShape{
        .num_kv_heads = 1, .k_dim = 1, .v_dim = 1, .window = std::abs(window), .is_chunked = window < kRecurrent});
    if (window == kRecurrent) layers.back().reset();
    recurrent_bytes.push_back(window == kRecurrent ? state_bytes : 0);
  }
  Result<StateLayout> layout = StateLayout::create(KvType::kF32, kind, block_size, layers, recurrent_bytes);
  if (!layout) throw std::runtime_error(layout.error().message);
  Result<StateRoom> room = make_room(std::move(*layout), budget);
  if (!room) throw std::runtime_error(room.error().message);
  return std::move(*room);
}

inline std::unique_ptr<KvCacheManager> tiny_manager(const std::vector<int>& windows, int block_size, int num_blocks,
                                                    bool prefix_cache, int num_snapshots = 0,
                                                    std::size_t state_bytes = 64) {
  const KvBudget budget{.num_blocks = num_blocks, .num_snapshots = num_snapshots};
  return KvCacheManager::create(tiny_room(windows, block_size, budget, KvLayout::kPaged, state_bytes), prefix_cache)
      .value();
}

}  // namespace octavo::test
