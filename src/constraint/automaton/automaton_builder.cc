#include "constraint/automaton/automaton_builder.h"

#include <algorithm>
#include <bitset>
#include <ranges>
#include <unordered_set>

#include "base/text.h"
#include "base/to_size.h"
#include "constraint/automaton/automaton_loops.h"

namespace octavo {
namespace {

constexpr std::size_t kStepsOfSequence = 4;  // each sequence is looked up among those with the same end

bool has_any(const Automaton::ByteSet& bytes, const Automaton::Edge& edge) {
  for (std::size_t byte = edge.low; byte <= edge.high; ++byte)
    if (bytes.test(byte)) return true;
  return false;
}

}  // namespace

Result<Automaton> AutomatonBuilder::build() {
  if (grammar_.is_refused()) return fail("the constraint: {}", grammar_.refusal().message);
  for (const Grammar::Rule& rule : grammar_.rules())
    if (!rule.is_defined) return fail("found no definition of the rule {}", quote(rule.name));
  add({.kind = Kind::kReturn});
  rule_start_.resize(grammar_.rules().size());
  const auto lay_rule = [this](ExpressionId body) {
    const auto begin = static_cast<StateId>(automaton_.num_states());
    const StateId start = lay(body, Automaton::kReturn);
    shape_.rules.push_back({begin, static_cast<StateId>(automaton_.num_states())});
    return start;
  };
  for (std::size_t i = 0; i < grammar_.rules().size(); ++i) rule_start_[i] = lay_rule(grammar_.rules()[i].body);
  automaton_.start_ = lay_rule(grammar_.root());
  OCTAVO_TRY_VOID(check_size());
  join_rules();
  find_predecessors();
  OCTAVO_TRY_VOID(check_left_recursion());
  automaton_.is_live_ = reaching_end(written_);
  if (!automaton_.is_live_[automaton_.start_]) return std::unexpected(no_text());
  find_classes();
  automaton_.is_in_loop_ = states_in_loops(automaton_, shape_);
  automaton_.simulation_ = Simulation::of(automaton_, shape_);
  automaton_.ascii_runs_ = AsciiRuns::of(automaton_, shape_);
  if (!grammar_.work().may_go_on()) return std::unexpected(grammar_.work().error());
  automaton_.shrink();
  return std::move(automaton_);
}

/// The error where no text fulfils the grammar: a text that does needs a byte that no token has, or there is none at
/// all.
Error AutomatonBuilder::no_text() const {
  const std::vector<bool> is_live = reaching_end(ByteSet().set());
  if (is_live[automaton_.start_])
    for (const Edge& edge : automaton_.edges_ | std::views::reverse)  // they are laid from the end of a text
      if (is_live[edge.target] && !has_any(written_, edge))
        return {
            fmt::format("found a constraint that this model can write no text for: no token of its vocabulary has the "
                        "byte 0x{:02X}",
                        edge.low)};
  return {"found a constraint that no text can fulfil"};
}

Result<void> AutomatonBuilder::check_size() const {
  constexpr std::string_view kWhy = "its repetitions are too large, or nested";
  if (grammar_.work().has_ended()) return std::unexpected(grammar_.work().error());
  if (has_too_many_edges_)
    return fail("found a constraint of more than {} transitions: {}", Automaton::kMaxEdges, kWhy);
  if (is_full()) return fail("found a constraint of more than {} states: {}", Automaton::kMaxStates, kWhy);
  return {};
}

bool AutomatonBuilder::has_room(std::size_t num_known, std::size_t num_more) {
  grammar_.work().add(num_more);
  if (num_known + num_more > Automaton::kMaxEdges) has_too_many_edges_ = true;
  return !is_full();
}

StateId AutomatonBuilder::add(const State& state) {
  grammar_.work().add();
  if (is_full()) return Automaton::kReturn;
  automaton_.states_.push_back(state);
  rule_of_call_.push_back(0);
  return static_cast<StateId>(automaton_.states_.size() - 1);
}

StateId AutomatonBuilder::lay(ExpressionId id, StateId next) {
  grammar_.work().add();
  if (is_full()) return next;
  const Expression expression = grammar_.at(id);
  switch (expression.kind) {
    case Expression::Kind::kNothing: return lay_split({});
    case Expression::Kind::kLiteral: return lay_literal(expression.text, next);
    case Expression::Kind::kSet: return lay_set(expression.first, next);
    case Expression::Kind::kSequence:
      for (const ExpressionId child : expression.children | std::views::reverse) next = lay(child, next);
      return next;
    case Expression::Kind::kAlternatives: return lay_alternatives(expression.children, next);
    case Expression::Kind::kRepeat: return lay_repeat(expression, next);
    case Expression::Kind::kToken: return add({.kind = Kind::kToken, .begin = expression.first, .next = next});
    case Expression::Kind::kRule: return lay_call(expression.first, next);
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

StateId AutomatonBuilder::lay_set(std::uint32_t set, StateId next) {
  const auto [known, is_new_set] = sequences_.try_emplace(set);
  if (is_new_set) known->second = utf8_sequences(grammar_.set_at(set));
  grammar_.work().add(known->second.size() * kStepsOfSequence);
  if (is_full()) return next;
  std::map<std::pair<std::uint32_t, StateId>, StateId> tails;  // by range and target, as many sequences share them
  std::vector<Edge> heads;
  for (const Utf8Sequence& sequence : known->second) {
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

/// Lays alternatives. Where all begin with a byte, they become one state without a split.
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
  if (is_full()) return next;
  for (const StateId start : starts) {
    const std::span<const Edge> more = automaton_.edges(automaton_.at(start));
    edges.insert(edges.end(), more.begin(), more.end());
  }
  return lay_bytes(edges);
}

StateId AutomatonBuilder::lay_call(RuleId rule, StateId next) {
  const StateId call = add({.kind = Kind::kCall, .next = next});
  rule_of_call_[call] = rule;
  return call;
}

StateId AutomatonBuilder::lay_repeat(const Expression& repeat, StateId next) {
  const ExpressionId child = repeat.children.front();
  if (repeat.max != Grammar::kAnyNumber)
    return lay_times(child, repeat.min, lay_up_to(child, repeat.max - repeat.min, next));
  const StateId loop = lay_loop(child, next);
  if (repeat.min == 0) return loop;
  return lay_times(child, repeat.min - 1, automaton_.targets(automaton_.at(loop)).front());
}

/// Lays a loop: a split whose first way is the child.
StateId AutomatonBuilder::lay_loop(ExpressionId child, StateId next) {
  const StateId loop = lay_split({});
  const StateId body = lay(child, loop);
  shape_.loops.push_back({loop, static_cast<StateId>(automaton_.num_states())});
  const auto begin = static_cast<std::uint32_t>(automaton_.targets_.size());
  automaton_.targets_.insert(automaton_.targets_.end(), {body, next});
  automaton_.states_[loop].begin = begin;
  automaton_.states_[loop].end = begin + 2;
  return loop;
}

/// Whether copies are laid as chains. Copies one after another take more states than calls of chains, but the states of
/// one copy can be compared with those of another (simulation.h). One character takes few states.
bool AutomatonBuilder::is_laid_in_chains(ExpressionId child, std::uint32_t count) const {
  using Of = Expression::Kind;
  const Expression one = grammar_.at(child);
  const auto is_short = [this](ExpressionId id) {
    return grammar_.at(id).kind == Of::kSet || grammar_.at(id).kind == Of::kRule;
  };
  const bool is_character = one.kind == Of::kSet || (one.kind == Of::kAlternatives && one.children.size() <= 4 &&
                                                     std::ranges::all_of(one.children, is_short));
  return count > (is_character ? kMostCharacters : kMostCopies);
}

/// Lays copies one after another. `lay_one` lays one before a state, and gives its first state.
template <class Lay>
StateId AutomatonBuilder::lay_copies(std::uint32_t count, StateId next, const Lay& lay_one) {
  AutomatonShape::Copies copies;
  for (std::uint32_t i = 0; i < count && !is_full(); ++i) {
    const auto begin = static_cast<StateId>(automaton_.num_states());
    const StateId before = lay_one(next);
    if (before == next) break;  // the copy reads nothing
    next = before;
    const auto stride = static_cast<std::uint32_t>(automaton_.num_states()) - begin;
    if (stride != copies.stride) copies = {.begin = begin, .stride = stride, .count = 0};
    ++copies.count;
  }
  if (copies.count >= kFewCopies) shape_.copies.push_back(copies);
  return next;
}

StateId AutomatonBuilder::lay_times(ExpressionId child, std::uint32_t count, StateId next) {
  if (is_laid_in_chains(child, count)) {
    const std::vector<RuleId>& times = chains_of(child).times;
    if (rule_start_[times.back()] == Automaton::kReturn) return next;  // the chain reads nothing
    StateId start = count % kChain == 0 ? next : lay_call(times[count % kChain], next);
    for (std::uint32_t i = 0; i < count / kChain && !is_full(); ++i) start = lay_call(times.back(), start);
    return start;
  }
  return lay_copies(count, next, [&](StateId behind) { return lay(child, behind); });
}

/// Lays up to `count` copies: whole chains while there are enough copies, then a part of one, so that each number of
/// copies has one way.
StateId AutomatonBuilder::lay_up_to(ExpressionId child, std::uint32_t count, StateId next) {
  if (is_laid_in_chains(child, count)) {
    const Chains& chains = chains_of(child);
    if (rule_start_[chains.times.back()] == Automaton::kReturn) return next;  // the chain reads nothing
    StateId start = count % kChain == 0 ? next : lay_call(chains.up_to[count % kChain], next);
    const StateId end = lay_call(chains.up_to[kChain - 1], next);
    for (std::uint32_t i = 0; i < count / kChain && !is_full(); ++i) {
      const std::array<StateId, 2> ways = {lay_call(chains.times.back(), start), end};
      start = lay_split(ways);
    }
    return start;
  }
  return lay_copies(count, next, [&](StateId behind) {
    const std::array<StateId, 2> ways = {lay(child, behind), next};
    return lay_split(ways);
  });
}

const AutomatonBuilder::Chains& AutomatonBuilder::chains_of(ExpressionId child) {
  const auto known = chains_.find(child);
  if (known != chains_.end()) return known->second;
  Chains chains;
  const auto add_rule = [this](std::vector<RuleId>& rules, StateId start) {
    rules.push_back(static_cast<RuleId>(rule_start_.size()));
    rule_start_.push_back(start);
  };
  StateId times = Automaton::kReturn, up_to = Automaton::kReturn;
  for (std::uint32_t i = 0;; ++i) {
    add_rule(chains.times, times);
    if (i == kChain) break;
    add_rule(chains.up_to, up_to);
    times = lay(child, times);
    up_to = lay_split(std::array<StateId, 2>{lay(child, up_to), Automaton::kReturn});
  }
  return chains_.emplace(child, std::move(chains)).first->second;
}

StateId AutomatonBuilder::lay_split(std::span<const StateId> targets) {
  if (!has_room(automaton_.targets_.size(), targets.size())) return Automaton::kReturn;
  const auto begin = static_cast<std::uint32_t>(automaton_.targets_.size());
  automaton_.targets_.insert(automaton_.targets_.end(), targets.begin(), targets.end());
  return add({.kind = Kind::kSplit, .begin = begin, .end = begin + static_cast<std::uint32_t>(targets.size())});
}

StateId AutomatonBuilder::lay_bytes(std::span<const Edge> edges) {
  if (!has_room(automaton_.edges_.size(), edges.size())) return Automaton::kReturn;
  const auto begin = static_cast<std::uint32_t>(automaton_.edges_.size());
  automaton_.edges_.insert(automaton_.edges_.end(), edges.begin(), edges.end());
  return add({.kind = Kind::kBytes, .begin = begin, .end = begin + static_cast<std::uint32_t>(edges.size())});
}

/// Sets the first state of each call's rule.
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

void AutomatonBuilder::find_predecessors() {
  const auto for_each = [this](auto&& visit) {
    for (StateId id = 0; id < automaton_.num_states(); ++id) {
      const State& state = automaton_.at(id);
      if (state.kind == Kind::kBytes)
        for (const Edge& edge : automaton_.edges(state)) visit(id, edge.target);
      if (state.kind == Kind::kSplit)
        for (const StateId target : automaton_.targets(state)) visit(id, target);
      if (state.kind == Kind::kCall) visit(id, state.begin);
      if (state.kind == Kind::kCall || state.kind == Kind::kToken) visit(id, state.next);
    }
  };
  before_begin_.assign(automaton_.num_states() + 1, 0);
  for_each([this](StateId, StateId to) { ++before_begin_[to + 1]; });
  for (std::size_t id = 0; id < automaton_.num_states(); ++id) before_begin_[id + 1] += before_begin_[id];
  before_.resize(before_begin_.back());
  grammar_.work().add(before_.size());
  std::vector<std::uint32_t> places(before_begin_.begin(), before_begin_.end() - 1);
  for_each([&](StateId from, StateId to) { before_[places[to]++] = from; });
}

bool AutomatonBuilder::holds(const State& state, const std::vector<bool>& reached, const ByteSet& bytes) const {
  switch (state.kind) {
    case Kind::kReturn: return true;
    case Kind::kBytes:
      return std::ranges::any_of(automaton_.edges(state),
                                 [&](const Edge& edge) { return reached[edge.target] && has_any(bytes, edge); });
    case Kind::kSplit: return std::ranges::any_of(automaton_.targets(state), [&](StateId t) { return reached[t]; });
    case Kind::kCall: return reached[state.begin] && reached[state.next];
    case Kind::kToken: return bytes.any() && reached[state.next];
  }
  return false;
}

std::vector<bool> AutomatonBuilder::reaching_end(const ByteSet& bytes) const {
  std::vector<bool> reached(automaton_.num_states());
  std::vector<StateId> work = {Automaton::kReturn};
  reached[Automaton::kReturn] = true;
  while (!work.empty()) {
    const StateId id = work.back();
    work.pop_back();
    grammar_.work().add(before_begin_[id + 1] - before_begin_[id]);
    for (std::uint32_t i = before_begin_[id]; i < before_begin_[id + 1]; ++i) {
      const StateId earlier = before_[i];
      if (reached[earlier] || !holds(automaton_.at(earlier), reached, bytes)) continue;
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
    grammar_.work().add();
    if (state.kind == Kind::kSplit) std::ranges::for_each(automaton_.targets(state), visit);
    if (state.kind != Kind::kCall) continue;
    calls.push_back(rule_of_call_[id]);
    if (is_nullable[state.begin]) visit(state.next);
  }
  return calls;
}

/// Refuses rules that call themselves before they have read anything, which would put calls on the stack without end.
Result<void> AutomatonBuilder::check_left_recursion() const {
  enum class Mark : std::uint8_t { kNew, kOpen, kDone };
  struct Open {
    RuleId rule;
    std::vector<RuleId> calls;
    std::size_t next = 0;
  };
  const std::vector<bool> is_nullable = reaching_end(ByteSet());
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
        const auto again = std::ranges::find(open, called, &Open::rule);
        const auto named = std::find_if(  // chains are no rules of the grammar
            again, open.end(), [this](const Open& one) { return one.rule < grammar_.rules().size(); });
        return fail("found left recursion: the rule {} can begin with itself, expected it to read something first",
                    quote(grammar_.rules()[named->rule].name));
      }
      if (marks[called] == Mark::kNew) enter(called);
    }
  }
  return {};
}

}  // namespace octavo
