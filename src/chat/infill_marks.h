// The tokens of a model that fills a gap in the middle of a text: marks before what stands in front of the gap, before
// what stands behind it, and before what belongs there (Bavarian et al. 2022, "Efficient Training of Language Models to
// Fill in the Middle").
//
// Owned by the ChatTokenizer; immutable, any thread.
#pragma once

#include <optional>

#include "base/error.h"
#include "octavo/request.h"
#include "source/model_source.h"
#include "tokenizer/vocab.h"

namespace octavo {

struct InfillMarks {
  TokenId prefix = -1, suffix = -1, middle = -1;
  /// Of several files of a project (Hui et al. 2024, "Qwen2.5-Coder Technical Report"): before its name, and before the
  /// name of each file.
  std::optional<TokenId> repository = {}, file = {};

  /// By the keys of the file (tokenizer.ggml.fim_pre_token_id and its kin), or by texts that llama.cpp knows
  /// (llama-vocab.cpp). Nothing where one of the first three is missing. Error: a key names no token.
  static Result<std::optional<InfillMarks>> find(const ModelSource& source, const Vocab& vocab);
};

}  // namespace octavo
