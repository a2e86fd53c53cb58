#include "engine/schedule/choice_turns.h"

#include <algorithm>

namespace octavo {
namespace {

bool has_choices_left(const Sequence& sequence) {
  const int left = sequence.num_choices() - sequence.notes.num_beginning;
  return left > 0 && (sequence.awaits_choices() || sequence.notes.num_beginning > 0);
}

int most_beginning(const Sequence& prompt, const StepBudget& budget) {
  return budget.is_timed() && prompt.draw_ms == 0 ? std::min(ChoiceTurns::kUnmeasured, prompt.num_choices())
                                                  : prompt.num_choices();
}

}  // namespace

void ChoiceTurns::begin_step(std::span<Sequence* const> running) {
  for (Sequence* sequence : running) sequence->notes.num_beginning = 0;
}

void ChoiceTurns::choose(std::span<Sequence* const> running, StepBudget& budget, std::vector<Sequence*>& beginning) {
  prompts_.clear();
  bool must_begin = true;
  for (Sequence* sequence : running) {
    if (has_choices_left(*sequence)) prompts_.push_back(sequence);
    if (sequence->notes.num_beginning > 0) must_begin = false;
  }
  const double ms = budget.ms_with_draws();
  for (bool goes_on = true; goes_on;) {
    goes_on = false;
    for (Sequence* prompt : prompts_) {
      if (prompt->notes.num_beginning == most_beginning(*prompt, budget)) continue;
      if (!must_begin && !budget.is_draw_within(*prompt, ms)) continue;
      ++prompt->notes.num_beginning;
      budget.take_draw(*prompt);
      must_begin = false;
      goes_on = true;
    }
  }
  beginning.clear();
  for (Sequence* sequence : running)
    if (sequence->awaits_choices() && sequence->notes.num_beginning > 0) beginning.push_back(sequence);
}

}  // namespace octavo
