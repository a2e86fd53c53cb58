#include "gpu/card_experts.h"

#include <algorithm>
#include <cstring>

#include "base/to_size.h"

namespace octavo::gpu {
namespace {

// The most rows that are grouped together (cpu/experts_ffn.cc): the results of all their choices are held.
constexpr int kMostPassRows = 1024;
constexpr std::size_t kCountBytes = sizeof(std::uint64_t);

constexpr int choice_blocks(std::int64_t cols) { return static_cast<int>((cols + kChoiceCols - 1) / kChoiceCols); }

std::size_t counts_bytes(int rows) { return kCountBytes + to_size(rows) * sizeof(std::int32_t); }

}  // namespace

CardExperts::Room::Room(const ModelConfig& config, LayerRange layers, int max_rows)
    : rows(std::min(max_rows, kMostPassRows)) {
  for (int i = layers.first; i < layers.end; ++i) {
    const auto* spec = std::get_if<ExpertsFfnSpec>(&config.layer(i).feed_forward);
    if (spec == nullptr) continue;
    experts = std::max(experts, spec->num_experts);
    chosen = std::max(chosen, spec->num_chosen);
    width = std::max<std::int64_t>(width, spec->width);
    shared_width = std::max(shared_width, spec->shared_width);
    slots = std::max(slots, max_slots(rows, spec->num_experts, spec->num_chosen));
    items = std::max(items, max_items(rows, spec->num_experts, spec->num_chosen));
  }
  if (experts > 0) cols = std::max<std::int64_t>(width, config.width);
}

std::uint64_t CardExperts::scratch_bytes(const ModelConfig& config, int max_rows) {
  const Room room(config, {.first = 0, .end = config.num_layers()}, max_rows);
  if (room.experts == 0) return 0;
  const std::uint64_t of_rows = to_size(room.experts) + (room.shared_width > 0 ? 1 + to_size(config.width) : 0);
  const std::uint64_t of_slots = 2 * to_size(room.width) + to_size(config.width);
  return to_size(max_rows) * of_rows * sizeof(float) + to_size(room.slots) * of_slots * sizeof(float) +
         act_bytes(room.slots, room.cols) + to_size(room.items) * sizeof(ExpertItem) +
         3 * to_size(room.rows) * to_size(room.chosen) * sizeof(float) + counts_bytes(max_rows);
}

Result<CardExperts> CardExperts::create(CardContext& context, CardDenseFfn& shared, const ModelConfig& config,
                                        LayerRange layers, int max_rows) {
  const Room room(config, layers, max_rows);
  CardExperts made(context, shared, config.width, room);
  if (room.experts > 0) OCTAVO_TRY_VOID(made.take_memory(room, max_rows));
  return made;
}

Result<void> CardExperts::take_memory(const Room& room, int max_rows) {
  const CudaDevice& device = context_->device;
  const auto floats = [&](int rows, std::int64_t cols) { return context_->allocate_rows(rows, to_size(cols)); };
  OCTAVO_TRY(scores_, floats(max_rows, room.experts));
  OCTAVO_TRY(experts_, floats(room.rows, room.chosen));
  OCTAVO_TRY(weights_, floats(room.rows, room.chosen));
  OCTAVO_TRY(slots_, floats(room.rows, room.chosen));
  OCTAVO_TRY(items_, device.allocate(to_size(room.items) * sizeof(ExpertItem)));
  OCTAVO_TRY(int8_, device.allocate(act_bytes(room.slots, room.cols)));
  OCTAVO_TRY(gate_, floats(room.slots, room.width));
  OCTAVO_TRY(up_, floats(room.slots, room.width));
  OCTAVO_TRY(results_, floats(room.slots, width_));
  if (room.shared_width > 0) {
    OCTAVO_TRY(shared_gates_, floats(max_rows, 1));
    OCTAVO_TRY(shared_results_, floats(max_rows, width_));
  }
  OCTAVO_TRY(counts_, device.allocate(counts_bytes(max_rows)));
  OCTAVO_TRY(zeros_, device.allocate_pinned(counts_bytes(max_rows)));
  OCTAVO_TRY(counts_of_host_, device.allocate_pinned(counts_bytes(max_rows)));
  std::memset(zeros_.data(), 0, counts_bytes(max_rows));
  return {};
}

void CardExperts::begin(int rows) {
  if (counts_.bytes() > 0) context_->device.copy_to_card(counts_.pointer(), zeros_.data(), counts_bytes(rows));
}

void CardExperts::send_counts(int rows) {
  if (counts_.bytes() == 0) return;
  context_->device.copy_to_host(counts_of_host_.data(), counts_.pointer(), counts_bytes(rows));
}

void CardExperts::read_counts(const StepRows& rows) {
  not_finite_.clear();
  if (counts_.bytes() == 0) return;
  std::memcpy(&bytes_read_, counts_of_host_.data(), sizeof bytes_read_);
  const auto* not_finite = reinterpret_cast<const std::int32_t*>(counts_of_host_.data() + kCountBytes);
  rows.add_spoiled([&](int row) { return not_finite[row] == 0; }, not_finite_);
}

void CardExperts::run(const ExpertsFfnSpec& spec, const ExpertsFfnTensors<CardForm>& w, const Rows& rows, float* x,
                      float* h) {
  if (spec.own_norms) {
    multiply_normed_rows(spec, w, rows.count, x, h);
  } else {
    multiply_all_rows(spec, w, rows.count, h);
  }
  const std::array<DType, 3> types = {w.gate.first.type, spec.is_gated ? w.up.first.type : w.gate.first.type,
                                      w.down.first.type};
  for (int first = 0; first < rows.count; first += pass_rows_) {
    const int count = std::min(pass_rows_, rows.count - first);
    const Pass pass{spec, w, rows, first, count, plan_items(count, spec.num_experts, spec.num_chosen, types)};
    choose(pass);
    group(pass);
    multiply_up(pass, h);
    multiply_down(pass);
    combine(pass, h);
  }
  finish(w, rows.count, h);
}

/// Computes the scores of all experts, and the result of the shared expert.
void CardExperts::multiply_all_rows(const ExpertsFfnSpec& spec, const ExpertsFfnTensors<CardForm>& w, int rows,
                                    const float* h) {
  const bool gated = is_present(w.shared_gate);
  if (w.router.reads_int8() || (gated && w.shared_gate.reads_int8())) context_->quantize(h, width_, rows);
  context_->multiply(w.router, h, rows, scores_.as<float>());
  if (gated) context_->multiply(w.shared_gate, h, rows, shared_gates_.as<float>());
  if (!w.has_shared()) return;
  shared_->compute({.width = spec.shared_width, .activation = spec.activation}, w.shared, h, rows,
                   shared_results_.as<float>());
}

/// Uses h as the input of the shared expert, then of the router, then of the experts: each has a norm of its own.
void CardExperts::multiply_normed_rows(const ExpertsFfnSpec& spec, const ExpertsFfnTensors<CardForm>& w, int rows,
                                       float* x, float* h) {
  if (w.has_shared())
    shared_->compute({.width = spec.shared_width, .activation = spec.activation}, w.shared, h, rows,
                     shared_results_.as<float>());
  context_->finish_rows({.x = x, .h = h, .next_norm = w.router_norm, .width = width_}, rows);
  if (w.router.reads_int8()) context_->quantize(h, width_, rows);
  context_->multiply(w.router, h, rows, scores_.as<float>());
  context_->finish_rows({.x = x, .h = h, .next_norm = w.experts_norm, .width = width_}, rows);
}

void CardExperts::choose(const Pass& pass) {
  const int experts = pass.spec.num_experts;
  const std::size_t scores = to_size(pass.first) * to_size(experts) * sizeof(float);
  context_->device.launch(
      {.kernel = "octavo_choose_experts",
       .grid_x = pass.count,
       .threads = kRowThreads,
       .shared_bytes = choose_experts_shared(experts)},
      ChooseExpertsArguments{
          .scores = scores_.as<float>(scores),
          .bias = pass.w.router_bias,
          .batch_rows = pass.rows.batch_rows != nullptr ? pass.rows.batch_rows + pass.first : nullptr,
          .experts = experts_.as<std::int32_t>(),
          .weights = weights_.as<float>(),
          .not_finite = counts_.as<std::int32_t>(kCountBytes),
          .first_row = pass.first,
          .num_experts = experts,
          .num_chosen = pass.spec.num_chosen,
          .weights_scale = pass.spec.router.weights_scale,
          .sums_to_one = pass.spec.router.sums_to_one});
}

void CardExperts::group(const Pass& pass) {
  const int experts = pass.spec.num_experts;
  std::uint64_t bytes_of_one = 0;
  for (const CardExpertMatrices* matrices : {&pass.w.gate, &pass.w.up, &pass.w.down})
    bytes_of_one += matrices->read_bytes();
  context_->device.launch({.kernel = "octavo_group_choices",
                           .grid_x = experts,
                           .threads = kRowThreads,
                           .shared_bytes = group_choices_shared(experts)},
                          GroupChoicesArguments{.experts = experts_.as<std::int32_t>(),
                                                .slots = slots_.as<std::int32_t>(),
                                                .items = items_.as<ExpertItem>(),
                                                .bytes_read = counts_.as<std::uint64_t>(),
                                                .bytes_of_one = bytes_of_one,
                                                .num_choices = pass.count * pass.spec.num_chosen,
                                                .num_experts = experts,
                                                .item_rows = pass.plan.item_rows,
                                                .max_items = pass.plan.max_items});
}

void CardExperts::multiply_up(const Pass& pass, const float* h) {
  const ExpertsFfnTensors<CardForm>& w = pass.w;
  const bool gated = pass.spec.is_gated, up_int8 = gated && w.up.first.reads_int8();
  const int choices = pass.count * pass.spec.num_chosen, width = pass.spec.width;
  const bool floats = !w.gate.first.reads_int8() || (gated && !up_int8);
  float* const inputs = results_.as<float>();
  context_->device.launch(
      {.kernel = "octavo_gather_choices", .grid_x = choice_blocks(width_), .grid_y = choices, .threads = kRowThreads},
      GatherChoicesArguments{.x = h + to_size(pass.first) * to_size(width_),
                             .slots = slots_.as<std::int32_t>(),
                             .floats = floats ? inputs : nullptr,
                             .int8 = w.gate.first.reads_int8() || up_int8 ? int8_.as<ActPair>() : nullptr,
                             .cols = width_,
                             .num_chosen = pass.spec.num_chosen});
  multiply_items(pass, w.gate, inputs, gate_.as<float>());
  if (gated) multiply_items(pass, w.up, inputs, up_.as<float>());
  const bool int8 = w.down.first.reads_int8();
  context_->device.launch(
      {.kernel = "octavo_activate_choices", .grid_x = choice_blocks(width), .grid_y = choices, .threads = kRowThreads},
      ActivateChoicesArguments{.gate = gate_.as<float>(),
                               .up = gated ? up_.as<float>() : nullptr,
                               .gate_bias = w.gate.bias,
                               .up_bias = w.up.bias,
                               .slots = slots_.as<std::int32_t>(),
                               .experts = experts_.as<std::int32_t>(),
                               .floats = int8 ? nullptr : gate_.as<float>(),
                               .int8 = int8 ? int8_.as<ActPair>() : nullptr,
                               .width = width,
                               .activation = pass.spec.activation});
}

void CardExperts::multiply_down(const Pass& pass) {
  multiply_items(pass, pass.w.down, gate_.as<float>(), results_.as<float>());
}

void CardExperts::multiply_items(const Pass& pass, const CardExpertMatrices& w, const float* x, float* y) {
  const WeightsOnCard weights{
      .type = w.first.type, .outputs = w.first.rows, .cols = w.first.cols, .panels = w.first.panels};
  const auto* items = items_.as<ExpertItem>();
  context_->device.launch(w.first.reads_int8()
                              ? experts_launch(weights, w.bytes_of_one, context_->order.scales, pass.plan, items,
                                               int8_.as<ActPair>(), y, context_->device.info().num_multiprocessors)
                              : experts_launch(weights, w.bytes_of_one, pass.plan, items, x, y));
}

void CardExperts::combine(const Pass& pass, float* h) {
  context_->device.launch({.kernel = "octavo_combine_choices",
                           .grid_x = column_blocks(width_),
                           .grid_y = pass.count,
                           .threads = kRowThreads},
                          CombineChoicesArguments{.results = results_.as<float>(),
                                                  .bias = pass.w.down.bias,
                                                  .scales = pass.w.result_scales,
                                                  .slots = slots_.as<std::int32_t>(),
                                                  .experts = experts_.as<std::int32_t>(),
                                                  .weights = weights_.as<float>(),
                                                  .out = h + to_size(pass.first) * to_size(width_),
                                                  .width = width_,
                                                  .num_chosen = pass.spec.num_chosen});
}

/// Norms the two results, where they have norms, and adds them up. An expert that has a norm has no gate.
void CardExperts::finish(const ExpertsFfnTensors<CardForm>& w, int rows, float* h) {
  const auto norm = [&](const float* weight, float* row) {
    if (weight != nullptr) context_->finish_rows({.x = row, .h = row, .next_norm = weight, .width = width_}, rows);
  };
  norm(w.post_experts_norm, h);
  if (!w.has_shared()) return;
  norm(w.post_shared_norm, shared_results_.as<float>());
  context_->device.launch(
      {.kernel = "octavo_add_shared", .grid_x = column_blocks(width_), .grid_y = rows, .threads = kRowThreads},
      AddSharedArguments{.result = shared_results_.as<float>(),
                         .gate = is_present(w.shared_gate) ? shared_gates_.as<float>() : nullptr,
                         .out = h,
                         .width = width_});
}

}  // namespace octavo::gpu
