// The pre-tokenizers by name, one in each row: the cuts that a vocabulary's makers applied before merging.
//
// Patterns are the originals', character for character: those of the family's tokenizer.json, which `tokenizers` runs,
// or of the package of its makers. docs/tokenizers.md says where each was read, and where llama.cpp differs.
// Constant tables; any thread.
#pragma once

#include <array>
#include <span>
#include <string>
#include <string_view>

#include "tokenizer/text/normalize.h"

namespace octavo {

/// How the matches of a pattern and the gaps between them are used (SplitDelimiterBehavior of `tokenizers`).
enum class CutBehavior : std::uint8_t {
  kIsolated,            // each match and each gap is a piece
  kRemoved,             // each gap is a piece, matches are left out
  kContiguous,          // neighbours of one kind are one piece
  kMergedWithPrevious,  // a match belongs to the gap before it
  kMergedWithNext,      // a match joins the gap after it
};

/// One cut: the matches of a pattern, and the gaps between them, become pieces.
struct CutStage {
  std::string_view pattern;
  bool is_on_bytes = false;  // the pattern reads the characters that stand for bytes in the vocabulary
  CutBehavior behavior = CutBehavior::kIsolated;
  bool is_inverted = false;  // gaps and matches change places
};

/// The cuts that are built into `tokenizers`: GPT-2's, in ByteLevel; those of Digits; those of Punctuation, which is
/// Unicode 8's punctuation with the symbols of ASCII.
inline constexpr std::string_view kGpt2Cut =
    R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)";
inline constexpr std::string_view kDigitCut = R"(\p{N})";
inline constexpr std::string_view kPunctuationCut = R"([\p{P}$+<=>^`|~])";

/// The cuts of BertPreTokenizer: white space, which is left out, and punctuation. The punctuation is that of Unicode 8,
/// too, and is followed here character by character, since a sign that is no punctuation makes its whole word unknown.
inline constexpr std::string_view kSpaceCut = R"(\s+)";
inline constexpr std::string_view kBertPunctuationCut =
    R"([\p{P}\x{166D}\x{111C9}$+<=>^`|~&&[^\x{61D}\x{9FD}\x{A76}\x{C77}\x{C84}\x{1B4E}\x{1B4F}\x{1B7D}-\x{1B7F})"
    R"(\x{2E43}-\x{2E4F}\x{2E52}-\x{2E5D}\x{10D6E}\x{10EAD}\x{10F55}-\x{10F59}\x{10F86}-\x{10F89}\x{113D4}\x{113D5})"
    R"(\x{113D7}\x{113D8}\x{1144B}-\x{1144F}\x{1145A}\x{1145B}\x{1145D}\x{11660}-\x{1166C}\x{116B9}\x{1183B})"
    R"(\x{11944}-\x{11946}\x{119E2}\x{11A3F}-\x{11A46}\x{11A9A}-\x{11A9C}\x{11A9E}-\x{11AA2}\x{11B00}-\x{11B09})"
    R"(\x{11BE1}\x{11C41}-\x{11C45}\x{11C70}\x{11C71}\x{11EF7}\x{11EF8}\x{11F43}-\x{11F4F}\x{11FFF}\x{12FF1})"
    R"(\x{12FF2}\x{16D6D}-\x{16D6F}\x{16E97}-\x{16E9A}\x{16FE2}\x{1E5FF}\x{1E95E}\x{1E95F}]])";
inline constexpr CutStage kBertCuts[] = {{.pattern = kSpaceCut, .behavior = CutBehavior::kRemoved},
                                         {.pattern = kBertPunctuationCut}};

/// A cut before each U+2581, with which words of SentencePiece begin.
inline constexpr CutStage kWordMarkCut[] = {{.pattern = "\xE2\x96\x81", .behavior = CutBehavior::kMergedWithNext}};

struct PreTokenizerKind {
  static constexpr std::size_t kMaxStages = 6;

  std::string_view names;  // values of tokenizer.ggml.pre, separated by spaces, the usual one first
  std::array<CutStage, kMaxStages> stages;
  Normalization normalization = Normalization::kNone;
  bool ignore_merges = false;  // whether a word that is a token as a whole becomes it without merging
  bool add_bos = false;        // whether BOS is added where the file has no tokenizer.ggml.add_bos_token
};

/// A pre-tokenizer by name; null: no pre-tokenizer has the name.
const PreTokenizerKind* find_pre_tokenizer(std::string_view name);

/// All pre-tokenizers; where several have the same cuts, the first has the usual name.
std::span<const PreTokenizerKind> all_pre_tokenizers();

/// The names of all pre-tokenizers, separated by spaces.
std::string all_pre_tokenizer_names();

}  // namespace octavo
