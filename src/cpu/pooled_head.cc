#include "cpu/pooled_head.h"

#include <algorithm>

#include "base/to_size.h"

namespace octavo {
namespace {

int widest(const ModelConfig& config, const HeadTensors<CpuForm>& w) {
  const std::int64_t between = is_present(w.vector_up) ? w.vector_up.rows : 0;
  return std::max({config.width, config.head.width, config.head.num_scores, static_cast<int>(between)});
}

}  // namespace

PooledHead::PooledHead(const ModelConfig& config, const Weights& weights, ComputeContext& context)
    : config_(config),
      weights_(weights.head),
      context_(context),
      hidden_(to_size(widest(config, weights.head))),
      result_(hidden_.size()),
      quantized_(1, widest(config, weights.head), context.kernels) {}

std::span<const float> PooledHead::vector_of(std::span<const float> pooled) {
  if (!is_present(weights_.vector)) return pooled;
  const std::span<float> result = result_.span().first(to_size(weights_.vector.rows));
  std::span<const float> input = pooled;
  if (is_present(weights_.vector_up)) {
    const std::span<float> hidden = hidden_.span().first(to_size(weights_.vector_up.rows));
    multiply(weights_.vector_up, pooled, hidden);
    input = hidden;
  }
  multiply(weights_.vector, input, result);
  return result;
}

std::span<const float> PooledHead::scores_of(std::span<const float> pooled) {
  const std::span<float> hidden = hidden_.span().first(pooled.size());
  const std::span<float> scores = result_.span().first(to_size(config_.head.num_scores));
  std::ranges::copy(pooled, hidden.begin());
  if (is_present(weights_.dense)) {
    multiply(weights_.dense, pooled, hidden);
    if (weights_.dense_bias != nullptr) context_.kernels.add(hidden.data(), weights_.dense_bias, config_.width);
    activate(hidden);
    if (weights_.norm != nullptr)
      context_.kernels.layer_norm(hidden.data(), weights_.norm, nullptr, config_.width, config_.norm_epsilon,
                                  hidden.data());
  }
  multiply(weights_.scores, hidden, scores);
  if (weights_.scores_bias != nullptr)
    context_.kernels.add(scores.data(), weights_.scores_bias, config_.head.num_scores);
  return scores;
}

void PooledHead::activate(std::span<float> row) const {
  const auto size = static_cast<std::int64_t>(row.size());
  config_.head.gelu ? context_.kernels.gelu_erf_mul(row.data(), nullptr, size, row.data())
                    : context_.kernels.soft_cap(row.data(), 1, size);  // tanh
}

void PooledHead::multiply(const WeightMatrix& weight, std::span<const float> x, std::span<float> y) {
  quantized_.out(weight.forms()).write_row(x.data(), 0, 1, weight.cols);
  context_.multiply(weight, quantized_.view(x.data(), weight.cols), 1, y.data());
}

}  // namespace octavo
