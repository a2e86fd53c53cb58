// Taking a request in: what is checked before any memory is given to it.
#include <new>

#include "engine/engine_impl.h"

namespace octavo {

Result<RequestId> EngineImpl::submit(Request request, TokenCallback on_event) {
  OCTAVO_TRY(const int max_generated, check_request(request));
  const RequestId id = next_id_++;
  try {
    std::unique_ptr<ActiveRequest> active = make_active(std::move(request), std::move(on_event), max_generated);
    active->sequence.id = id;
    const std::size_t all = requests_.size() + retired_.size() + 1;
    if (retired_.capacity() < all) retired_.reserve(2 * all);
    scheduler_.add(requests_.emplace(id, std::move(active)).first->second->sequence);
    return id;
  } catch (const std::bad_alloc&) {
    requests_.erase(id);
    return fail("out of memory while taking a request");
  }
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

}  // namespace

/// The number of tokens to generate at most.
Result<int> EngineImpl::check_request(const Request& request) const {
  const int context = parts_.info.max_context;
  const bool generates = request.max_tokens != -1;
  if (request.tokens.empty()) return fail("tokens: found none, expected at least one");
  const std::size_t longest = static_cast<std::size_t>(generates ? context - 1 : context);
  if (request.tokens.size() > longest) {
    return fail("tokens: found a prompt of {} tokens, expected at most {}: the context holds {}", request.tokens.size(),
                longest, context);
  }
  OCTAVO_TRY_VOID(check_tokens("tokens", request.tokens, parts_.runner->vocab_size()));
  OCTAVO_TRY_VOID(check_tokens("stop_tokens", request.stop_tokens, parts_.runner->vocab_size()));
  OCTAVO_TRY_VOID(check_sampling_params(request.sampling));
  if (!generates && !request.on_prompt_logits) {
    return fail("max_tokens: found -1 (generate nothing) without on_prompt_logits, expected at least 0");
  }
  if (!generates) return 0;
  const int room = context - static_cast<int>(request.tokens.size());
  if (request.max_tokens < 0 || request.max_tokens > room) {
    return fail("max_tokens: found {} after a prompt of {} tokens, expected 0 to {}: the context holds {}",
                request.max_tokens, request.tokens.size(), room, context);
  }
  return request.max_tokens == 0 ? room : request.max_tokens;
}

std::unique_ptr<ActiveRequest> EngineImpl::make_active(Request request, TokenCallback on_event, int max_generated) {
  const TokenId last = request.tokens.back();
  const bool known = last < parts_.tokenizer->vocab_size();  // not a row of the model's padding
  auto active = std::make_unique<ActiveRequest>(*parts_.tokenizer, known ? std::optional(last) : std::nullopt);
  active->submitted = ActiveRequest::Clock::now();
  active->sampling = request.sampling;
  active->max_generated = max_generated;
  active->at_limit = request.max_tokens == 0 ? FinishReason::kContext : FinishReason::kLength;
  active->ignore_eos = request.ignore_eos;
  active->stop_tokens = std::move(request.stop_tokens);
  active->on_prompt_logits = std::move(request.on_prompt_logits);
  active->on_event = std::move(on_event);

  Sequence& sequence = active->sequence;
  sequence.prompt_tokens = static_cast<int>(request.tokens.size());
  sequence.samples = max_generated != 0;
  sequence.prompt_logits_from = active->on_prompt_logits ? 0 : sequence.prompt_tokens;
  // The last token that is generated is never fed back.
  sequence.max_cached = sequence.prompt_tokens + std::max(0, max_generated - 1);
  // All room is taken now: steps do not allocate.
  sequence.tokens = std::move(request.tokens);
  sequence.tokens.reserve(static_cast<std::size_t>(sequence.prompt_tokens) + static_cast<std::size_t>(max_generated));
  for (BlockPool& pool : pools_) {
    sequence.tables.emplace_back(pool, parts_.runner->kv_geometry().block_size).reserve_ids(sequence.max_cached);
  }
  return active;
}

}  // namespace octavo
