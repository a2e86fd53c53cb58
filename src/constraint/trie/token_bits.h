// A bit for each token of a vocabulary, the lowest first. Free functions; any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace octavo {

using MaskWord = std::uint32_t;
inline constexpr std::size_t kMaskBits = 32;
inline void allow_token(std::span<MaskWord> mask, std::size_t token) {
  mask[token / kMaskBits] |= MaskWord{1} << token % kMaskBits;
}
inline void forbid_token(std::span<MaskWord> mask, std::size_t token) {
  mask[token / kMaskBits] &= ~(MaskWord{1} << token % kMaskBits);
}
inline bool allows_token(std::span<const MaskWord> mask, std::size_t token) {
  return (mask[token / kMaskBits] >> token % kMaskBits & 1) != 0;
}
inline std::size_t mask_words(std::size_t num_tokens) { return (num_tokens + kMaskBits - 1) / kMaskBits; }

}  // namespace octavo
