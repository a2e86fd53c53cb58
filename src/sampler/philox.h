// Counter-based randomness: a draw is a pure function of its key, so it does not matter who draws first, or twice.
//
// Philox4x32-10 of Salmon, Moraes, Dror, Shaw, "Parallel Random Numbers: As Easy as 1, 2, 3" (SC 2011).
// Stateless; any thread may call it.
#pragma once

#include <array>
#include <cstdint>

namespace octavo {

/// Runs ten rounds over a 128-bit counter with a 64-bit key, which gives four random words.
constexpr std::array<std::uint32_t, 4> philox4x32(std::array<std::uint32_t, 4> counter,
                                                  std::array<std::uint32_t, 2> key) {
  for (int round = 0; round < 10; ++round) {
    const std::uint64_t p0 = std::uint64_t{0xD2511F53} * counter[0];
    const std::uint64_t p1 = std::uint64_t{0xCD9E8D57} * counter[2];
    counter = {static_cast<std::uint32_t>(p1 >> 32) ^ counter[1] ^ key[0], static_cast<std::uint32_t>(p1),
               static_cast<std::uint32_t>(p0 >> 32) ^ counter[3] ^ key[1], static_cast<std::uint32_t>(p0)};
    key[0] += 0x9E3779B9;  // the golden ratio
    key[1] += 0xBB67AE85;  // sqrt(3) - 1
  }
  return counter;
}

/// The key of a draw: all that the draw depends on.
struct DrawKey {
  std::uint64_t seed = 0;
  std::uint32_t choice = 0;    // the number of the answer among a request's parallel ones
  std::uint32_t position = 0;  // the token's position in its sequence
  std::uint32_t draw = 0;      // the number of the draw at that position
};

/// A uniform number in [0, 1), a multiple of 2^-53.
constexpr double uniform(const DrawKey& key) {
  const std::array<std::uint32_t, 4> words =
      philox4x32({key.position, key.draw, key.choice, 0},
                 {static_cast<std::uint32_t>(key.seed), static_cast<std::uint32_t>(key.seed >> 32)});
  const std::uint64_t bits = (std::uint64_t{words[1]} << 32 | words[0]) >> 11;
  return static_cast<double>(bits) * 0x1p-53;
}

}  // namespace octavo
