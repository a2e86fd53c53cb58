#include "api/openai_completion.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <boost/json/value.hpp>
#include <utility>

#include "api/answer_fields.h"
#include "api/constraint_fields.h"
#include "api/prepare.h"
#include "api/sampling_fields.h"
#include "api/tool_fields.h"
#include "base/error.h"

namespace octavo {
namespace {

namespace json = boost::json;

constexpr std::string_view kPromptForms =
    "a string, an array of strings, an array of token ids, or an array of arrays of token ids";

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

constexpr std::string_view kAnswerLimit =
    "the most tokens of the answer; -1 and -2: until the context is full; 0: the prompt is computed, and nothing "
    "written";
constexpr ApiField kNamedModelRows[] = {field::model()};

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
    field::length("max_tokens", "the server's, else 16; on llama.cpp's routes until the context is full", kAnswerLimit,
                  field::take_length_or_none),
    field::length("max_completion_tokens", "as `max_tokens`", "a name of `max_tokens` in chats; the smallest counts",
                  field::take_length_or_none),
    field::length("n_predict", "as `max_tokens`", "llama.cpp's name of `max_tokens`", field::take_length_or_none),
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
     .take = field::refuse_switch},
    {.path = "add_special_tokens",
     .form = FieldForm::kBoolean,
     .otherwise = "true",
     .text = "a text begins with the model's BOS token, if it has one",
     .take = take_add_special},
};

constexpr ApiField kPromptRows[] = {
    {.path = "suffix",
     .form = FieldForm::kString,
     .text = "the text behind the answer: the prompt is that of a gap",
     .take = field::take_suffix},
    {.path = "prompt",
     .form = FieldForm::kStringOrArray,
     .text = "a text or its token ids, or an array of these: choice c of prompt p has the index p * `n` + c",
     .is_needed = true,
     .take = field::take_prompt},
    {.path = "echo",
     .form = FieldForm::kBoolean,
     .otherwise = "false",
     .text = "the answer begins with the prompt; with `logprobs`, with its log-probabilities too",
     .take = into<&ApiRequest::form, &AnswerForm::echo>},
    {.path = "logprobs",
     .form = FieldForm::kInteger,
     .min = 0,
     .max = kMaxTopLogprobs,
     .otherwise = "none",
     .text = "log-probabilities, with so many alternatives beside each token",
     .take = take_logprobs_number},
};

}  // namespace

namespace field {

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

ApiFields openai_completion_fields() {
  static const std::array tables = {
      FieldTable(kNamedModelRows), kStreamFields,           kSamplingFields,   kChoiceFields,
      kUnsupportedFields,          kFormatFields,           kConstraintFields, kGrammarFields,
      kCompletionFields,           FieldTable(kPromptRows), kHintFields};
  return tables;
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

ApiResult<CompletionCall> parse_completion(const json::object& body, const Engine& engine, const ServedModel& model) {
  OCTAVO_TRY(ApiRequest request, read_openai_completion(body, {.engine = engine, .model = model}));
  return prepare(std::move(request), engine, model);
}

}  // namespace octavo
