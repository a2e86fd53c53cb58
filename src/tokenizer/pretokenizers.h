// The pre-tokenizers by name, a row each: the cuts that a vocabulary's makers applied before merging.
//
// Patterns are the originals', character for character: those of the family's tokenizer.json, which `tokenizers` runs,
// or of the package of its makers. docs/tokenizers.md says where each was read, and where llama.cpp differs.
// Constant tables; any thread.
#pragma once

#include <array>
#include <span>
#include <string>
#include <string_view>

#include "tokenizer/normalize.h"

namespace octavo {

/// The use of the matches of a pattern and of the gaps between them (SplitDelimiterBehavior of `tokenizers`).
enum class CutBehavior : std::uint8_t {
  kIsolated,            // each match and each gap is a piece
  kRemoved,             // a gap is a piece, a match is left out
  kContiguous,          // neighbours of one kind are one piece
  kMergedWithPrevious,  // a match belongs to the gap before it
  kMergedWithNext,      // a match joins the gap behind it
};

/// One cut: the matches of a pattern, and the gaps between them, become pieces.
struct CutStage {
  std::string_view pattern;
  bool is_on_bytes = false;  // the pattern reads the characters that stand for bytes in the vocabulary
  CutBehavior behavior = CutBehavior::kIsolated;
  bool is_inverted = false;  // gaps and matches change places
};

/// The cuts that `tokenizers` has built in: GPT-2's, in ByteLevel; those of Digits; those of Punctuation, which is
/// Unicode 8's with the symbols of ASCII.
inline constexpr std::string_view kGpt2Cut =
    R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)";
inline constexpr std::string_view kDigitCut = R"(\p{N})";
inline constexpr std::string_view kPunctuationCut = R"([\p{P}$+<=>^`|~])";

struct PreTokenizerKind {
  static constexpr std::size_t kMaxStages = 6;

  std::string_view names;  // values of tokenizer.ggml.pre, separated by spaces, the usual one first
  std::array<CutStage, kMaxStages> stages;
  Normalization normalization = Normalization::kNone;
  bool ignore_merges = false;  // a word that is a token as a whole becomes it without merging
  bool add_bos = false;        // BOS is added where the file has no tokenizer.ggml.add_bos_token
};

/// A pre-tokenizer by name; null: no pre-tokenizer has the name.
const PreTokenizerKind* find_pre_tokenizer(std::string_view name);

/// All pre-tokenizers; of two with the same cuts the first has the usual name.
std::span<const PreTokenizerKind> all_pre_tokenizers();

/// The names of all pre-tokenizers, separated by spaces.
std::string all_pre_tokenizer_names();

}  // namespace octavo
