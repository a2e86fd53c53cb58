// The vocabulary of a tokenizer.json under GGUF's keys, in place of the vocabulary of a model's own source.
//
// Other keys and the tensors are the model's: among them the ids of BOS and EOS, and the chat template. A Tokenizer
// uses it while it loads; the model's source and the vocabulary must outlive it.
#pragma once

#include <deque>
#include <string>
#include <vector>

#include "source/model_source.h"
#include "tokenizer/json/tokenizer_json.h"

namespace octavo {

class JsonWordSource final : public ModelSource {
 public:
  /// Makes the source. `model` may be null: then it has only words. Error: a token of the vocabulary for which the
  /// model has no row, with both numbers. Added tokens beyond the model's rows are left out: the model never had them.
  static Result<JsonWordSource> create(const TokenizerJson& words, const ModelSource* model);

  const SourceFiles& files() const override { return files_; }
  const SourceDirectory& directory() const override { return directory_; }
  std::vector<std::span<const std::byte>> heads() const override;
  Result<void> read(std::uint64_t offset, std::span<std::byte> out) const override;
  void prefetch(std::uint64_t offset, std::uint64_t size) const override;

  /// Whether the model has a row for the token `id` of the words.
  bool has(TokenId id) const { return to_size(id) < types_.size(); }

 private:
  JsonWordSource() = default;
  void add_tokens(const TokenizerJson& words, std::size_t num_ids);
  std::string_view marked_word(const TokenizerJson& words, std::size_t id);
  void add_id(std::string_view key, TokenId id);

  const ModelSource* model_ = nullptr;
  SourceFiles files_;
  SourceDirectory directory_;
  std::vector<std::int32_t> types_;  // [ids]
  std::deque<std::string> made_up_;  // texts that no file has: for ids without one, and for words with U+2581
};

}  // namespace octavo
