// What the books say of themselves: shares, counts, and whether they are in order.
#include <algorithm>

#include "base/to_size.h"
#include "kv/kv_books.h"

namespace octavo {

double KvBooks::utilization() const {
  int total = 0, referenced = 0;
  for (const GroupBooks& group : groups_) {
    total += group.pool().total_count();
    referenced += group.pool().total_count() - group.pool().free_count();
  }
  return total == 0 ? 0 : static_cast<double>(referenced) / total;
}

KvStats KvBooks::stats() const {
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
  const BlockPool::Stats seats = snapshots_.pool().stats();
  stats.resident_bytes += to_size(seats.resident) * layout().snapshot.bytes;
  stats.referenced_bytes += to_size(seats.referenced) * layout().snapshot.bytes;
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

Result<void> KvBooks::check_integrity() const {
  std::vector<std::span<const BlockId>> tables;
  tables.reserve(sequences_.all().size());
  for (std::size_t g = 0; g < groups_.size(); ++g) {
    tables.clear();
    for (const auto& [id, sequence] : sequences_.all()) tables.push_back(sequence.groups[g].table.block_ids());
    if (const auto result = groups_[g].check_integrity(tables); !result)
      return fail("group {}: {}", g, result.error().message);
  }
  tables.clear();
  for (const auto& [id, sequence] : sequences_.all()) tables.push_back(sequence.seat.block_ids());
  OCTAVO_TRY_VOID(snapshots_.check_integrity(tables));
  OCTAVO_TRY_VOID(prefix_.check_integrity());
  for (const auto& [id, sequence] : sequences_.all())
    for (std::size_t g = 0; g < groups_.size(); ++g)
      if (const auto result = groups_[g].check_state(sequence.groups[g], sequence.chain); !result)
        return fail("sequence {}, group {}: {}", id, g, result.error().message);
  return {};
}

}  // namespace octavo
