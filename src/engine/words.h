// The words of a model, or why there are none: a file without words that are known is read for token ids.
//
// Owned by the engine and immutable, so any thread may use it.
#pragma once

#include <algorithm>
#include <filesystem>
#include <memory>
#include <span>
#include <stop_token>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.h"
#include "source/model_source.h"
#include "tokenizer/tokenizer.h"

namespace octavo {

class Words {
 public:
  Words() : why_none_{.message = "the model has no words", .kind = ErrorKind::kNoWords} {}
  explicit Words(std::unique_ptr<const Tokenizer> tokenizer) : tokenizer_(std::move(tokenizer)) {}

  /// Words that are missing or of an unknown kind are an error only if they are `required`; wrong ones always are.
  /// `chat_template` is one to use instead of the file's own; empty: that one. The same of `tokenizer_path`, a
  /// tokenizer.json, whose errors are errors in any case. It ends with an error once a stop is asked for.
  static Result<Words> load(const ModelSource& source, bool required, std::string_view chat_template,
                            const std::filesystem::path& tokenizer_path, const std::stop_token& stop = {});

  /// Null: there are none.
  const Tokenizer* tokenizer() const { return tokenizer_.get(); }
  /// Error (kNoWords): there are none; names the file, the key and what was found.
  Result<const Tokenizer*> require() const {
    if (tokenizer_ == nullptr) return std::unexpected(why_none_);
    return tokenizer_.get();
  }

  /// Ids that have a text.
  int num_tokens() const { return tokenizer_ == nullptr ? 0 : tokenizer_->vocab_size(); }
  /// Of a model's `vocab_size` ids, those that may be drawn: not the padding behind the words.
  int num_drawable(int vocab_size) const {
    return tokenizer_ == nullptr ? vocab_size : std::min(vocab_size, tokenizer_->vocab_size());
  }
  /// Tokens that end an answer beside the words' own.
  void add_end_tokens(std::span<const TokenId> tokens) {
    end_tokens_.insert(end_tokens_.end(), tokens.begin(), tokens.end());
  }
  bool is_end_of_generation(TokenId id) const {
    return (tokenizer_ != nullptr && tokenizer_->is_end_of_generation(id)) ||
           std::ranges::find(end_tokens_, id) != end_tokens_.end();
  }
  bool is_control(TokenId id) const { return tokenizer_ != nullptr && tokenizer_->is_control(id); }
  /// The marks around reasoning, or null: none are known.
  const ReasoningMarks* reasoning() const { return tokenizer_ == nullptr ? nullptr : tokenizer_->reasoning(); }

 private:
  std::unique_ptr<const Tokenizer> tokenizer_;
  std::vector<TokenId> end_tokens_;  // a few
  Error why_none_;
};

}  // namespace octavo
