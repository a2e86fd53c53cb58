#include "api/vectors/cohere_answer.h"

#include <fmt/format.h>

#include <iterator>

#include "api/answers/openai_finish.h"
#include "api/call/context_full.h"
#include "api/call/json_writer.h"
#include "api/vectors/cohere_fields.h"
#include "api/vectors/vector_text.h"
#include "base/utf8.h"
#include "json/json_string.h"

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
    append_vector(lists_[i][piece.index], vector, kinds_[i]);
    held_bytes_ += lists_[i][piece.index].size();
  }
}

void CohereAnswer::append_list(std::string& out, std::size_t kind) {
  out += '[';
  for (std::string& text : lists_[kind]) {
    if (!out.ends_with('[')) out += ',';
    out += text;
    std::string().swap(text);
  }
  out += ']';
}

std::string CohereAnswer::finish() {
  std::string out = "{";
  append_json_field(out, "id", id_);
  out += R"(,"texts":[)";
  for (std::size_t i = 0; i < vectors().documents.size(); ++i) {
    if (i > 0) out += ',';
    out += json_string(to_valid_utf8(vectors().documents[i]));
  }
  out += R"(],"embeddings":)";
  if (is_by_type_) {
    for (std::size_t i = 0; i < kinds_.size(); ++i) {
      fmt::format_to(std::back_inserter(out), R"({}"{}":)", i == 0 ? "{" : ",", vector_kind_name(kinds_[i]));
      append_list(out, i);
    }
    out += '}';
  } else {
    append_list(out, 0);
  }
  fmt::format_to(std::back_inserter(out),
                 R"(,"meta":{{"api_version":{{"version":"{}"}},"billed_units":{{"input_tokens":{}}}}},)"
                 R"("response_type":"{}")",
                 version_, vectors().num_tokens, is_by_type_ ? "embeddings_by_type" : "embeddings_floats");
  append_warnings(out, call().warnings);
  out += '}';
  return out;
}

std::string cohere_error_body(const ApiError& error) {
  std::string out = "{";
  append_json_field(out, "message", to_valid_utf8(cohere_message(error)));
  out += '}';
  return out;
}

}  // namespace octavo
