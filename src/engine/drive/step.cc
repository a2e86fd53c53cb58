#include "engine/drive/step.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <new>

#include "base/to_size.h"
#include "engine/drive/batch_builder.h"

namespace octavo {
namespace {

constexpr std::chrono::milliseconds kMostWait{5};  // before requests that came meanwhile are looked at

bool has_expired(const ActiveRequest& request, Step::Clock::time_point now) {
  return request.deadline && *request.deadline <= now;
}

/// Waits for the batch that was begun, and counts the memory by which it has grown.
BatchOutcome finish_batch(const StepParts& parts) {
  const BatchOutcome outcome = parts.runner.wait();
  parts.plan.advances.clear();
  parts.kv.set_grown_bytes(outcome.grown_bytes);
  return outcome;
}

}  // namespace

BatchOutcome compute_batch(const StepParts& parts) {
  parts.runner.begin(parts.plan.batch);
  return finish_batch(parts);
}

BatchOutcome compute_guesses(const StepParts& parts) {
  parts.runner.begin(parts.plan.guesses);
  return finish_batch(parts);
}

Step::Step(const StepParts& parts, int num_drawable, Math math, bool profile)
    : parts_(parts),
      clock_(profile ? &parts.counts.profile : nullptr, parts.threads.num_threads()),
      sampler_(parts.threads, parts.runner.info().vocab_size, num_drawable, math),
      head_(parts),
      joint_(parts) {
  parts_.counts.threads = parts_.threads.width();
}

void Step::run(Clock::time_point start) {
  waited_ = {};
  clock_.enter(StepPart::kScheduling);
  parts_.masks.collect();
  StepPlan& plan = parts_.plan;
  serve_pictures();
  if (joint_.is_under_way() && joint_.is_whole()) {
    joint_.plan_end(plan);
    return run_plan(plan, start);
  }
  guess();
  schedule(plan);
  begin_joint_pass(plan);
  const bool is_empty = plan.is_empty();
  if (!is_empty) run_plan(plan, start);
  if (joint_.is_under_way()) {  // unless a callback of this step has ended it
    advance_joint_pass(!is_empty);
  } else if (is_empty) {
    wait_for_others();
  }
}

/// Computes a plan that is not empty, and tells of what it brings.
void Step::run_plan(StepPlan& plan, Clock::time_point start) {
  const double predicted_ms = parts_.cost.predict_ms(plan.budget.work());
  if (!compute(plan)) return;
  clock_.enter(StepPart::kTokens);
  attribute_time(plan, start);
  parts_.answers.report_progress(parts_.scheduler, last_samples_);
  append_samples(plan);
  for (const ScheduledSequence& planned : plan.sequences) parts_.answers.end_without_draw(*planned.sequence);
  const Clock::time_point begin_of_masks = Clock::now();
  parts_.masks.find();
  events_ms_ += seconds(Clock::now() - begin_of_masks) * 1000;
  observe(plan, start, predicted_ms);
  last_end_ = Clock::now();
  clock_.enter(StepPart::kBetween);
}

/// Waits for a while, as all that could run waits for others' work.
void Step::wait_for_others() {
  clock_.enter(StepPart::kBetween);
  if (parts_.masks.has_jobs()) {
    parts_.masks.wait(kMostWait);
  } else if (parts_.pictures != nullptr && parts_.pictures->is_busy()) {
    parts_.answers.report_progress(parts_.scheduler, Clock::now());
    parts_.pictures->wait(kMostWait);
  } else if (parts_.stored != nullptr) {
    parts_.stored->wait(kMostWait);  // for reads
  }
}

/// Begins the next joint pass. Where the system has no memory for its blocks, running answers have ended, as in
/// schedule().
void Step::begin_joint_pass(const StepPlan& plan) {
  try {
    joint_.begin_next(plan);
  } catch (const std::bad_alloc&) {
    end_all(parts_.plan);
  }
}

/// Ends all running answers, and empties the plan.
void Step::end_all(StepPlan& plan) {
  while (!parts_.scheduler.running().empty())
    parts_.answers.end(*parts_.requests.find(parts_.scheduler.running().front()->params.id), FinishReason::kFailed);
  plan.clear();
}

/// Computes a piece of the joint pass. Where the system has no memory for it, its request ends.
void Step::advance_joint_pass(bool others_wait) {
  const Sequence& sequence = joint_.sequence();
  ActiveRequest& request = *parts_.requests.find(sequence.params.id);
  bool is_computed = false;
  try {
    std::optional<ThreadPool::Step> workers;
    take_threads(workers);
    is_computed = joint_.advance(others_wait);
  } catch (const std::bad_alloc&) {
    is_computed = false;
  }
  clock_.enter(StepPart::kBetween);
  if (!is_computed) return parts_.answers.end(request, FinishReason::kFailed);
  ChoiceTimes& times = times_of(request, sequence);
  if (!times.first_step) times.first_step = Clock::now() - joint_.took();
  times.in_prefill += joint_.took();
}

/// Encodes the next pictures. Requests with a picture that cannot be encoded end.
void Step::serve_pictures() {
  if (parts_.pictures == nullptr) return;
  try {
    parts_.pictures->serve(parts_.scheduler.running());
  } catch (const std::bad_alloc&) {
    return;  // the next step tries again
  }
  const auto fails = [](const Sequence* sequence) {
    return std::ranges::any_of(sequence->given.pictures, [](const auto& rows) { return rows->has_failed; });
  };
  for (;;) {
    const std::span<Sequence* const> running = parts_.scheduler.running();
    const auto failed = std::ranges::find_if(running, fails);
    if (failed == running.end()) return;
    parts_.answers.end(*parts_.requests.find((*failed)->params.id), FinishReason::kFailed);
  }
}

/// Lets the draft head guess. Where the system has no memory for that, blocks may not have been copied: answers with
/// guesses end, and others go on.
void Step::guess() {
  guesses_ms_ = 0;
  bool is_computed = true;
  try {
    if (!head_.plan()) return;
    std::optional<ThreadPool::Step> workers;
    take_threads(workers);
    const Clock::time_point begin = Clock::now();
    const BatchOutcome outcome = compute_guesses(parts_);
    guesses_ms_ = seconds(Clock::now() - begin) * 1000;
    is_computed = !outcome.is_refused;
    if (is_computed) head_.take(outcome.guesses, guesses_ms_);
  } catch (const std::bad_alloc&) {
    is_computed = false;
  }
  head_.give_back();
  if (is_computed) return;
  for (const Sequence* sequence : head_.sequences())
    if (ActiveRequest* request = parts_.requests.find(sequence->params.id))
      parts_.answers.end(*request, FinishReason::kFailed);
}

/// Schedules the step. Where the system has no memory for it, the plan is empty: running answers have ended, and others
/// go on.
void Step::schedule(StepPlan& plan) {
  Scheduler& scheduler = parts_.scheduler;
  try {
    const int num_passes = joint_.is_under_way() ? 1 : 0;  // a pass has the threads for a while after each step
    scheduler.schedule(plan, parts_.active_engines.count() + num_passes, guesses_ms_);
    for (const Sequence* admitted : plan.newly_admitted) parts_.requests.find(admitted->params.id)->place.leave();
  } catch (const std::bad_alloc&) {
    end_all(plan);
  }
}

/// Computes the step's rows and draws from them. False: the system has no memory for them, or nobody wants them any
/// more; those with rows have ended, and others go on.
bool Step::compute(StepPlan& plan) {
  std::optional<ThreadPool::Step> workers;
  take_threads(workers);
  if (!compute_rows(plan)) {
    workers.reset();
    for (const ScheduledSequence& planned : plan.sequences)
      if (ActiveRequest* request = parts_.requests.find(planned.sequence->params.id))
        parts_.answers.end(*request, reason_of_refusal(*request));
    return false;
  }
  end_not_finite(plan, workers);
  sample_and_accept(plan, workers);
  return true;
}

/// Takes the threads, as soon as the steps of other engines that came earlier are over.
void Step::take_threads(std::optional<ThreadPool::Step>& workers) {
  const Clock::time_point begin = Clock::now();
  workers.emplace(parts_.threads, &clock_);
  waited_ += Clock::now() - begin;
}

/// Ends requests with rows that are not finite: nothing that they computed is published. Those that ask for prompt
/// logits get them first, to see which rows these are.
void Step::end_not_finite(const StepPlan& plan, std::optional<ThreadPool::Step>& workers) {
  if (outcome_.not_finite.empty() && outcome_.spoiled.empty()) return;
  workers.reset();
  const auto end = [&](std::int32_t s, bool has_rows) {
    ActiveRequest* request = parts_.requests.find(plan.sequences[to_size(s)].sequence->params.id);
    if (request != nullptr && !(has_rows && request->callbacks.on_prompt_logits))
      parts_.answers.end(*request, FinishReason::kNotFinite);
  };
  for (const std::int32_t s : outcome_.not_finite) end(s, false);
  for (const std::int32_t s : outcome_.spoiled) end(s, true);
  take_threads(workers);
}

bool Step::compute_rows(StepPlan& plan) {
  outcome_ = {};
  try {
    plan.ends_joint_pass ? build_joint_end(plan) : build_batch(plan, parts_.kv);
    plan.batch.is_unwanted = [this] { return is_unwanted(); };
    outcome_ = compute_batch(parts_);
    plan.batch.is_unwanted = {};
    waited_ += outcome_.waited;
    return !outcome_.is_refused;
  } catch (const std::bad_alloc&) {
    return false;
  }
}

/// Whether all requests with rows in the step have been cancelled, or have passed their deadline, since the step began.
bool Step::is_unwanted() const {
  const Clock::time_point now = Clock::now();
  return std::ranges::all_of(parts_.plan.sequences, [&](const ScheduledSequence& planned) {
    const RequestId id = planned.sequence->params.id;
    const ActiveRequest* request = parts_.requests.find(id);
    return request == nullptr || has_expired(*request, now) || parts_.inbox.has_cancel(id);
  });
}

FinishReason Step::reason_of_refusal(const ActiveRequest& request) const {
  if (!outcome_.is_left) return FinishReason::kFailed;
  return has_expired(request, Clock::now()) ? FinishReason::kDeadline : FinishReason::kCancelled;
}

void Step::release_memory(bool cached) {
  if (cached && parts_.pictures != nullptr) parts_.pictures->release(parts_.scheduler.running());
  const ThreadPool::Step workers(parts_.threads);
  build_release(parts_.plan, parts_.kv, cached);
  compute_batch(parts_);
}

/// Draws tokens, then accepts the sequences that they are drawn for, in slices of as many rows as the runner holds
/// logits of at once. Prompt logits are handed out at the end of their slice: callbacks find each sequence either
/// accepted or, if it has rows in a later slice, as it was before the step. `workers`: the pool's threads, which others
/// may use during callbacks.
void Step::sample_and_accept(StepPlan& plan, std::optional<ThreadPool::Step>& workers) {
  const auto wants_logits = [](const ScheduledSequence& planned) {
    return !planned.sequence->params.makes_vector && !planned.sequence->may_use_cache();
  };
  const bool hands_out = std::ranges::any_of(plan.sequences, wants_logits);
  clock_.enter(StepPart::kSampling);
  const std::span<const LogitRow> rows = plan.logit_rows;
  StepSampler::list_beginning(plan, parts_.requests);
  sampler_.draw_listed(plan.samples);
  std::size_t num_accepted = 0;  // accepted sequences of the plan, from the first on
  for (std::size_t first = 0, end = 0; first < rows.size(); first = end) {
    const bool of_vectors = first >= plan.first_vector_row;
    end = std::min<std::size_t>(first + kMaxLogitRows, of_vectors ? rows.size() : plan.first_vector_row);
    const std::span<const LogitRow> slice = rows.subspan(first, end - first);
    const int first_row = static_cast<int>(first), num_rows = static_cast<int>(slice.size());
    const std::span<const float> given =
        of_vectors ? parts_.runner.hidden_rows(first_row, num_rows) : parts_.runner.logits(first_row, num_rows);
    clock_.enter(StepPart::kSampling);
    if (of_vectors) {
      pool_rows(plan, slice, given);
    } else {
      sampler_.list(plan, {.first = first_row, .rows = slice, .logits = given}, parts_.requests);
      sampler_.draw_listed(plan.samples);
    }
    const std::size_t num_done = end < rows.size() ? to_size(rows[end].planned) : plan.sequences.size();
    accept(plan, num_accepted, num_done);
    num_accepted = num_done;
    if (!of_vectors && !hands_out) continue;
    workers.reset();
    of_vectors ? parts_.answers.deliver_vectors(plan, slice, given)
               : parts_.answers.deliver_prompt_logits(plan, slice, given, parts_.runner.info().vocab_size);
    take_threads(workers);
  }
  accept(plan, num_accepted, plan.sequences.size());  // sequences after the last slice, whose logits nobody wants
}

/// Adds rows to the vectors of their requests. After the last row of a prompt, the model's head is applied.
void Step::pool_rows(const StepPlan& plan, std::span<const LogitRow> rows, std::span<const float> hidden) {
  const std::size_t width = hidden.size() / rows.size();
  for (std::size_t i = 0; i < rows.size(); ++i) {
    Sequence& sequence = *plan.sequences[to_size(rows[i].planned)].sequence;
    ActiveRequest* request = parts_.requests.find(sequence.params.id);
    if (request == nullptr) continue;  // a callback of this step has cancelled it
    PositionRange& left = sequence.pending.vector_rows;
    request->vector.add(hidden.subspan(i * width, width));
    left.begin = rows[i].position + 1;
    if (!left.is_empty() || request->vector.keeps_each()) continue;
    const std::span<const float> pooled = request->vector.finish(sequence.params.prompt_tokens);
    request->vector.set_result(parts_.runner.apply_head(pooled, request->vector.ranks()));
  }
}

/// Accepts all tokens that the step computed of the plan's sequences [begin, end), except drafted ones. Choices of
/// prompts that are computed now begin.
void Step::accept(StepPlan& plan, std::size_t begin, std::size_t end) {
  for (ScheduledSequence& planned : std::span(plan.sequences).subspan(begin, end - begin)) {
    if (!planned.sequence->is_running()) continue;  // a callback of this step has cancelled it
    parts_.scheduler.accept(planned, planned.num_tokens - planned.num_drafted);
  }
  StepSampler::start_choices(plan.samples, parts_.requests);
}

/// Adds the time since the last step's tokens to the sequences with rows in this one, without the time between the two
/// calls.
void Step::attribute_time(const StepPlan& plan, Clock::time_point start) {
  const Clock::time_point now = Clock::now();
  const Clock::duration idle = start - last_end_;
  for (std::size_t i = 0; i < plan.sequences.size(); ++i) {
    const Sequence* sequence = plan.sequences[i].sequence;
    ActiveRequest* request = parts_.requests.find(sequence->params.id);
    if (request == nullptr) continue;  // a callback of this step has cancelled it
    ChoiceTimes& times = times_of(*request, *sequence);
    const Clock::time_point begin = std::max(last_samples_ + idle, request->submitted);
    if (!times.first_step) times.first_step = begin;
    const bool is_of_prompt = plan.ends_joint_pass || plan.batch.positions[to_size(plan.batch.seq_begin[i])] <
                                                          sequence->notes.num_admitted_tokens;
    (is_of_prompt ? times.in_prefill : times.in_decode) += now - begin;
  }
  for (const Sample& sample : plan.samples.all)  // choices that began in this step have their prompt's times
    if (sample.choice != nullptr && !sample.choice->times.first_step) sample.choice->times = sample.request->times;
  last_samples_ = now;
}

ChoiceTimes& Step::times_of(ActiveRequest& request, const Sequence& sequence) {
  const bool is_prompt = &sequence == &request.prompt;
  return is_prompt ? request.times : request.choices[to_size(sequence.params.choice)]->times;
}

/// Turns tokens into events. After each token that a draft has guessed right comes the next one.
void Step::append_samples(StepPlan& plan) {
  events_ms_ = 0;
  for (Sample& sample : plan.samples.all) {
    if (sample.choice == nullptr) {
      append(sample);
      continue;
    }
    const int first = sample.position;
    parts_.drafting.count_rows(*sample.choice, sample.num_drafted);
    append(sample);
    if (sample.num_drafted > 0) verify_draft(sample, plan.sequences[to_size(sample.planned)]);
    const Clock::time_point begin = Clock::now();
    Drafting::follow(*sample.choice, first);
    parts_.drafting.propose(*sample.request, *sample.choice);
    if (sample.position + 1 == sample.choice->sequence.num_tokens() && sample.logit_row >= 0)
      sample.choice->sequence.draft.hidden = {.batch = plan.num_batches, .row = sample.logit_row};
    events_ms_ += seconds(Clock::now() - begin) * 1000;
  }
}

/// Appends a sample's token, and takes the time of its event into account for the next one.
void Step::append(const Sample& sample) {
  const Clock::time_point begin = Clock::now();
  parts_.answers.append(sample);
  const double ms = seconds(Clock::now() - begin) * 1000;
  sampler_.follow_cost(sample, ms);
  events_ms_ += ms;
}

/// Appends a sample's token, then verifies the draft: as long as the appended token is the drafted one, the next row
/// counts, and the next token is drawn as in a step of its own, since all that it depends on is up to date.
void Step::verify_draft(Sample& sample, ScheduledSequence& planned) {
  Choice& choice = *sample.choice;
  const Sequence& sequence = choice.sequence;
  const int first = sample.position, num_rows = sample.num_drafted;
  StateAdvance* advance = nullptr;
  if (parts_.kv.has_snapshots() && choice.active) {
    const BlockId state_slot = *parts_.kv.table(sequence.kv, parts_.kv.num_groups()).get(0);
    advance = &parts_.plan.advances.emplace_back(state_slot, sample.first_drafted, 0);
  }
  for (int num_right = 0; choice.active;) {
    const int appended = sequence.num_tokens() - first;
    int right = std::min(num_rows, Drafting::num_drawn(choice, first));
    const bool goes_on = right == appended && parts_.masks.find_at_once(choice);
    if (!goes_on) right = std::min(right, appended - 1);  // its row is computed in the step that draws from it
    parts_.drafting.count_accepted(choice, num_right, right);
    parts_.scheduler.accept(planned, right - num_right);
    if (advance != nullptr) advance->num_rows = right;
    if (!goes_on) break;
    const Clock::time_point begin = Clock::now();
    sampler_.draw_behind(sample, right - num_right);
    events_ms_ += seconds(Clock::now() - begin) * 1000;
    num_right = right;
    append(sample);
  }
  if (sequence.is_running() && planned.num_left() > 0) parts_.scheduler.take_back(planned);
}

/// Counts the step, and tells the cost model its time, without the time in which other engines had the threads.
void Step::observe(const StepPlan& plan, Clock::time_point start, double predicted_ms) {
  EngineStats& counts = parts_.counts;
  ++counts.steps;
  if (const int threads = parts_.threads.width(); threads != counts.threads) {
    counts.threads = threads;
    parts_.cost.change_threads();
  }
  const bool is_timed = parts_.scheduler.limits().step_ms > 0;
  if (!is_timed && !parts_.drafting.is_on() && parts_.stored == nullptr) return;
  const double real = seconds(Clock::now() - start - waited_), predicted = predicted_ms / 1000;
  if (plan.batch.num_rows() > 0) {  // a step without rows says nothing about others
    // The time of draws counts as far as it was predicted: the rest, such as that of a thread that lost its processor,
    // is the machine's, whose slowness the model follows.
    const double draws_ms = std::min(plan.budget.work().draw_ms, guesses_ms_ + plan.samples.ms + events_ms_);
    parts_.cost.observe(plan.budget.work(), std::max(0.0, real * 1000 - draws_ms), outcome_.expert_bytes);
  }
  if (!is_timed) return;
  counts.step_s += real;
  counts.predicted_step_s += predicted;
  counts.step_error_s += std::abs(real - predicted);
  counts.last_step_s = real;
  counts.last_predicted_step_s = predicted;
}

}  // namespace octavo
