#include "constraint/automaton/simulation.h"

#include <algorithm>
#include <bit>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "base/to_size.h"
#include "constraint/automaton/automaton.h"
#include "constraint/automaton/configurations.h"

namespace octavo {
namespace {

constexpr std::size_t kMaxClosure = 64;  // in states; beyond it, only the same state covers
constexpr int kMaxPasses = 32;
constexpr StateId kLeftOut = 0xFFFFFFFF;

}  // namespace

/// Begins with all pairs that are possible, and removes those whose edges lead to no pair, until none is left to
/// remove.
class SimulationFinder {
 public:
  using Texts = Simulation::Texts;
  using Record = Simulation::Record;

  SimulationFinder(const Automaton& automaton, const AutomatonShape& shape) : automaton_(automaton), shape_(shape) {}

  Simulation find() {
    found_.record_of_.resize(automaton_.num_states());
    found_.records_.resize(1);
    for (std::uint32_t rule = 0; rule < shape_.rules.size(); ++rule) add_loops(rule);
    for (const AutomatonShape::Copies& copies : shape_.copies) add_copies(copies);
    if (found_.records_.size() == 1) return {};
    for (const Texts texts : {Texts::kWhole, Texts::kBeginnings}) settle(texts);
    for (std::size_t i = states_.size(); i-- > 0;) count_copies(states_[i]);
    std::ranges::sort(states_);
    return drop_uncovered();
  }

 private:
  struct Closure {
    std::vector<StateId> members;  // states that read, and calls
    bool returns = false, is_wide = false;
  };

  Record& record(StateId state) {
    std::uint32_t& place = found_.record_of_[state];
    if (place == 0) {
      place = static_cast<std::uint32_t>(found_.records_.size());
      found_.records_.emplace_back();
      states_.push_back(state);
    }
    return found_.records_[place];
  }

  /// Whether a state can be compared by its bytes, its call or its ways.
  bool is_comparable(StateId state) const {
    using Kind = Automaton::Kind;
    const Kind kind = automaton_.at(state).kind;
    return automaton_.is_live(state) && (kind == Kind::kBytes || kind == Kind::kSplit || kind == Kind::kCall);
  }

  /// Whether a pair is possible by what never changes: kinds, called rules, bytes that are read.
  bool may_cover(StateId by, StateId state) {
    const Automaton::State &own = automaton_.at(state), &other = automaton_.at(by);
    if (by == state || own.kind != other.kind || !is_comparable(state) || !is_comparable(by)) return false;
    if (own.kind == Automaton::Kind::kBytes) return covers_edges(by, state, [](StateId, StateId) { return true; });
    return own.kind == Automaton::Kind::kSplit || own.begin == other.begin;
  }

  void add_loops(std::uint32_t rule) {
    const auto [begin, end] = shape_.rules[rule];
    std::vector<StateId> loop_states;
    for (const auto& loop : shape_.loops) {
      if (loop.begin < begin || loop.end > end) continue;
      for (StateId state = loop.begin; state < loop.end; ++state)
        if (is_comparable(state) && loop_states.size() < Simulation::kMaxLoopStates) loop_states.push_back(state);
    }
    std::ranges::sort(loop_states);
    loop_states.erase(std::ranges::unique(loop_states).begin(), loop_states.end());
    if (loop_states.empty() || !spend(loop_states.size() * (end - begin))) return;
    for (std::size_t i = 0; i < loop_states.size(); ++i) {
      Record& own = record(loop_states[i]);
      own.loop_bit = static_cast<std::uint8_t>(i);
      own.rule = rule;
    }
    for (StateId state = begin; state < end; ++state) {
      std::uint64_t covering = 0;
      for (std::size_t i = 0; i < loop_states.size(); ++i)
        if (may_cover(loop_states[i], state)) covering |= std::uint64_t{1} << i;
      if (covering == 0) continue;
      Record& own = record(state);
      own.loops = {covering, covering};
      own.rule = rule;
    }
    loop_states_.emplace(rule, std::move(loop_states));
  }

  void add_copies(const AutomatonShape::Copies& copies) {
    if (!spend(copies.end() - copies.begin)) return;
    for (StateId state = copies.begin; state < copies.end(); ++state) {
      if (!is_comparable(state)) continue;
      Record& own = record(state);
      own.stride = copies.stride;
      own.first_of_copy = copies.begin + (state - copies.begin) % copies.stride;
      const bool is_last = state + copies.stride >= copies.end();
      const std::uint32_t covering = !is_last && may_cover(state + copies.stride, state) ? 1 : 0;
      own.more = {covering, covering};
    }
  }

  template <class Covers>
  bool covers_edges(StateId by, StateId state, const Covers& covers) {
    const std::span<const Automaton::Edge> edges = automaton_.edges(automaton_.at(by));
    for (const Automaton::Edge& edge : automaton_.edges(automaton_.at(state))) {
      if (!automaton_.is_live(edge.target)) continue;
      for (int byte = edge.low; byte <= edge.high;) {
        int read_to = -1;
        for (const Automaton::Edge& other : edges) {
          ++work_;
          if (other.low <= byte && byte <= other.high && other.high > read_to && automaton_.is_live(other.target) &&
              covers(other.target, edge.target))
            read_to = other.high;
        }
        if (read_to < 0) return false;
        byte = read_to + 1;
      }
    }
    return true;
  }

  /// Removes pairs. States that are laid first are at the end of what is read: so most of what a pair depends on is
  /// settled before it.
  void settle(Texts texts) {
    std::ranges::sort(states_);
    for (int pass = 0; pass < kMaxPasses; ++pass) {
      bool is_settled = true;
      for (const StateId state : states_) is_settled = !weaken(state, texts) && is_settled;
      if (is_settled) return;
      if (work_ > Simulation::kMaxWork) break;
    }
    for (Record& each : found_.records_) each.loops[index(texts)] = each.more[index(texts)] = 0;
  }

  /// Removes what a pair does not have. True: something was removed.
  bool weaken(StateId state, Texts texts) {
    Record& own = found_.records_[found_.record_of_[state]];
    bool was_any = false;
    std::uint64_t& loops = own.loops[index(texts)];
    for (std::uint64_t left = loops; left != 0; left &= left - 1) {
      const int bit = std::countr_zero(left);
      if (covers_still(loop_states_.at(own.rule)[to_size(bit)], state, texts)) continue;
      loops &= ~(std::uint64_t{1} << bit);
      was_any = true;
    }
    std::uint32_t& more = own.more[index(texts)];
    if (more != 0 && !covers_still(state + own.stride, state, texts)) {
      more = 0;
      was_any = true;
    }
    return was_any;
  }

  bool covers_still(StateId by, StateId state, Texts texts) {
    const Automaton::State& own = automaton_.at(state);
    if (own.kind == Automaton::Kind::kSplit) return closure_covers(by, state, texts);
    if (own.kind == Automaton::Kind::kCall) return closure_covers(automaton_.at(by).next, own.next, texts);
    return covers_edges(by, state, [&](StateId other, StateId target) { return closure_covers(other, target, texts); });
  }

  bool closure_covers(StateId by, StateId state, Texts texts) {
    if (by == state) return true;
    const Closure &others = closure(by), &own = closure(state);
    if (others.is_wide || own.is_wide) return false;
    if (texts == Texts::kWhole && own.returns && !others.returns) return false;
    return std::ranges::all_of(own.members, [&](StateId member) {
      return std::ranges::any_of(others.members, [&](StateId other) {
        ++work_;
        return covers_so_far(other, member, texts);
      });
    });
  }

  bool covers_so_far(StateId by, StateId state, Texts texts) const {
    if (by == state) return true;
    const Record *own = found_.record(state), *other = found_.record(by);
    if (own == nullptr || other == nullptr) return false;
    if (other->loop_bit != 0xFF && other->rule == own->rule && (own->loops[index(texts)] >> other->loop_bit & 1) != 0)
      return true;
    return own->stride != 0 && by == state + own->stride && own->more[index(texts)] != 0;
  }

  /// The states that are reached from a state without reading.
  const Closure& closure(StateId state) {
    const auto [known, is_new] = closures_.try_emplace(state);
    if (!is_new) return known->second;
    Closure& found = known->second;
    std::vector<StateId> seen = {state};
    for (std::size_t i = 0; i < seen.size() && !found.is_wide; ++i) {
      const Automaton::State& here = automaton_.at(seen[i]);
      ++work_;
      if (here.kind == Automaton::Kind::kReturn) {
        found.returns = true;
      } else if (here.kind != Automaton::Kind::kSplit) {
        if (automaton_.is_live(seen[i])) found.members.push_back(seen[i]);
      } else {
        for (const StateId target : automaton_.targets(here)) {
          if (std::ranges::find(seen, target) == seen.end()) seen.push_back(target);
          if (seen.size() > kMaxClosure) break;
        }
      }
      found.is_wide = seen.size() > kMaxClosure;
    }
    return found;
  }

  /// Counts the later copies that cover a state. `states_` ascend, so that the next copy is counted before.
  void count_copies(StateId state) {
    Record& own = found_.records_[found_.record_of_[state]];
    for (std::uint32_t& more : own.more) {
      if (more == 0) continue;
      const std::size_t which = to_size(&more - own.more.data());
      const Record* next = found_.record(state + own.stride);
      if (next != nullptr && next->stride == own.stride && next->first_of_copy == own.first_of_copy)
        more += next->more[which];
    }
  }

  /// The result without records that say nothing.
  Simulation drop_uncovered() const {
    Simulation kept;
    kept.record_of_.resize(found_.record_of_.size());
    kept.records_.resize(1);
    bool is_any = false;
    for (const StateId state : states_) {
      const Record& own = found_.records_[found_.record_of_[state]];
      is_any = is_any || own.is_covered();
      if (!own.is_covered() && own.loop_bit == 0xFF && own.stride == 0) continue;
      kept.record_of_[state] = static_cast<std::uint32_t>(kept.records_.size());
      kept.records_.push_back(own);
    }
    if (!is_any) return {};
    kept.records_.shrink_to_fit();
    return kept;
  }

  /// Counts work. False: the rest is not compared.
  bool spend(std::size_t work) {
    if (work_ + work > Simulation::kMaxWork) return false;
    work_ += work;
    return true;
  }

  static std::size_t index(Texts texts) { return to_size(std::to_underlying(texts)); }

  const Automaton& automaton_;
  const AutomatonShape& shape_;
  Simulation found_;
  std::vector<StateId> states_;                                          // states with a record
  std::unordered_map<std::uint32_t, std::vector<StateId>> loop_states_;  // by rule and bit
  std::unordered_map<StateId, Closure> closures_;
  std::size_t work_ = 0;
};

Simulation Simulation::of(const Automaton& automaton, const AutomatonShape& shape) {
  if (shape.loops.empty() && shape.copies.empty()) return {};
  return SimulationFinder(automaton, shape).find();
}

bool Simulation::covers(StateId by, StateId state, Texts texts) const {
  if (by == state) return true;
  const Record *own = record(state), *other = record(by);
  if (own == nullptr || other == nullptr) return false;
  const auto which = to_size(std::to_underlying(texts));
  if (other->loop_bit != 0xFF && other->rule == own->rule && (own->loops[which] >> other->loop_bit & 1) != 0)
    return true;
  return own->stride != 0 && own->stride == other->stride && own->first_of_copy == other->first_of_copy && by > state &&
         (by - state) / own->stride <= own->more[which];
}

void Simulation::reduce(std::vector<Configuration>& members, const CallStacks& stacks, std::uint32_t bottom) const {
  if (empty() || members.size() < 2) return;
  std::vector<Place> places;
  const auto add = [&](const Place& place) {
    if (record(place.state) != nullptr) places.push_back(place);
  };
  for (std::uint32_t i = 0; i < members.size(); ++i)
    add({.stack = members[i].stack, .state = members[i].state, .member = i});
  leave_out(places, bottom, members);
  places.clear();
  for (std::uint32_t i = 0; i < members.size(); ++i) {
    const auto [state, stack] = members[i];
    if (state == kLeftOut || stack == CallStacks::kBottom) continue;
    add({.stack = stacks.below(stack), .caller = state, .state = stacks.return_of(stack), .member = i});
  }
  leave_out(places, bottom, members);
  std::erase_if(members, [](const Configuration& member) { return member.state == kLeftOut; });
}

void Simulation::leave_out(std::vector<Place>& places, std::uint32_t bottom,
                           std::vector<Configuration>& members) const {
  if (places.size() < 2) return;
  std::ranges::sort(places, {}, [](const Place& place) { return std::tuple(place.stack, place.caller, place.state); });
  for (auto begin = places.begin(); begin != places.end();) {
    auto end = begin;
    while (end != places.end() && end->stack == begin->stack && end->caller == begin->caller) ++end;
    if (end - begin > 1) reduce_group({begin, end}, begin->stack == bottom ? Texts::kBeginnings : Texts::kWhole);
    begin = end;
  }
  for (const Place& place : places)
    if (place.state == kLeftOut) members[place.member].state = kLeftOut;
}

/// Reduces a group, with loop states first, as they cover most. A state is left out only for one that is still there,
/// so that of two that cover each other one stays.
void Simulation::reduce_group(std::span<Place> group, Texts texts) const {
  const auto which = to_size(std::to_underlying(texts));
  std::uint32_t rule = 0;
  std::uint64_t loops = 0;  // loop states of the rule in the group; states of other rules are not compared
  for (const Place& place : group) {
    const Record* own = record(place.state);
    if (own == nullptr || own->loop_bit == 0xFF || (loops != 0 && own->rule != rule)) continue;
    rule = own->rule;
    loops |= std::uint64_t{1} << own->loop_bit;
  }
  const auto leave_out_covered = [&](bool in_loops) {
    for (Place& place : group) {
      const Record* own = record(place.state);
      if (own == nullptr || own->rule != rule || (own->loop_bit != 0xFF) != in_loops) continue;
      if ((own->loops[which] & loops) == 0) continue;
      place.state = kLeftOut;
      if (in_loops) loops &= ~(std::uint64_t{1} << own->loop_bit);
    }
  };
  if (loops != 0) {
    leave_out_covered(true);
    leave_out_covered(false);
  }
  // In ascending order, each state is left out for the same state in the next later copy.
  for (std::size_t i = 0; i < group.size(); ++i) {
    const Record* own = group[i].state == kLeftOut ? nullptr : record(group[i].state);
    if (own == nullptr || own->stride == 0) continue;
    for (std::size_t j = i + 1; j < group.size(); ++j) {
      if (group[j].state == kLeftOut || (group[j].state - group[i].state) % own->stride != 0) continue;
      if (covers(group[j].state, group[i].state, texts)) group[i].state = kLeftOut;
      break;
    }
  }
}

}  // namespace octavo
