// Byte pair encoding of characters with byte fallback: SentencePiece vocabularies that come with a merge list (Gemma
// 4).
//
// Characters that are tokens, and the bytes of those that are not, are merged in the order of tokenizer.ggml.merges,
// over a whole text at once, as in `tokenizers` with byte_fallback. Owned by the Tokenizer; immutable, any thread.
#pragma once

#include <array>
#include <span>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "tokenizer/bpe.h"
#include "tokenizer/vocab.h"

namespace octavo {

class CharacterBpe {
 public:
  /// Errors are those of Bpe::create() and byte_fallback_tokens().
  static Result<CharacterBpe> create(const Vocab& vocab, std::span<const std::string_view> merges,
                                     std::string_view file);

  /// Appends the tokens of `text`, any bytes of less than 2 GiB with spaces already written as U+2581. Time is n log n.
  void encode(const Vocab& vocab, std::string_view text, Bpe::Scratch& scratch, std::vector<TokenId>& out) const;

 private:
  CharacterBpe(Bpe bpe, const std::array<TokenId, 256>& byte_tokens)
      : bpe_(std::move(bpe)), byte_tokens_(byte_tokens) {}

  Bpe bpe_;
  std::array<TokenId, 256> byte_tokens_;
};

}  // namespace octavo
