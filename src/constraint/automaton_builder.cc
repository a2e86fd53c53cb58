#include "constraint/automaton_builder.h"

#include <algorithm>
#include <bitset>
#include <ranges>
#include <unordered_set>

#include "base/text.h"
#include "base/to_size.h"
#include "constraint/utf8_ranges.h"

namespace octavo {

Result<Automaton> Automaton::build(const Grammar& grammar) { return AutomatonBuilder(grammar).build(); }

Result<Automaton> AutomatonBuilder::build() {
  if (grammar_.is_too_large())
    return fail("found a constraint of too many parts, expected at most {}", Grammar::kMaxSize);
  for (const Grammar::Rule& rule : grammar_.rules())
    if (!rule.is_defined) return fail("found no definition of the rule {}", quote(rule.name));
  add({.kind = Kind::kReturn});
  for (const Grammar::Rule& rule : grammar_.rules()) rule_start_.push_back(lay(rule.body, Automaton::kReturn));
  automaton_.start_ = lay(grammar_.root(), Automaton::kReturn);
  if (is_full()) {
    return fail("found a constraint of more than {} states: its repetitions are too large, or nested",
                Automaton::kMaxStates);
  }
  join_rules();
  OCTAVO_TRY_VOID(check_left_recursion());
  automaton_.is_live_ = reaching_end(true);
  if (!automaton_.is_live_[automaton_.start_]) return fail("found a constraint that no text can fulfil");
  find_classes();
  return std::move(automaton_);
}

StateId AutomatonBuilder::add(const State& state) {
  if (is_full()) return Automaton::kReturn;
  automaton_.states_.push_back(state);
  rule_of_call_.push_back(0);
  return static_cast<StateId>(automaton_.states_.size() - 1);
}

StateId AutomatonBuilder::lay(ExpressionId id, StateId next) {
  if (is_full()) return next;
  const Expression& expression = grammar_.at(id);
  switch (expression.kind) {
    case Expression::Kind::kNothing: return lay_split({});
    case Expression::Kind::kLiteral: return lay_literal(expression.text, next);
    case Expression::Kind::kSet: return lay_set(grammar_.set_at(expression.first), next);
    case Expression::Kind::kSequence:
      for (const ExpressionId child : expression.children | std::views::reverse) next = lay(child, next);
      return next;
    case Expression::Kind::kAlternatives: return lay_alternatives(expression.children, next);
    case Expression::Kind::kRepeat: return lay_repeat(expression, next);
    case Expression::Kind::kToken: return add({.kind = Kind::kToken, .begin = expression.first, .next = next});
    case Expression::Kind::kRule: {
      const StateId call = add({.kind = Kind::kCall, .next = next});
      rule_of_call_[call] = expression.first;
      return call;
    }
  }
  return next;
}

StateId AutomatonBuilder::lay_literal(std::string_view bytes, StateId next) {
  for (const char c : bytes | std::views::reverse) {
    const auto byte = static_cast<std::uint8_t>(c);
    const Edge edge{byte, byte, next};
    next = lay_bytes({&edge, 1});
  }
  return next;
}

StateId AutomatonBuilder::lay_set(const CodePointSet& set, StateId next) {
  std::map<std::pair<std::uint32_t, StateId>, StateId> tails;  // by range and target, which many sequences share
  std::vector<Edge> heads;
  for (const Utf8Sequence& sequence : utf8_sequences(set)) {
    StateId target = next;
    for (std::size_t i = sequence.length - 1; i > 0; --i) {
      const auto [low, high] = sequence.bytes[i];
      const auto [tail, is_new] = tails.try_emplace({std::uint32_t{low} << 8 | high, target}, 0);
      if (is_new) {
        const Edge edge{low, high, target};
        tail->second = lay_bytes({&edge, 1});
      }
      target = tail->second;
    }
    const auto [low, high] = sequence.bytes[0];
    const bool continues = !heads.empty() && heads.back().target == target && heads.back().high + 1 == low;
    if (continues) {
      heads.back().high = high;
    } else {
      heads.push_back({low, high, target});
    }
  }
  return lay_bytes(heads);
}

/// Alternatives that all begin with a byte become one state, without a split.
StateId AutomatonBuilder::lay_alternatives(std::span<const ExpressionId> children, StateId next) {
  std::vector<StateId> starts;
  bool all_read = !children.empty();
  for (const ExpressionId child : children) {
    starts.push_back(lay(child, next));
    if (is_full()) return next;
    all_read = all_read && automaton_.at(starts.back()).kind == Kind::kBytes;
  }
  if (!all_read) return lay_split(starts);
  std::vector<Edge> edges;
  for (const StateId start : starts) {
    const std::span<const Edge> more = automaton_.edges(automaton_.at(start));
    edges.insert(edges.end(), more.begin(), more.end());
  }
  return lay_bytes(edges);
}

StateId AutomatonBuilder::lay_repeat(const Expression& repeat, StateId next) {
  const ExpressionId child = repeat.children.front();
  StateId start = next;
  std::uint32_t required = repeat.min;
  if (repeat.max == Grammar::kAnyNumber) {
    const StateId loop = lay_split({});
    const StateId body = lay(child, loop);
    const auto begin = static_cast<std::uint32_t>(automaton_.targets_.size());
    automaton_.targets_.insert(automaton_.targets_.end(), {body, next});
    automaton_.states_[loop].begin = begin;
    automaton_.states_[loop].end = begin + 2;
    start = required == 0 ? loop : body;
    required = required == 0 ? 0 : required - 1;
  } else {
    for (std::uint32_t i = repeat.min; i < repeat.max && !is_full(); ++i) {
      const std::array<StateId, 2> ways = {lay(child, start), next};
      start = lay_split(ways);
    }
  }
  for (std::uint32_t i = 0; i < required && !is_full(); ++i) {
    const StateId before = lay(child, start);
    if (before == start) break;  // it reads nothing
    start = before;
  }
  return start;
}

StateId AutomatonBuilder::lay_split(std::span<const StateId> targets) {
  const auto begin = static_cast<std::uint32_t>(automaton_.targets_.size());
  automaton_.targets_.insert(automaton_.targets_.end(), targets.begin(), targets.end());
  return add({.kind = Kind::kSplit, .begin = begin, .end = begin + static_cast<std::uint32_t>(targets.size())});
}

StateId AutomatonBuilder::lay_bytes(std::span<const Edge> edges) {
  const auto begin = static_cast<std::uint32_t>(automaton_.edges_.size());
  automaton_.edges_.insert(automaton_.edges_.end(), edges.begin(), edges.end());
  return add({.kind = Kind::kBytes, .begin = begin, .end = begin + static_cast<std::uint32_t>(edges.size())});
}

/// Calls know the first state of their rule.
void AutomatonBuilder::join_rules() {
  for (std::size_t id = 0; id < automaton_.states_.size(); ++id) {
    State& state = automaton_.states_[id];
    if (state.kind == Kind::kCall) state.begin = rule_start_[rule_of_call_[id]];
  }
}

void AutomatonBuilder::find_classes() {
  std::bitset<257> begins;
  for (const Edge& edge : automaton_.edges_) {
    begins.set(edge.low);
    begins.set(to_size(edge.high) + 1);
  }
  std::uint8_t here = 0;
  for (std::size_t byte = 1; byte < 256; ++byte) {
    if (begins.test(byte)) ++here;
    automaton_.class_of_[byte] = here;
  }
  automaton_.num_classes_ = to_size(here) + 1;
}

std::vector<std::vector<StateId>> AutomatonBuilder::predecessors() const {
  std::vector<std::vector<StateId>> result(automaton_.num_states());
  for (StateId id = 0; id < automaton_.num_states(); ++id) {
    const State& state = automaton_.at(id);
    if (state.kind == Kind::kBytes)
      for (const Edge& edge : automaton_.edges(state)) result[edge.target].push_back(id);
    if (state.kind == Kind::kSplit)
      for (const StateId target : automaton_.targets(state)) result[target].push_back(id);
    if (state.kind == Kind::kCall) result[state.begin].push_back(id);
    if (state.kind == Kind::kCall || state.kind == Kind::kToken) result[state.next].push_back(id);
  }
  return result;
}

bool AutomatonBuilder::holds(const State& state, const std::vector<bool>& reached, bool reads) const {
  switch (state.kind) {
    case Kind::kReturn: return true;
    case Kind::kBytes:
      return reads && std::ranges::any_of(automaton_.edges(state), [&](const Edge& e) { return reached[e.target]; });
    case Kind::kSplit: return std::ranges::any_of(automaton_.targets(state), [&](StateId t) { return reached[t]; });
    case Kind::kCall: return reached[state.begin] && reached[state.next];
    case Kind::kToken: return reads && reached[state.next];
  }
  return false;
}

std::vector<bool> AutomatonBuilder::reaching_end(bool reads) const {
  const std::vector<std::vector<StateId>> before = predecessors();
  std::vector<bool> reached(automaton_.num_states());
  std::vector<StateId> work = {Automaton::kReturn};
  reached[Automaton::kReturn] = true;
  while (!work.empty()) {
    const StateId id = work.back();
    work.pop_back();
    for (const StateId earlier : before[id]) {
      if (reached[earlier] || !holds(automaton_.at(earlier), reached, reads)) continue;
      reached[earlier] = true;
      work.push_back(earlier);
    }
  }
  return reached;
}

/// The rules that a rule may call before it has read anything.
std::vector<RuleId> AutomatonBuilder::first_calls(RuleId rule, const std::vector<bool>& is_nullable) const {
  std::vector<RuleId> calls;
  std::vector<StateId> work = {rule_start_[rule]};
  std::unordered_set<StateId> seen = {rule_start_[rule]};
  const auto visit = [&](StateId id) {
    if (seen.insert(id).second) work.push_back(id);
  };
  while (!work.empty()) {
    const StateId id = work.back();
    work.pop_back();
    const State& state = automaton_.at(id);
    if (state.kind == Kind::kSplit) std::ranges::for_each(automaton_.targets(state), visit);
    if (state.kind != Kind::kCall) continue;
    calls.push_back(rule_of_call_[id]);
    if (is_nullable[state.begin]) visit(state.next);
  }
  return calls;
}

/// A rule that calls itself before it has read anything would put calls on the stack without end.
Result<void> AutomatonBuilder::check_left_recursion() const {
  enum class Mark : std::uint8_t { kNew, kOpen, kDone };
  struct Open {
    RuleId rule;
    std::vector<RuleId> calls;
    std::size_t next = 0;
  };
  const std::vector<bool> is_nullable = reaching_end(false);
  std::vector<Mark> marks(rule_start_.size());
  std::vector<Open> open;
  const auto enter = [&](RuleId rule) {
    marks[rule] = Mark::kOpen;
    open.push_back({rule, first_calls(rule, is_nullable)});
  };
  for (RuleId first = 0; first < rule_start_.size(); ++first) {
    if (marks[first] == Mark::kNew) enter(first);
    while (!open.empty()) {
      Open& top = open.back();
      if (top.next == top.calls.size()) {
        marks[top.rule] = Mark::kDone;
        open.pop_back();
        continue;
      }
      const RuleId called = top.calls[top.next++];
      if (marks[called] == Mark::kOpen) {
        return fail("found left recursion: the rule {} can begin with itself, expected it to read something first",
                    quote(grammar_.rules()[called].name));
      }
      if (marks[called] == Mark::kNew) enter(called);
    }
  }
  return {};
}

}  // namespace octavo
