#include "cpu/per_layer_embedding.h"

#include <cmath>
#include <numbers>

#include "base/to_size.h"

namespace octavo {

PerLayerEmbedding::PerLayerEmbedding(const ModelConfig& config, const Weights& weights, ComputeContext& context,
                                     ResidualStream& stream)
    : config_(config),
      weights_(weights),
      context_(context),
      stream_(stream),
      num_inputs_(config.num_per_layer_inputs()),
      inputs_(context.make_rows(num_inputs_)),
      tokens_(to_size(context.pool.num_threads()) * to_size(num_inputs_)),
      gated_(context.make_rows(config.per_layer_width)) {}

void PerLayerEmbedding::embed(const Batch& batch) {
  const WeightMatrix& projection = weights_.per_layer.projection;
  const int rows = batch.num_rows();
  const Norm as_it_is{.weight = nullptr, .forms = projection.forms()};
  context_.for_rows(rows, [&](std::int64_t row, int) { stream_.norm_row(as_it_is, row, row, rows); });
  context_.multiply(projection, stream_.input(), rows, inputs_.data());
  context_.for_rows(rows, [&](std::int64_t row, int worker) {
    // What was given, such as a picture, has the table's rows of the padding token.
    const std::int32_t token = batch.given_vector(row) != nullptr ? 0 : batch.tokens[to_size(row)];
    add_token(token, worker, inputs_.data() + row * num_inputs_);
  });
}

void PerLayerEmbedding::add_token(std::int32_t token, int worker, float* inputs) {
  const KernelTable& kernels = context_.kernels;
  const int width = config_.per_layer_width;
  kernels.scale(inputs, 1 / std::sqrt(static_cast<float>(config_.width)), num_inputs_);
  for (float* input = inputs; input != inputs + num_inputs_; input += width)
    kernels.rms_norm(input, weights_.per_layer.norm, width, config_.norm_epsilon, input);
  float* own = tokens_.data() + to_size(worker) * to_size(num_inputs_);
  context_.scratch.decode_row(kernels, weights_.per_layer.table, token, worker, own);
  kernels.scale(own, std::sqrt(static_cast<float>(width)), num_inputs_);
  kernels.add(inputs, own, num_inputs_);
  kernels.scale(inputs, 1 / std::numbers::sqrt2_v<float>, num_inputs_);
}

void PerLayerEmbedding::run(int layer, const StepRows& rows, const Epilogue& epilogue) {
  const PerLayerWeights& w = weights_.layers[to_size(layer)].per_layer;
  const int count = rows.count(), width = config_.per_layer_width;
  context_.enter(StepPart::kLayerEmbedding);
  context_.multiply(w.gate, stream_.input(), count, gated_.data());
  context_.for_rows(count, [&](std::int64_t row, int) {
    const float* input = inputs_.data() + rows.batch_row(row) * num_inputs_ + std::int64_t{layer} * width;
    float* gated = gated_.data() + row * width;
    context_.kernels.gelu_mul(gated, input, width, gated);
    stream_.quantize_row(w.up.forms(), gated_.data(), width, row, count);
  });
  context_.multiply(w.up, stream_.quantized(gated_.data(), width), count, stream_.h());
  stream_.finish_rows(epilogue, count, [](std::int64_t) {});
}

}  // namespace octavo
