// Random bytes from the system's generator: for keys, salts, names that nobody can guess, and seeds. Any thread.
#pragma once

#include <cstdint>
#include <span>

namespace octavo {

/// Fills `bytes` (at most 256) from getentropy(3): one system call. A std::random_device would ask the processor for
/// its features first, which takes microseconds each time on a virtual machine.
void fill_random(std::span<unsigned char> bytes);
std::uint64_t random_seed();

}  // namespace octavo
