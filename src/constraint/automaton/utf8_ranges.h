// Ranges of code points as ranges of the bytes that write them in UTF-8.
//
// Free functions; any thread.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "tokenizer/text/code_point_set.h"

namespace octavo {

struct ByteRange {
  std::uint8_t low, high;  // [low, high]
  bool operator==(const ByteRange&) const = default;
};

/// Characters of one length: the first byte is of the first range, and so on.
struct Utf8Sequence {
  std::array<ByteRange, 4> bytes = {};
  std::uint8_t length = 0;
};

/// The sequences that spell exactly the characters of the set; surrogates, which no UTF-8 spells, are left out.
std::vector<Utf8Sequence> utf8_sequences(const CodePointSet& set);

}  // namespace octavo
