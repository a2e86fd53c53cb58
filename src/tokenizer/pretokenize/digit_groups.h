// Numbers in threes from their end on, as Cohere's newer vocabularies cut them: the one pattern of the table that looks
// farther ahead than an automaton does. Each run of digits is looked at once.
//
// Owned by the PreTokenizer; immutable, any thread.
#pragma once

#include <bitset>
#include <cstdint>
#include <optional>
#include <string_view>

#include "tokenizer/pretokenize/symbol_map.h"
#include "tokenizer/pretokenize/word_automaton.h"

namespace octavo {

class DigitGroups {
 public:
  /// One to three decimal digits with a multiple of three behind them, up to where a word ends.
  static constexpr std::string_view kPattern = R"(\d{1,3}(?=(?:\d{3})*\b))";

  /// The characters that it tells apart, as a pattern for the symbols: digits, or those of a word.
  static Result<RegexNode> characters();
  /// The map must know characters().
  explicit DigitGroups(const SymbolMap& map);

  using Match = WordAutomaton::Match;
  /// The first match in symbols[begin, end). `run_end`: where the run ends that the last match before `begin` lies in,
  /// 0 at first. The symbols that it looks at are added to `num_steps`.
  std::optional<Match> find(const std::uint8_t* symbols, std::uint32_t begin, std::uint32_t end, std::uint32_t& run_end,
                            std::uint64_t& num_steps) const;

 private:
  std::bitset<256> digits_, word_;
};

}  // namespace octavo
