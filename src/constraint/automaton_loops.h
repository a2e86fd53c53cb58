// Which states of an automaton lie in short loops: what reads on in them can read on for ever, and stands in few sets.
//
// Loops are repeated expressions, and rules that end with calls of each other, as automata over characters are written.
#pragma once

#include <cstddef>
#include <vector>

#include "constraint/automaton.h"

namespace octavo {

/// States of the longest loop that counts as short.
constexpr std::size_t kMaxLoopStates = 256;

/// Tells it of each state.
std::vector<bool> states_in_loops(const Automaton& automaton, const AutomatonShape& shape);

}  // namespace octavo
