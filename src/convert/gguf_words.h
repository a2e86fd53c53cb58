// A model's words under the keys that every reader of GGUF knows, where the model came with a tokenizer.json.
//
// Byte-level vocabularies whose pre-tokenizer has a name in GGUF get tokens, merges and that name. SentencePiece's get
// scores, or merges as Gemma 4 has them. Others keep their tokenizer.json, which Octavo reads and llama.cpp does not.
// Views the model, which must outlive it.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "source/gguf_head.h"
#include "tokenizer/json/json_word_source.h"

namespace octavo {

class GgufWords {
 public:
  /// Makes the words. Errors: the tokenizer.json is wrong, or has tokens for which the model has no rows.
  static Result<GgufWords> of(const ModelSource& model);

  /// The model, with keys for tokens in place of its tokenizer.json where that is possible.
  const ModelSource& source() const { return words_ ? static_cast<const ModelSource&>(*words_) : model_; }
  /// Adds what no source has: merges or scores, the pre-tokenizer's name, and whether texts begin with a space.
  void add_keys(GgufHead& head) const;
  /// The reason why the tokenizer.json was kept; empty: there was none, or it was not kept.
  const std::string& why_kept() const { return why_kept_; }

 private:
  explicit GgufWords(const ModelSource& model) : model_(model) {}
  /// The reason why these words keep their tokenizer.json; empty: they need not.
  std::string find_form(const TokenizerJson& json);

  const ModelSource& model_;
  std::unique_ptr<const TokenizerJson> json_;  // words_ views it, so its address must stay
  std::optional<JsonWordSource> words_;
  std::string_view pre_tokenizer_;    // for byte-level words
  std::vector<float> scores_;         // for SentencePiece words; empty: they have merges
  bool puts_space_in_front_ = false;  // in front of a text, and after each control token
  std::string why_kept_;
};

}  // namespace octavo
