#include "cpu/vision_row_join.h"

#include <algorithm>

#include "base/to_size.h"

namespace octavo {
namespace {

constexpr int kRows = RowJoinSpec::kRows;

/// One where rows are not joined, so that scratch takes nothing.
int most_rows(const VisionConfig& config) { return config.joins_rows() ? VisionRowJoin::kMostRows : 1; }
int joined_width(const VisionConfig& config) { return config.joins_rows() ? kRows * config.width : 1; }

}  // namespace

std::uint64_t VisionRowJoin::row_work(const VisionConfig& config) {
  return to_size(std::int64_t{config.row_join.hidden_width} * (joined_width(config) + config.width));
}

VisionRowJoin::VisionRowJoin(const VisionConfig& config, const VisionWeights& weights, const KernelTable& kernels,
                             Math math, ThreadPool& pool)
    : config_(config),
      weights_(weights),
      context_{.kernels = kernels, .pool = pool, .scratch = {}, .max_rows = most_rows(config), .math = math},
      stream_(context_, joined_width(config), joined_width(config),
              {.kind = config.norm, .epsilon = config.norm_epsilon, .epsilon_of_results = config.norm_epsilon}),
      ffn_(std::max(config.row_join.hidden_width, 1), context_, stream_),
      means_(context_.make_rows(config.joins_rows() ? config.width : 0)),
      results_(context_.make_rows(config.joins_rows() ? config.width : 0)) {}

std::uint64_t VisionRowJoin::scratch_bytes() const {
  return stream_.size_bytes() + ffn_.size_bytes() + means_.size_bytes() + results_.size_bytes();
}

void VisionRowJoin::join(VisionRows& rows, VisionRowRange joined) {
  const RowJoinTensors<CpuForm>& w = weights_.row_join;
  const std::int64_t width = config_.width;
  context_.for_rows(joined.count, [&](std::int64_t row, int) {
    const float* const first = rows.x((joined.first + row) * kRows);
    std::copy_n(first, kRows * width, stream_.x(row));
    float* const mean = means_.data() + row * width;
    std::copy_n(first, width, mean);
    for (int i = 1; i < kRows; ++i) context_.kernels.add(mean, first + i * width, width);
    context_.kernels.scale(mean, 1.0F / kRows, width);
    stream_.norm_row({.weight = w.norm, .bias = w.norm_bias, .forms = w.up.forms()}, row, row, joined.count);
  });
  const DenseFfnSpec spec{
      .width = config_.row_join.hidden_width, .activation = Activation::kGeluTanh, .is_gated = false};
  const DenseFfnWeights weights{.gate = w.up, .up = {}, .down = w.down, .gate_bias = w.up_bias};
  ffn_.compute(spec, weights, joined.count, results_.data());
  context_.for_rows_apart(joined.count, [&](std::int64_t row, int) {
    float* const x = rows.x(joined.first + row);
    std::copy_n(results_.data() + row * width, width, x);
    if (w.down_bias != nullptr) context_.kernels.add(x, w.down_bias, width);
    context_.kernels.add(x, means_.data() + row * width, width);
  });
}

}  // namespace octavo
