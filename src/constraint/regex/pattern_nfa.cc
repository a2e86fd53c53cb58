#include "constraint/regex/pattern_nfa.h"

#include <algorithm>
#include <utility>

namespace octavo {

PatternNfa::PatternNfa(const RegexNode& tree, RegexReach reach, CompileWork& work) : work_(work) {
  add({.kind = Kind::kAccept});
  start_ = lay(tree, kAccept);
  if (reach == RegexReach::kWhole) return;
  is_open_ = true;
  const std::uint32_t loop = add({});
  const std::uint32_t any = add({.kind = Kind::kSet, .set = set_of(CodePointSet().complement()), .next = {loop}});
  if (!is_too_large()) states_[loop].next = {any, start_};
  start_ = loop;
}

std::uint32_t PatternNfa::add(State state) {
  if (is_too_large()) return kAccept;
  states_.push_back(std::move(state));
  return static_cast<std::uint32_t>(states_.size() - 1);
}

std::uint32_t PatternNfa::set_of(const CodePointSet& set) {
  const auto [known, is_new] = set_ids_.try_emplace(set, static_cast<std::uint32_t>(sets_.size()));
  if (is_new) sets_.push_back(set);
  return known->second;
}

std::uint32_t PatternNfa::lay(const RegexNode& node, std::uint32_t next) {
  work_.add();
  if (is_too_large()) return next;
  switch (node.kind) {
    case RegexNode::Kind::kSet: return add({.kind = Kind::kSet, .set = set_of(node.set), .next = {next}});
    case RegexNode::Kind::kBegin: return add({.kind = Kind::kBegin, .next = {next}});
    case RegexNode::Kind::kEnd: return add({.kind = Kind::kEnd, .next = {next}});
    case RegexNode::Kind::kSequence:
      for (auto child = node.children.rbegin(); child != node.children.rend(); ++child) next = lay(*child, next);
      return next;
    case RegexNode::Kind::kAlternatives: {
      std::vector<std::uint32_t> ways;
      ways.reserve(node.children.size());
      for (const RegexNode& child : node.children) ways.push_back(lay(child, next));
      return add({.next = std::move(ways)});
    }
    case RegexNode::Kind::kRepeat: return lay_repeat(node, next);
    case RegexNode::Kind::kNext:
    case RegexNode::Kind::kNotNext: break;  // not in ECMA's dialect
  }
  return next;
}

std::uint32_t PatternNfa::lay_repeat(const RegexNode& node, std::uint32_t next) {
  const RegexNode& child = node.children.front();
  std::uint32_t start = next;
  if (node.max == RegexNode::kAnyNumber) {
    const std::uint32_t loop = add({});
    const std::uint32_t body = lay(child, loop);
    if (!is_too_large()) states_[loop].next = {body, next};
    start = loop;
  } else {
    for (std::uint32_t i = node.min; i < node.max && !is_too_large(); ++i)
      start = add({.next = {lay(child, start), next}});
  }
  for (std::uint32_t i = 0; i < node.min && !is_too_large(); ++i) {
    const std::uint32_t before = lay(child, start);
    if (before == start) break;  // it reads nothing
    start = before;
  }
  return start;
}

std::optional<PatternStates::Reached> PatternStates::after(const Reached& from, const std::vector<bool>& members) {
  if (from.states.empty() && from.accepts) return from;  // any text may follow
  std::vector<std::uint32_t> targets;
  for (const std::uint32_t id : from.states) {
    if (id == kEnded) continue;
    const PatternNfa::State& state = nfa_.at(id);
    if (members[state.set]) targets.push_back(state.next.front());
  }
  if (!add(from.states.size() + 1)) return std::nullopt;
  const auto known = closed_.find(targets);  // characters of many classes lead to the same states
  if (known != closed_.end()) return known->second;
  Reached reached = close(targets, false);
  return closed_.emplace(std::move(targets), std::move(reached)).first->second;
}

bool PatternStates::add(std::size_t num_steps) {
  num_steps_ += num_steps;
  return work_.add(num_steps) && num_steps_ <= CharacterDfa::kMaxWork;
}

PatternStates::Reached PatternStates::close(const std::vector<std::uint32_t>& from, bool is_at_begin) {
  Reached reached;
  bool accepts_anything = false;
  std::vector<std::uint32_t> at_end;  // reached at a $
  const auto visit = [&](std::uint32_t id, std::vector<bool>& met, std::vector<std::uint32_t>& to) {
    if (!met[id]) to.push_back(id);
    met[id] = true;
  };
  add(nfa_.size() / 64);
  std::fill(met_.begin(), met_.end(), false);
  std::fill(ended_.begin(), ended_.end(), false);
  std::vector<std::uint32_t> begun;
  for (const std::uint32_t id : from) visit(id, met_, begun);
  for (; !begun.empty();) {
    const std::uint32_t id = begun.back();
    begun.pop_back();
    add(1);
    const PatternNfa::State& state = nfa_.at(id);
    if (state.kind == PatternNfa::Kind::kSet) reached.states.push_back(id);
    if (state.kind == PatternNfa::Kind::kAccept) {
      reached.accepts = true;
      accepts_anything = nfa_.is_open();
    }
    const bool passes =
        state.kind == PatternNfa::Kind::kSplit || (state.kind == PatternNfa::Kind::kBegin && is_at_begin);
    if (passes)
      for (const std::uint32_t next : state.next) visit(next, met_, begun);
    if (state.kind == PatternNfa::Kind::kEnd) visit(state.next.front(), ended_, at_end);
  }
  while (!at_end.empty()) {
    const PatternNfa::State& state = nfa_.at(at_end.back());
    at_end.pop_back();
    add(1);
    if (state.kind == PatternNfa::Kind::kAccept) reached.accepts = true;
    const bool passes = state.kind == PatternNfa::Kind::kSplit || state.kind == PatternNfa::Kind::kEnd ||
                        (state.kind == PatternNfa::Kind::kBegin && is_at_begin);
    if (passes)
      for (const std::uint32_t next : state.next) visit(next, ended_, at_end);
  }
  if (accepts_anything) return {.states = {}, .accepts = true};
  if (reached.accepts) reached.states.push_back(kEnded);
  std::ranges::sort(reached.states);
  return reached;
}

}  // namespace octavo
