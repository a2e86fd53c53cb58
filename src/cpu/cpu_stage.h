// The processor's stage: layers of a pre-norm transformer in the order of the papers. A LayerSpec describes each layer;
// its parts are attention_mixer.h, delta_mixer.h, mamba_mixer.h, short_conv_mixer.h, dense_ffn.h, experts_ffn.h and
// per_layer_embedding.h.
//
// Owned by the transformer, whose context and stream it shares; a step's work is shared out over the pool.
#pragma once

#include <memory>
#include <optional>
#include <span>

#include "cpu/attention_mixer.h"
#include "cpu/delta_mixer.h"
#include "cpu/dense_ffn.h"
#include "cpu/experts_ffn.h"
#include "cpu/mamba_mixer.h"
#include "cpu/per_layer_embedding.h"
#include "cpu/residual_stream.h"
#include "cpu/short_conv_mixer.h"
#include "cpu/spoiled_rows.h"
#include "cpu/weights.h"
#include "kv/block_memory.h"
#include "kv/kv_arena.h"
#include "kv/snapshot_arena.h"
#include "stage/layer_walk.h"
#include "stage/stage.h"
#include "stage/step_rows.h"

namespace octavo {

class CpuStage final : public Stage, public BlockMemory, private LayerWalk {
 public:
  /// The parts of a model on the processor that its stages share. All outlive them.
  struct Shared {
    const ModelConfig& config;
    const Weights& weights;
    ComputeContext& context;
    ResidualStream& stream;
    PerLayerEmbedding& per_layer;
  };
  /// With the layers behind the model's, a draft head's, where the range has them. Error: there is no memory for what
  /// `room` says of these layers.
  static Result<std::unique_ptr<CpuStage>> create(const Shared& shared, LayerRange layers, StateRoom room);

  LayerRange layers() const override { return layers_; }
  void advance_states(std::span<const StateAdvance> advances) override;
  void release(std::span<const BlockRun> runs) override;
  void copy_blocks(std::span<const BlockCopy> copies) override;
  /// `x` is the stream's.
  void forward(StepRows& rows, float* x) override;
  StageFindings findings() const override;

  /// A draft head's layer, of rows that are in the stream; or what its mixer leaves, of rows of the last forward()
  /// whose normed input is there.
  void forward_head(StepRows& rows);
  void write_head_state(const StepRows& rows) { attention_.write_state(head_, rows); }

  /// Two parts of a layer, for rows of a joint pass that are in the stream. The first one writes their keys and values
  /// into the cache. The second one computes the rest, once the cache has all that these rows see. No layer may have a
  /// recurrent state. findings() tells of these rows alone.
  void write_joint_keys(StepRows& rows, int layer);
  void finish_joint_layer(StepRows& rows, int layer);

  std::span<std::byte> piece(int pool, BlockId block, int layer_index) override;

  KvArena& kv() { return kv_; }
  SnapshotArena& snapshots() { return snapshots_; }

  /// The widest rows that its layers quantize in the stream.
  static int max_cols(const ModelConfig& config);

 private:
  CpuStage(const Shared& shared, LayerRange layers, KvArena kv, SnapshotArena snapshots);

  void begin(StepRows& rows);
  void begin_joint(StepRows& rows);
  void norm_input(int layer) override;
  void find_spoiled() override { spoiled_.find(context_, stream_, *rows_); }
  void write_state(int layer) override;
  void keep_logit_rows() override;
  void run_layer(int layer, bool state_written) override;
  void add_given_vectors(int layer);
  /// The part that computes mixers of a kind.
  AttentionMixer& mixer_of(const AttentionSpec&) { return attention_; }
  DeltaMixer& mixer_of(const DeltaSpec&) { return delta_; }
  ShortConvMixer& mixer_of(const ShortConvSpec&) { return short_conv_; }
  MambaMixer& mixer_of(const MambaSpec&) { return mamba_; }
  void run_feed_forward(const DenseFfnSpec& spec, const LayerWeights& w, const Epilogue& epilogue);
  void run_feed_forward(const ExpertsFfnSpec& spec, const LayerWeights& w, const Epilogue& epilogue);
  /// The norm of the first part from a layer on; none: no layer of the stage has one.
  std::optional<Norm> input_norm(int layer) const;

  const ModelConfig& config_;
  const Weights& weights_;
  ComputeContext& context_;
  ResidualStream& stream_;
  PerLayerEmbedding& per_layer_;
  const LayerRange layers_;           // of the model's own
  const int head_, last_with_state_;  // the draft head's number, if there is one
  const bool has_head_;
  KvArena kv_;
  SnapshotArena snapshots_;
  AttentionMixer attention_;
  DeltaMixer delta_;
  ShortConvMixer short_conv_;
  MambaMixer mamba_;
  DenseFfn dense_ffn_;
  ExpertsFfn experts_ffn_;
  SpoiledRows spoiled_;
  StepRows* rows_ = nullptr;  // under way
};

}  // namespace octavo
