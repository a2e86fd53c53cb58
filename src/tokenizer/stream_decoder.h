// Turns a stream of tokens into a stream of whole UTF-8 characters.
//
// One per sequence, used by one thread at a time; the Tokenizer outlives it. All pieces together are the tokenizer's
// decode() of all tokens, however the stream is cut.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "octavo/token.h"

namespace octavo {

class Tokenizer;

class StreamDecoder {
 public:
  /// `previous` is the token before the first one, where the stream goes on from a prompt: after an ordinary token a
  /// SentencePiece word keeps its leading space.
  explicit StreamDecoder(const Tokenizer& tokenizer, std::optional<TokenId> previous = std::nullopt)
      : tokenizer_(&tokenizer), previous_(previous) {}
  /// Makes a decoder that may have no words: where `tokenizer` is null, no token has a text.
  explicit StreamDecoder(const Tokenizer* tokenizer) : tokenizer_(tokenizer) {}

  /// Begins another stream, in the same memory.
  void restart(std::optional<TokenId> previous) {
    previous_ = previous;
    pending_.clear();
  }

  /// Text that became final, and its true bytes; valid until the next call.
  struct Piece {
    std::string_view text;   // valid UTF-8; invalid sequences as U+FFFD (one per maximal subpart, as Unicode advises)
    std::string_view bytes;  // the bytes that `text` stands for
  };
  /// Adds a token's bytes and gives the characters that are complete; a partial character is held back.
  Piece push(TokenId id);
  /// Notes a token that is never shown: a SentencePiece word after it loses its space, as in decode().
  void skip(TokenId id) { previous_ = id; }
  /// Gives up a partial character that is held back, and gives it as U+FFFD.
  Piece flush();
  /// Whether a character has begun and waits for its rest.
  bool holds_back() const { return !pending_.empty(); }

 private:
  Piece take(bool is_end);

  const Tokenizer* tokenizer_;
  std::optional<TokenId> previous_;
  std::string pending_;  // the first bytes of a character, at most 3 between calls
  std::string text_, bytes_;
};

}  // namespace octavo
