// Finds the matches of a pattern from left to right with one look-up a symbol: a deterministic automaton that keeps the
// preferences among alternatives, so that it gives what a backtracking engine gives.
//
// R. Cox, "Regular Expression Matching in the Wild", 2010. A transition knows the symbol that follows a place, which
// decides the assertions there. Owned by the PreTokenizer; immutable, any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "tokenizer/pretokenize/pattern_program.h"
#include "tokenizer/pretokenize/symbol_map.h"

namespace octavo {

class WordAutomaton {
 public:
  static constexpr std::size_t kMaxStates = 4096;
  static constexpr std::uint64_t kMaxBuildSteps = 1U << 25;  // real patterns take less than a million steps

  /// Builds an automaton and adds its steps to `num_steps`, which counts the steps of all patterns of a pre-tokenizer.
  /// Error: more than kMaxStates or kMaxBuildSteps, or a pattern that can match nothing.
  static Result<WordAutomaton> create(const RegexNode& pattern, const SymbolMap& map, std::uint64_t& num_steps);

  struct Match {
    std::uint32_t begin, end;
  };
  /// The first match in symbols[begin, end); no symbol beyond `end` is read. The look-ups are added to `num_steps`, and
  /// no match is found once these are more than `max_steps`.
  std::optional<Match> find(const std::uint8_t* symbols, std::uint32_t begin, std::uint32_t end,
                            std::uint64_t max_steps, std::uint64_t& num_steps) const;

 private:
  using Entry = std::uint16_t;
  static constexpr Entry kMatchesBefore = 0x8000;  // a match ends before the symbol
  static constexpr Entry kDead = 0;
  static constexpr Entry kStart = 1;

  WordAutomaton() = default;
  Entry look_up(Entry state, std::size_t symbol) const { return table_[state * num_columns_ + symbol]; }
  /// The end of the match at `begin`; no value: there is no match.
  std::optional<std::uint32_t> match_at(const std::uint8_t* symbols, std::uint32_t begin, std::uint32_t end,
                                        std::uint64_t& num_steps) const;
  /// The next place at which a match is possible, where there is none at `begin`.
  std::uint32_t next_begin(const std::uint8_t* symbols, std::uint32_t begin, std::uint32_t end,
                           std::uint64_t& num_steps) const;

  std::size_t num_columns_ = 0;  // the number of symbols, and one for the end
  std::vector<Entry> table_;     // [states][columns]: the state that follows, and kMatchesBefore
};

}  // namespace octavo
