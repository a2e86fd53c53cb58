#include "constraint/automaton/automaton.h"

#include "constraint/automaton/automaton_builder.h"

namespace octavo {

Result<Automaton> Automaton::build(const Grammar& grammar, const ByteSet& written) {
  return AutomatonBuilder(grammar, written).build();
}

void Automaton::shrink() {
  states_.shrink_to_fit();
  edges_.shrink_to_fit();
  targets_.shrink_to_fit();
  is_live_.shrink_to_fit();
}

std::size_t Automaton::num_bytes() const {
  return states_.capacity() * sizeof(State) + edges_.capacity() * sizeof(Edge) + targets_.capacity() * sizeof(StateId) +
         (is_live_.capacity() + is_in_loop_.capacity()) / 8 + simulation_.num_bytes() + ascii_runs_.num_bytes();
}

}  // namespace octavo
