// The scores of tokens with which SentencePiece merges as the merge list of a tokenizer.json does.
//
// SentencePiece merges whatever two tokens make a third, the best score first; `transformers` writes all such pairs
// into the list, by the score of the token they make (convert_slow_tokenizer.py, generate_merges). This undoes that.
#pragma once

#include <optional>
#include <vector>

#include "tokenizer/json/tokenizer_json.h"

namespace octavo {

/// A score for each of `num_ids` tokens, 0 for those that no merge makes; tokens whose pairs are interleaved share one.
/// None: the list is of another kind: a pair is missing, or too many tokens would share a score.
std::optional<std::vector<float>> spm_scores(const TokenizerJson& json, std::size_t num_ids);

}  // namespace octavo
