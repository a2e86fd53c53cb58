#include "api/vectors/cohere_fields.h"

#include <algorithm>
#include <array>
#include <utility>

#include "api/call/completion.h"
#include "api/fields/answer_fields.h"
#include "api/fields/sampling_fields.h"
#include "api/vectors/vector_fields.h"
#include "base/error.h"
#include "base/joined.h"

namespace octavo {
namespace {

namespace json = boost::json;

struct Kind {
  std::string_view name;
  VectorKind kind;
};
constexpr Kind kKinds[] = {{"float", VectorKind::kFloat},
                           {"base64", VectorKind::kBase64},
                           {"binary", VectorKind::kBinary},
                           {"ubinary", VectorKind::kUbinary}};
constexpr std::string_view kCuts[] = {"END", "NONE", "START"};

void take_texts(FieldReader& reader, const ApiField& field) {
  field::take_list(reader, field, reader.request.vectors().texts, field::read_text);
}

/// Reads the only part of a content, which must be a text.
ApiResult<TextPrompt> read_content(const JsonCursor& given) {
  OCTAVO_TRY(const json::array* parts, to_api_result(given["content"].array("an array of one part")));
  if (parts == nullptr || parts->size() != 1)
    return refused(given["content"].wrong_value("an array of one part, a text"));
  const JsonCursor part = given["content"][0];
  OCTAVO_TRY(const std::string_view type, to_api_result(part["type"].needed_string()));
  if (type != "text") return refused(part["type"].wrong_value("text", "unsupported_parameter"));
  return field::read_text(part["text"]);
}

void take_contents(FieldReader& reader, const ApiField& field) {
  field::take_list(reader, field, reader.request.vectors().texts, read_content);
}

void take_kinds(FieldReader& reader, const ApiField& field) {
  const JsonCursor given = reader.at(field.path);
  const json::array* array = reader.take(given.array("an array of strings"));
  if (array == nullptr) return;
  std::vector<VectorKind>& kinds = reader.request.vectors().form.kinds;
  for (std::size_t i = 0; i < array->size() && !reader.failed(); ++i) {
    const std::string_view name = reader.take(given[i].string()).value_or("");
    const auto* const found = std::ranges::find(kKinds, name, &Kind::name);
    if (found == std::end(kKinds)) return reader.refuse(given[i].wrong_value(joined(kKinds, &Kind::name)));
    if (std::ranges::find(kinds, found->kind) == kinds.end()) kinds.push_back(found->kind);
  }
}

void take_cut(FieldReader& reader, const ApiField& field) {
  const JsonCursor given = reader.at(field.path);
  const auto side = reader.take(given.string());
  if (!side) return;
  if (std::ranges::find(kCuts, *side) == std::end(kCuts))
    return reader.refuse(given.wrong_value(joined(kCuts, std::identity())));
  if (*side == "START")
    return reader.refuse(given.error("found START, expected END or NONE: it is the end of a long text that is cut",
                                     "unsupported_parameter"));
  reader.request.vectors().cuts = *side == "END";
}

void take_max_tokens(FieldReader& reader, const ApiField& field) {
  if (const auto most = reader.take(reader.at(field.path).integer_from(1)))
    field::note_most_tokens(reader, field, *most);
}

constexpr ApiField kRows[] = {
    field::model(),
    field::array("texts", "", "texts, 2,048 at most", take_texts),
    field::array("inputs", "", "the same as objects whose `content` is an array of one part, a text", take_contents),
    field::input_type(),
    field::strings("embedding_types", "floats; of /v1/embed in no object",
                   "`float`, `base64`, `binary` and `ubinary`, each a list of its own; `int8` and `uint8` are refused: "
                   "their ranges would have to be measured on other texts",
                   take_kinds),
    field::one_of("truncate", kCuts, "END",
                  "END: a text that is longer than the context loses its end; NONE: it is refused; START is refused",
                  take_cut),
    field::dimensions("output_dimension"),
    field::integer("max_tokens", 1, field::kNoMax, "the context", "a longer text loses its end", take_max_tokens),
    field::prompt_name(),
    field::priority(),
    field::refused("images", "the model reads text"),
};

}  // namespace

ApiFields cohere_embed_fields() {
  static const std::array tables = {FieldTable(kRows)};
  return tables;
}

ApiResult<ApiRequest> read_cohere_embed(const json::object& body, const ApiContext& context) {
  ApiRequest request;  // a new request, without settings for sampling
  request.prompt = AskedVectors{.cuts = true, .form = {.shows_documents = true}};
  OCTAVO_TRY(request, read_request(std::move(request), body, context, cohere_embed_fields()));
  if (request.vectors().texts.texts.empty())
    return refused(JsonCursor(body)["texts"].wrong_value("an array of texts", "missing_required_parameter"));
  return request;
}

std::string_view vector_kind_name(VectorKind kind) { return std::ranges::find(kKinds, kind, &Kind::kind)->name; }

}  // namespace octavo
