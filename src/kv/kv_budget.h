// Shares a budget of bytes out among the attention groups: how many blocks each pool gets.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/error.h"
#include "kv/kv_storage.h"

namespace octavo {

struct KvBudget {
  std::uint64_t bytes = 0;
  std::int64_t max_tokens = 0;  // no group gets more blocks than these need; 0: no limit
  int longest_sequence = 0;     // tokens; 0: unknown
  int max_sequences = 0;        // 0: unknown. No windowed group gets more than twice what so many need
};

/// Rows of one step that a windowed group has room for beside its window.
inline constexpr int kWindowStepTokens = 512;

/// Blocks that one sequence of `num_tokens` tokens occupies at most in a group whose layers look back `window` tokens
/// (0: all of them): a windowed one gives back what it has passed, and so needs its window, a step, and the two blocks
/// that these begin and end in.
std::int64_t blocks_of_sequence(std::int64_t num_tokens, int window, int block_size);

/// Blocks of each group of `shape`, whose layers look back `windows` tokens ([groups]; 0: all). Within the budget, a
/// sequence of four windows (of the longest sequence, if that is shorter) uses all pools evenly; a longest sequence
/// fits if any sharing lets it. Error: the budget does not hold one block of each group.
Result<std::vector<int>> share_budget(const KvShape& shape, std::span<const int> windows, const KvBudget& budget);

}  // namespace octavo
