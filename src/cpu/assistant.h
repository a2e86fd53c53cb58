// The assistant of a model: a second, small model that guesses what follows. Its layers have no keys and values of
// their own: they attend over those of the model's last layers (gemma4-assistant).
//
//     row of token t behind p tokens = projection of [embedding of t, hidden row of position p - 1], both of the model
//     behind the layers and a norm   = what words are chosen by; projected back, the hidden row of the next guess
//
// All guesses behind the same tokens stand at the same position, p, and see the same keys. So nothing is written, and
// a sequence has no state: the hidden row in front of its last token is one of the rows of logits of the last batch.
//
// It has a stream, a context and weights of its own. Owned by the transformer; one step uses it at a time.
#pragma once

#include <span>

#include "cpu/attention_mixer.h"
#include "cpu/dense_ffn.h"
#include "cpu/guess_rounds.h"
#include "cpu/residual_stream.h"
#include "cpu/weights.h"
#include "model/batch.h"
#include "model/model_runner.h"
#include "stage/step_rows.h"

namespace octavo {

/// An assistant that was attached to a model (model/assistant.h), with its weights.
struct AssistantModel {
  ModelConfig config;
  Weights weights;
};

class Assistant {
 public:
  /// `config` and `weights` are those of the model that it guesses for. All references must outlive it.
  Assistant(const AssistantModel& assistant, const ModelConfig& config, const Weights& weights, const KvArena& kv,
            const KernelTable& kernels, ThreadPool& pool);

  /// Keeps the hidden rows of a batch's first `count` rows of logits, which are in the model's stream.
  void keep_hidden(ResidualStream& stream, int count);
  /// The guesses for a batch, sequence by sequence.
  std::span<const GuessedToken> guess(const GuessBatch& batch);

 private:
  const LayerWeights& layer_weights(int layer) const { return weights_.layers[to_size(layer)]; }
  float* hidden_of(std::int64_t row) { return hidden_.data() + rounds_.sequence_of(row) * std::int64_t{model_width_}; }
  void begin(const GuessBatch& batch);
  void embed(const Batch& rows, const Batch& ahead);
  void layer(int index);
  void finish();
  Norm mixer_norm(int layer) const;

  const ModelConfig& config_;
  const Weights& weights_;
  const Weights& model_weights_;
  const int model_width_;
  const float model_embedding_scale_, model_epsilon_;
  ComputeContext context_;
  PanelScratch model_scratch_;  // for rows of the model's embedding matrix
  ResidualStream stream_;
  StepRows rows_;
  AttentionMixer attention_;
  DenseFfn dense_ffn_;
  GuessRounds rounds_;
  Batch standing_;               // the rows to compute, at the position of their last key
  AlignedBuffer<float> kept_;    // [kMaxLogitRows, model width] hidden rows of the last batch
  AlignedBuffer<float> hidden_;  // [kMaxLogitRows, model width] hidden rows of each sequence's last guess
  AlignedBuffer<float> pairs_;   // [kMaxLogitRows, 2 model width]
  AlignedBuffer<float> behind_;  // [kMaxLogitRows, model width] hidden rows of the guesses being made
  AlignedBuffer<float> logits_;  // [kMaxLogitRows, vocab_size]
};

}  // namespace octavo
