// Taking a request in: what is checked before any memory is given to it.
#include <limits>
#include <new>
#include <utility>

#include "base/error.h"
#include "base/to_size.h"
#include "engine/engine_impl.h"

namespace octavo {
namespace {

constexpr double kLongestDeadline = 1e6;  // seconds; more than a week

auto out_of_memory() { return fail_as(ErrorKind::kOutOfMemory, "out of memory while taking a request"); }
auto draining() { return fail_as(ErrorKind::kDraining, "the engine is draining: it takes no further request"); }

}  // namespace

Result<RequestId> EngineImpl::submit(Request request, TokenCallback on_event) {
  OCTAVO_TRY(const int max_generated, check_request(request));
  OCTAVO_TRY_VOID(check_choices(request));
  OCTAVO_TRY_VOID(check_endings(request, max_generated));
  OCTAVO_TRY_VOID(check_limits(request));
  if (inbox_.is_closed()) return draining();
  const RequestId id = next_id_++;
  try {
    const auto num_tokens = static_cast<std::int64_t>(request.tokens.size()) * request.num_choices;
    OCTAVO_TRY(QueueLedger::Place place, queue_.enter(request.owner, num_tokens));
    std::unique_ptr<ActiveRequest> active = make_active(id, std::move(request), std::move(on_event), max_generated);
    active->place = std::move(place);
    if (hand_over(active)) return id;
    if (inbox_.is_closed()) return draining();
  } catch (const std::bad_alloc&) {
    return out_of_memory();
  }
  return out_of_memory();
}

/// Takes it in, or leaves it where the thread that drives the engine finds it. False: there is no memory, or no further
/// request is taken.
bool EngineImpl::hand_over(std::unique_ptr<ActiveRequest>& request) {
  if (is_driving()) return take_in(request);
  if (!is_looping_) {
    const std::unique_lock lock(drive_mutex_, std::try_to_lock);
    if (lock) {
      const bool taken = !inbox_.is_closed() && take_in(request);
      inbox_.wake();
      return taken;
    }
  }
  return inbox_.put(request);
}

namespace {

Result<void> check_tokens(std::string_view field, std::span<const TokenId> tokens, int vocab_size) {
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    if (tokens[i] < 0 || tokens[i] >= vocab_size) {
      return fail("{}[{}]: found {}, expected a token id from 0 to {}", field, i, tokens[i], vocab_size - 1);
    }
  }
  return {};
}

Result<void> check_logit_bias(std::span<const std::pair<TokenId, float>> bias, int vocab_size) {
  if (bias.size() > to_size(vocab_size)) {
    return fail("logit_bias: found {} entries, expected at most one a token: {}", bias.size(), vocab_size);
  }
  for (const auto& [token, value] : bias) {
    if (token < 0 || token >= vocab_size) {
      return fail("logit_bias: found token {}, expected a token id from 0 to {}", token, vocab_size - 1);
    }
  }
  return {};
}

}  // namespace

/// The number of tokens to generate at most.
Result<int> EngineImpl::check_request(const Request& request) const {
  const int context = parts_.info.max_context;
  const bool generates = request.max_tokens != -1;
  if (request.tokens.empty()) return fail("tokens: found none, expected at least one");
  const std::size_t longest = to_size(generates ? context - 1 : context);
  if (request.tokens.size() > longest) {
    return fail_as(ErrorKind::kContextOverflow,
                   "tokens: found a prompt of {} tokens, expected at most {}: the context "
                   "holds {}",
                   request.tokens.size(), longest, context);
  }
  OCTAVO_TRY_VOID(check_tokens("tokens", request.tokens, parts_.runner->vocab_size()));
  OCTAVO_TRY_VOID(check_tokens("stop_tokens", request.stop_tokens, parts_.runner->vocab_size()));
  OCTAVO_TRY_VOID(check_sampling_params(request.sampling));
  OCTAVO_TRY_VOID(check_logit_bias(request.sampling.logit_bias, parts_.runner->vocab_size()));
  if (!generates && !request.on_prompt_logits) {
    return fail("max_tokens: found -1 (generate nothing) without on_prompt_logits, expected at least 0");
  }
  if (!generates) return 0;
  const int room = context - static_cast<int>(request.tokens.size());
  if (request.max_tokens < 0 || request.max_tokens > room) {
    const ErrorKind kind = request.max_tokens < 0 ? ErrorKind::kOther : ErrorKind::kContextOverflow;
    return fail_as(kind, "max_tokens: found {} after a prompt of {} tokens, expected 0 to {}: the context holds {}",
                   request.max_tokens, request.tokens.size(), room, context);
  }
  return request.max_tokens == 0 ? room : request.max_tokens;
}

Result<void> EngineImpl::check_choices(const Request& request) const {
  const int seats = std::min(kMaxChoices, scheduler_.limits().max_sequences);
  if (request.num_choices < 1 || request.num_choices > seats) {
    return fail("num_choices: found {}, expected 1 to {}: that many sequences advance in one step", request.num_choices,
                seats);
  }
  if (request.num_choices > 1 && request.max_tokens == -1) {
    return fail("num_choices: found {} where nothing is generated, expected 1", request.num_choices);
  }
  constexpr std::uint32_t kLargest = std::numeric_limits<std::uint32_t>::max();
  const std::uint32_t last = kLargest - static_cast<std::uint32_t>(request.num_choices) + 1;
  if (request.first_choice > last) {
    return fail("first_choice: found {}, expected at most {}", request.first_choice, last);
  }
  return {};
}

Result<void> EngineImpl::check_limits(const Request& request) const {
  if (request.priority < -kMaxPriority || request.priority > kMaxPriority) {
    return fail("priority: found {}, expected {} to {}", request.priority, -kMaxPriority, kMaxPriority);
  }
  if (!(request.deadline_s >= 0 && request.deadline_s <= kLongestDeadline)) {
    return fail("deadline_s: found {}, expected 0 (none) to {} seconds", request.deadline_s, kLongestDeadline);
  }
  if (request.owner.size() > kMaxOwnerBytes)
    return fail("owner: found {} bytes, expected at most {}", request.owner.size(), kMaxOwnerBytes);
  return {};
}

Result<void> EngineImpl::check_endings(const Request& request, int max_generated) const {
  OCTAVO_TRY_VOID(StopTexts::check("stop", request.stop));
  if (request.min_tokens < 0 || request.min_tokens > max_generated) {
    return fail("min_tokens: found {}, expected 0 to {}: the answer ends there", request.min_tokens, max_generated);
  }
  const int most = std::min(kMaxTopLogprobs, num_drawable_);
  if (request.top_logprobs < 0 || request.top_logprobs > most) {
    return fail("top_logprobs: found {}, expected 0 to {}", request.top_logprobs, most);
  }
  return {};
}

std::unique_ptr<ActiveRequest> EngineImpl::make_active(RequestId id, Request request, TokenCallback on_event,
                                                       int max_generated) const {
  auto active = std::make_unique<ActiveRequest>();
  active->id = id;
  active->submitted = Choice::Clock::now();
  if (request.deadline_s > 0) {
    const std::chrono::duration<double> time(request.deadline_s);
    active->deadline = active->submitted + std::chrono::duration_cast<Choice::Clock::duration>(time);
  }
  active->sampling = request.sampling;
  active->max_generated = max_generated;
  active->at_limit = request.max_tokens == 0 ? FinishReason::kContext : FinishReason::kLength;
  active->ignore_eos = request.ignore_eos;
  active->stop_tokens = std::move(request.stop_tokens);
  active->stop = StopTexts(std::move(request.stop));
  active->min_generated = request.min_tokens;
  if (request.min_tokens > 0) {
    active->ending_tokens = end_tokens_;
    active->ending_tokens.insert(active->ending_tokens.end(), active->stop_tokens.begin(), active->stop_tokens.end());
  }
  active->first_choice = request.first_choice;
  active->cache_domain = std::move(request.cache_domain);
  active->owner = std::move(request.owner);
  active->on_prompt_logits = std::move(request.on_prompt_logits);
  active->on_prompt_progress = std::move(request.on_prompt_progress);
  active->on_event = std::move(on_event);

  active->num_top_logprobs = request.top_logprobs;
  if (request.tokens.back() < parts_.tokenizer->vocab_size())  // not a row of the model's padding
    active->last_token = request.tokens.back();
  active->choices.resize(to_size(request.num_choices));
  active->num_active = request.num_choices;
  Sequence& prompt = active->prompt;
  prompt.id = id;
  prompt.priority = request.priority;
  prompt.cache_domain = active->cache_domain;
  prompt.owner = active->owner;
  prompt.tokens = std::move(request.tokens);
  prompt.prompt_tokens = static_cast<int>(prompt.tokens.size());
  prompt.samples = max_generated != 0;
  prompt.prompt_logits_from = active->on_prompt_logits ? 0 : prompt.prompt_tokens;
  prompt.progress_told = active->on_prompt_progress ? -1 : prompt.prompt_tokens;
  prompt.num_forks = request.num_choices - 1;
  // The last token that is generated is never fed back.
  prompt.max_cached = prompt.prompt_tokens + std::max(0, max_generated - 1);
  prompt.hash_blocks(BlockHasher(hasher_), kv().block_size());  // a copy: others hash as well
  return active;
}

/// In the table of a sequence of that many tokens, in each group.
std::size_t EngineImpl::table_blocks(int num_tokens) const { return to_size(num_tokens / kv().block_size() + 1); }

/// False, and the request stays with the caller, if there is no memory for it.
bool EngineImpl::take_in(std::unique_ptr<ActiveRequest>& request) {
  ActiveRequest& active = *request;
  const bool has_deadline = active.deadline.has_value();
  const std::size_t num_blocks = table_blocks(active.prompt.prompt_tokens);
  try {
    const std::size_t all = requests_.size() + retired_.size() + 1;
    if (retired_.capacity() < all) retired_.reserve(2 * all);
    builder_.reserve_tables(num_table_blocks_ + num_blocks);
    active.prompt.kv = kv().create_sequence(active.prompt.prompt_tokens);
    active.is_reading = true;
    if (has_deadline) deadlines_.emplace(*active.deadline, active.id);
    const auto place = requests_.try_emplace(active.id).first;
    scheduler_.add(active.prompt);
    place->second = std::move(request);
  } catch (const std::bad_alloc&) {
    if (std::exchange(active.is_reading, false)) drop_sequence(active.prompt.kv);
    requests_.erase(active.id);
    if (has_deadline) deadlines_.erase({*active.deadline, active.id});
    return false;
  }
  num_table_blocks_ += num_blocks;
  return true;
}

/// The choices of a prompt that is computed. False: there is no memory for them, and none has begun.
bool EngineImpl::begin_choices(ActiveRequest& request) {
  const int num_tokens = request.prompt.max_cached;
  const std::size_t num_blocks = table_blocks(num_tokens);
  try {
    builder_.reserve_tables(num_table_blocks_ + request.choices.size() * num_blocks);
    for (std::size_t i = 0; i < request.choices.size(); ++i) {
      std::unique_ptr<Choice> choice = choice_pool_.take(request, static_cast<int>(i), kv().block_size());
      choice->sequence.kv = kv().create_sequence(num_tokens);
      choice->active = true;
      request.choices[i] = std::move(choice);
    }
  } catch (const std::bad_alloc&) {
    for (std::unique_ptr<Choice>& choice : request.choices)
      if (choice) drop_sequence(std::exchange(choice, nullptr)->sequence.kv);
    return false;
  }
  num_table_blocks_ += request.choices.size() * num_blocks;
  for (std::size_t i = 1; i < request.choices.size(); ++i)
    scheduler_.fork(request.prompt, request.choices[i]->sequence);
  scheduler_.replace(request.prompt, request.choices.front()->sequence);
  drop_prompt(request);
  return true;
}

/// It is read, or never will be.
void EngineImpl::drop_prompt(ActiveRequest& request) {
  if (!std::exchange(request.is_reading, false)) return;
  if (request.prompt.state != Sequence::State::kIdle) scheduler_.remove(request.prompt);
  drop_sequence(request.prompt.kv);
  num_table_blocks_ -= table_blocks(request.prompt.prompt_tokens);
}

void EngineImpl::drop_sequence(SequenceId id) {
  const KvResult<void> dropped = kv().drop_sequence(id);
  OCTAVO_CHECK(dropped.has_value(), "{}", describe(dropped.error()));
}

}  // namespace octavo
