// The head of a model that makes vectors or scores: what it makes of a pooled row.
//
// Owned by the transformer; one thread calls it, inside a pool step.
#pragma once

#include <span>

#include "cpu/compute_context.h"
#include "cpu/quantized_rows.h"
#include "cpu/weights.h"
#include "model/config.h"

namespace octavo {

class PooledHead {
 public:
  /// All references must outlive it.
  PooledHead(const ModelConfig& config, const Weights& weights, ComputeContext& context);

  // `pooled` is [width]; results are valid until the next call.

  /// The vector: the row itself, or one or two matrices times it (Vera et al., 2025), [HeadSpec::width].
  std::span<const float> vector_of(std::span<const float> pooled);
  /// A score for each label, [HeadSpec::num_scores].
  std::span<const float> scores_of(std::span<const float> pooled);

 private:
  void multiply(const WeightMatrix& weight, std::span<const float> x, std::span<float> y);
  void activate(std::span<float> row) const;

  const ModelConfig& config_;
  const HeadTensors<CpuForm>& weights_;
  ComputeContext& context_;
  AlignedBuffer<float> hidden_, result_;
  QuantizedRows quantized_;  // for one row
};

}  // namespace octavo
