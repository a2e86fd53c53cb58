// Makes of a tokenizer.json the parts of a TextEncoder, and the special tokens.
//
// Free functions, any thread.
#pragma once

#include "base/error.h"
#include "tokenizer/json/tokenizer_json.h"
#include "tokenizer/text_encoder.h"
#include "tokenizer/words/special_tokens.h"
#include "tokenizer/words/vocab.h"

namespace octavo {

/// Errors: bounds of the steps and of the cuts; merges of texts that are no tokens.
Result<EncoderParts> json_encoder_parts(const TokenizerJson& words, const Vocab& vocab);

/// The added tokens that are looked for in a text as it is.
struct JsonSpecialTokens {
  SpecialTokens of_template{Overlap::kFirstWins};  // all added tokens, those of normalized text as well
  SpecialTokens all{Overlap::kFirstWins};
  SpecialTokens ordinary{Overlap::kFirstWins};  // tokens that text may become and that are no template's
};
JsonSpecialTokens json_special_tokens(const TokenizerJson& words, const Vocab& vocab);

}  // namespace octavo
