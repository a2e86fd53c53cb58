// The tokenizer of a model, with its chat template, or the reason why there is none: a file without a known vocabulary
// is used by token ids alone.
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
#include "chat/chat_tokenizer.h"
#include "source/model_source.h"

namespace octavo {

class ModelTokenizer {
 public:
  ModelTokenizer() : why_none_{.message = "the model has no words", .kind = ErrorKind::kNoWords} {}
  explicit ModelTokenizer(std::unique_ptr<const ChatTokenizer> chat) : chat_(std::move(chat)) {}

  /// Loads the tokenizer. One that is missing or of an unknown kind is an error only if it is `required`; a wrong one
  /// always is. `chat_template` replaces the file's own, unless empty, as does `tokenizer_path`, a tokenizer.json,
  /// whose errors are errors in any case. It ends with an error once a stop is asked for.
  static Result<ModelTokenizer> load(const ModelSource& source, bool required, std::string_view chat_template,
                                     const std::filesystem::path& tokenizer_path, const std::stop_token& stop = {},
                                     const PictureMarks& marks = {});

  /// Null: there is no vocabulary.
  const ChatTokenizer* chat() const { return chat_.get(); }
  const Tokenizer* tokenizer() const { return chat_ == nullptr ? nullptr : &chat_->tokenizer(); }
  /// The tokenizer. Error (kNoWords): there is none; it names the file, the key and what was found.
  Result<const ChatTokenizer*> require() const {
    if (chat_ == nullptr) return std::unexpected(why_none_);
    return chat_.get();
  }

  /// How many ids have a text.
  int num_tokens() const { return chat_ == nullptr ? 0 : chat_->tokenizer().vocab_size(); }
  /// How many of a model's `vocab_size` ids may be drawn: the padding behind the vocabulary may not.
  int num_drawable(int vocab_size) const {
    return chat_ == nullptr ? vocab_size : std::min(vocab_size, chat_->tokenizer().vocab_size());
  }
  /// Adds tokens that end an answer, besides the vocabulary's own.
  void add_end_tokens(std::span<const TokenId> tokens) {
    end_tokens_.insert(end_tokens_.end(), tokens.begin(), tokens.end());
  }
  bool is_end_of_generation(TokenId id) const {
    return (chat_ != nullptr && chat_->tokenizer().is_end_of_generation(id)) ||
           std::ranges::find(end_tokens_, id) != end_tokens_.end();
  }
  bool is_control(TokenId id) const { return chat_ != nullptr && chat_->tokenizer().is_control(id); }
  /// The marks around reasoning; null: none are known.
  const ReasoningMarks* reasoning() const { return chat_ == nullptr ? nullptr : chat_->reasoning(); }

 private:
  std::unique_ptr<const ChatTokenizer> chat_;
  std::vector<TokenId> end_tokens_;  // only a few
  Error why_none_;
};

}  // namespace octavo
