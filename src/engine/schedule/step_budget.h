// The rows and the predicted milliseconds that a step may take, and those that it has taken.
//
// Owned by the scheduler; only the thread that drives the engine may call it.
#pragma once

#include "engine/schedule/cost_model.h"
#include "engine/schedule/sequence.h"

namespace octavo {

/// The work of a sequence's next `num_tokens` tokens.
inline StepWork work_to_advance(const CostModel& cost, const Sequence& sequence, int num_tokens) {
  const int first = sequence.num_computed, end = first + num_tokens;
  StepWork work = cost.work(first, num_tokens, sequence.num_logit_rows(end));
  work.draw_ms = sequence.draw_ms * sequence.num_draws(end);
  return work;
}

class StepBudget {
 public:
  /// The target's factor for a step in which nobody waits for a next token. At the default target of 50 ms, a cancel is
  /// heard within 100 ms, as it takes effect between steps.
  static constexpr double kPromptStepFactor = 1.6;
  /// The target's factor for the longest silence that the first prompt's rows may cause, where a block of them would
  /// cause a longer one.
  static constexpr double kSilenceFactor = 4;
  /// The factor of the time of the rows that each request, or each owner, has in every step: where these take long,
  /// further rows may go with them (also drafted ones of a single answer), as a step of few rows costs nearly as much.
  /// kSilenceFactor bounds it.
  static constexpr double kBesideFactor = 2;
  /// The factor of the time of a full step, for first draws of choices.
  static constexpr double kDrawsFactor = 1.1;
  /// The fewest rows that the first prompt gets: fewer would read all weights for little.
  static constexpr int kFewestRows = 2;
  /// The rows that the first prompt gets where even those are too many, because decodes alone take so long: fewer than
  /// a tile of kernels would save no time.
  static constexpr int kRowsBesideLongDecodes = 4;

  /// `step_ms`: for a step in which somebody waits for the next token; 0: no limit. Without a cost model nothing is
  /// predicted. The model must outlive the budget.
  StepBudget(int max_rows, double step_ms, const CostModel* cost)
      : max_rows_(max_rows), step_ms_(step_ms), cost_(cost) {}

  /// Begins a step; `decode_waiting`: somebody waits for the next token. Where several engines that share the threads
  /// have work, the steps of each get an equal part of the time, as if somebody waited, since that may be so in another
  /// engine. `spent_ms` are gone.
  void begin(bool decode_waiting, int num_engines = 1, double spent_ms = 0);

  int rows_left() const { return rows_left_; }
  bool is_timed() const { return ms_ > 0; }
  double ms() const { return ms_; }
  /// The work that the step has so far, in counts.
  const StepWork& work() const { return work_; }
  /// Whether some of the work is of a sequence that catches up; then, of one that does not.
  bool has_prompt_rows() const { return has_prompt_rows_; }
  bool has_decode_rows() const { return has_decode_rows_; }

  /// Whether the next `num_tokens` tokens of a sequence fit into the time.
  bool is_in_time(const Sequence& sequence, int num_tokens) const { return is_within(sequence, num_tokens, ms_); }
  /// Whether the step takes no longer than `ms` with these tokens; 0: no limit.
  bool is_within(const Sequence& sequence, int num_tokens, double ms) const;
  /// The time for further rows in a step with rows that cannot wait; 0: no limit.
  double ms_beside() const;

  /// The time of the step for first draws of choices; 0: no limit. The draw for a prompt's next choice fits into it or
  /// not; the step has it either way.
  double ms_with_draws() const;
  bool is_draw_within(const Sequence& prompt, double ms) const;
  void take_draw(const Sequence& prompt) { work_.draw_ms += prompt.draw_ms; }

  /// How many tokens fit, in whole blocks where time is the limit. The first prompt of a step gets a block in any case,
  /// as decodes alone may exceed the budget; it gets less where others would wait too long for that.
  int tokens_in_time(const Sequence& sequence, int num_tokens, int block_size) const;
  /// Takes the tokens into the step.
  void take(const Sequence& sequence, int num_tokens);
  /// Takes a drafted row of this work into the step.
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
  double ms_ = 0;          // the limit of this step; 0: no limit
  double longest_ms_ = 0;  // of this step where the first prompt's rows make it longer; 0: no limit
  StepWork work_;
  bool has_prompt_rows_ = false, has_decode_rows_ = false;
};

}  // namespace octavo
