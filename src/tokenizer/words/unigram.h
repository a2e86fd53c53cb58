// Unigram: of all ways to write a text with tokens, it takes the one with the highest sum of scores.
//
// T. Kudo, "Subword Regularization", ACL 2018, with Viterbi's algorithm; ids are those of `tokenizers`, which adds
// scores in double precision, in the order of the text. A character that is no token counts as an unknown one, whose
// score is below all others; unknown ones beside each other become the unknown token, or the tokens of their bytes
// where the vocabulary has these. The Tokenizer owns it; immutable, any thread.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "octavo/request_work.h"
#include "tokenizer/words/character_bpe.h"
#include "tokenizer/words/text_trie.h"
#include "tokenizer/words/vocab.h"

namespace octavo {

class Unigram {
  static constexpr TokenId kNoToken = -1, kUnknown = -2;

 public:
  /// The difference between the score of the worst token and that of an unknown character.
  static constexpr double kUnknownPenalty = 10;

  /// Memory that encode() reuses from word to word.
  struct Scratch {
    /// A token, or an unknown character, and where it begins.
    struct Piece {
      std::uint32_t begin = 0;
      TokenId token = kNoToken;
    };
    /// The best way to write the text up to a byte: its score, and its last piece.
    struct Way {
      double score = 0;
      std::uint32_t begin = 0;
      TokenId token = kNoToken;
    };
    std::vector<Way> ways;
    std::vector<Piece> pieces;          // the text's pieces, from its end
    const RequestWork* work = nullptr;  // whose stop ends encode() with no token; null: nothing stops it

    std::size_t bytes() const { return ways.capacity() * sizeof(Way) + pieces.capacity() * sizeof(Piece); }
  };

  /// `scores` has the scores of all tokens; `unknown` says what becomes of characters that are no token: one unknown
  /// token, or their bytes, for which the vocabulary must have tokens. Errors begin with `where`: scores that are not
  /// finite, tokens beyond the bounds of TextTrie, bytes without a token.
  static Result<Unigram> create(const Vocab& vocab, std::vector<double> scores, double unknown_score,
                                const UnknownCharacters& unknown, std::string_view where);

  /// Appends the tokens of `text`, which consists of whole characters and has less than 4 GiB. Time is that of a walk
  /// from each character, as long as the longest token that begins there.
  void encode(std::string_view text, Scratch& scratch, std::vector<TokenId>& out) const;

 private:
  Unigram(std::vector<double> scores, double unknown_score, const UnknownCharacters& unknown)
      : scores_(std::move(scores)), unknown_score_(unknown_score), unknown_(unknown) {}
  /// Whether it reached the text's end; false: the work was stopped.
  bool find_ways(std::string_view text, Scratch& scratch) const;
  void append_unknown(std::string_view characters, std::vector<TokenId>& out) const;

  TextTrie trie_;
  std::vector<double> scores_;  // [vocab_size]
  double unknown_score_;
  UnknownCharacters unknown_;
  std::array<TokenId, 256> byte_tokens_{};
};

}  // namespace octavo
