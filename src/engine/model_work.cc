#include "engine/model_work.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "model/cpu_runner.h"

namespace octavo {
namespace {

void add(const Tensor& matrix, MatrixWork& work) {
  const auto weights = static_cast<std::uint64_t>(matrix.rows) * static_cast<std::uint64_t>(matrix.cols);
  const bool plain = dtype_info(matrix.type).block_elements == 1;
  (plain ? work.float_multiply_adds : work.int8_multiply_adds) += weights;
  work.bytes += matrix.data.size();
}

/// Matrices of layers that all rows go through, or the others.
MatrixWork matrices_of_layers(const GgufFile& file, const ModelConfig& config, bool all_rows) {
  const std::string last = fmt::format("blk.{}.", config.num_layers - 1);
  const std::string k = last + "attn_k.weight", v = last + "attn_v.weight";
  MatrixWork work;
  for (const GgufTensor& tensor : file.tensors()) {
    if (!tensor.name.starts_with("blk.") || tensor.dims.size() < 2) continue;
    const bool of_all = !tensor.name.starts_with(last) || tensor.name == k || tensor.name == v;
    if (of_all == all_rows) add(tensor.tensor, work);
  }
  return work;
}

}  // namespace

MatrixWork layer_work(const GgufFile& file, const ModelConfig& config) {
  return matrices_of_layers(file, config, true);
}

MatrixWork output_work(const GgufFile& file, const ModelConfig& config) {
  MatrixWork work = matrices_of_layers(file, config, false);
  const GgufTensor* output = file.find_tensor("output.weight");
  if (output == nullptr) output = file.find_tensor("token_embd.weight");  // tied
  if (output != nullptr) add(output->tensor, work);
  return work;
}

std::vector<AttentionWork> attention_work(const ModelConfig& config, KvType kv_type) {
  const std::uint64_t layer_kv_bytes =
      kv_need(config, kv_type, kDefaultBlockSize, 1).bytes_per_token / static_cast<std::uint64_t>(config.num_layers);
  std::vector<AttentionWork> all;
  for (int layer = 0; layer < config.num_layers; ++layer) {
    const int window = config.is_windowed(layer) ? config.window : 0;
    const bool last = layer + 1 == config.num_layers;
    auto same = last ? all.end() : std::ranges::find(all, window, &AttentionWork::window);
    if (same == all.end()) same = all.insert(all.end(), {.window = window, .only_logit_rows = last});
    same->num_layers += 1;
    same->kv_bytes += layer_kv_bytes;
    same->float_multiply_adds += 2 * static_cast<std::uint64_t>(config.q_width());  // scores, and sums of values
  }
  return all;
}

RowRange attending_rows(const AttentionWork& layers, RowRange rows, int num_logits) {
  if (!layers.only_logit_rows) return rows;
  return {.first = rows.first + rows.count - num_logits, .count = num_logits};
}

double tokens_seen(int first, int count, int window) {
  const double rows = count;
  if (window == 0) return rows * (first + 1.0) + rows * (rows - 1) / 2;
  const int growing = std::clamp(window - first - 1, 0, count);  // rows that see all before them, and fewer than window
  return tokens_seen(first, growing, 0) + (rows - growing) * window;
}

}  // namespace octavo
