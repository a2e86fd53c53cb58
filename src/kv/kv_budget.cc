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

/// More than 64 bits count: the largest number.
std::uint64_t bytes_of(const KvShape& shape, std::span<const std::int64_t> blocks) {
  std::uint64_t bytes = 0;
  for (int g = 0; g < shape.num_groups(); ++g) {
    std::uint64_t of_group = 0;
    const auto count = static_cast<std::uint64_t>(blocks[to_size(g)]);
    if (__builtin_mul_overflow(count, std::uint64_t{shape.group_block_bytes(g)}, &of_group) ||
        __builtin_add_overflow(bytes, of_group, &bytes))
      return std::numeric_limits<std::uint64_t>::max();
  }
  return bytes;
}

std::vector<std::int64_t> needs(const KvShape& shape, std::span<const int> windows, std::int64_t num_tokens) {
  std::vector<std::int64_t> blocks;
  for (const int window : windows) blocks.push_back(blocks_of_sequence(num_tokens, window, shape.block_size));
  return blocks;
}

/// Adds blocks in proportion to `weights` for `bytes` bytes, no group beyond its limit. What a group there does
/// not take goes to the others.
void add_evenly(const KvShape& shape, std::span<const std::int64_t> weights, std::span<const std::int64_t> limits,
                std::uint64_t bytes, std::vector<std::int64_t>& blocks) {
  std::vector<bool> full(blocks.size());
  for (bool again = true; again;) {
    again = false;
    double weight_bytes = 0;
    for (std::size_t g = 0; g < blocks.size(); ++g)
      if (!full[g])
        weight_bytes +=
            static_cast<double>(weights[g]) * static_cast<double>(shape.group_block_bytes(static_cast<int>(g)));
    if (weight_bytes == 0) return;
    for (std::size_t g = 0; g < blocks.size() && !again; ++g) {
      const std::uint64_t block_bytes = shape.group_block_bytes(static_cast<int>(g));
      const double share = static_cast<double>(weights[g]) * (static_cast<double>(bytes) / weight_bytes);
      if (full[g] || share < static_cast<double>(limits[g] - blocks[g])) continue;
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
      const std::uint64_t block_bytes = shape.group_block_bytes(static_cast<int>(g));
      const double share = static_cast<double>(weights[g]) * (static_cast<double>(all) / weight_bytes);
      const std::uint64_t added = std::min(static_cast<std::uint64_t>(share), bytes / block_bytes);
      blocks[g] += static_cast<std::int64_t>(added);
      bytes -= added * block_bytes;
    }
  }
}

/// Spends what rounding left over, a block at a time.
void add_rest(const KvShape& shape, std::span<const std::int64_t> limits, std::uint64_t bytes,
              std::vector<std::int64_t>& blocks) {
  for (std::size_t g = 0; g < blocks.size(); ++g) {
    const std::uint64_t block_bytes = shape.group_block_bytes(static_cast<int>(g));
    if (blocks[g] >= limits[g] || bytes < block_bytes) continue;
    ++blocks[g];
    bytes -= block_bytes;
  }
}

/// Blocks of each group that can be of use.
std::vector<std::int64_t> most_blocks(const KvShape& shape, std::span<const int> windows, const KvBudget& budget) {
  const std::int64_t all =
      budget.max_tokens == 0 ? kMaxBlocks : std::min(blocks_for(budget.max_tokens, shape.block_size), kMaxBlocks);
  std::vector<std::int64_t> limits(windows.size(), all);
  if (budget.max_sequences == 0 || budget.longest_sequence == 0) return limits;
  for (std::size_t g = 0; g < windows.size(); ++g) {
    if (windows[g] == 0) continue;
    const std::int64_t one = blocks_of_sequence(budget.longest_sequence, windows[g], shape.block_size);
    limits[g] = std::min(all, 2 * one * budget.max_sequences);
  }
  return limits;
}

}  // namespace

std::int64_t blocks_of_sequence(std::int64_t num_tokens, int window, int block_size) {
  const std::int64_t all = blocks_for(num_tokens, block_size);
  if (window == 0) return all;
  return std::min(all, blocks_for(static_cast<std::int64_t>(window) + kWindowStepTokens, block_size) + 2);
}

Result<std::vector<int>> share_budget(const KvShape& shape, std::span<const int> windows, const KvBudget& budget) {
  std::vector<std::int64_t> blocks(windows.size(), 1);
  const std::uint64_t least = bytes_of(shape, blocks);
  if (budget.bytes < least)
    return fail("a KV memory of {} bytes holds no block: one of {} tokens in every layer takes {} bytes", budget.bytes,
                shape.block_size, least);
  const std::vector<std::int64_t> limits = most_blocks(shape, windows, budget);

  std::int64_t typical = 4 * static_cast<std::int64_t>(*std::ranges::max_element(windows));
  if (budget.longest_sequence != 0 && (typical == 0 || budget.longest_sequence < typical))
    typical = budget.longest_sequence;
  const std::vector<std::int64_t> weights = needs(shape, windows, std::max<std::int64_t>(typical, 1));
  std::vector<std::int64_t> even(windows.size(), 0);
  add_evenly(shape, weights, limits, budget.bytes, even);

  const std::vector<std::int64_t> longest = needs(shape, windows, std::max(budget.longest_sequence, 1));
  const bool fits =
      std::ranges::equal(longest, limits, std::ranges::less_equal{}) && bytes_of(shape, longest) <= budget.bytes;
  const std::vector<std::int64_t>& floor = fits ? longest : blocks;
  if (std::ranges::equal(even, floor, std::ranges::greater_equal{})) {
    blocks = even;
  } else {
    blocks = floor;
    add_evenly(shape, weights, limits, budget.bytes - bytes_of(shape, blocks), blocks);
  }
  add_rest(shape, limits, budget.bytes - bytes_of(shape, blocks), blocks);
  return std::vector<int>(blocks.begin(), blocks.end());
}

}  // namespace octavo
