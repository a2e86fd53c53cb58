#include "cpu/assistant.h"

#include <algorithm>

#include "base/error.h"

namespace octavo {

Assistant::Assistant(const AssistantModel& assistant, const ModelConfig& config, const Weights& weights,
                     const KvArena& kv, const KernelTable& kernels, ThreadPool& pool)
    : config_(assistant.config),
      weights_(assistant.weights),
      model_weights_(weights),
      model_width_(config.width),
      model_embedding_scale_(config.embedding_scale),
      model_epsilon_(config.norm_epsilon),
      context_{kernels, pool, weights_.make_scratch(pool.num_threads()), kMaxLogitRows},
      model_scratch_(weights.make_scratch(pool.num_threads())),
      stream_(context_, config_.width, std::max({config_.width, AttentionMixer::max_cols(config_), 2 * model_width_}),
              NormOptions::of(config_)),
      rows_(kMaxLogitRows),
      attention_(config_, weights_, kv, context_, stream_),
      dense_ffn_(config_, context_, stream_),
      kept_(context_.make_rows(model_width_)),
      hidden_(context_.make_rows(model_width_)),
      pairs_(context_.make_rows(2 * model_width_)),
      behind_(context_.make_rows(model_width_)),
      logits_(context_.make_rows(config_.vocab_size)) {}

void Assistant::keep_hidden(ResidualStream& stream, int count) {
  context_.enter(StepPart::kRows);
  context_.for_rows(std::min(count, kMaxLogitRows), [&](std::int64_t row, int) {
    context_.kernels.rms_norm(stream.x(row), model_weights_.output_norm, model_width_, model_epsilon_,
                              kept_.data() + row * model_width_);
  });
}

std::span<const GuessedToken> Assistant::guess(const GuessBatch& batch) {
  begin(batch);
  while (const Batch* ahead = rounds_.next()) {
    embed(batch.rows, *ahead);
    for (int i = 0; i < config_.num_layers(); ++i) layer(i);
    finish();
  }
  return rounds_.guesses();
}

void Assistant::begin(const GuessBatch& batch) {
  const int count = batch.rows.num_seqs();
  OCTAVO_CHECK(to_size(count) == batch.hidden_rows.size(), "{} sequences with {} hidden rows", count,
               batch.hidden_rows.size());
  rounds_.begin(batch, weights_.output);
  for (int s = 0; s < count; ++s) {
    const std::int64_t row = batch.hidden_rows[to_size(s)];
    OCTAVO_CHECK(row >= 0 && row < kMaxLogitRows, "hidden row {}", row);
    std::copy_n(kept_.data() + row * model_width_, model_width_, hidden_.data() + s * std::int64_t{model_width_});
  }
}

/// Computes the layers' input into the stream. In every round, queries have the position of the last key, that of
/// `rows`, and see the keys up to that one: in a window one key fewer than a row with a key of its own.
void Assistant::embed(const Batch& rows, const Batch& ahead) {
  const int count = ahead.num_rows();
  context_.enter(StepPart::kEmbedding);
  context_.for_rows_apart(count, [&](std::int64_t row, int worker) {
    float* pair = pairs_.data() + row * 2 * model_width_;
    model_scratch_.decode_row(context_.kernels, model_weights_.embedding, ahead.tokens[to_size(row)], worker, pair);
    context_.kernels.scale(pair, model_embedding_scale_, model_width_);
    std::copy_n(hidden_of(row), model_width_, pair + model_width_);
  });
  standing_ = ahead;
  for (int row = 0; row < count; ++row) {
    const auto s = to_size(rounds_.sequence_of(row));
    standing_.positions[to_size(row)] = ahead.kv_len[s] - 1;
    standing_.rope_positions[to_size(row)] = rows.rope_positions[s];
  }
  attention_.compute_angles(standing_);
  rows_.begin(standing_);
  attention_.plan(rows_);
  context_.enter(StepPart::kMixerInput);
  stream_.multiply(weights_.assistant.pre_projection, pairs_.data(), count, stream_.x(0));
  context_.enter(StepPart::kRows);
  context_.for_rows(count, [&](std::int64_t row, int) { stream_.norm_row(mixer_norm(0), row, row, count); });
}

Norm Assistant::mixer_norm(int layer) const {
  const LayerWeights& w = layer_weights(layer);
  return {.weight = w.mixer_norm, .forms = AttentionMixer::forms(std::get<AttentionWeights>(w.mixer))};
}

void Assistant::layer(int index) {
  const LayerWeights& w = layer_weights(index);
  const auto& ffn = std::get<DenseFfnWeights>(w.feed_forward);
  attention_.run(index, rows_, false,
                 {.post_norm = w.post_mixer_norm, .next = Norm{.weight = w.ffn_norm, .forms = DenseFfn::forms(ffn)}});
  const bool is_last = index + 1 == config_.num_layers();
  const RowForms forms = weights_.output.forms() | weights_.assistant.post_projection.forms();
  dense_ffn_.run(std::get<DenseFfnSpec>(config_.layer(index).feed_forward), ffn, rows_.count(),
                 {.post_norm = w.post_ffn_norm,
                  .scale = w.output_scale != nullptr ? *w.output_scale : 1,
                  .next = is_last ? Norm{.weight = weights_.output_norm, .forms = forms} : mixer_norm(index + 1)});
}

/// Chooses words by the normed rows, which are projected back for the next guesses.
void Assistant::finish() {
  const int count = rows_.count();
  context_.enter(StepPart::kMixerOutput);
  context_.multiply(weights_.assistant.post_projection, stream_.input(), count, behind_.data());
  for (int row = 0; row < count; ++row)
    std::copy_n(behind_.data() + std::int64_t{row} * model_width_, model_width_, hidden_of(row));
  rounds_.choose(context_, stream_.input(), logits_.data());
}

}  // namespace octavo
