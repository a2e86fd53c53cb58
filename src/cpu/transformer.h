// The forward pass: the ends of a model, and between them a row of stages (stage/stage.h), which have its layers.
//
// The ends are embeddings in front, and logits, vectors and the guesses of drafts behind. They are the processor's, as
// most of the stages are (cpu_stage.h). Owned by CpuRunner, which serializes its use; a step's work is shared out over
// the pool.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "cpu/assistant.h"
#include "cpu/cpu_stage.h"
#include "cpu/draft_head.h"
#include "cpu/per_layer_embedding.h"
#include "cpu/pooled_head.h"
#include "cpu/residual_stream.h"
#include "cpu/spoiled_rows.h"
#include "cpu/weights.h"
#include "model/batch.h"
#include "stage/stage.h"
#include "stage/step_rows.h"

namespace octavo {

class Transformer {
 public:
  /// The ends of a model, without any stage. All references must outlive it.
  Transformer(const ModelConfig& config, const Weights& weights, const KernelTable& kernels, Math math,
              ThreadPool& pool, int max_rows);

  /// A stage of the processor behind the others, with these layers. A draft head's goes with the last of them. Error:
  /// there is no memory for their part of `room`.
  Result<void> add_layers(LayerRange layers, const StateRoom& room);
  /// A stage of another device behind the others, one at most; it must outlive this.
  void add_stage(DeviceStage& stage);
  /// An assistant guesses from now on; it must outlive this. All layers are the processor's.
  void add_assistant(const AssistantModel& assistant);

  /// Advances recurrent states by drafted rows of an earlier batch.
  void advance_states(std::span<const StateAdvance> advances);
  /// Those of all stages.
  void release(std::span<const BlockRun> runs);
  void copy_blocks(std::span<const BlockCopy> copies);
  /// ModelRunner::block_memory().
  BlockMemory* block_memory();
  /// Memory for the tokens of every sequence, of which those before its first row are kept. Only the contiguous layout
  /// needs more than it has. False where there is none.
  bool grow(const Batch& batch);
  /// Bytes that this has grown to; 0 of other layouts.
  std::uint64_t grown_bytes() const;

  /// Runs all layers; the residual stream of the batch's logit rows is left in place for logits(). An encoder's step,
  /// which may be long, is paused for others'; throws ThreadPool::Unwanted where the batch is unwanted.
  void forward(const Batch& batch);
  /// Of the last forward(): those of all stages, in their order.
  StageFindings findings() const { return {expert_bytes_, not_finite_, spoiled_sequences_}; }
  /// The time that it left to other steps.
  StepClock::Clock::duration waited() const { return waited_; }

  /// The rows behind the last norm of the batch's logit_rows[first .. first + count), at most kMaxLogitRows, [count,
  /// width].
  std::span<const float> hidden_rows(int first, int count);
  /// The model's vector of a pooled row, [width]; or the scores of its ranking head.
  std::span<const float> vector_of(std::span<const float> pooled);
  std::span<const float> scores_of(std::span<const float> pooled);

  /// Logits of the batch's logit_rows[first .. first + count), at most kMaxLogitRows, [count, vocab_size].
  std::span<const float> logits(int first, int count);

  /// The guesses of the draft head, or of the assistant, for a batch of guesses. The stream is another's then: no
  /// logits of the batch before.
  std::span<const GuessedToken> guess(const GuessBatch& batch);

 private:
  /// Time from now on is that of a stage.
  void enter(const Stage& stage) const;
  void embed(const Batch& batch);
  void embed_row(const Batch& batch, std::int64_t row, int worker);
  void compute_layers(const Batch& batch);
  void add_findings(const StageFindings& found);
  /// The draft head follows all rows; those whose logits are wanted go on.
  void end_with_draft_head(const Batch& batch);
  void norm_logit_rows(const Norm& norm, int first, int count);
  void finish_logits(int count);

  const ModelConfig& config_;
  const Weights& weights_;
  ComputeContext context_;
  ResidualStream stream_;
  StepRows rows_;
  PerLayerEmbedding per_layer_;
  std::vector<std::unique_ptr<CpuStage>> own_;
  DeviceStage* device_ = nullptr;          // null: all stages are the processor's
  std::vector<Stage*> stages_;             // in the order of the layers
  std::unique_ptr<DraftHead> draft_head_;  // null: the model has none
  std::unique_ptr<Assistant> assistant_;   // null: there is none
  PooledHead head_;
  StepClock::Clock::duration waited_ = {};
  std::uint64_t expert_bytes_ = 0;
  std::vector<std::int32_t> not_finite_, spoiled_sequences_;
  SpoiledRows spoiled_;                 // in front of the draft head
  AlignedBuffer<float> position_rows_;  // [threads][width] scratch of embed()
  AlignedBuffer<float> ones_;           // [width] the weights of a norm of embeddings that has none
  AlignedBuffer<float> logits_;         // [kMaxLogitRows, vocab_size]
};

}  // namespace octavo
