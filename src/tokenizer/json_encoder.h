// Makes the parts of a TextEncoder, and the special tokens, from a tokenizer.json.
//
// Free functions, any thread.
#pragma once

#include "base/error.h"
#include "tokenizer/json/tokenizer_json.h"
#include "tokenizer/text_encoder.h"
#include "tokenizer/words/special_tokens.h"
#include "tokenizer/words/vocab.h"

namespace octavo {

/// Makes the parts. Errors: bounds of the steps and of the cuts; merges of texts that are no tokens.
Result<EncoderParts> json_encoder_parts(const TokenizerJson& words, const Vocab& vocab);

/// The added tokens that are looked for in a text before it is normalized.
struct JsonSpecialTokens {
  SpecialTokens of_template{Overlap::kFirstWins};  // all added tokens, including those of normalized text
  SpecialTokens all{Overlap::kFirstWins};
  SpecialTokens ordinary{Overlap::kFirstWins};  // tokens that any text may become, without those of templates
};
JsonSpecialTokens json_special_tokens(const TokenizerJson& words, const Vocab& vocab);

}  // namespace octavo
