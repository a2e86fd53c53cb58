#include "api/vectors/rank_fields.h"

#include <fmt/format.h>

#include <array>
#include <boost/json/array.hpp>
#include <boost/json/value.hpp>
#include <utility>

#include "api/call/completion.h"
#include "api/fields/answer_fields.h"
#include "api/fields/sampling_fields.h"
#include "api/vectors/vector_fields.h"
#include "base/error.h"
#include "base/to_size.h"

namespace octavo {
namespace {

namespace json = boost::json;

/// Reads a string, or an object with a string `text`.
ApiResult<TextPrompt> read_document(const JsonCursor& given) {
  if (const json::string* text = given.if_string()) return std::string_view(*text);
  if (given.if_object() == nullptr) return refused(given.wrong_type("a string, or an object with a text"));
  OCTAVO_TRY(const std::string_view text, to_api_result(given["text"].needed_string()));
  return text;
}

void take_documents(FieldReader& reader, const ApiField& field) {
  field::take_list(reader, field, reader.request.vectors().texts, read_document);
}

void take_plain_texts(FieldReader& reader, const ApiField& field) {
  field::take_list(reader, field, reader.request.vectors().texts, field::read_text);
  reader.request.vectors().form.is_plain = reader.at(field.path).is_given();
}

void take_most_results(FieldReader& reader, const ApiField& field) {
  const auto most = reader.take(reader.at(field.path).integer_from(1));
  if (most) reader.request.vectors().form.most_results = to_size(*most);
}

constexpr std::string_view kRawScores = "raw_scores";

/// Takes a switch that, where it is off, asks for the model's own numbers.
void take_activation(FieldReader& reader, const ApiField& field) {
  const JsonCursor given = reader.at(field.path);
  const auto is_on = reader.take(given.boolean());
  if (!is_on) return;
  bool& is_raw = reader.request.vectors().form.is_raw;
  if (reader.at(kRawScores).is_given() && is_raw == *is_on)
    return reader.refuse(
        given.error(fmt::format("found {} beside {} of the same, expected one of them", *is_on, kRawScores)));
  is_raw = !*is_on;
}

void take_document_tokens(FieldReader& reader, const ApiField& field) {
  const auto most = reader.take(reader.at(field.path).integer_from(1));
  if (most)
    reader.request.vectors().max_document_tokens =
        static_cast<int>(std::min<std::int64_t>(*most, std::numeric_limits<int>::max()));
}

constexpr std::string_view kSideForms = "a string or an array of strings";

/// Takes one side of the pairs: a text, or several.
void take_side(FieldReader& reader, const ApiField& field, AskedVectors::Texts& texts) {
  const JsonCursor given = reader.at(field.path);
  if (!given.is_given()) return;
  if (!texts.texts.empty())
    return reader.refuse(given.error(fmt::format("found texts beside those of {}, expected one of them", texts.field)));
  if (const json::string* text = given.if_string()) {
    texts = {.texts = {std::string_view(*text)}, .field = field.path};
    return;
  }
  if (given.if_array() == nullptr) return reader.refuse(given.wrong_type(kSideForms));
  field::take_list(reader, field, texts, field::read_text);
}

void take_first_side(FieldReader& reader, const ApiField& field) {
  take_side(reader, field, reader.request.vectors().queries);
}
void take_second_side(FieldReader& reader, const ApiField& field) {
  take_side(reader, field, reader.request.vectors().texts);
}

constexpr ApiField activation_row() {
  return field::boolean("use_activation", "true", "false: as `raw_scores`, as in vLLM", take_activation);
}
constexpr ApiField raw_row() {
  return field::boolean(kRawScores, "false", "scores are the model's logits, not their sigmoids",
                        into<&ApiRequest::vectors, &AskedVectors::form, &VectorForm::is_raw>);
}

constexpr ApiField kRerankRows[] = {
    field::model(),
    field::needed(field::string("query", "", "what the documents are to answer", field::take_query)),
    field::array("documents", "", "texts, or objects with a `text`, 2,048 at most", take_documents),
    field::array("texts", "",
                 "TEI's name of `documents`: the answer has TEI's form, an array of `index`, `score` and `text`",
                 take_plain_texts),
    field::integer("top_n", 1, field::kNoMax, "all", "how many documents are told of, the best", take_most_results),
    field::boolean("return_documents", "false", "each result has its document",
                   into<&ApiRequest::vectors, &AskedVectors::form, &VectorForm::shows_documents>),
    field::boolean("return_text", "false", "TEI's name of `return_documents`",
                   into<&ApiRequest::vectors, &AskedVectors::form, &VectorForm::shows_documents>),
    raw_row(),
    activation_row(),
    field::truncate("false"),
    field::truncation_direction(),
    field::integer("max_tokens_per_doc", 1, field::kNoMax, "none",
                   "a document of more tokens loses its end, as Cohere has it", take_document_tokens),
    field::ignored("max_chunks_per_doc", "a document is one piece here, and not cut into several", 1),
    field::refused("rank_fields", "a document has one field here, its text"),
};

constexpr ApiField first_side(std::string_view path, std::string_view otherwise, std::string_view text) {
  return field::string_or_array(path, otherwise, text, take_first_side);
}
constexpr ApiField second_side(std::string_view path, std::string_view otherwise, std::string_view text) {
  return field::string_or_array(path, otherwise, text, take_second_side);
}

constexpr ApiField kScoreRows[] = {
    field::model(),
    first_side("text_1", "", "a text, or an array of them"),
    second_side("text_2", "",
                "the texts that `text_1` is scored with: one of it is scored with each, and several with as many"),
    first_side("queries", "as `text_1`", "vLLM's newer name of `text_1`"),
    second_side("documents", "as `text_2`", "vLLM's newer name of `text_2`"),
    second_side("items", "as `text_2`", "the same"),
    first_side("data_1", "as `text_1`", "the same as `text_1`"),
    second_side("data_2", "as `text_2`", "the same as `text_2`"),
    raw_row(),
    activation_row(),
    field::truncate("false"),
};

}  // namespace

ApiFields rerank_fields() {
  static const std::array tables = {FieldTable(kRerankRows), kTextFields};
  return tables;
}

ApiResult<ApiRequest> read_rerank(const json::object& body, const ApiContext& context) {
  OCTAVO_TRY(ApiRequest request, field::read_vectors(body, context, rerank_fields(), {.task = VectorTask::kRanks}));
  if (request.vectors().texts.texts.empty())
    return refused(JsonCursor(body)["documents"].wrong_value("an array of texts", "missing_required_parameter"));
  return request;
}

ApiFields score_fields() {
  static const std::array tables = {FieldTable(kScoreRows), kTextFields};
  return tables;
}

ApiResult<ApiRequest> read_score(const json::object& body, const ApiContext& context) {
  OCTAVO_TRY(ApiRequest request, field::read_vectors(body, context, score_fields(), {.task = VectorTask::kScores}));
  const AskedVectors::Texts &first = request.vectors().queries, &second = request.vectors().texts;
  for (const auto& [texts, name] : {std::pair(&first, "text_1"), std::pair(&second, "text_2")})
    if (texts->texts.empty())
      return refused(JsonCursor(body)[name].wrong_value(kSideForms, "missing_required_parameter"));
  const std::size_t num_first = first.texts.size(), num_second = second.texts.size();
  if (num_first != 1 && num_first != num_second)
    return refused(JsonCursor(body)[first.field].error(
        fmt::format("found {} texts, expected one, or as many as {} has: {}", num_first, second.field, num_second)));
  return request;
}

}  // namespace octavo
