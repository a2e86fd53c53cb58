// The tokens of a model that fills a gap in the middle of a text: the marks before the text in front of the gap, before
// the text behind the gap, and before the filling (Bavarian et al. 2022, "Efficient Training of Language Models to Fill
// in the Middle").
//
// The ChatTokenizer owns it; immutable, any thread.
#pragma once

#include <optional>

#include "base/error.h"
#include "octavo/request.h"
#include "source/model_source.h"
#include "tokenizer/words/vocab.h"

namespace octavo {

struct InfillMarks {
  TokenId prefix = -1, suffix = -1, middle = -1;
  /// The marks before a project's name and before the name of each of its files (Hui et al. 2024, "Qwen2.5-Coder
  /// Technical Report").
  std::optional<TokenId> repository = {}, file = {};

  /// Finds the marks by the keys of the file (tokenizer.ggml.fim_pre_token_id and its kin), or by texts that llama.cpp
  /// knows (llama-vocab.cpp). None: one of the first three marks is missing. Error: a key names no token.
  static Result<std::optional<InfillMarks>> find(const ModelSource& source, const Vocab& vocab);
};

}  // namespace octavo
