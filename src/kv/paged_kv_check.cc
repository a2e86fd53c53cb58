// PagedKvCache: what it says about itself, and whether it is true.
#include <algorithm>

#include "base/to_size.h"
#include "kv/paged_kv_impl.h"

namespace octavo {
namespace {

/// "12.3 MiB", "640 KiB"
std::string size_text(std::uint64_t bytes) {
  constexpr double kKiB = 1024, kMiB = 1024 * kKiB, kGiB = 1024 * kMiB;
  const auto b = static_cast<double>(bytes);
  if (b >= kGiB) return fmt::format("{:.1f} GiB", b / kGiB);
  if (b >= kMiB) return fmt::format("{:.1f} MiB", b / kMiB);
  return fmt::format("{:.1f} KiB", b / kKiB);
}

}  // namespace

double PagedKvCache::utilization() const {
  int total = 0, referenced = 0;
  for (const auto& books : impl_->groups) {
    total += books->pool.total_count();
    referenced += books->pool.total_count() - books->pool.free_count();
  }
  return total == 0 ? 0 : static_cast<double>(referenced) / total;
}

KvStats PagedKvCache::stats() const {
  KvStats stats{.hits = impl_->hits, .misses = impl_->misses, .copies = impl_->copies, .arena_bytes = arena_bytes()};
  for (int g = 0; g < num_groups(); ++g) {
    const BlockPool::Stats pool_stats = pool(g).stats();
    stats.blocks_total += pool_stats.total;
    stats.blocks_free += pool_stats.free;
    stats.blocks_cached += pool_stats.cached;
    stats.blocks_referenced += pool_stats.referenced;
    stats.evictions += pool_stats.evictions;
    if (!impl_->storage.is_contiguous())
      stats.resident_bytes += static_cast<std::uint64_t>(pool_stats.resident) * impl_->storage.block_bytes(g);
    stats.referenced_bytes += static_cast<std::uint64_t>(pool_stats.referenced) * impl_->storage.block_bytes(g);
  }
  stats.resident_bytes += impl_->storage.grown_bytes();
  std::int64_t held = 0, runs = 0;
  for (const auto& [id, sequence] : impl_->sequences) {
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

std::string KvStats::summary() const {
  const std::uint64_t looked_for = hits + misses;
  return fmt::format(
      "KV memory {} of {}: {} blocks, {} in use, {} cached, {} free; {} tokens; prefix hits {:.1f}% of {} tokens; {} "
      "evictions, {} copies; runs of {:.1f} blocks",
      size_text(resident_bytes), size_text(arena_bytes), blocks_total, blocks_referenced, blocks_cached, blocks_free,
      tokens, looked_for == 0 ? 0.0 : 100.0 * static_cast<double>(hits) / static_cast<double>(looked_for), looked_for,
      evictions, copies, mean_run_blocks);
}

Result<void> PagedKvCache::Impl::check_group(int g) const {
  const GroupBooks& books = *groups[to_size(g)];
  std::vector<std::span<const BlockId>> tables;
  tables.reserve(sequences.size());
  for (const auto& [id, sequence] : sequences) tables.push_back(sequence.groups[to_size(g)].table.block_ids());
  if (const auto result = books.pool.check_integrity(tables); !result)
    return fail("group {}: {}", g, result.error().message);
  if (!books.prefix) return {};
  if (const auto result = books.prefix->check_integrity(); !result)
    return fail("group {}: {}", g, result.error().message);
  for (BlockId block = 0; block < books.pool.total_count(); ++block) {
    const std::optional<BlockHash> hash = books.prefix->hash_of(block);
    if (!hash) continue;
    if (books.written.leading(block) != block_size)
      return fail("group {}: block {} is published with {} of {} slots written", g, block, books.written.leading(block),
                  block_size);
    if (global_group >= 0 && groups[to_size(global_group)]->prefix->find_hash(*hash) == kNoBlock)
      return fail("group {}: block {} is published, the same tokens in group {} are not", g, block, global_group);
  }
  return {};
}

Result<void> PagedKvCache::Impl::check_sequence(SequenceId id, const SequenceState& sequence) const {
  for (std::size_t g = 0; g < groups.size(); ++g) {
    const GroupState& state = sequence.groups[g];
    const std::span<const BlockId> blocks = state.table.block_ids();
    if (state.visible.size() != blocks.size())
      return fail("sequence {}, group {}: {} blocks, {} limits", id, g, blocks.size(), state.visible.size());
    const auto first = to_size(state.table.first_held());
    std::int64_t length = static_cast<std::int64_t>(first) * block_size;
    bool leads = true;
    for (std::size_t i = 0; i < blocks.size(); ++i) {
      if ((blocks[i] == kNoBlock) != (i < first))
        return fail("sequence {}, group {}: entry {} is block {}, the first held is {}", id, g, i, blocks[i], first);
      if (blocks[i] == kNoBlock) continue;
      if (state.visible[i] < 1 || state.visible[i] > block_size)
        return fail("sequence {}, group {}: sees {} slots of block {}", id, g, state.visible[i], blocks[i]);
      const int written = leads ? std::min(groups[g]->written.leading(blocks[i]), state.visible[i]) : 0;
      length += written;
      leads = leads && written == block_size;
    }
    if (length != state.length)
      return fail("sequence {}, group {}: {} leading positions are written, {} counted", id, g, length, state.length);
    for (std::size_t i = first; i < sequence.chain.size(); ++i) {
      if (i >= blocks.size() || groups[g]->prefix->hash_of(blocks[i]) != sequence.chain[i])
        return fail("sequence {}, group {}: block {} is not published under its hash", id, g, i);
    }
  }
  return {};
}

Result<void> PagedKvCache::check_integrity() const {
  for (int g = 0; g < num_groups(); ++g) OCTAVO_TRY_VOID(impl_->check_group(g));
  for (const auto& [id, sequence] : impl_->sequences) OCTAVO_TRY_VOID(impl_->check_sequence(id, sequence));
  return {};
}

}  // namespace octavo
