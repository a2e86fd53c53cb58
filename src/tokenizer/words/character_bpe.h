// Byte pair encoding of characters with byte fallback: SentencePiece vocabularies that come with a merge list (Gemma
// 4).
//
// Characters that are tokens, and the bytes of those that are not, are merged in the order of tokenizer.ggml.merges,
// over a whole text at once, as in `tokenizers` with byte_fallback. The Tokenizer owns it; immutable, any thread.
#pragma once

#include <array>
#include <span>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "tokenizer/words/bpe.h"
#include "tokenizer/words/vocab.h"

namespace octavo {

/// The treatment of characters that are no token.
struct UnknownCharacters {
  enum class Become : std::uint8_t {
    kBytes,       // each byte becomes its token
    kUnknown,     // each character becomes `token`
    kOneUnknown,  // neighbours of this kind become one `token`
    kNothing,
  };
  Become become = Become::kBytes;
  TokenId token = -1;
};

class CharacterBpe {
 public:
  /// Makes the encoder. Errors: those of Bpe::create(), and for kBytes those of byte_fallback_tokens(), which begin
  /// with `file`.
  static Result<CharacterBpe> create(const Vocab& vocab, std::span<const MergeText> merges,
                                     const UnknownCharacters& unknown, std::string_view where, std::string_view file);

  /// Whether a text of any length may become one token, or none.
  bool leaves_out_or_joins() const {
    return unknown_.become == UnknownCharacters::Become::kOneUnknown ||
           unknown_.become == UnknownCharacters::Become::kNothing;
  }

  /// Appends the tokens of `text`, any bytes of less than 2 GiB with spaces already written as U+2581. Time is n log n.
  void encode(const Vocab& vocab, std::string_view text, Bpe::Scratch& scratch, std::vector<TokenId>& out) const;

 private:
  CharacterBpe(Bpe bpe, const UnknownCharacters& unknown) : bpe_(std::move(bpe)), unknown_(unknown) {}
  void add_unknown(std::string_view character, bool is_after_unknown, std::vector<TokenId>& tokens) const;

  Bpe bpe_;
  UnknownCharacters unknown_;
  std::array<TokenId, 256> byte_tokens_{};
};

}  // namespace octavo
