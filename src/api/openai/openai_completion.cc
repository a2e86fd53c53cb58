#include "api/openai/openai_completion.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <boost/json/value.hpp>
#include <utility>

#include "api/call/picture_text.h"
#include "api/call/token_ids.h"
#include "api/call/tool_fields.h"
#include "api/fields/answer_fields.h"
#include "api/fields/constraint_fields.h"
#include "api/fields/conversation_fields.h"
#include "api/fields/draft_fields.h"
#include "api/fields/reasoning_fields.h"
#include "api/fields/resume_fields.h"
#include "api/fields/sampling_fields.h"
#include "api/prepare/prepare.h"
#include "base/error.h"
#include "base/to_size.h"

namespace octavo {
namespace {

namespace json = boost::json;

constexpr std::string_view kPromptForms =
    "a string, an object with prompt_string and multimodal_data, an array of token ids, or an array of these";

/// Takes how many alternatives each token has; false asks for no log-probabilities.
void take_logprobs_number(FieldReader& reader, const ApiField& field) {
  const JsonCursor given = reader.at(field.path);
  if (given.is_given() && *given.value() == false) return;
  const auto asked = reader.take(given.integer(0, kMaxTopLogprobs));
  if (asked) reader.request.form.num_logprobs = static_cast<int>(*asked);
}

void take_prompt_logprobs(FieldReader& reader, const ApiField& field) {
  AnswerForm& form = reader.request.form;
  const JsonCursor given = reader.at(field.path);
  const auto asked = reader.take(given.integer(0, kMaxTopLogprobs));
  if (!asked) return;
  if (!form.stream) {
    form.num_prompt_logprobs = static_cast<int>(*asked);
  } else if (*asked > 0) {  // vLLM's clients may send 0 with a stream, which has none
    reader.refuse(given.error(fmt::format("found {} beside stream true, expected none in a stream", *asked),
                              "unsupported_parameter"));
  }
}

void refuse_budget(FieldReader& reader, const ApiField& field) {
  const JsonCursor given = reader.at(field.path);
  const auto budget = reader.take(given.integer(-1, static_cast<std::int64_t>(field.max)));
  if (budget && *budget != -1)
    reader.refuse(given.error(
        fmt::format("found {}, expected none: a completion is not looked at for reasoning, a chat is", *budget),
        "unsupported_parameter"));
}

void take_add_special(FieldReader& reader, const ApiField& field) {
  const auto asked = reader.take(reader.at(field.path).boolean());
  if (auto* texts = std::get_if<TextPrompts>(&reader.request.prompt); texts != nullptr && asked)
    texts->add_special = *asked;
}

/// Reads `prompt` in each of its forms: a text, ids, a text with pictures, or an array of these. `n`: answers to each.
ApiResult<void> read_prompts(const JsonCursor& given, int n, int num_tokens, PictureReader& pictures,
                             TextPrompts& texts) {
  if (!given.is_given()) return refused(given.wrong_value(kPromptForms, "missing_required_parameter"));
  const json::array* array = given.if_array();
  if (array == nullptr && given.if_string() == nullptr && given.if_object() == nullptr)
    return refused(given.wrong_type(kPromptForms));
  if (array != nullptr && array->empty()) return refused(given.error("found an empty array, expected a prompt"));
  texts.are_listed = array != nullptr && !array->front().is_number();
  if (!texts.are_listed) {
    OCTAVO_TRY(texts.prompts.emplace_back(), read_text_prompt(given, num_tokens, pictures));
    return {};
  }
  if (array->size() * to_size(n) > to_size(kMaxAnswersOfCall))  // checked before any prompt is read
    return refused(given.error(fmt::format("found {} prompts with an n of {}, expected at most {} answers",
                                           array->size(), n, kMaxAnswersOfCall)));
  for (std::size_t i = 0; i < array->size(); ++i) {
    OCTAVO_TRY(texts.prompts.emplace_back(), read_text_prompt(given[i], num_tokens, pictures));
  }
  return {};
}

/// Reads llama.cpp's older form of pictures: they stand beside the prompt, and the text has their numbers.
void number_pictures(FieldReader& reader, PictureReader& pictures, TextPrompts& texts) {
  const JsonCursor images = reader.at("image_data");
  const json::array* list = images.if_array();
  if (!images.is_given() || (list != nullptr && list->empty())) return;
  const auto* text = texts.prompts.size() == 1 ? std::get_if<std::string_view>(&texts.prompts.front()) : nullptr;
  if (text == nullptr)
    return reader.refuse(
        images.error("found pictures beside a prompt that is no single text", "unsupported_parameter"));
  auto read = read_numbered_pictures(*text, images, pictures);
  if (!read) return reader.refuse(std::move(read.error()));
  texts.prompts.front() = std::move(*read);
}

constexpr std::string_view kAnswerLimit =
    "the most tokens of the answer; -1 and -2: until the context is full; 0: the prompt is computed, and nothing "
    "written";
constexpr ApiField no_budget(std::string_view path) {
  return field::refused(
      field::integer(path, -1, field::kMaxInt, "-1", "a completion is not looked at for reasoning", refuse_budget));
}

constexpr ApiField kCompletionRows[] = {
    field::length("max_tokens", "the server's, else 16; on llama.cpp's routes until the context is full", kAnswerLimit,
                  field::take_length_or_none),
    field::length("max_completion_tokens", "as `max_tokens`", "a name of `max_tokens` in chats; the smallest counts",
                  field::take_length_or_none),
    field::length("n_predict", "as `max_tokens`", "llama.cpp's name of `max_tokens`", field::take_length_or_none),
    field::refused(field::array("tools", "", "tools are called in chats alone", field::refuse_tools)),
    field::refused(
        field::string_or_object("tool_choice", "", "tools are called in chats alone", field::refuse_tool_choice)),
    field::refused(field::array("functions", "", "functions are called in chats alone", field::refuse_tools)),
    field::refused(
        field::string_or_object("function_call", "", "functions are called in chats alone", field::refuse_tool_choice)),
    no_budget("reasoning_budget"),
    no_budget("reasoning_budget_tokens"),
    no_budget("thinking_budget_tokens"),
    no_budget("thinking_token_budget"),
    field::refused(
        field::boolean("continue_final_message", "false", "a completion has no messages", field::refuse_switch)),
    field::refused("documents", "a completion has no chat template, which would find them"),
    field::boolean("add_special_tokens", "true", "a text begins with the model's BOS token, if it has one",
                   take_add_special),
};

constexpr ApiField kPromptRows[] = {
    field::string("suffix", "", "the text behind the answer: the prompt is that of a gap", field::take_suffix),
    field::needed(field::string_array_or_object(
        "prompt", "", "a text or its token ids, or an array of these: choice c of prompt p has the index p * `n` + c",
        field::take_prompt)),
    field::prompt_string("prompt.prompt_string"),
    field::multimodal_data("prompt.multimodal_data"),
    field::content_parts("prompt.content"),
    field::image_data(),
    field::boolean("echo", "false",
                   "the answer begins with the prompt; with `logprobs`, with its log-probabilities too",
                   into<&ApiRequest::form, &AnswerForm::echo>),
    field::integer("logprobs", 0, kMaxTopLogprobs, "none",
                   "log-probabilities, with so many alternatives beside each token", take_logprobs_number),
    field::tokens_as_ids(),
    field::integer(
        "prompt_logprobs", 0, kMaxTopLogprobs, "none",
        "each token of the prompt with its log-probability and rank, and those of so many likelier ones, as in "
        "vLLM; not in a stream",
        take_prompt_logprobs),
};

}  // namespace

ApiResult<TextPrompt> read_text_prompt(const JsonCursor& given, int num_tokens, PictureReader& pictures) {
  if (const json::string* text = given.if_string()) return std::string_view(*text);
  if (given.if_object() != nullptr) return read_picture_text(given, pictures);
  const json::array* ids = given.if_array();
  if (ids == nullptr)
    return refused(given.wrong_type("a string, an array of token ids, or an object with a prompt_string"));
  if (ids->empty()) return refused(given.error("found no token ids, expected at least one"));
  return read_token_ids(given, *ids, num_tokens);
}

namespace field {

void take_suffix(FieldReader& reader, const ApiField& field) {
  const JsonCursor given = reader.at(field.path);
  if (!given.is_given() || (given.if_string() != nullptr && given.if_string()->empty())) return;
  const auto suffix = reader.take(given.string());
  if (suffix) reader.request.prompt = Gap{.text = {.suffix = std::string(*suffix)}};
}

void take_prompt(FieldReader& reader, const ApiField& field) {
  const JsonCursor given = reader.at(field.path);
  const int num_tokens = reader.context.words.info().num_tokens;
  if (!reader.context.prompt.empty()) {
    auto* texts = std::get_if<TextPrompts>(&reader.request.prompt);
    if (texts == nullptr) return reader.refuse(given.error("found token ids beside a suffix, expected a string"));
    auto ids = check_token_ids(given, reader.context.prompt, num_tokens);
    if (!ids) return reader.refuse(std::move(ids.error()));
    texts->prompts.emplace_back(std::move(*ids));
    return;
  }
  if (Gap* gap = std::get_if<Gap>(&reader.request.prompt)) {
    const auto prompt = reader.take(given.string());
    if (!prompt && !reader.failed()) reader.refuse(given.wrong_value("a string", "missing_required_parameter"));
    if (prompt) gap->text.prefix = *prompt;
    return;
  }
  auto pictures = pictures_of(reader);
  if (!pictures) return;
  TextPrompts& texts = std::get<TextPrompts>(reader.request.prompt);
  reader.keep(read_prompts(given, reader.request.settings.num_choices, num_tokens, *pictures, texts));
  if (!reader.failed()) number_pictures(reader, *pictures, texts);
}

}  // namespace field

const FieldTable kCompletionFields = kCompletionRows;

ApiFields openai_completion_fields() {
  static const std::array tables = {
      kModelFields,   kStreamFields,     kSamplingFields, kChoiceFields,     kUnsupportedFields,      kDraftFields,
      kFormatFields,  kConstraintFields, kGrammarFields,  kCompletionFields, FieldTable(kPromptRows), kNoThinkingFields,
      kPictureFields, kResumeFields,     kHintFields};
  return tables;
}

ApiResult<ApiRequest> read_openai_completion(const json::object& body, const ApiContext& context) {
  ApiRequest request = request_of(context.model);
  request.prompt = TextPrompts();
  if (request.length.otherwise == 0) request.length.otherwise = kDefaultMaxTokens;
  return read_request(std::move(request), body, context, openai_completion_fields());
}

ApiResult<CompletionCall> parse_completion(const json::object& body, const ModelText& words, const ServedModel& model) {
  OCTAVO_TRY(ApiRequest request, read_openai_completion(body, {.words = words, .model = model}));
  return prepare(std::move(request), words, model);
}

}  // namespace octavo
