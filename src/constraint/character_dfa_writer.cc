// Writes automata over characters as expressions.
#include <algorithm>
#include <utility>

#include "constraint/character_dfa.h"

namespace octavo {

/// States that several lead to become rules; those that one leads to stand in its expression.
class CharacterDfaWriter {
 public:
  CharacterDfaWriter(const CharacterDfa& dfa, const CharacterWriter& write, Grammar& grammar)
      : dfa_(dfa),
        write_(write),
        grammar_(grammar),
        live_(dfa.live_states()),
        num_before_(dfa.num_states()),
        num_behind_(dfa.num_states()) {
    constexpr State kNone = CharacterDfa::kMaxStates;
    std::vector<State> counted(dfa_.num_states(), kNone);  // in whose edges a state was met last
    for (State state = 0; state < dfa_.num_states(); ++state) {
      for (std::uint32_t class_id = 0; live_[state] && class_id < dfa_.num_classes_; ++class_id) {
        const State to = dfa_.next(state, class_id);
        if (!live_[to] || std::exchange(counted[to], state) == state) continue;
        ++num_before_[to];
        ++num_behind_[state];
      }
    }
    ++num_before_[CharacterDfa::kStart];
  }

  ExpressionId write() {
    if (!live_[CharacterDfa::kStart]) return Grammar::nothing();
    const ExpressionId start = reach(CharacterDfa::kStart, kMaxInline);
    while (!work_.empty() && !grammar_.is_refused()) {
      const State state = work_.back();
      work_.pop_back();
      grammar_.define(rules_.at(state), body(state, 0));
    }
    for (const State state : work_) grammar_.define(rules_.at(state), Grammar::nothing());
    return start;
  }

 private:
  using State = CharacterDfa::State;
  static constexpr std::uint64_t kStepsOfRange = 4;  // each is looked up among the edges
  static constexpr int kMaxInline = 32;              // levels of expressions in each other

  /// The live states that follow, each with the characters that lead there.
  std::map<State, CodePointSet> edges_of(State state) const {
    std::map<State, CodePointSet> edges;
    if (num_behind_[state] == 0 || !grammar_.work().add(dfa_.ranges_.size() * kStepsOfRange)) return edges;
    for (std::size_t i = 0; i < dfa_.ranges_.size(); ++i) {
      const State to = dfa_.next(state, dfa_.ranges_[i].class_id);
      const std::uint32_t end = i + 1 < dfa_.ranges_.size() ? dfa_.ranges_[i + 1].begin : CodePointSet::kLimit;
      if (live_[to]) edges[to].add(dfa_.ranges_[i].begin, end);
    }
    return edges;
  }

  ExpressionId reach(State state, int depth) {
    if (num_before_[state] == 1 && depth < kMaxInline && state != CharacterDfa::kStart) return body(state, depth + 1);
    const auto known = rules_.find(state);
    if (known != rules_.end()) return grammar_.call(known->second);
    const RuleId rule = grammar_.declare("text");
    rules_.emplace(state, rule);
    work_.push_back(state);
    return grammar_.call(rule);
  }

  ExpressionId body(State state, int depth) {
    std::vector<ExpressionId> ways;
    for (const auto& [to, set] : edges_of(state)) {
      const ExpressionId character = write_(grammar_, set);
      const bool ends = dfa_.accepts_[to] && num_behind_[to] == 0;
      ways.push_back(ends ? character : grammar_.sequence({character, reach(to, depth)}));
    }
    if (dfa_.accepts_[state]) ways.push_back(grammar_.empty());
    return grammar_.alternatives(std::move(ways));
  }

  const CharacterDfa& dfa_;
  const CharacterWriter& write_;
  Grammar& grammar_;
  const std::vector<bool> live_;
  std::vector<std::uint32_t> num_before_, num_behind_;  // live states that lead to one, and that it leads to
  std::map<State, RuleId> rules_;
  std::vector<State> work_;
};

ExpressionId CharacterDfa::write(const CharacterWriter& write, Grammar& grammar) const {
  return CharacterDfaWriter(*this, write, grammar).write();
}

}  // namespace octavo
