// The first layers of a model on a card, and the output matrix where it has room for all: the forward pass of
// cpu/transformer.h, launch by launch, with the bits of the processor's level.
//
// Owned by the model's runner.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "cpu/leading_layers.h"
#include "gpu/card_attention.h"
#include "gpu/card_context.h"
#include "gpu/card_delta.h"
#include "gpu/card_dense_ffn.h"
#include "gpu/card_experts.h"
#include "gpu/card_step.h"
#include "gpu/card_weights.h"
#include "gpu/placement.h"

namespace octavo::gpu {

class CardLayers final : public LeadingLayers {
 public:
  /// Copies weights to the card and takes all memory there that it will use. Error: the card has too little.
  static Result<std::unique_ptr<CardLayers>> create(std::shared_ptr<CudaDevice> device, const LeadingParts& parts,
                                                    const SumOrder& order, const Placement& placement);

  int count() const override { return weights_.num_layers(); }
  std::string description() const override;
  bool has_output() const override { return is_present(weights_.output()); }
  void advance_states(std::span<const StateAdvance> advances) override;
  void copy_blocks(std::span<const BlockCopy> copies) override;
  void forward(const Batch& batch, const AttentionMixer& mixer, float* x) override;
  std::span<const std::int32_t> spoiled() const override { return spoiled_; }
  std::uint64_t expert_bytes() const override { return experts_->bytes_read(); }
  std::span<const std::int32_t> not_finite() const override { return experts_->not_finite(); }
  std::span<const float> logits(int first, int count) override;

 private:
  CardLayers(std::shared_ptr<CudaDevice> device, const LeadingParts& parts, const SumOrder& order)
      : config_(parts.config),
        of_host_(parts.weights),
        device_(std::move(device)),
        context_{.device = *device_, .order = order, .epsilon = parts.config.norm_epsilon} {}
  Result<void> load_kernels(const LeadingParts& parts, const Placement& placement);
  Result<void> take_memory(const LeadingParts& parts);

  void layer(int index, bool state_written);
  /// The part that computes mixers of a kind.
  CardAttention& mixer_of(const AttentionSpec&) { return *attention_; }
  CardDelta& mixer_of(const DeltaSpec&) { return *delta_; }
  /// Each gives the bias of its last matrix, which is added behind it; null: none.
  const float* feed_forward(const DenseFfnSpec& spec, int layer);
  const float* feed_forward(const ExpertsFfnSpec& spec, int layer);
  /// Behind a part of a layer; `scale` is 1 but behind the layer.
  void finish_rows(const float* bias, const float* post_norm, float scale, const float* next_norm);
  /// h = norm(x) of `rows` rows from `first` on.
  void norm_rows(const float* norm, int first, int rows);
  void find_spoiled();
  void keep_logit_rows();
  void compute_wanted_logits();
  /// Begins the logits of `count` rows from `first` on, to the front of logits_of_host_.
  void compute_logits(int first, int count);
  /// Behind the layers of a model with a draft head, which follows on the processor.
  void keep_rows_of_logits(const Batch& batch);
  /// Computes the state that the mixer of the last layer with state leaves, and nothing else of the layer.
  void write_state(int index);

  const ModelConfig& config_;
  const Weights& of_host_;
  std::shared_ptr<CudaDevice> device_;
  CardContext context_;
  CardWeights weights_;
  std::unique_ptr<CardAttention> attention_;
  std::unique_ptr<CardDelta> delta_;
  std::unique_ptr<CardDenseFfn> dense_ffn_;
  std::unique_ptr<CardExperts> experts_;
  std::unique_ptr<CardStep> step_;
  CardMemory x_, h_;             // [max_rows, width]
  CardMemory finite_;            // [max_rows]
  CardMemory logits_;            // [kMaxLogitRows, vocab_size]
  PinnedMemory rows_of_host_;    // [max_rows, width]
  PinnedMemory finite_of_host_;  // [max_rows]
  PinnedMemory logits_of_host_;  // [kMaxLogitRows, vocab_size]
  std::vector<std::int32_t> spoiled_;
  int num_computed_ = 0;  // of the last step's logit rows, the first ones: those whose logits are in logits_of_host_
  bool wants_logits_ = false;  // logits() was called behind the last step
};

}  // namespace octavo::gpu
