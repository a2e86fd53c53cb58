#include "kv/kv_arena.h"

#include <algorithm>
#include <cstring>
#include <new>
#include <utility>

namespace octavo {

Result<KvArena> KvArena::create(StateRoom room, LayerRange layers) {
  KvArena made(std::move(room), layers);
  if (made.layout().is_contiguous()) {
    OCTAVO_TRY_VOID(made.make_caches());
  } else {
    OCTAVO_TRY_VOID(made.make_arena());
  }
  return made;
}

Result<void> KvArena::make_arena() {
  const auto layer_bytes = [&](int g) { return to_size(room_.num_blocks[to_size(g)]) * layout().layer_block_bytes(g); };
  std::uint64_t bytes = 0;
  for (int g = 0; g < layout().num_groups(); ++g)
    bytes += to_size(std::ranges::count_if(layout().group(g).layers, [&](int l) { return own_.contains(l); })) *
             layer_bytes(g);
  try {
    // Attention prefetches over page borders: with small pages it waits for translations, one in 64 lines.
    arena_ = PageMemory(to_size(bytes));
  } catch (const std::bad_alloc&) {
    return fail("no memory for a KV arena of {} bytes: the system's or the process's limits forbid so much", bytes);
  }
  std::uint8_t* next = arena_.data();
  for (int g = 0; g < layout().num_groups(); ++g) {
    const KvGroup& group = layout().group(g);
    std::vector<KvLayer>& layers = layers_.emplace_back();
    for (int i = 0; i < group.num_layers(); ++i) {
      const bool is_own = own_.contains(group.layers[to_size(i)]);
      layers.push_back({.data = is_own ? next : nullptr,
                        .block_bytes = layout().layer_block_bytes(g),
                        .head_bytes = layout().head_bytes(g),
                        .v_offset = static_cast<std::ptrdiff_t>(layout().v_offset(g)),
                        .token_bytes = layout().head_bytes(g) / to_size(layout().block_size),
                        .k_order = KOrder::kDimMajor,
                        .block_size = layout().block_size,
                        .num_kv_heads = group.num_kv_heads,
                        .k_dim = group.k_dim,
                        .v_dim = group.v_dim,
                        .token_stride = group.v_in_k ? 0 : group.v_dim,
                        .v_in_k = group.v_in_k});
      if (is_own) next += layer_bytes(g);
    }
  }
  return {};
}

Result<void> KvArena::make_caches() {
  OCTAVO_CHECK(own_ == LayerRange(), "the contiguous layout has all layers in one place");
  for (const KvGroup& group : layout().groups) {
    std::vector<ContiguousKvCache>& caches = caches_.emplace_back();
    std::vector<KvLayer>& layers = layers_.emplace_back();
    for (int i = 0; i < group.num_layers(); ++i) {
      OCTAVO_TRY(ContiguousKvCache cache, ContiguousKvCache::create({.type = layout().type,
                                                                     .batch = 1,
                                                                     .num_kv_heads = group.num_kv_heads,
                                                                     .head_dim = group.k_dim,
                                                                     .initial_capacity = 0,
                                                                     .max_seq_len = layout().block_size}));
      layers.push_back(cache.layer());
      caches.push_back(std::move(cache));
    }
  }
  return {};
}

std::span<const KvLayer> KvArena::own_layers(int group) const {
  const std::vector<int>& layers = layout().group(group).layers;
  const auto first = std::ranges::lower_bound(layers, own_.first), end = std::ranges::lower_bound(layers, own_.end);
  return std::span(layers_[to_size(group)]).subspan(to_size(first - layers.begin()), to_size(end - first));
}

std::span<std::byte> KvArena::block_bytes(int group, int index, BlockId block) {
  const KvLayer& of_layer = layer(group, index);
  OCTAVO_CHECK(of_layer.data != nullptr && block >= 0 && block < room_.num_blocks[to_size(group)],
               "block {} of group {}, layer {} of it", block, group, index);
  return {reinterpret_cast<std::byte*>(of_layer.data + to_size(block) * of_layer.block_bytes), of_layer.block_bytes};
}

void KvArena::copy_blocks(std::span<const BlockCopy> copies) {
  for (const auto& [group, from, to] : copies) {
    if (group == layout().num_groups()) continue;  // a snapshot, which is no block of a group
    OCTAVO_CHECK(group >= 0 && group < layout().num_groups(), "group {} of {}", group, layout().num_groups());
    const int num_blocks = room_.num_blocks[to_size(group)];
    OCTAVO_CHECK(from >= 0 && from < num_blocks && to >= 0 && to < num_blocks, "copy {} to {} of {}", from, to,
                 num_blocks);
    for (const KvLayer& layer : own_layers(group))
      std::memcpy(layer.data + to_size(to) * layer.block_bytes, layer.data + to_size(from) * layer.block_bytes,
                  layer.block_bytes);
  }
}

// Neighbours in memory are released together, also the end of a layer with the beginning of the next one, so that a
// page that both share is released too. This takes no memory: it may be what is short.
void KvArena::release(std::span<const BlockRun> runs) {
  for (std::size_t g = 0; g < caches_.size() && !runs.empty(); ++g) {
    for (std::size_t i = 0; i < caches_[g].size(); ++i) {
      caches_[g][i].release();
      layers_[g][i] = caches_[g][i].layer();
    }
  }
  if (layout().is_contiguous()) return;
  const std::uint8_t *begin = nullptr, *end = nullptr;
  const auto give_back = [&] {
    if (begin != end) arena_.release(to_size(begin - arena_.data()), to_size(end - arena_.data()));
  };
  for (int g = 0; g < layout().num_groups(); ++g) {
    const auto of_group = std::ranges::equal_range(runs, g, {}, &BlockRun::group);
    for (const KvLayer& layer : own_layers(g)) {
      for (const BlockRun& run : of_group) {
        const std::uint8_t* first = layer.data + to_size(run.first) * layer.block_bytes;
        if (first != end) {
          give_back();
          begin = first;
        }
        end = first + to_size(run.count) * layer.block_bytes;
      }
    }
  }
  give_back();
}

// The layer with the least capacity counts: where memory ran out, only the ones before it may have grown.
bool KvArena::must_grow(std::int64_t num_tokens) const {
  for (const std::vector<ContiguousKvCache>& caches : caches_)
    for (const ContiguousKvCache& cache : caches)
      if (cache.capacity() < num_tokens) return true;
  return false;
}

bool KvArena::grow(int num_kept, int num_tokens) {
  for (std::size_t g = 0; g < caches_.size(); ++g) {
    for (std::size_t i = 0; i < caches_[g].size(); ++i) {
      ContiguousKvCache& cache = caches_[g][i];
      cache.reset();
      const Result<void> kept = cache.increment(0, std::min(num_kept, cache.capacity()));
      OCTAVO_CHECK(kept.has_value() && num_tokens <= cache.max_seq_len(), "{} tokens, {} of them kept, of at most {}",
                   num_tokens, num_kept, cache.max_seq_len());
      if (!cache.reserve(num_tokens)) return false;
      layers_[g][i] = cache.layer();
    }
  }
  return true;
}

std::uint64_t KvArena::grown_bytes() const {
  std::uint64_t bytes = 0;
  for (const std::vector<ContiguousKvCache>& caches : caches_)
    for (const ContiguousKvCache& cache : caches) bytes += cache.bytes();
  return bytes;
}

}  // namespace octavo
