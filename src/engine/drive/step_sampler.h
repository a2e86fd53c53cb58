// Samples the tokens of a step: lists which row of logits each comes from and for which choice, and draws them on all
// threads.
//
// Owned by the engine's Step, with a scratch for each thread; the samples are the plan's. Only the thread that drives
// the engine may call it.
#pragma once

#include <span>
#include <vector>

#include "base/thread_pool.h"
#include "engine/answers/request_table.h"
#include "engine/schedule/step_plan.h"

namespace octavo {

/// Rows of the step's logits that the runner holds at once.
struct LogitSlice {
  int first;  // of the step's
  std::span<const LogitRow> rows;
  std::span<const float> logits;
};

class StepSampler {
 public:
  /// Rows have `vocab_size` logits, of which the first `num_drawable` may be drawn. The pool must outlive this.
  StepSampler(ThreadPool& threads, int vocab_size, int num_drawable, Math math);

  /// Lists the first samples of choices that begin in this step though their prompts were computed before: from the
  /// rows that were kept. The choices are made here.
  static void list_beginning(StepPlan& plan, RequestTable& requests);
  /// Lists the samples from rows of the step. At the end of a prompt these are one for each choice that begins now:
  /// they are made here, and the row is kept for the others.
  void list(StepPlan& plan, const LogitSlice& slice, RequestTable& requests) const;
  /// Draws what was listed since the last call.
  void draw_listed(Samples& samples);

  /// Draws the token behind the first `num_rows` of a sample's drafted rows, which are right, on this thread. The rows
  /// are still the runner's last.
  void draw_behind(Sample& sample, int num_rows);

  /// Prompts whose samples are listed have been accepted: their choices run from now on.
  static void start_choices(const Samples& samples, RequestTable& requests);
  /// A sample's event took `event_ms` beside it: that its sequence's next token will take as much is foreseen.
  void follow_cost(const Sample& sample, double event_ms) const;

 private:
  void draw(Sample& sample, int worker);
  std::span<const MaskWord> find_allowed(const Sample& sample, int worker);

  ThreadPool& threads_;
  const int vocab_size_, num_drawable_;
  std::vector<SamplerScratch> scratches_;       // [threads]
  std::vector<std::vector<MaskWord>> allowed_;  // [threads][words of a mask]
};

}  // namespace octavo
