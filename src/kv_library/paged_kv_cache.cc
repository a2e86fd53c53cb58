// A façade over manager and arena, for people who have an engine of their own.
#include "octavo/kv/paged_kv_cache.h"

#include <algorithm>
#include <bit>
#include <limits>
#include <utility>

#include "base/cpu_info.h"
#include "base/to_size.h"
#include "kernels/dispatch.h"
#include "kv/kv_arena.h"
#include "kv/kv_budget.h"
#include "kv/kv_cache_manager.h"
#include "kv/kv_error.h"
#include "kv_library/decode_kv.h"

namespace octavo {
namespace {

constexpr int kMaxKvHeads = 65'536;  // with kMaxHeadDim and kMaxLayers, no product of a layout passes 2^60
constexpr std::size_t kMaxLayers = 65'536;

Result<void> check_options(const PagedKvOptions& o) {
  if (o.layout != KvLayout::kPaged && o.layout != KvLayout::kContiguous)
    return fail("layout is number {}, expected kPaged or kContiguous", static_cast<int>(o.layout));
  if (o.block_size < 1 || o.block_size > kMaxBlockSize || !std::has_single_bit(static_cast<unsigned>(o.block_size)))
    return fail("block_size is {}, expected a power of two from 1 to {}", o.block_size, kMaxBlockSize);
  if (o.num_blocks < 0) return fail("num_blocks is {}, expected 0 (as many as fit) or more", o.num_blocks);
  if (o.max_tokens < 0) return fail("max_tokens is {}, expected 0 (no limit) or more", o.max_tokens);
  if (o.longest_sequence < 0) return fail("longest_sequence is {}, expected 0 (unknown) or more", o.longest_sequence);
  if (o.max_sequences < 0) return fail("max_sequences is {}, expected 0 (unknown) or more", o.max_sequences);
  return {};
}

Result<void> check_layer(std::size_t layer, const KvLayerShape& shape) {
  if (shape.num_kv_heads < 1 || shape.num_kv_heads > kMaxKvHeads)
    return fail("layer {}: num_kv_heads is {}, expected 1 to {}", layer, shape.num_kv_heads, kMaxKvHeads);
  if (shape.k_dim < 1 || shape.k_dim > kMaxHeadDim)
    return fail("layer {}: head_dim is {}, expected 1 to {}", layer, shape.k_dim, kMaxHeadDim);
  if (shape.v_dim != shape.k_dim)
    return fail("layer {}: v_dim is {}, expected {} as k_dim", layer, shape.v_dim, shape.k_dim);
  if (shape.v_in_k) return fail("layer {}: values lie in keys, expected values of their own", layer);
  return {};
}

Result<StateLayout> make_layout(const PagedKvOptions& options) {
  std::vector<std::optional<KvLayerShape>> layers(options.layers.begin(), options.layers.end());
  for (std::size_t i = 0; i < options.layer_windows.size() && options.layers.empty(); ++i)
    layers.emplace_back(KvLayerShape{.num_kv_heads = options.num_kv_heads,
                                     .k_dim = options.head_dim,
                                     .v_dim = options.head_dim,
                                     .window = options.layer_windows[i]});
  if (layers.empty() || layers.size() > kMaxLayers)
    return fail("layer_windows has {} layers, expected 1 to {}", layers.size(), kMaxLayers);
  for (std::size_t layer = 0; layer < layers.size(); ++layer) OCTAVO_TRY_VOID(check_layer(layer, *layers[layer]));
  return StateLayout::create(options.type, options.layout, options.block_size, layers);
}

}  // namespace

struct PagedKvCache::Impl {
  Impl(std::unique_ptr<KvCacheManager> made, KvArena memory, WriteKvFn write)
      : manager(std::move(made)), arena(std::move(memory)), write_token(write) {
    for (int g = 0; g < manager->num_groups(); ++g) {
      const KvGroup& group = manager->group(g);
      groups.push_back({.window = group.window,
                        .layers = group.layers,
                        .num_blocks = manager->pool(g).total_count(),
                        .num_kv_heads = group.num_kv_heads,
                        .head_dim = group.k_dim});
    }
    released.reserve(manager->most_released_runs());
  }

  /// A layer's shape; for a number that no layer has, the first layer's.
  const KvGroup& shape_of(int layer) const {
    const StateLayout& layout = manager->layout();
    return layout.group(layout.place(layer >= 0 && layer < layout.num_layers() ? layer : 0).group);
  }
  const KvLayer& memory(int layer) const {
    const KvPlace& place = manager->layout().place(layer);
    return arena.layer(place.group, place.index);
  }
  /// Grows the contiguous layout, the only one whose memory grows. False where the system has none.
  bool grow(std::int64_t end) {
    const bool grown = arena.grow(manager->written_extent(), static_cast<int>(end));
    manager->set_grown_bytes(arena.grown_bytes());
    return grown;
  }

  std::unique_ptr<KvCacheManager> manager;
  KvArena arena;
  WriteKvFn write_token;           // the function for the element type
  std::vector<Group> groups;       // [groups of the layout]
  std::vector<BlockCopy> copies;   // scratch of calls that make copies at once
  std::vector<BlockRun> released;  // scratch of release_memory()
};

PagedKvCache::PagedKvCache() = default;
PagedKvCache::~PagedKvCache() = default;

Result<std::unique_ptr<PagedKvCache>> PagedKvCache::create(const PagedKvOptions& options) {
  OCTAVO_TRY_VOID(check_options(options));
  OCTAVO_TRY(const IsaLevel fastest, parse_isa("auto"));
  OCTAVO_TRY(StateLayout layout, make_layout(options));
  OCTAVO_TRY(StateRoom room, make_room(std::move(layout), {.bytes = options.memory_bytes,
                                                           .max_tokens = options.max_tokens,
                                                           .longest_sequence = options.longest_sequence,
                                                           .max_sequences = options.max_sequences,
                                                           .num_blocks = options.num_blocks}));
  OCTAVO_TRY(KvArena arena, KvArena::create(room));
  OCTAVO_TRY(std::unique_ptr<KvCacheManager> manager,
             KvCacheManager::create(std::move(room), options.prefix_cache, options.hasher));
  const WriteKvFn write = kernel_table(fastest).write_kv[to_size(options.type)];
  std::unique_ptr<PagedKvCache> cache(new PagedKvCache());
  cache->impl_ = std::make_unique<Impl>(std::move(manager), std::move(arena), write);
  return cache;
}

int PagedKvCache::block_size() const { return impl_->manager->block_size(); }
int PagedKvCache::num_layers() const { return impl_->manager->layout().num_layers(); }
int PagedKvCache::num_groups() const { return impl_->manager->num_groups(); }
KvType PagedKvCache::type() const { return impl_->manager->layout().type; }
std::uint64_t PagedKvCache::arena_bytes() const { return impl_->arena.room().bytes(); }
std::int64_t PagedKvCache::max_sequence_tokens() const { return impl_->manager->max_sequence_tokens(); }
const KvArena& PagedKvCache::arena() const { return impl_->arena; }
const KvLayer& PagedKvCache::memory(int layer) const { return impl_->memory(layer); }

int PagedKvCache::group_of_layer(int layer) const { return impl_->manager->layout().place(layer).group; }
int PagedKvCache::num_kv_heads(int layer) const { return group(group_of_layer(layer)).num_kv_heads; }
int PagedKvCache::head_dim(int layer) const { return group(group_of_layer(layer)).head_dim; }
int PagedKvCache::window(int layer) const { return impl_->manager->layout().place(layer).window; }

const PagedKvCache::Group& PagedKvCache::group(int group) const {
  OCTAVO_CHECK(group >= 0 && group < num_groups(), "group {} of {}", group, num_groups());
  return impl_->groups[to_size(group)];
}

SequenceId PagedKvCache::create_sequence(std::int64_t reserve_tokens) {
  return impl_->manager->create_sequence(reserve_tokens);
}
bool PagedKvCache::has_sequence(SequenceId id) const { return impl_->manager->has_sequence(id); }
Result<void> PagedKvCache::drop_sequence(SequenceId id) { return impl_->manager->drop_sequence(id); }
Result<SequenceId> PagedKvCache::fork(SequenceId id) { return impl_->manager->fork(id); }
Result<void> PagedKvCache::fork_into(SequenceId from, SequenceId to) { return impl_->manager->fork_into(from, to); }
Result<void> PagedKvCache::truncate(SequenceId id, std::int64_t num_tokens) {
  return impl_->manager->truncate(id, num_tokens);
}
std::int64_t PagedKvCache::sequence_length(SequenceId id, int group) const {
  return impl_->manager->sequence_length(id, group);
}
std::int64_t PagedKvCache::layer_length(SequenceId id, int layer) const {
  return impl_->manager->layer_length(id, layer);
}
std::int64_t PagedKvCache::token_capacity(SequenceId id, int group) const {
  return impl_->manager->token_capacity(id, group);
}

Result<void> PagedKvCache::ensure_capacity(SequenceId id, std::int64_t num_tokens) {
  if (impl_->arena.must_grow(num_tokens)) {
    if (const auto room = impl_->manager->check_capacity(id, num_tokens); !room) return room;
    if (!impl_->grow(num_tokens)) return memory_refused(num_tokens);
  }
  return impl_->manager->ensure_capacity(id, num_tokens);
}

Result<void> PagedKvCache::reserve(SequenceId id, std::int64_t first, std::int64_t end,
                                   std::vector<BlockCopy>* copies) {
  if (first < end && impl_->arena.must_grow(end)) {
    if (const auto room = impl_->manager->check_reserve(id, first, end, 0, num_groups()); !room) return room;
    if (!impl_->grow(end)) return memory_refused(end);
  }
  if (copies != nullptr) return impl_->manager->reserve(id, first, end, *copies);
  impl_->copies.clear();
  const Result<void> reserved = impl_->manager->reserve(id, first, end, impl_->copies);
  if (reserved) make_copies(impl_->copies);
  return reserved;
}

int PagedKvCache::blocks_needed(SequenceId id, int group, std::int64_t first, std::int64_t end) const {
  return impl_->manager->blocks_needed(id, group, first, end);
}
void PagedKvCache::commit(SequenceId id, std::int64_t end) { impl_->manager->commit(id, end); }
void PagedKvCache::make_copies(std::span<const BlockCopy> copies) { impl_->arena.copy_blocks(copies); }

void PagedKvCache::release_memory(bool cached) {
  impl_->manager->release_memory(cached, impl_->released);
  impl_->arena.release(impl_->released);
  impl_->manager->set_grown_bytes(impl_->arena.grown_bytes());
}

Result<void> PagedKvCache::write_kv(SequenceId id, int layer, std::int64_t position, std::span<const float> keys,
                                    std::span<const float> values, int num_positions) {
  const KvGroup& shape = impl_->shape_of(layer);
  const std::size_t one = to_size(shape.num_kv_heads) * to_size(shape.k_dim);
  const std::size_t all = one * to_size(std::max(num_positions, 0));
  for (const std::span<const float> given : {keys, values})
    if (given.size() != all) return wrong_length(all, given.size());
  if (!has_sequence(id)) return sequence_not_found(id);
  if (layer < 0 || layer >= num_layers()) return layer_out_of_range(layer, num_layers());
  KvCacheManager& manager = *impl_->manager;
  if (const int lender = manager.layout().lender(layer); lender != layer) return layer_is_borrowed(layer, lender);
  if (position < 0 || position > std::numeric_limits<std::int64_t>::max() - std::max(num_positions, 0))
    return position_out_of_range(id, position);
  if (num_positions <= 0) return {};

  const int g = group_of_layer(layer);
  const std::int64_t end = position + num_positions;
  if (impl_->arena.must_grow(end)) {
    if (const auto room = manager.check_reserve(id, position, end, g, g + 1); !room) return room;
    if (!impl_->grow(end)) return memory_refused(end);
  }
  impl_->copies.clear();
  if (const auto reserved = manager.reserve_in_group(id, g, position, end, impl_->copies); !reserved) return reserved;
  make_copies(impl_->copies);
  const std::span<const BlockId> blocks = manager.table(id, g).block_ids();
  for (std::int64_t at = position; at < end; ++at) {
    const std::size_t from = to_size(at - position) * one;
    impl_->write_token(impl_->memory(layer), blocks[to_size(at / block_size())], static_cast<int>(at % block_size()),
                       keys.data() + from, values.data() + from);
  }
  manager.mark_written(id, layer, position, end);
  return {};
}

Result<KvView> PagedKvCache::read_kv(SequenceId id, int layer, std::int64_t position) const {
  const Result<BlockId> block = impl_->manager->find_written(id, layer, position);
  if (!block) return std::unexpected(block.error());
  if (type() != KvType::kF32) return wrong_element_type(KvType::kF32, type());
  return view_kv(impl_->memory(layer), *block, static_cast<int>(position % block_size()));
}

Result<void> PagedKvCache::read_kv(SequenceId id, int layer, std::int64_t position, std::span<float> key,
                                   std::span<float> value) const {
  const KvGroup& shape = impl_->shape_of(layer);
  const std::size_t one = to_size(shape.num_kv_heads) * to_size(shape.k_dim);
  for (const std::span<float> given : {key, value})
    if (given.size() != one) return wrong_length(one, given.size());
  const Result<BlockId> block = impl_->manager->find_written(id, layer, position);
  if (!block) return std::unexpected(block.error());
  decode_kv(impl_->memory(layer), type(), *block, static_cast<int>(position % block_size()), key.data(), value.data());
  return {};
}

Result<int> PagedKvCache::attach_prefix(SequenceId id, const RowSource& rows, std::string_view domain) {
  return impl_->manager->attach_prefix(id, rows, domain);
}
Result<int> PagedKvCache::extend_prefix(SequenceId id, const RowSource& rows, const BlockChain& chain) {
  return impl_->manager->extend_prefix(id, rows, chain);
}
bool PagedKvCache::is_published(const BlockHash& hash) const { return impl_->manager->is_published(hash); }
const BlockHasher& PagedKvCache::hasher() const { return impl_->manager->hashing().hasher; }
Result<void> PagedKvCache::publish(SequenceId id, const RowSource& rows, std::string_view domain) {
  return impl_->manager->publish(id, rows, domain);
}
Result<void> PagedKvCache::publish(SequenceId id, const RowSource& rows, const BlockChain& chain) {
  return impl_->manager->publish(id, rows, chain);
}

const BlockTable& PagedKvCache::table(SequenceId id, int group) const { return impl_->manager->table(id, group); }
const BlockPool& PagedKvCache::pool(int group) const { return impl_->manager->pool(group); }
double PagedKvCache::utilization() const { return impl_->manager->utilization(); }
Result<void> PagedKvCache::check_integrity() const { return impl_->manager->check_integrity(); }

KvStats PagedKvCache::stats() const { return impl_->manager->stats(); }

}  // namespace octavo
