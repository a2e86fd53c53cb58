// Finds the states of an automaton in short loops: a text can go on in a loop for ever, and stands in few sets there.
//
// Loops are repeated expressions, and rules that end with calls of each other, as CharacterDfa::write() makes them.
#pragma once

#include <cstddef>
#include <vector>

#include "constraint/automaton/automaton.h"

namespace octavo {

/// The most states of a loop that counts as short.
constexpr std::size_t kMaxLoopStates = 256;

/// [states] whether a state lies in a short loop.
std::vector<bool> states_in_loops(const Automaton& automaton, const AutomatonShape& shape);

}  // namespace octavo
