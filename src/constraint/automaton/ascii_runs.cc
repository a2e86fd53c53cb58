#include "constraint/automaton/ascii_runs.h"

#include <algorithm>
#include <bit>

#include "base/to_size.h"
#include "constraint/automaton/automaton.h"

namespace octavo {
namespace {

constexpr int kMaxPasses = 8;
constexpr std::uint8_t kMostRun = 0xFE;

int count(const AsciiSet& set) { return std::popcount(set[0]) + std::popcount(set[1]); }

void add(AsciiSet& set, const Automaton::Edge& edge) {
  for (int byte = edge.low; byte <= std::min<int>(edge.high, 127); ++byte)
    set[to_size(byte) / 64] |= std::uint64_t{1} << byte % 64;
}

}  // namespace

class AsciiRunsFinder {
 public:
  AsciiRunsFinder(const Automaton& automaton, const AutomatonShape& shape) : automaton_(automaton) {
    std::vector<bool> is_repeated(automaton.num_states());
    const auto mark = [&](StateId begin, StateId end) {
      std::fill(is_repeated.begin() + begin, is_repeated.begin() + end, true);
    };
    for (const AutomatonShape::Range& loop : shape.loops) mark(loop.begin, loop.end);
    for (const AutomatonShape::Copies& copies : shape.copies) mark(copies.begin, copies.end());
    for (StateId state = 0; state < automaton.num_states(); ++state)
      if (is_repeated[state] && automaton.at(state).kind == Automaton::Kind::kBytes) states_.push_back(state);
  }

  AsciiRuns find() {
    find_sets();
    if (found_.num_sets_ == 0) return {};
    found_.runs_.resize(automaton_.num_states());
    for (const StateId state : states_) found_.runs_[state].fill(AsciiRuns::kEndless);
    for (std::size_t i = 0; i < found_.num_sets_; ++i) settle(i);
    return std::move(found_);
  }

 private:
  /// Finds the sets of bytes that states read, the largest first.
  void find_sets() {
    std::vector<AsciiSet> sets;
    for (const StateId state : states_) {
      AsciiSet own = {};
      for (const Automaton::Edge& edge : automaton_.edges(automaton_.at(state)))
        if (automaton_.is_live(edge.target)) add(own, edge);
      if (count(own) < AsciiRuns::kFewBytes || std::ranges::find(sets, own) != sets.end()) continue;
      sets.push_back(own);
      if (sets.size() == 4 * AsciiRuns::kMaxSets) break;
    }
    std::ranges::stable_sort(sets, std::ranges::greater(), count);
    found_.num_sets_ = std::min(sets.size(), AsciiRuns::kMaxSets);
    std::copy_n(sets.begin(), found_.num_sets_, found_.sets_.begin());
  }

  /// Begins with the longest runs, and shortens them until nothing changes: a run is never longer than the truth.
  /// States that are laid first are at the end of what is read.
  void settle(std::size_t set) {
    for (int pass = 0; pass < kMaxPasses; ++pass) {
      bool is_settled = true;
      for (const StateId state : states_) {
        const std::uint8_t run = run_of(state, set);
        is_settled = is_settled && run == found_.runs_[state][set];
        found_.runs_[state][set] = run;
      }
      if (is_settled) return;
    }
    for (const StateId state : states_) found_.runs_[state][set] = 0;
  }

  /// The shortest run that a byte of the set leads to.
  std::uint8_t run_of(StateId state, std::size_t set) const {
    const std::span<const Automaton::Edge> edges = automaton_.edges(automaton_.at(state));
    std::uint8_t run = found_.runs_[state][set];
    AsciiSet read = {};
    bool is_apart = true;
    for (const Automaton::Edge& edge : edges) {
      AsciiSet own = {};
      if (automaton_.is_live(edge.target)) add(own, edge);
      is_apart = is_apart && !have_common(own, read);
      for (std::size_t i = 0; i < own.size(); ++i) read[i] |= own[i];
    }
    if (run == 0 || !are_within(found_.sets_[set], read)) return 0;
    if (is_apart) {
      for (const Automaton::Edge& edge : edges) {
        AsciiSet own = {};
        if (automaton_.is_live(edge.target)) add(own, edge);
        if (have_common(own, found_.sets_[set])) run = std::min(run, behind(edge.target, set));
      }
      return run;
    }
    for (std::uint8_t byte = 0; byte < 128 && run > 0; ++byte) {
      if (!holds_byte(found_.sets_[set], byte)) continue;
      std::uint8_t best = 0;
      for (const Automaton::Edge& edge : edges)
        if (edge.low <= byte && byte <= edge.high && automaton_.is_live(edge.target))
          best = std::max(best, behind(edge.target, set));
      run = std::min(run, best);
    }
    return run;
  }

  /// The length of one byte and the longest run of a state that is reached from there without reading.
  std::uint8_t behind(StateId target, std::size_t set) const {
    std::uint8_t best = 0;
    const auto look_at = [&](StateId state) {
      if (automaton_.at(state).kind == Automaton::Kind::kBytes) best = std::max(best, found_.runs_[state][set]);
    };
    look_at(target);
    // Splits within splits are few: a loop's, a copy's and what follows it.
    std::array<StateId, 16> open = {target};
    for (std::size_t i = 0, num_open = 1; i < num_open; ++i) {
      const Automaton::State& here = automaton_.at(open[i]);
      if (here.kind != Automaton::Kind::kSplit) continue;
      for (const StateId next : automaton_.targets(here)) {
        look_at(next);
        if (automaton_.at(next).kind == Automaton::Kind::kSplit && num_open < open.size()) open[num_open++] = next;
      }
    }
    return best >= kMostRun ? best : static_cast<std::uint8_t>(best + 1);
  }

  const Automaton& automaton_;
  AsciiRuns found_;
  std::vector<StateId> states_;  // states of repeated parts
};

AsciiRuns AsciiRuns::of(const Automaton& automaton, const AutomatonShape& shape) {
  if ((shape.loops.empty() && shape.copies.empty()) || automaton.num_states() > kMaxStates) return {};
  return AsciiRunsFinder(automaton, shape).find();
}

}  // namespace octavo
