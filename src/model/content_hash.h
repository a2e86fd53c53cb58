// Hashes that tell files apart: fast, the same on every machine, and no protection against somebody who wants two files
// to have one hash. Pure; any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace octavo {

struct ContentHash {
  std::uint64_t low = 0, high = 0;

  bool operator==(const ContentHash&) const = default;
};

/// XXH3, 128 bits.
ContentHash hash_of(std::span<const std::byte> bytes);

/// 32 digits.
std::string hex_of(const ContentHash& hash);

}  // namespace octavo
