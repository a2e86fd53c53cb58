#include "cpu/experts_ffn.h"

#include <algorithm>
#include <array>

#include "base/to_size.h"
#include "kernels/pack.h"

namespace octavo {
namespace {

// Rows that are grouped together. Results of all their choices are held until they are added; more rows would save
// little, as each expert has many by then.
constexpr int kMostPassRows = 1024;
constexpr int kPiecesOfAThread = 8;
// An item's weights cost as much as this many of its rows: reading and unpacking them bounds up to that.
constexpr std::int64_t kCostOfWeights = 4;

/// The expert for every row as a feed-forward.
DenseFfnSpec shared_spec(const ExpertsFfnSpec& spec) {
  return {
      .width = spec.shared_width, .activation = spec.activation, .is_gated = spec.is_gated, .limit = spec.shared_limit};
}

}  // namespace

/// The largest of a model's mixtures, and the forms of rows that their matrices read.
struct ExpertsFfn::Room {
  int experts = 0, chosen = 0, width = 0, row_width = 0, latent_width = 0;
  bool inputs = false, inputs_quantized = false, gated = false, gated_quantized = false, shared = false,
       latents_quantized = false;

  Room(const ModelConfig& config, const Weights& weights, LayerRange layers) {
    for (std::size_t i = 0; i < config.layers.size(); ++i) {
      const auto* spec = std::get_if<ExpertsFfnSpec>(&config.layers[i].feed_forward);
      if (spec == nullptr || !layers.contains(static_cast<int>(i))) continue;
      experts = std::max(experts, spec->num_experts);
      chosen = std::max(chosen, spec->num_chosen);
      width = std::max(width, spec->width);
      row_width = std::max(row_width, spec->row_width(config.width));
      latent_width = std::max(latent_width, spec->latent_width);
      shared = shared || spec->shared_width > 0;
      const auto& w = std::get<ExpertsFfnWeights>(weights.layers[i].feed_forward);
      (w.gate.first.forms().any() ? inputs_quantized : inputs) = true;
      if (spec->is_gated) (w.up.first.forms().any() ? inputs_quantized : inputs) = true;
      (w.down.first.forms().any() ? gated_quantized : gated) = true;
      latents_quantized = latents_quantized || w.latent_up.forms().any();
    }
  }
};

ExpertsFfn::ExpertsFfn(const ModelConfig& config, const Weights& weights, ComputeContext& context,
                       ResidualStream& stream, DenseFfn& shared, LayerRange layers)
    : ExpertsFfn(config.width, Room(config, weights, layers), context, stream, shared) {}

ExpertsFfn::ExpertsFfn(int width, const Room& room, ComputeContext& context, ResidualStream& stream, DenseFfn& shared)
    : context_(context),
      stream_(stream),
      shared_(shared),
      width_(width),
      pass_rows_(std::min(context.max_rows, kMostPassRows)),
      scores_(context.make_rows(room.experts)),
      choices_(pass_rows_, room.experts, room.chosen) {
  if (room.experts == 0) return;
  const int slots = pass_rows_ * room.chosen, threads = context.pool.num_threads();
  const auto floats = [&](bool wanted, int cols) {
    return wanted ? AlignedBuffer<float>(to_size(slots) * to_size(cols)) : AlignedBuffer<float>();
  };
  const auto quantized = [&](bool wanted, int cols) {
    return wanted ? QuantizedRows(slots, cols, context.kernels) : QuantizedRows();
  };
  pieces_.reserve(to_size(room.experts + 2 * kPiecesOfAThread * threads + 1));
  latents_ = context.make_rows(room.latent_width);
  if (room.latents_quantized) latents_quantized_ = QuantizedRows(pass_rows_, room.latent_width, context.kernels);
  inputs_ = floats(room.inputs, room.row_width);
  inputs_quantized_ = quantized(room.inputs_quantized, room.row_width);
  gated_ = floats(room.gated, room.width);
  gated_quantized_ = quantized(room.gated_quantized, room.width);
  gated_scratch_ = AlignedBuffer<float>(to_size(threads) * to_size(gated_scratch_floats(pass_rows_)));
  results_ = floats(true, room.row_width);
  shared_gates_ = context.make_rows(room.shared ? 1 : 0);
  shared_results_ = context.make_rows(room.shared ? width : 0);
  not_finite_.reserve(to_size(context.max_rows));
}

void ExpertsFfn::begin() {
  bytes_read_ = 0;
  not_finite_.clear();
}

void ExpertsFfn::run(const ExpertsFfnSpec& spec, const ExpertsFfnWeights& w, const StepRows& rows,
                     const Epilogue& epilogue) {
  reads_stream_ = rows.count() == 1 && !spec.weighs_inputs && !w.has_latent();
  row_width_ = spec.row_width(width_);
  if (spec.own_norms) {
    multiply_normed_rows(spec, w, rows.count());
  } else {
    multiply_all_rows(spec, w, rows.count());
  }
  for (int first = 0; first < rows.count(); first += pass_rows_) {
    choices_.begin(std::min(pass_rows_, rows.count() - first), spec);
    const Pass pass{spec, w, first};
    choose(pass, rows);
    gather(pass);
    multiply_up(pass);
    multiply_down(pass);
    combine(pass, rows.count(), epilogue);
  }
}

/// Scores of all experts, the rows that these read, and the result of the one that computes every row.
void ExpertsFfn::multiply_all_rows(const ExpertsFfnSpec& spec, const ExpertsFfnWeights& w, int rows) {
  std::array<Product, 3> products = {{{&w.router, scores_.data()}}};
  std::size_t num_products = 1;
  if (w.shared_gate.rows > 0) products[num_products++] = {&w.shared_gate, shared_gates_.data()};
  if (w.has_latent()) products[num_products++] = {&w.latent_down, latents_.data()};
  context_.multiply(std::span(products).first(num_products), stream_.input(), rows);
  if (!w.has_shared()) return;
  shared_.compute(shared_spec(spec), w.shared, rows, shared_results_.data());
}

/// The stream's h is in turn the input of the expert for every row, of the router and of the experts.
void ExpertsFfn::multiply_normed_rows(const ExpertsFfnSpec& spec, const ExpertsFfnWeights& w, int rows) {
  if (w.has_shared()) shared_.compute(shared_spec(spec), w.shared, rows, shared_results_.data());
  norm_rows({.weight = w.router_norm, .forms = w.router.forms()}, rows);
  context_.enter(StepPart::kRouting);
  context_.multiply(w.router, stream_.input(), rows, scores_.data());
  norm_rows({.weight = w.experts_norm, .forms = w.gate.first.forms() | w.up.first.forms()}, rows);
}

void ExpertsFfn::norm_rows(const Norm& norm, int rows) {
  context_.enter(StepPart::kRows);
  context_.for_rows(rows, [&](std::int64_t row, int) { stream_.norm_row(norm, row, row, rows); });
}

void ExpertsFfn::choose(const Pass& pass, const StepRows& rows) {
  const int num_experts = pass.spec.num_experts;
  context_.enter(StepPart::kRouting);
  context_.for_rows(choices_.num_rows(), [&](std::int64_t row, int) {
    float* scores = scores_.data() + (pass.first + row) * num_experts;
    if (pass.w.router_bias != nullptr) context_.kernels.add(scores, pass.w.router_bias, num_experts);
    choices_.choose(row, {scores, to_size(num_experts)}, pass.w.choice_bias);
  });
  choices_.group();
  bytes_read_ += choices_.groups().size() * bytes_of_one(pass.w);
  for (int row = 0; row < choices_.num_rows(); ++row) {
    if (choices_.is_finite(row)) continue;
    const std::int32_t sequence = rows.sequence_of(rows.batch_row(pass.first + row));
    if (std::ranges::find(not_finite_, sequence) == not_finite_.end()) not_finite_.push_back(sequence);
  }
}

/// The input of experts that belongs to a row of the pass.
const float* ExpertsFfn::experts_row(const Pass& pass, std::int64_t row) const {
  return (pass.w.has_latent() ? latents_.data() : stream_.h()) + (pass.first + row) * row_width_;
}

/// The input of each group, as rows of a matrix of its own. A row that is alone in its step is that already, unless its
/// experts read it weighted: results, which are still to come, lend room for that.
void ExpertsFfn::gather(const Pass& pass) {
  if (reads_stream_) return;
  const RowForms forms = pass.w.gate.first.forms() | pass.w.up.first.forms();
  const bool floats = !pass.w.gate.first.forms().any() || (pass.spec.is_gated && !pass.w.up.first.forms().any());
  context_.for_rows(choices_.num_rows(), [&](std::int64_t row, int) {
    for (int rank = 0; rank < choices_.num_chosen(); ++rank) {
      const ExpertChoices::Group& group = choices_.group_of(row, rank);
      const int slot = choices_.slot(row, rank);
      const float* x = experts_row(pass, row);
      if (pass.spec.weighs_inputs) {
        float* weighted = results_.data() + std::int64_t{slot} * row_width_;
        std::copy_n(x, row_width_, weighted);
        context_.kernels.scale(weighted, choices_.weight(row, rank), row_width_);
        x = weighted;
      }
      if (floats) std::copy_n(x, row_width_, inputs_.data() + std::int64_t{slot} * row_width_);
      if (!forms.any()) continue;
      inputs_quantized_.out(forms, group.first, row_width_).write_row(x, slot - group.first, group.count, row_width_);
    }
  });
}

ActivationRows ExpertsFfn::input_of(const ExpertChoices::Group& group) const {
  if (reads_stream_) return stream_.input();
  return inputs_quantized_.view(inputs_.data() + std::int64_t{group.first} * row_width_, row_width_, group.first);
}

/// Pieces that take about equally long, whether an expert has one row or most of them: ranges of the `items` that the
/// product of each expert has.
void ExpertsFfn::cut(std::int64_t items) {
  const std::span<const ExpertChoices::Group> groups = choices_.groups();
  std::int64_t total = 0;
  for (const ExpertChoices::Group& group : groups) total += items * (kCostOfWeights + group.count);
  const std::int64_t cost_of_piece = total / (kPiecesOfAThread * context_.pool.num_threads());
  pieces_.clear();
  for (std::size_t i = 0; i < groups.size(); ++i) {
    const std::int64_t step = std::max<std::int64_t>(1, cost_of_piece / (kCostOfWeights + groups[i].count));
    for (std::int64_t begin = 0; begin < items; begin += step)
      pieces_.push_back({static_cast<std::int32_t>(i), begin, std::min(begin + step, items)});
  }
}

/// Calls body(group, part, worker) for all parts of the products that the groups' experts have, of `items` each.
template <class Body>
void ExpertsFfn::for_pieces(std::int64_t items, const Body& body) {
  cut(items);
  context_.pool.for_ranges(pieces_.size(), 1, [&](std::size_t from, std::size_t to, int worker) {
    for (const Piece& piece : std::span(pieces_).subspan(from, to - from)) {
      const ExpertChoices::Group& group = choices_.groups()[to_size(piece.group)];
      body(group, ProductPart{piece.begin, piece.end, 0, group.count}, worker);
    }
  });
}

void ExpertsFfn::multiply_up(const Pass& pass) {
  const std::int64_t width = pass.spec.width;
  context_.enter(StepPart::kGateUp);
  const RowForms forms = pass.w.down.first.forms();
  const KernelTable& kernels = context_.kernels;
  const std::size_t part_floats = gated_scratch_.size() / to_size(context_.pool.num_threads());
  for_pieces((num_panels(width) + 1) / 2, [&](const ExpertChoices::Group& group, const ProductPart& part, int worker) {
    const WeightMatrix gate = pass.w.gate.of(group.expert), up = pass.w.up.of(group.expert);
    const GatedProduct product{.gate = &gate,
                               .up = pass.spec.is_gated ? &up : nullptr,
                               .activate = activation_of(kernels, pass.spec.activation),
                               .out = forms.any() ? nullptr : gated_.data() + group.first * width,
                               .quantized = gated_quantized_.out(forms, group.first, width),
                               .gate_bias = pass.w.gate.bias_of(group.expert),
                               .up_bias = pass.w.up.bias_of(group.expert),
                               .limit = pass.spec.limit};
    multiply_gated_part(product, input_of(group), group.count, part, kernels, context_.scratch, worker,
                        gated_scratch_.span().subspan(to_size(worker) * part_floats, part_floats));
  });
}

void ExpertsFfn::multiply_down(const Pass& pass) {
  const std::int64_t width = pass.spec.width;
  context_.enter(StepPart::kDown);
  for_pieces(num_panels(row_width_), [&](const ExpertChoices::Group& group, const ProductPart& part, int worker) {
    const WeightMatrix down = pass.w.down.of(group.expert);
    const ActivationRows gated = gated_quantized_.view(gated_.data() + group.first * width, width, group.first);
    multiply_part({&down, results_.data() + std::int64_t{group.first} * row_width_}, gated, part, context_.kernels,
                  context_.scratch, worker);
  });
}

void ExpertsFfn::combine(const Pass& pass, int rows, const Epilogue& epilogue) {
  const auto for_rows = [&](const auto& body) {
    context_.enter(StepPart::kRows);
    context_.for_rows(choices_.num_rows(), [&](std::int64_t row, int) { body(row); });
  };
  if (!pass.w.has_latent()) {
    return for_rows([&](std::int64_t row) {
      add_results(pass, row, stream_.h() + (pass.first + row) * width_);
      finish_row(pass, row, rows, epilogue);
    });
  }
  float* sums = latents_.data() + std::int64_t{pass.first} * row_width_;
  const RowForms forms = pass.w.latent_up.forms();
  for_rows([&](std::int64_t row) {
    float* sum = sums + row * row_width_;
    add_results(pass, row, sum);
    if (forms.any()) latents_quantized_.out(forms).write_row(sum, row, choices_.num_rows(), row_width_);
  });
  context_.enter(StepPart::kDown);
  context_.multiply(pass.w.latent_up, latents_quantized_.view(sums, row_width_), choices_.num_rows(),
                    stream_.h() + std::int64_t{pass.first} * width_);
  for_rows([&](std::int64_t row) { finish_row(pass, row, rows, epilogue); });
}

/// A row's results are added by rank, the highest score first.
void ExpertsFfn::add_results(const Pass& pass, std::int64_t row, float* sum) {
  for (int rank = 0; rank < choices_.num_chosen(); ++rank) {
    float* result = results_.data() + std::int64_t{choices_.slot(row, rank)} * row_width_;
    const int expert = choices_.expert(row, rank);
    if (const float* bias = pass.w.down.bias_of(expert)) context_.kernels.add(result, bias, row_width_);
    const float weight = pass.spec.weighs_inputs ? 1 : choices_.weight(row, rank);
    context_.kernels.scale(result, weight * result_scale_of(pass.w, expert), row_width_);
    if (rank == 0) std::copy_n(result, row_width_, sum);
    if (rank > 0) context_.kernels.add(sum, result, row_width_);
  }
}

/// The result of the expert for every row comes last.
void ExpertsFfn::finish_row(const Pass& pass, std::int64_t row, int rows, const Epilogue& epilogue) {
  float* h = stream_.h() + (pass.first + row) * width_;
  if (pass.w.post_experts_norm != nullptr) stream_.norm_result(pass.w.post_experts_norm, h);
  if (pass.w.has_shared()) add_shared(pass.w, pass.first + row);
  if (pass.spec.sum_scale != 1) context_.kernels.scale(h, pass.spec.sum_scale, width_);
  stream_.finish_row(epilogue, pass.first + row, rows);
}

void ExpertsFfn::add_shared(const ExpertsFfnWeights& w, std::int64_t row) {
  float* result = shared_results_.data() + row * width_;
  if (w.shared_gate.rows > 0) {
    float weight = 1;
    context_.kernels.sigmoid_mul(shared_gates_.data() + row, &weight, 1, &weight);
    context_.kernels.scale(result, weight, width_);
  }
  if (w.post_shared_norm != nullptr) stream_.norm_result(w.post_shared_norm, result);
  context_.kernels.add(stream_.h() + row * width_, result, width_);
}

}  // namespace octavo
