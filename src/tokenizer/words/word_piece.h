// WordPiece: a word becomes the longest token with which it begins, its rest the longest token that continues a word,
// and so on; a word whose rest is no token becomes the unknown token as a whole.
//
// J. Devlin et al., "BERT", 2018; ids are those of `tokenizers`. Tokens that begin a word are written with U+2581 in
// front, as in GGUF. The Tokenizer owns it; immutable, any thread.
#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "tokenizer/words/text_trie.h"
#include "tokenizer/words/vocab.h"

namespace octavo {

class WordPiece {
 public:
  /// The most characters of a word; longer words become the unknown token (max_input_chars_per_word of BERT).
  static constexpr std::size_t kMaxCharacters = 100;

  /// Makes the encoder of a vocabulary that has an unknown token. Error: tokens beyond the bounds of TextTrie.
  static Result<WordPiece> create(const Vocab& vocab, std::size_t max_characters = kMaxCharacters);

  /// Appends the tokens of `word`, which consists of whole characters. Time is at most that of max_characters walks of
  /// as many characters.
  void encode(std::string_view word, std::vector<TokenId>& out) const;

 private:
  WordPiece(TokenId unknown, std::size_t max_characters) : unknown_(unknown), max_characters_(max_characters) {}

  TextTrie first_, later_;  // the tokens that begin a word, without U+2581, and the tokens that continue one
  TokenId unknown_;
  std::size_t max_characters_;
};

}  // namespace octavo
