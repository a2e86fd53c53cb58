// The forward pass: a pre-norm transformer, layer by layer in the order of the papers. A LayerSpec describes each
// layer; its parts are attention_mixer.h, delta_mixer.h, dense_ffn.h, experts_ffn.h and per_layer_embedding.h.
//
// Owned by CpuRunner, which serializes its use; a step's work is shared out over the pool.
#pragma once

#include <memory>
#include <span>

#include "cpu/assistant.h"
#include "cpu/attention_mixer.h"
#include "cpu/delta_mixer.h"
#include "cpu/dense_ffn.h"
#include "cpu/draft_head.h"
#include "cpu/experts_ffn.h"
#include "cpu/leading_layers.h"
#include "cpu/per_layer_embedding.h"
#include "cpu/pooled_head.h"
#include "cpu/residual_stream.h"
#include "cpu/spoiled_rows.h"
#include "cpu/step_rows.h"
#include "cpu/weights.h"
#include "model/batch.h"

namespace octavo {

class Transformer {
 public:
  /// All references must outlive it.
  Transformer(const ModelConfig& config, const Weights& weights, const KvArena& kv, SnapshotArena& snapshots,
              const KernelTable& kernels, Math math, ThreadPool& pool, int max_rows);

  /// The first layers are computed by others from now on; they must outlive this.
  void add_leading_layers(LeadingLayers& layers);
  /// An assistant guesses from now on; it must outlive this.
  void add_assistant(const AssistantModel& assistant);
  /// Advances recurrent states by drafted rows of an earlier batch.
  void advance_states(std::span<const StateAdvance> advances);
  /// Runs all layers; the residual stream of the batch's logit rows is left in place for logits(). An encoder's step,
  /// which may be long, is paused for others'; throws ThreadPool::Unwanted where the batch is unwanted.
  void forward(const Batch& batch);

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

  /// The time that the last forward() left to other steps.
  StepClock::Clock::duration waited() const { return waited_; }
  /// Its counts are those of the last forward().
  const ExpertsFfn& experts() const { return experts_ffn_; }
  /// BatchOutcome's, of the last forward().
  std::span<const std::int32_t> spoiled() const { return spoiled_.sequences(); }

 private:
  /// The layers that lie elsewhere; the number of them.
  int compute_leading_layers(const Batch& batch);
  void embed(const Batch& batch);
  /// The draft head follows all rows; those whose logits are wanted go on.
  void end_with_draft_head(const Batch& batch);
  void embed_row(const Batch& batch, std::int64_t row, int worker);
  void norm_logit_rows(const Norm& norm, int first, int count);
  void compute_layers(const Batch& batch);
  void layer(int index, bool state_written);
  /// The part that computes mixers of a kind.
  AttentionMixer& mixer_of(const AttentionSpec&) { return attention_; }
  DeltaMixer& mixer_of(const DeltaSpec&) { return delta_; }
  /// Computes what the mixer of the last layer with state leaves for later rows, and nothing else of the layer.
  void write_state(int layer);
  void run_feed_forward(int layer, const Epilogue& epilogue);
  void run_feed_forward(const DenseFfnSpec& spec, int layer, const Epilogue& epilogue);
  void run_feed_forward(const ExpertsFfnSpec& spec, int layer, const Epilogue& epilogue);
  /// The norms of all rows under way, as `norm` says.
  void norm_rows(const Norm& norm);
  void cap_logits(int count);
  Norm mixer_norm(int layer) const;
  Norm feed_forward_norm(int layer) const;

  const ModelConfig& config_;
  const Weights& weights_;
  const KvArena& kv_;
  const int last_layer_with_state_;
  ComputeContext context_;
  ResidualStream stream_;
  StepRows rows_;
  AttentionMixer attention_;
  DeltaMixer delta_;
  DenseFfn dense_ffn_;
  ExpertsFfn experts_ffn_;
  PerLayerEmbedding per_layer_;
  DraftHead draft_head_;
  LeadingLayers* leading_ = nullptr;      // null: the processor computes all layers
  std::unique_ptr<Assistant> assistant_;  // null: there is none
  PooledHead head_;
  StepClock::Clock::duration waited_ = {};
  SpoiledRows spoiled_;
  AlignedBuffer<float> position_rows_;  // [threads][width] scratch of embed()
  AlignedBuffer<float> logits_;         // [kMaxLogitRows, vocab_size]
};

}  // namespace octavo
