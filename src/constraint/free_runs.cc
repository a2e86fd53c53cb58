#include "constraint/free_runs.h"

#include <bit>

#include "base/to_size.h"

namespace octavo {

FreeRuns::FreeRuns(const Automaton& automaton, LocalStates& locals)
    : locals_(locals), classes_(automaton.num_classes()) {
  for (int i = 0; i < 256; ++i) {
    const auto byte = static_cast<std::uint8_t>(i);
    class_of_[byte] = automaton.class_of(byte);
    Class& own = classes_[class_of_[byte]];
    own.byte = byte;
    if (byte < 128) own.ascii[byte / 64U] |= std::uint64_t{1} << byte % 64;
  }
}

bool FreeRuns::holds(LocalId state, const TokenTrie::Below& below) {
  if (below.depth > kMostBytes || (below.has_others && (below.utf8_places & 1) == 0)) return false;
  const Step& step = step_of(state);
  return takes(step, below) && below.depth <= run_of(step, state, below.has_others);
}

bool FreeRuns::holds_behind(LocalId state, std::uint8_t lead, const TokenTrie::Below& below) {
  const std::uint8_t place = utf8_place_after(0, lead);
  if (place == 0 || place == kNoUtf8Place || (below.utf8_places >> place & 1) == 0 || below.depth >= kMostBytes)
    return false;
  const Step& step = step_of(state);
  return takes(step, below) && below.depth + 1 <= run_of(step, state, true);
}

/// The bytes under 128 that lead to the same state, of all such sets the largest.
const FreeRuns::Step& FreeRuns::find_step(LocalId state) {
  if (state >= steps_.size()) steps_.resize(to_size(state) + 1);
  Step step{.is_known = true};
  if (!locals_.is_too_large(state)) {
    std::vector<std::pair<LocalId, Ascii>> by_target;
    for (const Class& one : classes_) {
      if (one.ascii == Ascii{}) continue;
      const LocalId target = locals_.after(state, one.byte);
      if (target == LocalStates::kDead || locals_.is_too_large(target)) continue;
      auto known = by_target.begin();
      while (known != by_target.end() && known->first != target) ++known;
      if (known == by_target.end()) known = by_target.insert(known, {target, Ascii{}});
      for (std::size_t i = 0; i < 2; ++i) known->second[i] |= one.ascii[i];
    }
    const auto count = [](const Ascii& ascii) { return std::popcount(ascii[0]) + std::popcount(ascii[1]); };
    for (const auto& [target, ascii] : by_target) {
      if (count(ascii) <= count(step.ascii)) continue;
      step.leads_on = true;
      step.next = target;
      step.ascii = ascii;
    }
  }
  return steps_[state] = step;
}

/// Along the states behind, as long as they take the same bytes.
std::uint8_t FreeRuns::find_run(LocalId state, bool with_others) {
  const Step first = step_of(state);
  std::uint8_t run = 0;
  for (LocalId at = state; run < kMostBytes; ++run) {
    const Step& step = step_of(at);
    if (!step.leads_on || step.ascii != first.ascii || (with_others && !others_lead_on(at))) break;
    const LocalId next = steps_[at].next;
    if (next == at) {
      run = kMostBytes;
      break;
    }
    at = next;
  }
  (with_others ? steps_[state].run_others : steps_[state].run) = run;
  return run;
}

bool FreeRuns::others_lead_on(LocalId state) {
  if (const auto known = step_of(state).others) return *known;
  const LocalId target = steps_[state].next;
  bool lead_on = true;
  for (const Utf8PlaceStep& lead : kUtf8FirstSteps)
    if (lead.next != 0) lead_on = lead_on && range_leads_to(state, lead, target);
  steps_[state].others = lead_on;
  return lead_on;
}

/// All characters that have come to this place of the decoder in this state.
bool FreeRuns::all_lead_to(LocalId from, std::uint8_t place, LocalId target) {
  if (place == 0) return from == target;
  if (from == LocalStates::kDead || locals_.is_too_large(from)) return false;
  return range_leads_to(from, kUtf8Continuations[place - 1U], target);
}

bool FreeRuns::range_leads_to(LocalId from, const Utf8PlaceStep& range, LocalId target) {
  for (int byte = range.low; byte <= range.high; ++byte) {
    const auto here = static_cast<std::uint8_t>(byte);
    if (byte > range.low && class_of_[here] == class_of_[here - 1U]) continue;
    if (!all_lead_to(locals_.after(from, here), range.next, target)) return false;
  }
  return true;
}

}  // namespace octavo
