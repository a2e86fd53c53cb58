// Attention as a layer's mixer on the card (cpu/attention_mixer.h): Q, K and V of the rows are computed, K and V are
// written into the blocks in the card's memory, the queries attend, and the output matrix follows.
//
// Owned by CardStage.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "gpu/card_context.h"
#include "gpu/card_step.h"
#include "kv/state_layout.h"

namespace octavo::gpu {

class CardAttention {
 public:
  /// Allocates the keys and values of a stage's layers, and the rows of a step. Error: the card has not enough memory.
  static Result<CardAttention> create(CardContext& context, const ModelConfig& config, const StateRoom& room,
                                      LayerRange layers, int max_rows);
  /// The bytes of a layer's keys and values.
  static std::uint64_t kv_bytes(const StateRoom& room, int layer);
  /// The bytes of all other memory.
  static std::uint64_t scratch_bytes(const ModelConfig& config, int max_rows);

  void copy_blocks(std::span<const BlockCopy> copies);
  /// Computes K and V of the rows, whose normed input is `h`, and writes them into the cache.
  void write_state(int layer, const CardLayerWeights& weights, const CardStep& step, const float* h);
  /// Runs the whole mixer, in place: `h` becomes the output matrix's result. `state_written`: write_state() was called.
  void run(int layer, const CardLayerWeights& weights, const CardStep& step, bool state_written, float* h);

 private:
  CardAttention(CardContext& context, const ModelConfig& config, const StateLayout& layout)
      : context_(&context), config_(&config), layout_(&layout) {}
  const AttentionSpec& spec_of(int layer) const { return *config_->layer(layer).attention(); }
  HeadArguments head_arguments(int layer, const float* norm, const CardStep& step) const;
  void finish_queries(int layer, const AttentionTensors<CardForm>& w, const CardStep& step);
  void write_kv(int layer, const AttentionTensors<CardForm>& w, const CardStep& step, const float* h);
  void attend(int layer, const AttentionTensors<CardForm>& w, const CardStep& step);
  void gate_attended(int layer, const AttentionTensors<CardForm>& w, const CardStep& step);
  /// The products of the matrix of Q: the queries themselves, or where the layer has gates, rows of queries and gates.
  float* products_of(const AttentionSpec& spec) const { return (spec.gated_output ? gated_q_ : q_).as<float>(); }
  /// Whether each block of threads has one tile, because there would be too few blocks otherwise.
  bool is_split(int layer, const CardStep& step, int num_tiles) const;

  CardContext* context_;
  const ModelConfig* config_;
  const StateLayout* layout_;
  std::vector<CardKvLayer> kv_;  // [layers of the model up to the stage's last one]: a layer that borrows has its
                                 // lender's; layers of other kinds and stages have none
  std::vector<CardMemory> blocks_;
  CardMemory q_, attended_, k_, v_;  // [max_rows, width of heads]
  CardMemory gated_q_;               // [max_rows, queries and gates]
  CardMemory partials_;
};

}  // namespace octavo::gpu
