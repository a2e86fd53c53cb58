// One step of an engine, the one loop that all uses of the library run: schedule, build, forward, sample, accept,
// append, emit. One StepPlan goes through all of them. It works on any ModelRunner.
//
// Owned by the engine; only the thread that drives it may call it. Other engines may share the thread pool: a step
// holds it while it computes and draws, never during a callback.
#pragma once

#include <optional>
#include <span>

#include "base/thread_pool.h"
#include "engine/drive/head_drafts.h"
#include "engine/drive/joint_passes.h"
#include "engine/drive/step_parts.h"
#include "engine/drive/step_sampler.h"

namespace octavo {

class Step {
 public:
  using Clock = Choice::Clock;

  /// `num_drawable`: the number of ids that may be drawn. `profile`: the counts get the time of each part of steps.
  Step(const StepParts& parts, int num_drawable, Math math, bool profile = false);

  /// Computes one step of all sequences that the scheduler has, at least one. `start`: when the step began.
  void run(Clock::time_point start);
  /// See Engine::release_memory().
  void release_memory(bool cached);

 private:
  void serve_pictures();
  void guess();
  void schedule(StepPlan& plan);
  void run_plan(StepPlan& plan, Clock::time_point start);
  void wait_for_others();
  void begin_joint_pass(const StepPlan& plan);
  void end_all(StepPlan& plan);
  void advance_joint_pass(bool others_wait);
  bool compute(StepPlan& plan);
  bool compute_rows(StepPlan& plan);
  bool is_unwanted() const;
  FinishReason reason_of_refusal(const ActiveRequest& request) const;
  void end_not_finite(const StepPlan& plan, std::optional<ThreadPool::Step>& workers);
  void sample_and_accept(StepPlan& plan, std::optional<ThreadPool::Step>& workers);
  void pool_rows(const StepPlan& plan, std::span<const LogitRow> rows, std::span<const float> hidden);
  void accept(StepPlan& plan, std::size_t begin, std::size_t end);
  void take_threads(std::optional<ThreadPool::Step>& workers);
  void attribute_time(const StepPlan& plan, Clock::time_point start);
  static ChoiceTimes& times_of(ActiveRequest& request, const Sequence& sequence);
  void append_samples(StepPlan& plan);
  void append(const Sample& sample);
  void verify_draft(Sample& sample, ScheduledSequence& planned);
  void observe(const StepPlan& plan, Clock::time_point start, double predicted_ms);

  const StepParts parts_;
  StepClock clock_;
  StepSampler sampler_;
  HeadDrafts head_;
  JointPasses joint_;
  BatchOutcome outcome_;
  Clock::duration waited_ = {};     // in this step, for threads that other engines had
  double guesses_ms_ = 0;           // the time of the draft head's guesses in this step
  double events_ms_ = 0;            // the time of this step's events
  Clock::time_point last_samples_;  // when the last step's tokens were drawn
  Clock::time_point last_end_;      // when the last step was over, with the callbacks after it
};

}  // namespace octavo
