#include "kv/kv_budget.h"

#include <algorithm>
#include <limits>

#include "base/to_size.h"

namespace octavo {
namespace {

constexpr std::int64_t kMaxBlocks = std::numeric_limits<BlockId>::max() - 2;  // two ids are the pool's own

std::int64_t blocks_for(std::int64_t num_tokens, int block_size) {
  return num_tokens / block_size + (num_tokens % block_size != 0 ? 1 : 0);
}

/// The bytes of so many blocks of each group; the largest number where 64 bits do not hold the sum.
std::uint64_t bytes_of(const StateLayout& layout, std::span<const std::int64_t> blocks) {
  std::uint64_t bytes = 0;
  for (int g = 0; g < layout.num_groups(); ++g) {
    std::uint64_t of_group = 0;
    const auto count = static_cast<std::uint64_t>(blocks[to_size(g)]);
    if (__builtin_mul_overflow(count, std::uint64_t{layout.block_bytes(g)}, &of_group) ||
        __builtin_add_overflow(bytes, of_group, &bytes))
      return std::numeric_limits<std::uint64_t>::max();
  }
  return bytes;
}

std::vector<std::int64_t> needs(const StateLayout& layout, std::int64_t num_tokens, int joint_rows) {
  std::vector<std::int64_t> blocks;
  blocks.reserve(layout.groups.size());
  for (const KvGroup& group : layout.groups)
    blocks.push_back(blocks_of_sequence(num_tokens, group.window, layout.block_size, joint_rows));
  return blocks;
}

/// Spends `bytes` bytes on blocks in proportion to `weights`, no group beyond its limit. What a group at its limit
/// leaves goes to the others.
void add_evenly(const StateLayout& layout, std::span<const std::int64_t> weights, std::span<const std::int64_t> limits,
                std::uint64_t bytes, std::vector<std::int64_t>& blocks) {
  std::vector<bool> full(blocks.size());
  for (bool again = true; again;) {
    again = false;
    double weight_bytes = 0;
    for (std::size_t g = 0; g < blocks.size(); ++g)
      if (!full[g])
        weight_bytes += static_cast<double>(weights[g]) * static_cast<double>(layout.block_bytes(static_cast<int>(g)));
    if (weight_bytes == 0) return;
    for (std::size_t g = 0; g < blocks.size() && !again; ++g) {
      const std::uint64_t block_bytes = layout.block_bytes(static_cast<int>(g));
      const double part = static_cast<double>(weights[g]) * (static_cast<double>(bytes) / weight_bytes);
      if (full[g] || part < static_cast<double>(limits[g] - blocks[g])) continue;
      const std::int64_t added =
          std::min<std::int64_t>(limits[g] - blocks[g], static_cast<std::int64_t>(bytes / block_bytes));
      blocks[g] += added;
      bytes -= static_cast<std::uint64_t>(added) * block_bytes;
      full[g] = again = true;
    }
    if (again) continue;
    const std::uint64_t all = bytes;
    for (std::size_t g = 0; g < blocks.size(); ++g) {
      if (full[g]) continue;
      const std::uint64_t block_bytes = layout.block_bytes(static_cast<int>(g));
      const double part = static_cast<double>(weights[g]) * (static_cast<double>(all) / weight_bytes);
      const std::uint64_t added = std::min(static_cast<std::uint64_t>(part), bytes / block_bytes);
      blocks[g] += static_cast<std::int64_t>(added);
      bytes -= added * block_bytes;
    }
  }
}

/// Spends what rounding has left over, a block at a time.
void add_rest(const StateLayout& layout, std::span<const std::int64_t> limits, std::uint64_t bytes,
              std::vector<std::int64_t>& blocks) {
  for (std::size_t g = 0; g < blocks.size(); ++g) {
    const std::uint64_t block_bytes = layout.block_bytes(static_cast<int>(g));
    if (blocks[g] >= limits[g] || bytes < block_bytes) continue;
    ++blocks[g];
    bytes -= block_bytes;
  }
}

/// The number of blocks of each group that can be of use.
std::vector<std::int64_t> most_blocks(const StateLayout& layout, const KvBudget& budget) {
  const std::int64_t all =
      budget.max_tokens == 0 ? kMaxBlocks : std::min(blocks_for(budget.max_tokens, layout.block_size), kMaxBlocks);
  std::vector<std::int64_t> limits(layout.groups.size(), all);
  if (budget.max_sequences == 0 || budget.longest_sequence == 0) return limits;
  for (std::size_t g = 0; g < layout.groups.size(); ++g) {
    if (layout.groups[g].window == 0) continue;
    const std::int64_t one =
        blocks_of_sequence(budget.longest_sequence, layout.groups[g].window, layout.block_size, budget.joint_rows);
    limits[g] = std::min(all, 2 * one * budget.max_sequences);
  }
  return limits;
}

}  // namespace

std::int64_t blocks_of_sequence(std::int64_t num_tokens, int window, int block_size, int joint_rows) {
  const std::int64_t all = blocks_for(num_tokens, block_size);
  if (window == 0) return all;
  const std::int64_t rows = std::max(kWindowStepTokens, joint_rows);
  return std::min(all, blocks_for(window + rows, block_size) + 2);
}

Result<std::vector<int>> divide_budget(const StateLayout& layout, const KvBudget& budget) {
  std::vector<std::int64_t> blocks(layout.groups.size(), 1);
  const std::uint64_t least = bytes_of(layout, blocks);
  if (budget.bytes < least)
    return fail("a KV memory of {} bytes holds no block: one of {} tokens in every layer takes {} bytes", budget.bytes,
                layout.block_size, least);
  const std::vector<std::int64_t> limits = most_blocks(layout, budget);

  std::int64_t typical = 4 * static_cast<std::int64_t>(std::ranges::max(layout.groups, {}, &KvGroup::window).window);
  if (budget.longest_sequence != 0 && (typical == 0 || budget.longest_sequence < typical))
    typical = budget.longest_sequence;
  const std::vector<std::int64_t> weights = needs(layout, std::max<std::int64_t>(typical, 1), budget.joint_rows);
  std::vector<std::int64_t> even(layout.groups.size(), 0);
  add_evenly(layout, weights, limits, budget.bytes, even);

  const std::vector<std::int64_t> longest = needs(layout, std::max(budget.longest_sequence, 1), budget.joint_rows);
  const bool fits =
      std::ranges::equal(longest, limits, std::ranges::less_equal{}) && bytes_of(layout, longest) <= budget.bytes;
  const std::vector<std::int64_t>& floor = fits ? longest : blocks;
  if (std::ranges::equal(even, floor, std::ranges::greater_equal{})) {
    blocks = even;
  } else {
    blocks = floor;
    add_evenly(layout, weights, limits, budget.bytes - bytes_of(layout, blocks), blocks);
  }
  add_rest(layout, limits, budget.bytes - bytes_of(layout, blocks), blocks);
  return std::vector<int>(blocks.begin(), blocks.end());
}

namespace {

// While a layer grows, it is in memory twice, which the budget includes.
Result<StateRoom> make_contiguous_room(StateRoom room, const KvBudget& budget) {
  StateLayout& layout = room.layout;
  if (layout.type == KvType::kQ8_0)
    return fail("a contiguous KV layout has elements of i16, f16, bf16 or f32, found {}", kv_type_name(layout.type));
  std::int64_t tokens = std::numeric_limits<int>::max();
  if (budget.max_tokens != 0) tokens = std::min(tokens, budget.max_tokens);
  if (budget.num_blocks != 0) {
    tokens = std::min(tokens, static_cast<std::int64_t>(budget.num_blocks) * layout.block_size);
  } else {
    std::size_t widest = 0;
    for (int g = 0; g < layout.num_groups(); ++g) widest = std::max(widest, layout.layer_block_bytes(g));
    const std::uint64_t token_bytes = layout.bytes_per_token() + widest / to_size(layout.block_size);
    const std::uint64_t fitting = budget.bytes / token_bytes;
    if (fitting == 0)
      return fail("a KV memory of {} bytes holds no token: one takes {} bytes", budget.bytes, token_bytes);
    tokens = static_cast<std::int64_t>(std::min(fitting, static_cast<std::uint64_t>(tokens)));
  }
  layout.block_size = static_cast<int>(tokens);
  room.num_blocks.assign(layout.groups.size(), 1);
  return room;
}

/// The number of snapshots, of `bytes` each, that can be of use: one for each sequence, and for checkpoints at most one
/// for every tokens_of_a_snapshot() tokens.
std::uint64_t snapshots_of_use(const StateLayout& layout, const KvBudget& budget, std::uint64_t state_slots) {
  const std::uint64_t bytes = layout.snapshot.bytes;
  if (!budget.checkpoints || state_slots > budget.bytes / bytes) return state_slots;
  const std::uint64_t fitting = (budget.bytes - state_slots * bytes) / 4 / bytes;
  if (budget.max_tokens == 0) return state_slots + fitting;
  return state_slots +
         std::min(fitting, static_cast<std::uint64_t>(budget.max_tokens / layout.tokens_of_a_snapshot()) + 1);
}

/// The number of snapshots that fit beside the blocks of the required sequence, if these fit at all; otherwise any
/// number.
std::uint64_t snapshots_beside_required(const StateLayout& layout, const KvBudget& budget) {
  if (budget.required_sequence == 0) return budget.bytes;
  const std::uint64_t required = bytes_of(layout, needs(layout, budget.required_sequence, budget.joint_rows));
  const bool fits = required <= budget.bytes && budget.bytes - required >= layout.snapshot.bytes;
  return fits ? (budget.bytes - required) / layout.snapshot.bytes : budget.bytes;
}

/// Makes a room that has no blocks yet, and takes the bytes of its snapshots off the budget.
Result<StateRoom> make_snapshot_room(StateLayout layout, KvBudget& budget) {
  StateRoom room{.layout = std::move(layout), .num_blocks = {}};
  const std::uint64_t bytes = room.layout.snapshot.bytes;
  if (bytes == 0) return room;
  const int wanted = room.layout.is_contiguous() ? 1 : std::max(1, budget.max_sequences);
  if (budget.num_blocks != 0) {
    room.num_snapshots = budget.num_snapshots != 0 ? budget.num_snapshots : wanted;
    return room;
  }
  if (budget.bytes < bytes)
    return fail("a KV memory of {} bytes holds no recurrent state: that of one sequence takes {} bytes", budget.bytes,
                bytes);
  const std::uint64_t of_use =
      room.layout.is_contiguous() ? 1 : snapshots_of_use(room.layout, budget, static_cast<std::uint64_t>(wanted));
  const std::uint64_t most = std::min(budget.bytes / 2 / bytes, snapshots_beside_required(room.layout, budget));
  room.num_snapshots = static_cast<int>(std::clamp<std::uint64_t>(of_use, 1, std::max<std::uint64_t>(1, most)));
  budget.bytes -= to_size(room.num_snapshots) * bytes;
  return room;
}

}  // namespace

Result<StateRoom> make_room(StateLayout all, const KvBudget& whole) {
  KvBudget budget = whole;
  OCTAVO_TRY(StateRoom room, make_snapshot_room(std::move(all), budget));
  if (room.layout.is_contiguous()) return make_contiguous_room(std::move(room), budget);
  const StateLayout& layout = room.layout;
  std::vector<int> num_blocks(layout.groups.size(), budget.num_blocks);
  if (budget.num_blocks == 0) {
    OCTAVO_TRY(num_blocks, divide_budget(layout, budget));
  } else if (static_cast<std::uint64_t>(budget.num_blocks) >
             std::numeric_limits<std::uint64_t>::max() / layout.block_bytes()) {
    return fail("{} blocks of {} bytes are more than an address counts", budget.num_blocks, layout.block_bytes());
  }
  room.num_blocks = std::move(num_blocks);
  return room;
}

}  // namespace octavo
