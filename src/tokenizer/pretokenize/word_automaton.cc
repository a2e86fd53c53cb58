#include "tokenizer/pretokenize/word_automaton.h"

#include <map>

namespace octavo {

namespace {

using Op = PatternProgram::Instruction::Op;
using Threads = std::vector<std::uint32_t>;  // instructions, the preferred one first

/// Computes the steps of a set of threads. Splits are followed at once, look-aheads when the next symbol is known.
class Stepper {
 public:
  /// Makes a stepper that adds its steps to `num_steps`.
  Stepper(const PatternProgram& program, std::uint64_t& num_steps)
      : program_(program),
        is_known_(program.instructions.size()),
        is_open_(program.instructions.size()),
        num_steps_(num_steps) {}

  Threads start() {
    Threads threads;
    follow(program_.start, std::nullopt, threads, is_known_);
    forget(is_known_);
    return threads;
  }

  /// The threads after `symbol` (kEnd: none, the text ends); `matches`: whether one of them matched before it.
  Threads step(const Threads& threads, std::size_t symbol, bool& matches) {
    Threads open;
    for (const std::uint32_t thread : threads) follow(thread, symbol, open, is_open_);
    forget(is_open_);
    Threads next;
    matches = false;
    for (const std::uint32_t thread : open) {
      const auto& instruction = program_.instructions[thread];
      matches = instruction.op == Op::kMatch;
      if (matches) break;  // threads less preferred than a match do not count
      if (instruction.symbols[symbol]) follow(instruction.next, std::nullopt, next, is_known_);
    }
    forget(is_known_);
    return next;
  }

 private:
  struct Marks {
    explicit Marks(std::size_t size) : is_marked(size) {}
    std::vector<bool> is_marked;
    std::vector<std::uint32_t> marked;
    bool mark(std::uint32_t i) {
      if (is_marked[i]) return false;
      is_marked[i] = true;
      marked.push_back(i);
      return true;
    }
  };
  static void forget(Marks& marks) {
    for (const std::uint32_t i : marks.marked) marks.is_marked[i] = false;
    marks.marked.clear();
  }

  /// Adds `thread`, or what its splits and, where the next symbol is known, its look-aheads lead to, to `threads`.
  void follow(std::uint32_t thread, std::optional<std::size_t> symbol, Threads& threads, Marks& known) {
    Threads todo = {thread};
    while (!todo.empty()) {
      const std::uint32_t top = todo.back();
      todo.pop_back();
      ++num_steps_;
      if (!known.mark(top)) continue;
      const auto& instruction = program_.instructions[top];
      if (instruction.op == Op::kSplit) {
        todo.push_back(instruction.other);
        todo.push_back(instruction.next);
      } else if (instruction.op != Op::kLook || !symbol) {
        threads.push_back(top);
      } else if (instruction.symbols[*symbol]) {
        todo.push_back(instruction.next);
      }
    }
  }

  const PatternProgram& program_;
  Marks is_known_, is_open_;
  std::uint64_t& num_steps_;
};

}  // namespace

Result<WordAutomaton> WordAutomaton::create(const RegexNode& pattern, const SymbolMap& map, std::uint64_t& num_steps) {
  OCTAVO_TRY(const PatternProgram program, PatternProgram::create(pattern, map));
  Stepper stepper(program, num_steps);
  WordAutomaton automaton;
  automaton.num_columns_ = map.num_symbols() + 1;
  std::map<Threads, Entry> known = {{Threads{}, kDead}};
  std::vector<Threads> states = {{}, stepper.start()};
  known.emplace(states[kStart], kStart);
  for (std::size_t state = 0; state < states.size(); ++state) {
    for (std::size_t column = 0; column < automaton.num_columns_; ++column) {
      if (column == SymbolMap::kContinuation) {
        automaton.table_.push_back(static_cast<Entry>(state));
        continue;
      }
      bool matches = false;
      const bool is_end = column == map.num_symbols();
      Threads next = stepper.step(states[state], is_end ? PatternProgram::kEnd : column, matches);
      if (matches && state == kStart) return fail("the pattern can match nothing, which is not supported");
      const auto [entry, is_new] = known.try_emplace(std::move(next), static_cast<Entry>(states.size()));
      if (is_new) states.push_back(entry->first);
      if (states.size() > kMaxStates) return fail("the pattern becomes more than {} states", kMaxStates);
      automaton.table_.push_back(entry->second | (matches ? kMatchesBefore : Entry{0}));
    }
    if (num_steps > kMaxBuildSteps)
      return fail("the pattern takes more than {} steps to prepare, with those before it", kMaxBuildSteps);
  }
  return automaton;
}

std::optional<std::uint32_t> WordAutomaton::match_at(const std::uint8_t* symbols, std::uint32_t begin,
                                                     std::uint32_t end, std::uint64_t& num_steps) const {
  std::optional<std::uint32_t> match_end;
  Entry state = kStart;
  std::uint32_t place = begin;
  for (; place < end && state != kDead; ++place) {
    const Entry entry = look_up(state, symbols[place]);
    if ((entry & kMatchesBefore) != 0) match_end = place;
    state = entry & ~kMatchesBefore;
  }
  if (place == end && (look_up(state, num_columns_ - 1) & kMatchesBefore) != 0) match_end = end;
  num_steps += place - begin + 1;
  return match_end;
}

// An attempt that begins one symbol later fails too, if at some place it is in the state that the failed one had there.
std::uint32_t WordAutomaton::next_begin(const std::uint8_t* symbols, std::uint32_t begin, std::uint32_t end,
                                        std::uint64_t& num_steps) const {
  Entry state = look_up(kStart, symbols[begin]);
  std::uint32_t place = begin + 1;
  for (; place < end; ++place) {
    if (symbols[place] == SymbolMap::kContinuation) continue;
    const Entry of_failed = look_up(state, symbols[place]);
    const Entry of_next = look_up(kStart, symbols[place]);
    if (of_failed != of_next) break;
    state = of_next;
  }
  num_steps += place - begin;
  return place;
}

std::optional<WordAutomaton::Match> WordAutomaton::find(const std::uint8_t* symbols, std::uint32_t begin,
                                                        std::uint32_t end, std::uint64_t max_steps,
                                                        std::uint64_t& num_steps) const {
  while (begin < end && num_steps <= max_steps) {
    if (const auto match_end = match_at(symbols, begin, end, num_steps)) return Match{begin, *match_end};
    begin = next_begin(symbols, begin, end, num_steps);
  }
  return std::nullopt;
}

}  // namespace octavo
