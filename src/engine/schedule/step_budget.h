// The rows, and the predicted milliseconds, that a step may take, and those that are taken.
//
// Owned by the scheduler; only the thread that drives the engine may call it.
#pragma once

#include "engine/schedule/cost_model.h"
#include "engine/schedule/sequence.h"

namespace octavo {

/// The work of the next `num_tokens` tokens of a sequence.
inline StepWork work_to_advance(const CostModel& cost, const Sequence& sequence, int num_tokens) {
  const int first = sequence.num_computed, end = first + num_tokens;
  StepWork work = cost.work(first, num_tokens, sequence.num_logit_rows(end));
  work.draw_ms = sequence.draw_ms * sequence.num_draws(end);
  return work;
}

class StepBudget {
 public:
  /// Times the target: a step in which nobody waits for the next token. At the default of 50 ms a cancel, which takes
  /// effect between steps, is heard within 100.
  static constexpr double kPromptStepFactor = 1.6;
  /// Times the target: the longest silence that the first prompt's rows may cause where a block of them would cause a
  /// longer one.
  static constexpr double kSilenceFactor = 4;
  /// Times the rows that each request, or each owner, has in every step: where these take long, further ones may go
  /// with them, drafted ones of an answer alone too, as a step of few rows costs nearly as much. No further than
  /// kSilenceFactor allows.
  static constexpr double kBesideFactor = 2;
  /// Times what a step takes that is full already: for the first draws of choices.
  static constexpr double kDrawsFactor = 1.1;
  /// Rows that the first prompt gets at least: fewer would read all weights for little.
  static constexpr int kFewestRows = 2;
  /// Rows that the first prompt gets where even those are too many, because decodes alone take so long: fewer than a
  /// tile of kernels would spare nobody anything.
  static constexpr int kRowsBesideLongDecodes = 4;

  /// `step_ms`: of a step in which somebody waits for the next token; 0: any. Without a cost model nothing is
  /// predicted. The model must outlive the budget.
  StepBudget(int max_rows, double step_ms, const CostModel* cost)
      : max_rows_(max_rows), step_ms_(step_ms), cost_(cost) {}

  /// A new step, in which somebody waits for the next token or not. Where several engines that share the threads have
  /// work, each one's steps get their part of the time, as if somebody waited: those of another may.
  /// `spent_ms` of it are gone.
  void begin(bool decode_waiting, int num_engines = 1, double spent_ms = 0);

  int rows_left() const { return rows_left_; }
  bool is_timed() const { return ms_ > 0; }
  double ms() const { return ms_; }
  /// Counts of the work that the step has so far.
  const StepWork& work() const { return work_; }
  /// Some of it is of a sequence that catches up, or of one that does not.
  bool has_prompt_rows() const { return has_prompt_rows_; }
  bool has_decode_rows() const { return has_decode_rows_; }

  /// The next `num_tokens` tokens of a sequence fit the time.
  bool is_in_time(const Sequence& sequence, int num_tokens) const { return is_within(sequence, num_tokens, ms_); }
  /// The step takes no longer than `ms` with them; 0: any.
  bool is_within(const Sequence& sequence, int num_tokens, double ms) const;
  /// The time of a step in which rows that cannot wait are taken, for those that can; 0: any.
  double ms_beside() const;

  /// The time of the step for first draws of choices; 0: any. A draw for a prompt's next choice fits it or not; the
  /// step has it.
  double ms_with_draws() const;
  bool is_draw_within(const Sequence& prompt, double ms) const;
  void take_draw(const Sequence& prompt) { work_.draw_ms += prompt.draw_ms; }

  /// The tokens that fit, in whole blocks where it is the time that cuts. The first prompt of a step gets a block
  /// even so, as decodes alone may take longer than the budget; less if others would wait too long for that.
  int tokens_in_time(const Sequence& sequence, int num_tokens, int block_size) const;
  /// The step computes them.
  void take(const Sequence& sequence, int num_tokens);
  /// The step computes a drafted row of this work.
  void take_drafted(const StepWork& row) {
    --rows_left_;
    work_ += row;
  }

 private:
  int fewer_than_block(const Sequence& sequence, int most) const;

  int max_rows_;
  double step_ms_;
  const CostModel* cost_;
  int rows_left_ = 0;
  double ms_ = 0;          // of this step; 0: any
  double longest_ms_ = 0;  // of this step where the first prompt's rows make it longer; 0: any
  StepWork work_;
  bool has_prompt_rows_ = false, has_decode_rows_ = false;
};

}  // namespace octavo
