// The embedding that a token has for each layer: after the feed-forward, a gate lets it into the residual stream (Gemma
// 3n, 2025; Gemma 4).
//
//     input[l] = (norm(projection x0 / sqrt(width))[l] + sqrt(per_layer_width) table[token][l]) / sqrt(2)
//     x       += post_norm(up (gelu(gate x) * input[l]))
//
// x0 is the row as the first layer reads it. Owned by the transformer; one step uses it at a time. It takes no memory
// where the model has no such embeddings.
#pragma once

#include "cpu/residual_stream.h"
#include "cpu/weights.h"
#include "stage/step_rows.h"

namespace octavo {

class PerLayerEmbedding {
 public:
  /// All references must outlive it.
  PerLayerEmbedding(const ModelConfig& config, const Weights& weights, ComputeContext& context, ResidualStream& stream);

  /// Computes the inputs of all layers, for a batch whose embeddings are in the stream. Called once in a step.
  void embed(const Batch& batch);
  /// Adds a layer's embedding to rows, whose h is the stream itself.
  void run(int layer, const StepRows& rows, const Epilogue& epilogue);

  /// The norm by which the part before it must leave h for this layer.
  static Norm input_of(const PerLayerWeights& w) { return {.weight = nullptr, .forms = w.gate.forms()}; }

 private:
  /// Adds the token's rows of the table to the projection of its embedding, [num_inputs].
  void add_token(std::int32_t token, int worker, float* inputs);

  const ModelConfig& config_;
  const Weights& weights_;
  ComputeContext& context_;
  ResidualStream& stream_;
  int num_inputs_;               // the inputs of a row: [layers][per_layer_width]
  AlignedBuffer<float> inputs_;  // [rows of the batch][num_inputs]
  AlignedBuffer<float> tokens_;  // [threads][num_inputs] rows of the table
  AlignedBuffer<float> gated_;   // [rows][per_layer_width]
};

}  // namespace octavo
