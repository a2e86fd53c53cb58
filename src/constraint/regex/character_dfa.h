// Sets of texts as deterministic automata over characters. Unlike grammars, these sets can be intersected and
// complemented: a text may have to match two patterns, or not to match one.
//
// Plain values; any thread. Each has at most kMaxStates states: functions give no value for a larger set, nor where
// the work of the compile ends.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.h"
#include "constraint/grammar/compile_work.h"
#include "constraint/grammar/grammar.h"
#include "constraint/regex/regex.h"

namespace octavo {

class CharacterDfa {
 public:
  static constexpr std::size_t kMaxStates = 1 << 13;
  static constexpr std::size_t kMaxTransitions = 1 << 20;  // the product of states and classes
  static constexpr std::size_t kMaxWork = 1 << 20;         // the most steps of one function below
  static constexpr std::size_t kMaxSets = 512;             // the sets of characters that one automaton tells apart

  /// Code points of one class are treated alike. Ranges are in order; the first begins at 0.
  struct ClassRange {
    std::uint32_t begin;
    std::uint32_t class_id;
  };

  static CharacterDfa any_text();
  /// Error: the pattern cannot be read. No value: it takes too many states.
  static Result<std::optional<CharacterDfa>> of_pattern(std::string_view pattern, RegexReach reach, CompileWork& work);
  static std::optional<CharacterDfa> of_texts(std::span<const std::string> texts, CompileWork& work);
  static std::optional<CharacterDfa> of_lengths(std::uint32_t min, std::uint32_t max);

  CharacterDfa complement() const;
  std::optional<CharacterDfa> intersection(const CharacterDfa& other, CompileWork& work) const;

  bool is_empty() const;
  bool accepts(std::string_view text) const;
  /// The number of transitions, a measure of the work to make the set and to go through it.
  std::size_t num_transitions() const { return next_.size(); }
  /// The lengths in characters of a set that is not empty; a set without bound has no longest text.
  std::size_t shortest() const;
  std::optional<std::size_t> longest() const;

  /// The texts as an expression of the grammar.
  ExpressionId write(const CharacterWriter& write, Grammar& grammar) const;

 private:
  friend class CharacterDfaBuilder;
  friend class CharacterDfaWriter;
  using State = std::uint32_t;
  static constexpr State kStart = 0;

  CharacterDfa() = default;
  std::size_t num_states() const { return accepts_.size(); }
  State next(State state, std::uint32_t class_id) const { return next_[state * num_classes_ + class_id]; }
  std::uint32_t class_of(std::uint32_t code_point) const;
  /// [states] whether some text of the set goes on from a state.
  std::vector<bool> live_states() const;

  std::vector<ClassRange> ranges_;
  std::uint32_t num_classes_ = 1;
  std::vector<State> next_;  // [states, classes]
  std::vector<bool> accepts_;
};

/// Builds an automaton from states that are found as they are reached. `Key` orders states; `step(key, class)` is the
/// state behind a character of the class.
class CharacterDfaBuilder {
 public:
  CharacterDfaBuilder(std::vector<CharacterDfa::ClassRange> ranges, std::uint32_t num_classes, CompileWork& work)
      : work_(work) {
    dfa_.ranges_ = std::move(ranges);
    dfa_.num_classes_ = num_classes;
  }

  template <class Key, class Step, class Accepts>
  std::optional<CharacterDfa> build(Key start, Step step, Accepts accepts) {
    std::map<Key, std::uint32_t> ids;
    std::vector<Key> keys;
    const auto id_of = [&](Key key) {
      const auto [place, is_new] = ids.try_emplace(key, static_cast<std::uint32_t>(keys.size()));
      if (is_new) keys.push_back(std::move(key));
      return place->second;
    };
    id_of(std::move(start));
    for (std::size_t state = 0; state < keys.size(); ++state) {
      const std::size_t num_transitions = keys.size() * dfa_.num_classes_;
      if (keys.size() > CharacterDfa::kMaxStates || num_transitions > CharacterDfa::kMaxTransitions ||
          !work_.add(dfa_.num_classes_ * kStepsOfTransition))
        return std::nullopt;
      dfa_.accepts_.push_back(accepts(keys[state]));
      for (std::uint32_t class_id = 0; class_id < dfa_.num_classes_; ++class_id) {
        std::optional<Key> reached = step(std::as_const(keys[state]), class_id);
        if (!reached) return std::nullopt;
        dfa_.next_.push_back(id_of(std::move(*reached)));
      }
    }
    dfa_.next_.shrink_to_fit();
    return std::move(dfa_);
  }

 private:
  static constexpr std::uint64_t kStepsOfTransition = 4;  // each transition is looked up among the states

  CompileWork& work_;
  CharacterDfa dfa_;
};

/// The coarsest classes by which all sets can be told apart, and for each set its members among them.
struct CharacterClasses {
  CharacterClasses(std::span<const CodePointSet> sets, CompileWork& work);

  std::vector<CharacterDfa::ClassRange> ranges;
  std::uint32_t num_classes = 0;
  std::vector<std::vector<bool>> members;  // [classes, sets]
};

}  // namespace octavo
