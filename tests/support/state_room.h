// The smallest KV memories that there are: layers of one head of one dimension, of which tests count the blocks.
#pragma once

#include <stdexcept>
#include <utility>
#include <vector>

#include "kv/kv_books.h"
#include "kv/kv_budget.h"

namespace octavo::test {

/// One layer for each window; equal ones form a group.
inline StateRoom tiny_room(const std::vector<int>& windows, int block_size, const KvBudget& budget,
                           KvLayout kind = KvLayout::kPaged) {
  std::vector<std::optional<KvLayerShape>> layers;
  for (const int window : windows)
    layers.emplace_back(KvLayerShape{.num_kv_heads = 1, .head_dim = 1, .window = window});
  Result<StateLayout> layout = StateLayout::create(KvType::kF32, kind, block_size, layers);
  if (!layout) throw std::runtime_error(layout.error().message);
  Result<StateRoom> room = make_room(std::move(*layout), budget);
  if (!room) throw std::runtime_error(room.error().message);
  return std::move(*room);
}

inline std::unique_ptr<KvBooks> tiny_books(const std::vector<int>& windows, int block_size, int num_blocks,
                                           bool prefix_cache) {
  return KvBooks::create(tiny_room(windows, block_size, {.num_blocks = num_blocks}), prefix_cache).value();
}

}  // namespace octavo::test
