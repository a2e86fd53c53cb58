// Byte-level byte pair encoding of one word: neighbours are merged in the order of the file's merge list.
//
// R. Sennrich et al., "Neural Machine Translation of Rare Words with Subword Units", ACL 2016; on bytes as in GPT-2.
// The Tokenizer owns it; it is immutable, and any thread may call it with a Scratch of its own.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/error.h"
#include "tokenizer/words/merge_queue.h"
#include "tokenizer/words/places_left.h"
#include "tokenizer/words/vocab.h"

namespace octavo {

/// An entry of a merge list.
struct MergeText {
  std::string_view left, right;
};

/// Splits entries "left right" of tokenizer.ggml.merges. Errors name `file`, key and the entry that is not two texts.
Result<std::vector<MergeText>> split_merges(std::span<const std::string_view> merges, std::string_view file);

class Bpe {
 public:
  /// Memory that encode() reuses from word to word.
  struct Scratch {
    std::vector<TokenId> tokens;  // -1: merged into the one before it
    PlacesLeft left;
    MergeQueue queue;
    std::string word;

    std::size_t bytes() const;
  };

  struct Options {
    bool ignore_merges = false;  // whether a word that is a token as a whole becomes it without merging
    TokenId unknown = -1;        // the token of a byte that has none; -1: such a byte gives no token
  };
  /// `merges`: the best first. Error: an entry that names or makes a text that is no token; it names the entry and
  /// `where` the list stands. A merge into a token that is not an ordinary one is left out.
  static Result<Bpe> create(const Vocab& vocab, std::span<const MergeText> merges, const Options& options,
                            std::string_view where);

  /// [bytes] whether a byte has no token and gives none.
  std::array<bool, 256> silent_bytes() const;

  /// Appends the tokens of `word`, which is less than 2 GiB of bytes. A byte that the vocabulary has no token for is
  /// left out, so that its neighbours may merge, as in `tokenizers`. Time is n log n in the word's length.
  void encode(std::string_view word, Scratch& scratch, std::vector<TokenId>& out) const;
  /// Merges scratch.tokens, less than 2^31 of them, and appends what they become.
  void merge(Scratch& scratch, std::vector<TokenId>& out) const;

 private:
  struct Merge {
    TokenId left, right, merged;
  };
  struct Pair {  // a merge, in the list of its left token
    TokenId right;
    std::uint32_t rank;
  };
  static constexpr std::uint32_t kNoRank = 0xFFFFFFFF;
  static constexpr unsigned kPositionBits = 7;
  static constexpr std::size_t kShortWord = std::size_t{1} << kPositionBits;
  static constexpr std::uint32_t kNoShortRank = (std::uint32_t{1} << (31 - kPositionBits)) - 1;  // above every rank

  Bpe() = default;
  void build_pairs(int vocab_size);
  /// The rank of a pair in the merge list; kNoRank if the list lacks it. Either token may be -1.
  std::uint32_t rank(TokenId left, TokenId right) const;
  void encode_short(std::string_view word, std::vector<TokenId>& out) const;
  /// Merges scratch.tokens, all of whose pairs are in scratch.queue.
  void merge_queued(Scratch& scratch, std::vector<TokenId>& out) const;
  void push_pair(std::size_t left, std::size_t right, Scratch& scratch) const;

  std::vector<Merge> merges_;               // in the order of ranks
  std::vector<std::uint32_t> pairs_begin_;  // [vocab_size + 1]: pairs of a left token, sorted by the right one
  std::vector<Pair> pairs_;                 // [merges]
  std::array<TokenId, 256> byte_tokens_{};  // -1: none
  bool has_silent_bytes_ = false;           // whether one of these is -1
  std::vector<std::uint32_t> byte_pairs_;   // [256][256] the rank of a pair of bytes, which is looked up for every byte
  std::unordered_map<std::string, TokenId> whole_words_;  // tokens by their bytes, if ignore_merges
};

}  // namespace octavo
