#include "engine/step.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <new>

#include "base/to_size.h"

namespace octavo {
namespace {

constexpr std::chrono::milliseconds kMostWait{5};  // before requests that came meanwhile are looked at

}  // namespace

BatchOutcome compute_batch(const StepParts& parts) {
  parts.runner.begin(parts.builder.batch());
  const BatchOutcome outcome = parts.runner.wait();
  parts.kv.set_grown_bytes(outcome.grown_bytes);
  return outcome;
}

Step::Step(const StepParts& parts, int num_drawable)
    : parts_(parts),
      draws_(parts.threads, parts.runner.vocab_size(), num_drawable, parts.scheduler.limits().max_sequences) {}

void Step::run(Clock::time_point start) {
  waited_ = {};
  parts_.masks.collect();
  const std::span<const ScheduledSequence> plan = schedule();
  if (plan.empty() && parts_.scheduler.beginning().empty()) {
    if (parts_.masks.has_jobs()) parts_.masks.wait(kMostWait);  // all that could run wait for these
    return;
  }
  const double predicted_ms = parts_.cost.predict_ms(parts_.scheduler.work());
  if (!compute(plan)) return;
  attribute_time(plan, start);
  parts_.answers.report_progress(parts_.scheduler, last_draws_);
  append_draws();
  for (const ScheduledSequence& planned : plan) parts_.answers.end_without_draw(*planned.sequence);
  const Clock::time_point begin_of_masks = Clock::now();
  parts_.masks.find();
  events_ms_ += seconds(Clock::now() - begin_of_masks) * 1000;
  observe(start, predicted_ms);
  last_end_ = Clock::now();
}

/// Empty where the system has no memory for the step: then those that ran have ended, and others go on.
std::span<const ScheduledSequence> Step::schedule() {
  Scheduler& scheduler = parts_.scheduler;
  try {
    const std::span<const ScheduledSequence> plan = scheduler.schedule(parts_.active_engines.count());
    for (const Sequence* admitted : scheduler.newly_admitted()) parts_.requests.find(admitted->asked.id)->place.leave();
    return plan;
  } catch (const std::bad_alloc&) {
    while (!scheduler.running().empty())
      parts_.answers.end(*parts_.requests.find(scheduler.running().front()->asked.id), FinishReason::kFailed);
    return {};
  }
}

/// The step's rows, and what is drawn from them. False where the system has no memory for them: then those who had rows
/// have ended, and others go on.
bool Step::compute(std::span<const ScheduledSequence> plan) {
  std::optional<ThreadPool::Step> workers;
  take_threads(workers);
  if (!compute_rows(plan)) {
    workers.reset();
    for (const ScheduledSequence& planned : plan)
      if (ActiveRequest* request = parts_.requests.find(planned.sequence->asked.id))
        parts_.answers.end(*request, FinishReason::kFailed);
    return false;
  }
  end_not_finite(plan, workers);
  sample_and_accept(plan, workers);
  return true;
}

/// As soon as the steps of other engines that came earlier are over.
void Step::take_threads(std::optional<ThreadPool::Step>& workers) {
  const Clock::time_point begin = Clock::now();
  workers.emplace(parts_.threads);
  waited_ += Clock::now() - begin;
}

/// Requests whose rows no router could place: what they computed is no number, and none of it is published.
void Step::end_not_finite(std::span<const ScheduledSequence> plan, std::optional<ThreadPool::Step>& workers) {
  if (outcome_.not_finite.empty()) return;
  workers.reset();
  for (const std::int32_t s : outcome_.not_finite)
    if (ActiveRequest* request = parts_.requests.find(plan[to_size(s)].sequence->asked.id))
      parts_.answers.end(*request, FinishReason::kNotFinite);
  take_threads(workers);
}

bool Step::compute_rows(std::span<const ScheduledSequence> plan) {
  try {
    parts_.builder.build(plan, parts_.scheduler.copies());
    outcome_ = compute_batch(parts_);
    return !outcome_.is_refused;
  } catch (const std::bad_alloc&) {
    return false;
  }
}

void Step::release_memory(bool cached) {
  const ThreadPool::Step workers(parts_.threads);
  parts_.builder.build_release(parts_.kv, cached);
  compute_batch(parts_);
}

/// Draws tokens, then accepts the sequences that they are drawn for, in slices of the rows whose logits the runner
/// holds at once. Prompt logits are handed out at the end of their slice: the callbacks find each sequence either
/// accepted, or as it was before the step, if it has rows in a later slice. `workers` are the pool's, which is free for
/// others meanwhile.
void Step::sample_and_accept(std::span<const ScheduledSequence> plan, std::optional<ThreadPool::Step>& workers) {
  const auto wants_logits = [](const ScheduledSequence& planned) { return !planned.sequence->may_use_cache(); };
  const bool hands_out = std::ranges::any_of(plan, wants_logits);
  const std::span<const LogitRow> rows = parts_.builder.logit_rows();
  draws_.clear();
  draws_.list_beginning(parts_.scheduler.beginning(), parts_.requests);
  draws_.sample_listed();
  std::size_t num_accepted = 0;  // leading ones of the plan
  for (std::size_t first = 0; first < rows.size(); first += kMaxLogitRows) {
    const std::size_t end = std::min<std::size_t>(first + kMaxLogitRows, rows.size());
    const std::span<const LogitRow> slice = rows.subspan(first, end - first);
    const std::span<const float> logits = parts_.runner.logits(static_cast<int>(first), static_cast<int>(slice.size()));
    draws_.list(plan, {.rows = slice, .logits = logits}, parts_.requests);
    draws_.sample_listed();
    const std::size_t num_sampled = end < rows.size() ? to_size(rows[end].planned) : plan.size();
    accept(plan.subspan(num_accepted, num_sampled - num_accepted));
    num_accepted = num_sampled;
    if (!hands_out) continue;
    workers.reset();
    parts_.answers.deliver_prompt_logits(plan, slice, logits, parts_.runner.vocab_size());
    take_threads(workers);
  }
  accept(plan.subspan(num_accepted));  // where no logits are wanted
}

/// All tokens that the step computed of these sequences count. Choices of prompts that are computed now begin.
void Step::accept(std::span<const ScheduledSequence> planned) {
  for (const auto& [sequence, num_tokens] : planned) {
    if (!sequence->has_rows()) continue;  // cancelled by a callback of this step
    parts_.scheduler.accept(*sequence, num_tokens);
  }
  draws_.start_choices(parts_.requests);
}

/// The time from one step's tokens to the next one's belongs to those that had rows in it, but for what passed between
/// the two calls.
void Step::attribute_time(std::span<const ScheduledSequence> plan, Clock::time_point start) {
  const Clock::time_point now = Clock::now();
  const Clock::duration idle = start - last_end_;
  const Batch& batch = parts_.builder.batch();
  for (std::size_t i = 0; i < plan.size(); ++i) {
    const Sequence* sequence = plan[i].sequence;
    ActiveRequest* request = parts_.requests.find(sequence->asked.id);
    if (request == nullptr) continue;  // cancelled by a callback of this step
    const bool is_prompt = sequence == &request->prompt;
    ChoiceTimes& times = is_prompt ? request->times : request->choices[to_size(sequence->asked.choice)]->times;
    const Clock::time_point begin = std::max(last_draws_ + idle, request->submitted);
    if (!times.first_step) times.first_step = begin;
    const int first_row = batch.positions[to_size(batch.seq_begin[i])];
    (first_row < sequence->notes.num_admitted_tokens ? times.in_prefill : times.in_decode) += now - begin;
  }
  for (const Draw& draw : draws_.all())  // those that began in this step share the past of their prompt
    if (draw.choice != nullptr && !draw.choice->times.first_step) draw.choice->times = draw.request->times;
  last_draws_ = now;
}

/// Tokens become events. What each took beside its row is foreseen of the next one.
void Step::append_draws() {
  events_ms_ = 0;
  for (const Draw& draw : draws_.all()) {
    const Clock::time_point begin = Clock::now();
    parts_.answers.append(draw);
    const double ms = seconds(Clock::now() - begin) * 1000;
    draws_.follow_cost(draw, ms);
    events_ms_ += ms;
  }
}

/// Counts the step, and tells the cost model how long it took, without the time that other engines had the threads.
void Step::observe(Clock::time_point start, double predicted_ms) {
  EngineStats& counts = parts_.counts;
  ++counts.steps;
  if (parts_.scheduler.limits().step_ms <= 0) return;
  const double real = seconds(Clock::now() - start - waited_), predicted = predicted_ms / 1000;
  if (parts_.builder.batch().num_rows() > 0) {  // a step without any says nothing about others
    // Of the draws' time only what was foreseen: the rest, as of a thread that was taken off its processor, is the
    // machine's, whose slowness the model follows.
    const double draws_ms = std::min(parts_.scheduler.work().draw_ms, draws_.ms() + events_ms_);
    parts_.cost.observe(parts_.scheduler.work(), std::max(0.0, real * 1000 - draws_ms), outcome_.expert_bytes);
  }
  counts.step_s += real;
  counts.predicted_step_s += predicted;
  counts.step_error_s += std::abs(real - predicted);
  counts.last_step_s = real;
  counts.last_predicted_step_s = predicted;
}

}  // namespace octavo
