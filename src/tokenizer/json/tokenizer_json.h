// tokenizer.json: the vocabulary and all steps of encoding a text, as Hugging Face `tokenizers` writes them.
//
// https://github.com/huggingface/tokenizers. A file is read whole or refused: a part that is unknown, or would make
// other ids than there, is an error with its path in the JSON. Plain values, immutable once read; any thread.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "octavo/model_text.h"
#include "tokenizer/json/tokenizer_json_parser.h"
#include "tokenizer/pretokenize/pretokenizers.h"
#include "tokenizer/text/text_frame.h"
#include "tokenizer/text/text_steps.h"
#include "tokenizer/words/character_bpe.h"

namespace octavo {

/// A cut that owns its pattern.
struct JsonCut {
  std::string pattern;
  CutStage how;
};

/// The steps that normalizer, pre_tokenizer, decoder and post_processor name.
struct TokenizerJsonPipeline {
  std::vector<TextStep> normalizer{};
  std::vector<TextStep> word_steps{};  // the steps of pre_tokenizer before its first cut
  std::vector<JsonCut> cuts{};
  bool is_byte_level = false;
  bool decodes_bytes = false;        // the decoder makes bytes of "<0x41>"
  bool decodes_word_pieces = false;  // the decoder is WordPiece
  bool strips_space = false;         // whether a decoded text loses the space of its first token
  TextFrame frame{};                 // the tokens around a text, and around two
};

/// The kinds of model.type.
enum class JsonModel : std::uint8_t { kBpe, kWordPiece, kUnigram };

struct JsonAddedToken {
  std::string text;
  TokenId id;
  bool strips_left, strips_right;
  bool is_normalized;  // whether the token is looked for in normalized text
  bool is_special;
};

struct TokenizerJson {
  /// Reads a file. Errors begin with its name: the file cannot be read, has more than
  /// ParsedTokenizerJson::kLimits.max_bytes, or is refused.
  static Result<TokenizerJson> open(const std::filesystem::path& path);
  static Result<TokenizerJson> parse(std::string_view text, const std::string& file);

  std::string file;
  TextArena texts;                         // the memory of the views below
  std::vector<std::string_view> tokens{};  // [ids]; "": no token of the model has this id
  std::vector<MergeText> merges{};         // best first
  bool ignores_merges = false;             // whether a word that is a token becomes it without merging
  UnknownCharacters unknown{};             // for a model that is not byte-level
  JsonModel model = JsonModel::kBpe;
  std::size_t max_word_characters = 0;         // WordPiece: a longer word is unknown
  std::string continuation{};                  // WordPiece: the beginning of tokens that continue a word
  std::vector<double> scores{};                // Unigram: [tokens]
  std::vector<JsonAddedToken> added_tokens{};  // in the order of ids
  TokenizerJsonPipeline pipeline{};

  /// The number after the largest id.
  std::size_t num_ids() const;
};

}  // namespace octavo
