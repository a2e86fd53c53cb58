// The draft head in a model's file: one more layer, which guesses what follows a token from that token and from the
// model's hidden row of the position before it (multi-token prediction: DeepSeek-AI, 2024; "nextn" in files).
//
//     row of token t at position p   = projection of [norm(embedding of t), norm(hidden row of position p - 1)]
//     behind the layer and a norm    = the hidden row of the guess, which stands in front of the next one
//
// It attends over keys and values of its own, which are at the same places in the same blocks as those of the model's
// layers. They depend on the tokens up to their position alone, so that blocks are shared, copied and kept as without
// it. The hidden row of a sequence's last token is the state of this layer, and is kept in the snapshot with the
// others; before a sequence it is zeros. Rows of drafted tokens are kept, and advance_states() takes over those that
// were right, as in DeltaMixer.
//
// The layer itself is the last stage's. Owned by the transformer; one step uses it at a time.
#pragma once

#include <span>

#include "cpu/cpu_stage.h"
#include "cpu/guess_rounds.h"
#include "cpu/residual_stream.h"
#include "cpu/weights.h"
#include "kv/snapshot_arena.h"
#include "model/batch.h"
#include "model/model_runner.h"
#include "stage/recurrent_rows.h"
#include "stage/step_rows.h"

namespace octavo {

class DraftHead {
 public:
  /// For a model that has a draft head. All references must outlive it.
  DraftHead(const ModelConfig& config, const Weights& weights, SnapshotArena& snapshots, ComputeContext& context,
            ResidualStream& stream);

  /// Takes over the hidden rows of drafted tokens that were right.
  void advance_states(std::span<const StateAdvance> advances);
  /// Writes keys and values of a batch's rows, which stay in the stream after the model's last layer, and keeps the
  /// hidden rows. `stage` has the head's layer and has computed the batch.
  void follow(const StepRows& rows, CpuStage& stage);

  /// Begins a batch of guesses.
  void begin(const GuessBatch& batch);
  /// The rows of the next round of guesses; null: all guesses are made. Valid until the next call.
  const Batch* next();
  /// Computes these rows' input of the layer into the stream.
  void embed();
  /// Makes the guesses from the stream after the layer. `logits` is scratch, [rows, vocab_size].
  void guess(float* logits);
  /// The guesses for the batch, sequence by sequence.
  std::span<const GuessedToken> guesses() const { return rounds_.guesses(); }

  /// The most columns of rows that it quantizes in the stream.
  static int max_cols(const ModelConfig& config) { return config.has_draft_head ? 2 * config.width : 0; }

 private:
  float* pair(std::int64_t row) { return pairs_.data() + row * 2 * width_; }
  float* state(std::int32_t slot) { return snapshots_.state(slot, layer_); }
  void embed_row(const Batch& batch, std::int64_t row, const float* hidden, int worker);
  void project(int rows, float* y);
  void keep_hidden(const Batch& batch);
  /// Where the hidden row of a sequence's drafted row is kept.
  float* kept_of(const RecurrentRows::Range& range, int drafted) {
    return kept_.data() + std::int64_t{range.first_kept + drafted} * width_;
  }
  /// The hidden row of the position before a row that is being computed.
  float* hidden_of(std::int64_t row) { return hidden_.data() + std::int64_t{rounds_.sequence_of(row)} * width_; }

  ComputeContext& context_;
  ResidualStream& stream_;
  SnapshotArena& snapshots_;
  const DraftHeadTensors<CpuForm>& weights_;
  const LayerWeights* layer_weights_ = nullptr;
  const float* output_norm_;  // the model's
  int width_, layer_;
  float epsilon_;
  AlignedBuffer<float> pairs_;      // [rows, 2 width]
  AlignedBuffer<float> projected_;  // [rows, width]
  AlignedBuffer<float> kept_;       // [kMaxDraftedRows, width] hidden rows of drafted tokens
  RecurrentRows planned_;           // the ranges of a step, or of an advance

  // The state of a batch of guesses.
  GuessRounds rounds_;
  const Batch* ahead_ = nullptr;  // the rows of the round
  AlignedBuffer<float> hidden_;   // [kMaxLogitRows, width] the hidden row of each sequence's last guess
};

}  // namespace octavo
