#include "base/random_bytes.h"

#include <unistd.h>

#include <array>
#include <bit>

#include "base/error.h"

namespace octavo {

void fill_random(std::span<unsigned char> bytes) {
  OCTAVO_CHECK(::getentropy(bytes.data(), bytes.size()) == 0, "the system gave no random bytes");
}

std::uint64_t random_seed() {
  std::array<unsigned char, sizeof(std::uint64_t)> bytes;
  fill_random(bytes);
  return std::bit_cast<std::uint64_t>(bytes);
}

}  // namespace octavo
