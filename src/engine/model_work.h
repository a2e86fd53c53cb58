// The work that computing a token takes, counted from a model's weights: for ModelInfo, and so for estimates of speed.
#pragma once

#include <vector>

#include "model/weights.h"
#include "octavo/engine.h"

namespace octavo {

/// The matrices that every row goes through, and those of rows whose logits are needed alone. The latter lie behind the
/// last layer that writes state; they are all of that layer but its state's, and the output matrix (tied or not).
MatrixWork layer_work(const ModelConfig& config, const Weights& weights);
MatrixWork output_work(const ModelConfig& config, const Weights& weights);

/// One entry for each distance that layers look back, and one each for those that only rows go through whose logits are
/// needed.
std::vector<AttentionWork> attention_work(const ModelConfig& config, KvType kv_type);

/// Rows of a sequence at positions first .. first + count - 1.
struct RowRange {
  int first = 0, count = 0;
};
/// The ones of `rows` that attend in these layers; logits of the last `num_logits` of them are needed.
RowRange attending_rows(const AttentionWork& layers, RowRange rows, int num_logits);

/// Tokens that rows at positions first .. first + count - 1 see, added up; a window of 0 is none.
double tokens_seen(int first, int count, int window);

}  // namespace octavo
