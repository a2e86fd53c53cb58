// Unicode normalization of text before it is cut into words, as the vocabulary's makers did it.
//
// Unicode Standard Annex 15. Decompositions, compositions and combining classes are utf8proc's; marks are put in order
// here by counting, since utf8proc exchanges neighbours, which takes n^2 steps for n marks. Free functions, any thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace octavo {

enum class Normalization : std::uint8_t { kNone, kNfc, kNfkc, kNfd, kNfkd };

/// The most bytes of a text that become one byte of the normalized text (as for a mathematical letter).
inline constexpr std::size_t kMaxShrink = 4;

/// Whether normalization surely leaves `text` unchanged, by a look at each byte. False: it may change.
bool is_surely_normalized(std::string_view text, Normalization normalization);

/// The normalized form of `text`, which is well-formed UTF-8 except for surrogates. Surrogates stay.
std::string normalize(std::string_view text, Normalization normalization);

}  // namespace octavo
