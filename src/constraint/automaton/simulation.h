// Pairs of states of an automaton of which one can do all that the other can: the simulation relation of automata
// theory, as far as it pays.
//
// A text under `[^q]*[aeiou][^q]{80}` stands in up to 81 states at once, and in one of 2^80 sets of them. But the loop
// in front reads all that the counted states read, and under `[^q]{0,80}` the counted state with more characters left
// reads all that another counted state does. A state that another covers is left out of a set, so that such sets stay
// small and come again. Two kinds of pairs are looked at: any state of a rule beside one in a loop of the rule, and a
// state in a copy of a repeated part beside the same state in the next copy.
//
// Immutable once found; any thread may read it. Whether a state covers another depends on the automaton alone.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

namespace octavo {

class Automaton;
class CallStacks;
struct Configuration;
using StateId = std::uint32_t;

/// The layout of an automaton's states, as its builder knows it.
struct AutomatonShape {
  struct Range {
    StateId begin = 0, end = 0;
  };
  /// Copies of one expression, each of `stride` states. More copies may follow behind one of higher states.
  struct Copies {
    StateId begin = 0;
    std::uint32_t stride = 0, count = 0;
    StateId end() const { return begin + stride * count; }
  };
  std::vector<Range> rules = {};
  std::vector<Range> loops = {};  // ranges that are read again and again
  std::vector<Copies> copies = {};
};

class Simulation {
 public:
  /// The texts of a state that the covering state has too.
  enum class Texts : std::uint8_t {
    kWhole,       // all texts that lead to the end of the rule
    kBeginnings,  // all beginnings of these texts, which is enough where nothing follows the rule
  };
  static constexpr std::size_t kMaxLoopStates = 64;  // the most that are looked at in a rule
  static constexpr std::size_t kMaxWork = 1 << 21;   // the bound of compared edges; the rules behind have no pairs

  Simulation() = default;
  static Simulation of(const Automaton& automaton, const AutomatonShape& shape);

  /// Whether a text in `by` can go on with all texts with which one in `state` can.
  bool covers(StateId by, StateId state, Texts texts) const;
  /// Leaves out configurations that another one covers: one on the same stack, or of an equal state in a call that
  /// returns to the same stack. `bottom` is the stack behind whose return nothing follows, or kNoStack.
  void reduce(std::vector<Configuration>& members, const CallStacks& stacks, std::uint32_t bottom) const;
  static constexpr std::uint32_t kNoStack = 0xFFFFFFFF;

  bool empty() const { return records_.empty(); }
  std::size_t num_bytes() const {
    return record_of_.capacity() * sizeof(std::uint32_t) + records_.capacity() * sizeof(Record);
  }

 private:
  friend class SimulationFinder;
  /// The findings about a state, by Texts.
  struct Record {
    std::array<std::uint64_t, 2> loops = {};      // a bit for each loop state of the rule that covers the state
    std::array<std::uint32_t, 2> more = {};       // later copies in a row that cover the state
    std::uint32_t rule = 0;                       // its rule among the shape's
    std::uint32_t stride = 0, first_of_copy = 0;  // its copies, and its place in the first copy; stride 0: none
    std::uint8_t loop_bit = 0xFF;                 // its number among the loop states of the rule; 0xFF: none
    bool is_covered() const { return (loops[0] | loops[1]) != 0 || (more[0] | more[1]) != 0; }
  };

  const Record* record(StateId state) const {
    return state < record_of_.size() && record_of_[state] != 0 ? &records_[record_of_[state]] : nullptr;
  }
  /// The state of a configuration, or one that it returns to.
  struct Place {
    std::uint32_t stack = 0;  // below it
    StateId caller = 0;       // the state in the call, for a state that is returned to
    StateId state = 0;
    std::uint32_t member = 0;  // its configuration
  };
  void leave_out(std::vector<Place>& places, std::uint32_t bottom, std::vector<Configuration>& members) const;
  void reduce_group(std::span<Place> group, Texts texts) const;

  std::vector<std::uint32_t> record_of_;  // [states]; 0: none
  std::vector<Record> records_;           // records; the first is empty
};

}  // namespace octavo
