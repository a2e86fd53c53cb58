#include "engine/answers/active_request.h"

#include <utility>

namespace octavo {

void Choice::begin(const ActiveRequest& request, int index) {
  const Sequence& prompt = request.prompt;
  const int all = prompt.params.prompt_tokens;
  const bool is_last = to_size(index) + 1 == request.choices.size();  // the last choice takes the prompt's place
  Sequence begun{
      .params = prompt.params,
      .tokens = std::move(sequence.tokens),
      .given = std::move(sequence.given),
      .chain = std::move(sequence.chain),
      .draw_ms = prompt.draw_ms,
      .pending = {.prompt_logits_from = all, .reported_progress = is_last ? prompt.pending.reported_progress : all}};
  begun.params.choice = index;
  begun.tokens.assign(prompt.tokens.begin(), prompt.tokens.end());
  begun.given = prompt.given;
  begun.chain = prompt.chain;
  sequence = std::move(begun);
  text.restart(request.last_token, request.endings.stop, request.reasoning);
  const ReasoningMarks* marks = request.reasoning.marks;
  budget.restart(request.reasoning_budget, marks == nullptr ? std::span<const TokenId>() : marks->closing_tokens(),
                 reasoning_state());
  if (request.constraint != nullptr) {
    constraint.begin(request.constraint, request.last_token);
    mask.drop();
    mask.bits.assign(request.first_mask.bits.begin(), request.first_mask.bits.end());
    mask.state = request.first_mask.state;
    mask.work = request.first_mask.work;
  } else {
    constraint.end();
  }
  num_reasoning = 0;
  top_logprobs.resize(to_size(request.num_top_logprobs));
  surprise_bound = first_surprise_bound(request.sampling.mirostat);
  times = {};
  drafts = {};
  owes_last_event = false;
}

void Choice::take_over(const Sequence& prompt) {
  sequence.draw_ms = prompt.draw_ms;
  sequence.pending.reported_progress = prompt.pending.reported_progress;
  sequence.pending.reported_encoded = prompt.pending.reported_encoded;
}

AppendedToken Choice::follow(const ActiveRequest& request, const ModelTokenizer& words) {
  const TokenId token = sequence.tokens.back();
  AppendedToken appended{.is_reasoning = text.is_inside_reasoning()};
  if (constraint.is_on()) {
    if (appended.is_reasoning || request.opens_reasoning(*this, token)) {
      constraint.pass(token);
    } else {
      appended.is_allowed = constraint.accept(token);
    }
  }
  const EndingRules& endings = request.endings;
  if (endings.ends_at(token, words) || (constraint.is_on() && constraint.must_stop())) {
    appended.finish = FinishReason::kStop;
  } else if (num_generated() == endings.max_generated) {
    appended.finish = endings.at_limit;
  }
  appended.shown = text.push(token, appended.finish == FinishReason::kStop, appended.finish != FinishReason::kNone,
                             request.stops_count(*this));
  if (appended.is_reasoning) ++num_reasoning;
  budget.advance(appended.is_reasoning, reasoning_state());
  if (text.stop_text() >= 0) appended.finish = FinishReason::kStop;
  return appended;
}

RequestStats ActiveRequest::stats_of(const Sequence& sequence, const ChoiceTimes& times_of_it) const {
  const Choice::Clock::time_point now = Choice::Clock::now();
  const auto& [first_step, first_token, in_prefill, in_decode] = times_of_it;
  const double total = seconds(now - submitted);
  const double queued = first_step ? std::max(0.0, seconds(*first_step - submitted)) : total;
  const double prefill = seconds(in_prefill), decode = seconds(in_decode);
  return {.prompt_tokens = sequence.params.prompt_tokens,
          .cached_tokens = sequence.cached_tokens,
          .stored_tokens = std::min(sequence.stored_tokens, sequence.cached_tokens),
          .diverged_at = sequence.diverged_at,
          .generated_tokens = sequence.num_tokens() - sequence.params.prompt_tokens,
          .preemptions = sequence.num_preemptions,
          .time_to_first_token_s = first_token ? seconds(*first_token - submitted) : 0,
          .total_s = total,
          .queued_s = queued,
          .prefill_s = prefill,
          .decode_s = decode,
          .error = error,
          .stalled_s = std::max(0.0, total - queued - prefill - decode)};
}

}  // namespace octavo
