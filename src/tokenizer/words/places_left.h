// The places 0 to n - 1, some of which are removed: a bit for each place that is left, and look-ups of its neighbours.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/to_size.h"

namespace octavo {

class PlacesLeft {
 public:
  /// Makes `size` places, all of them there.
  void reset(std::size_t size) {
    bits_.assign(size / 64 + 1, ~std::uint64_t{0});  // place `size` is never removed, so that after() ends there
  }
  std::size_t bytes() const { return bits_.capacity() * sizeof(std::uint64_t); }
  void remove(std::size_t place) { bits_[place / 64] &= ~(std::uint64_t{1} << place % 64); }

  /// The next place that is left after `place`; the size of reset() if there is none.
  std::size_t after(std::size_t place) const {
    ++place;
    std::size_t word = place / 64;
    std::uint64_t bits = bits_[word] >> place % 64 << place % 64;
    while (bits == 0) bits = bits_[++word];
    return word * 64 + to_size(std::countr_zero(bits));
  }
  /// The last place that is left before `place`; there must be one, such as place 0 unless it was removed.
  std::size_t before(std::size_t place) const {
    --place;
    std::size_t word = place / 64;
    std::uint64_t bits = bits_[word] << (63 - place % 64) >> (63 - place % 64);
    while (bits == 0) bits = bits_[--word];
    return word * 64 + 63 - to_size(std::countl_zero(bits));
  }

 private:
  std::vector<std::uint64_t> bits_;
};

}  // namespace octavo
