// Turns a stream of tokens into a stream of whole UTF-8 characters.
//
// One per sequence, used by one thread at a time; the Tokenizer outlives it. All pieces together are the tokenizer's
// decode() of all tokens, however the stream is cut.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "octavo/engine.h"

namespace octavo {

class Tokenizer;

class StreamDecoder {
 public:
  /// `previous` is the token before the first one, where the stream goes on from a prompt: after an ordinary token a
  /// SentencePiece word keeps its leading space.
  explicit StreamDecoder(const Tokenizer& tokenizer, std::optional<TokenId> previous = std::nullopt)
      : tokenizer_(&tokenizer), previous_(previous) {}
  /// Without words: no token has a text where `tokenizer` is null.
  explicit StreamDecoder(const Tokenizer* tokenizer) : tokenizer_(tokenizer) {}

  /// Begins another stream, in the same memory.
  void restart(std::optional<TokenId> previous) {
    previous_ = previous;
    pending_.clear();
  }

  /// Text and true bytes that became final; valid until the next call.
  struct Piece {
    std::string_view text;   // valid UTF-8; invalid sequences as U+FFFD (one per maximal subpart, as Unicode advises)
    std::string_view bytes;  // the bytes that `text` stands for
  };
  /// Adds a token's bytes and gives what is complete; a partial character is held back.
  Piece push(TokenId id);
  /// Tells of a token that is never shown: the space of a SentencePiece word behind it is left out, as decode() does.
  void skip(TokenId id) { previous_ = id; }
  /// Gives up what is held back, as U+FFFD.
  Piece flush();
  /// A character has begun and waits for its rest.
  bool holds_back() const { return !pending_.empty(); }

 private:
  Piece take(bool is_end);

  const Tokenizer* tokenizer_;
  std::optional<TokenId> previous_;
  std::string pending_;  // at most the 3 first bytes of a character between calls
  std::string text_, bytes_;
};

}  // namespace octavo
