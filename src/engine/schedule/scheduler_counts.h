// The scheduler's counters, since it was made.
#pragma once

#include <cstdint>

namespace octavo {

struct SchedulerCounts {
  std::uint64_t preemptions = 0;       // sequences that were suspended
  std::uint64_t preempted_blocks = 0;  // that became free
  std::uint64_t computed_tokens = 0;
  std::uint64_t prompt_tokens = 0;     // of prompts that were admitted
  std::uint64_t cached_tokens = 0;     // of these, found computed by others
  std::uint64_t lookup_tokens = 0;     // of these, looked for in the prefix cache
  std::uint64_t diverged_prompts = 0;  // that part from what their owner's others have computed
};

}  // namespace octavo
