// Divides a budget of bytes among the groups of a layout: how many blocks each pool gets.
#pragma once

#include <cstdint>
#include <vector>

#include "base/error.h"
#include "kv/state_layout.h"

namespace octavo {

struct KvBudget {
  std::uint64_t bytes = 0;
  std::int64_t max_tokens = 0;  // no group gets more blocks than these need; 0: no limit
  int longest_sequence = 0;     // the longest sequence in tokens; 0: unknown
  int max_sequences = 0;        // a windowed group gets no more than twice what so many need; 0: unknown
  int num_blocks = 0;           // the blocks of each group, whatever the bytes; 0: as many as the bytes hold
  int num_snapshots = 0;        // the snapshots, whatever the bytes, where layers are recurrent; 0: as above
  int required_sequence = 0;    // the tokens of a sequence that must fit, if any division lets it; 0: none
  bool checkpoints = false;     // whether checkpoints get room beside the sequences' snapshots
  int joint_rows = 0;           // the most rows of a sequence that are computed together, where these are more than a
                                // step's
};

/// The rows of one step that a windowed group has room for beside its window.
inline constexpr int kWindowStepTokens = 512;

/// The most blocks that a sequence of `num_tokens` tokens takes in a group whose layers look back `window` tokens (0:
/// all of them). A windowed group gives back the blocks that the window has passed, and so needs its window, a step,
/// and the two blocks in which these begin and end.
std::int64_t blocks_of_sequence(std::int64_t num_tokens, int window, int block_size, int joint_rows = 0);

/// The number of blocks of each group. The budget's bytes, of which a block takes those of its group's layers, are
/// divided so that a sequence of four windows (or the longest one, if that is shorter) uses all pools evenly. The
/// longest sequence fits if any division lets it. Error: the budget does not hold one block of each group.
Result<std::vector<int>> divide_budget(const StateLayout& layout, const KvBudget& budget);

/// The blocks and snapshots that there is room for. Of recurrent layers as many sequences have a state at once as there
/// may be, and for checkpoints a quarter of what is left then: within half of the bytes, no more than leave room for
/// the required sequence, and one at least. Contiguous: one block of as many tokens as the budget allows,
/// which becomes the layout's block size, and one snapshot. Errors: as above, no room for one snapshot, more than an
/// address counts, a type that the contiguous layout lacks.
Result<StateRoom> make_room(StateLayout layout, const KvBudget& budget);

}  // namespace octavo
