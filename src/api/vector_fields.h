// The fields of calls for vectors of texts: OpenAI's with vLLM's beside them, llama.cpp's, ollama's and those of
// Hugging Face's server of embeddings (TEI).
//
// Constants; any thread.
#pragma once

#include "api/api_field.h"

namespace octavo {

/// POST /v1/embeddings, /embedding and /embeddings, /api/embed, /api/embeddings, /embed.
ApiFields openai_embedding_fields();
ApiFields llama_embedding_fields();
ApiFields ollama_embed_fields();
ApiFields ollama_embedding_fields();
ApiFields tei_embed_fields();

ApiResult<ApiRequest> read_openai_embedding(const boost::json::object& body, const ApiContext& context);
ApiResult<ApiRequest> read_llama_embedding(const boost::json::object& body, const ApiContext& context);
ApiResult<ApiRequest> read_ollama_embed(const boost::json::object& body, const ApiContext& context);
ApiResult<ApiRequest> read_ollama_embedding(const boost::json::object& body, const ApiContext& context);
ApiResult<ApiRequest> read_tei_embed(const boost::json::object& body, const ApiContext& context);

namespace field {

/// So many texts at most. Error: there are more, named by the place of them all.
ApiResult<void> check_num_texts(const JsonCursor& given, std::size_t count);
void take_most_tokens(FieldReader& reader, const ApiField& field);
void take_normalize(FieldReader& reader, const ApiField& field);
void refuse_prompt_name(FieldReader& reader, const ApiField& field);
void take_direction(FieldReader& reader, const ApiField& field);

inline constexpr std::string_view kDirections[] = {"Left", "Right", "left", "right"};

constexpr ApiField truncate(std::string_view otherwise) {
  return boolean("truncate", otherwise, "a text that is longer than the context loses its end; otherwise it is refused",
                 into<&ApiRequest::vectors, &AskedVectors::cuts>);
}
constexpr ApiField truncation_direction() {
  return one_of("truncation_direction", kDirections, "Right",
                "the side of a long text that goes: Left is refused, beside truncate", take_direction);
}

}  // namespace field

/// Fields of vLLM's that all calls of OpenAI's and Jina's kind take: cutting, priority, deadline.
extern const FieldTable kTextFields;

}  // namespace octavo
