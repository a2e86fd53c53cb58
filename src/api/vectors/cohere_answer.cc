#include "api/vectors/cohere_answer.h"

#include "api/answers/openai_finish.h"
#include "api/call/context_full.h"
#include "api/vectors/cohere_fields.h"
#include "api/vectors/vector_text.h"
#include "base/utf8.h"
#include "json/json_writer.h"

namespace octavo {
namespace {

std::vector<VectorKind> kinds_of(const VectorForm& form) {
  return form.kinds.empty() ? std::vector{VectorKind::kFloat} : form.kinds;
}

}  // namespace

CohereAnswer::CohereAnswer(const CompletionCall& call, std::string_view id, int version)
    : RowsAnswer(call),
      id_(id),
      version_(version),
      is_by_type_(version > 1 || !call.vectors->form.kinds.empty()),
      kinds_(kinds_of(call.vectors->form)),
      lists_(kinds_.size(), std::vector<std::string>(call.vectors->rows.size())) {}

void CohereAnswer::take(const Piece& piece) {
  const std::span<const float> vector = shown(piece.floats);
  for (std::size_t i = 0; i < kinds_.size(); ++i) {
    write_vector(vector, kinds_[i], JsonWriter(lists_[i][piece.index]));
    held_bytes_ += lists_[i][piece.index].size();
  }
}

void CohereAnswer::write_list(std::size_t kind, JsonWriter json) {
  json.begin_array();
  for (std::string& text : lists_[kind]) {
    json.raw(text);
    std::string().swap(text);
  }
  json.end_array();
}

std::string CohereAnswer::finish() {
  std::string out;
  JsonWriter json(out);
  json.begin_object().fields("id", id_).key("texts").begin_array();
  for (const std::string& document : vectors().documents) json.value(to_valid_utf8(document));
  json.end_array().key("embeddings");
  if (is_by_type_) {
    json.begin_object();
    for (std::size_t i = 0; i < kinds_.size(); ++i) write_list(i, json.key(vector_kind_name(kinds_[i])));
    json.end_object();
  } else {
    write_list(0, json);
  }
  json.key("meta").begin_object().key("api_version").object("version", std::to_string(version_));
  json.key("billed_units").object("input_tokens", vectors().num_tokens).end_object();
  json.fields("response_type", is_by_type_ ? "embeddings_by_type" : "embeddings_floats");
  write_warnings(call().warnings, json);
  json.end_object();
  return out;
}

std::string cohere_error_body(const ApiError& error) {
  return json_object("message", to_valid_utf8(cohere_message(error)));
}

}  // namespace octavo
