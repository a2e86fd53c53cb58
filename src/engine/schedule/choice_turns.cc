#include "engine/schedule/choice_turns.h"

#include <algorithm>

namespace octavo {
namespace {

int most_beginning(const Sequence& prompt, const StepBudget& budget) {
  return budget.is_timed() && prompt.draw_ms == 0 ? std::min(ChoiceTurns::kUnmeasured, prompt.num_choices())
                                                  : prompt.num_choices();
}

}  // namespace

/// Lists the prompts among `running` with choices to begin: those computed before, and those of which some choices
/// begin with their last rows.
void ChoiceTurns::list_prompts(std::span<Sequence* const> running, std::span<ScheduledSequence> planned,
                               std::span<const BeginningChoices> beginning) {
  prompts_.clear();
  for (Sequence* sequence : running) {
    if (sequence->awaits_choices()) {
      const auto known = std::ranges::find(beginning, sequence, &BeginningChoices::prompt);
      prompts_.push_back({.prompt = sequence, .number = known != beginning.end() ? known->number : 0});
    } else if (sequence->num_forks > 0) {
      const auto rows = std::ranges::find(planned, sequence, &ScheduledSequence::sequence);
      if (rows != planned.end() && rows->num_beginning > 0)
        prompts_.push_back({.prompt = sequence, .number = rows->num_beginning, .rows = &*rows});
    }
  }
}

void ChoiceTurns::choose(std::span<Sequence* const> running, std::span<ScheduledSequence> planned, StepBudget& budget,
                         std::vector<BeginningChoices>& beginning) {
  list_prompts(running, planned, beginning);
  bool must_begin = std::ranges::all_of(prompts_, [](const Turn& turn) { return turn.number == 0; });
  const double ms = budget.ms_with_draws();
  for (bool goes_on = true; goes_on;) {
    goes_on = false;
    for (Turn& turn : prompts_) {
      if (turn.number == most_beginning(*turn.prompt, budget)) continue;
      if (!must_begin && !budget.is_draw_within(*turn.prompt, ms)) continue;
      ++turn.number;
      budget.take_draw(*turn.prompt);
      must_begin = false;
      goes_on = true;
    }
  }
  beginning.clear();
  for (const Turn& turn : prompts_) {
    if (turn.rows != nullptr) {
      turn.rows->num_beginning = turn.number;
    } else if (turn.number > 0) {
      beginning.push_back({.prompt = turn.prompt, .number = turn.number});
    }
  }
}

}  // namespace octavo
