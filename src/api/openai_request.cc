#include "api/openai_request.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string_view>
#include <utility>

#include "api/answer_length.h"
#include "api/answer_size.h"
#include "api/json_writer.h"
#include "api/old_functions.h"
#include "api/prompt_logprobs.h"
#include "api/tool_constraint.h"
#include "base/error.h"
#include "base/to_size.h"
#include "base/utf8.h"

namespace octavo {
namespace {

namespace json = boost::json;

void read_streaming(JsonFields& fields, CompletionCall& call) {
  call.stream = fields.boolean("stream", false);
  call.return_progress = fields.boolean("return_progress", false) && call.stream;
  const JsonCursor options = fields["stream_options"];
  fields.take(options.object());
  if (!call.stream) return;
  call.include_usage = fields.take(options["include_usage"].boolean()).value_or(false);
  const auto continuous = fields.take(options["continuous_usage_stats"].boolean());  // vLLM's; useless without usage
  call.continuous_usage = call.include_usage && continuous.value_or(false);
}

/// The fields that completions and chats have in common: all but prompts, max_tokens and logprobs.
void read_common(JsonFields& fields, const Engine& engine, const ServedModel& model, CompletionCall& call,
                 Request& request) {
  check_model(fields, model);
  refuse_unsupported(fields);
  warn_of_ignored(fields, call.warnings);
  read_streaming(fields, call);
  read_sampling(fields, engine, model, request);
  read_constraint(fields, engine, model, call);
  request.logprobs_after_mask = fields.boolean("logprobs_after_mask", false);
  call.n = request.num_choices;
  call.stop = request.stop;
  call.return_token_ids = fields.boolean("return_token_ids", false);
  if (const auto salt = fields.string("cache_salt")) {
    if (salt->empty()) {
      fields.refuse(invalid_value("cache_salt", "cache_salt: found an empty string, expected at least one character"));
    }
    if (salt->size() > kMaxSaltBytes) {
      fields.refuse(invalid_value(
          "cache_salt", fmt::format("cache_salt: found {} bytes, expected at most {}", salt->size(), kMaxSaltBytes)));
      return;
    }
    call.user_cache_salt = *salt;
  }
}

/// Logits of the prompt are asked for where their log-probabilities are echoed, and where nothing is generated: the
/// engine takes no other request without an answer.
void ask_for_prompt_logits(CompletionCall& call, CallPrompt& prompt, Request& request, const ModelInfo& info) {
  if (call.echo && call.num_logprobs >= 0) {
    prompt.logprobs = std::make_shared<PromptLogprobs>(request.tokens, info.num_tokens, call.num_logprobs);
    request.on_prompt_logits = [logprobs = prompt.logprobs, vocab_size = info.vocab_size](
                                   int first_position, std::span<const float> logits) {
      logprobs->add_rows(first_position, vocab_size, logits);
    };
  } else if (request.max_tokens == -1) {
    request.on_prompt_logits = [](int, std::span<const float>) {};
  }
}

/// The text of a prompt that the answer repeats.
std::string text_to_echo(const CompletionCall& call, const RawPrompt& raw, const Engine& engine) {
  if (!call.echo) return {};
  // Ids may spell parts of characters, which no JSON can hold.
  return raw.text ? std::string(*raw.text) : to_valid_utf8(engine.detokenize(raw.tokens));
}

/// Each prompt's request has the settings that a body gives once.
ApiResult<void> check_settings(std::size_t num_prompts, const Request& request) {
  const SamplingParams& sampling = request.sampling;
  std::size_t num_bytes = request.stop_tokens.size() * sizeof(TokenId) +
                          sampling.allowed_tokens.size() * sizeof(TokenId) +
                          sampling.logit_bias.size() * sizeof(sampling.logit_bias.front());
  for (const std::string& text : request.stop) num_bytes += text.size();
  for (const std::vector<TokenId>& word : sampling.bad_words) num_bytes += word.size() * sizeof(TokenId);
  if (num_bytes * num_prompts <= kMaxRepeatedBytes) return {};
  return std::unexpected(invalid_value(
      "prompt",
      fmt::format("prompt: found {} prompts, with {} bytes of biases, stops, allowed and forbidden tokens for "
                  "each, expected at most {} bytes in all",
                  num_prompts, num_bytes, kMaxRepeatedBytes)));
}

void add_prompt(CompletionCall& call, std::vector<TokenId> tokens, std::string text, Request request,
                const ModelInfo& info) {
  CallPrompt prompt;
  prompt.last_token = tokens.back();
  prompt.num_tokens = tokens.size();
  prompt.text = std::move(text);
  if (call.echo || call.return_token_ids) prompt.tokens = tokens;
  request.tokens = std::move(tokens);
  ask_for_prompt_logits(call, prompt, request, info);
  call.prompts.push_back(std::move(prompt));
  request.draws_forced = call.num_logprobs >= 0;
  call.requests.push_back(std::move(request));
}

void add_warning(std::optional<std::string> warning, CompletionCall& call) {
  if (warning) call.warnings.push_back(std::move(*warning));
}

/// logprobs: true, and how many alternatives beside each token. A number alone asks for both.
int read_chat_logprobs(JsonFields& fields, std::vector<std::string>& warnings) {
  const bool is_silent = fields.find("logprobs") == nullptr;
  const int top = fields.integer("top_logprobs", 0, 0, kMaxTopLogprobs);
  if (fields.boolean("logprobs", is_silent && top > 0)) return top;
  if (top > 0) warnings.push_back(fmt::format("top_logprobs: found {} beside logprobs false: none are given", top));
  return -1;
}

/// Of a completion: how many alternatives; false asks for none.
int read_completion_logprobs(JsonFields& fields) {
  const json::value* value = fields.find("logprobs");
  if (value != nullptr && *value == false) return -1;
  return static_cast<int>(fields.integer("logprobs", 0, kMaxTopLogprobs).value_or(-1));
}

ApiResult<CompletionCall> parse_chat(FunctionBody& functions, const Engine& engine, const ServedModel& model,
                                     ClientTools client_tools) {
  const json::object& body = functions.body();
  JsonFields fields(body);
  CompletionCall call{.is_chat = true};
  Request request;
  read_common(fields, engine, model, call, request);
  const AnswerLength length = read_length(fields, ZeroTokens::kRefused, model.max_tokens);
  read_reasoning(fields, engine, model, call, request);
  call.num_logprobs = read_chat_logprobs(fields, call.warnings);
  request.top_logprobs = std::max(0, call.num_logprobs);
  if (fields.boolean("echo", false)) fields.refuse(unsupported("echo", "echo: a chat's messages are not echoed"));
  const ToolChoice choice = read_tool_choice(fields);
  if (fields.failed()) return std::unexpected(*fields.error());

  OCTAVO_TRY(Conversation conversation, read_conversation(body, model.template_names));
  if (choice.mode != ToolChoice::Mode::kNone) {
    client_tools.merge(functions.take_tools());
    read_tool_calling(fields, engine, conversation.options.tools, choice, std::move(client_tools), call, request);
    if (fields.failed()) return std::unexpected(*fields.error());
    call.warnings.insert(call.warnings.end(), functions.warnings().begin(), functions.warnings().end());
    call.calls_are_functions = functions.is_of_functions();
  }
  const int context = engine.info().max_context;
  conversation.options.max_tokens = to_size(context);
  auto prompt = engine.chat_prompt(conversation.messages, conversation.options);
  if (!prompt) return std::unexpected(not_tokenized(prompt.error(), context, "messages", "messages"));
  request.generation_prompt_tokens = prompt->generation_prompt_tokens;
  request.reasoning.begins_inside = prompt->ends_in_reasoning;
  OCTAVO_TRY_VOID(set_length(request, prompt->tokens.size(), length, context, "messages"));
  add_warning(cut_warning(length, request.max_tokens, context), call);
  AnswerSize size(call);
  size.add({.num_tokens = prompt->tokens.size()}, static_cast<std::uint64_t>(request.max_tokens));
  if (auto error = check_answer_size(size, model.max_answer_bytes)) return std::unexpected(std::move(*error));
  add_prompt(call, std::move(prompt->tokens), {}, std::move(request), engine.info());
  if (call.tools != nullptr) {
    hold_calls(fields, engine, *call.tools, choice, call);  // copies schemas: not of a prompt that cannot fit
    if (fields.failed()) return std::unexpected(*fields.error());
  }
  return call;
}

}  // namespace

void check_model(JsonFields& fields, const ServedModel& model) {
  const auto name = fields.string("model");
  if (!name || model.answers_to(*name)) return;  // no name means the only one
  fields.refuse({.status = 404,
                 .message = fmt::format("model: found {}, expected {}: no other model is served here",
                                        describe_json(json::value(*name)), describe_json(json::value(model.id))),
                 .param = "model",
                 .code = "model_not_found"});
}

ApiResult<CompletionCall> parse_completion(const json::object& body, const Engine& engine, const ServedModel& model,
                                           int otherwise) {
  JsonFields fields(body);
  CompletionCall call;
  Request request;
  read_common(fields, engine, model, call, request);
  const AnswerLength length =
      read_length(fields, ZeroTokens::kNothing, model.max_tokens > 0 ? model.max_tokens : otherwise);
  refuse_reasoning(fields);
  refuse_tools(fields, "tools", "tool_choice");
  call.echo = fields.boolean("echo", false);
  call.num_logprobs = read_completion_logprobs(fields);
  request.top_logprobs = std::max(0, call.num_logprobs);
  if (fields.boolean("continue_final_message", false))
    fields.refuse(unsupported("continue_final_message", "continue_final_message: a completion has no messages"));
  if (fields.failed()) return std::unexpected(*fields.error());

  OCTAVO_TRY(std::vector<RawPrompt> prompts, read_prompts(body, call.n, engine));
  OCTAVO_TRY_VOID(check_settings(prompts.size(), request));
  const json::value* seed = fields.find("seed");
  const bool seeded = seed == nullptr ? model.seed.has_value() : as_integer(*seed) != kRandomSeed;
  const int context = engine.info().max_context;
  int shortest = context;  // of the answers
  AnswerSize size(call);
  for (RawPrompt& prompt : prompts) {
    OCTAVO_TRY_VOID(set_length(request, prompt.tokens.size(), length, context, "prompt"));
    shortest = std::min(shortest, request.max_tokens);
    std::string text = text_to_echo(call, prompt, engine);
    size.add({.num_tokens = prompt.tokens.size(), .num_bytes = json_string_bytes(text)},
             static_cast<std::uint64_t>(std::max(0, request.max_tokens)));
    if (auto error = check_answer_size(size, model.max_answer_bytes)) return std::unexpected(std::move(*error));
    add_prompt(call, std::move(prompt.tokens), std::move(text), request, engine.info());
    if (!seeded) ++request.sampling.seed;  // prompts that are equal get answers of their own
  }
  add_warning(cut_warning(length, shortest, context), call);
  return call;
}

ApiResult<CompletionCall> parse_chat_completion(const json::object& body, const Engine& engine,
                                                const ServedModel& model, ClientTools client_tools) {
  OCTAVO_TRY(FunctionBody functions, FunctionBody::of(body));
  ApiResult<CompletionCall> call = parse_chat(functions, engine, model, std::move(client_tools));
  if (!functions.is_of_functions()) return call;
  if (!call) return std::unexpected(with_own_names(std::move(call.error()), kFunctionNames));
  call->own_names = kFunctionNames;
  return call;
}

}  // namespace octavo
