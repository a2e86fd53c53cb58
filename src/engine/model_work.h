// What computing a token takes, counted from a model's file: for ModelInfo, and so for estimates of speed.
#pragma once

#include <vector>

#include "gguf/gguf_file.h"
#include "model/config.h"
#include "octavo/engine.h"

namespace octavo {

/// Of a file that the model layer has accepted: the matrices of its layers, and the output matrix (tied or not).
MatrixWork layer_work(const GgufFile& file);
MatrixWork output_work(const GgufFile& file);

/// One entry for each distance that layers look back.
std::vector<AttentionWork> attention_work(const ModelConfig& config, KvType kv_type);

/// Tokens that rows at positions first .. first + count - 1 see, added up; a window of 0 is none.
double tokens_seen(int first, int count, int window);

}  // namespace octavo
