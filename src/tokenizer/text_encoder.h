// Encodes the text between special tokens: changes it by steps, cuts it into words, and merges.
//
// Owned by the Tokenizer; immutable, any thread. The vocabulary outlives it.
#pragma once

#include <cstddef>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <variant>
#include <vector>

#include "base/error.h"
#include "octavo/request_work.h"
#include "tokenizer/encoder_scratch.h"
#include "tokenizer/pretokenize/pretokenize.h"
#include "tokenizer/text/code_point_set.h"
#include "tokenizer/text/text_steps.h"
#include "tokenizer/token_bound.h"
#include "tokenizer/words/bpe.h"
#include "tokenizer/words/character_bpe.h"
#include "tokenizer/words/special_tokens.h"
#include "tokenizer/words/spm.h"
#include "tokenizer/words/unigram.h"
#include "tokenizer/words/vocab.h"
#include "tokenizer/words/word_piece.h"

namespace octavo {

/// An algorithm that makes tokens of a word, or of a text that is not cut.
using WordAlgorithm = std::variant<Bpe, Spm, CharacterBpe, WordPiece, Unigram>;

/// The treatment of a text of more tokens than allowed.
enum class TooMany : std::uint8_t {
  kRefuse,  // it is an error
  kStop,    // encoding stops after the first token too many, or later
};

/// The limits of one encoding.
struct EncodeLimits {
  std::size_t max_tokens = std::numeric_limits<std::size_t>::max();
  TooMany too_many = TooMany::kRefuse;
  const RequestWork* work = nullptr;  // the work that can be stopped; null: nothing stops it
};

/// The parts of an encoder that a vocabulary's makers chose.
struct EncoderParts {
  TextSteps normalizer = {};
  /// The tokens to look for in normalized text: all of them, and those that text may become and no template has.
  SpecialTokens normalized_special{Overlap::kFirstWins}, normalized_ordinary{Overlap::kFirstWins};
  TextSteps word_steps = {};  // the steps after `steps`
  std::optional<PreTokenizer> cuts = {};
  WordAlgorithm algorithm;
  std::vector<TokenId> strips_left = {}, strips_right = {};  // tokens that take the white space beside them, in order
};

class TextEncoder {
 public:
  TextEncoder(EncoderParts parts, const Vocab& vocab);

  /// Whether the texts surely have more than `max_tokens` tokens.
  bool are_too_long(std::span<const std::string_view> texts, std::size_t max_tokens) const;

  /// Appends the ids of `fragments`; with `parse_special` also those of special tokens in normalized text. Errors: more
  /// than `max_tokens` ids, which costs no more than so many; a limit of steps or of the pattern matcher; a stop was
  /// asked for (kStopped), for which it looks now and then.
  Result<void> encode(const Vocab& vocab, std::vector<Fragment> fragments, bool parse_special,
                      const EncodeLimits& limits, std::vector<TokenId>& ids) const;

 private:
  /// The state of one call of encode().
  struct Run {
    const Vocab& vocab;
    EncodeLimits limits;
    std::vector<TokenId>& ids;
    EncoderScratch& scratch;
    std::size_t bytes_since_look = 0;  // the bytes since the last look whether it must stop

    std::size_t num_left() const { return limits.max_tokens - ids.size(); }
    bool has_too_many() const { return ids.size() > limits.max_tokens; }
    bool is_stopped() const { return limits.work != nullptr && limits.work->is_stopped(); }
    /// Whether words with so many bytes more are to be encoded: the limit is not reached, and no stop was asked for.
    bool goes_on(std::size_t bytes);
    /// The result of the run: an error where there are too many tokens.
    Result<void> end() const;
  };

  bool needs_characters() const;
  bool may_join_any() const;
  /// Removes white space beside the tokens that take it from `fragments`.
  void strip(std::vector<Fragment>& fragments) const;
  /// Adds the tokens of fragments; `encode` adds the tokens of a text, and is told whether it is the first.
  template <class Encode>
  Result<void> encode_fragments(std::vector<Fragment> fragments, bool is_first, Run& run, const Encode& encode) const;
  Result<void> encode_text(std::string_view text, bool is_first, bool parse_special, Run& run) const;
  Result<void> encode_pieces(std::string_view text, bool is_first, Run& run) const;
  void encode_word(std::string_view word, Run& run) const;

  EncoderParts parts_;
  TokenBound bound_;
  CodePointSet spaces_;  // the characters that strips_left and strips_right take
  bool is_bounded_;      // whether the size of a text gives a lower bound of its tokens
  std::unique_ptr<SpareScratch> spare_ = std::make_unique<SpareScratch>();
};

/// The error for more than `max_tokens` tokens.
std::unexpected<Error> too_many_tokens(std::size_t max_tokens);

}  // namespace octavo
