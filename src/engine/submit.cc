// Taking a request in: what is checked before any memory is given to it.
#include <limits>
#include <new>
#include <utility>

#include "base/error.h"
#include "engine/engine_impl.h"

namespace octavo {
namespace {

constexpr double kLongestDeadline = 1e6;  // seconds; more than a week

auto draining() { return fail_as(ErrorKind::kDraining, "the engine is draining: it takes no further request"); }

}  // namespace

Result<RequestId> EngineImpl::submit(Request request, TokenCallback on_event) {
  OCTAVO_TRY(const int max_generated, check_request(request));
  OCTAVO_TRY_VOID(check_choices(request));
  OCTAVO_TRY_VOID(check_endings(request, max_generated));
  OCTAVO_TRY_VOID(check_limits(request));
  if (inbox_.is_closed()) return draining();
  if (++num_queued_ > parts_.max_queued && parts_.max_queued > 0) {
    --num_queued_;
    return fail_as(ErrorKind::kQueueFull, "found {} requests waiting, expected fewer than {}", parts_.max_queued,
                   parts_.max_queued);
  }
  const RequestId id = next_id_++;
  try {
    std::unique_ptr<ActiveRequest> active = make_active(id, std::move(request), std::move(on_event), max_generated);
    if (hand_over(active)) return id;
    --num_queued_;
    if (inbox_.is_closed()) return draining();
  } catch (const std::bad_alloc&) {
    --num_queued_;
  }
  return fail_as(ErrorKind::kOutOfMemory, "out of memory while taking a request");
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
  if (bias.size() > static_cast<std::size_t>(vocab_size)) {
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
  const std::size_t longest = static_cast<std::size_t>(generates ? context - 1 : context);
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
  active->on_prompt_logits = std::move(request.on_prompt_logits);
  active->on_prompt_progress = std::move(request.on_prompt_progress);
  active->on_event = std::move(on_event);

  const TokenId last = request.tokens.back();
  const bool known = last < parts_.tokenizer->vocab_size();  // not a row of the model's padding
  active->choices.reserve(static_cast<std::size_t>(request.num_choices));
  for (int i = 0; i < request.num_choices; ++i) {
    Choice& choice =
        active->choices.emplace_back(*parts_.tokenizer, known ? std::optional(last) : std::nullopt, active->stop);
    choice.top_logprobs.resize(static_cast<std::size_t>(request.top_logprobs));
    Sequence& sequence = choice.sequence;
    sequence.id = id;
    sequence.choice = i;
    sequence.priority = request.priority;
    sequence.cache_domain = active->cache_domain;
    sequence.prompt_tokens = static_cast<int>(request.tokens.size());
    sequence.samples = max_generated != 0;
    sequence.prompt_logits_from = active->on_prompt_logits && i == 0 ? 0 : sequence.prompt_tokens;
    sequence.progress_told = active->on_prompt_progress && i == 0 ? -1 : sequence.prompt_tokens;
    sequence.num_forks = i == 0 ? request.num_choices - 1 : 0;
    // The last token that is generated is never fed back.
    sequence.max_cached = sequence.prompt_tokens + std::max(0, max_generated - 1);
    // All room is taken now: steps do not allocate.
    sequence.tokens.reserve(request.tokens.size() + static_cast<std::size_t>(max_generated));
    sequence.tokens = request.tokens;
    if (i == 0) {
      sequence.hash_blocks(BlockHasher(hasher_), kv().block_size());  // a copy: others hash as well
    } else {
      sequence.chain.reserve(static_cast<std::size_t>(sequence.max_cached / kv().block_size() + 1));
      sequence.chain = active->choices.front().sequence.chain;
    }
  }
  return active;
}

/// Blocks in the tables of its choices, at their longest, in each group.
std::size_t EngineImpl::table_blocks(const ActiveRequest& request) const {
  const int blocks = request.choices.front().sequence.max_cached / kv().block_size() + 1;
  return request.choices.size() * static_cast<std::size_t>(blocks);
}

/// False, and the request stays with the caller, if there is no memory for it.
bool EngineImpl::take_in(std::unique_ptr<ActiveRequest>& request) {
  ActiveRequest& active = *request;
  const bool has_deadline = active.deadline.has_value();
  try {
    const std::size_t all = requests_.size() + retired_.size() + 1;
    if (retired_.capacity() < all) retired_.reserve(2 * all);
    builder_.reserve_tables(num_table_blocks_ + table_blocks(active));
    for (Choice& choice : active.choices) {
      choice.sequence.kv = kv().create_sequence(choice.sequence.max_cached);
      choice.active = true;
      ++active.num_active;
    }
    if (has_deadline) deadlines_.emplace(*active.deadline, active.id);
    const auto place = requests_.try_emplace(active.id).first;
    scheduler_.add(active.choices.front().sequence);
    place->second = std::move(request);
  } catch (const std::bad_alloc&) {
    for (Choice& choice : active.choices) {
      if (!std::exchange(choice.active, false)) continue;
      const KvResult<void> dropped = kv().drop_sequence(choice.sequence.kv);
      OCTAVO_CHECK(dropped.has_value(), "{}", describe(dropped.error()));
    }
    requests_.erase(active.id);
    if (has_deadline) deadlines_.erase({*active.deadline, active.id});
    return false;
  }
  num_table_blocks_ += table_blocks(active);
  ++queued_known_;
  return true;
}

}  // namespace octavo
