#include "engine/engine_impl.h"

#include <algorithm>
#include <new>
#include <utility>

#include "base/error.h"
#include "base/to_size.h"

namespace octavo {

Result<std::unique_ptr<EngineImpl>> EngineImpl::create(EngineParts parts) {
  const std::int64_t capacity =
      std::min<std::int64_t>(parts.info.max_context, parts.runner->kv().max_sequence_tokens());
  if (capacity < 2) return fail("KV memory: found room for {} tokens, expected at least 2", capacity);
  parts.info.max_context = static_cast<int>(capacity);
  parts.limits.max_step_tokens = std::min(parts.limits.max_step_tokens, parts.runner->max_rows());
  auto engine = std::unique_ptr<EngineImpl>(new EngineImpl(std::move(parts)));
  engine->publish_stats();
  return engine;
}

EngineImpl::EngineImpl(EngineParts parts)
    : parts_(std::move(parts)),
      num_drawable_(std::min(parts_.runner->vocab_size(), parts_.tokenizer->vocab_size())),
      hasher_(kv().hasher()),
      cost_(parts_.info.attention_work),
      queue_(parts_.queue_bounds),
      scheduler_(parts_.limits, kv(), parts_.limits.step_ms > 0 ? &cost_ : nullptr),
      builder_(kv(), scheduler_.limits()),
      choice_pool_(*parts_.tokenizer) {
  for (TokenId token = 0; token < num_drawable_; ++token) {
    if (parts_.tokenizer->is_end_of_generation(token)) end_tokens_.push_back(token);
  }
  for (int i = 0; i < parts_.threads->num_threads(); ++i) scratches_.emplace_back(parts_.runner->vocab_size());
  draws_.reserve(to_size(scheduler_.limits().max_sequences));
}

bool EngineImpl::advance() {
  const auto start = Choice::Clock::now();
  const bool heard = take_inbox();
  const bool expired = end_expired(start);
  if (scheduler_.empty()) return heard || expired;
  const std::span<const ScheduledSequence> plan = schedule();
  if (plan.empty()) return true;
  const double predicted_ms = cost_.predict_ms(scheduler_.work());
  if (!compute(plan)) return true;
  attribute_time(plan, start);
  tell_progress();
  for (const Draw& draw : draws_) append(draw);
  for (const ScheduledSequence& planned : plan) end_without_draw(*planned.sequence);
  observe_step(start, predicted_ms);
  last_end_ = Choice::Clock::now();
  return true;
}

/// Empty where the system has no memory for the step: then those that ran have ended, and others go on.
std::span<const ScheduledSequence> EngineImpl::schedule() {
  try {
    const std::span<const ScheduledSequence> plan = scheduler_.schedule();
    for (const Sequence* admitted : scheduler_.newly_admitted()) find(admitted->id)->place.leave();
    return plan;
  } catch (const std::bad_alloc&) {
    while (!scheduler_.running().empty()) end_request(*find(scheduler_.running().front()->id), FinishReason::kFailed);
    return {};
  }
}

/// The step's rows, and what is drawn from them. False where the system has no memory for them: then those who had rows
/// have ended, and others go on.
bool EngineImpl::compute(std::span<const ScheduledSequence> plan) {
  const ThreadPool::Step workers(*parts_.threads);
  try {
    builder_.build(plan, scheduler_.copies());
    parts_.runner->forward(builder_.batch());
  } catch (const std::bad_alloc&) {
    for (const ScheduledSequence& planned : plan)
      if (ActiveRequest* request = find(planned.sequence->id)) end_request(*request, FinishReason::kFailed);
    return false;
  }
  scheduler_.complete();
  plan_draws(plan);
  read_logits(plan);
  return true;
}

// One draw for each sequence that is up to date. Where that is the end of a prompt, the request's choices begin here:
// before any callback, which could end the sequence that they fork from.
void EngineImpl::plan_draws(std::span<const ScheduledSequence> plan) {
  draws_.clear();
  const std::span<const LogitRow> rows = builder_.logit_rows();
  for (std::size_t row = 0; row < rows.size(); ++row) {
    if (!rows[row].draws) continue;
    Sequence& sequence = *plan[to_size(rows[row].planned)].sequence;
    ActiveRequest& request = *find(sequence.id);
    const auto draw = [&](Choice* choice) {
      draws_.push_back({.row = row, .request = &request, .choice = choice, .token = {}});
    };
    if (&sequence != &request.prompt) {
      draw(request.choices[to_size(sequence.choice)].get());
    } else if (begin_choices(request)) {
      for (const std::unique_ptr<Choice>& choice : request.choices) draw(choice.get());
    } else {
      draw(nullptr);
    }
  }
}

// Draws tokens and hands prompt logits out, in slices of what the runner holds at once.
void EngineImpl::read_logits(std::span<const ScheduledSequence> plan) {
  const std::span<const LogitRow> rows = builder_.logit_rows();
  for (std::size_t first = 0; first < rows.size(); first += kMaxLogitRows) {
    const std::span<const LogitRow> slice =
        rows.subspan(first, std::min<std::size_t>(kMaxLogitRows, rows.size() - first));
    const std::span<const float> logits =
        parts_.runner->logits(static_cast<int>(first), static_cast<int>(slice.size()));
    sample_rows(first, slice.size(), logits);
    deliver_prompt_logits(plan, slice, logits);
  }
}

void EngineImpl::sample_rows(std::size_t first_row, std::size_t num_rows, std::span<const float> logits) {
  const auto vocab_size = to_size(parts_.runner->vocab_size());
  const auto begin = std::ranges::lower_bound(draws_, first_row, {}, &Draw::row);
  const auto end = std::ranges::lower_bound(draws_, first_row + num_rows, {}, &Draw::row);
  const std::span<Draw> draws(begin, end);
  parts_.threads->for_ranges(draws.size(), 1, [&](std::size_t from, std::size_t to, int worker) {
    for (Draw& draw : draws.subspan(from, to - from)) {
      if (draw.choice == nullptr || !draw.choice->active) continue;  // cancelled by a callback of this step
      const SamplingParams& params = draw.request->sampling;
      const DrawKey key{.seed = params.seed,
                        .choice = draw.request->choice_index(*draw.choice),
                        .position = static_cast<std::uint32_t>(draw.choice->sequence.num_tokens())};
      draw.token =
          sample(logits.subspan((draw.row - first_row) * vocab_size, vocab_size), num_drawable_, params, key,
                 scratches_[to_size(worker)], draw.request->draw_context(*draw.choice), draw.choice->top_logprobs);
    }
  });
}

void EngineImpl::deliver_prompt_logits(std::span<const ScheduledSequence> plan, std::span<const LogitRow> rows,
                                       std::span<const float> logits) {
  const auto vocab_size = to_size(parts_.runner->vocab_size());
  for (std::size_t begin = 0, end = 0; begin < rows.size(); begin = end) {
    Sequence& sequence = *plan[to_size(rows[begin].planned)].sequence;
    while (end < rows.size() && rows[end].planned == rows[begin].planned) ++end;
    const int first = rows[begin].position;
    const int last = std::min(rows[end - 1].position, sequence.prompt_tokens - 1);
    if (first < sequence.prompt_logits_from || first > last) continue;
    ActiveRequest* request = find(sequence.id);
    if (request == nullptr) continue;  // cancelled by a callback of this step
    sequence.prompt_logits_from = last + 1;
    request->on_prompt_logits(first, logits.subspan(begin * vocab_size, to_size(last - first + 1) * vocab_size));
  }
}

void EngineImpl::append(const Draw& draw) {
  ActiveRequest& request = *draw.request;
  if (request.num_active == 0) return;  // cancelled by a callback of this step
  if (draw.choice == nullptr) return end_request(request, FinishReason::kFailed);
  Choice& choice = *draw.choice;
  const SampledToken& sampled = draw.token;
  if (!choice.active) return;  // ended by a callback of this step
  choice.sequence.tokens.push_back(sampled.token);
  ++counts_.generated_tokens;
  if (!choice.times.first_token) choice.times.first_token = Choice::Clock::now();
  FinishReason finish = finish_reason(request, choice, sampled.token);
  choice.text.clear();
  choice.bytes.clear();
  const auto show = [&](const StreamDecoder::Piece& piece) {
    choice.text.append(piece.text);
    choice.bytes.append(piece.bytes);
  };
  const bool shown = finish != FinishReason::kStop && !parts_.tokenizer->is_control(sampled.token);
  if (shown) show(request.passed_on(choice, choice.decoder.push(sampled.token)));
  if (finish != FinishReason::kNone) show(request.rest_of(choice));
  if (choice.stop_matcher.matched()) finish = FinishReason::kStop;
  if (finish != FinishReason::kNone) retire(request, choice);
  emit(request, choice,
       {.token = sampled.token,
        .logprob = sampled.logprob,
        .top_logprobs = choice.top_logprobs,
        .text = choice.text,
        .bytes = choice.bytes,
        .finish = finish});
}

// A request that generates nothing is over when its prompt is computed.
void EngineImpl::end_without_draw(Sequence& sequence) {
  if (sequence.samples || sequence.num_uncomputed() != 0) return;
  ActiveRequest* request = find(sequence.id);
  if (request == nullptr) return;  // cancelled by a callback of this step
  end_request(*request, FinishReason::kLength);
}

FinishReason EngineImpl::finish_reason(const ActiveRequest& request, const Choice& choice, TokenId token) const {
  if (!request.ignore_eos && parts_.tokenizer->is_end_of_generation(token)) return FinishReason::kStop;
  if (request.stops_at(token)) return FinishReason::kStop;
  return choice.num_generated() == request.max_generated ? request.at_limit : FinishReason::kNone;
}

/// Ends all its choices: the blocks of all are free before the first caller hears of it.
void EngineImpl::end_request(ActiveRequest& request, FinishReason reason) {
  if (request.choices.front() == nullptr) {
    drop_prompt(request);
    count_ended(request, request.num_active);
    return emit_unbegun(request, reason);
  }
  for (const std::unique_ptr<Choice>& choice : request.choices) {
    if (!choice->active) continue;
    retire(request, *choice);
    choice->owes_last_event = true;
  }
  for (const std::unique_ptr<Choice>& choice : request.choices) {
    if (!std::exchange(choice->owes_last_event, false)) continue;
    // Not through choice.text: the caller may be a callback that still looks at it.
    const StreamDecoder::Piece held_back = request.rest_of(*choice);
    emit(request, *choice, {.text = held_back.text, .bytes = held_back.bytes, .finish = reason});
  }
}

// Takes a choice out of everything before its last event goes out, so that its blocks are free by then.
void EngineImpl::retire(ActiveRequest& request, Choice& choice) {
  if (choice.sequence.state != Sequence::State::kIdle) scheduler_.remove(choice.sequence);
  drop_sequence(choice.sequence.kv);
  num_table_blocks_ -= table_blocks(choice.sequence.max_cached);
  choice.active = false;
  count_ended(request, 1);
}

/// A request whose choices have all ended is not found any more.
void EngineImpl::count_ended(ActiveRequest& request, int num_choices) {
  counts_.finished += static_cast<std::uint64_t>(num_choices);
  request.num_active -= num_choices;
  if (request.num_active > 0) return;
  request.place.leave();
  if (request.deadline) deadlines_.erase({*request.deadline, request.id});
  const auto it = requests_.find(request.id);
  retired_.push_back(std::move(it->second));
  requests_.erase(it);
}

void EngineImpl::emit(ActiveRequest& request, const Choice& choice, TokenEvent event) {
  event.request = request.id;
  event.choice = request.choice_index(choice);
  if (!choice.active) event.stats = request.stats_of(choice);
  if (request.on_event) request.on_event(event);
}

/// The last events of choices whose prompt was never computed.
void EngineImpl::emit_unbegun(ActiveRequest& request, FinishReason reason) {
  if (!request.on_event) return;
  for (int i = 0; i < static_cast<int>(request.choices.size()); ++i)
    request.on_event({.request = request.id,
                      .choice = request.choice_index(i),
                      .finish = reason,
                      .stats = request.stats_of_prompt()});
}

/// Nobody looks at them any more.
void EngineImpl::clear_retired() {
  for (const std::unique_ptr<ActiveRequest>& request : retired_)
    for (std::unique_ptr<Choice>& choice : request->choices)
      if (choice) choice_pool_.keep(std::move(choice));
  retired_.clear();
}

ActiveRequest* EngineImpl::find(RequestId id) {
  const auto it = requests_.find(id);
  return it == requests_.end() ? nullptr : it->second.get();
}

Result<void> EngineImpl::check_integrity() const {
  OCTAVO_TRY_VOID(kv().check_integrity());
  OCTAVO_TRY_VOID(scheduler_.check_integrity());
  for (const auto& [id, request] : requests_) {
    if (request->is_reading) OCTAVO_TRY_VOID(check_sequence(request->prompt));
    for (const std::unique_ptr<Choice>& choice : request->choices) {
      if (choice && choice->active) OCTAVO_TRY_VOID(check_sequence(choice->sequence));
    }
  }
  return {};
}

Result<void> EngineImpl::check_sequence(const Sequence& sequence) const {
  for (int group = 0; group < kv().num_groups(); ++group) {
    const std::int64_t length = kv().sequence_length(sequence.kv, group);
    if (sequence.num_computed != length) {
      return fail("request {}, choice {}: {} tokens computed, {} written in group {}", sequence.id, sequence.choice,
                  sequence.num_computed, length, group);
    }
    const int held = kv().table(sequence.kv, group).num_blocks();
    if (sequence.num_computed == 0 && sequence.state != Sequence::State::kRunning && held != 0) {
      return fail("request {}, choice {}: holds {} blocks of group {} with nothing in them", sequence.id,
                  sequence.choice, held, group);
    }
  }
  return {};
}

Result<std::vector<TokenId>> EngineImpl::tokenize(std::string_view text, const TokenizeOptions& options) const {
  return parts_.tokenizer->encode(text, options);
}

std::string EngineImpl::detokenize(std::span<const TokenId> tokens) const {
  const auto is_known = [&](TokenId id) { return id >= 0 && id < parts_.tokenizer->vocab_size(); };
  if (std::ranges::all_of(tokens, is_known)) return parts_.tokenizer->decode(tokens);
  std::vector<TokenId> known;
  std::ranges::copy_if(tokens, std::back_inserter(known), is_known);
  return parts_.tokenizer->decode(known);
}

Result<std::vector<TokenId>> EngineImpl::apply_chat_template(std::span<const ChatMessage> messages,
                                                             std::size_t max_tokens) const {
  return parts_.tokenizer->apply_chat_template(messages, max_tokens);
}

SamplingParams EngineImpl::default_sampling(SamplingParams defaults) const {
  return parts_.sampling_defaults.over(defaults);
}

}  // namespace octavo
