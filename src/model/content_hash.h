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

/// The hash of a model's weights, and what it was made from.
struct WeightsHash {
  /// Weights that stay in the file are not read as a whole: the size of the files, the time of their last change and
  /// the first bytes of each matrix stand for them. So a file that was changed and got its old time back may have its
  /// old hash; what is kept longer than a process must not be found by such a hash alone.
  enum class Basis : std::uint8_t { kAllBytes, kSizeTimeAndSamples };

  ContentHash hash = {};
  Basis basis = Basis::kAllBytes;

  bool operator==(const WeightsHash&) const = default;
};

/// The 128-bit XXH3 of bytes.
ContentHash hash_of(std::span<const std::byte> bytes);

/// The hash as 32 hexadecimal digits.
std::string hex_of(const ContentHash& hash);

}  // namespace octavo
