#include "api/prepare/prepare.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "api/call/answer_size.h"
#include "api/call/api_error.h"
#include "api/call/context_full.h"
#include "api/call/picture_errors.h"
#include "api/call/prompt_logprobs.h"
#include "api/call/tool_constraint.h"
#include "api/fields/reasoning_fields.h"
#include "api/prepare/prepare_vectors.h"
#include "base/error.h"
#include "base/to_size.h"
#include "base/utf8.h"
#include "json/json_string.h"

namespace octavo {
namespace {

/// Asks for the prompt's logits where its log-probabilities are echoed or told, and where nothing is generated: only
/// with these does the engine take a request without an answer.
void ask_for_prompt_logits(CompletionCall& call, CallPrompt& prompt, Request& request, const ModelInfo& info) {
  const int num_logprobs = std::max(call.echo ? call.num_logprobs : -1, call.num_prompt_logprobs);
  if (num_logprobs >= 0) {
    prompt.logprobs = std::make_shared<PromptLogprobs>(request.tokens, request.pictures, info.num_tokens, num_logprobs,
                                                       Math(info.bits));
    request.on_prompt_logits = [logprobs = prompt.logprobs, vocab_size = info.vocab_size](
                                   int first_position, std::span<const float> logits) {
      logprobs->add_rows(first_position, vocab_size, logits);
    };
  } else if (request.max_tokens == -1) {
    request.on_prompt_logits = [](int, std::span<const float>) {};
  }
}

void add_prompt(CompletionCall& call, std::vector<TokenId> tokens, std::string text, Request request,
                const ModelInfo& info) {
  CallPrompt prompt;
  prompt.last_token = tokens.back();
  prompt.num_tokens = tokens.size();
  for (const PromptPicture& picture : request.pictures) prompt.num_image_tokens += picture.count;
  prompt.text = std::move(text);
  if (call.echo || call.return_token_ids || call.num_prompt_logprobs >= 0) prompt.tokens = tokens;
  request.tokens = std::move(tokens);
  ask_for_prompt_logits(call, prompt, request, info);
  call.prompts.push_back(std::move(prompt));
  request.logprobs = call.num_logprobs >= 0;
  call.seed = call.requests.empty() ? std::optional(request.sampling.seed) : std::nullopt;
  call.requests.push_back(std::move(request));
}

/// Checks the size of the settings that a body gives once and each prompt's request has.
ApiResult<void> check_settings(std::size_t num_prompts, const Request& request) {
  const SamplingParams& sampling = request.sampling;
  std::size_t num_bytes = (request.stop_tokens.size() + request.prediction.size()) * sizeof(TokenId) +
                          sampling.allowed_tokens.size() * sizeof(TokenId) +
                          sampling.logit_bias.size() * sizeof(sampling.logit_bias.front());
  for (const std::string& text : request.stop) num_bytes += text.size();
  for (const std::vector<TokenId>& word : sampling.bad_words) num_bytes += word.size() * sizeof(TokenId);
  if (num_bytes * num_prompts <= kMaxRepeatedBytes) return {};
  return std::unexpected(invalid_value(
      "prompt",
      fmt::format(
          "prompt: found {} prompts, with {} bytes of biases, stops, allowed and forbidden tokens and a prediction for "
          "each, expected at most {} bytes in all",
          num_prompts, num_bytes, kMaxRepeatedBytes)));
}

ApiResult<void> check_fills_gaps(const ModelText& words, std::string_view field) {
  if (words.info().fills_gaps) return {};
  return std::unexpected(
      ApiError{.status = 501,
               .message = fmt::format("{}: {} fills no gaps: its vocabulary has no tokens for what stands before one, "
                                      "behind it, and in it",
                                      field, words.info().name),
               .param = std::string(field),
               .code = "unsupported_model"});
}

/// The prompt of a gap, with as many of its files as have room beside an answer of `max_tokens`. Where the gap alone
/// leaves less room, the answer is cut instead. A gap that does not fit the context is counted up to `counted` tokens.
Result<InfillPrompt> fitting_prompt(const InfillText& text, std::int64_t max_tokens, std::size_t counted,
                                    const ModelText& words) {
  const std::int64_t context = words.info().max_context;
  auto prompt = words.infill_prompt(text, to_size(std::max<std::int64_t>(1, context - max_tokens)));
  if (prompt || prompt.error().kind != ErrorKind::kContextOverflow) return prompt;
  prompt = words.infill_prompt({.prefix = text.prefix, .suffix = text.suffix}, counted);
  if (prompt) prompt->files_left_out = static_cast<int>(text.files.size());
  return prompt;
}

/// The error of a text or a conversation that cannot be tokenized, because it has too many tokens or for another
/// reason. `counted`: how many of its tokens were counted.
ApiError not_tokenized(const Error& error, int context, std::size_t counted, std::string_view field,
                       std::string_view place) {
  if (error.kind != ErrorKind::kContextOverflow)
    return invalid_value(std::string(field), fmt::format("{}: {}", place, error.message));
  const auto num_tokens = static_cast<std::int64_t>(counted) + 1;
  return context_overflow({.prompt_tokens = num_tokens, .context = context, .is_counted = false}, field);
}

/// The preparation of one request, which becomes a call.
class Preparation {
 public:
  Preparation(ApiRequest request, const ModelText& words, const ServedModel& model)
      : asked_(std::move(request)),
        words_(words),
        model_(model),
        context_(words.info().max_context),
        counted_(std::max(kMaxCountedTokens, to_size(context_))) {}

  ApiResult<CompletionCall> prepare() {
    call_.is_chat = !std::holds_alternative<TextPrompts>(asked_.prompt) && !std::holds_alternative<Gap>(asked_.prompt);
    static_cast<AnswerForm&>(call_) = asked_.form;
    call_.keep_alive = asked_.keep_alive;
    if (std::holds_alternative<NoPrompt>(asked_.prompt)) {
      call_.num_logprobs = -1;  // no token is generated that could have one
    } else if (auto error = writes_nothing(words_.info(), model_.id)) {
      return std::unexpected(std::move(*error));
    } else {
      OCTAVO_TRY_VOID(settle());
      OCTAVO_TRY_VOID(prepare_prompt());
    }
    call_.warnings.append(asked_.warnings);
    return std::move(call_);
  }

 private:
  Request& settings() { return asked_.settings; }

  ApiResult<void> prepare_prompt() {
    if (std::holds_alternative<Conversation>(asked_.prompt)) return prepare_chat(conversation_of(asked_));
    if (const Gap* gap = std::get_if<Gap>(&asked_.prompt)) return prepare_gap(*gap);
    return prepare_texts(std::get<TextPrompts>(asked_.prompt));
  }

  /// Settles what does not depend on the prompt.
  ApiResult<void> settle() {
    call_.closes_objects = asked_.closes_objects;
    call_.n = settings().num_choices;
    call_.stop = settings().stop;
    call_.user_cache_salt = std::move(asked_.cache_salt);
    settings().top_logprobs = std::max(0, call_.num_logprobs);
    settle_reasoning();
    call_.constraint = std::move(asked_.constraint);
    predict();
    OCTAVO_TRY_VOID(forbid_words());
    return resume();
  }

  /// Mirostat's draws depend on the logits of the earlier ones, so that its tokens are drawn again.
  ApiResult<void> resume() {
    if (!asked_.resumption) return {};
    const auto* texts = std::get_if<TextPrompts>(&asked_.prompt);
    const std::size_t num_answers = to_size(call_.n) * (texts == nullptr ? 1 : texts->prompts.size());
    if (num_answers != 1)
      return std::unexpected(invalid_value(
          "resume_from", fmt::format("resume_from: found a request for {} answers, expected one", num_answers)));
    call_.resumption = std::move(asked_.resumption);
    if (settings().sampling.mirostat.version != 0) call_.resumption->verifies = true;
    if (!call_.resumption->verifies) settings().resumed_tokens = call_.resumption->tokens;
    return {};
  }

  /// Tokenizes the prediction. One that is longer than any answer is ignored, as it is only a hint.
  void predict() {
    if (!asked_.prediction) return;
    call_.counts_prediction = true;
    auto tokens = words_.tokenize(*asked_.prediction,
                                  {.add_special = false, .parse_special = false, .max_tokens = to_size(context_)});
    if (tokens) {
      settings().prediction = std::move(*tokens);
    } else {
      asked_.warnings.push_back(
          fmt::format("prediction: found a text of more than {} tokens, the context; nothing is "
                      "drafted from it",
                      context_));
    }
  }

  /// Forbids each word in two spellings, as vLLM does: at the beginning of a text, and behind a space.
  ApiResult<void> forbid_words() {
    constexpr TokenizeOptions kPlain{.add_special = false, .parse_special = false};
    for (const std::string& word : asked_.bad_words) {
      for (const std::string& text : {word, ' ' + word}) {
        Result<std::vector<TokenId>> tokens = words_.tokenize(text, kPlain);
        if (!tokens)
          return std::unexpected(invalid_value("bad_words", fmt::format("bad_words: {}", tokens.error().message)));
        if (!tokens->empty()) settings().sampling.bad_words.push_back(std::move(*tokens));
      }
    }
    return {};
  }

  ApiResult<void> prepare_chat(Conversation conversation) {
    const bool calls_tools = asked_.tools.choice.mode != ToolChoice::Mode::kNone;
    if (calls_tools) OCTAVO_TRY_VOID(offer_tools(conversation));
    conversation.options.max_tokens = counted_;
    auto prompt = words_.chat_prompt(conversation.messages, conversation.options);
    const std::string_view field = asked_.prompt_field;
    if (!prompt && is_of_picture(prompt.error()))
      return std::unexpected(picture_error(prompt.error(), conversation.messages, field));
    if (!prompt) return std::unexpected(not_tokenized(prompt.error(), context_, counted_, field, field));
    for (std::string& warning : prompt->warnings) asked_.warnings.push_back(std::move(warning));
    settings().pictures = std::move(prompt->pictures);
    settings().generation_prompt_tokens = prompt->generation_prompt_tokens;
    settings().reasoning.begins_inside = prompt->ends_in_reasoning;
    OCTAVO_TRY_VOID(set_length(settings(), prompt->tokens.size(), asked_.length, context_, std::string(field)));
    warn_of_cut(settings().max_tokens);
    AnswerSize size(call_);
    size.add({.num_tokens = prompt->tokens.size()}, static_cast<std::uint64_t>(settings().max_tokens));
    if (auto error = check_answer_size(size, model_.policy.max_answer_bytes)) return std::unexpected(std::move(*error));
    add_prompt(call_, std::move(prompt->tokens), {}, std::move(settings()), words_.info());
    // This comes last because it copies schemas, which a prompt that does not fit need not pay for.
    return calls_tools ? hold_calls(asked_.tools, words_, call_) : ApiResult<void>();
  }

  /// Settles whether reasoning is looked for: not in completions, nor for models without it. All is content then.
  void settle_reasoning() {
    const ReasoningMode mode = settings().reasoning.mode;
    warn_of_thinking(asked_.thinking, words_.info(), std::holds_alternative<Conversation>(asked_.prompt),
                     asked_.warnings);
    settings().reasoning = {};
    if (!call_.is_chat || words_.info().reasoning.empty()) {
      call_.reasoning = {};
      return;
    }
    const int budget = closes_thinking(asked_.thinking, words_.info()) ? 0 : model_.policy.reasoning_budget;
    settings().reasoning = {.mode = mode, .budget = asked_.reasoning_budget.tokens.value_or(budget)};
    call_.reasoning.is_counted = true;
  }

  ApiResult<void> offer_tools(const Conversation& conversation) {
    const ToolFormat* format = find_tool_format(words_.info().tool_format);
    if (format == nullptr) {
      const std::string field(asked_.tools.field);
      return std::unexpected(
          unsupported(field, field + ": this model has no chat template, so that it takes no conversation"));
    }
    const bool is_single = asked_.tools.is_single || !asked_.tools.choice.only.empty();
    for (const std::string_view text : format->tokens)
      if (const auto token = token_of(text, words_)) settings().shown_tokens.push_back(*token);
    if (const auto end = is_single ? token_of(format->end, words_) : std::nullopt)
      settings().stop_tokens.push_back(*end);
    call_.tools = std::make_shared<ToolCalling>(ToolCalling{.format = format,
                                                            .tools = ToolSet(conversation.options.tools),
                                                            .is_single = is_single,
                                                            .sure = sure_of_calls(asked_.tools, *format, call_),
                                                            .client_tools = std::move(asked_.tools.client_tools)});
    call_.calls_are_functions = asked_.tools.are_functions;
    return {};
  }

  ApiResult<void> prepare_texts(const TextPrompts& texts) {
    const std::size_t count = texts.prompts.size();
    std::vector<ChatPrompt> prompts;
    for (std::size_t i = 0; i < count; ++i) {
      OCTAVO_TRY(prompts.emplace_back(), prompt_of(texts, i));
    }
    OCTAVO_TRY_VOID(check_settings(count, settings()));
    for (std::size_t i = 0; i < count; ++i) {
      for (std::string& warning : prompts[i].warnings) asked_.warnings.push_back(std::move(warning));
      settings().pictures = std::move(prompts[i].pictures);
      OCTAVO_TRY_VOID(add_text(std::move(prompts[i].tokens), std::get_if<std::string_view>(&texts.prompts[i])));
    }
    warn_of_cut(shortest_);
    return {};
  }

  ApiResult<ChatPrompt> prompt_of(const TextPrompts& texts, std::size_t index) const {
    const TextPrompt& given = texts.prompts[index];
    if (const auto* ids = std::get_if<std::vector<TokenId>>(&given)) return ChatPrompt{.tokens = *ids};
    const TokenizeOptions options{.add_special = texts.add_special, .parse_special = true, .max_tokens = counted_};
    const auto* pictured = std::get_if<PictureText>(&given);
    const auto* text = std::get_if<std::string_view>(&given);
    Result<ChatPrompt> prompt = ChatPrompt();
    if (pictured != nullptr && call_.echo)
      return std::unexpected(unsupported("echo", "echo: a prompt with pictures is not repeated"));
    if (pictured != nullptr) {
      prompt = words_.picture_prompt(pictured->parts, options);
    } else if (auto tokens = words_.tokenize(*text, options)) {
      prompt->tokens = std::move(*tokens);
    } else {
      prompt = std::unexpected(std::move(tokens.error()));
    }
    if (prompt && !prompt->tokens.empty()) return std::move(*prompt);
    const std::string field(asked_.prompt_field);
    const std::string place = texts.are_listed ? fmt::format("{}[{}]", field, index) : field;
    if (!prompt && is_of_picture(prompt.error()))
      return std::unexpected(picture_error(prompt.error(), pictured->parts, place));
    if (!prompt) return std::unexpected(not_tokenized(prompt.error(), context_, counted_, field, place));
    return std::unexpected(invalid_value(field, place + ": found an empty text, expected at least one token"));
  }

  /// Adds one prompt of a completion. `text`: null where the prompt was given as tokens.
  ApiResult<void> add_text(std::vector<TokenId> tokens, const std::string_view* text) {
    OCTAVO_TRY_VOID(set_length(settings(), tokens.size(), asked_.length, context_, std::string(asked_.prompt_field)));
    shortest_ = std::min(shortest_, settings().max_tokens);
    std::string echoed;  // made valid UTF-8: token ids may spell parts of characters, which JSON cannot hold
    if (call_.echo) echoed = text != nullptr ? std::string(*text) : to_valid_utf8(words_.detokenize(tokens));
    size_.add({.num_tokens = tokens.size(), .num_bytes = json_string_bytes(echoed)},
              static_cast<std::uint64_t>(std::max(0, settings().max_tokens)));
    if (auto error = check_answer_size(size_, model_.policy.max_answer_bytes))
      return std::unexpected(std::move(*error));
    add_prompt(call_, std::move(tokens), std::move(echoed), settings(), words_.info());
    if (!asked_.is_seeded) ++settings().sampling.seed;  // equal prompts get different answers
    return {};
  }

  ApiResult<void> prepare_gap(const Gap& gap) {
    const InfillText& text = gap.text;
    OCTAVO_TRY_VOID(check_fills_gaps(words_, gap.field));
    if (call_.echo) return std::unexpected(unsupported("echo", "echo: the prompt of a gap is not repeated"));
    auto prompt =
        fitting_prompt(text, std::min<std::int64_t>(asked_.length.asked.value_or(1), context_), counted_, words_);
    const std::string_view field = asked_.prompt_field;
    if (!prompt) return std::unexpected(not_tokenized(prompt.error(), context_, counted_, field, field));
    if (prompt->files_left_out > 0)
      asked_.warnings.push_back(fmt::format("input_extra: the first {} of {} files are left out for want of room",
                                            prompt->files_left_out, text.files.size()));
    OCTAVO_TRY_VOID(add_text(std::move(prompt->tokens), nullptr));
    warn_of_cut(shortest_);
    return {};
  }

  /// Warns the client of a limit beyond the context.
  void warn_of_cut(int max_tokens) {
    if (auto warning = cut_warning(asked_.length, max_tokens, context_)) call_.warnings.push_back(std::move(*warning));
  }

  ApiRequest asked_;
  const ModelText& words_;
  const ServedModel& model_;
  const int context_;
  const std::size_t counted_;  // how far a prompt's tokens are counted, so that its error has a number
  CompletionCall call_ = {};
  AnswerSize size_{call_};
  int shortest_ = std::numeric_limits<int>::max();  // the shortest limit of an answer
};

}  // namespace

ApiResult<CompletionCall> prepare(ApiRequest request, const ModelText& words, const ServedModel& model) {
  if (std::holds_alternative<AskedVectors>(request.prompt)) return prepare_vectors(std::move(request), words, model);
  return Preparation(std::move(request), words, model).prepare();
}

}  // namespace octavo
