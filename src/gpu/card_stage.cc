#include "gpu/card_stage.h"

#include <algorithm>
#include <cstring>
#include <iterator>
#include <set>
#include <utility>

#include "base/to_size.h"
#include "gpu/kernels_ptx.h"
#include "gpu/placement.h"
#include "model/model_runner.h"
#include "model/visit_matrices.h"

namespace octavo::gpu {
namespace {

Result<void> load_kernels(CudaDevice& device, const StageParts& parts, const WeightShapes& shapes,
                          const SumOrder& order, LayerRange layers, bool output) {
  const std::span<const std::string_view> common = common_kernels();
  std::vector<std::string_view> names(common.begin(), common.end());
  std::set<DType> types, of_experts;
  bool is_recurrent = false;
  for (int i = layers.first; i < layers.end; ++i) {
    is_recurrent = is_recurrent || parts.config.layer(i).state_bytes() > 0;
    const LayerShape& layer = shapes.tensors.layers[to_size(i)];
    visit_matrices(layer, [&](const MatrixShape& m, bool) { types.insert(m.type); });
    if (const auto* experts = std::get_if<ExpertsFfnTensors<ShapeForm>>(&layer.feed_forward))
      for (const auto* matrices : {&experts->gate, &experts->up, &experts->down})
        if (is_present(matrices->first)) of_experts.insert(matrices->first.type);
  }
  if (is_recurrent) std::ranges::copy(delta_kernels(), std::back_inserter(names));
  if (output) types.insert(shapes.tensors.output.type);
  for (const DType type : types) std::ranges::copy(product_kernels(type, order.scales), std::back_inserter(names));
  for (const DType type : of_experts)
    std::ranges::copy(product_kernels(type, order.scales, true), std::back_inserter(names));
  if (!of_experts.empty()) std::ranges::copy(expert_kernels(), std::back_inserter(names));
  return device.load_kernels(names);
}

}  // namespace

Result<std::unique_ptr<CardStage>> CardStage::create(std::shared_ptr<CudaDevice> device, const StageParts& parts,
                                                     const WeightShapes& shapes, const SumOrder& order,
                                                     LayerRange layers, bool output) {
  OCTAVO_TRY_VOID(load_kernels(*device, parts, shapes, order, layers, output));
  OCTAVO_TRY(CardWeights weights, CardWeights::allocate(*device, parts.weights, layers, output));
  std::unique_ptr<CardStage> made(new CardStage(std::move(device), parts, order, layers, std::move(weights)));
  OCTAVO_TRY(CardAttention attention,
             CardAttention::create(made->context_, parts.config, parts.room, layers, parts.max_rows));
  made->attention_ = std::make_unique<CardAttention>(std::move(attention));
  OCTAVO_TRY(CardDelta delta,
             CardDelta::create(made->context_, parts.config, parts.room, layers, made->weights_, parts.max_rows));
  made->delta_ = std::make_unique<CardDelta>(std::move(delta));
  OCTAVO_TRY(CardDenseFfn dense_ffn, CardDenseFfn::create(made->context_, parts.config, parts.max_rows));
  made->dense_ffn_ = std::make_unique<CardDenseFfn>(std::move(dense_ffn));
  OCTAVO_TRY(CardExperts experts,
             CardExperts::create(made->context_, *made->dense_ffn_, parts.config, layers, parts.max_rows));
  made->experts_ = std::make_unique<CardExperts>(std::move(experts));
  OCTAVO_TRY_VOID(made->take_memory(parts));
  return made;
}

Result<void> CardStage::take_memory(const StageParts& parts) {
  const auto rows = to_size(parts.max_rows);
  const std::uint64_t width = to_size(config_.width) * sizeof(float);
  const std::uint64_t logits = has_output() ? to_size(kMaxLogitRows) * to_size(config_.vocab_size) * sizeof(float) : 0;
  OCTAVO_TRY(context_.int8, device_->allocate(act_bytes(parts.max_rows, widest_columns(config_))));
  OCTAVO_TRY(x_, device_->allocate(rows * width));
  OCTAVO_TRY(h_, device_->allocate(rows * width));
  OCTAVO_TRY(finite_, device_->allocate(rows * sizeof(std::int32_t)));
  OCTAVO_TRY(logits_, device_->allocate(logits));
  OCTAVO_TRY(rows_of_host_, device_->allocate_pinned(rows * width));
  OCTAVO_TRY(finite_of_host_, device_->allocate_pinned(rows * sizeof(std::int32_t)));
  OCTAVO_TRY(logits_of_host_, device_->allocate_pinned(logits));
  return {};
}

class CardStage::Load final : public StageLoad {
 public:
  Load(std::unique_ptr<CardStage> stage, const StageParts& parts) : parts_(parts), stage_(std::move(stage)) {}

  LayerRange layers() const override { return stage_->layers_; }
  bool has_output() const override { return stage_->has_output(); }
  Result<void> put_vector(WeightIndex vector, std::span<const float> floats) override {
    return put([&](CardWeights& weights) { weights.put_vector(vector, floats); });
  }
  Result<void> put_panels(WeightIndex matrix, std::size_t offset, std::span<const std::uint8_t> panels) override {
    return put([&](CardWeights& weights) { weights.put_panels(matrix, offset, panels); });
  }
  bool has_failed() const override { return has_failed_; }
  std::unique_ptr<DeviceStage> finish() override {
    stage_->weights_.end_load();
    stage_->step_ =
        std::make_unique<CardStep>(*stage_->device_, parts_, stage_->layers_, stage_->weights_.rope_factors());
    return std::move(stage_);
  }

 private:
  template <class Put>
  Result<void> put(const Put& put_some) {
    const std::scoped_lock lock(mutex_);
    try {
      stage_->device_->enter();
      put_some(stage_->weights_);
      return {};
    } catch (const DeviceError& error) {
      has_failed_ = true;
      return fail("device: found cuda, but {}", error.what());
    }
  }

  const StageParts parts_;
  std::unique_ptr<CardStage> stage_;
  std::mutex mutex_;  // guards the card, which one thread uses at a time
  bool has_failed_ = false;
};

std::unique_ptr<StageLoad> CardStage::load(std::unique_ptr<CardStage> stage, const StageParts& parts) {
  return std::make_unique<Load>(std::move(stage), parts);
}

std::string CardStage::description() const {
  return fmt::format("{} with {} of {} layers{}", device_->info().name, layers_.count(), config_.num_layers(),
                     has_output() ? " and the output matrix" : "");
}

void CardStage::advance_states(std::span<const StateAdvance> advances) {
  device_->enter();
  delta_->advance_states(advances);
}

void CardStage::copy_blocks(std::span<const BlockCopy> copies) {
  if (copies.empty()) return;
  device_->enter();
  attention_->copy_blocks(copies);
  delta_->copy_snapshots(copies);
}

void CardStage::forward(StepRows& rows, float* x) {
  device_->enter();
  spoiled_.clear();
  step_->begin(rows);
  const int batch_rows = rows.batch().num_rows();
  const std::size_t row_bytes = to_size(config_.width) * sizeof(float);
  std::memcpy(rows_of_host_.data(), x, to_size(rows.count()) * row_bytes);
  device_->begin_step();
  experts_->begin(batch_rows);
  device_->copy_to_card(x_.pointer(), rows_of_host_.data(), to_size(rows.count()) * row_bytes);
  const int last = config_.last_layer_with_state();
  walk(layers_, last, step_->rows());
  if (step_->rows().are_kept()) rows.keep_logit_rows();
  const std::size_t bytes = to_size(rows.count()) * row_bytes;
  device_->copy_to_host(rows_of_host_.data(), x_.pointer(), bytes);
  experts_->send_counts(batch_rows);
  if (config_.has_draft_head && has_output()) keep_rows_of_logits();
  compute_wanted_logits();
  device_->run_step();
  device_->wait();
  experts_->read_counts(rows);
  std::memcpy(x, rows_of_host_.data(), bytes);
  if (!layers_.contains(last)) return;
  const auto* finite = reinterpret_cast<const std::int32_t*>(finite_of_host_.data());
  rows.add_spoiled([&](int row) { return finite[row] != 0; }, spoiled_);
}

StageFindings CardStage::findings() const {
  return {.expert_bytes = experts_->bytes_read(), .not_finite = experts_->not_finite(), .spoiled = spoiled_};
}

/// Where a draft head has seen all rows, only those whose logits are wanted go on.
void CardStage::keep_rows_of_logits() {
  const Batch& batch = step_->rows().batch();
  if (batch.logit_rows.empty() || batch.logit_rows.size() == batch.tokens.size()) return;
  step_->rows().keep_logit_rows();
  keep_logit_rows();
}

void CardStage::write_state(int layer) {
  visit_mixer(config_.layer(layer),
              [&](auto& mixer) { mixer.write_state(layer, weights_.layer(layer), *step_, h_.as<float>()); });
}

void CardStage::run_layer(int layer, bool state_written) {
  const CardLayerWeights& w = weights_.layer(layer);
  const LayerSpec& spec = config_.layer(layer);
  const float* next = input_norm(layer + 1);
  const float scale = weights_.output_scale(layer);
  visit_mixer(spec, [&](auto& mixer) {
    mixer.run(layer, w, *step_, state_written, h_.as<float>());
    const auto* attention = std::get_if<AttentionTensors<CardForm>>(&w.mixer);
    const bool goes_on = spec.has_feed_forward();
    finish_rows(attention != nullptr ? attention->o_bias : nullptr, w.post_mixer_norm, goes_on ? 1 : scale,
                goes_on ? w.ffn_norm : next);
  });
  visit_part(spec.feed_forward,
             [&](const auto& ffn) { finish_rows(feed_forward(ffn, layer), w.post_ffn_norm, scale, next); });
}

const float* CardStage::input_norm(int layer) const {
  for (; layer < layers_.end; ++layer) {
    if (config_.layer(layer).has_mixer()) return weights_.layer(layer).mixer_norm;
    if (config_.layer(layer).has_feed_forward()) return weights_.layer(layer).ffn_norm;
  }
  return nullptr;
}

const float* CardStage::feed_forward(const DenseFfnSpec& spec, int layer) {
  const auto& w = std::get<DenseFfnTensors<CardForm>>(weights_.layer(layer).feed_forward);
  dense_ffn_->compute(spec, w, h_.as<float>(), step_->rows().count(), h_.as<float>());
  return w.down_bias;
}

const float* CardStage::feed_forward(const ExpertsFfnSpec& spec, int layer) {
  const auto& w = std::get<ExpertsFfnTensors<CardForm>>(weights_.layer(layer).feed_forward);
  experts_->run(spec, w, {step_->rows().count(), step_->batch_rows()}, x_.as<float>(), h_.as<float>());
  return nullptr;
}

void CardStage::finish_rows(const float* bias, const float* post_norm, float scale, const float* next_norm) {
  context_.finish_rows({.x = x_.as<float>(),
                        .h = h_.as<float>(),
                        .bias = bias,
                        .post_norm = post_norm,
                        .next_norm = next_norm,
                        .scale = scale,
                        .width = config_.width,
                        .adds = true},
                       step_->rows().count());
}

void CardStage::norm_rows(const float* norm, int first, int rows) {
  context_.finish_rows({.x = x_.as<float>(to_size(first) * to_size(config_.width) * sizeof(float)),
                        .h = h_.as<float>(),
                        .next_norm = norm,
                        .width = config_.width},
                       rows);
}

void CardStage::find_spoiled() {
  const int rows = step_->rows().count();
  device_->launch(
      {.kernel = "octavo_find_finite", .grid_x = rows, .threads = kRowThreads, .shared_bytes = kFindFiniteShared},
      FindFiniteArguments{.x = x_.as<float>(), .is_finite = finite_.as<std::int32_t>(), .width = config_.width});
  device_->copy_to_host(finite_of_host_.data(), finite_.pointer(), to_size(rows) * sizeof(std::int32_t));
}

void CardStage::keep_logit_rows() {
  const int rows = step_->rows().count();
  device_->launch(
      {.kernel = "octavo_gather_rows", .grid_x = column_blocks(config_.width), .grid_y = rows, .threads = kRowThreads},
      GatherRowsArguments{
          .from = x_.as<float>(), .rows = step_->logit_rows(), .to = h_.as<float>(), .width = config_.width});
  device_->copy_on_card(x_.pointer(), h_.pointer(), to_size(rows) * to_size(config_.width) * sizeof(float));
}

/// Computes logits of the first rows as a part of the step, if the logits of the step before were asked for.
void CardStage::compute_wanted_logits() {
  const int rows = static_cast<int>(step_->rows().batch().logit_rows.size());
  num_computed_ = has_output() && wants_logits_ ? std::min(rows, kMaxLogitRows) : 0;
  wants_logits_ = false;
  if (num_computed_ > 0) compute_logits(0, num_computed_);
}

void CardStage::compute_logits(int first, int count) {
  const CardMatrix& output = weights_.output();
  norm_rows(weights_.output_norm(), first, count);
  if (output.reads_int8()) context_.quantize(h_.as<float>(), config_.width, count);
  context_.multiply(output, h_.as<float>(), count, logits_.as<float>());
  if (weights_.output_bias() != nullptr || config_.logit_soft_cap != 0)
    device_->launch({.kernel = "octavo_finish_logits",
                     .grid_x = column_blocks(config_.vocab_size),
                     .grid_y = count,
                     .threads = kRowThreads},
                    FinishLogitsArguments{.y = logits_.as<float>(),
                                          .bias = weights_.output_bias(),
                                          .cap = config_.logit_soft_cap,
                                          .width = config_.vocab_size});
  const std::size_t floats = to_size(count) * to_size(config_.vocab_size);
  device_->copy_to_host(logits_of_host_.data(), logits_.pointer(), floats * sizeof(float));
}

std::span<const float> CardStage::logits(int first, int count) {
  wants_logits_ = true;
  if (first + count > num_computed_) {
    device_->enter();
    compute_logits(first, count);
    device_->wait();
    num_computed_ = first == 0 ? count : 0;
  }
  const auto* all = reinterpret_cast<const float*>(logits_of_host_.data());
  const std::size_t begin = num_computed_ > 0 ? to_size(first) * to_size(config_.vocab_size) : 0;
  return {all + begin, to_size(count) * to_size(config_.vocab_size)};
}

}  // namespace octavo::gpu
