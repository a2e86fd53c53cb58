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
  std::uint8_t first_type = 0, second_type = 0;  // the types of the two texts' own tokens
};

struct TextFrame {
  std::vector<TokenId> prefix = {}, suffix = {};  // around one text: BOS or [CLS], EOS or [SEP]
  std::optional<PairFrame> pair = {};             // none: the vocabulary's makers have no form for two texts
};

/// The tokens of a text, or of two, with the tokens around and between them.
struct FramedText {
  std::vector<TokenId> ids = {};
  std::vector<std::uint8_t> types = {};  // [ids] the token types
  bool is_cut = false;                   // whether tokens of the texts were left out
};

struct FrameOptions {
  std::size_t max_tokens = std::numeric_limits<std::size_t>::max();  // the most tokens in all, those around included
  /// Whether texts of more tokens are cut at their ends, so that the tokens around them remain; otherwise they are
  /// refused as kContextOverflow.
  bool cuts = false;
  bool parse_special = false;   // whether control tokens written in a text become those tokens
  RequestWork* work = nullptr;  // as in TokenizeOptions
};

/// The defaults of a family for what a file does not say.
struct FrameDefaults {
  bool adds_bos = false, adds_eos = false;
};

/// Reads the frame of a GGUF file: tokenizer.ggml.add_bos_token, add_eos_token and add_sep_token. BERT's text always
/// stands between [CLS] and [SEP], as in llama.cpp. Error: the file asks for a token that it does not name.
Result<TextFrame> read_text_frame(const ModelSource& source, const Vocab& vocab, const FrameDefaults& defaults);

/// The frame with one separator between two texts, as in BERT; below, with two, as in RoBERTa.
PairFrame pair_of_bert(TokenId first, TokenId separator);
PairFrame pair_of_roberta(TokenId first, TokenId separator);

}  // namespace octavo
