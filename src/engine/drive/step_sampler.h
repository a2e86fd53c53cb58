// Samples the tokens of a step: lists the row of logits and the choice of each, and draws them on all threads.
//
// Owned by the engine's Step, with scratch for each thread; the samples are the plan's. Only the thread that drives the
// engine may call it.
#pragma once

#include <span>
#include <vector>

#include "base/thread_pool.h"
#include "engine/answers/request_table.h"
#include "engine/schedule/step_plan.h"

namespace octavo {

/// The rows of the step's logits that the runner holds at one time.
struct LogitSlice {
  int first;  // an index of the step's rows of logits
  std::span<const LogitRow> rows;
  std::span<const float> logits;
};

class StepSampler {
 public:
  /// Rows have `vocab_size` logits, of which the first `num_drawable` may be drawn. The pool must outlive this.
  StepSampler(ThreadPool& threads, int vocab_size, int num_drawable, Math math);

  /// Lists the first samples of choices that begin in this step although their prompts were computed before, from the
  /// rows that were kept. It makes these choices.
  static void list_beginning(StepPlan& plan, RequestTable& requests);
  /// Lists the samples from rows of the step. The last row of a prompt has one for each choice that begins now: it
  /// makes these choices, and keeps the row for the others.
  void list(StepPlan& plan, const LogitSlice& slice, RequestTable& requests) const;
  /// Draws the samples that were listed since the last call.
  void draw_listed(Samples& samples);

  /// Draws the token behind the first `num_rows` of a sample's drafted rows, which are right, on this thread. The
  /// runner still has the rows.
  void draw_behind(Sample& sample, int num_rows);

  /// Lets the choices run whose first samples are listed, once their prompts have been accepted.
  static void start_choices(const Samples& samples, RequestTable& requests);
  /// Takes into account that a sample's event took `event_ms`: its sequence's next token is predicted to take as much.
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
