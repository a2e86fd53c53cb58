#include "octavo/kv/paged_kv_cache.h"

#include <algorithm>
#include <bit>
#include <limits>
#include <new>

#include "base/cpu_info.h"
#include "base/to_size.h"
#include "kernels/dispatch.h"
#include "kv/kv_budget.h"
#include "kv/kv_element.h"
#include "kv/paged_kv_impl.h"

namespace octavo {
namespace {

constexpr int kMaxKvHeads = 65'536;  // with kMaxHeadDim and kMaxLayers: no product of a shape passes 2^60
constexpr std::size_t kMaxLayers = 65'536;

Result<void> check_options(const PagedKvOptions& o) {
  OCTAVO_TRY_VOID(check_type(o.type));
  if (o.layout != KvLayout::kPaged && o.layout != KvLayout::kContiguous)
    return fail("layout is number {}, expected kPaged or kContiguous", static_cast<int>(o.layout));
  if (o.num_kv_heads < 1 || o.num_kv_heads > kMaxKvHeads)
    return fail("num_kv_heads is {}, expected 1 to {}", o.num_kv_heads, kMaxKvHeads);
  if (o.head_dim < 1 || o.head_dim > kMaxHeadDim)
    return fail("head_dim is {}, expected 1 to {}", o.head_dim, kMaxHeadDim);
  if (o.block_size < 1 || o.block_size > kMaxBlockSize || !std::has_single_bit(static_cast<unsigned>(o.block_size)))
    return fail("block_size is {}, expected a power of two from 1 to {}", o.block_size, kMaxBlockSize);
  if (o.layer_windows.empty() || o.layer_windows.size() > kMaxLayers)
    return fail("layer_windows has {} layers, expected 1 to {}", o.layer_windows.size(), kMaxLayers);
  for (std::size_t layer = 0; layer < o.layer_windows.size(); ++layer)
    if (o.layer_windows[layer] < 0)
      return fail("the window of layer {} is {}, expected 0 (all tokens) or more", layer, o.layer_windows[layer]);
  if (o.num_blocks < 0) return fail("num_blocks is {}, expected 0 (as many as fit) or more", o.num_blocks);
  if (o.max_tokens < 0) return fail("max_tokens is {}, expected 0 (no limit) or more", o.max_tokens);
  if (o.longest_sequence < 0) return fail("longest_sequence is {}, expected 0 (unknown) or more", o.longest_sequence);
  if (o.max_sequences < 0) return fail("max_sequences is {}, expected 0 (unknown) or more", o.max_sequences);
  return {};
}

/// Layers with the same window, in the order of their first appearance.
std::vector<PagedKvCache::Group> make_groups(std::span<const int> layer_windows) {
  std::vector<PagedKvCache::Group> groups;
  for (int layer = 0; layer < static_cast<int>(layer_windows.size()); ++layer) {
    const int window = layer_windows[to_size(layer)];
    auto group = std::ranges::find(groups, window, &PagedKvCache::Group::window);
    if (group == groups.end()) group = groups.insert(groups.end(), {.window = window, .layers = {}, .num_blocks = 0});
    group->layers.push_back(layer);
  }
  return groups;
}

KvShape make_shape(const PagedKvOptions& options, std::span<const PagedKvCache::Group> groups) {
  KvShape shape{.type = options.type,
                .block_size = options.block_size,
                .num_kv_heads = options.num_kv_heads,
                .head_dim = options.head_dim};
  for (const PagedKvCache::Group& group : groups) shape.group_layers.push_back(static_cast<int>(group.layers.size()));
  return shape;
}

Result<KvStorage> make_paged(const PagedKvOptions& options, const KvShape& shape,
                             std::span<PagedKvCache::Group> groups) {
  std::vector<int> blocks(groups.size(), options.num_blocks);
  if (options.num_blocks == 0) {
    std::vector<int> windows;
    for (const PagedKvCache::Group& group : groups) windows.push_back(group.window);
    OCTAVO_TRY(blocks, share_budget(shape, windows,
                                    {.bytes = options.memory_bytes,
                                     .max_tokens = options.max_tokens,
                                     .longest_sequence = options.longest_sequence,
                                     .max_sequences = options.max_sequences}));
  } else if (static_cast<std::uint64_t>(options.num_blocks) >
             std::numeric_limits<std::uint64_t>::max() / shape.block_bytes()) {
    return fail("{} blocks of {} bytes are more than an address counts", options.num_blocks, shape.block_bytes());
  }
  for (std::size_t g = 0; g < groups.size(); ++g) groups[g].num_blocks = blocks[g];
  return KvStorage::create(shape, blocks);
}

/// One block of as many tokens as the options allow. While one layer grows it is there twice, which the budget
/// includes.
Result<KvStorage> make_contiguous(const PagedKvOptions& options, KvShape shape, std::span<PagedKvCache::Group> groups) {
  if (options.type == KvType::kQ8_0)
    return fail("a contiguous KV layout has elements of i16, f16, bf16 or f32, found {}", kv_type_name(options.type));
  std::int64_t tokens = std::numeric_limits<int>::max();
  if (options.max_tokens != 0) tokens = std::min(tokens, options.max_tokens);
  if (options.num_blocks != 0) {
    tokens = std::min(tokens, static_cast<std::int64_t>(options.num_blocks) * options.block_size);
  } else {
    const auto layers = static_cast<std::uint64_t>(shape.num_layers());
    const std::uint64_t token_bytes = shape.bytes_per_token() / layers * (layers + 1);
    const std::uint64_t fitting = options.memory_bytes / token_bytes;
    if (fitting == 0)
      return fail("a KV memory of {} bytes holds no token: one takes {} bytes", options.memory_bytes, token_bytes);
    tokens = static_cast<std::int64_t>(std::min(fitting, static_cast<std::uint64_t>(tokens)));
  }
  shape.block_size = static_cast<int>(tokens);
  for (PagedKvCache::Group& group : groups) group.num_blocks = 1;
  return KvStorage::create_contiguous(shape);
}

}  // namespace

PagedKvCache::PagedKvCache() = default;
PagedKvCache::~PagedKvCache() = default;

Result<std::unique_ptr<PagedKvCache>> PagedKvCache::create(const PagedKvOptions& options) try {
  OCTAVO_TRY_VOID(check_options(options));
  OCTAVO_TRY(const IsaLevel fastest, parse_isa("auto"));
  std::vector<Group> groups = make_groups(options.layer_windows);
  const KvShape shape = make_shape(options, groups);
  const bool paged = options.layout == KvLayout::kPaged;
  OCTAVO_TRY(KvStorage storage, paged ? make_paged(options, shape, groups) : make_contiguous(options, shape, groups));

  std::unique_ptr<PagedKvCache> cache(new PagedKvCache());
  cache->impl_ = std::make_unique<Impl>(options, std::move(storage));
  Impl& impl = *cache->impl_;
  impl.block_size = impl.storage.shape().block_size;
  impl.write_token = kernel_table(fastest).write_kv[to_size(options.type)];
  impl.layer_places.resize(options.layer_windows.size());
  impl.runs.resize(groups.size());
  if (paged && options.prefix_cache && !impl.options.hasher) {
    OCTAVO_TRY(impl.options.hasher, make_block_hasher());
  }
  for (Group& group : groups) {
    const int g = static_cast<int>(impl.groups.size());
    for (std::size_t i = 0; i < group.layers.size(); ++i)
      impl.layer_places[to_size(group.layers[i])] = {g, static_cast<int>(i)};
    if (group.window == 0) impl.global_group = g;
    impl.groups.push_back(std::make_unique<Impl::GroupBooks>(std::move(group), impl.block_size));
  }
  if (paged && options.prefix_cache) impl.make_prefix_caches();
  return cache;
} catch (const std::bad_alloc&) {
  if (options.num_blocks == 0) return fail("no memory for the books of a KV cache of {} bytes", options.memory_bytes);
  return fail("no memory for the books of a KV cache of {} blocks", options.num_blocks);
}

// What can be attached begins in the group without a window, so that a windowed block goes when the block of the same
// tokens goes there. It is also what tells contents apart whose hashes collide, after the window has left them.
void PagedKvCache::Impl::make_prefix_caches() {
  for (const auto& books : groups)
    books->prefix = std::make_unique<PrefixCache>(books->pool, block_size, books->group.window == 0);
  if (global_group < 0) return;
  groups[to_size(global_group)]->prefix->on_forget([this](const BlockHash& hash) {
    for (const auto& books : groups)
      if (books->group.window != 0) books->prefix->unpublish(books->prefix->find_hash(hash));
  });
}

int PagedKvCache::block_size() const { return impl_->block_size; }
int PagedKvCache::num_layers() const { return impl_->num_layers(); }
int PagedKvCache::num_kv_heads() const { return impl_->options.num_kv_heads; }
int PagedKvCache::head_dim() const { return impl_->options.head_dim; }
KvType PagedKvCache::type() const { return impl_->options.type; }
int PagedKvCache::num_groups() const { return static_cast<int>(impl_->groups.size()); }
const PagedKvCache::Group& PagedKvCache::group(int group) const {
  OCTAVO_CHECK(group >= 0 && group < num_groups(), "group {} of {}", group, num_groups());
  return impl_->groups[to_size(group)]->group;
}
int PagedKvCache::group_of_layer(int layer) const {
  OCTAVO_CHECK(layer >= 0 && layer < num_layers(), "layer {} of {}", layer, num_layers());
  return impl_->layer_places[to_size(layer)].first;
}
std::uint64_t PagedKvCache::arena_bytes() const { return impl_->storage.arena_bytes(); }
KvStorage& PagedKvCache::storage() { return impl_->storage; }
const KvStorage& PagedKvCache::storage() const { return impl_->storage; }

std::int64_t PagedKvCache::max_sequence_tokens() const {
  std::int64_t tokens = std::numeric_limits<std::int64_t>::max();
  for (const auto& books : impl_->groups) {
    const std::int64_t held = books->group.num_blocks, window = books->group.window;
    // The window of a position, wherever it lies in its block: with that, a sequence can go on for ever.
    const bool rolls = window != 0 && held >= (window + block_size() - 2) / block_size() + 1;
    if (!rolls) tokens = std::min(tokens, held * block_size());
  }
  return tokens;
}

SequenceState* PagedKvCache::Impl::find(SequenceId id) {
  const auto found = sequences.find(id);
  return found == sequences.end() ? nullptr : &found->second;
}

const SequenceState* PagedKvCache::Impl::find(SequenceId id) const {
  const auto found = sequences.find(id);
  return found == sequences.end() ? nullptr : &found->second;
}

SequenceId PagedKvCache::create_sequence(std::int64_t reserve_tokens) {
  // A table has an entry for every block of the sequence, held or not. A sequence is no longer than the pool of the
  // group without a window; without such a group it has no limit, but what is kept for it has.
  constexpr std::int64_t kMostReserved = std::int64_t{1} << 22;
  const std::int64_t limit =
      impl_->global_group < 0 ? kMostReserved : std::int64_t{group(impl_->global_group).num_blocks} * block_size();
  const std::int64_t tokens = std::clamp<std::int64_t>(reserve_tokens, 0, limit);
  const auto entries = SpareSequences::room_for(to_size((tokens + block_size() - 1) / block_size()));
  if (SpareSequences::Node spare = impl_->spares.take(entries)) {
    impl_->reserve_entries(spare.mapped(), entries);
    spare.key() = impl_->next_id;
    impl_->sequences.insert(std::move(spare));
    return impl_->next_id++;
  }
  SequenceState sequence;  // known once it is whole
  sequence.groups.reserve(impl_->groups.size());
  for (const auto& books : impl_->groups) sequence.groups.emplace_back(BlockTable(books->pool, block_size()));
  impl_->reserve_entries(sequence, entries);
  impl_->sequences.emplace(impl_->next_id, std::move(sequence));
  return impl_->next_id++;
}

void PagedKvCache::Impl::reserve_entries(SequenceState& sequence, std::size_t entries) const {
  for (GroupState& state : sequence.groups) {
    state.table.reserve_ids(static_cast<std::int64_t>(entries) * block_size);
    state.visible.reserve(entries);
  }
  if (publishes()) sequence.chain.reserve(entries);
}

void SpareSequences::keep(Node node) {
  const std::size_t entries = room(node);
  if (nodes_.size() == kMost || entries > kMostEntries - num_entries_) return;
  num_entries_ += entries;
  nodes_.push_back(std::move(node));
}

SpareSequences::Node SpareSequences::take(std::size_t entries) {
  const auto found = std::ranges::find(nodes_, room_for(entries), room);
  if (found == nodes_.end()) return {};
  std::swap(*found, nodes_.back());
  Node node = std::move(nodes_.back());
  nodes_.pop_back();
  num_entries_ -= room(node);
  return node;
}

bool PagedKvCache::has_sequence(SequenceId id) const { return impl_->find(id) != nullptr; }

KvResult<void> PagedKvCache::drop_sequence(SequenceId id) {
  SpareSequences::Node node = impl_->sequences.extract(id);
  if (!node) return std::unexpected(SequenceNotFound{id});
  SequenceState& sequence = node.mapped();
  for (GroupState& state : sequence.groups) {
    state.table.truncate(0);
    state.visible.clear();
    state.length = 0;
  }
  sequence.root = {};
  sequence.chain.clear();
  impl_->spares.keep(std::move(node));
  return {};
}

std::int64_t PagedKvCache::sequence_length(SequenceId id, int group) const {
  const SequenceState* sequence = impl_->find(id);
  if (sequence == nullptr || group < 0 || group >= num_groups()) return 0;
  return sequence->groups[to_size(group)].length;
}

std::int64_t PagedKvCache::token_capacity(SequenceId id, int group) const {
  const SequenceState* sequence = impl_->find(id);
  if (sequence == nullptr || group < 0 || group >= num_groups()) return 0;
  return sequence->groups[to_size(group)].table.token_capacity();
}

KvResult<SequenceId> PagedKvCache::fork(SequenceId id) {
  const SequenceState* sequence = impl_->find(id);
  if (sequence == nullptr) return std::unexpected(SequenceNotFound{id});
  std::int64_t tokens = 0;
  for (const GroupState& state : sequence->groups) tokens = std::max(tokens, state.table.token_capacity());
  const SequenceId child = create_sequence(tokens);
  const KvResult<void> forked = fork_into(id, child);
  OCTAVO_CHECK(forked.has_value(), "{}", describe(forked.error()));
  return child;
}

KvResult<void> PagedKvCache::fork_into(SequenceId from, SequenceId to) {
  const SequenceState* parent = impl_->find(from);
  if (parent == nullptr) return std::unexpected(SequenceNotFound{from});
  SequenceState* child = impl_->find(to);
  if (child == nullptr) return std::unexpected(SequenceNotFound{to});
  for (const GroupState& state : child->groups)
    if (state.table.num_blocks() != 0) return std::unexpected(PositionOutOfRange{to, 0});
  for (std::size_t g = 0; g < parent->groups.size(); ++g) {  // what can fail, before any reference is taken
    child->groups[g].table.reserve_ids(parent->groups[g].table.token_capacity());
    child->groups[g].visible.reserve(parent->groups[g].visible.size());
  }
  child->chain.reserve(parent->chain.size());
  for (std::size_t g = 0; g < parent->groups.size(); ++g) {
    GroupState& state = child->groups[g];
    for (const BlockId block : parent->groups[g].table.block_ids()) {
      if (block != kNoBlock) {
        const KvResult<void> shared = impl_->groups[g]->pool.add_reference(block);
        OCTAVO_CHECK(shared.has_value(), "{}", describe(shared.error()));
      }
      state.table.append(block);
    }
    state.visible = parent->groups[g].visible;
    state.length = parent->groups[g].length;
  }
  child->root = parent->root;
  child->chain = parent->chain;
  return {};
}

const BlockTable& PagedKvCache::table(SequenceId id, int group) const {
  const SequenceState* sequence = impl_->find(id);
  OCTAVO_CHECK(sequence != nullptr && group >= 0 && group < num_groups(), "sequence {}, group {}", id, group);
  return sequence->groups[to_size(group)].table;
}

const BlockPool& PagedKvCache::pool(int group) const {
  OCTAVO_CHECK(group >= 0 && group < num_groups(), "group {} of {}", group, num_groups());
  return impl_->groups[to_size(group)]->pool;
}

}  // namespace octavo
