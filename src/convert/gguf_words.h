// The words of a model under the keys that every reader of GGUF knows, where it brought a tokenizer.json instead.
//
// Byte-level vocabularies whose pre-tokenizer has a name in GGUF get tokens, merges and that name. Others keep their
// tokenizer.json, which Octavo reads and llama.cpp does not. Views the model, which must outlive it.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "source/gguf_head.h"
#include "tokenizer/json_word_source.h"

namespace octavo {

class GgufWords {
 public:
  /// Error: the tokenizer.json is wrong, or has tokens that the model has no rows for.
  static Result<GgufWords> of(const ModelSource& model);

  /// The model, with keys for tokens in place of its tokenizer.json where that can be.
  const ModelSource& source() const { return words_ ? static_cast<const ModelSource&>(*words_) : model_; }
  /// Adds what no source has: merges, the pre-tokenizer's name, whether a text begins with BOS.
  void add_keys(GgufHead& head) const;
  /// Why the tokenizer.json was kept; empty: there was none, or it was not.
  const std::string& why_kept() const { return why_kept_; }

 private:
  explicit GgufWords(const ModelSource& model) : model_(model) {}

  const ModelSource& model_;
  std::unique_ptr<const TokenizerJson> json_;  // its address stays: words_ views it
  std::optional<JsonWordSource> words_;
  std::string_view pre_tokenizer_;
  std::string why_kept_;
};

}  // namespace octavo
