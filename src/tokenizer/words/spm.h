// SentencePiece encoding as in llama.cpp: starting from characters, neighbours whose joined text is a token are merged
// in the order of that token's score; characters that are no token in the end become byte tokens.
//
// T. Kudo and J. Richardson, "SentencePiece", EMNLP 2018 (BPE mode with byte fallback).
// Owned by the Tokenizer; immutable, any thread. The vocabulary outlives it.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "tokenizer/words/merge_queue.h"
#include "tokenizer/words/neighbours.h"
#include "tokenizer/words/vocab.h"

namespace octavo {

/// The token of each byte: "<0xHH>", or else the token of the byte's own text, or else the unknown token. Error: a byte
/// has none of these.
Result<std::array<TokenId, 256>> byte_fallback_tokens(const Vocab& vocab, std::string_view file);

class Spm {
 public:
  /// Makes the encoder. Errors: those of byte_fallback_tokens().
  static Result<Spm> create(const Vocab& vocab, std::string_view file);

  /// Memory that encode() reuses from text to text.
  struct Scratch {
    struct Symbol {
      std::uint32_t begin;         // the place in the word
      std::uint32_t length;        // its bytes; 0: merged into the symbol before it
      TokenId token;               // its token; -1: no token has this text
      TokenId joined = -1;         // the token of this and the next symbol's text; -1: none
      std::int32_t previous = -1;  // used by merge_many()
      std::int32_t next = -1;
    };
    std::vector<Symbol> symbols;
    MergeQueue queue;

    std::size_t bytes() const { return symbols.capacity() * sizeof(Symbol) + queue.bytes(); }
  };

  /// Appends the tokens of `text`, any bytes of less than 2 GiB with spaces already written as U+2581. Time is n log n
  /// in the longest piece in which every character stands beside the next one in some token.
  void encode(const Vocab& vocab, std::string_view text, Scratch& scratch, std::vector<TokenId>& out) const;

 private:
  /// A piece of a text on its way to tokens.
  struct Work {
    const Vocab& vocab;
    std::string_view word;
    Scratch& scratch;
  };

  static constexpr std::size_t kFewSymbols = 24;

  explicit Spm(const Vocab& vocab);
  static void cut_into_characters(Work& work);
  void encode_piece(Work work, std::vector<TokenId>& out) const;
  /// The token whose text is that of two neighbours together; -1: there is none.
  TokenId join(const Work& work, const Scratch::Symbol& left, const Scratch::Symbol& right) const;
  void merge_few(Work& work) const;
  void push_pair(Work& work, std::int32_t left) const;
  void merge_many(Work& work) const;

  Neighbours neighbours_;
  std::vector<std::uint32_t> ranks_;  // [vocab_size]: 0 for the best score; equal scores have one rank
  std::array<TokenId, 256> byte_tokens_{};
  std::size_t max_token_bytes_ = 0;  // the longest text of a token; longer pairs need no look-up
};

}  // namespace octavo
