// The forward pass: the first and last parts of a model, and a row of stages (stage/stage.h) between, with its layers.
//
// The first part is the embedding; the last ones are logits, vectors and the guesses of drafts. The processor computes
// these, as most of the stages (cpu_stage.h). Owned by CpuRunner, which serializes its use; a step's work is shared out
// over the pool.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "cpu/assistant.h"
#include "cpu/cpu_stage.h"
#include "cpu/draft_head.h"
#include "cpu/joint_pass.h"
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
  /// Makes a model without any stage. All references must outlive it.
  Transformer(const ModelConfig& config, const Weights& weights, const KernelTable& kernels, Math math,
              ThreadPool& pool, int max_rows);

  /// Adds a stage of the processor with these layers behind the others; a draft head's layer goes with the last ones.
  /// Error: there is no memory for their part of `room`.
  Result<void> add_layers(LayerRange layers, const StateRoom& room);
  /// Adds a stage of another device behind the others, one at most; it must outlive this.
  void add_stage(DeviceStage& stage);
  /// Lets an assistant guess from now on; it must outlive this. All layers must be the processor's.
  void add_assistant(const AssistantModel& assistant);
  /// Takes the memory of joint passes. All layers must be in one stage of the processor.
  void add_joint_pass();

  /// Advances recurrent states by drafted rows of an earlier batch.
  void advance_states(std::span<const StateAdvance> advances);
  /// Releases the memory of blocks, in all stages.
  void release(std::span<const BlockRun> runs);
  void copy_blocks(std::span<const BlockCopy> copies);
  /// See ModelRunner::block_memory().
  BlockMemory* block_memory();
  /// Grows the memory of each sequence to its tokens; what it has before its first row in the batch is kept. Only the
  /// contiguous layout needs that. False: there is no memory.
  bool grow(const Batch& batch);
  /// The bytes to which the contiguous layout has grown; 0 in other layouts.
  std::uint64_t grown_bytes() const;

  /// Runs all layers; the rows of logits stay in the stream for logits(). An encoder's step, which may be long, pauses
  /// for those of others; throws ThreadPool::Unwanted where the batch is unwanted.
  void forward(const Batch& batch);
  /// The findings of the last forward(), of all stages in their order.
  StageFindings findings() const { return {expert_bytes_, not_finite_, spoiled_sequences_}; }
  /// The time that the last forward() left to other steps.
  StepClock::Clock::duration waited() const { return waited_; }

  /// The rows of the batch's logit_rows[first .. first + count) after the last norm, [count, width]. `count` is at most
  /// kMaxLogitRows.
  std::span<const float> hidden_rows(int first, int count);
  /// The model's vector of a pooled row, [width]; or the scores of its ranking head.
  std::span<const float> vector_of(std::span<const float> pooled);
  std::span<const float> scores_of(std::span<const float> pooled);

  /// The logits of the batch's logit_rows[first .. first + count), [count, vocab_size]. `count` is at most
  /// kMaxLogitRows.
  std::span<const float> logits(int first, int count);

  /// See ModelRunner. begin_joint_pass() copies blocks first; false: there is no memory to grow.
  bool begin_joint_pass(const Batch& batch);
  JointPiece advance_joint_pass(const JointWork& most_work) { return joint_pass_->advance(most_work); }
  /// Takes the place of forward() for the batch that ends a joint pass.
  void end_joint_pass(const Batch& batch);

  /// The guesses of the draft head or the assistant, for a batch of guesses. It uses the stream, so that logits of the
  /// batch before are gone.
  std::span<const GuessedToken> guess(const GuessBatch& batch);

 private:
  /// Counts time from now on for a stage.
  void enter(const Stage& stage) const;
  void embed(const Batch& batch);
  void embed_row(const Batch& batch, std::int64_t row, int worker);
  void compute_layers(const Batch& batch);
  void add_findings(const StageFindings& found);
  /// Lets the draft head follow all rows; then only the rows of logits go on.
  void end_with_draft_head(const Batch& batch);
  void norm_logit_rows(const Norm& norm, int first, int count);
  /// Copies the rows of the joint pass whose logits are wanted, from number `first` on, to the rows 0, 1 ... of the
  /// stream.
  void take_joint_rows(int first, int count);
  void finish_logits(int count);

  const ModelConfig& config_;
  const Weights& weights_;
  ComputeContext context_;
  ResidualStream stream_;
  StepRows rows_;
  PerLayerEmbedding per_layer_;
  std::vector<std::unique_ptr<CpuStage>> own_;
  DeviceStage* device_ = nullptr;          // null: all stages are the processor's
  std::vector<Stage*> stages_;             // in the order of layers
  std::unique_ptr<DraftHead> draft_head_;  // null: the model has none
  std::unique_ptr<Assistant> assistant_;   // null: none was added
  std::unique_ptr<JointPass> joint_pass_;  // null: no rows see each other
  const Batch* joint_end_ = nullptr;       // the batch whose logits are those of the joint pass; null: of the stream
  PooledHead head_;
  StepClock::Clock::duration waited_ = {};
  std::uint64_t expert_bytes_ = 0;
  std::vector<std::int32_t> not_finite_, spoiled_sequences_;
  SpoiledRows spoiled_;                 // looked for before the draft head
  AlignedBuffer<float> position_rows_;  // [threads][width] scratch of embed()
  AlignedBuffer<float> ones_;           // [width] the weights of a norm of embeddings that has none
  AlignedBuffer<float> logits_;         // [kMaxLogitRows, vocab_size]
};

}  // namespace octavo
