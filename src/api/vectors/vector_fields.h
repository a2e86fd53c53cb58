// The fields of calls for vectors of texts: those of OpenAI with vLLM's, those of llama.cpp and ollama, and those of
// Hugging Face's server for embeddings (TEI).
//
// Constants; any thread.
#pragma once

#include <boost/json/array.hpp>
#include <limits>
#include <string>
#include <utility>

#include "api/call/api_field.h"

namespace octavo {

/// The fields of POST /v1/embeddings, /embedding and /embeddings, /api/embed, /api/embeddings; /embed, /embed_all and
/// /similarity.
ApiFields openai_embedding_fields();
ApiFields llama_embedding_fields();
ApiFields ollama_embed_fields();
ApiFields ollama_embedding_fields();
ApiFields tei_embed_fields();
ApiFields tei_embed_all_fields();
ApiFields tei_similarity_fields();

ApiResult<ApiRequest> read_openai_embedding(const boost::json::object& body, const ApiContext& context);
ApiResult<ApiRequest> read_llama_embedding(const boost::json::object& body, const ApiContext& context);
ApiResult<ApiRequest> read_ollama_embed(const boost::json::object& body, const ApiContext& context);
ApiResult<ApiRequest> read_ollama_embedding(const boost::json::object& body, const ApiContext& context);
ApiResult<ApiRequest> read_tei_embed(const boost::json::object& body, const ApiContext& context);
ApiResult<ApiRequest> read_tei_embed_all(const boost::json::object& body, const ApiContext& context);
ApiResult<ApiRequest> read_tei_similarity(const boost::json::object& body, const ApiContext& context);

namespace field {

/// Reads a request for vectors, or for what is made of them.
ApiResult<ApiRequest> read_vectors(const boost::json::object& body, const ApiContext& context, ApiFields fields,
                                   AskedVectors vectors);
/// Checks the number of texts. Error: there are too many; the error's place is the whole field.
ApiResult<void> check_num_texts(const JsonCursor& given, std::size_t count);
/// Cuts texts to `most` tokens, as the field says.
void note_most_tokens(FieldReader& reader, const ApiField& field, std::int64_t most);
void take_most_tokens(FieldReader& reader, const ApiField& field);
/// Takes the one text that others are compared with, which must be there.
void take_query(FieldReader& reader, const ApiField& field);
void take_normalize(FieldReader& reader, const ApiField& field);
void take_direction(FieldReader& reader, const ApiField& field);
void take_prompt_name(FieldReader& reader, const ApiField& field);
void take_input_type(FieldReader& reader, const ApiField& field);
void take_dimensions(FieldReader& reader, const ApiField& field);

inline constexpr std::string_view kDirections[] = {"Left", "Right", "left", "right"};

/// Reads a list of texts into `texts`, each by `read_one`.
template <class ReadOne>
void take_list(FieldReader& reader, const ApiField& field, AskedVectors::Texts& texts, const ReadOne& read_one) {
  const JsonCursor given = reader.at(field.path);
  const boost::json::array* list = reader.take(given.array("an array of texts"));
  if (list == nullptr) return;
  if (!texts.texts.empty())
    return reader.refuse(
        given.error("found texts beside those of " + std::string(texts.field) + ", expected one of them"));
  if (list->empty()) return reader.refuse(given.error("found an empty array, expected a text"));
  reader.keep(check_num_texts(given, list->size()));
  texts = {.field = field.path, .are_listed = true};
  for (std::size_t i = 0; i < list->size() && !reader.failed(); ++i) {
    ApiResult<TextPrompt> text = read_one(given[i]);
    if (!text) return reader.refuse(std::move(text.error()));
    texts.texts.push_back(std::move(*text));
  }
}
/// Reads a string as a text, for take_list().
ApiResult<TextPrompt> read_text(const JsonCursor& given);

constexpr ApiField truncate(std::string_view otherwise, std::string_view path = "truncate") {
  return boolean(path, otherwise, "a text that is longer than the context loses its end; otherwise it is refused",
                 into<&ApiRequest::vectors, &AskedVectors::cuts>);
}
constexpr ApiField truncation_direction(std::string_view path = "truncation_direction") {
  return one_of(path, kDirections, "Right", "the side of a long text that goes: Left is refused, beside truncate",
                take_direction);
}
constexpr ApiField prompt_name(std::string_view path = "prompt_name") {
  return string(path, "the model's default, if it has one",
                "the words that stand in front of a text, by name (see above); an empty text: none", take_prompt_name);
}
constexpr ApiField dimensions(std::string_view path = "dimensions") {
  return integer(path, 1, std::numeric_limits<int>::max(), "all",
                 "a vector's floats, the first, of models that are trained so (see below); other models take their own "
                 "number alone",
                 take_dimensions);
}
/// The kinds of text, which decide the prompt.
inline constexpr std::string_view kInputTypes[] = {"search_query", "search_document", "classification", "clustering",
                                                   "query",        "document",        "passage"};
constexpr ApiField input_type() {
  return one_of("input_type", kInputTypes, "none",
                "what the text is, from which the words in front of it follow (see above)", take_input_type);
}

}  // namespace field

/// Fields of vLLM that all calls in the form of OpenAI or Jina take: cutting, priority, deadline.
extern const FieldTable kTextFields;

}  // namespace octavo
