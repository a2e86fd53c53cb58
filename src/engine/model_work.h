// What computing a token takes, counted from a model's file: for ModelInfo, and so for estimates of speed.
#pragma once

#include <vector>

#include "gguf/gguf_file.h"
#include "model/config.h"
#include "octavo/engine.h"

namespace octavo {

/// Of a file that the model layer has accepted: the matrices that every row goes through, and those that only rows
/// whose logits are needed go through, which are the last layer's but K and V, and the output matrix (tied or not).
MatrixWork layer_work(const GgufFile& file, const ModelConfig& config);
MatrixWork output_work(const GgufFile& file, const ModelConfig& config);

/// One entry for each distance that layers look back, and one for the last layer.
std::vector<AttentionWork> attention_work(const ModelConfig& config, KvType kv_type);

/// Rows of a sequence at positions first .. first + count - 1.
struct RowRange {
  int first = 0, count = 0;
};
/// Which of `rows` attend in these layers; logits of the last `num_logits` of them are needed.
RowRange attending_rows(const AttentionWork& layers, RowRange rows, int num_logits);

/// Tokens that rows at positions first .. first + count - 1 see, added up; a window of 0 is none.
double tokens_seen(int first, int count, int window);

}  // namespace octavo
