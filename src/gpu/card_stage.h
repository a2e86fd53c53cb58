// A stage on a card, with the output matrix where the card has room for the whole model: the layers of cpu/cpu_stage.h,
// each as a sequence of launches, with the bits of the processor's level.
//
// Owned by the model's runner.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "gpu/card_attention.h"
#include "gpu/card_context.h"
#include "gpu/card_delta.h"
#include "gpu/card_dense_ffn.h"
#include "gpu/card_experts.h"
#include "gpu/card_step.h"
#include "gpu/card_weights.h"
#include "gpu/weight_shapes.h"
#include "stage/layer_walk.h"
#include "stage/stage.h"

namespace octavo::gpu {

class CardStage final : public DeviceStage, private LayerWalk {
 public:
  /// Allocates all memory that these layers will use on the card, and with `output` the output matrix's, which belongs
  /// behind the model's last layer. `shapes`: those of the model's weights. Error: the card has too little memory.
  static Result<std::unique_ptr<CardStage>> create(std::shared_ptr<CudaDevice> device, const StageParts& parts,
                                                   const WeightShapes& shapes, const SumOrder& order, LayerRange layers,
                                                   bool output);
  /// Loads the weights into the stage, which nobody may use until that is finished.
  static std::unique_ptr<StageLoad> load(std::unique_ptr<CardStage> stage, const StageParts& parts);

  LayerRange layers() const override { return layers_; }
  std::string description() const override;
  bool has_output() const override { return is_present(weights_.output()); }
  void advance_states(std::span<const StateAdvance> advances) override;
  void release(std::span<const BlockRun> /*runs*/) override {}
  void copy_blocks(std::span<const BlockCopy> copies) override;
  void forward(StepRows& rows, float* x) override;
  StageFindings findings() const override;
  std::span<const float> logits(int first, int count) override;

 private:
  class Load;

  CardStage(std::shared_ptr<CudaDevice> device, const StageParts& parts, const SumOrder& order, LayerRange layers,
            CardWeights weights)
      : config_(parts.config),
        layers_(layers),
        device_(std::move(device)),
        context_{.device = *device_, .order = order, .epsilon = parts.config.norm_epsilon},
        weights_(std::move(weights)) {}
  Result<void> take_memory(const StageParts& parts);

  // The steps that the walk over layers calls.
  void norm_input(int layer) override { norm_rows(input_norm(layer), 0, step_->rows().count()); }
  void find_spoiled() override;
  void write_state(int layer) override;
  void keep_logit_rows() override;
  void run_layer(int layer, bool state_written) override;

  /// Calls visit(part) with the part that computes a layer's mixer. Layers with other mixers are never placed on a card
  /// (placement.h).
  template <class Visit>
  void visit_mixer(const LayerSpec& spec, const Visit& visit) {
    if (spec.attention() != nullptr) visit(*attention_);
    if (spec.delta() != nullptr) visit(*delta_);
  }
  /// The norm before the first part that has one, from a layer on; null: no layer of the stage has one.
  const float* input_norm(int layer) const;
  /// Both compute a feed-forward and give the bias of its last matrix, which the caller adds; null: none.
  const float* feed_forward(const DenseFfnSpec& spec, int layer);
  const float* feed_forward(const ExpertsFfnSpec& spec, int layer);
  /// Ends a part of a layer; `scale` is 1 except for the layer's last part.
  void finish_rows(const float* bias, const float* post_norm, float scale, const float* next_norm);
  /// h = norm(x) of `rows` rows from `first` on.
  void norm_rows(const float* norm, int first, int rows);
  void compute_wanted_logits();
  /// Begins to compute the logits of `count` rows from `first` on, which go to the front of logits_of_host_.
  void compute_logits(int first, int count);
  /// Keeps the rows of logits where a draft head follows the layers on the processor.
  void keep_rows_of_logits();

  const ModelConfig& config_;
  const LayerRange layers_;
  std::shared_ptr<CudaDevice> device_;
  CardContext context_;
  CardWeights weights_;
  std::unique_ptr<CardAttention> attention_;
  std::unique_ptr<CardDelta> delta_;
  std::unique_ptr<CardDenseFfn> dense_ffn_;
  std::unique_ptr<CardExperts> experts_;
  std::unique_ptr<CardStep> step_;  // set once its weights are loaded
  CardMemory x_, h_;                // [max_rows, width]
  CardMemory finite_;               // [max_rows]
  CardMemory logits_;               // [kMaxLogitRows, vocab_size]
  PinnedMemory rows_of_host_;       // [max_rows, width]
  PinnedMemory finite_of_host_;     // [max_rows]
  PinnedMemory logits_of_host_;     // [kMaxLogitRows, vocab_size]
  std::vector<std::int32_t> spoiled_;
  int num_computed_ = 0;  // how many of the last step's logit rows, from the first on, have logits in logits_of_host_
  bool wants_logits_ = false;  // logits() was called after the last step
};

}  // namespace octavo::gpu
