#include "engine/request_check.h"

#include <algorithm>
#include <limits>
#include <span>
#include <string_view>
#include <utility>

#include "base/to_size.h"
#include "engine/answers/stop_matcher.h"
#include "sampler/sampler.h"
#include "vision/prepared_picture.h"

namespace octavo {
namespace {

constexpr double kLongestDeadline = 1e6;  // in seconds; more than a week

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

/// Checks the numbers of tokens and the sampling; the result is the most tokens to generate.
Result<int> check_tokens_and_sampling(const Request& request, const RequestLimits& limits) {
  const int context = limits.max_context;
  const bool generates = request.max_tokens != -1;
  if (request.tokens.empty()) return fail("tokens: found none, expected at least one");
  const std::size_t longest = to_size(generates ? context - 1 : context);
  if (request.tokens.size() > longest) {
    return fail_as(ErrorKind::kContextOverflow,
                   "tokens: found a prompt of {} tokens, expected at most {}: the context "
                   "holds {}",
                   request.tokens.size(), longest, context);
  }
  OCTAVO_TRY_VOID(check_tokens("tokens", request.tokens, limits.vocab_size));
  OCTAVO_TRY_VOID(check_tokens("stop_tokens", request.stop_tokens, limits.vocab_size));
  OCTAVO_TRY_VOID(check_tokens("shown_tokens", request.shown_tokens, limits.vocab_size));
  if (request.shown_tokens.size() > to_size(kMaxShownTokens))
    return fail("shown_tokens: found {}, expected at most {}", request.shown_tokens.size(), kMaxShownTokens);
  OCTAVO_TRY_VOID(check_sampling_params(request.sampling));
  OCTAVO_TRY_VOID(check_logit_bias(request.sampling.logit_bias, limits.vocab_size));
  if (!generates && !request.on_prompt_logits && !request.embedding.on_rows && !request.pins) {
    return fail(
        "max_tokens: found -1 (generate nothing) without on_prompt_logits, embedding.on_rows or pins, expected at "
        "least 0");
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

Result<void> check_pins(const Request& request, const RequestLimits& limits) {
  if (!request.pins) return {};
  if (request.max_tokens != -1)
    return fail("pins: found true with max_tokens {}, expected -1: nothing is generated", request.max_tokens);
  if (request.on_prompt_logits || request.embedding.on_rows)
    return fail("pins: found true beside on_prompt_logits or embedding.on_rows, expected neither");
  if (std::cmp_less_equal(request.tokens.size(), limits.max_pinned)) return {};
  return fail_as(
      ErrorKind::kOutOfBlocks,
      "pins: found a prompt of {} tokens, expected at most {}: pins leave room for a context of {} tokens in "
      "the KV memory",
      request.tokens.size(), limits.max_pinned, limits.max_context);
}

Result<void> check_drafts(const Request& request, const RequestLimits& limits) {
  if (request.max_drafts < 0 || request.max_drafts > kMaxDraftTokens)
    return fail("max_drafts: found {}, expected 0 to {}", request.max_drafts, kMaxDraftTokens);
  if (request.prediction.size() > to_size(limits.max_context))
    return fail("prediction: found {} tokens, expected at most {}: the context holds no more",
                request.prediction.size(), limits.max_context);
  return check_tokens("prediction", request.prediction, limits.vocab_size);
}

Result<void> check_generation_prompt(const Request& request) {
  const int tokens = request.generation_prompt_tokens;
  if (tokens >= 0 && to_size(tokens) <= request.tokens.size()) return {};
  return fail("generation_prompt_tokens: found {}, expected 0 to {}, the prompt's tokens", tokens,
              request.tokens.size());
}

Result<void> check_choices(const Request& request, const RequestLimits& limits) {
  const int most = std::min(kMaxChoices, limits.max_choices);
  if (request.num_choices < 1 || request.num_choices > most) {
    return fail("num_choices: found {}, expected 1 to {}: that many sequences advance in one step", request.num_choices,
                most);
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

Result<void> check_resumed(const Request& request, int max_generated, const RequestLimits& limits) {
  if (request.resumed_tokens.empty()) return {};
  if (std::cmp_greater_equal(request.resumed_tokens.size(), max_generated))
    return fail("resumed_tokens: found {}, expected fewer than the {} that the answer may have",
                request.resumed_tokens.size(), max_generated);
  if (request.num_choices != 1)
    return fail("resumed_tokens: found {} beside {} choices, expected one", request.resumed_tokens.size(),
                request.num_choices);
  if (request.sampling.mirostat.version != 0)
    return fail("resumed_tokens: found {} beside Mirostat, whose next draw depends on how surprising they were",
                request.resumed_tokens.size());
  return check_tokens("resumed_tokens", request.resumed_tokens, limits.num_drawable);
}

Result<void> check_queueing(const Request& request) {
  if (request.priority < -kMaxPriority || request.priority > kMaxPriority) {
    return fail("priority: found {}, expected {} to {}", request.priority, -kMaxPriority, kMaxPriority);
  }
  if (!(request.deadline_s >= 0 && request.deadline_s <= kLongestDeadline)) {
    return fail("deadline_s: found {}, expected 0 (none) to {} seconds", request.deadline_s, kLongestDeadline);
  }
  if (request.flow.size() > kMaxOwnerBytes)
    return fail("flow: found {} bytes, expected at most {}", request.flow.size(), kMaxOwnerBytes);
  if (request.owner.size() > kMaxOwnerBytes)
    return fail("owner: found {} bytes, expected at most {}", request.owner.size(), kMaxOwnerBytes);
  return {};
}

Result<void> check_endings(const Request& request, int max_generated, const RequestLimits& limits) {
  OCTAVO_TRY_VOID(StopTexts::check("stop", request.stop));
  if (const auto words = limits.words.require(); !words && !request.stop.empty())
    return fail_as(words.error().kind, "stop: found {} texts, expected none: {}", request.stop.size(),
                   words.error().message);
  if (request.min_tokens < 0 || request.min_tokens > max_generated) {
    return fail("min_tokens: found {}, expected 0 to {}: the answer ends there", request.min_tokens, max_generated);
  }
  const int most = std::min(kMaxTopLogprobs, limits.num_drawable);
  if (request.top_logprobs < 0 || request.top_logprobs > most) {
    return fail("top_logprobs: found {}, expected 0 to {}", request.top_logprobs, most);
  }
  if (request.top_logprobs > 0 && !request.logprobs)
    return fail("top_logprobs: found {}, expected 0: the request has no logprobs", request.top_logprobs);
  return {};
}

Result<void> check_reasoning(const ReasoningParams& reasoning, const RequestLimits& limits) {
  if (static_cast<int>(reasoning.mode) > static_cast<int>(ReasoningMode::kSplit))
    return fail("reasoning.mode: found {}, expected 0 to 2", static_cast<int>(reasoning.mode));
  if (reasoning.budget < -1)
    return fail("reasoning.budget: found {}, expected -1 (any number) or more", reasoning.budget);
  if (reasoning.budget == -1) return {};
  if (reasoning.mode == ReasoningMode::kPlain)
    return fail("reasoning.budget: found {} where nobody looks for reasoning, expected -1", reasoning.budget);
  const ReasoningMarks* marks = limits.words.reasoning();
  if (marks == nullptr)
    return fail("reasoning.budget: found {}, expected -1: this model has no marks around reasoning that are known",
                reasoning.budget);
  for (const TokenId token : marks->closing_tokens())
    if (token >= limits.num_drawable)
      return fail("reasoning.budget: the closing mark's token {} cannot be drawn", token);
  if (marks->closing_tokens().empty())
    return fail("reasoning.budget: found {}, expected -1: this model's closing mark {} cannot be written by its tokens",
                reasoning.budget, marks->closing_text());
  return {};
}

/// Checks that pictures are in order and that the tokens have placeholders for them.
Result<void> check_pictures(const Request& request, const RequestLimits& limits) {
  if (request.pictures.empty()) return {};
  if (limits.max_picture_tokens == 0)
    return fail("pictures: found {}, but the model reads texts alone", request.pictures.size());
  std::int64_t end = 0;  // the end of the picture before
  for (std::size_t i = 0; i < request.pictures.size(); ++i) {
    const PromptPicture& given = request.pictures[i];
    if (given.picture == nullptr || given.picture->pixels.rgb.empty() || given.index < 0 || given.count < 1 ||
        given.count > given.picture->num_tokens() - given.index)
      return fail("pictures[{}]: found {} tokens and no picture of so many, expected a decoded one", i, given.count);
    const std::int64_t behind = std::int64_t{given.first} + given.count;
    if (given.first < end || behind > std::ssize(request.tokens))
      return fail("pictures[{}]: found tokens {} to {}, expected a place behind {} among {} tokens", i, given.first,
                  behind, end, request.tokens.size());
    const auto places = std::span(request.tokens).subspan(to_size(given.first), to_size(given.count));
    if (std::ranges::any_of(places, [&](TokenId token) { return token != limits.placeholder; }))
      return fail("pictures[{}]: found other tokens in its place than {}, the placeholder", i, limits.placeholder);
    if (given.picture->num_tokens() > limits.max_picture_tokens)
      return fail_as(ErrorKind::kPictureTooLarge,
                     "pictures[{}]: found {} tokens, but the memory of pictures has room for {} (picture_memory_bytes)",
                     i, given.picture->num_tokens(), limits.max_picture_tokens);
    if (limits.max_joint_tokens > 0 && given.count > limits.max_joint_tokens)
      return fail_as(ErrorKind::kPictureTooLarge,
                     "pictures[{}]: found {} tokens, but the KV memory has room for {} that see each other", i,
                     given.count, limits.max_joint_tokens);
    end = behind;
  }
  return {};
}

}  // namespace

Result<int> check_request(const Request& request, const RequestLimits& limits) {
  OCTAVO_TRY(const int max_generated, check_tokens_and_sampling(request, limits));
  OCTAVO_TRY_VOID(limits.vectors.check(request));
  OCTAVO_TRY_VOID(check_generation_prompt(request));
  OCTAVO_TRY_VOID(check_pins(request, limits));
  OCTAVO_TRY_VOID(check_drafts(request, limits));
  OCTAVO_TRY_VOID(check_choices(request, limits));
  OCTAVO_TRY_VOID(check_endings(request, max_generated, limits));
  OCTAVO_TRY_VOID(check_resumed(request, max_generated, limits));
  OCTAVO_TRY_VOID(check_reasoning(request.reasoning, limits));
  OCTAVO_TRY_VOID(check_queueing(request));
  OCTAVO_TRY_VOID(check_pictures(request, limits));
  return max_generated;
}

}  // namespace octavo
