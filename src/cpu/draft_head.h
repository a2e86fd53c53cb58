// The draft head that a model's file carries: one layer more, which guesses what follows a token from the token itself
// and from the model's hidden row in front of it (multi-token prediction: DeepSeek-AI, 2024; "nextn" in files).
//
//     row of token t at position p   = projection of [norm(embedding of t), norm(hidden row of position p - 1)]
//     behind the layer and a norm    = the hidden row of the guess, which stands in front of the next one
//
// It attends over keys and values of its own, at the same places of the same blocks as the model's layers. A place
// depends on the tokens up to it alone, so that blocks are shared, copied and kept as ever. The hidden row of a
// sequence's last token is the layer's recurrent state, in the snapshot with the others; in front of a sequence there
// are zeros. Rows of drafted tokens are kept, and the right ones taken over by advance_states(), as in DeltaMixer.
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
  /// For a model that has a head. All references must outlive it.
  DraftHead(const ModelConfig& config, const Weights& weights, SnapshotArena& snapshots, ComputeContext& context,
            ResidualStream& stream);

  /// Takes over the hidden rows of drafted tokens that were right.
  void advance_states(std::span<const StateAdvance> advances);
  /// Writes keys and values of a batch's rows, which are in the stream behind the model's last layer and stay there,
  /// and keeps the hidden rows. `stage` has the head's layer and has computed the batch.
  void follow(const StepRows& rows, CpuStage& stage);

  /// A batch of guesses begins.
  void begin(const GuessBatch& batch);
  /// The rows of the next guesses; none: all are made. Valid until the next call.
  const Batch* next();
  /// Their input of the layer, into the stream.
  void embed();
  /// Guesses from the stream behind the layer. `logits` is scratch, [rows, vocab_size].
  void guess(float* logits);
  /// The guesses of the batch's sequences, one behind another.
  std::span<const GuessedToken> guesses() const { return rounds_.guesses(); }

  /// The widest rows that it quantizes in the stream.
  static int max_cols(const ModelConfig& config) { return config.has_draft_head ? 2 * config.width : 0; }

 private:
  float* pair(std::int64_t row) { return pairs_.data() + row * 2 * width_; }
  float* state(std::int32_t slot) { return snapshots_.state(slot, layer_); }
  void embed_row(const Batch& batch, std::int64_t row, const float* hidden, int worker);
  void project(int rows, float* y);
  void keep_hidden(const Batch& batch);
  /// The kept hidden row of a drafted row of a sequence.
  float* kept_of(const RecurrentRows::Range& range, int drafted) {
    return kept_.data() + std::int64_t{range.first_kept + drafted} * width_;
  }
  /// The hidden row in front of a row under way.
  float* hidden_of(std::int64_t row) { return hidden_.data() + std::int64_t{rounds_.sequence_of(row)} * width_; }

  ComputeContext& context_;
  ResidualStream& stream_;
  SnapshotArena& snapshots_;
  const DraftHeadTensors<CpuForm>& weights_;
  const LayerWeights* layer_weights_ = nullptr;
  const float* output_norm_;  // of the model
  int width_, layer_;
  float epsilon_;
  AlignedBuffer<float> pairs_;      // [rows, 2 width]
  AlignedBuffer<float> projected_;  // [rows, width]
  AlignedBuffer<float> kept_;       // [kMaxDraftedRows, width] hidden rows of drafted tokens
  RecurrentRows planned_;           // of the step, or of an advance

  // The state of a batch of guesses.
  GuessRounds rounds_;
  const Batch* ahead_ = nullptr;  // its rows under way
  AlignedBuffer<float> hidden_;   // [kMaxLogitRows, width] the row behind each sequence's last guess
};

}  // namespace octavo
