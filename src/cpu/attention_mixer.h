// Attention as a layer's mixer: Q, K and V of the rows, K and V into the cache, the cache's answer, the output matrix.
//
// Owned by the transformer. It plans a step once and runs it for every layer that attends.
#pragma once

#include <span>
#include <vector>

#include "attention/attention_plan.h"
#include "cpu/head_products.h"
#include "cpu/residual_stream.h"
#include "cpu/weights.h"
#include "kv/kv_arena.h"
#include "kv/layer_range.h"
#include "stage/rope_table.h"
#include "stage/step_rows.h"

namespace octavo {

class AttentionMixer {
 public:
  /// For some of a model's layers, whose keys and values lie in the arena. All references must outlive it.
  AttentionMixer(const ModelConfig& config, const Weights& weights, const KvArena& kv, ComputeContext& context,
                 ResidualStream& stream, LayerRange layers = {});

  /// Plans the attention of the rows under way; again when they have become fewer.
  void plan(const StepRows& rows);
  /// The angles of all rows of the batch. Once a step.
  void compute_angles(const Batch& batch) { ropes_.fill(batch, context_.pool); }

  /// K and V of the rows whose normed input is in the stream, into the cache.
  void write_state(int layer, const StepRows& rows);
  /// The whole mixer. `state_written`: write_state() was called for this layer.
  void run(int layer, const StepRows& rows, bool state_written, const Epilogue& epilogue);

  /// The forms in which matrices read the mixer's input.
  static RowForms forms(const AttentionWeights& w);
  /// The widest rows that it quantizes in the stream.
  static int max_cols(const ModelConfig& config);

 private:
  struct Layer {
    const AttentionSpec* spec = nullptr;  // nullptr: the layer has another mixer, or lies elsewhere
    const AttentionWeights* weights = nullptr;
    KvPlace place;  // of its keys and values
    std::size_t plan = 0;
    std::size_t rope = 0;
  };
  /// The attention of the layers of a group that have equal heads.
  struct GroupPlan {
    int group;
    AttentionReach reach;
    AttentionPlan::Shape shape;
    AttentionPlan plan;
  };

  std::size_t find_plan(int group, const AttentionSpec& spec);
  /// The products of the normed rows: Q, or what it is made of, the gate, and K and V where the layer writes them.
  void multiply_inputs(const Layer& layer, int rows, bool writes);
  /// Q of a latent attention, from what multiply_inputs() has made: each head's part that meets the latent, and what is
  /// rotated behind it.
  void make_latent_q(const Layer& layer, const StepRows& rows);
  /// The norm of the latent, and the rotation of the part that all heads share.
  void finish_latent(const Layer& layer, std::int64_t row, float* k);
  /// The results of latent attention's heads, [rows, result_width].
  const float* multiply_values(const Layer& layer, int rows);
  void finish_q(const Layer& layer, const StepRows& rows, std::int64_t row);
  /// Multiplies a row of attention's result by its gate.
  void gate_attended(const AttentionSpec& spec, std::int64_t row);
  /// Multiplies it by a gate that has a matrix of its own.
  void apply_gate(const AttentionSpec& spec, std::int64_t row);
  float gate_value(const OutputGate& gate, float product) const;
  void write_kv(const Layer& layer, const StepRows& rows, std::int64_t row);
  /// V of a row, whose K is not normed yet.
  void finish_v(const Layer& layer, const float* k, float* v);
  /// Norm, if there is one, and rotary position of each head.
  void norm_and_rope(const Layer& layer, std::int64_t batch_row, const float* norm, int num_heads, float* heads);
  void attend(const Layer& layer);

  const ModelConfig& config_;
  ComputeContext& context_;
  ResidualStream& stream_;
  const KvArena& kv_;
  std::vector<Layer> layers_;  // [num_layers]
  std::vector<GroupPlan> plans_;
  RopeTables ropes_;
  std::vector<AttentionSequence> sequences_;  // scratch of plan()
  AlignedBuffer<float> q_, attended_;         // [rows, q_width], [rows, attended_width]
  AlignedBuffer<float> gated_q_;              // [rows, q_rows] where outputs are gated: each head's q and gate
  AlignedBuffer<float> gate_;                 // [rows, gate_rows]
  AlignedBuffer<float> k_, v_;                // [rows, kv_width]
  AlignedBuffer<float> ones_;                 // [head_dim] the weights of norms that have none
  // Of latent attention: the row that Q is made of, [rows, q_rank]; heads before they meet the latent, [rows, q_rows];
  // and behind their values' products, [rows, result_width].
  AlignedBuffer<float> q_low_, q_plain_, values_;
  HeadProducts head_products_;
};

}  // namespace octavo
