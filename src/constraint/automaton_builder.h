// Makes the automaton of a grammar. Used by Automaton::build() alone.
//
// Expressions are laid down from their end: each is told the state that follows it and gives its first one.
#pragma once

#include <map>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "constraint/automaton.h"

namespace octavo {

class AutomatonBuilder {
 public:
  explicit AutomatonBuilder(const Grammar& grammar) : grammar_(grammar) {}

  Result<Automaton> build();

 private:
  using Kind = Automaton::Kind;
  using State = Automaton::State;
  using Edge = Automaton::Edge;

  StateId lay(ExpressionId id, StateId next);
  StateId lay_literal(std::string_view bytes, StateId next);
  StateId lay_set(const CodePointSet& set, StateId next);
  StateId lay_alternatives(std::span<const ExpressionId> children, StateId next);
  StateId lay_repeat(const Expression& repeat, StateId next);
  StateId lay_split(std::span<const StateId> targets);
  StateId lay_bytes(std::span<const Edge> edges);
  StateId add(const State& state);
  bool is_full() const { return automaton_.states_.size() >= Automaton::kMaxStates; }

  void join_rules();
  void find_classes();
  /// The states from which the end of the rule is reached, by bytes and tokens or without any.
  std::vector<bool> reaching_end(bool reads) const;
  std::vector<std::vector<StateId>> predecessors() const;
  bool holds(const State& state, const std::vector<bool>& reached, bool reads) const;
  Result<void> check_left_recursion() const;
  std::vector<RuleId> first_calls(RuleId rule, const std::vector<bool>& is_nullable) const;

  const Grammar& grammar_;
  Automaton automaton_;
  std::vector<StateId> rule_start_;   // [rules]
  std::vector<RuleId> rule_of_call_;  // beside the states; what kCall calls
};

}  // namespace octavo
