#include "api/openai_request.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <boost/json/value.hpp>
#include <utility>

#include "api/answer_fields.h"
#include "api/constraint_fields.h"
#include "api/openai_messages.h"
#include "api/prepare.h"
#include "api/sampling_fields.h"
#include "api/template_names.h"
#include "api/tool_fields.h"
#include "base/error.h"

namespace octavo {
namespace {

namespace json = boost::json;

constexpr std::string_view kPromptForms =
    "a string, an array of strings, an array of token ids, or an array of arrays of token ids";

Conversation& conversation_in(FieldReader& reader) { return std::get<Conversation>(reader.request.prompt); }

void take_messages(FieldReader& reader, const ApiField& field) {
  if (reader.failed()) return;
  auto messages = read_openai_messages(reader.at(field.path));
  if (!messages) return reader.refuse(std::move(messages.error()));
  conversation_in(reader).messages = std::move(*messages);
}

void take_kwargs(FieldReader& reader, const ApiField& field) {
  const json::object* given = reader.take(reader.at(field.path).object());
  if (given == nullptr) return;
  auto added = add_template_names(*given, fmt::format("{}.", field.path), conversation_in(reader).options.names);
  if (!added) reader.refuse(std::move(added.error()));
}

void take_effort(FieldReader& reader, const ApiField& field) {
  const auto effort = reader.take(reader.at(field.path).string());
  if (effort) set_template_name(conversation_in(reader).options.names, "reasoning_effort", std::string(*effort));
}

void take_generation_prompt(FieldReader& reader, const ApiField& field) {
  const auto asked = reader.take(reader.at(field.path).boolean());
  if (asked) conversation_in(reader).options.add_generation_prompt = *asked;
}

void take_continuation(FieldReader& reader, const ApiField& field) {
  ChatTemplateOptions& options = conversation_in(reader).options;
  const JsonCursor given = reader.at(field.path);
  options.continue_final_message = reader.take(given.boolean()).value_or(false);
  if (options.continue_final_message && options.add_generation_prompt)
    reader.refuse(given.error(
        "found true beside add_generation_prompt true, expected one of them: set add_generation_prompt to false to go "
        "on with the last message"));
}

void refuse_echo(FieldReader& reader, const ApiField& field) {
  const JsonCursor given = reader.at(field.path);
  if (reader.take(given.boolean()).value_or(false)) reader.refuse(given.error(field.text, "unsupported_parameter"));
}

/// How many alternatives; false asks for none.
void take_logprobs_number(FieldReader& reader, const ApiField& field) {
  const JsonCursor given = reader.at(field.path);
  if (given.is_given() && *given.value() == false) return;
  const auto asked = reader.take(given.integer(0, kMaxTopLogprobs));
  if (asked) reader.request.form.num_logprobs = static_cast<int>(*asked);
}

void refuse_budget(FieldReader& reader, const ApiField& field) {
  const JsonCursor given = reader.at(field.path);
  const auto budget = reader.take(given.integer(-1, static_cast<std::int64_t>(field.max)));
  if (budget && *budget != -1)
    reader.refuse(given.error(
        fmt::format("found {}, expected none: a completion is not looked at for reasoning, a chat is", *budget),
        "unsupported_parameter"));
}

TextPrompts& texts_in(FieldReader& reader) { return std::get<TextPrompts>(reader.request.prompt); }

void take_add_special(FieldReader& reader, const ApiField& field) {
  const auto asked = reader.take(reader.at(field.path).boolean());
  if (auto* texts = std::get_if<TextPrompts>(&reader.request.prompt); texts != nullptr && asked)
    texts->add_special = *asked;
}

ApiResult<TextPrompt> prompt_of_ids(const JsonCursor& given, int num_tokens) {
  const json::array& ids = *given.if_array();
  if (ids.empty()) return refused(given.error("found no token ids, expected at least one"));
  std::vector<TokenId> tokens;
  tokens.reserve(ids.size());
  for (std::size_t i = 0; i < ids.size(); ++i) {
    const auto id = as_integer(ids[i]);
    if (!id || *id < 0 || *id >= num_tokens)
      return refused(given[i].wrong_type(fmt::format("a token id from 0 to {}", num_tokens - 1)));
    tokens.push_back(static_cast<TokenId>(*id));
  }
  return TextPrompt{.text = std::move(tokens), .field = given.path()};
}

/// `prompt` in each of its four forms: a text, ids, or an array of one of these.
ApiResult<std::vector<TextPrompt>> read_prompts(const JsonCursor& given, int num_tokens) {
  if (!given.is_given()) return refused(given.wrong_value(kPromptForms, "missing_required_parameter"));
  std::vector<TextPrompt> prompts;
  if (const json::string* text = given.if_string()) {
    prompts.push_back({.text = std::string_view(*text), .field = given.path()});
    return prompts;
  }
  OCTAVO_TRY(const json::array* array, to_api_result(given.array(kPromptForms)));
  if (array->empty()) return refused(given.error("found an empty array, expected a prompt"));
  if (array->front().is_number()) {
    OCTAVO_TRY(prompts.emplace_back(), prompt_of_ids(given, num_tokens));
    return prompts;
  }
  for (std::size_t i = 0; i < array->size(); ++i) {
    const JsonCursor element = given[i];
    if (const json::string* text = element.if_string()) {
      prompts.push_back({.text = std::string_view(*text), .field = element.path()});
    } else if (element.if_array() != nullptr) {
      OCTAVO_TRY(prompts.emplace_back(), prompt_of_ids(element, num_tokens));
    } else {
      return refused(element.wrong_type("a string or an array of token ids"));
    }
  }
  return prompts;
}

constexpr ApiField hint(std::string_view path, std::string_view text) {
  return {.path = path, .use = FieldUse::kHint, .text = text};
}

constexpr ApiField kModelRows[] = {field::model()};

constexpr ApiField kToolRows[] = {
    {.path = "functions",
     .form = FieldForm::kArray,
     .text = "OpenAI's first form of tools",
     .take = field::take_functions},
    {.path = "function_call",
     .form = FieldForm::kStringOrObject,
     .otherwise = "\"auto\"",
     .text = "the choice among functions",
     .take = field::take_function_call},
    {.path = "tools",
     .form = FieldForm::kArray,
     .text = "functions and custom tools that the answer may call",
     .take = field::take_tools},
    {.path = "tool_choice",
     .form = FieldForm::kStringOrObject,
     .otherwise = "\"auto\"",
     .text = "\"none\", \"auto\", \"required\", or a tool",
     .take = field::take_tool_choice},
};

/// A conversation that is not answered is told of the tools alone.
constexpr ApiField kDescribedToolRows[] = {
    {.path = "functions",
     .form = FieldForm::kArray,
     .text = "OpenAI's first form of tools",
     .take = field::take_functions},
    {.path = "tools",
     .form = FieldForm::kArray,
     .text = "functions and custom tools, as the template describes them",
     .take = field::take_described_tools},
};

constexpr ApiField kConversationRows[] = {
    {.path = "messages",
     .form = FieldForm::kArray,
     .text = "what was said: objects with a role and content, and with calls of tools",
     .is_needed = true,
     .take = take_messages},
    {.path = "add_generation_prompt",
     .form = FieldForm::kBoolean,
     .otherwise = "true",
     .text = "the answer is a new message",
     .take = take_generation_prompt},
    {.path = "continue_final_message",
     .form = FieldForm::kBoolean,
     .otherwise = "false",
     .text = "the answer goes on with the last message",
     .take = take_continuation},
    {.path = "reasoning_effort",
     .form = FieldForm::kString,
     .otherwise = "the template's",
     .text = "how hard to think, for templates that know it",
     .take = take_effort},
    {.path = "chat_template_kwargs",
     .form = FieldForm::kObject,
     .text = "names that the chat template finds, such as enable_thinking",
     .take = take_kwargs},
};

constexpr std::string_view kLimit = "the most tokens of the answer; -1: until the context is full";
constexpr ApiField kChatRows[] = {
    field::length("max_tokens", "until the context is full", kLimit),
    field::length("max_completion_tokens", "as max_tokens", "OpenAI's newer name of max_tokens; the smallest counts"),
    field::length("n_predict", "as max_tokens", "llama.cpp's name of max_tokens"),
    {.path = "logprobs",
     .form = FieldForm::kBoolean,
     .otherwise = "false",
     .text = "log-probabilities of the answer's tokens",
     .take = field::take_logprobs},
    {.path = "top_logprobs",
     .form = FieldForm::kInteger,
     .min = 0,
     .max = kMaxTopLogprobs,
     .otherwise = "0",
     .text = "alternatives beside each token",
     .take = field::take_top_logprobs},
    {.path = "parallel_tool_calls",
     .form = FieldForm::kBoolean,
     .otherwise = "true",
     .text = "an answer may have several calls",
     .take = field::take_parallel_tool_calls},
    {.path = "echo",
     .form = FieldForm::kBoolean,
     .otherwise = "false",
     .use = FieldUse::kRefused,
     .text = "a chat's messages are not echoed",
     .take = refuse_echo},
    {.path = "suffix",
     .use = FieldUse::kRefused,
     .text = "this server does not support text behind the answer of a chat"},
};

constexpr ApiField kHintRows[] = {
    hint("user", "a name of whoever asks"),
    hint("metadata", "notes of the client's"),
    hint("store", "nothing is stored"),
    hint("service_tier", "there is one"),
    hint("safety_identifier", "a name of whoever asks"),
    hint("prompt_cache_key", "prompts are found cached without it"),
};

constexpr ApiField kFormatRows[] = {
    {.path = "response_format",
     .form = FieldForm::kObject,
     .otherwise = "{\"type\": \"text\"}",
     .text = "the form of the answer: text, json_object, json_schema or structural_tag",
     .take = field::take_response_format},
};

constexpr ApiField no_budget(std::string_view path) {
  return {.path = path,
          .form = FieldForm::kInteger,
          .min = -1,
          .max = field::kMaxInt,
          .otherwise = "-1",
          .use = FieldUse::kRefused,
          .text = "a completion is not looked at for reasoning",
          .take = refuse_budget};
}

constexpr ApiField kCompletionRows[] = {
    field::length("max_tokens", "16", kLimit, field::take_length_or_none),
    field::length("max_completion_tokens", "as max_tokens", "a name of max_tokens in chats; the smallest counts",
                  field::take_length_or_none),
    field::length("n_predict", "as max_tokens", "llama.cpp's name of max_tokens", field::take_length_or_none),
    {.path = "tools",
     .form = FieldForm::kArray,
     .use = FieldUse::kRefused,
     .text = "tools are called in chats alone",
     .take = field::refuse_tools},
    {.path = "tool_choice",
     .form = FieldForm::kStringOrObject,
     .use = FieldUse::kRefused,
     .text = "tools are called in chats alone",
     .take = field::refuse_tool_choice},
    {.path = "functions",
     .form = FieldForm::kArray,
     .use = FieldUse::kRefused,
     .text = "functions are called in chats alone",
     .take = field::refuse_tools},
    {.path = "function_call",
     .form = FieldForm::kStringOrObject,
     .use = FieldUse::kRefused,
     .text = "functions are called in chats alone",
     .take = field::refuse_tool_choice},
    no_budget("reasoning_budget"),
    no_budget("reasoning_budget_tokens"),
    no_budget("thinking_budget_tokens"),
    no_budget("thinking_token_budget"),
    {.path = "continue_final_message",
     .form = FieldForm::kBoolean,
     .otherwise = "false",
     .use = FieldUse::kRefused,
     .text = "a completion has no messages",
     .take = refuse_echo},
    {.path = "add_special_tokens",
     .form = FieldForm::kBoolean,
     .otherwise = "true",
     .text = "the prompt begins with the model's BOS token",
     .take = take_add_special},
};

constexpr ApiField kPromptRows[] = {
    {.path = "suffix",
     .form = FieldForm::kString,
     .text = "the text behind the answer: the prompt is that of a gap",
     .take = field::take_suffix},
    {.path = "prompt",
     .form = FieldForm::kStringOrArray,
     .text = "a text or its token ids, or an array of these",
     .is_needed = true,
     .take = field::take_prompt},
    {.path = "echo",
     .form = FieldForm::kBoolean,
     .otherwise = "false",
     .text = "the answer begins with the prompt",
     .take = into<&ApiRequest::form, &AnswerForm::echo>},
    {.path = "logprobs",
     .form = FieldForm::kInteger,
     .min = 0,
     .max = kMaxTopLogprobs,
     .otherwise = "none",
     .text = "log-probabilities, with so many alternatives beside each token",
     .take = take_logprobs_number},
};

ApiResult<ApiRequest> read_chat(const json::object& body, const ApiContext& context, ApiFields fields) {
  ApiRequest request = request_of(context.model);
  Conversation& conversation = request.prompt.emplace<Conversation>();
  request.prompt_field = "messages";
  conversation.options.names = context.model.template_names;
  FieldReader reader(body, context, request);
  reader.read(fields);
  const JsonCursor choice = reader.at("tool_choice");
  conversation.options.describe_tools = !(choice.is_given() && *choice.value() == "none") &&
                                        !(request.tools.are_functions && reader.at("function_call").is_given() &&
                                          *reader.at("function_call").value() == "none");
  if (reader.failed()) return std::unexpected(*reader.error());
  return request;
}

}  // namespace

namespace field {

void take_logprobs(FieldReader& reader, const ApiField& field) {
  const auto asked = reader.take(reader.at(field.path).boolean());
  if (asked && *asked) reader.request.form.num_logprobs = 0;
}

void take_top_logprobs(FieldReader& reader, const ApiField& field) {
  int& num_logprobs = reader.request.form.num_logprobs;
  const auto top = reader.take(reader.at(field.path).integer(0, kMaxTopLogprobs));
  if (!top) return;
  const bool is_silent = !reader.at("logprobs").is_given();
  if (num_logprobs >= 0 || (is_silent && *top > 0)) {
    num_logprobs = static_cast<int>(*top);
  } else if (!is_silent && *top > 0) {
    reader.request.warnings.push_back(
        fmt::format("top_logprobs: found {} beside logprobs false: none are given", *top));
  }
}

void take_suffix(FieldReader& reader, const ApiField& field) {
  const JsonCursor given = reader.at(field.path);
  if (!given.is_given() || (given.if_string() != nullptr && given.if_string()->empty())) return;
  const auto suffix = reader.take(given.string());
  if (suffix) reader.request.prompt = Gap{.text = {.suffix = std::string(*suffix)}};
}

void take_prompt(FieldReader& reader, const ApiField& field) {
  if (reader.failed()) return;
  const JsonCursor given = reader.at(field.path);
  if (Gap* gap = std::get_if<Gap>(&reader.request.prompt)) {
    const auto prompt = reader.take(given.string());
    if (!prompt && !reader.failed()) reader.refuse(given.wrong_value("a string", "missing_required_parameter"));
    if (prompt) gap->text.prefix = *prompt;
    return;
  }
  auto prompts = read_prompts(given, reader.context.engine.info().num_tokens);
  if (!prompts) return reader.refuse(std::move(prompts.error()));
  texts_in(reader).prompts = std::move(*prompts);
}

}  // namespace field

const FieldTable kCompletionFields = kCompletionRows;

ApiFields openai_chat_fields() {
  static const std::array tables = {FieldTable(kModelRows),
                                    kStreamFields,
                                    kSamplingFields,
                                    kUnsupportedFields,
                                    FieldTable(kFormatRows),
                                    kConstraintFields,
                                    kGrammarFields,
                                    kReasoningFields,
                                    FieldTable(kChatRows),
                                    FieldTable(kToolRows),
                                    FieldTable(kConversationRows),
                                    FieldTable(kHintRows)};
  return tables;
}

ApiFields openai_completion_fields() {
  static const std::array tables = {FieldTable(kModelRows),  kStreamFields,        kSamplingFields, kUnsupportedFields,
                                    FieldTable(kFormatRows), kConstraintFields,    kGrammarFields,  kCompletionFields,
                                    FieldTable(kPromptRows), FieldTable(kHintRows)};
  return tables;
}

ApiResult<ApiRequest> read_openai_chat(const json::object& body, const ApiContext& context) {
  OCTAVO_TRY(ApiRequest request, read_chat(body, context, openai_chat_fields()));
  const ChatTemplateOptions& options = std::get<Conversation>(request.prompt).options;
  if (!options.add_generation_prompt && !options.continue_final_message)
    return std::unexpected(
        unsupported("add_generation_prompt",
                    "add_generation_prompt: found false without continue_final_message, expected true: an answer "
                    "begins as the assistant's, or goes on with its last message"));
  return request;
}

ApiFields openai_conversation_fields() {
  static const std::array tables = {FieldTable(kModelRows), FieldTable(kDescribedToolRows),
                                    FieldTable(kConversationRows)};
  return tables;
}

ApiResult<ApiRequest> read_openai_conversation(const json::object& body, const ApiContext& context) {
  return read_chat(body, context, openai_conversation_fields());
}

ApiResult<ApiRequest> read_openai_completion(const json::object& body, const ApiContext& context) {
  ApiRequest request = request_of(context.model);
  request.prompt = TextPrompts();
  if (request.length.otherwise == 0) request.length.otherwise = kDefaultMaxTokens;
  FieldReader reader(body, context, request);
  reader.read(openai_completion_fields());
  if (reader.failed()) return std::unexpected(*reader.error());
  return request;
}

ApiResult<CompletionCall> parse_chat_completion(const json::object& body, const Engine& engine,
                                                const ServedModel& model) {
  OCTAVO_TRY(ApiRequest request, read_openai_chat(body, {.engine = engine, .model = model}));
  return prepare(std::move(request), engine, model);
}

ApiResult<CompletionCall> parse_completion(const json::object& body, const Engine& engine, const ServedModel& model) {
  OCTAVO_TRY(ApiRequest request, read_openai_completion(body, {.engine = engine, .model = model}));
  return prepare(std::move(request), engine, model);
}

}  // namespace octavo
