// Patterns as automata that may be in many states at a time: Thompson's construction, and the sets of its states behind
// characters. CharacterDfa::of_pattern() makes a deterministic automaton of a pattern's.
//
// One thread uses them. A pattern that takes too many states or too much work is not finished.
#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "constraint/regex/character_dfa.h"
#include "tokenizer/text/regex_parser.h"

namespace octavo {

/// States that read a character of a set, split, or hold at an end of the text only.
class PatternNfa {
 public:
  enum class Kind : std::uint8_t { kSet, kSplit, kBegin, kEnd, kAccept };
  struct State {
    Kind kind = Kind::kSplit;
    std::uint32_t set = 0;  // the set of a kSet
    std::vector<std::uint32_t> next = {};
  };
  static constexpr std::size_t kMaxStates = 1 << 14;
  static constexpr std::uint32_t kAccept = 0;

  PatternNfa(const RegexNode& tree, RegexReach reach, CompileWork& work);

  bool is_too_large() const {
    return states_.size() >= kMaxStates || sets_.size() > CharacterDfa::kMaxSets || work_.has_ended();
  }
  /// Whether any text may follow a match.
  bool is_open() const { return is_open_; }
  std::uint32_t start() const { return start_; }
  const State& at(std::uint32_t id) const { return states_[id]; }
  std::size_t size() const { return states_.size(); }
  const std::vector<CodePointSet>& sets() const { return sets_; }

 private:
  std::uint32_t add(State state);
  std::uint32_t set_of(const CodePointSet& set);
  std::uint32_t lay(const RegexNode& node, std::uint32_t next);
  std::uint32_t lay_repeat(const RegexNode& node, std::uint32_t next);

  std::vector<State> states_;
  CompileWork& work_;
  std::vector<CodePointSet> sets_;
  std::map<CodePointSet, std::uint32_t> set_ids_;
  std::uint32_t start_ = kAccept;
  bool is_open_ = false;
};

/// The states in which an automaton is at one place of a text.
class PatternStates {
 public:
  /// States that read, and whether the automaton takes a text that ends here.
  struct Reached {
    std::vector<std::uint32_t> states;
    bool accepts = false;
    auto operator<=>(const Reached&) const = default;
  };

  PatternStates(const PatternNfa& nfa, CompileWork& work)
      : nfa_(nfa), work_(work), met_(nfa.size()), ended_(nfa.size()) {}

  Reached start() { return close({nfa_.start()}, true); }
  /// The states behind a character that is in the sets marked in `members`. No value: too much work.
  std::optional<Reached> after(const Reached& from, const std::vector<bool>& members);

 private:
  /// A mark that tells an accepting set, behind which no text follows, from one behind which any text may.
  static constexpr std::uint32_t kEnded = 0xFFFFFFFF;

  /// Counts steps. False: more than one automaton may take, or than the compile may.
  bool add(std::size_t num_steps);
  Reached close(const std::vector<std::uint32_t>& from, bool is_at_begin);

  const PatternNfa& nfa_;
  CompileWork& work_;
  std::vector<bool> met_, ended_;
  std::map<std::vector<std::uint32_t>, Reached> closed_;  // the closures of states that characters lead to
  std::size_t num_steps_ = 0;
};

}  // namespace octavo
