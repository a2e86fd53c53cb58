#include "constraint/automaton/utf8_ranges.h"

#include <algorithm>
#include <string>

#include "base/utf8.h"

namespace octavo {
namespace {

constexpr std::uint32_t kFirstSurrogate = 0xD800, kLastSurrogate = 0xDFFF;
constexpr std::array<std::uint32_t, 4> kLastOfLength = {0x7F, 0x7FF, 0xFFFF, 0x10FFFF};
constexpr std::uint32_t kBitsOfByte = 6;  // the bits of a continuation byte

void add_spelled(std::uint32_t first, std::uint32_t last, std::vector<Utf8Sequence>& out) {
  std::string low, high;
  append_utf8(low, first);
  append_utf8(high, last);
  Utf8Sequence sequence{.length = static_cast<std::uint8_t>(low.size())};
  for (std::size_t i = 0; i < low.size(); ++i)
    sequence.bytes[i] = {static_cast<std::uint8_t>(low[i]), static_cast<std::uint8_t>(high[i])};
  out.push_back(sequence);
}

/// Adds code points of one length, none of which is a surrogate. Where the ends differ in a byte, all later bytes must
/// be free.
void add_range(std::uint32_t first, std::uint32_t last, std::vector<Utf8Sequence>& out) {
  for (std::uint32_t bits = kBitsOfByte; bits <= 3 * kBitsOfByte && first > kLastOfLength[0]; bits += kBitsOfByte) {
    const std::uint32_t below = (std::uint32_t{1} << bits) - 1;
    if ((first & ~below) == (last & ~below)) break;
    if ((first & below) != 0) {
      add_range(first, first | below, out);
      return add_range((first | below) + 1, last, out);
    }
    if ((last & below) != below) {
      add_range(first, (last & ~below) - 1, out);
      return add_range(last & ~below, last, out);
    }
  }
  add_spelled(first, last, out);
}

void add_without_surrogates(std::uint32_t first, std::uint32_t last, std::vector<Utf8Sequence>& out) {
  std::uint32_t begin = 0;
  for (const std::uint32_t end : kLastOfLength) {
    const std::uint32_t from = std::max(first, begin), to = std::min(last, end);
    if (from <= to) add_range(from, to, out);
    begin = end + 1;
  }
}

}  // namespace

std::vector<Utf8Sequence> utf8_sequences(const CodePointSet& set) {
  std::vector<Utf8Sequence> out;
  for (const CodePointSet::Range& range : set.ranges()) {
    const std::uint32_t last = range.end - 1;
    if (range.begin < kFirstSurrogate) add_without_surrogates(range.begin, std::min(last, kFirstSurrogate - 1), out);
    if (last > kLastSurrogate) add_without_surrogates(std::max(range.begin, kLastSurrogate + 1), last, out);
  }
  return out;
}

}  // namespace octavo
