// Text that is piped in beside a prompt: whether there is any, without waiting for ever where nobody writes.
#pragma once

#include <chrono>
#include <cstdint>

namespace octavo::cli {

enum class PipedInput : std::uint8_t {
  kNone,    // a terminal, /dev/null or another device, or closed
  kThere,   // a file, pipe or socket that has begun to give text, or has ended: it can be read to its end
  kSilent,  // a pipe or socket that is open, and gave nothing within the time
};

/// Looks at the open file `descriptor`; waits for the first byte of a pipe or socket at most so long.
PipedInput await_piped_input(int descriptor, std::chrono::milliseconds patience);

}  // namespace octavo::cli
