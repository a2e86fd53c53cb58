#include "kv/kv_cache_manager.h"

#include <algorithm>
#include <functional>
#include <limits>
#include <new>
#include <utility>

#include "base/to_size.h"
#include "kv/kv_error.h"

namespace octavo {

Result<std::unique_ptr<KvCacheManager>> KvCacheManager::create(StateRoom room, bool prefix_cache, BlockHasher hasher,
                                                               std::string_view model) try {
  const bool shares = prefix_cache && !room.layout.is_contiguous();
  if (shares && !hasher) {
    OCTAVO_TRY(hasher, make_block_hasher());
  }
  BlockHashing hashing{.block_size = room.layout.block_size};
  if (shares) hashing.hasher = std::move(hasher);
  if (shares && !model.empty()) hashing.origin = BlockChain::origin(hashing.hasher, model, room.layout.name());
  return std::unique_ptr<KvCacheManager>(new KvCacheManager(std::move(room), std::move(hashing)));
} catch (const std::bad_alloc&) {
  return fail("no memory for the manager of a KV memory of {} bytes", room.bytes());
}

KvCacheManager::KvCacheManager(StateRoom room, BlockHashing hashing)
    : room_(std::move(room)),
      groups_([&] {
        std::deque<BlockManager> groups;
        for (int g = 0; g < room_.layout.num_groups(); ++g)
          groups.emplace_back(g, room_.layout.group(g), room_.num_blocks[to_size(g)], room_.layout.block_size);
        return groups;
      }()),
      snapshots_(room_.layout.num_groups(), room_.num_snapshots),
      prefix_(groups_, snapshots_, std::move(hashing)) {}

const KvGroup& KvCacheManager::group(int group) const {
  OCTAVO_CHECK(group >= 0 && group < num_groups(), "group {} of {}", group, num_groups());
  return layout().group(group);
}

SequenceId KvCacheManager::create_sequence(std::int64_t reserve_tokens) {
  // A table has an entry for every block of the sequence, held or not. A sequence is no longer than the pools of groups
  // without a window; without such a group it has no limit, but the room that is kept for it has.
  std::int64_t limit = std::int64_t{1} << 22;
  bool rolls = true;
  for (const BlockManager& group : groups_) {
    if (group.is_windowed()) continue;
    const std::int64_t held = std::int64_t{group.pool().total_count()} * block_size();
    limit = rolls ? held : std::min(limit, held);
    rolls = false;
  }
  const std::int64_t tokens = std::clamp<std::int64_t>(reserve_tokens, 0, limit);
  const auto entries = SpareSequences::room_for(to_size((tokens + block_size() - 1) / block_size()));
  return sequences_.add(entries, block_size(), prefix_.publishes(), [&] {
    SequenceState sequence{.groups = {}, .root = {}, .chain = {}, .state_slot = snapshots_.make_state_slot()};
    sequence.groups.reserve(groups_.size());
    for (BlockManager& group : groups_) sequence.groups.emplace_back(BlockTable(group.pool(), block_size()));
    return sequence;
  });
}

Result<void> KvCacheManager::drop_sequence(SequenceId id) {
  if (!sequences_.drop(id)) return sequence_not_found(id);
  return {};
}

void KvCacheManager::drop(SequenceId id) {
  const bool was_there = sequences_.drop(id);
  OCTAVO_CHECK(was_there, "no sequence {}", id);
}

std::int64_t KvCacheManager::sequence_length(SequenceId id, int group) const {
  const SequenceState* sequence = sequences_.find(id);
  if (sequence == nullptr || group < 0 || group >= num_groups()) return 0;
  return sequence->groups[to_size(group)].length;
}

std::int64_t KvCacheManager::token_capacity(SequenceId id, int group) const {
  const SequenceState* sequence = sequences_.find(id);
  if (sequence == nullptr || group < 0 || group >= num_groups()) return 0;
  return sequence->groups[to_size(group)].table.token_capacity();
}

std::int64_t KvCacheManager::layer_length(SequenceId id, int layer) const {
  const SequenceState* sequence = sequences_.find(id);
  if (sequence == nullptr || layer < 0 || layer >= layout().num_layers()) return 0;
  const KvPlace& place = layout().place(layer);
  return groups_[to_size(place.group)].layer_length(sequence->groups[to_size(place.group)], place.index);
}

Result<SequenceId> KvCacheManager::fork(SequenceId id) {
  const SequenceState* sequence = sequences_.find(id);
  if (sequence == nullptr) return sequence_not_found(id);
  std::int64_t tokens = 0;
  for (const GroupState& state : sequence->groups) tokens = std::max(tokens, state.table.token_capacity());
  const SequenceId child = create_sequence(tokens);
  const Result<void> forked = fork_into(id, child);
  OCTAVO_CHECK(forked.has_value(), "{}", forked.error().message);
  return child;
}

Result<void> KvCacheManager::fork_into(SequenceId from, SequenceId to) {
  const SequenceState* parent = sequences_.find(from);
  if (parent == nullptr) return sequence_not_found(from);
  SequenceState* child = sequences_.find(to);
  if (child == nullptr) return sequence_not_found(to);
  if (!child->is_empty()) return position_out_of_range(to, 0);
  for (std::size_t g = 0; g < groups_.size(); ++g) {  // what can fail, before any reference is taken
    child->groups[g].table.reserve_ids(parent->groups[g].table.token_capacity());
    child->groups[g].visible.reserve(parent->groups[g].visible.size());
  }
  child->chain.reserve(parent->chain.size());
  for (std::size_t g = 0; g < groups_.size(); ++g) {
    GroupState& state = child->groups[g];
    for (const BlockId block : parent->groups[g].table.block_ids()) {
      if (block != kNoBlock) {
        const Result<void> shared = groups_[g].pool().add_reference(block);
        OCTAVO_CHECK(shared.has_value(), "{}", shared.error().message);
      }
      state.table.append(block);
    }
    state.visible = parent->groups[g].visible;
    state.length = parent->groups[g].length;
  }
  snapshots_.share(parent->state_slot, child->state_slot);
  child->root = parent->root;
  child->chain = parent->chain;
  return {};
}

Result<void> KvCacheManager::check_capacity(SequenceId id, std::int64_t num_tokens) const {
  const SequenceState* sequence = sequences_.find(id);
  if (sequence == nullptr) return sequence_not_found(id);
  if (num_tokens < 0) return position_out_of_range(id, num_tokens);
  for (int g = 0; g < num_groups(); ++g) {
    const int missing = sequence->groups[to_size(g)].table.blocks_missing(num_tokens);
    if (missing > pool(g).free_count()) return out_of_blocks(g, missing, pool(g).free_count());
  }
  return {};
}

Result<void> KvCacheManager::ensure_capacity(SequenceId id, std::int64_t num_tokens) {
  if (const auto room = check_capacity(id, num_tokens); !room) return room;
  SequenceState& sequence = *sequences_.find(id);
  for (std::size_t g = 0; g < groups_.size(); ++g) groups_[g].extend(sequence.groups[g], num_tokens);
  return {};
}

Result<void> KvCacheManager::check_reserve(SequenceId id, std::int64_t first, std::int64_t end, int first_group,
                                           int end_group) const {
  return check_reserve(id, sequences_.find(id), first, end, first_group, end_group);
}

Result<void> KvCacheManager::check_reserve(SequenceId id, const SequenceState* sequence, std::int64_t first,
                                           std::int64_t end, int first_group, int end_group) const {
  if (sequence == nullptr) return sequence_not_found(id);
  if (first < 0 || end < first) return position_out_of_range(id, first);
  if (first == end) return {};
  for (auto g = to_size(first_group); g < to_size(end_group); ++g)
    if (const auto room = groups_[g].check_room(id, sequence->groups[g], first, end); !room) return room;
  return {};
}

Result<void> KvCacheManager::reserve_groups(SequenceId id, SequenceState* sequence, std::int64_t first,
                                            std::int64_t end, int first_group, int end_group,
                                            std::vector<BlockCopy>& copies) {
  if (const auto room = check_reserve(id, sequence, first, end, first_group, end_group); !room || first == end)
    return room;
  const std::int64_t kept = std::min(first / block_size(), static_cast<std::int64_t>(sequence->chain.size()));
  sequence->chain.resize(to_size(kept));
  for (auto g = to_size(first_group); g < to_size(end_group); ++g)
    groups_[g].reserve(sequence->groups[g], first, end, copies);
  return {};
}

Result<void> KvCacheManager::reserve(SequenceId id, std::int64_t first, std::int64_t end,
                                     std::vector<BlockCopy>& copies) {
  SequenceState* sequence = sequences_.find(id);
  if (!has_snapshots()) return reserve_groups(id, sequence, first, end, 0, num_groups(), copies);
  const int needed = sequence == nullptr || first >= end ? 0 : snapshots_.needed(sequence->state_slot);
  if (needed > snapshots_.pool().free_count()) return out_of_blocks(num_groups(), needed, 0);
  copies.reserve(copies.size() + 1);
  const Result<void> reserved = reserve_groups(id, sequence, first, end, 0, num_groups(), copies);
  if (reserved && first < end) snapshots_.take(sequence->state_slot, copies);
  return reserved;
}

Result<void> KvCacheManager::reserve_in_group(SequenceId id, int group, std::int64_t first, std::int64_t end,
                                              std::vector<BlockCopy>& copies) {
  return reserve_groups(id, sequences_.find(id), first, end, group, group + 1, copies);
}

int KvCacheManager::blocks_needed(SequenceId id, int group, std::int64_t first, std::int64_t end) const {
  const SequenceState* sequence = sequences_.find(id);
  if (sequence == nullptr || group < 0 || group >= num_pools() || first < 0 || end <= first) return 0;
  if (group == num_groups()) return snapshots_.needed(sequence->state_slot);
  const std::int64_t blocks = groups_[to_size(group)].blocks_needed(sequence->groups[to_size(group)], first, end);
  return static_cast<int>(std::min<std::int64_t>(blocks, std::numeric_limits<int>::max()));
}

void KvCacheManager::commit(SequenceId id, std::int64_t end) {
  SequenceState* sequence = sequences_.find(id);
  OCTAVO_CHECK(sequence != nullptr, "sequence {}", id);
  for (std::size_t g = 0; g < groups_.size(); ++g) groups_[g].commit(id, sequence->groups[g], end);
}

std::optional<std::int64_t> KvCacheManager::missing_behind(const SequenceState& sequence,
                                                           std::int64_t num_tokens) const {
  if (num_tokens == 0) return std::nullopt;
  const bool cuts_state = has_snapshots() && num_tokens < sequence.groups.front().length;
  if (num_tokens < 0 || (cuts_state && prefix_.last_checkpoint(sequence, num_tokens) != num_tokens)) return num_tokens;
  for (std::size_t g = 0; g < groups_.size(); ++g) {
    const BlockTable& table = sequence.groups[g].table;
    if (num_tokens < table.token_capacity() && groups_[g].first_needed_block(num_tokens) < table.first_held())
      return groups_[g].shape().first_seen(num_tokens);
  }
  return std::nullopt;
}

bool KvCacheManager::can_truncate(SequenceId id, std::int64_t num_tokens) const {
  const SequenceState* sequence = sequences_.find(id);
  return sequence != nullptr && !missing_behind(*sequence, num_tokens);
}

Result<void> KvCacheManager::truncate(SequenceId id, std::int64_t num_tokens) {
  SequenceState* sequence = sequences_.find(id);
  if (sequence == nullptr) return sequence_not_found(id);
  if (const auto missing = missing_behind(*sequence, num_tokens)) return position_out_of_range(id, *missing);
  const bool cuts_state = has_snapshots() && num_tokens != 0 && num_tokens < sequence->groups.front().length;
  for (std::size_t g = 0; g < groups_.size(); ++g) groups_[g].truncate(sequence->groups[g], num_tokens);
  if (num_tokens == 0) sequence->state_slot.truncate(0);
  if (cuts_state) prefix_.attach_checkpoint(*sequence, num_tokens);
  const std::int64_t kept = std::min(num_tokens / block_size(), static_cast<std::int64_t>(sequence->chain.size()));
  sequence->chain.resize(to_size(kept));
  return {};
}

void KvCacheManager::mark_written(SequenceId id, int layer, std::int64_t first, std::int64_t end) {
  SequenceState* sequence = sequences_.find(id);
  OCTAVO_CHECK(sequence != nullptr, "sequence {}", id);
  const KvPlace& place = layout().place(layer);
  groups_[to_size(place.group)].mark_written(sequence->groups[to_size(place.group)], place.index, first, end);
}

Result<BlockId> KvCacheManager::find_written(SequenceId id, int layer, std::int64_t position) const {
  const SequenceState* sequence = sequences_.find(id);
  if (sequence == nullptr) return sequence_not_found(id);
  if (layer < 0 || layer >= layout().num_layers()) return layer_out_of_range(layer, layout().num_layers());
  const KvPlace& place = layout().place(layer);
  const GroupState& state = sequence->groups[to_size(place.group)];
  if (!groups_[to_size(place.group)].is_visible(state, place.index, position))
    return position_out_of_range(id, position);
  return state.table.block_ids()[to_size(position / block_size())];
}

int KvCacheManager::written_extent() const {
  int most = 0;
  for (const BlockManager& group : groups_) most = std::max(most, group.written().extent(0));
  return most;
}

void KvCacheManager::release_memory(bool cached, std::vector<BlockRun>& runs) {
  runs.clear();
  for (BlockManager& group : groups_)
    if (cached) group.pool().evict_all();
  if (cached) snapshots_.pool().evict_all();
  const auto release_snapshots = [&] { snapshots_.release(runs); };
  if (!layout().is_contiguous()) {
    for (int g = 0; g < num_groups(); ++g) groups_[to_size(g)].release(layout().layer_block_bytes(g), runs);
    return release_snapshots();
  }
  for (const BlockManager& group : groups_)
    if (group.pool().free_count() == 0) return;
  for (int g = 0; g < num_groups(); ++g) {
    groups_[to_size(g)].written().clear_from(0, 0);  // else growing would keep it
    runs.push_back({.group = g, .first = 0, .count = 1});
  }
  release_snapshots();
}

std::size_t KvCacheManager::most_released_runs() const {
  std::size_t runs = snapshots_.most_runs();
  if (layout().is_contiguous()) return groups_.size() + runs;
  for (int g = 0; g < num_groups(); ++g) runs += groups_[to_size(g)].most_runs(layout().layer_block_bytes(g));
  return runs;
}

Result<int> KvCacheManager::attach_prefix(SequenceId id, const RowSource& rows, std::string_view domain) {
  SequenceState* sequence = sequences_.find(id);
  if (sequence == nullptr) return sequence_not_found(id);
  if (!sequence->is_empty()) return position_out_of_range(id, 0);
  return prefix_.attach(*sequence, rows, domain);
}

Result<int> KvCacheManager::extend_prefix(SequenceId id, const RowSource& rows, const BlockChain& chain) {
  SequenceState* sequence = sequences_.find(id);
  if (sequence == nullptr) return sequence_not_found(id);
  return prefix_.extend(*sequence, rows, chain);
}

void KvCacheManager::keep_checkpoint(SequenceId id, int uses) {
  const SequenceState* sequence = sequences_.find(id);
  OCTAVO_CHECK(sequence != nullptr, "no sequence {}", id);
  prefix_.keep_checkpoint(*sequence, uses);
}

std::int64_t KvCacheManager::longest_cut(SequenceId id, std::int64_t most) const {
  const SequenceState* sequence = sequences_.find(id);
  OCTAVO_CHECK(sequence != nullptr, "no sequence {}", id);
  return has_snapshots() ? prefix_.last_checkpoint(*sequence, most) : most;
}

void KvCacheManager::set_owner(SequenceId id, std::string_view owner) {
  SequenceState* sequence = sequences_.find(id);
  OCTAVO_CHECK(sequence != nullptr, "no sequence {}", id);
  sequence->owner = std::hash<std::string_view>{}(owner);
}

void KvCacheManager::hide(SequenceId id) {
  SequenceState* sequence = sequences_.find(id);
  OCTAVO_CHECK(sequence != nullptr, "no sequence {}", id);
  sequence->is_hidden = true;
}

int KvCacheManager::parting(SequenceId id, const RowSource& rows, const BlockChain& chain) const {
  const SequenceState* sequence = sequences_.find(id);
  OCTAVO_CHECK(sequence != nullptr, "no sequence {}", id);
  return prefix_.parting(*sequence, rows, chain);
}

Result<void> KvCacheManager::publish(SequenceId id, const RowSource& rows, std::string_view domain) {
  if (!has_sequence(id)) return sequence_not_found(id);
  if (!prefix_.publishes()) return {};
  return publish(id, rows, prefix_.chain_of(rows, domain));
}

Result<void> KvCacheManager::publish(SequenceId id, const RowSource& rows, const BlockChain& chain) {
  SequenceState* sequence = sequences_.find(id);
  if (sequence == nullptr) return sequence_not_found(id);
  return prefix_.publish(*sequence, rows, chain);
}

const BlockTable& KvCacheManager::table(SequenceId id, int group) const {
  const SequenceState* sequence = sequences_.find(id);
  OCTAVO_CHECK(sequence != nullptr && group >= 0 && group < num_pools(), "sequence {}, pool {}", id, group);
  return group == num_groups() ? sequence->state_slot : sequence->groups[to_size(group)].table;
}

const BlockPool& KvCacheManager::pool(int group) const {
  OCTAVO_CHECK(group >= 0 && group < num_pools(), "pool {} of {}", group, num_pools());
  return group == num_groups() ? snapshots_.pool() : groups_[to_size(group)].pool();
}

double KvCacheManager::utilization() const {
  int total = 0, referenced = 0;
  for (const BlockManager& group : groups_) {
    total += group.pool().total_count();
    referenced += group.pool().total_count() - group.pool().free_count();
  }
  return total == 0 ? 0 : static_cast<double>(referenced) / total;
}

KvStats KvCacheManager::stats() const {
  KvStats stats{
      .hits = prefix_.hits(), .misses = prefix_.misses(), .arena_bytes = room_.bytes(), .resident_bytes = grown_bytes_};
  for (int g = 0; g < num_groups(); ++g) {
    const BlockPool::Stats pool_stats = pool(g).stats();
    const std::uint64_t block_bytes = layout().block_bytes(g);
    stats.blocks_total += pool_stats.total;
    stats.blocks_free += pool_stats.free;
    stats.blocks_cached += pool_stats.cached;
    stats.blocks_referenced += pool_stats.referenced;
    stats.evictions += pool_stats.evictions;
    stats.copies += groups_[to_size(g)].num_copies();
    if (!layout().is_contiguous())
      stats.resident_bytes += static_cast<std::uint64_t>(pool_stats.resident) * block_bytes;
    stats.referenced_bytes += static_cast<std::uint64_t>(pool_stats.referenced) * block_bytes;
  }
  const BlockPool::Stats state_slots = snapshots_.pool().stats();
  stats.resident_bytes += to_size(state_slots.resident) * layout().snapshot.bytes;
  stats.referenced_bytes += to_size(state_slots.referenced) * layout().snapshot.bytes;
  stats.checkpoints = snapshots_.num_checkpoints();
  std::int64_t held = 0, runs = 0;
  for (const auto& [id, sequence] : sequences_.all()) {
    std::int64_t tokens = 0;
    for (const GroupState& state : sequence.groups) {
      const std::int64_t gone = static_cast<std::int64_t>(state.table.first_held()) * block_size();
      tokens = std::max(tokens, state.length - gone);
      held += state.table.num_blocks() - state.table.first_held();
      runs += state.table.num_runs();
    }
    stats.tokens += tokens;
  }
  stats.mean_run_blocks = runs == 0 ? 0 : static_cast<double>(held) / static_cast<double>(runs);
  return stats;
}

Result<void> KvCacheManager::check_integrity() const {
  std::vector<std::span<const BlockId>> tables;
  tables.reserve(sequences_.all().size());
  for (std::size_t g = 0; g < groups_.size(); ++g) {
    tables.clear();
    for (const auto& [id, sequence] : sequences_.all()) tables.push_back(sequence.groups[g].table.block_ids());
    if (const auto result = groups_[g].check_integrity(tables); !result)
      return fail("group {}: {}", g, result.error().message);
  }
  tables.clear();
  for (const auto& [id, sequence] : sequences_.all()) tables.push_back(sequence.state_slot.block_ids());
  OCTAVO_TRY_VOID(snapshots_.check_integrity(tables));
  OCTAVO_TRY_VOID(prefix_.check_integrity());
  for (const auto& [id, sequence] : sequences_.all())
    for (std::size_t g = 0; g < groups_.size(); ++g)
      if (const auto result = groups_[g].check_state(sequence.groups[g], sequence.chain); !result)
        return fail("sequence {}, group {}: {}", id, g, result.error().message);
  return {};
}

}  // namespace octavo
