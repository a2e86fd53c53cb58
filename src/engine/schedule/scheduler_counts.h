// The scheduler's counters since it was made.
#pragma once

#include <cstdint>

namespace octavo {

struct SchedulerCounts {
  std::uint64_t preemptions = 0;       // suspended sequences
  std::uint64_t preempted_blocks = 0;  // blocks that preemptions freed
  std::uint64_t computed_tokens = 0;
  std::uint64_t prompt_tokens = 0;     // tokens of prompts that were admitted
  std::uint64_t cached_tokens = 0;     // tokens of prompts that others had computed
  std::uint64_t lookup_tokens = 0;     // tokens of prompts that were looked for in the prefix cache
  std::uint64_t diverged_prompts = 0;  // prompts that part from what their owner's others have computed
};

}  // namespace octavo
