#include "gpu/card_layers.h"

#include <algorithm>
#include <cstring>
#include <iterator>
#include <set>
#include <utility>

#include "base/to_size.h"
#include "gpu/kernels_ptx.h"
#include "model/model_runner.h"
#include "model/visit_matrices.h"

namespace octavo::gpu {

Result<std::unique_ptr<CardLayers>> CardLayers::create(std::shared_ptr<CudaDevice> device, const LeadingParts& parts,
                                                       const SumOrder& order, const Placement& placement) {
  std::unique_ptr<CardLayers> made(new CardLayers(std::move(device), parts, order));
  OCTAVO_TRY_VOID(made->load_kernels(parts, placement));
  std::uint64_t done = 0;
  const auto on_bytes = [&](std::uint64_t bytes) {
    done += bytes;
    if (parts.options.on_load_progress) parts.options.on_load_progress({done, placement.weight_bytes});
  };
  OCTAVO_TRY(made->weights_,
             CardWeights::load(*made->device_, parts.weights, placement.num_layers, placement.output, on_bytes));
  OCTAVO_TRY(CardAttention attention,
             CardAttention::create(made->context_, parts.config, parts.room, placement.num_layers, parts.max_rows));
  made->attention_ = std::make_unique<CardAttention>(std::move(attention));
  OCTAVO_TRY(CardDelta delta,
             CardDelta::create(made->context_, parts.config, parts.room, made->weights_, parts.max_rows));
  made->delta_ = std::make_unique<CardDelta>(std::move(delta));
  OCTAVO_TRY(CardDenseFfn dense_ffn, CardDenseFfn::create(made->context_, parts.config, parts.max_rows));
  made->dense_ffn_ = std::make_unique<CardDenseFfn>(std::move(dense_ffn));
  OCTAVO_TRY(CardExperts experts, CardExperts::create(made->context_, *made->dense_ffn_, parts.config,
                                                      placement.num_layers, parts.max_rows));
  made->experts_ = std::make_unique<CardExperts>(std::move(experts));
  made->step_ =
      std::make_unique<CardStep>(*made->device_, parts.config, parts.room.layout, placement.num_layers, parts.max_rows);
  OCTAVO_TRY_VOID(made->take_memory(parts));
  return made;
}

Result<void> CardLayers::load_kernels(const LeadingParts& parts, const Placement& placement) {
  const std::span<const std::string_view> common = common_kernels();
  std::vector<std::string_view> names(common.begin(), common.end());
  const auto placed = parts.config.own_layers().first(to_size(placement.num_layers));
  if (std::ranges::any_of(placed, [](const LayerSpec& layer) { return layer.delta() != nullptr; }))
    std::ranges::copy(delta_kernels(), std::back_inserter(names));
  std::set<DType> types, of_experts;
  for (int i = 0; i < placement.num_layers; ++i) {
    const LayerWeights& layer = parts.weights.layers[to_size(i)];
    visit_matrices(layer, [&](const WeightMatrix& m, bool) { types.insert(m.type); });
    if (const auto* experts = std::get_if<ExpertsFfnWeights>(&layer.feed_forward))
      for (const auto* matrices : {&experts->gate, &experts->up, &experts->down})
        if (is_present(matrices->first)) of_experts.insert(matrices->first.type);
  }
  if (placement.output) types.insert(parts.weights.output.type);
  for (const DType type : types)
    std::ranges::copy(product_kernels(type, context_.order.scales), std::back_inserter(names));
  for (const DType type : of_experts)
    std::ranges::copy(product_kernels(type, context_.order.scales, true), std::back_inserter(names));
  if (!of_experts.empty()) std::ranges::copy(expert_kernels(), std::back_inserter(names));
  return device_->load_kernels(names);
}

Result<void> CardLayers::take_memory(const LeadingParts& parts) {
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

std::string CardLayers::description() const {
  return fmt::format("{} with {} of {} layers{}", device_->info().name, count(), config_.num_layers(),
                     has_output() ? " and the output matrix" : "");
}

void CardLayers::advance_states(std::span<const StateAdvance> advances) {
  device_->enter();
  delta_->advance_states(advances);
}

void CardLayers::copy_blocks(std::span<const BlockCopy> copies) {
  if (copies.empty()) return;
  device_->enter();
  attention_->copy_blocks(copies);
  delta_->copy_snapshots(copies);
}

// The steps are those of Transformer::forward().
void CardLayers::forward(const Batch& batch, const AttentionMixer& mixer, float* x) {
  device_->enter();
  spoiled_.clear();
  const std::size_t row_bytes = to_size(config_.width) * sizeof(float);
  step_->begin(batch, mixer);
  std::memcpy(rows_of_host_.data(), x, to_size(batch.num_rows()) * row_bytes);
  device_->begin_step();
  experts_->begin(batch.num_rows());
  device_->copy_to_card(x_.pointer(), rows_of_host_.data(), to_size(batch.num_rows()) * row_bytes);
  norm_rows(weights_.layer(0).mixer_norm, 0, batch.num_rows());
  const int last = config_.last_layer_with_state();
  for (int i = 0; i < count(); ++i) {
    if (i == last) find_spoiled();
    const bool narrows = i == last && batch.logit_rows.size() < batch.tokens.size();
    if (narrows) {
      write_state(i);
      step_->keep_logit_rows();
      if (batch.logit_rows.empty()) break;
      keep_logit_rows();
      norm_rows(weights_.layer(i).mixer_norm, 0, step_->rows().count());
    }
    layer(i, narrows);
  }
  const std::size_t bytes = to_size(step_->rows().count()) * row_bytes;
  device_->copy_to_host(rows_of_host_.data(), x_.pointer(), bytes);
  experts_->send_counts(batch.num_rows());
  if (config_.has_draft_head && has_output()) keep_rows_of_logits(batch);
  compute_wanted_logits();
  device_->run_step();
  device_->wait();
  experts_->read_counts(step_->rows());
  std::memcpy(x, rows_of_host_.data(), bytes);
  if (count() <= last) return;
  const auto* finite = reinterpret_cast<const std::int32_t*>(finite_of_host_.data());
  step_->rows().add_spoiled([&](int row) { return finite[row] != 0; }, spoiled_);
}

/// The head has seen all rows; those whose logits are wanted go on here.
void CardLayers::keep_rows_of_logits(const Batch& batch) {
  if (batch.logit_rows.empty() || batch.logit_rows.size() == batch.tokens.size()) return;
  step_->keep_logit_rows();
  keep_logit_rows();
}

void CardLayers::write_state(int index) {
  std::visit(
      [&](const auto& mixer) { mixer_of(mixer).write_state(index, weights_.layer(index), *step_, h_.as<float>()); },
      config_.layer(index).mixer);
}

void CardLayers::layer(int index, bool state_written) {
  const CardLayerWeights& w = weights_.layer(index);
  const auto* attention = std::get_if<AttentionTensors<CardForm>>(&w.mixer);
  std::visit([&](const auto& mixer) { mixer_of(mixer).run(index, w, *step_, state_written, h_.as<float>()); },
             config_.layer(index).mixer);
  finish_rows(attention != nullptr ? attention->o_bias : nullptr, w.post_mixer_norm, 1, w.ffn_norm);
  const float* bias =
      std::visit([&](const auto& spec) { return feed_forward(spec, index); }, config_.layer(index).feed_forward);
  const float* scale = of_host_.layers[to_size(index)].output_scale;
  const float* next = index + 1 < count() ? weights_.layer(index + 1).mixer_norm : nullptr;
  finish_rows(bias, w.post_ffn_norm, scale != nullptr ? *scale : 1, next);
}

const float* CardLayers::feed_forward(const DenseFfnSpec& spec, int layer) {
  const auto& w = std::get<DenseFfnTensors<CardForm>>(weights_.layer(layer).feed_forward);
  dense_ffn_->compute(spec, w, h_.as<float>(), step_->rows().count(), h_.as<float>());
  return w.down_bias;
}

const float* CardLayers::feed_forward(const ExpertsFfnSpec& spec, int layer) {
  const auto& w = std::get<ExpertsFfnTensors<CardForm>>(weights_.layer(layer).feed_forward);
  const auto& of_host = std::get<ExpertsFfnWeights>(of_host_.layers[to_size(layer)].feed_forward);
  experts_->run(spec, w, bytes_of_one(of_host), {step_->rows().count(), step_->batch_rows()}, x_.as<float>(),
                h_.as<float>());
  return nullptr;
}

void CardLayers::finish_rows(const float* bias, const float* post_norm, float scale, const float* next_norm) {
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

void CardLayers::norm_rows(const float* norm, int first, int rows) {
  context_.finish_rows({.x = x_.as<float>(to_size(first) * to_size(config_.width) * sizeof(float)),
                        .h = h_.as<float>(),
                        .next_norm = norm,
                        .width = config_.width},
                       rows);
}

void CardLayers::find_spoiled() {
  const int rows = step_->rows().count();
  device_->launch(
      {.kernel = "octavo_find_finite", .grid_x = rows, .threads = kRowThreads, .shared_bytes = kFindFiniteShared},
      FindFiniteArguments{.x = x_.as<float>(), .is_finite = finite_.as<std::int32_t>(), .width = config_.width});
  device_->copy_to_host(finite_of_host_.data(), finite_.pointer(), to_size(rows) * sizeof(std::int32_t));
}

void CardLayers::keep_logit_rows() {
  const int rows = step_->rows().count();
  device_->launch(
      {.kernel = "octavo_gather_rows", .grid_x = column_blocks(config_.width), .grid_y = rows, .threads = kRowThreads},
      GatherRowsArguments{
          .from = x_.as<float>(), .rows = step_->logit_rows(), .to = h_.as<float>(), .width = config_.width});
  device_->copy_on_card(x_.pointer(), h_.pointer(), to_size(rows) * to_size(config_.width) * sizeof(float));
}

/// Logits of the first rows are a part of the step's work if the step before was asked for some.
void CardLayers::compute_wanted_logits() {
  const int rows = static_cast<int>(step_->rows().batch().logit_rows.size());
  num_computed_ = has_output() && wants_logits_ ? std::min(rows, kMaxLogitRows) : 0;
  wants_logits_ = false;
  if (num_computed_ > 0) compute_logits(0, num_computed_);
}

void CardLayers::compute_logits(int first, int count) {
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

std::span<const float> CardLayers::logits(int first, int count) {
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
