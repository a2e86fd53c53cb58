#include "constraint/automaton/automaton_loops.h"

#include <algorithm>
#include <cstdint>
#include <span>

namespace octavo {
namespace {

/// Rules that reach each other by calls at their ends: the strongly connected components of that graph (R. Tarjan,
/// Depth-first search and linear graph algorithms, 1972), without recursion.
class RuleLoops {
 public:
  using Range = AutomatonShape::Range;

  RuleLoops(const Automaton& automaton, std::span<const Range> rules) : automaton_(automaton), rules_(rules) {
    begin_.reserve(rules.size() + 1);
    for (const Range& rule : rules) {
      begin_.push_back(calls_.size());
      for (StateId state = rule.begin; state < rule.end; ++state) add_call(automaton.at(state));
    }
    begin_.push_back(calls_.size());
  }

  void mark(std::vector<bool>& is_in_loop) {
    if (calls_.empty()) return;
    number_.resize(rules_.size());
    lowest_.resize(rules_.size());
    next_call_.assign(begin_.begin(), begin_.end() - 1);
    for (std::uint32_t rule = 0; rule < rules_.size(); ++rule)
      if (number_[rule] == 0) visit(rule, is_in_loop);
  }

 private:
  static constexpr std::uint32_t kDone = 0xFFFFFFFF;

  /// Adds a call; rules come one after another.
  void add_call(const Automaton::State& state) {
    if (state.kind != Automaton::Kind::kCall || state.next != Automaton::kReturn) return;
    const auto behind = std::ranges::upper_bound(rules_, state.begin, {}, &Range::begin);
    if (behind == rules_.begin() || state.begin >= std::prev(behind)->end) return;
    calls_.push_back(static_cast<std::uint32_t>(behind - rules_.begin() - 1));
  }

  void enter(std::uint32_t rule) {
    number_[rule] = lowest_[rule] = ++num_entered_;
    open_.push_back(rule);
    path_.push_back(rule);
  }

  void visit(std::uint32_t root, std::vector<bool>& is_in_loop) {
    enter(root);
    while (!path_.empty()) {
      const std::uint32_t rule = path_.back();
      if (next_call_[rule] < begin_[rule + 1]) {
        const std::uint32_t called = calls_[next_call_[rule]++];
        if (number_[called] == 0) {
          enter(called);
        } else if (number_[called] != kDone) {
          lowest_[rule] = std::min(lowest_[rule], number_[called]);
        }
        continue;
      }
      path_.pop_back();
      if (!path_.empty()) lowest_[path_.back()] = std::min(lowest_[path_.back()], lowest_[rule]);
      if (lowest_[rule] == number_[rule]) close(rule, is_in_loop);
    }
  }

  /// Closes a component: the rules that were opened since `first`.
  void close(std::uint32_t first, std::vector<bool>& is_in_loop) {
    const auto begin = std::find(open_.rbegin(), open_.rend(), first).base() - 1;
    const std::span<const std::uint32_t> component(begin, open_.end());
    std::size_t num_states = 0;
    for (const std::uint32_t rule : component) num_states += rules_[rule].end - rules_[rule].begin;
    const auto called = std::span(calls_).subspan(begin_[first], begin_[first + 1] - begin_[first]);
    const bool is_loop = component.size() > 1 || std::ranges::find(called, first) != called.end();
    for (const std::uint32_t rule : component) {
      number_[rule] = kDone;
      if (is_loop && num_states <= kMaxLoopStates)
        std::fill(is_in_loop.begin() + rules_[rule].begin, is_in_loop.begin() + rules_[rule].end, true);
    }
    open_.erase(begin, open_.end());
  }

  const Automaton& automaton_;
  const std::span<const Range> rules_;
  std::vector<std::size_t> begin_;    // [rules] where the calls of a rule begin
  std::vector<std::uint32_t> calls_;  // rules
  std::vector<std::uint32_t> number_, lowest_;
  std::vector<std::size_t> next_call_;
  std::vector<std::uint32_t> open_, path_;
  std::uint32_t num_entered_ = 0;
};

}  // namespace

std::vector<bool> states_in_loops(const Automaton& automaton, const AutomatonShape& shape) {
  std::vector<bool> is_in_loop(automaton.num_states());
  for (const auto& [begin, end] : shape.loops)
    if (end - begin <= kMaxLoopStates) std::fill(is_in_loop.begin() + begin, is_in_loop.begin() + end, true);
  RuleLoops(automaton, shape.rules).mark(is_in_loop);
  return is_in_loop;
}

}  // namespace octavo
