// Random bytes of the system's generator: for keys, salts, names that nobody guesses, and seeds. Any thread.
#pragma once

#include <cstdint>
#include <span>

namespace octavo {

/// Fills `bytes` (at most 256) from getentropy(3): one system call, where a std::random_device asks the processor for
/// its features first, microseconds each time on a virtual machine.
void fill_random(std::span<unsigned char> bytes);
std::uint64_t random_seed();

}  // namespace octavo
