// The text in which a model that ranks reads a query and a document, as its file has it: {query} and {document} stand
// in it for the two (llama.cpp's "rerank" template; Qwen3-Reranker, Zhang et al., 2025).
//
// Owned by the engine and immutable, so any thread may use it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "source/model_source.h"
#include "tokenizer/prompt_fragments.h"

namespace octavo {

class RankTemplate {
 public:
  /// A file without such a template.
  RankTemplate() = default;
  /// Error: the file's template names no query, or no document.
  static Result<RankTemplate> load(const ModelSource& source);

  bool is_there() const { return !pieces_.empty(); }
  /// The parts of a prompt; control tokens count in the template's own text alone.
  std::vector<PromptPart> parts(std::string_view query, std::string_view document) const;

 private:
  enum class Kind : std::uint8_t { kText, kQuery, kDocument };
  struct Piece {
    Kind kind;
    std::string text = {};
  };
  std::vector<Piece> pieces_;
};

}  // namespace octavo
