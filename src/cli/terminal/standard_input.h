// Whether text is piped in beside a prompt, without waiting for ever where nobody writes.
#pragma once

#include <chrono>
#include <cstdint>

namespace octavo::cli {

enum class PipedInput : std::uint8_t {
  kNone,    // it is a terminal, /dev/null or another device, or closed
  kThere,   // it is a file, pipe or socket that has given text, or has ended: it can be read to its end
  kSilent,  // it is an open pipe or socket that gave nothing within the time
};

/// Looks at the open file `descriptor`, and waits for the first byte of a pipe or socket, `patience` at most.
PipedInput await_piped_input(int descriptor, std::chrono::milliseconds patience);

}  // namespace octavo::cli
