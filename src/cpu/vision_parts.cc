#include "cpu/vision_parts.h"

#include <algorithm>
#include <array>
#include <utility>

#include "base/to_size.h"
#include "model/largest.h"
#include "octavo/kv/types.h"

namespace octavo {
namespace {

constexpr auto kKvType = to_size(KvType::kF32);
constexpr int kBlock = VisionRows::kBlock;

NormOptions norms_of(const VisionConfig& config) {
  return {.kind = config.norm, .epsilon = config.norm_epsilon, .epsilon_of_results = config.norm_epsilon};
}

/// The most columns that a product of the layers reads in int8.
int most_columns(const VisionConfig& config) {
  const int of_layers = std::max(config.width, config.attention().result_width());
  return config.clamps || config.quick_gelu ? std::max(of_layers, widest_dense(config.layers)) : of_layers;
}

/// The width of the rows between the products of a feed-forward that is computed in steps; 0: of none.
int width_in_steps(const VisionConfig& config) {
  return config.clamps || config.quick_gelu ? widest_dense(config.layers) : 0;
}

/// Bounds numbers; one that is none stays so.
void clamp_all(float* x, std::int64_t count, const float* min, const float* max) {
  for (std::int64_t i = 0; i < count; ++i) {
    if (x[i] < *min) x[i] = *min;
    if (x[i] > *max) x[i] = *max;
  }
}

}  // namespace

VisionParts::VisionParts(const VisionConfig& config, const VisionWeights& weights, const KernelTable& kernels,
                         Math math, ThreadPool& pool)
    : config_(config),
      weights_(weights),
      attention_(config.attention()),
      context_{.kernels = kernels, .pool = pool, .scratch = {}, .max_rows = kMostRows, .math = math},
      stream_(context_, config.width, most_columns(config), norms_of(config)),
      ffn_(width_in_steps(config) > 0 ? 1 : std::max(widest_dense(config.layers), 1), context_, stream_),
      row_join_(config, weights, kernels, math, pool),
      merger_(config, weights, kernels, math, pool),
      patches_(context_.make_rows(config.patch_width())),
      q_(context_.make_rows(attention_.q_width())),
      attended_(context_.make_rows(attention_.result_width())),
      k_(context_.make_rows(attention_.k_width())),
      v_(context_.make_rows(attention_.v_width())),
      angles_(to_size(pool.num_threads()) * to_size(attention_.head_dim)),
      ones_(to_size(attention_.v_dim())),
      clamped_(context_.make_rows(config.clamps ? most_columns(config) : 0)),
      gate_(context_.make_rows(width_in_steps(config))),
      up_(context_.make_rows(width_in_steps(config))) {
  if (!config.layers.empty())
    plan_.emplace(AttentionPlan::Shape{.num_heads = attention_.num_heads,
                                       .num_kv_heads = attention_.num_kv_heads,
                                       .k_dim = attention_.head_dim,
                                       .v_dim = attention_.v_dim(),
                                       .max_rows = kMostRows},
                  pool.num_threads());
  std::ranges::fill(ones_.span(), 1.0F);
  sequences_.reserve(kMostRows);
  for (std::size_t channel = 0; channel < pixels_.size(); ++channel)
    for (std::size_t value = 0; value < pixels_[channel].size(); ++value)
      pixels_[channel][value] =
          (static_cast<float>(value) - 255 * config.mean[channel]) / (255 * config.deviation[channel]);
}

std::uint64_t VisionParts::scratch_bytes() const {
  return stream_.size_bytes() + ffn_.size_bytes() + (plan_ ? plan_->scratch_bytes() : 0) + row_join_.scratch_bytes() +
         merger_.scratch_bytes() + patches_.size_bytes() + q_.size_bytes() + attended_.size_bytes() + k_.size_bytes() +
         v_.size_bytes() + angles_.size_bytes() + ones_.size_bytes() + clamped_.size_bytes() + gate_.size_bytes() +
         up_.size_bytes();
}

void VisionParts::embed(VisionRows& rows, VisionRowRange range) {
  const std::int64_t patch_width = config_.patch_width(), width = config_.width;
  context_.for_rows(range.count, [&](std::int64_t row, int) {
    float* const pixels = patches_.data() + row * patch_width;
    gather_patch(rows, range.first + row, pixels);
    norm_patch(weights_.pixel_norm, weights_.pixel_norm_bias, patch_width, pixels);
  });
  const Product product{&weights_.patches(), stream_.h()};
  context_.multiply({&product, 1}, {.cols = patch_width, .x = patches_.data(), .tiles = nullptr}, range.count);
  context_.for_rows(range.count, [&](std::int64_t row, int) {
    float* const x = rows.x(range.first + row);
    std::copy_n(stream_.h() + row * width, width, x);
    if (weights_.patch_bias != nullptr) context_.kernels.add(x, weights_.patch_bias, width);
    norm_patch(weights_.product_norm, weights_.product_norm_bias, width, x);
    if (weights_.positions != nullptr) add_place(rows, range.first + row, x);
    norm_patch(weights_.placed_norm, weights_.placed_norm_bias, width, x);
  });
}

void VisionParts::norm_patch(const float* weight, const float* bias, std::int64_t size, float* x) const {
  if (weight == nullptr) return;
  const float epsilon = config_.patch_norms.epsilon;
  config_.norm == NormKind::kRms ? context_.kernels.rms_norm(x, weight, size, epsilon, x)
                                 : context_.kernels.layer_norm(x, weight, bias, size, epsilon, x);
}

/// Copies a patch's pixels in the order of the kernels: channel by channel, row by row.
void VisionParts::gather_patch(const VisionRows& rows, std::int64_t patch, float* out) const {
  const Picture& picture = rows.picture();
  const PatchPlace place = rows.place_of(patch);
  const int side = config_.patch_side;
  const std::size_t stride = 3 * to_size(picture.size.width);
  const std::uint8_t* const first =
      picture.rgb.data() + to_size(place.row * side) * stride + 3 * to_size(place.column * side);
  for (std::size_t channel = 0; channel < pixels_.size(); ++channel)
    for (int row = 0; row < side; ++row) {
      const std::uint8_t* const values = first + to_size(row) * stride + channel;
      for (int column = 0; column < side; ++column) *out++ = pixels_[channel][values[3 * column]];
    }
}

void VisionParts::add_spread_place(const VisionRows& rows, PatchPlace place, float* x) const {
  std::span<const float> of_rows = rows.row_shares(place.row), of_columns = rows.column_shares(place.column);
  if (config_.places == LearnedPlaces::kSampled) {
    const int number = place.row * rows.columns() + place.column;
    of_rows = rows.column_shares(number / rows.rows());
    of_columns = rows.row_shares(number % rows.rows());
  }
  const float* at = weights_.positions;
  for (const float of_row : of_rows)
    for (const float of_column : of_columns) {
      const float share = of_row * of_column;
      for (int i = 0; i < config_.width && share != 0; ++i) x[i] += at[i] * share;
      at += config_.width;
    }
}

void VisionParts::add_place(const VisionRows& rows, std::int64_t patch, float* x) const {
  const PatchPlace place = rows.place_of(patch);
  if (config_.places == LearnedPlaces::kSpread || config_.places == LearnedPlaces::kSampled)
    return add_spread_place(rows, place, x);
  const VisionRows::Tap &row = rows.row_tap(place.row), &column = rows.column_tap(place.column);
  const auto at = [&](int grid_row, int grid_column) {
    return weights_.positions + (std::int64_t{grid_row} * config_.grid_side + grid_column) * config_.width;
  };
  if (config_.places == LearnedPlaces::kTables) {
    const float *of_column = at(0, column.first), *of_row = at(1, row.first);
    for (int i = 0; i < config_.width; ++i) x[i] += of_column[i] + of_row[i];
    return;
  }
  const float *a = at(row.first, column.first), *b = at(row.first, column.second), *c = at(row.second, column.first),
              *d = at(row.second, column.second);
  const float of_a = (1 - row.part) * (1 - column.part), of_b = (1 - row.part) * column.part,
              of_c = row.part * (1 - column.part), of_d = row.part * column.part;
  for (int i = 0; i < config_.width; ++i) x[i] += a[i] * of_a + b[i] * of_b + c[i] * of_c + d[i] * of_d;
}

void VisionParts::norm_rows(VisionRows& rows, const float* weight, const float* bias, RowForms forms,
                            VisionRowRange range) {
  context_.for_rows(range.count, [&](std::int64_t row, int) {
    std::copy_n(rows.x(range.first + row), config_.width, stream_.x(row));
    stream_.norm_row({.weight = weight, .bias = bias, .forms = config_.clamps ? RowForms{} : forms}, row, row,
                     range.count);
  });
}

void VisionParts::add_results(VisionRows& rows, const float* bias, const float* post_norm, VisionRowRange range) {
  const std::int64_t width = config_.width;
  context_.for_rows_apart(range.count, [&](std::int64_t row, int) {
    float* const result = stream_.h() + row * width;
    if (bias != nullptr) context_.kernels.add(result, bias, width);
    if (post_norm != nullptr) stream_.norm_result(post_norm, result);
    context_.kernels.add(rows.x(range.first + row), result, width);
  });
}

void VisionParts::multiply_clamped(const WeightMatrix& w, const ClampTensors<CpuForm>& clamp, const float* x, int rows,
                                   float* out) {
  context_.for_rows_apart(rows, [&](std::int64_t row, int) {
    float* const copy = clamped_.data() + row * w.cols;
    std::copy_n(x + row * w.cols, w.cols, copy);
    clamp_all(copy, w.cols, clamp.input_min, clamp.input_max);
  });
  stream_.quantize_rows(w.forms(), clamped_.data(), w.cols, rows);
  const Product product{&w, out};
  context_.multiply({&product, 1}, stream_.quantized(clamped_.data(), w.cols), rows);
  context_.for_rows_apart(
      rows, [&](std::int64_t row, int) { clamp_all(out + row * w.rows, w.rows, clamp.output_min, clamp.output_max); });
}

void VisionParts::multiply_clamped_input(std::span<const Product> products,
                                         std::span<const ClampTensors<CpuForm>* const> clamps, int rows) {
  for (std::size_t i = 0; i < products.size(); ++i)
    multiply_clamped(*products[i].weight, *clamps[i], stream_.h(), rows, products[i].y);
}

float* VisionParts::angles_of(const VisionRows& rows, std::int64_t patch, int worker) {
  float* const angles = angles_.data() + worker * attention_.head_dim;
  if (config_.turns == PatchTurns::kNone) return angles;
  const PatchPlace place = rows.place_of(patch);
  const std::size_t each = to_size(attention_.head_dim / 4);
  const RopeTable &of_rows = rows.row_angles(), &of_columns = rows.column_angles();
  const auto take = [&](std::span<const float> all, int at) { return all.subspan(to_size(at) * each, each); };
  const std::size_t row_end = to_size(place.row) + 1, column_end = to_size(place.column) + 1;
  std::array parts = {take(of_rows.cosines(row_end), place.row), take(of_columns.cosines(column_end), place.column),
                      take(of_rows.sines(row_end), place.row), take(of_columns.sines(column_end), place.column)};
  if (config_.turns == PatchTurns::kHalfHeads || config_.turns == PatchTurns::kHalves) {  // columns come first
    std::swap(parts[0], parts[1]);
    std::swap(parts[2], parts[3]);
  }
  float* next = angles;
  for (const std::span<const float> part : parts) next = std::ranges::copy(part, next).out;
  return angles;
}

void VisionParts::rotate(const float* angles, float* head) const {
  const int half = attention_.head_dim / 2;
  const float* const sines = angles + half;
  switch (config_.turns) {
    case PatchTurns::kNone: return;
    case PatchTurns::kWholeHeads: return context_.kernels.rope_halves(head, angles, sines, attention_.head_dim);
    case PatchTurns::kHalves:
    case PatchTurns::kNeighbours: return context_.kernels.rope_neighbours(head, angles, sines, attention_.head_dim);
    case PatchTurns::kHalfHeads: break;
  }
  context_.kernels.rope_halves(head, angles, sines, half);
  context_.kernels.rope_halves(head + half, angles + half / 2, sines + half / 2, half);
}

void VisionParts::finish_heads(const float* norm, const float* angles, int num_heads, float* heads) const {
  const int dim = attention_.head_dim;
  for (float *head = heads, *end = heads + std::int64_t{num_heads} * dim; head != end; head += dim) {
    if (norm != nullptr) context_.kernels.rms_norm(head, norm, dim, config_.norm_epsilon, head);
    rotate(angles, head);
  }
}

VisionParts::AttentionPart VisionParts::attention_part(int layer) const {
  if (layer == kRowJoin) {
    const RowJoinTensors<CpuForm>& w = weights_.row_join;
    return {.weights = w.attention,
            .norm = w.mixer_norm,
            .norm_bias = w.mixer_norm_bias,
            .post_norm = nullptr,
            .clamps = nullptr};
  }
  const VisionLayerTensors<CpuForm>& w = weights_.layers[to_size(layer)];
  return {.weights = w.attention,
          .norm = w.mixer_norm,
          .norm_bias = w.mixer_norm_bias,
          .post_norm = w.mixer_post_norm,
          .clamps = &w.clamps};
}

void VisionParts::write_keys(VisionRows& rows, int layer, VisionRowRange range) {
  const AttentionPart part = attention_part(layer);
  const AttentionWeights& a = part.weights;
  norm_rows(rows, part.norm, part.norm_bias, a.k.forms() | a.v.forms(), range);
  const std::array<Product, 2> products = {{{&a.k, k_.data()}, {&a.v, v_.data()}}};
  if (config_.clamps) {
    multiply_clamped_input(products, std::array{&part.clamps->k, &part.clamps->v}, range.count);
  } else {
    context_.multiply(products, stream_.input(), range.count);
  }
  const int v_dim = attention_.v_dim();
  context_.for_rows_apart(range.count, [&](std::int64_t row, int worker) {
    const std::int64_t patch = range.first + row;
    float* const k = k_.data() + row * attention_.k_width();
    float* const v = v_.data() + row * attention_.v_width();
    if (a.k_bias != nullptr) context_.kernels.add(k, a.k_bias, attention_.k_width());
    if (a.v_bias != nullptr) context_.kernels.add(v, a.v_bias, attention_.v_width());
    finish_heads(a.k_norm, angles_of(rows, patch, worker), attention_.num_kv_heads, k);
    for (int i = 0; i < attention_.v_width() && attention_.v_norm; i += v_dim)
      context_.kernels.rms_norm(v + i, ones_.data(), v_dim, config_.norm_epsilon, v + i);
    context_.kernels.write_kv[kKvType](rows.kv(), static_cast<std::int32_t>(patch / kBlock),
                                       static_cast<int>(patch % kBlock), k, v);
  });
}

void VisionParts::cut_by_sight(const VisionRows& rows, int layer, VisionRowRange range) {
  sequences_.clear();
  const std::int64_t end = range.first + range.count;
  for (std::int64_t row = range.first, sight_end = 0; row < end; row = sight_end) {
    std::int64_t sight_begin = 0;
    sight_end = rows.num_rows();
    if (layer == kRowJoin) {
      sight_begin = row / RowJoinSpec::kRows * RowJoinSpec::kRows;
      sight_end = sight_begin + RowJoinSpec::kRows;
    } else if (config_.attends_in_windows(layer)) {
      sight_begin = rows.window_begin(row);
      sight_end = rows.window_end(row);
    }
    const std::int64_t at = row - range.first;
    sequences_.push_back({.blocks = rows.blocks(),
                          .q = q_.data() + at * attention_.q_width(),
                          .out = attended_.data() + at * attention_.result_width(),
                          .first_position = static_cast<int>(row),
                          .num_rows = static_cast<int>(std::min(sight_end, end) - row),
                          .num_tokens = static_cast<int>(sight_end),
                          .first_token = static_cast<int>(sight_begin)});
  }
}

void VisionParts::attend(VisionRows& rows, int layer, VisionRowRange range) {
  const AttentionPart part = attention_part(layer);
  const AttentionWeights& a = part.weights;
  norm_rows(rows, part.norm, part.norm_bias, a.q.forms(), range);
  const Product queries{&a.q, q_.data()};
  if (config_.clamps) {
    multiply_clamped_input({&queries, 1}, std::array{&part.clamps->q}, range.count);
  } else {
    context_.multiply({&queries, 1}, stream_.input(), range.count);
  }
  const int width = attention_.q_width();
  context_.for_rows_apart(range.count, [&](std::int64_t row, int worker) {
    float* const q = q_.data() + row * width;
    if (a.q_bias != nullptr) context_.kernels.add(q, a.q_bias, width);
    finish_heads(a.q_norm, angles_of(rows, range.first + row, worker), attention_.num_heads, q);
    if (attention_.scale != 1) context_.kernels.scale(q, attention_.scale, width);
  });
  cut_by_sight(rows, layer, range);
  plan_->build(sequences_, {.is_causal = false}, kBlock);
  plan_->run(rows.kv(), context_.kernels.attention[kKvType], context_.kernels.merge_tiles, context_.pool);
  if (config_.clamps) {
    multiply_clamped(a.o, part.clamps->o, attended_.data(), range.count, stream_.h());
  } else {
    stream_.quantize_rows(a.o.forms(), attended_.data(), attention_.result_width(), range.count);
    const Product output{&a.o, stream_.h()};
    context_.multiply({&output, 1}, stream_.quantized(attended_.data(), attention_.result_width()), range.count);
  }
  add_results(rows, a.o_bias, part.post_norm, range);
}

void VisionParts::feed_forward(VisionRows& rows, int layer, VisionRowRange range) {
  const VisionLayerTensors<CpuForm>& w = weights_.layers[to_size(layer)];
  norm_rows(rows, w.ffn_norm, w.ffn_norm_bias, DenseFfn::forms(w.feed_forward), range);
  if (config_.clamps) {
    feed_forward_clamped(w, range.count);
  } else if (config_.quick_gelu) {
    feed_forward_quick(w.feed_forward, range.count);
  } else {
    const auto& spec = std::get<DenseFfnSpec>(config_.layers[to_size(layer)].feed_forward);
    ffn_.compute(spec, w.feed_forward, range.count, stream_.h());
  }
  add_results(rows, w.feed_forward.down_bias, w.ffn_post_norm, range);
}

/// Computes a gated feed-forward for the stream's h; products with bounds have no biases.
void VisionParts::feed_forward_clamped(const VisionLayerTensors<CpuForm>& w, int rows) {
  const DenseFfnWeights& f = w.feed_forward;
  multiply_clamped(f.gate, w.clamps.gate, stream_.h(), rows, gate_.data());
  multiply_clamped(f.up, w.clamps.up, stream_.h(), rows, up_.data());
  const ActivateFn activate = activation_of(context_.kernels, config_.feed_forward().activation);
  const std::int64_t width = config_.feed_forward().width;
  context_.for_rows_apart(rows, [&](std::int64_t row, int) {
    float* const gate = gate_.data() + row * width;
    activate(gate, up_.data() + row * width, width, gate);
  });
  multiply_clamped(f.down, w.clamps.down, gate_.data(), rows, stream_.h());
}

/// Computes a feed-forward for the stream's input, without the last bias.
void VisionParts::feed_forward_quick(const DenseFfnWeights& w, int rows) {
  constexpr float kSlope = 1.702F;
  const Product up{&w.gate, gate_.data()};
  context_.multiply({&up, 1}, stream_.input(), rows);
  const std::int64_t width = w.gate.rows;
  context_.for_rows_apart(rows, [&](std::int64_t row, int) {
    float *const x = gate_.data() + row * width, *const slope = up_.data() + row * width;
    if (w.gate_bias != nullptr) context_.kernels.add(x, w.gate_bias, width);
    std::copy_n(x, width, slope);
    context_.kernels.scale(slope, kSlope, width);
    context_.kernels.sigmoid_mul(slope, x, width, x);
  });
  stream_.quantize_rows(w.down.forms(), gate_.data(), width, rows);
  const Product down{&w.down, stream_.h()};
  context_.multiply({&down, 1}, stream_.quantized(gate_.data(), width), rows);
}

}  // namespace octavo
