#include "cpu/vision_merger.h"

#include <algorithm>
#include <cmath>

#include "base/to_size.h"

namespace octavo {
namespace {

constexpr int kMostPatches = 512, kLeastTokens = 8;  // of a piece

std::uint64_t products_of(std::int64_t rows, std::int64_t cols) { return static_cast<std::uint64_t>(rows * cols); }

NormOptions norms_of(const VisionConfig& config) {
  return {.kind = config.norm, .epsilon = config.norm_epsilon, .epsilon_of_results = config.norm_epsilon};
}

/// The width of the rows between both products; of DeepStack's mergers, too.
int hidden_width(const VisionConfig& config) {
  return config.deepstack_layers.empty() ? config.merger.hidden_width
                                         : std::max(config.merger.hidden_width, config.merged_width());
}

}  // namespace

int VisionMerger::most_tokens(const VisionConfig& config) {
  return std::max(kMostPatches / config.token_rows(), kLeastTokens);
}

std::uint64_t VisionMerger::token_work(const VisionConfig& config) {
  const std::int64_t projected = config.projected_width(), hidden = hidden_width(config);
  const std::uint64_t reduce = config.merger.reduce.empty() ? 0 : products_of(config.width, config.merged_width());
  if (hidden == 0) return reduce + products_of(config.text_width, projected);
  const std::uint64_t between = config.merger.between.empty() ? 0 : products_of(hidden, hidden);
  return reduce + products_of(hidden, projected) + between + products_of(config.text_width, hidden);
}

VisionMerger::VisionMerger(const VisionConfig& config, const VisionWeights& weights, const KernelTable& kernels,
                           Math math, ThreadPool& pool)
    : config_(config),
      weights_(weights),
      context_{.kernels = kernels, .pool = pool, .scratch = {}, .max_rows = most_tokens(config), .math = math},
      stream_(context_, config.projected_width(), config.merged_width(), norms_of(config)),
      ffn_(std::max(hidden_width(config), 1), context_, stream_),
      joined_(context_.make_rows(config.merger.reduce.empty() ? 0 : config.merged_width())),
      patch_(to_size(pool.num_threads()) * to_size(config.width)),
      ones_(to_size(config.merged_width())),
      vectors_(context_.make_rows(config.text_width)),
      between_(context_.make_rows(config.merger.between.empty() ? 0 : config.merger.hidden_width)),
      between_stream_(context_, config.merger.between.empty() ? 1 : config.merger.hidden_width,
                      config.merger.between.empty() ? 1 : config.merger.hidden_width, norms_of(config)) {
  std::ranges::fill(ones_.span(), 1.0F);
}

std::uint64_t VisionMerger::scratch_bytes() const {
  return stream_.size_bytes() + ffn_.size_bytes() + joined_.size_bytes() + patch_.size_bytes() + ones_.size_bytes() +
         vectors_.size_bytes() + between_.size_bytes() + between_stream_.size_bytes();
}

void VisionMerger::norm(const float* x, const Weights& w, std::int64_t size, float* out) const {
  config_.norm == NormKind::kRms ? context_.kernels.rms_norm(x, w.norm, size, config_.norm_epsilon, out)
                                 : context_.kernels.layer_norm(x, w.norm, w.norm_bias, size, config_.norm_epsilon, out);
}

void VisionMerger::join_mean(VisionRows& rows, std::int64_t token, int worker, float* mean) {
  const std::int64_t count = config_.token_rows(), width = config_.width;
  float* const normed = patch_.data() + worker * width;
  for (std::int64_t patch = 0; patch < count; ++patch) {
    const float* x = rows.x(token * count + patch);
    if (weights_.merger.norm != nullptr) {
      norm(x, weights_.merger, width, normed);
      x = normed;
    }
    patch == 0 ? static_cast<void>(std::copy_n(x, width, mean)) : context_.kernels.add(mean, x, width);
  }
  const float factor = config_.merger.join == PatchJoin::kMean ? std::sqrt(static_cast<float>(width)) : 1.0F;
  context_.kernels.scale(mean, factor / static_cast<float>(count), width);
}

void VisionMerger::join(VisionRows& rows, std::int64_t token, int worker, float* joined) {
  if (config_.takes_mean()) return join_mean(rows, token, worker, joined);
  const std::int64_t count = config_.token_rows(), width = config_.width;
  const bool by_element = config_.merger.join == PatchJoin::kChannels;
  for (std::int64_t i = 0; i < count; ++i) {
    const float* const x = rows.x(token * count + i);
    float* const y = by_element ? patch_.data() + worker * width : joined + i * width;
    if (weights_.merger.norm != nullptr) {
      norm(x, weights_.merger, width, y);
    } else {
      std::copy_n(x, width, y);
    }
    for (std::int64_t element = 0; by_element && element < width; ++element) joined[element * count + i] = y[element];
  }
}

void VisionMerger::finish_joined(float* joined) const {
  const Weights& w = weights_.merger;
  const int merged = config_.merged_width();
  if (w.standard_bias != nullptr)
    for (int i = 0; i < merged; ++i) joined[i] = (joined[i] - w.standard_bias[i]) * w.standard_scale[i];
  if (config_.merger.norms_plainly)
    context_.kernels.rms_norm(joined, ones_.data(), merged, config_.norm_epsilon, joined);
  const float epsilon = config_.merger.joined_epsilon;
  if (w.joined_norm != nullptr)
    config_.merger.joined_kind == NormKind::kRms
        ? context_.kernels.rms_norm(joined, w.joined_norm, merged, epsilon, joined)
        : context_.kernels.layer_norm(joined, w.joined_norm, w.joined_norm_bias, merged, epsilon, joined);
}

void VisionMerger::join_tokens(VisionRows& rows, int vector, VisionRowRange tokens) {
  const Weights& w = vector == 0 ? weights_.merger : weights_.deepstack[to_size(vector - 1)];
  const int merged = config_.merged_width();
  const bool reduces = is_present(w.reduce);
  float* const joined = reduces ? joined_.data() : stream_.h();
  context_.for_rows_apart(tokens.count, [&](std::int64_t row, int worker) {
    float* const to = joined + row * merged;
    const std::int64_t token = tokens.first + row;
    if (vector != 0) {
      norm(rows.x(token * config_.token_rows()), w, merged, to);
    } else {
      join(rows, token, worker, to);
      finish_joined(to);
    }
  });
  if (reduces) stream_.multiply(w.reduce, joined, tokens.count, stream_.h());
  const RowForms forms = is_present(w.up) ? w.up.forms() : w.down.forms();
  stream_.quantize_rows(forms, stream_.h(), config_.projected_width(), tokens.count);
}

void VisionMerger::finish_between(int count) {
  const WeightMatrix& down = weights_.merger.down;
  context_.for_rows_apart(count, [&](std::int64_t row, int) {
    float* const x = between_.data() + row * down.cols;
    context_.kernels.gelu_erf_mul(x, nullptr, down.cols, x);
  });
  between_stream_.multiply(down, between_.data(), count, vectors_.data());
}

void VisionMerger::merge(VisionRows& rows, int vector, VisionRowRange tokens, std::span<float> out) {
  const Weights& w = vector == 0 ? weights_.merger : weights_.deepstack[to_size(vector - 1)];
  join_tokens(rows, vector, tokens);
  if (is_present(w.up)) {
    const DenseFfnSpec spec{.width = static_cast<int>(w.up.rows), .activation = Activation::kGelu, .is_gated = false};
    const bool is_last = !is_present(w.between);
    const DenseFfnWeights weights{.gate = w.up, .up = {}, .down = is_last ? w.down : w.between, .gate_bias = w.up_bias};
    ffn_.compute(spec, weights, tokens.count, is_last ? vectors_.data() : between_.data());
    if (!is_last) finish_between(tokens.count);
  } else {
    context_.multiply(w.down, stream_.input(), tokens.count, vectors_.data());
  }
  const std::int64_t width = config_.text_width;
  context_.for_rows_apart(tokens.count, [&](std::int64_t row, int) {
    float* const to = out.data() + rows.place_of_token(tokens.first + row) * config_.token_floats() + vector * width;
    std::copy_n(vectors_.data() + row * width, width, to);
    if (w.down_bias != nullptr) context_.kernels.add(to, w.down_bias, width);
  });
}

}  // namespace octavo
