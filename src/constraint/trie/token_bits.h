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
inline std::size_t mask_words(std::size_t num_tokens) { return (num_tokens + kMaskBits - 1) / kMaskBits; }

}  // namespace octavo
