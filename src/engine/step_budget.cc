#include "engine/step_budget.h"

#include <algorithm>

namespace octavo {

void StepBudget::begin(bool decode_waiting) {
  rows_left_ = max_rows_;
  ms_ = cost_ == nullptr ? 0 : step_ms_ * (decode_waiting ? 1 : kPromptStepFactor);
  work_ = {};
  has_prompt_rows_ = has_decode_rows_ = false;
}

bool StepBudget::is_in_time(const Sequence& sequence, int num_tokens) const {
  return !is_timed() || cost_->predict_ms(work_ + work_to_advance(*cost_, sequence, num_tokens)) <= ms_;
}

int StepBudget::tokens_in_time(const Sequence& sequence, int num_tokens, int block_size) const {
  if (is_in_time(sequence, num_tokens)) return num_tokens;
  int low = 0, high = num_tokens;  // low fits, high does not
  while (high - low > 1) {
    const int middle = (low + high) / 2;
    (is_in_time(sequence, middle) ? low : high) = middle;
  }
  const int whole = (sequence.num_computed + low) / block_size * block_size - sequence.num_computed;
  if (whole > 0) return whole;
  const int to_next_block = block_size - sequence.num_computed % block_size;
  return has_prompt_rows_ ? 0 : std::min(num_tokens, to_next_block);
}

void StepBudget::take(const Sequence& sequence, int num_tokens) {
  rows_left_ -= num_tokens;
  if (cost_ != nullptr) work_ += work_to_advance(*cost_, sequence, num_tokens);
  (sequence.is_catching_up() ? has_prompt_rows_ : has_decode_rows_) = true;
}

}  // namespace octavo
