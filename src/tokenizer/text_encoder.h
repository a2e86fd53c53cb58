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

/// The treatment of a text of more tokens than there may be.
enum class TooMany : std::uint8_t {
  kRefuse,  // it is an error
  kStop,    // encoding stops behind the first token too many, or later
};

/// The bounds of one encoding.
struct EncodeLimits {
  std::size_t max_tokens = std::numeric_limits<std::size_t>::max();
  TooMany too_many = TooMany::kRefuse;
  const RequestWork* work = nullptr;  // that can stop it; null: nobody does
};

/// The parts that a vocabulary's makers chose.
struct EncoderParts {
  TextSteps normalizer = {};
  /// Tokens to look for in normalized text: all of them, and those that text may become and no template has.
  SpecialTokens normalized_special{Overlap::kFirstWins}, normalized_ordinary{Overlap::kFirstWins};
  TextSteps word_steps = {};  // behind those
  std::optional<PreTokenizer> cuts = {};
  WordAlgorithm algorithm;
  std::vector<TokenId> strips_left = {}, strips_right = {};  // tokens that take white space beside them, in order
};

class TextEncoder {
 public:
  TextEncoder(EncoderParts parts, const Vocab& vocab);

  /// Whether the text is more than `max_tokens` tokens for certain.
  bool are_too_long(std::span<const std::string_view> texts, std::size_t max_tokens) const;

  /// Appends the ids of `fragments`; with `parse_special` also those of normalized special tokens. Errors: more than
  /// `max_tokens` ids, which are refused at a cost that they bound; a limit of steps or of the pattern matcher; a stop
  /// was asked for (kStopped), which it looks for as it goes.
  Result<void> encode(const Vocab& vocab, std::vector<Fragment> fragments, bool parse_special,
                      const EncodeLimits& limits, std::vector<TokenId>& ids) const;

 private:
  /// One call of encode().
  struct Run {
    const Vocab& vocab;
    EncodeLimits limits;
    std::vector<TokenId>& ids;
    EncoderScratch& scratch;
    std::size_t bytes_since_look = 0;  // whether it must stop

    std::size_t num_left() const { return limits.max_tokens - ids.size(); }
    bool has_too_many() const { return ids.size() > limits.max_tokens; }
    bool is_stopped() const { return limits.work != nullptr && limits.work->is_stopped(); }
    /// Whether words of so many bytes more are encoded: there are not too many, and nobody has asked for a stop.
    bool goes_on(std::size_t bytes);
    /// The result where there are too many.
    Result<void> end() const;
  };

  bool needs_characters() const;
  bool may_join_any() const;
  /// Takes the white space beside tokens that want it out of `fragments`.
  void strip(std::vector<Fragment>& fragments) const;
  /// Adds the tokens of fragments; `encode` adds those of a text, and is told whether it is the first.
  template <class Encode>
  Result<void> encode_fragments(std::vector<Fragment> fragments, bool is_first, Run& run, const Encode& encode) const;
  Result<void> encode_text(std::string_view text, bool is_first, bool parse_special, Run& run) const;
  Result<void> encode_pieces(std::string_view text, bool is_first, Run& run) const;
  void encode_word(std::string_view word, Run& run) const;

  EncoderParts parts_;
  TokenBound bound_;
  CodePointSet spaces_;  // the characters that strips_left and strips_right take
  bool is_bounded_;      // whether a text's size bounds its tokens from below
  std::unique_ptr<SpareScratch> spare_ = std::make_unique<SpareScratch>();
};

/// The error of more than `max_tokens` tokens.
std::unexpected<Error> too_many_tokens(std::size_t max_tokens);

}  // namespace octavo
