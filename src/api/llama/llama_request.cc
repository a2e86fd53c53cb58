#include "api/llama/llama_request.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <boost/json/array.hpp>
#include <boost/json/value.hpp>
#include <utility>

#include "api/call/completion.h"
#include "api/fields/answer_fields.h"
#include "api/fields/constraint_fields.h"
#include "api/fields/conversation_fields.h"
#include "api/fields/draft_fields.h"
#include "api/fields/reasoning_fields.h"
#include "api/fields/sampling_fields.h"
#include "api/openai/openai_completion.h"
#include "base/error.h"

namespace octavo {
namespace {

namespace json = boost::json;

constexpr std::size_t kMaxFiles = 256;

InfillText& gap_in(FieldReader& reader) { return std::get<Gap>(reader.request.prompt).text; }

/// Takes the number of alternatives for each token; llama.cpp gives any number.
void take_num_probs(FieldReader& reader, const ApiField& field) {
  const std::int64_t asked = reader.take(reader.at(field.path).integer_from(0)).value_or(0);
  if (asked > kMaxTopLogprobs)
    reader.request.warnings.push_back(fmt::format("{}: found {}, cut to {}", field.path, asked, kMaxTopLogprobs));
  if (asked > 0) reader.request.form.num_logprobs = static_cast<int>(std::min<std::int64_t>(asked, kMaxTopLogprobs));
}

void refuse_post_sampling(FieldReader& reader, const ApiField& field) {
  const JsonCursor given = reader.at(field.path);
  if (reader.take(given.boolean()).value_or(false) && reader.request.form.num_logprobs >= 0)
    reader.refuse(given.error(field.text, "unsupported_parameter"));
}

void take_only_answer(FieldReader& reader, const ApiField& field) {
  const JsonCursor given = reader.at(field.path);
  if (reader.take(given.integer(1, kMaxChoices)).value_or(1) > 1)
    reader.refuse(given.error(field.text, "unsupported_parameter"));
}

void take_only_prompt(FieldReader& reader, const ApiField& field) {
  const JsonCursor given = reader.at(field.path);
  const json::array* several = given.if_array();
  if (several != nullptr && !several->empty() && !several->front().is_number())
    return reader.refuse(
        given[0].error("one prompt is answered here; /v1/completions takes several", "unsupported_parameter"));
  field::take_prompt(reader, field);
}

std::optional<std::string_view> take_needed_text(FieldReader& reader, const ApiField& field) {
  const JsonCursor given = reader.at(field.path);
  const auto text = reader.take(given.string());
  if (!text && !reader.failed()) reader.refuse(given.wrong_value("a string", "missing_required_parameter"));
  return text;
}

void take_prefix(FieldReader& reader, const ApiField& field) {
  if (const auto text = take_needed_text(reader, field)) gap_in(reader).prefix = *text;
}
void take_text_behind_prefix(FieldReader& reader, const ApiField& field) {
  if (const auto text = reader.take(reader.at(field.path).string())) gap_in(reader).prefix += *text;
}
void take_input_suffix(FieldReader& reader, const ApiField& field) {
  if (const auto text = take_needed_text(reader, field)) gap_in(reader).suffix = *text;
}

ApiResult<std::vector<InfillText::File>> read_files(const JsonCursor& extra) {
  const std::string expected = fmt::format("an array of at most {} files", kMaxFiles);
  OCTAVO_TRY(const json::array* given, to_api_result(extra.array(expected)));
  std::vector<InfillText::File> files;
  if (given == nullptr) return files;
  if (given->size() > kMaxFiles) return refused(extra.wrong_type(expected));
  for (std::size_t i = 0; i < given->size(); ++i) {
    const JsonCursor file = extra[i];
    OCTAVO_TRY_VOID(to_api_result(file.needed_object("a file (an object)")));
    OCTAVO_TRY(const auto name, to_api_result(file["filename"].string()));
    OCTAVO_TRY(const auto text, to_api_result(file["text"].string()));
    if (!text) return refused(file["text"].wrong_value("a string", "missing_required_parameter"));
    files.push_back({.name = std::string(name.value_or("tmp")), .text = std::string(*text)});
  }
  return files;
}

void take_files(FieldReader& reader, const ApiField& field) {
  auto files = read_files(reader.at(field.path));
  if (!files) return reader.refuse(std::move(files.error()));
  gap_in(reader).files = std::move(*files);
}

constexpr ApiField kAnswerRows[] = {
    field::model(),
    field::integer(
        "n_probs", 0, field::kNoMax, "0",
        "alternatives beside each token, with their log-probabilities; beyond 20 they are cut, with a warning",
        take_num_probs),
    field::refused(field::boolean("post_sampling_probs", "false",
                                  "n_probs are those of the model's own distribution here", refuse_post_sampling)),
    field::boolean("return_tokens", "false",
                   "the answer has all tokens that were generated in `tokens`; a stream's pieces always have theirs",
                   into<&ApiRequest::form, &AnswerForm::return_token_ids>),
    field::refused("prompt_logprobs", "/v1/completions has them"),
    field::refused("return_tokens_as_token_ids", "n_probs has the id of each token beside its text"),
    field::refused(field::boolean("echo", "false", "/v1/completions has it", field::refuse_switch)),
    field::refused(field::integer("n", 1, kMaxChoices, "1", "one answer is given here; /v1/completions has more",
                                  take_only_answer)),
};

constexpr ApiField kPromptRows[] = {
    field::refused("suffix", "/infill fills gaps, with the text behind one as input_suffix"),
    field::needed(field::string_array_or_object("prompt", "", "a text, its token ids, or a text with pictures",
                                                take_only_prompt)),
    field::prompt_string("prompt.prompt_string"),
    field::multimodal_data("prompt.multimodal_data"),
    field::content_parts("prompt.content"),
    field::image_data(),
};

constexpr ApiField kGapRows[] = {
    field::refused("image_data", "a gap has no pictures"),
    field::needed(field::string("input_prefix", "", "the text in front of the gap", take_prefix)),
    field::string("prompt", "", "more of the text in front of the gap, behind `input_prefix`", take_text_behind_prefix),
    field::needed(field::string("input_suffix", "", "the text behind the gap", take_input_suffix)),
    field::array("input_extra", "", "other files, each a `filename` and a `text`, at most 256", take_files),
    field::string("input_extra[].filename", "tmp", "a file's name"),
    field::needed(field::string("input_extra[].text", "", "a file's text")),
};

ApiResult<ApiRequest> read(const json::object& body, const ApiContext& context, ApiFields fields,
                           decltype(ApiRequest::prompt) prompt, std::string_view prompt_field) {
  ApiRequest request = request_of(context.model);
  request.prompt = std::move(prompt);
  request.prompt_field = prompt_field;
  return read_request(std::move(request), body, context, fields);
}

}  // namespace

ApiFields llama_completion_fields() {
  static const std::array tables = {FieldTable(kAnswerRows), kUnsupportedFields,      kDraftFields,
                                    kStreamFields,           kSamplingFields,         kFormatFields,
                                    kConstraintFields,       kGrammarFields,          kCompletionFields,
                                    kNoThinkingFields,       FieldTable(kPromptRows), kPictureFields};
  return tables;
}

ApiResult<ApiRequest> read_llama_completion(const json::object& body, const ApiContext& context) {
  return read(body, context, llama_completion_fields(), TextPrompts(), "prompt");
}

ApiFields llama_infill_fields() {
  static const std::array tables = {FieldTable(kAnswerRows), kUnsupportedFields, kDraftFields,        kStreamFields,
                                    kSamplingFields,         kFormatFields,      kConstraintFields,   kGrammarFields,
                                    kCompletionFields,       kNoThinkingFields,  FieldTable(kGapRows)};
  return tables;
}

ApiResult<ApiRequest> read_llama_infill(const json::object& body, const ApiContext& context) {
  return read(body, context, llama_infill_fields(), Gap{.field = "input_suffix"}, "input_prefix");
}

}  // namespace octavo
