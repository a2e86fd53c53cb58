// Makes the automaton of a grammar. Only Automaton::build() uses it.
//
// Expressions are laid down from their end: each gets the state that follows it and gives its first state. A part that
// is repeated often is laid down as two chains of some copies, which are called again and again: n copies take states
// for n / kChain calls.
#pragma once

#include <map>
#include <span>
#include <string_view>
#include <vector>

#include "constraint/automaton/automaton.h"
#include "constraint/automaton/utf8_ranges.h"

namespace octavo {

class AutomatonBuilder {
 public:
  AutomatonBuilder(const Grammar& grammar, const Automaton::ByteSet& written) : grammar_(grammar), written_(written) {}

  Result<Automaton> build();

 private:
  static constexpr std::uint32_t kChain = 64;            // copies
  static constexpr std::uint32_t kMostCopies = 256;      // without chains
  static constexpr std::uint32_t kMostCharacters = 512;  // the most copies of one character
  static constexpr std::uint32_t kFewCopies = 8;         // fewer copies are not searched for states that cover others

  using Kind = Automaton::Kind;
  using State = Automaton::State;
  using Edge = Automaton::Edge;
  using ByteSet = Automaton::ByteSet;

  StateId lay(ExpressionId id, StateId next);
  StateId lay_literal(std::string_view bytes, StateId next);
  StateId lay_set(std::uint32_t set, StateId next);
  StateId lay_alternatives(std::span<const ExpressionId> children, StateId next);
  StateId lay_repeat(const Expression& repeat, StateId next);
  StateId lay_loop(ExpressionId child, StateId next);
  StateId lay_times(ExpressionId child, std::uint32_t count, StateId next);
  StateId lay_up_to(ExpressionId child, std::uint32_t count, StateId next);
  StateId lay_call(RuleId rule, StateId next);
  bool is_laid_in_chains(ExpressionId child, std::uint32_t count) const;
  template <class Lay>
  StateId lay_copies(std::uint32_t count, StateId next, const Lay& lay_one);
  StateId lay_split(std::span<const StateId> targets);
  StateId lay_bytes(std::span<const Edge> edges);
  StateId add(const State& state);
  /// Whether one more part would be beyond a bound; parts that are laid then have no meaning.
  bool is_full() const {
    return automaton_.states_.size() >= Automaton::kMaxStates || has_too_many_edges_ || grammar_.work().has_ended();
  }
  /// Counts edges or targets that are to be added to `num_known`.
  bool has_room(std::size_t num_known, std::size_t num_more);
  Result<void> check_size() const;

  void join_rules();
  void find_classes();
  /// The states from which the end of the rule is reached, by tokens and these bytes or, without bytes, by none of
  /// both.
  std::vector<bool> reaching_end(const ByteSet& bytes) const;
  void find_predecessors();
  bool holds(const State& state, const std::vector<bool>& reached, const ByteSet& bytes) const;
  Error no_text() const;
  Result<void> check_left_recursion() const;
  std::vector<RuleId> first_calls(RuleId rule, const std::vector<bool>& is_nullable) const;

  /// The chains of an expression, as rules, by the number of copies that are read from there on.
  struct Chains {
    std::vector<RuleId> times, up_to;
  };
  const Chains& chains_of(ExpressionId child);

  const Grammar& grammar_;
  const ByteSet written_;
  Automaton automaton_;
  AutomatonShape shape_;
  std::vector<StateId> rule_start_;   // [rules], chains included
  std::vector<RuleId> rule_of_call_;  // [states] the rule that a kCall calls
  // The states that lead to state `id` stand from before_[before_begin_[id]] to the beginning of the next state's.
  std::vector<std::uint32_t> before_begin_;
  std::vector<StateId> before_;
  std::map<ExpressionId, Chains> chains_;
  std::map<std::uint32_t, std::vector<Utf8Sequence>> sequences_;  // the sequences of each set
  bool has_too_many_edges_ = false;
};

}  // namespace octavo
