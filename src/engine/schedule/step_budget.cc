#include "engine/schedule/step_budget.h"

#include <algorithm>
#include <bit>

#include "base/error.h"
#include "base/to_size.h"

namespace octavo {

void StepBudget::begin(bool decode_waiting, int num_engines, double spent_ms) {
  OCTAVO_CHECK(num_engines >= 1, "{} engines", num_engines);
  rows_left_ = max_rows_;
  const bool somebody_waits = decode_waiting || num_engines > 1;
  const double share_ms = cost_ == nullptr ? 0 : step_ms_ / num_engines;
  ms_ = share_ms * (somebody_waits ? 1 : kPromptStepFactor);
  const double of_others_ms = share_ms * (num_engines - 1);
  longest_ms_ = somebody_waits && ms_ > 0 ? kSilenceFactor * step_ms_ - of_others_ms : 0;
  work_ = {.draw_ms = spent_ms};
  has_prompt_rows_ = has_decode_rows_ = false;
}

bool StepBudget::is_within(const Sequence& sequence, int num_tokens, double ms) const {
  return !is_timed() || cost_->predict_ms(work_ + work_to_advance(*cost_, sequence, num_tokens)) <= ms;
}

double StepBudget::ms_beside() const {
  return is_timed() ? std::max(ms_, std::min(longest_ms_, kBesideFactor * cost_->predict_ms(work_))) : 0;
}

double StepBudget::ms_with_draws() const {
  return is_timed() ? std::max(ms_, kDrawsFactor * cost_->predict_ms(work_)) : 0;
}

bool StepBudget::is_draw_within(const Sequence& prompt, double ms) const {
  return !is_timed() || cost_->predict_ms(work_) + prompt.draw_ms <= ms;
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
  return has_prompt_rows_ ? 0 : fewer_than_block(sequence, std::min(num_tokens, to_next_block));
}

/// The most tokens at which the step's rows, with those of decodes, are a power of two: that is how kernels tile rows.
/// The search halves the number.
int StepBudget::fewer_than_block(const Sequence& sequence, int most) const {
  if (longest_ms_ <= 0) return most;
  const auto is_too_long = [&](int rows) {
    return cost_->predict_ms(work_ + work_to_advance(*cost_, sequence, rows)) > longest_ms_;
  };
  const int others = max_rows_ - rows_left_;
  for (int rows = most; rows >= kFewestRows;
       rows = static_cast<int>(std::bit_floor(to_size(others + rows - 1))) - others)
    if (!is_too_long(rows)) return rows;
  // Three rows left over would be tiles of two and one, which cost more than one tile of four.
  return std::min(most, kRowsBesideLongDecodes + (others % 4 == 3 ? 1 : 0));
}

void StepBudget::take(const Sequence& sequence, int num_tokens) {
  rows_left_ -= num_tokens;
  if (cost_ != nullptr) work_ += work_to_advance(*cost_, sequence, num_tokens);
  (sequence.is_catching_up() ? has_prompt_rows_ : has_decode_rows_) = true;
}

}  // namespace octavo
