#include "api/vectors/vector_fields.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <boost/json/value.hpp>

#include "api/call/completion.h"
#include "api/fields/answer_fields.h"
#include "api/fields/conversation_fields.h"
#include "api/fields/sampling_fields.h"
#include "api/ollama/ollama_request.h"
#include "api/openai/openai_completion.h"
#include "base/error.h"
#include "base/joined.h"

namespace octavo {
namespace {

namespace json = boost::json;

constexpr std::string_view kForms =
    "a string, an array of token ids, an object with a content or a prompt_string, or an array of these";
constexpr int kMaxNorm = 16;  // powers of a float's largest are finite up to it

/// Reads a text, ids, or an array of one of these. A field that is not needed may be left out.
ApiResult<void> read_texts(const JsonCursor& given, const ApiField& field, int num_tokens, PictureReader& pictures,
                           AskedVectors::Texts& texts) {
  const json::string* const text = given.if_string();
  const json::array* const array = given.if_array();
  const bool has_none = !given.is_given() || (text != nullptr && text->empty()) || (array != nullptr && array->empty());
  if (has_none && !field.is_needed && (array != nullptr || text != nullptr || !given.is_given())) return {};
  if (!given.is_given()) return refused(given.wrong_value(kForms, "missing_required_parameter"));
  if (array == nullptr && text == nullptr && given.if_object() == nullptr) return refused(given.wrong_type(kForms));
  if (array != nullptr && array->empty()) return refused(given.error("found an empty array, expected a text"));
  texts.are_listed = array != nullptr && !array->front().is_number();
  texts.field = field.path;
  if (!texts.are_listed) {
    OCTAVO_TRY(texts.texts.emplace_back(), read_text_prompt(given, num_tokens, pictures));
    return {};
  }
  OCTAVO_TRY_VOID(field::check_num_texts(given, array->size()));
  for (std::size_t i = 0; i < array->size(); ++i) {
    OCTAVO_TRY(texts.texts.emplace_back(), read_text_prompt(given[i], num_tokens, pictures));
  }
  return {};
}

void take_texts(FieldReader& reader, const ApiField& field) {
  AskedVectors::Texts& texts = reader.request.vectors().texts;
  const JsonCursor given = reader.at(field.path);
  if (given.is_given() && !texts.texts.empty())
    return reader.refuse(given.error(fmt::format("found texts beside those of {}, expected one of them", texts.field)));
  auto pictures = pictures_of(reader);
  if (pictures) reader.keep(read_texts(given, field, reader.context.words.info().num_tokens, *pictures, texts));
}

/// Takes the only text of ollama's older call.
void take_text(FieldReader& reader, const ApiField& field) {
  const auto text = reader.take(reader.at(field.path).string());
  if (!text || text->empty()) return;
  reader.request.vectors().texts = {.texts = {*text}, .field = field.path};
}

void take_encoding(FieldReader& reader, const ApiField& field) {
  const JsonCursor given = reader.at(field.path);
  const auto name = reader.take(given.string());
  if (!name) return;
  if (*name != "float" && *name != "base64") return reader.refuse(given.wrong_value("float or base64"));
  reader.request.vectors().form.kinds = {*name == "base64" ? VectorKind::kBase64 : VectorKind::kFloat};
}

void take_norm(FieldReader& reader, const ApiField& field) {
  const JsonCursor given = reader.at(field.path);
  const auto norm = reader.take(given.integer(-1, kMaxNorm));
  if (!norm) return;
  std::optional<int>& settled = reader.request.vectors().form.norm;
  if (settled && settled != static_cast<int>(*norm))
    return reader.refuse(
        given.error(fmt::format("found {} beside a normalize that means {}, expected one of them", *norm, *settled)));
  settled = static_cast<int>(*norm);
}

constexpr std::string_view kEncodings[] = {"float", "base64"};
constexpr std::string_view kTexts =
    "a text, its token ids, or parts with pictures, or an array of these, 2,048 at most";

constexpr ApiField input_row(std::string_view path, std::string_view otherwise, std::string_view text = kTexts) {
  return field::string_array_or_object(path, otherwise, text, take_texts);
}
constexpr ApiField encoding_row() {
  return field::one_of("encoding_format", kEncodings, "float",
                       "numbers, or the bytes of little-endian 32-bit floats in base64", take_encoding);
}
constexpr ApiField norm_row() {
  return field::integer("embd_normalize", -1, kMaxNorm, "the server's, else 2",
                        "what a vector is divided by, as in llama.cpp: 2: its length; 1: the sum of its magnitudes; 0: "
                        "the largest, over 32760; p above 2: its p-norm; -1: nothing",
                        take_norm);
}
constexpr ApiField normalize_row() {
  return field::boolean("normalize", "true", "vectors have the length 1; false: as the model gives them",
                        field::take_normalize);
}
constexpr ApiField kTextRows[] = {
    field::integer("truncate_prompt_tokens", AskedVectors::kToTheContext, field::kNoMax, "none",
                   "a longer text loses its end, as in vLLM: what is left has so many tokens; -1: as many as the "
                   "context",
                   field::take_most_tokens),
    field::priority(),
    field::deadline(),
    field::cache_salt(),
    field::hint("user", "a name of whoever asks"),
};

constexpr ApiField kAddSpecialRow =
    field::boolean("add_special_tokens", "true", "the tokens that the model's makers put around a text",
                   into<&ApiRequest::vectors, &AskedVectors::add_special>);

constexpr ApiField kOpenAiRows[] = {
    field::model(),
    field::needed(input_row("input", "")),
    field::content_parts("input.content"),
    encoding_row(),
    field::dimensions(),
    normalize_row(),
    norm_row(),
    kAddSpecialRow,
    field::truncate("false"),
    field::input_type(),
    field::prompt_name(),
};

constexpr ApiField kLlamaRows[] = {
    field::model(),
    input_row("content", "", "a text or its token ids, or an array of these, 2,048 at most"),
    field::prompt_string("content.prompt_string"),
    field::multimodal_data("content.multimodal_data"),
    input_row("input", "as `content`", "OpenAI's name of `content`"),
    encoding_row(),
    norm_row(),
    kAddSpecialRow,
    field::truncate("false"),
    field::prompt_name(),
};

constexpr ApiField kOllamaOptionRows[] = {
    field::named_by_tag(),
    field::keep_alive(),
    field::object("options", "", "settings of a model, of which none changes a vector", check_object),
    field::hint("options.num_ctx", "the context is the server's"),
};

constexpr ApiField kOllamaEmbedRows[] = {
    input_row("input", "none: the model is loaded"),
    field::truncate("true"),
    field::dimensions(),
};

constexpr ApiField kOllamaEmbeddingRows[] = {
    field::string("prompt", "none: the model is loaded", "a text", take_text),
};

constexpr ApiField kTeiRows[] = {
    field::model(),           field::needed(input_row("inputs", "")), normalize_row(),
    field::truncate("false"), field::truncation_direction(),          field::dimensions(),
    field::prompt_name(),
};

constexpr ApiField kTeiAllRows[] = {
    field::model(),           field::needed(input_row("inputs", "")),
    field::truncate("false"), field::truncation_direction(),
    field::prompt_name(),
};

void take_sentences(FieldReader& reader, const ApiField& field) {
  field::take_list(reader, field, reader.request.vectors().texts, field::read_text);
}

constexpr ApiField kTeiSimilarityRows[] = {
    field::model(),
    field::needed(field::object("inputs", "", "the texts", check_object)),
    field::needed(
        field::string("inputs.source_sentence", "", "the text that others are compared with", field::take_query)),
    field::needed(field::array("inputs.sentences", "", "the others, 2,048 at most", take_sentences)),
    field::object("parameters", "", "settings", check_object),
    field::truncate("false", "parameters.truncate"),
    field::truncation_direction("parameters.truncation_direction"),
    field::prompt_name("parameters.prompt_name"),
};

}  // namespace

namespace field {

namespace {

/// The names that makers of models give to the prompt for a kind of text; a model has one of these, or none.
constexpr std::string_view kQueries[] = {"search_query", "query", "retrieval.query", "Retrieval-query"};
constexpr std::string_view kDocuments[] = {"search_document", "document",          "passage",
                                           "corpus",          "retrieval.passage", "Retrieval-document"};
constexpr std::string_view kClassifications[] = {"classification", "Classification"};
constexpr std::string_view kClusterings[] = {"clustering", "Clustering", "separation"};
struct TextType {
  std::string_view name;  // the name of the kind, in Cohere's API or in another
  std::span<const std::string_view> prompts;
};
constexpr TextType kTextTypes[] = {{"search_query", kQueries},
                                   {"search_document", kDocuments},
                                   {"classification", kClassifications},
                                   {"clustering", kClusterings},
                                   {"query", kQueries},
                                   {"document", kDocuments},
                                   {"passage", kDocuments}};

}  // namespace

ApiResult<ApiRequest> read_vectors(const json::object& body, const ApiContext& context, ApiFields fields,
                                   AskedVectors vectors) {
  ApiRequest request;  // a new request, without settings for sampling
  request.prompt = std::move(vectors);
  return read_request(std::move(request), body, context, fields);
}

ApiResult<void> check_num_texts(const JsonCursor& given, std::size_t count) {
  if (count <= kMaxTexts) return {};
  return refused(given.error(fmt::format("found {} texts, expected at most {}", count, kMaxTexts)));
}

void note_most_tokens(FieldReader& reader, const ApiField& field, std::int64_t most) {
  const std::int64_t bounded = std::min<std::int64_t>(most, std::numeric_limits<int>::max());
  reader.request.vectors().max_tokens =
      AskedVectors::MaxTokens{.tokens = static_cast<int>(bounded), .field = field.path};
}

void take_most_tokens(FieldReader& reader, const ApiField& field) {
  const JsonCursor given = reader.at(field.path);
  const auto most = reader.take(given.integer_from(AskedVectors::kToTheContext));
  if (!most) return;
  if (*most == 0) return reader.refuse(given.wrong_value("an integer from 1, or -1"));
  note_most_tokens(reader, field, *most);
}

void take_normalize(FieldReader& reader, const ApiField& field) {
  const auto normalizes = reader.take(reader.at(field.path).boolean());
  if (normalizes) reader.request.vectors().form.norm = *normalizes ? 2 : -1;
}

void take_dimensions(FieldReader& reader, const ApiField& field) {
  const auto count = reader.take(reader.at(field.path).integer(1, std::numeric_limits<int>::max()));
  if (!count) return;
  reader.request.vectors().form.dimensions = static_cast<int>(*count);
  reader.request.vectors().dimensions_field = field.path;
}

void take_prompt_name(FieldReader& reader, const ApiField& field) {
  const JsonCursor given = reader.at(field.path);
  const auto name = reader.take(given.string());
  if (!name) return;
  const std::string_view other = reader.request.vectors().prompt_field;
  if (!other.empty())
    return reader.refuse(given.error(fmt::format("found a name beside {}, expected one of them", other)));
  const auto words = reader.context.words.info().embedding.prompt_text(std::string(*name));
  if (!words) return reader.refuse(given.error(words.error().message));
  reader.request.vectors().prompt_name = std::string(*name);
  reader.request.vectors().prompt_field = field.path;
}

void take_input_type(FieldReader& reader, const ApiField& field) {
  const JsonCursor given = reader.at(field.path);
  const auto type = reader.take(given.string());
  if (!type) return;
  const auto known = std::ranges::find(kTextTypes, *type, &TextType::name);
  if (known == std::end(kTextTypes))
    return reader.refuse(given.wrong_value("one of " + joined(kTextTypes, &TextType::name)));
  reader.request.vectors().prompt_field = field.path;
  const std::vector<NamedPrompt>& prompts = reader.context.words.info().embedding.prompts;
  for (const std::string_view name : known->prompts) {
    if (std::ranges::find(prompts, name, &NamedPrompt::name) == prompts.end()) continue;
    reader.request.vectors().prompt_name = std::string(name);
    return;
  }
}

void take_query(FieldReader& reader, const ApiField& field) {
  const JsonCursor given = reader.at(field.path);
  const auto text = reader.take(given.string());
  if (!text && !reader.failed()) reader.refuse(given.wrong_value("a string", "missing_required_parameter"));
  if (text) reader.request.vectors().queries = {.texts = {*text}, .field = field.path};
}

ApiResult<TextPrompt> read_text(const JsonCursor& given) {
  OCTAVO_TRY(const std::string_view text, to_api_result(given.needed_string()));
  return text;
}

void take_direction(FieldReader& reader, const ApiField& field) {
  const JsonCursor given = reader.at(field.path);
  const auto side = reader.take(given.string());
  if (!side) return;
  const bool is_left = *side == "Left" || *side == "left";
  if (!is_left && *side != "Right" && *side != "right") return reader.refuse(given.wrong_value("Left or Right"));
  if (is_left && reader.request.vectors().cuts)
    reader.refuse(
        given.error("found Left, expected Right: it is the end of a long text that is cut", "unsupported_parameter"));
}

}  // namespace field

const FieldTable kTextFields = kTextRows;

ApiFields openai_embedding_fields() {
  static const std::array tables = {FieldTable(kOpenAiRows), kTextFields, kPictureFields};
  return tables;
}
ApiFields llama_embedding_fields() {
  static const std::array tables = {FieldTable(kLlamaRows), kTextFields, kPictureFields};
  return tables;
}
ApiFields ollama_embed_fields() {
  static const std::array tables = {FieldTable(kOllamaOptionRows), FieldTable(kOllamaEmbedRows)};
  return tables;
}
ApiFields ollama_embedding_fields() {
  static const std::array tables = {FieldTable(kOllamaOptionRows), FieldTable(kOllamaEmbeddingRows)};
  return tables;
}
ApiFields tei_embed_fields() {
  static constexpr FieldTable kTables[] = {kTeiRows};
  return kTables;
}

ApiFields tei_embed_all_fields() {
  static constexpr FieldTable kTables[] = {kTeiAllRows};
  return kTables;
}
ApiFields tei_similarity_fields() {
  static constexpr FieldTable kTables[] = {kTeiSimilarityRows};
  return kTables;
}

ApiResult<ApiRequest> read_openai_embedding(const json::object& body, const ApiContext& context) {
  return field::read_vectors(body, context, openai_embedding_fields(), {.takes_base64 = true});
}

ApiResult<ApiRequest> read_llama_embedding(const json::object& body, const ApiContext& context) {
  OCTAVO_TRY(ApiRequest request, field::read_vectors(body, context, llama_embedding_fields(),
                                                     {.takes_rows_of_tokens = true, .takes_base64 = true}));
  if (request.vectors().texts.texts.empty())
    return refused(JsonCursor(body)["content"].wrong_value(kForms, "missing_required_parameter"));
  return request;
}

ApiResult<ApiRequest> read_ollama_embed(const json::object& body, const ApiContext& context) {
  return field::read_vectors(body, context, ollama_embed_fields(), {.cuts = true});
}

ApiResult<ApiRequest> read_ollama_embedding(const json::object& body, const ApiContext& context) {
  return field::read_vectors(body, context, ollama_embedding_fields(), {.cuts = true});
}

ApiResult<ApiRequest> read_tei_embed(const json::object& body, const ApiContext& context) {
  return field::read_vectors(body, context, tei_embed_fields(), {});
}

ApiResult<ApiRequest> read_tei_embed_all(const json::object& body, const ApiContext& context) {
  return field::read_vectors(body, context, tei_embed_all_fields(),
                             {.pools_nothing = true, .takes_rows_of_tokens = true});
}

ApiResult<ApiRequest> read_tei_similarity(const json::object& body, const ApiContext& context) {
  OCTAVO_TRY(ApiRequest request,
             field::read_vectors(body, context, tei_similarity_fields(), {.task = VectorTask::kComparisons}));
  if (request.vectors().texts.texts.empty())
    return refused(
        JsonCursor(body)["inputs"]["sentences"].wrong_value("an array of texts", "missing_required_parameter"));
  return request;
}

}  // namespace octavo
