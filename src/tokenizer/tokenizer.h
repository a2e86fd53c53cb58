// Text to token ids and back: the facade over byte-level BPE and SPM vocabularies of a GGUF file.
//
// Owned by the engine, immutable after load(), so any thread may use it. Equal to llama.cpp and Hugging Face
// `tokenizers` on the same vocabulary (tests/tokenizer).
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "gguf/gguf_file.h"
#include "octavo/engine.h"

namespace octavo {

class Tokenizer {
 public:
  /// Reads the vocabulary from tokenizer.* metadata (works on vocabulary-only files). Errors name the key; an unknown
  /// tokenizer model or pre-tokenizer is named together with those that are supported.
  static Result<Tokenizer> load(const GgufFile& file);

  Tokenizer(Tokenizer&&) noexcept;
  Tokenizer& operator=(Tokenizer&&) noexcept;
  ~Tokenizer();

  int vocab_size() const;

  /// Ids of `text`, which may hold any bytes. See TokenizeOptions for BOS/EOS and control tokens.
  Result<std::vector<TokenId>> encode(std::string_view text, const TokenizeOptions& options) const;

  /// The raw bytes of one token: control tokens give their text, byte tokens their byte. `id` must be in the
  /// vocabulary.
  std::string_view token_bytes(TokenId id) const;
  /// True for tokens that are never shown in an answer (control tokens such as BOS).
  bool is_control(TokenId id) const;
  /// Concatenated bytes; SPM's added leading space is removed, as its vocabulary asks.
  std::string decode(std::span<const TokenId> ids) const;

  /// End-of-generation tokens: EOS, and the end-of-turn tokens the file names or llama.cpp knows by their text.
  bool is_end_of_generation(TokenId id) const;
  std::optional<TokenId> bos() const;
  std::optional<TokenId> eos() const;

  /// Prompt of a conversation by the file's chat template; content is never parsed for control tokens.
  Result<std::vector<TokenId>> apply_chat_template(std::span<const ChatMessage> messages) const;

 private:
  struct Impl;
  explicit Tokenizer(std::unique_ptr<Impl> impl);
  std::unique_ptr<const Impl> impl_;
};

/// Turns a stream of tokens into a stream of whole UTF-8 characters. One per sequence.
class StreamDecoder {
 public:
  explicit StreamDecoder(const Tokenizer& tokenizer) : tokenizer_(&tokenizer) {}

  /// Text and true bytes that became final; valid until the next call.
  struct Piece {
    std::string_view text;   // valid UTF-8; invalid sequences as U+FFFD (one per maximal subpart, as Unicode advises)
    std::string_view bytes;  // the bytes that `text` stands for
  };
  /// Adds a token's bytes and gives what is complete; a partial character is held back.
  Piece push(TokenId id);
  /// Gives up what is held back, as U+FFFD.
  Piece flush();

 private:
  const Tokenizer* tokenizer_;
  bool at_start_ = true;
  std::string pending_;
  std::string text_, bytes_;
};

}  // namespace octavo
