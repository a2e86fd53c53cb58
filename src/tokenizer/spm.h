// SentencePiece encoding as llama.cpp does it: starting from characters, neighbours whose joined text is a token are
// merged in the order of that token's score; what is no token in the end becomes byte tokens.
//
// T. Kudo and J. Richardson, "SentencePiece", EMNLP 2018 (BPE mode with byte fallback).
// Owned by the Tokenizer; immutable, any thread. The vocabulary outlives it.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "tokenizer/vocab.h"

namespace octavo {

/// The token of each byte: "<0xHH>", else the one of the byte's own text, else the unknown token. Error: a byte has
/// none of these.
Result<std::array<TokenId, 256>> byte_fallback_tokens(const Vocab& vocab, std::string_view file);

class Spm {
 public:
  /// Errors are those of byte_fallback_tokens().
  static Result<Spm> create(const Vocab& vocab, std::string_view file);

  /// Appends the tokens of `text`, any bytes of less than 2 GiB with spaces already written as U+2581. Time is n log n.
  void encode(const Vocab& vocab, std::string_view text, std::vector<TokenId>& out) const;

 private:
  struct Symbol {
    std::uint32_t begin;   // in the text
    std::uint32_t length;  // bytes; 0: merged into the symbol before it
    std::int32_t previous;
    std::int32_t next;
    TokenId token;  // -1: no token has this text
  };
  struct Pair {
    float score;  // of the joined text
    std::int32_t left;
    std::uint32_t length;  // of the joined text
    TokenId token;
  };
  /// One text on its way to tokens.
  struct Work {
    const Vocab& vocab;
    std::string_view text;
    std::vector<Symbol> symbols;
    std::vector<Pair> queue;  // a heap, best first
  };

  Spm() = default;
  static bool worse(const Pair& a, const Pair& b);
  static void cut_into_characters(Work& work);
  void push_pair(Work& work, std::int32_t left) const;
  void merge_all(Work& work) const;

  std::array<TokenId, 256> byte_tokens_{};
  std::size_t max_token_bytes_ = 0;  // of the longest text, so that longer pairs need no look-up
};

}  // namespace octavo
