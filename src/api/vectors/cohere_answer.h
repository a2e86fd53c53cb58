// The answer to Cohere's calls for vectors, and its errors: a list of vectors for each kind that was asked for.
//
// Used by one thread, the I/O thread; the call outlives it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "api/vectors/vector_answer.h"

namespace octavo {

class CohereAnswer final : public RowsAnswer {
 public:
  /// `version`: the API's, 1 or 2. Version 1 writes plain floats without an object around them, where no kinds are
  /// asked for.
  CohereAnswer(const CompletionCall& call, std::string_view id, int version);

  std::size_t held_bytes() const override { return held_bytes_; }
  std::string finish() override;

 protected:
  void take(const Piece& piece) override;

 private:
  /// Writes all vectors of a kind, and frees them.
  void write_list(std::size_t kind, JsonWriter json);

  const std::string id_;
  const int version_;
  const bool is_by_type_;
  const std::vector<VectorKind> kinds_;
  std::vector<std::vector<std::string>> lists_;  // [kinds, texts]
  std::size_t held_bytes_ = 0;
};

/// The body of an error: {"message": "..."}.
std::string cohere_error_body(const ApiError& error);

}  // namespace octavo
