#include "constraint/automaton/utf8_ranges.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <string>

#include "base/utf8.h"

namespace octavo {
namespace {

bool spells(const std::vector<Utf8Sequence>& sequences, std::uint32_t code_point) {
  std::string bytes;
  append_utf8(bytes, code_point);
  return std::ranges::any_of(sequences, [&](const Utf8Sequence& sequence) {
    if (sequence.length != bytes.size()) return false;
    for (std::size_t i = 0; i < bytes.size(); ++i) {
      const auto byte = static_cast<std::uint8_t>(bytes[i]);
      if (byte < sequence.bytes[i].low || byte > sequence.bytes[i].high) return false;
    }
    return true;
  });
}

std::size_t num_spelled(const std::vector<Utf8Sequence>& sequences) {
  std::size_t all = 0;
  for (const Utf8Sequence& sequence : sequences) {
    std::size_t here = 1;
    for (std::size_t i = 0; i < sequence.length; ++i) here *= sequence.bytes[i].high - sequence.bytes[i].low + 1U;
    all += here;
  }
  return all;
}

RC_GTEST_PROP(Utf8Ranges, SpellTheCharactersOfTheSetAndNoOthers, ()) {
  CodePointSet set;
  std::vector<std::uint32_t> borders = {0x7F, 0x7FF, 0xFFFF, 0x10FFFF};
  for (int i = *rc::gen::inRange(1, 4); i > 0; --i) {
    const auto begin = static_cast<std::uint32_t>(*rc::gen::inRange(0, 0x110000));
    const auto size = static_cast<std::uint32_t>(*rc::gen::inRange(1, *rc::gen::element(2, 70, 5000, 0x110000)));
    set.add(begin, std::min(begin + size, CodePointSet::kLimit));
    borders.insert(borders.end(), {begin, begin + size});
  }
  const std::vector<Utf8Sequence> sequences = utf8_sequences(set);
  std::size_t expected = 0;
  for (const CodePointSet::Range& range : set.ranges())
    for (std::uint32_t c = range.begin; c < range.end; ++c) expected += c < 0xD800 || c > 0xDFFF ? 1 : 0;
  RC_ASSERT(num_spelled(sequences) == expected);
  for (const std::uint32_t border : borders)
    for (std::uint32_t c = border == 0 ? 0 : border - 1; c <= std::min(border + 1, CodePointSet::kLimit - 1); ++c)
      RC_ASSERT(spells(sequences, c) == (set.contains(c) && (c < 0xD800 || c > 0xDFFF)));
}

}  // namespace
}  // namespace octavo
