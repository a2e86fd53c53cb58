#include "constraint/masks/free_runs.h"

#include <bit>
#include <utility>

#include "base/to_size.h"

namespace octavo {

FreeRuns::FreeRuns(const Automaton& automaton, LocalStates& locals)
    : locals_(locals), classes_(automaton.num_classes()) {
  for (int i = 255; i >= 0; --i) {
    const auto byte = static_cast<std::uint8_t>(i);
    const std::uint8_t class_id = automaton.class_of(byte);
    const bool is_last = i == 255 || automaton.class_of(static_cast<std::uint8_t>(i + 1)) != class_id;
    last_of_class_[byte] = is_last ? byte : last_of_class_[byte + 1U];
    Class& own = classes_[class_id];
    if (is_last) own.byte = byte;
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

std::optional<std::uint8_t> FreeRuns::plain_only(LocalId state) {
  LocalId at = state;
  for (std::uint8_t length = 0; length < kMostBytes; ++length) {
    if (!takes_only_plain(at)) return takes_no_plain(at) ? std::optional(length) : std::nullopt;
    const LocalId next = steps_[at].next;
    if (next == at) return kEndless;
    at = next;
  }
  return kMostBytes;
}

/// Whether all plain characters lead to one state, no control character is taken, and the call does not end.
bool FreeRuns::takes_only_plain(LocalId state) {
  const Step& step = step_of(state);
  if (step.is_plain) return *step.is_plain;
  const bool is_plain =
      step.leads_on && are_within(kPlainAscii, step.ascii) && is_inside(state) && others_lead_on(state);
  return *(steps_[state].is_plain = is_plain);
}

bool FreeRuns::takes_no_plain(LocalId state) {
  if (!is_inside(state)) return false;
  for (const Class& one : classes_) {
    const bool has_plain = one.byte >= 128 || have_common(one.ascii, kPlainAscii);
    if (has_plain && locals_.after(state, one.byte) != LocalStates::kDead) return false;
  }
  return true;
}

bool FreeRuns::is_inside(LocalId state) {
  if (locals_.is_complete(state) || locals_.is_too_large(state)) return false;
  for (const Class& one : classes_)
    if (have_common(one.ascii, kControlAscii) && locals_.after(state, one.byte) != LocalStates::kDead) return false;
  return true;
}

/// Finds the largest set of bytes under 128 that lead to the same state.
const FreeRuns::Step& FreeRuns::find_step(LocalId state) {
  if (state >= steps_.size()) steps_.resize(to_size(state) + 1);
  Step step{.is_known = true};
  if (!locals_.is_too_large(state)) {
    std::vector<std::pair<LocalId, AsciiSet>> by_target;
    for (const Class& one : classes_) {
      if (one.ascii == AsciiSet{}) continue;
      const LocalId target = locals_.after(state, one.byte);
      if (target == LocalStates::kDead || locals_.is_too_large(target)) continue;
      auto known = by_target.begin();
      while (known != by_target.end() && known->first != target) ++known;
      if (known == by_target.end()) known = by_target.insert(known, {target, AsciiSet{}});
      for (std::size_t i = 0; i < 2; ++i) known->second[i] |= one.ascii[i];
    }
    const auto count = [](const AsciiSet& ascii) { return std::popcount(ascii[0]) + std::popcount(ascii[1]); };
    for (const auto& [target, ascii] : by_target) {
      if (count(ascii) <= count(step.ascii)) continue;
      step.leads_on = true;
      step.next = target;
      step.ascii = ascii;
    }
  }
  return steps_[state] = step;
}

/// Follows the next states as long as they take the same bytes.
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
  ++round_;
  bool lead_on = true;
  for (const Utf8PlaceStep& lead : kUtf8FirstSteps)
    if (lead.next != 0) lead_on = lead_on && range_leads_to(state, lead, target);
  steps_[state].others = lead_on;
  return lead_on;
}

/// Whether all characters that have come to this place of the decoder in this state lead to `target`. Many ways lead to
/// the same places, each of which is looked at once in a round.
bool FreeRuns::all_lead_to(LocalId from, std::uint8_t place, LocalId target) {
  if (place == 0) return from == target;
  if (from == LocalStates::kDead || locals_.is_too_large(from) || locals_.is_complete(from)) return false;
  const std::size_t at = to_size(from) * kNumUtf8Places + place;
  if (at >= rounds_.size()) rounds_.resize(at + 1);
  return std::exchange(rounds_[at], round_) == round_ || range_leads_to(from, kUtf8Continuations[place - 1U], target);
}

bool FreeRuns::range_leads_to(LocalId from, const Utf8PlaceStep& range, LocalId target) {
  for (std::size_t byte = range.low; byte <= range.high; byte = to_size(last_of_class_[byte]) + 1)
    if (!all_lead_to(locals_.after(from, static_cast<std::uint8_t>(byte)), range.next, target)) return false;
  return true;
}

}  // namespace octavo
