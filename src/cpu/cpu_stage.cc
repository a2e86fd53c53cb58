#include "cpu/cpu_stage.h"

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "base/to_size.h"

namespace octavo {
namespace {

RowForms forms_of(const AttentionWeights& w) { return AttentionMixer::forms(w); }
RowForms forms_of(const DeltaWeights& w) { return DeltaMixer::forms(w); }
RowForms forms_of(const ShortConvWeights& w) { return ShortConvMixer::forms(w); }
RowForms forms_of(const MambaWeights& w) { return MambaMixer::forms(w); }
RowForms forms_of(const DenseFfnWeights& w) { return DenseFfn::forms(w); }
RowForms forms_of(const ExpertsFfnWeights& w) { return ExpertsFfn::forms(w); }
RowForms forms_of(const NoTensors<CpuForm>& /*w*/) { return {}; }

template <class Part>
Norm norm_of(const float* weight, const float* bias, const Part& part) {
  return {.weight = weight, .bias = bias, .forms = std::visit([](const auto& w) { return forms_of(w); }, part)};
}

}  // namespace

int CpuStage::max_cols(const ModelConfig& config) {
  int most = config.width;
  for (const LayerSpec& layer : config.layers) most = std::max(most, layer.result_width());
  return most;
}

Result<std::unique_ptr<CpuStage>> CpuStage::create(const Shared& shared, LayerRange layers, StateRoom room) {
  OCTAVO_TRY(SnapshotArena snapshots, SnapshotArena::create(room, layers));
  OCTAVO_TRY(KvArena kv, KvArena::create(std::move(room), layers));
  return std::unique_ptr<CpuStage>(new CpuStage(shared, layers, std::move(kv), std::move(snapshots)));
}

CpuStage::CpuStage(const Shared& shared, LayerRange layers, KvArena kv, SnapshotArena snapshots)
    : config_(shared.config),
      weights_(shared.weights),
      context_(shared.context),
      stream_(shared.stream),
      per_layer_(shared.per_layer),
      layers_{.first = layers.first, .end = std::min(layers.end, config_.num_layers())},
      head_(config_.num_layers()),
      last_with_state_(config_.last_layer_with_state()),
      has_head_(config_.has_draft_head && layers.contains(head_)),
      kv_(std::move(kv)),
      snapshots_(std::move(snapshots)),
      attention_(config_, weights_, kv_, context_, stream_, layers),
      delta_(config_, weights_, snapshots_, context_, stream_, layers),
      short_conv_(config_, weights_, snapshots_, context_, stream_, layers),
      mamba_(config_, weights_, snapshots_, context_, stream_, layers),
      dense_ffn_(config_, context_, stream_),
      experts_ffn_(config_, weights_, context_, stream_, dense_ffn_, layers),
      spoiled_(context_.max_rows) {}

std::span<std::byte> CpuStage::piece(int pool, BlockId block, int layer_index) {
  return pool == kv_.layout().num_groups() ? snapshots_.bytes(block) : kv_.block_bytes(pool, layer_index, block);
}

void CpuStage::advance_states(std::span<const StateAdvance> advances) {
  delta_.advance_states(advances);
  short_conv_.advance_states(advances);
  mamba_.advance_states(advances);
}

void CpuStage::release(std::span<const BlockRun> runs) {
  kv_.release(runs);
  snapshots_.release(runs);
}

void CpuStage::copy_blocks(std::span<const BlockCopy> copies) {
  kv_.copy_blocks(copies);
  snapshots_.copy(copies);
}

void CpuStage::forward(StepRows& rows, float* x) {
  OCTAVO_CHECK(x == stream_.x(0), "rows of another stream");
  spoiled_.clear();
  experts_ffn_.begin();
  if (layers_.is_empty() && !has_head_) return;
  begin(rows);
  delta_.plan(rows.batch());
  short_conv_.plan(rows.batch());
  mamba_.plan(rows.batch());
  walk(layers_, last_with_state_, rows);
}

void CpuStage::begin(StepRows& rows) {
  context_.enter(StepPart::kScheduling);
  rows_ = &rows;
  attention_.plan(rows);
  attention_.compute_angles(rows.batch());
}

StageFindings CpuStage::findings() const {
  return {.expert_bytes = experts_ffn_.bytes_read(),
          .not_finite = experts_ffn_.not_finite(),
          .spoiled = spoiled_.sequences()};
}

void CpuStage::forward_head(StepRows& rows) {
  experts_ffn_.begin();
  begin(rows);
  norm_input(head_);
  run_layer(head_, false);
}

void CpuStage::begin_joint(StepRows& rows) {
  spoiled_.clear();
  experts_ffn_.begin();
  begin(rows);
}

void CpuStage::write_joint_keys(StepRows& rows, int layer) {
  begin_joint(rows);
  norm_input(layer);
  if (layer == last_with_state_) find_spoiled();
  write_state(layer);
}

void CpuStage::finish_joint_layer(StepRows& rows, int layer) {
  begin_joint(rows);
  norm_input(layer);
  run_layer(layer, true);
}

void CpuStage::norm_input(int layer) {
  const int count = rows_->count();
  const std::optional<Norm> norm = input_norm(layer);
  if (!norm) return;
  context_.enter(StepPart::kRows);
  context_.for_rows(count, [&](std::int64_t row, int) { stream_.norm_row(*norm, row, row, count); });
}

void CpuStage::keep_logit_rows() {
  stream_.keep_rows(rows_->batch().logit_rows);
  attention_.plan(*rows_);
}

void CpuStage::run_layer(int index, bool state_written) {
  const LayerSpec& spec = config_.layer(index);
  const LayerWeights& w = weights_.layers[to_size(index)];
  const bool has_embedding = config_.per_layer_width > 0;
  Epilogue behind_mixer{.post_norm = w.post_mixer_norm,
                        .result_scale = config_.residual_scale,
                        .sum_norm = {.weight = w.mixer_sum_norm, .bias = w.mixer_sum_bias}};
  Epilogue behind_ffn{.post_norm = w.post_ffn_norm,
                      .result_scale = config_.residual_scale,
                      .sum_norm = {.weight = w.ffn_sum_norm, .bias = w.ffn_sum_bias}};
  Epilogue behind_embedding{.post_norm = w.per_layer.post_norm};
  Epilogue& behind_parts = spec.has_feed_forward() ? behind_ffn : behind_mixer;
  Epilogue& behind_layer = has_embedding ? behind_embedding : behind_parts;
  if (spec.has_feed_forward())
    behind_mixer.next = spec.is_parallel ? norm_of(w.mixer_norm, w.mixer_norm_bias, w.feed_forward)
                                         : norm_of(w.ffn_norm, w.ffn_norm_bias, w.feed_forward);
  behind_mixer.is_parallel = spec.is_parallel;
  if (has_embedding) behind_parts.next = PerLayerEmbedding::input_of(w.per_layer);
  if (index + 1 < layers_.end) behind_layer.next = input_norm(index + 1);
  if (w.output_scale != nullptr) behind_layer.scale = *w.output_scale;
  if (spec.beside)
    mamba_.run(index, *rows_, state_written,
               {.result_scale = config_.residual_scale,
                .next = norm_of(w.mixer_norm, w.mixer_norm_bias, w.mixer),
                .is_parallel = true});
  visit_part(spec.mixer, [&](const auto& mixer) { mixer_of(mixer).run(index, *rows_, state_written, behind_mixer); });
  visit_part(spec.feed_forward, [&](const auto& ffn) { run_feed_forward(ffn, w, behind_ffn); });
  if (has_embedding) per_layer_.run(index, *rows_, behind_embedding);
  if (!rows_->batch().given.empty()) add_given_vectors(index);
}

/// DeepStack (Meng et al., 2024): behind each of the first layers a further vector of what was given joins the stream,
/// before the next layer reads it.
void CpuStage::add_given_vectors(int layer) {
  const int width = config_.width, count = rows_->count();
  const std::optional<Norm> next = layer + 1 < layers_.end ? input_norm(layer + 1) : std::nullopt;
  context_.enter(StepPart::kRows);
  context_.for_rows(count, [&](std::int64_t row, int) {
    const GivenVectors* given = rows_->batch().given_at(rows_->batch_row(row));
    if (given == nullptr || given->width <= (layer + 1) * width) return;
    context_.kernels.add(stream_.x(row), given->at(rows_->batch_row(row)) + (layer + 1) * width, width);
    if (next) stream_.norm_row(*next, row, row, count);
  });
}

void CpuStage::write_state(int layer) {
  if (config_.layer(layer).beside) mamba_.write_state(layer, *rows_);
  visit_part(config_.layer(layer).mixer, [&](const auto& mixer) { mixer_of(mixer).write_state(layer, *rows_); });
}

void CpuStage::run_feed_forward(const DenseFfnSpec& spec, const LayerWeights& w, const Epilogue& epilogue) {
  dense_ffn_.run(spec, std::get<DenseFfnWeights>(w.feed_forward), rows_->count(), epilogue);
}

void CpuStage::run_feed_forward(const ExpertsFfnSpec& spec, const LayerWeights& w, const Epilogue& epilogue) {
  experts_ffn_.run(spec, std::get<ExpertsFfnWeights>(w.feed_forward), *rows_, epilogue);
}

std::optional<Norm> CpuStage::input_norm(int layer) const {
  for (int i = layer; i == layer || i < layers_.end; ++i) {
    const LayerWeights& w = weights_.layers[to_size(i)];
    if (config_.layer(i).has_mixer()) {
      Norm norm = norm_of(w.mixer_norm, w.mixer_norm_bias, w.mixer);
      norm.forms |= MambaMixer::forms(w.beside);
      return norm;
    }
    if (config_.layer(i).has_feed_forward()) return norm_of(w.ffn_norm, w.ffn_norm_bias, w.feed_forward);
  }
  return {};
}

}  // namespace octavo
