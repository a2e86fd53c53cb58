#include "engine/answers/answers.h"

#include <algorithm>
#include <limits>
#include <span>
#include <utility>

#include "base/error.h"
#include "base/to_size.h"

namespace octavo {
namespace {

/// The tokens without the empty places at the end.
std::span<const TokenLogprob> known_tokens(std::span<const TokenLogprob> top) {
  const auto end = std::ranges::find(top, TokenId{-1}, &TokenLogprob::token);
  return top.first(to_size(end - top.begin()));
}

}  // namespace

void Answers::append(const Sample& sample) {
  ActiveRequest& request = *sample.request;
  if (request.num_active == 0) return;  // a callback of this step has cancelled it
  if (sample.choice == nullptr) return end(request, FinishReason::kFailed);
  Choice& choice = *sample.choice;
  const SampledToken& sampled = sample.token;
  tell_resumed(request, choice);
  if (!choice.active) return;  // a callback of this step has ended it
  if (sampled.token < 0) return end_without_token(request, choice);
  choice.surprise_bound = sampled.surprise_bound;
  if (choice.is_constrained()) choice.constraint.count(choice.mask.work);
  append_to(request, choice, sampled, known_tokens(choice.top_logprobs));
  while (choice.active) {
    const TokenId known = request.known_token(choice);
    if (known < 0) break;
    choice.sequence.num_followed = choice.sequence.num_tokens();
    append_to(request, choice, {.token = known, .logprob = std::numeric_limits<float>::quiet_NaN()}, {});
  }
  if (request.constraint != nullptr) masks_.want(request, choice);
}

/// Tells of the tokens that the answer had before it broke off, when its choice begins.
void Answers::tell_resumed(ActiveRequest& request, const Choice& choice) {
  for (const RequestEvent& event : std::exchange(request.resumed, {})) {
    if (!choice.active) return;  // ended by a callback
    emit(request, choice,
         {.token = event.token,
          .logprob = event.logprob,
          .text = event.text,
          .bytes = event.bytes,
          .reasoning = event.reasoning,
          .is_reasoning = event.is_reasoning,
          .is_text = event.is_text,
          .is_resumed = true,
          .other_bytes = event.other_bytes});
  }
}

/// Ends a request whose constraint allows no token, or none that was found within its bounds of work and memory.
void Answers::end_without_token(ActiveRequest& request, const Choice& choice) {
  if (choice.mask.state == NextMask::State::kFailed) return end(request, FinishReason::kFailed);
  const std::string& name = request.constraint->name();
  if (choice.mask.state == NextMask::State::kTooLarge) {
    request.error = fmt::format("found {} that takes more than {} steps of work to find which token may follow", name,
                                TokenMasks::kMaxWork);
  } else if (choice.constraint.is_spent()) {
    request.error = fmt::format("found {} that takes {} steps of work to follow so far, expected at most {}", name,
                                choice.constraint.work(), ConstraintState::kMaxWork);
  } else {  // a byte that the constraint needs is only in longer tokens
    request.error = fmt::format("found {} that no token of the model's vocabulary can go on with", name);
  }
  end(request, FinishReason::kConstraint);
}

void Answers::append_to(ActiveRequest& request, Choice& choice, const SampledToken& sampled,
                        std::span<const TokenLogprob> top_logprobs) {
  choice.sequence.tokens.push_back(sampled.token);
  ++counts_.generated_tokens;
  if (!choice.times.first_token) choice.times.first_token = Clock::now();
  const AppendedToken appended = choice.follow(request, words_);
  const AnswerText::Piece& shown = appended.shown;
  if (appended.finish != FinishReason::kNone) requests_.retire(request, choice);
  emit(request, choice,
       {.token = sampled.token,
        .logprob = sampled.logprob,
        .top_logprobs = top_logprobs,
        .text = shown.text,
        .bytes = shown.bytes,
        .reasoning = shown.reasoning,
        .is_reasoning = appended.is_reasoning,
        .is_text = choice.text.is_text(sampled.token),
        .other_bytes = shown.other_bytes,
        .finish = appended.finish});
}

void Answers::end_without_draw(const Sequence& sequence) {
  if (sequence.params.samples || sequence.num_uncomputed() != 0) return;
  ActiveRequest* request = requests_.find(sequence.params.id);
  if (request == nullptr) return;  // a callback of this step has cancelled it
  end(*request, request->pins ? pin(*request) : FinishReason::kLength);
}

/// Pins the prompt of a request that asks for it; the result is the reason why the request ends.
FinishReason Answers::pin(ActiveRequest& request) {
  Result<void> pinned = requests_.pin(request);
  if (pinned) return FinishReason::kLength;
  request.error = std::move(pinned.error().message);
  return pinned.error().kind == ErrorKind::kOutOfBlocks ? FinishReason::kNotPinned : FinishReason::kFailed;
}

void Answers::deliver_prompt_logits(const StepPlan& plan, std::span<const LogitRow> rows, std::span<const float> logits,
                                    int vocab_size) {
  const std::size_t row_size = to_size(vocab_size);
  for (std::size_t begin = 0, end = 0; begin < rows.size(); begin = end) {
    Sequence& sequence = *plan.sequences[to_size(rows[begin].planned)].sequence;
    while (end < rows.size() && rows[end].planned == rows[begin].planned) ++end;
    const int first = rows[begin].position;
    const int last = std::min(rows[end - 1].position, sequence.params.prompt_tokens - 1);
    if (first < sequence.pending.prompt_logits_from || first > last) continue;
    ActiveRequest* request = requests_.find(sequence.params.id);
    if (request == nullptr) continue;  // a callback of this step has cancelled it
    sequence.pending.prompt_logits_from = last + 1;
    request->callbacks.on_prompt_logits(first, logits.subspan(begin * row_size, to_size(last - first + 1) * row_size));
  }
}

void Answers::deliver_vectors(const StepPlan& plan, std::span<const LogitRow> rows, std::span<const float> hidden) {
  const std::size_t width = hidden.size() / rows.size();
  for (std::size_t begin = 0, end = 0; begin < rows.size(); begin = end) {
    const Sequence& sequence = *plan.sequences[to_size(rows[begin].planned)].sequence;
    while (end < rows.size() && rows[end].planned == rows[begin].planned) ++end;
    ActiveRequest* request = requests_.find(sequence.params.id);
    if (request == nullptr) continue;  // a callback of this step has cancelled it
    PooledRows& vector = request->vector;
    if (!vector.is_finite()) {
      this->end(*request, FinishReason::kNotFinite);
    } else if (vector.keeps_each()) {
      vector.deliver_each(rows[begin].position, hidden.subspan(begin * width, (end - begin) * width));
    } else if (vector.has_result()) {
      vector.deliver();
    }
  }
}

void Answers::report_progress(const Scheduler& scheduler, Clock::time_point now) {
  for (std::size_t i = 0; i < scheduler.running().size(); ++i) {  // by index, as a callback may cancel
    Sequence& sequence = *scheduler.running()[i];
    const int computed = std::min(sequence.num_computed, sequence.params.prompt_tokens);
    SequencePending& pending = sequence.pending;
    if (pending.reported_progress == sequence.params.prompt_tokens) continue;
    const int encoded = sequence.given.num_encoded(computed);
    if (pending.reported_progress == computed && pending.reported_encoded == encoded) continue;
    pending.reported_progress = computed;
    pending.reported_encoded = encoded;
    const ActiveRequest& request = *requests_.find(sequence.params.id);
    const auto& first_step = request.times.first_step;
    request.callbacks.on_prompt_progress({.prompt_tokens = sequence.params.prompt_tokens,
                                          .cached_tokens = sequence.cached_tokens,
                                          .computed_tokens = computed,
                                          .encoded_tokens = encoded,
                                          .seconds = first_step ? seconds(now - *first_step) : 0});
  }
}

void Answers::end(ActiveRequest& request, FinishReason reason) {
  if (reason == FinishReason::kFailed) counts_.fault = runner_.fault();
  if (reason == FinishReason::kFailed && request.error.empty()) request.error = counts_.fault;
  const auto begun = std::span(request.choices).first(to_size(request.num_begun));
  for (const std::unique_ptr<Choice>& choice : begun) {
    if (!choice->active) continue;
    requests_.retire(request, *choice);
    choice->owes_last_event = true;
  }
  if (request.is_reading) requests_.retire_prompt(request);
  for (const std::unique_ptr<Choice>& choice : begun) {
    if (!std::exchange(choice->owes_last_event, false)) continue;
    const AnswerText::Piece held_back = choice->text.finish(request.stops_count(*choice));
    emit(request, *choice,
         {.text = held_back.text,
          .bytes = held_back.bytes,
          .reasoning = held_back.reasoning,
          .other_bytes = held_back.other_bytes,
          .finish = reason});
  }
  emit_before_start(request, reason);
}

bool Answers::end_expired(Clock::time_point now) {
  bool any = false;
  while (ActiveRequest* request = requests_.find_expired(now)) {
    end(*request, FinishReason::kDeadline);
    any = true;
  }
  return any;
}

void Answers::emit_before_start(ActiveRequest& request, FinishReason reason) {
  if (!request.callbacks.on_event) return;
  for (int i = request.num_begun; i < static_cast<int>(request.choices.size()); ++i)
    request.callbacks.on_event({.request = request.id,
                                .choice = request.choice_index(i),
                                .finish = reason,
                                .stats = request.stats_of_prompt()});
}

void Answers::emit(ActiveRequest& request, const Choice& choice, TokenEvent event) {
  event.request = request.id;
  event.choice = request.choice_index(choice);
  if (!choice.active) event.stats = request.stats_of(choice);
  if (request.callbacks.on_event) request.callbacks.on_event(event);
}

}  // namespace octavo
