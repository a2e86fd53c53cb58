#include "constraint/regex/character_dfa.h"

#include <algorithm>
#include <set>

#include "base/to_size.h"
#include "base/utf8.h"
#include "constraint/regex/look_around.h"
#include "constraint/regex/pattern_nfa.h"

namespace octavo {
namespace {

constexpr std::uint64_t kStepsOfLookUp = 8;  // in a tree

Result<std::optional<CharacterDfa>> without_look_around(std::string_view pattern, RegexReach reach, CompileWork& work) {
  OCTAVO_TRY(const RegexNode tree, parse_ecma_regex(pattern, work));
  const PatternNfa nfa(tree, reach, work);
  if (nfa.is_too_large()) return std::nullopt;
  const CharacterClasses classes(nfa.sets(), work);
  PatternStates states(nfa, work);
  return CharacterDfaBuilder(classes.ranges, classes.num_classes, work)
      .build(
          states.start(),
          [&](const PatternStates::Reached& from, std::uint32_t class_id) {
            return states.after(from, classes.members[class_id]);
          },
          [](const PatternStates::Reached& reached) { return reached.accepts; });
}

}  // namespace

CharacterClasses::CharacterClasses(std::span<const CodePointSet> sets, CompileWork& work) {
  std::set<std::uint32_t> begins = {0};
  for (const CodePointSet& set : sets) {
    for (const CodePointSet::Range& range : set.ranges()) {
      begins.insert(range.begin);
      if (range.end < CodePointSet::kLimit) begins.insert(range.end);
    }
  }
  std::map<std::vector<bool>, std::uint32_t> ids;
  std::vector<std::size_t> places(sets.size());  // in the ranges of each set
  for (const std::uint32_t begin : begins) {
    if (!work.add(kStepsOfLookUp + sets.size() / 4)) return;
    std::vector<bool> member(sets.size());
    for (std::size_t i = 0; i < sets.size(); ++i) {
      const auto& of_set = sets[i].ranges();
      while (places[i] < of_set.size() && of_set[places[i]].end <= begin) ++places[i];
      member[i] = places[i] < of_set.size() && of_set[places[i]].begin <= begin;
    }
    const auto [known, is_new] = ids.try_emplace(member, num_classes);
    if (is_new) {
      members.push_back(std::move(member));
      ++num_classes;
    }
    ranges.push_back({begin, known->second});
  }
}

CharacterDfa CharacterDfa::any_text() {
  CharacterDfa dfa;
  dfa.ranges_ = {{.begin = 0, .class_id = 0}};
  dfa.next_ = {kStart};
  dfa.accepts_ = {true};
  return dfa;
}

Result<std::optional<CharacterDfa>> CharacterDfa::of_pattern(std::string_view pattern, RegexReach reach,
                                                             CompileWork& work) {
  const SplitPattern split = split_look_around(pattern, reach);
  OCTAVO_TRY(std::optional<CharacterDfa> texts, without_look_around(split.rest, reach, work));
  for (const LookAround& look : split.looks) {
    OCTAVO_TRY(const std::optional<CharacterDfa> looked_at,
               without_look_around(look.pattern, RegexReach::kSomewhere, work));
    if (!texts || !looked_at) return std::nullopt;
    texts = texts->intersection(look.is_negated ? looked_at->complement() : *looked_at, work);
  }
  return texts;
}

std::optional<CharacterDfa> CharacterDfa::of_texts(std::span<const std::string> texts, CompileWork& work) {
  struct Node {
    std::map<std::uint32_t, std::uint32_t> children;
    bool is_end = false;
  };
  std::vector<Node> nodes(1);
  std::set<std::uint32_t> characters;
  for (const std::string& text : texts) {
    std::uint32_t node = 0;
    for (std::size_t place = 0; place < text.size(); place += utf8_announced_length(text[place])) {
      const std::uint32_t character = decode_utf8(std::string_view(text).substr(place));
      if (!work.add(kStepsOfLookUp)) return std::nullopt;
      characters.insert(character);
      const auto [child, is_new] =
          nodes[node].children.try_emplace(character, static_cast<std::uint32_t>(nodes.size()));
      node = child->second;
      if (is_new) nodes.emplace_back();
      if (nodes.size() > kMaxStates) return std::nullopt;
    }
    nodes[node].is_end = true;
  }
  if (characters.size() > kMaxSets) return std::nullopt;
  const std::vector<CodePointSet> sets(characters.begin(), characters.end());
  CharacterClasses classes(sets, work);
  std::vector<std::uint32_t> character_of(classes.num_classes, CodePointSet::kLimit);
  for (const auto& [begin, class_id] : classes.ranges)
    if (characters.contains(begin)) character_of[class_id] = begin;
  const auto dead = static_cast<std::uint32_t>(nodes.size());
  return CharacterDfaBuilder(std::move(classes.ranges), classes.num_classes, work)
      .build(
          std::uint32_t{0},
          [&](std::uint32_t node, std::uint32_t class_id) -> std::optional<std::uint32_t> {
            if (node == dead) return dead;
            const auto child = nodes[node].children.find(character_of[class_id]);
            return child == nodes[node].children.end() ? dead : child->second;
          },
          [&](std::uint32_t node) { return node != dead && nodes[node].is_end; });
}

std::optional<CharacterDfa> CharacterDfa::of_lengths(std::uint32_t min, std::uint32_t max) {
  const bool is_bounded = max != Grammar::kAnyNumber;
  if ((is_bounded ? max : min) >= kMaxStates) return std::nullopt;
  const std::uint32_t most = is_bounded ? max + 1 : min;  // characters that are counted
  CharacterDfa dfa;
  dfa.ranges_ = {{.begin = 0, .class_id = 0}};
  for (std::uint32_t length = 0; length <= most; ++length) {
    dfa.next_.push_back(std::min(length + 1, most));
    dfa.accepts_.push_back(length >= min && (!is_bounded || length <= max));
  }
  return dfa;
}

CharacterDfa CharacterDfa::complement() const {
  CharacterDfa other = *this;
  other.accepts_.flip();
  return other;
}

std::optional<CharacterDfa> CharacterDfa::intersection(const CharacterDfa& other, CompileWork& work) const {
  std::vector<ClassRange> ranges;
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint32_t> ids;
  std::vector<std::pair<std::uint32_t, std::uint32_t>> pairs;
  work.add((ranges_.size() + other.ranges_.size()) * kStepsOfLookUp + next_.size() + other.next_.size());
  for (std::size_t i = 0, j = 0; i < ranges_.size() || j < other.ranges_.size();) {
    const std::uint32_t left = i < ranges_.size() ? ranges_[i].begin : CodePointSet::kLimit;
    const std::uint32_t right = j < other.ranges_.size() ? other.ranges_[j].begin : CodePointSet::kLimit;
    const std::uint32_t begin = std::min(left, right);
    if (left == begin) ++i;
    if (right == begin) ++j;
    const std::pair both(ranges_[i - 1].class_id, other.ranges_[j - 1].class_id);
    const auto [id, is_new] = ids.try_emplace(both, static_cast<std::uint32_t>(pairs.size()));
    if (is_new) pairs.push_back(both);
    ranges.push_back({begin, id->second});
  }
  const std::vector<bool> live = live_states(), other_live = other.live_states();
  using Both = std::pair<State, State>;
  constexpr Both kDead(kMaxStates, kMaxStates);
  const auto alive = [&](Both states) { return live[states.first] && other_live[states.second] ? states : kDead; };
  std::size_t num_steps = 0;
  return CharacterDfaBuilder(std::move(ranges), static_cast<std::uint32_t>(pairs.size()), work)
      .build(
          alive({kStart, kStart}),
          [&](const Both& states, std::uint32_t class_id) -> std::optional<Both> {
            if (++num_steps > kMaxWork) return std::nullopt;
            if (states == kDead) return kDead;
            return alive(
                {next(states.first, pairs[class_id].first), other.next(states.second, pairs[class_id].second)});
          },
          [&](const Both& states) {
            return states != kDead && accepts_[states.first] && other.accepts_[states.second];
          });
}

std::vector<bool> CharacterDfa::live_states() const {
  std::vector<std::vector<State>> before(num_states());
  for (State state = 0; state < num_states(); ++state)
    for (std::uint32_t class_id = 0; class_id < num_classes_; ++class_id) {
      std::vector<State>& sources = before[next(state, class_id)];
      if (sources.empty() || sources.back() != state) sources.push_back(state);
    }
  std::vector<bool> live = accepts_;
  std::vector<State> work;
  for (State state = 0; state < num_states(); ++state)
    if (live[state]) work.push_back(state);
  while (!work.empty()) {
    const State state = work.back();
    work.pop_back();
    for (const State earlier : before[state]) {
      if (live[earlier]) continue;
      live[earlier] = true;
      work.push_back(earlier);
    }
  }
  return live;
}

bool CharacterDfa::is_empty() const { return !live_states()[kStart]; }

std::uint32_t CharacterDfa::class_of(std::uint32_t code_point) const {
  return std::prev(std::ranges::upper_bound(ranges_, code_point, {}, &ClassRange::begin))->class_id;
}

bool CharacterDfa::accepts(std::string_view text) const {
  State state = kStart;
  for (std::size_t place = 0; place < text.size(); place += utf8_announced_length(text[place]))
    state = next(state, class_of(decode_utf8(text.substr(place))));
  return accepts_[state];
}

std::size_t CharacterDfa::shortest() const {
  std::vector<bool> met(num_states());
  std::vector<State> here = {kStart}, further;
  met[kStart] = true;
  for (std::size_t length = 0; !here.empty(); ++length, here.swap(further)) {
    further.clear();
    for (const State state : here) {
      if (accepts_[state]) return length;
      for (std::uint32_t class_id = 0; class_id < num_classes_; ++class_id) {
        const State reached = next(state, class_id);
        if (!met[reached]) further.push_back(reached);
        met[reached] = true;
      }
    }
  }
  return 0;
}

std::optional<std::size_t> CharacterDfa::longest() const {
  const std::vector<bool> live = live_states();
  std::vector<std::uint32_t> num_before(num_states());
  const auto each_next = [&](State state, const auto& visit) {
    for (std::uint32_t class_id = 0; class_id < num_classes_; ++class_id)
      if (live[state] && live[next(state, class_id)]) visit(next(state, class_id));
  };
  for (State state = 0; state < num_states(); ++state) each_next(state, [&](State to) { ++num_before[to]; });
  std::vector<std::size_t> length(num_states());
  std::vector<State> order;
  if (live[kStart] && num_before[kStart] == 0) order.push_back(kStart);
  for (std::size_t i = 0; i < order.size(); ++i)
    each_next(order[i], [&](State to) {
      length[to] = std::max(length[to], length[order[i]] + 1);
      if (--num_before[to] == 0) order.push_back(to);
    });
  // States to which a loop leads are not in the order.
  if (order.size() != to_size(std::ranges::count(live, true))) return std::nullopt;
  std::size_t longest = 0;
  for (const State state : order)
    if (accepts_[state]) longest = std::max(longest, length[state]);
  return longest;
}

/// Writes states as expressions: a state to which several lead becomes a rule; others are part of the expression
/// before.
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
    std::vector<State> counted(dfa_.num_states(), kNone);  // the state in whose edges a state was last met
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
  static constexpr std::uint64_t kStepsOfRange = 4;  // each range is looked up among the edges
  static constexpr int kMaxInline = 32;              // nested expressions

  /// The live states that follow, each with the characters that lead to it.
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
  std::vector<std::uint32_t> num_before_, num_behind_;  // live states before a state, and behind it
  std::map<State, RuleId> rules_;
  std::vector<State> work_;
};

ExpressionId CharacterDfa::write(const CharacterWriter& write, Grammar& grammar) const {
  return CharacterDfaWriter(*this, write, grammar).write();
}

}  // namespace octavo
