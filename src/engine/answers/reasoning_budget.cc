#include "engine/answers/reasoning_budget.h"

namespace octavo {

void ReasoningBudget::restart(int most, std::span<const TokenId> closing, State state) {
  most_ = most;
  closing_ = closing;
  next_ = closing.size();
  num_spent_ = num_waits_ = 0;
  decide(state);
}

void ReasoningBudget::advance(bool was_inside, State state) {
  if (next_ < closing_.size()) {
    ++next_;
    return;  // the token behind the closing ones may open reasoning again
  }
  if (was_inside) ++num_spent_;
  decide(state);
}

void ReasoningBudget::decide(State state) {
  if (most_ < 0 || !state.is_inside_reasoning || num_spent_ < most_) {
    num_waits_ = 0;
    return;
  }
  if (state.is_inside_character && num_waits_++ < kMaxWaits) return;
  num_waits_ = 0;
  next_ = 0;
}

}  // namespace octavo
