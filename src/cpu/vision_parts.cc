#include "cpu/vision_parts.h"

#include <algorithm>
#include <array>
#include <numeric>

#include "base/to_size.h"
#include "model/largest.h"
#include "octavo/kv/types.h"

namespace octavo {
namespace {

constexpr auto kKvType = to_size(KvType::kF32);
constexpr int kBlock = kTileTokens;  // the tokens in a block of keys and values

std::int64_t num_blocks(std::int64_t patches) { return (patches + kBlock - 1) / kBlock; }

/// The keys and values of one layer, in consecutive blocks.
KvLayer kv_layer(const AttentionSpec& spec, std::uint8_t* data) {
  const std::size_t k_bytes = sizeof(float) * kBlock * to_size(spec.head_dim);
  const std::size_t head_bytes = k_bytes + sizeof(float) * kBlock * to_size(spec.v_dim());
  return {.data = data,
          .block_bytes = head_bytes * to_size(spec.num_kv_heads),
          .head_bytes = head_bytes,
          .v_offset = static_cast<std::ptrdiff_t>(k_bytes),
          .token_bytes = head_bytes / kBlock,
          .k_order = KOrder::kDimMajor,
          .block_size = kBlock,
          .num_kv_heads = spec.num_kv_heads,
          .k_dim = spec.head_dim,
          .v_dim = spec.v_dim(),
          .token_stride = spec.v_dim()};
}

/// Half of a head's frequencies: those that turn with one of the two coordinates.
RopeSpec rope_of_axis(const AttentionSpec& spec) {
  RopeSpec rope = spec.rope;
  rope.num_rotated /= 2;
  return rope;
}

/// Spreads `count` places over a side of `grid`: the first and last ones are those of the grid.
std::vector<VisionRows::Tap> make_taps(int count, int grid) {
  std::vector<VisionRows::Tap> taps(to_size(count));
  for (int i = 0; i < count; ++i) {
    const double at = count == 1 ? 0 : static_cast<double>(i) * (grid - 1) / (count - 1);
    const int first = std::min(static_cast<int>(at), grid - 1);
    taps[to_size(i)] = {
        .first = first, .second = std::min(first + 1, grid - 1), .part = static_cast<float>(at - first)};
  }
  return taps;
}

}  // namespace

VisionRows::VisionRows(const VisionConfig& config, Math math, const Picture& picture)
    : config_(config),
      picture_(picture),
      rows_(picture.size.height / config.patch_side),
      columns_(picture.size.width / config.patch_side),
      x_(AlignedBuffer<float>::with_huge_pages(to_size(num_patches()) * to_size(config.width))),
      angles_(rope_of_axis(*config.layers.front().attention()), nullptr, math, std::max(rows_, columns_)),
      row_taps_(make_taps(rows_, config.grid_side)),
      column_taps_(make_taps(columns_, config.grid_side)) {
  const AttentionSpec& spec = *config.layers.front().attention();
  const std::size_t block_bytes = kv_layer(spec, nullptr).block_bytes, count = to_size(num_blocks(num_patches()));
  kv_memory_ = AlignedBuffer<std::uint8_t>::with_huge_pages(count * block_bytes);
  kv_ = kv_layer(spec, kv_memory_.data());
  std::fill_n(kv_memory_.data() + (count - 1) * block_bytes, block_bytes, std::uint8_t{0});  // vectors read to its end
  blocks_.resize(count);
  std::iota(blocks_.begin(), blocks_.end(), 0);
  for (int i = 0; i < std::max(rows_, columns_); ++i) angles_.fill(i, i);
}

std::uint64_t VisionRows::bytes(const VisionConfig& config, int rows, int columns) {
  const AttentionSpec& spec = *config.layers.front().attention();
  const std::int64_t patches = std::int64_t{rows} * columns;
  const std::uint64_t tables = to_size(std::max(rows, columns)) * to_size(spec.head_dim / 2) * sizeof(float) +
                               to_size(rows + columns) * sizeof(Tap) + to_size(num_blocks(patches)) * sizeof(int);
  return config.rows_bytes(num_blocks(patches) * kBlock) + tables;
}

PatchPlace VisionRows::place_of(std::int64_t patch) const {
  const int side = config_.merge_side;
  const std::int64_t token = patch / config_.token_patches(), tokens_a_row = columns_ / side;
  const int within = static_cast<int>(patch % config_.token_patches());
  return {.row = static_cast<int>(token / tokens_a_row) * side + within / side,
          .column = static_cast<int>(token % tokens_a_row) * side + within % side};
}

NormOptions VisionParts::norms_of(const VisionConfig& config) {
  return {.kind = NormKind::kLayer, .epsilon = config.norm_epsilon, .epsilon_of_results = config.norm_epsilon};
}

VisionParts::VisionParts(const VisionConfig& config, const VisionWeights& weights, const KernelTable& kernels,
                         Math math, ThreadPool& pool)
    : config_(config),
      weights_(weights),
      attention_(*config.layers.front().attention()),
      context_{.kernels = kernels, .pool = pool, .scratch = {}, .max_rows = kMostRows, .math = math},
      merged_context_{.kernels = kernels, .pool = pool, .scratch = {}, .max_rows = most_tokens(config), .math = math},
      stream_(context_, config.width, std::max(config.width, attention_.q_width()), norms_of(config)),
      merged_(merged_context_, config.merged_width(), config.merged_width(), norms_of(config)),
      ffn_(widest_dense(config.layers), context_, stream_),
      merged_ffn_(config.merged_width(), merged_context_, merged_),
      plan_({.num_heads = attention_.num_heads,
             .num_kv_heads = attention_.num_kv_heads,
             .k_dim = attention_.head_dim,
             .v_dim = attention_.v_dim(),
             .max_rows = kMostRows},
            pool.num_threads()),
      patches_(context_.make_rows(config.patch_width())),
      q_(context_.make_rows(attention_.q_width())),
      attended_(context_.make_rows(attention_.result_width())),
      k_(context_.make_rows(attention_.k_width())),
      v_(context_.make_rows(attention_.v_width())),
      angles_(to_size(pool.num_threads()) * to_size(attention_.head_dim)),
      vectors_(merged_context_.make_rows(config.text_width)) {
  for (std::size_t channel = 0; channel < pixels_.size(); ++channel)
    for (std::size_t value = 0; value < pixels_[channel].size(); ++value)
      pixels_[channel][value] =
          (static_cast<float>(value) - 255 * config.mean[channel]) / (255 * config.deviation[channel]);
}

int VisionParts::most_tokens(const VisionConfig& config) {
  return std::max(kMostRows / config.token_patches(), kLeastRows);
}

std::uint64_t VisionParts::scratch_bytes() const {
  return stream_.size_bytes() + merged_.size_bytes() + ffn_.size_bytes() + merged_ffn_.size_bytes() +
         plan_.scratch_bytes() + patches_.size_bytes() + q_.size_bytes() + attended_.size_bytes() + k_.size_bytes() +
         v_.size_bytes() + angles_.size_bytes() + vectors_.size_bytes();
}

void VisionParts::embed(VisionRows& rows, VisionRowRange range) {
  const std::int64_t patch_width = config_.patch_width(), width = config_.width;
  context_.for_rows(range.count, [&](std::int64_t row, int) {
    gather_patch(rows, range.first + row, patches_.data() + row * patch_width);
  });
  const Product product{&weights_.patches(), stream_.h()};
  context_.multiply({&product, 1}, {.cols = patch_width, .x = patches_.data(), .tiles = nullptr}, range.count);
  context_.for_rows(range.count, [&](std::int64_t row, int) {
    float* const x = rows.x(range.first + row);
    std::copy_n(stream_.h() + row * width, width, x);
    if (weights_.patch_bias != nullptr) context_.kernels.add(x, weights_.patch_bias, width);
    add_position(rows, range.first + row, x);
  });
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

void VisionParts::add_position(const VisionRows& rows, std::int64_t patch, float* x) const {
  const PatchPlace place = rows.place_of(patch);
  const VisionRows::Tap &row = rows.row_tap(place.row), &column = rows.column_tap(place.column);
  const auto at = [&](int grid_row, int grid_column) {
    return weights_.positions + (std::int64_t{grid_row} * config_.grid_side + grid_column) * config_.width;
  };
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
    stream_.norm_row({.weight = weight, .bias = bias, .forms = forms}, row, row, range.count);
  });
}

void VisionParts::add_results(VisionRows& rows, const float* bias, VisionRowRange range) {
  const std::int64_t width = config_.width;
  context_.for_rows_apart(range.count, [&](std::int64_t row, int) {
    float* const result = stream_.h() + row * width;
    if (bias != nullptr) context_.kernels.add(result, bias, width);
    context_.kernels.add(rows.x(range.first + row), result, width);
  });
}

float* VisionParts::angles_of(const VisionRows& rows, std::int64_t patch, int worker) {
  float* const angles = angles_.data() + worker * attention_.head_dim;
  const PatchPlace place = rows.place_of(patch);
  float* next = angles;
  for (const std::span<const float> part :
       {rows.cosines(place.row), rows.cosines(place.column), rows.sines(place.row), rows.sines(place.column)})
    next = std::ranges::copy(part, next).out;
  return angles;
}

void VisionParts::rotate_heads(const float* angles, int num_heads, float* heads) const {
  const int dim = attention_.head_dim;
  for (int head = 0; head < num_heads; ++head)
    context_.kernels.rope_halves(heads + std::int64_t{head} * dim, angles, angles + dim / 2, dim);
}

void VisionParts::write_keys(VisionRows& rows, int layer, VisionRowRange range) {
  const VisionLayerTensors<CpuForm>& w = weights_.layers[to_size(layer)];
  const AttentionWeights& a = w.attention;
  norm_rows(rows, w.mixer_norm, w.mixer_norm_bias, a.k.forms() | a.v.forms(), range);
  const std::array<Product, 2> products = {{{&a.k, k_.data()}, {&a.v, v_.data()}}};
  context_.multiply(products, stream_.input(), range.count);
  context_.for_rows_apart(range.count, [&](std::int64_t row, int worker) {
    const std::int64_t patch = range.first + row;
    float* const k = k_.data() + row * attention_.k_width();
    float* const v = v_.data() + row * attention_.v_width();
    if (a.k_bias != nullptr) context_.kernels.add(k, a.k_bias, attention_.k_width());
    if (a.v_bias != nullptr) context_.kernels.add(v, a.v_bias, attention_.v_width());
    rotate_heads(angles_of(rows, patch, worker), attention_.num_kv_heads, k);
    context_.kernels.write_kv[kKvType](rows.kv(), static_cast<std::int32_t>(patch / kBlock),
                                       static_cast<int>(patch % kBlock), k, v);
  });
}

void VisionParts::attend(VisionRows& rows, int layer, VisionRowRange range) {
  const VisionLayerTensors<CpuForm>& w = weights_.layers[to_size(layer)];
  const AttentionWeights& a = w.attention;
  norm_rows(rows, w.mixer_norm, w.mixer_norm_bias, a.q.forms(), range);
  const Product queries{&a.q, q_.data()};
  context_.multiply({&queries, 1}, stream_.input(), range.count);
  const int width = attention_.q_width();
  context_.for_rows_apart(range.count, [&](std::int64_t row, int worker) {
    float* const q = q_.data() + row * width;
    if (a.q_bias != nullptr) context_.kernels.add(q, a.q_bias, width);
    rotate_heads(angles_of(rows, range.first + row, worker), attention_.num_heads, q);
    context_.kernels.scale(q, attention_.scale, width);
  });
  const AttentionSequence sequence{.blocks = rows.blocks(),
                                   .q = q_.data(),
                                   .out = attended_.data(),
                                   .first_position = static_cast<int>(range.first),
                                   .num_rows = range.count,
                                   .num_tokens = static_cast<int>(rows.num_patches())};
  plan_.build({&sequence, 1}, {.is_causal = false}, kBlock);
  plan_.run(rows.kv(), context_.kernels.attention[kKvType], context_.kernels.merge_tiles, context_.pool);
  stream_.quantize_rows(a.o.forms(), attended_.data(), attention_.result_width(), range.count);
  const Product output{&a.o, stream_.h()};
  context_.multiply({&output, 1}, stream_.quantized(attended_.data(), attention_.result_width()), range.count);
  add_results(rows, a.o_bias, range);
}

void VisionParts::feed_forward(VisionRows& rows, int layer, VisionRowRange range) {
  const VisionLayerTensors<CpuForm>& w = weights_.layers[to_size(layer)];
  norm_rows(rows, w.ffn_norm, w.ffn_norm_bias, DenseFfn::forms(w.feed_forward), range);
  const auto& spec = std::get<DenseFfnSpec>(config_.layers[to_size(layer)].feed_forward);
  ffn_.compute(spec, w.feed_forward, range.count, stream_.h());
  add_results(rows, w.feed_forward.down_bias, range);
}

/// Norms tokens, whose row has the rows of their patches one after another: the merger norms each patch, DeepStack's
/// mergers norm the whole row.
void VisionParts::norm_tokens(VisionRows& rows, int vector, VisionRowRange tokens) {
  const MergerTensors<CpuForm>& w = vector == 0 ? weights_.merger : weights_.deepstack[to_size(vector - 1)];
  const std::int64_t cols = vector == 0 ? config_.width : config_.merged_width();
  const std::int64_t norms_a_token = config_.merged_width() / cols;
  merged_context_.for_rows_apart(tokens.count, [&](std::int64_t row, int) {
    const float* const x = rows.x((tokens.first + row) * config_.token_patches());
    float* const h = merged_.h() + row * config_.merged_width();
    for (std::int64_t i = 0; i < norms_a_token; ++i)
      context_.kernels.layer_norm(x + i * cols, w.norm, w.norm_bias, cols, config_.norm_epsilon, h + i * cols);
  });
  merged_.quantize_rows(w.up.forms(), merged_.h(), config_.merged_width(), tokens.count);
}

void VisionParts::merge(VisionRows& rows, int vector, VisionRowRange tokens, std::span<float> out) {
  const MergerTensors<CpuForm>& w = vector == 0 ? weights_.merger : weights_.deepstack[to_size(vector - 1)];
  norm_tokens(rows, vector, tokens);
  const DenseFfnSpec spec{.width = config_.merged_width(), .activation = Activation::kGelu, .is_gated = false};
  const DenseFfnWeights weights{.gate = w.up, .up = {}, .down = w.down, .gate_bias = w.up_bias};
  merged_ffn_.compute(spec, weights, tokens.count, vectors_.data());
  const std::int64_t width = config_.text_width;
  merged_context_.for_rows_apart(tokens.count, [&](std::int64_t row, int) {
    float* const to = out.data() + (tokens.first + row) * config_.token_floats() + vector * width;
    std::copy_n(vectors_.data() + row * width, width, to);
    if (w.down_bias != nullptr) context_.kernels.add(to, w.down_bias, width);
  });
}

}  // namespace octavo
