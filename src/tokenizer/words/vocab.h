// The token table of a GGUF file (tokenizer.ggml.*): texts, the bytes they stand for, types, scores, special ids.
//
// Owned by the Tokenizer. Immutable after load() and independent of the file, so any thread may read it. Every array is
// checked against the token count and every id against the vocabulary before it is used; errors name the key.
#pragma once

#include <boost/unordered/unordered_flat_map.hpp>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/to_size.h"
#include "octavo/model_text.h"
#include "source/model_source.h"

namespace octavo {

class ByteAlphabet;

/// The kinds of tokenizer.ggml.model: "gpt2" (byte-level BPE), "llama" (SentencePiece), "gemma4" (SentencePiece with a
/// merge list), "bert" (WordPiece) or "t5" (Unigram).
enum class TokenizerModel : std::uint8_t { kBpe, kSpm, kSpmWithMerges, kWordPiece, kUnigram };

/// U+2581, which stands for a space in the texts of tokens.
inline constexpr std::string_view kSpaceMark = "\xE2\x96\x81";

/// Error (kNoWords): the source lacks a key without which there are no words.
Result<void> require_words(const ModelSource& source, std::string_view key);

class Vocab {
 public:
  /// The most tokens, far beyond any real vocabulary; a token's number leaves room beside it in 32 bits.
  static constexpr std::size_t kMaxTokens = std::size_t{1} << 23;

  static Result<Vocab> load(const ModelSource& source);

  Vocab(Vocab&&) = default;
  Vocab& operator=(Vocab&&) = default;
  Vocab(const Vocab&) = delete;  // the views and the index point into the arenas
  Vocab& operator=(const Vocab&) = delete;

  TokenizerModel model() const { return model_; }
  /// Whether texts are written in the byte alphabet; otherwise spaces are written as U+2581.
  bool is_byte_level() const { return model_ == TokenizerModel::kBpe; }
  int size() const { return static_cast<int>(texts_.size()); }

  /// The token as the file writes it; "[EMPTY_<id>]" where the file has an empty text.
  std::string_view text(TokenId id) const { return texts_[to_size(id)]; }
  /// The bytes of the token in decoded text.
  std::string_view bytes(TokenId id) const { return bytes_[to_size(id)]; }
  /// SPM only: the order in which pairs are merged, the highest score of a pair's token first.
  float score(TokenId id) const { return scores_[to_size(id)]; }

  bool is_control(TokenId id) const { return has(id, kControl | kUnknown); }
  bool is_user_defined(TokenId id) const { return has(id, kUserDefined); }
  bool is_unknown(TokenId id) const { return has(id, kUnknown); }
  bool is_unused(TokenId id) const { return has(id, kUnused); }
  /// Whether ordinary text may become the token: true for all but control, unknown and reserved ones.
  bool is_ordinary(TokenId id) const { return !has(id, kControl | kUnknown | kReserved); }
  /// Makes the token not ordinary, whatever its type (template_tokens.h).
  void reserve(TokenId id) { attributes_[to_size(id)] |= kReserved; }
  bool is_end_of_generation(TokenId id) const { return has(id, kEndOfGeneration); }
  void set_end_of_generation(TokenId id) { attributes_[to_size(id)] |= kEndOfGeneration; }

  /// The token with this text; -1: there is none. find_ordinary() looks among ordinary tokens only.
  TokenId find(std::string_view text) const;
  TokenId find_ordinary(std::string_view text) const;

  /// The special tokens: BOS and EOS, or [CLS] and [SEP] where an encoder's file has none. WordPiece and Unigram have
  /// an unknown token.
  std::optional<TokenId> bos() const { return bos_; }
  std::optional<TokenId> eos() const { return eos_; }
  std::optional<TokenId> separator() const { return separator_; }
  std::optional<TokenId> unknown() const { return unknown_; }

 private:
  enum Attribute : std::uint8_t {
    kUnknown = 1,
    kControl = 2,
    kUserDefined = 4,
    kByte = 8,
    kEndOfGeneration = 16,
    kReserved = 32,  // only a chat template may write it
    kUnused = 64,    // its type says unused; text may become it like any other
  };

  Vocab() = default;
  Result<void> read_texts(const ModelSource& source);
  Result<void> read_types(const ModelSource& source);
  Result<void> read_special_ids(const ModelSource& source);
  Result<void> find_special_texts(const ModelSource& source);
  Result<void> read_end_ids(const ModelSource& source);
  void mark_known_texts();
  void decide_ends();
  Result<void> decode_all(const ModelSource& source);
  void decode_text(const ByteAlphabet& alphabet, TokenId id, std::string& out) const;
  bool has(TokenId id, int attributes) const { return (attributes_[to_size(id)] & attributes) != 0; }

  TokenizerModel model_ = TokenizerModel::kBpe;
  std::vector<char> text_arena_, byte_arena_;
  std::vector<std::string_view> texts_, bytes_;  // [vocab_size], into the arenas
  std::vector<std::uint8_t> attributes_;         // [vocab_size], Attribute bits; 0: an ordinary token
  std::vector<float> scores_;                    // [vocab_size] for kSpm, else empty
  boost::unordered_flat_map<std::string_view, TokenId, std::hash<std::string_view>> index_;
  std::optional<TokenId> bos_, eos_, separator_, unknown_;
};

/// Reads an id from the file: absent or kUnspecified gives none; an id outside the vocabulary is an error.
Result<std::optional<TokenId>> read_token_id(const ModelSource& source, std::string_view key, int vocab_size);

/// Reads tokenizer.ggml.scores, one for each token. Error: there are more or fewer, or NaN among them.
Result<std::vector<float>> read_scores(const ModelSource& source, std::size_t vocab_size);

/// Reads a flag from the file: absent gives `fallback`.
Result<bool> read_flag(const ModelSource& source, std::string_view key, bool fallback);

}  // namespace octavo
