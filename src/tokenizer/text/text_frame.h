// The tokens around a text, and around and between two texts of which a cross-encoder judges one by the other.
//
// They are what a GGUF file's keys say, or the post_processor of a tokenizer.json. Plain values; any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <vector>

#include "base/error.h"
#include "octavo/request_work.h"
#include "source/model_source.h"
#include "tokenizer/words/vocab.h"

namespace octavo {

struct FrameToken {
  TokenId id;
  std::uint8_t type;  // the token type: the row of the model's token_types that is added
};

struct PairFrame {
  std::vector<FrameToken> before = {}, between = {}, behind = {};
  std::uint8_t first_type = 0, second_type = 0;  // of the texts themselves
};

struct TextFrame {
  std::vector<TokenId> prefix = {}, suffix = {};  // around one text: BOS or [CLS], EOS or [SEP]
  std::optional<PairFrame> pair = {};             // no value: the vocabulary's makers have no form for two texts
};

/// Tokens of a text, or of two, with those around and between.
struct FramedText {
  std::vector<TokenId> ids = {};
  std::vector<std::uint8_t> types = {};  // [ids] token types
  bool is_cut = false;                   // tokens of the texts were left out
};

struct FrameOptions {
  std::size_t max_tokens = std::numeric_limits<std::size_t>::max();  // of the whole, those around included
  /// Texts of more tokens are cut at their ends, so that the tokens around them remain; otherwise they are refused as
  /// kContextOverflow.
  bool cuts = false;
  bool parse_special = false;   // control tokens written in a text become those tokens
  RequestWork* work = nullptr;  // as in TokenizeOptions
};

/// The answers that hold where a file gives none.
struct FrameDefaults {
  bool adds_bos = false, adds_eos = false;
};

/// Reads the frame of a GGUF file: tokenizer.ggml.add_bos_token, add_eos_token and add_sep_token. Words of BERT always
/// stand between [CLS] and [SEP], as in llama.cpp. Error: a token that is asked for and that the file does not name.
Result<TextFrame> read_text_frame(const ModelSource& source, const Vocab& vocab, const FrameDefaults& defaults);

/// The frame of one separator between two texts, as BERT has it, or of two, as RoBERTa has them.
PairFrame pair_of_bert(TokenId first, TokenId separator);
PairFrame pair_of_roberta(TokenId first, TokenId separator);

}  // namespace octavo
