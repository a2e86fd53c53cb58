#include "tokenizer/pretokenize/digit_groups.h"

#include "tokenizer/pretokenize/pattern.h"

namespace octavo {
namespace {

constexpr std::uint32_t kGroup = 3;
// Oniguruma's \w: letters, marks, decimal digits and connectors, and what else is alphabetic or has the value of a
// Latin-1 digit.
constexpr std::string_view kCharacters =
    R"(\p{Nd}|[\p{L}\p{M}\p{Nl}\p{Nd}\p{Pc}\x{B2}\x{B3}\x{B9}\x{BC}-\x{BE}\x{24B6}-\x{24E9}\x{1F130}-\x{1F149})"
    R"(\x{1F150}-\x{1F169}\x{1F170}-\x{1F189}])";

/// The end of the character that begins at `place`.
std::uint32_t end_of_character(const std::uint8_t* symbols, std::uint32_t place, std::uint32_t end) {
  ++place;
  while (place < end && symbols[place] == SymbolMap::kContinuation) ++place;
  return place;
}

}  // namespace

Result<RegexNode> DigitGroups::characters() { return parse_pattern(kCharacters); }

DigitGroups::DigitGroups(const SymbolMap& map) {
  const Result<RegexNode> sets = characters();
  OCTAVO_CHECK(sets && sets->children.size() == 2);
  digits_ = map.symbols_of(sets->children[0].set);
  word_ = map.symbols_of(sets->children[1].set);
}

std::optional<DigitGroups::Match> DigitGroups::find(const std::uint8_t* symbols, std::uint32_t begin, std::uint32_t end,
                                                    std::uint32_t& run_end, std::uint64_t& num_steps) const {
  std::uint32_t first = kGroup;  // digits of the match; behind another match of the run they are three
  while (begin >= run_end && begin < end) {
    const std::uint32_t from = begin;
    while (begin < end && !digits_[symbols[begin]]) ++begin;
    std::uint32_t place = begin, count = 0;
    for (; place < end && digits_[symbols[place]]; ++count) place = end_of_character(symbols, place, end);
    num_steps += place - from + 1;
    if (count == 0) return std::nullopt;
    first = (count - 1) % kGroup + 1;
    const bool ends_word = place == end || !word_[symbols[place]];
    (ends_word ? run_end : begin) = place;
  }
  if (begin >= end) return std::nullopt;
  Match match{.begin = begin, .end = begin};
  for (std::uint32_t i = 0; i < first; ++i) match.end = end_of_character(symbols, match.end, end);
  return match;
}

}  // namespace octavo
