#include "cpu/head_products.h"

#include <algorithm>

#include "base/to_size.h"
#include "kernels/pack.h"

namespace octavo {
namespace {

// Rows of a head that a thread gathers at a time: a row tile has at most as many.
constexpr int kGatheredRows = kBf16TileRows;

}  // namespace

HeadProducts::HeadProducts(const ModelConfig& config, const Weights& weights, ComputeContext& context,
                           LayerRange layers)
    : context_(context) {
  std::int64_t floats = 0, quantized = 0;  // columns of all heads
  for (std::size_t i = 0; i < config.layers.size(); ++i) {
    const AttentionSpec* spec = config.layers[i].attention();
    if (spec == nullptr || !spec->latent || !layers.contains(static_cast<int>(i))) continue;
    const LatentTensors<CpuForm>& w = std::get<AttentionWeights>(weights.layers[i].mixer).latent;
    for (const ExpertMatrices* of_heads : {&w.keys, &w.values}) {
      const std::int64_t columns = of_heads->count * of_heads->first.cols;
      if (of_heads->first.forms().any()) {
        quantized = std::max(quantized, columns);
      } else {
        floats = std::max(floats, columns);
      }
    }
  }
  floats_ = context.make_rows(static_cast<int>(floats));
  quantized_ = context.make_quantized_rows(static_cast<int>(quantized));
}

void HeadProducts::gather(const ExpertMatrices& w, const HeadParts<const float>& x, int rows) {
  const std::int64_t cols = w.first.cols;
  const auto pieces_of_head = (rows + kGatheredRows - 1) / kGatheredRows;
  context_.pool.for_ranges(
      to_size(w.count) * to_size(pieces_of_head), 1, [&](std::size_t begin, std::size_t end, int /*worker*/) {
        for (auto piece = static_cast<std::int64_t>(begin); piece < static_cast<std::int64_t>(end); ++piece) {
          const std::int64_t head = piece / pieces_of_head, first = piece % pieces_of_head * kGatheredRows;
          const std::int64_t until = std::min<std::int64_t>(first + kGatheredRows, rows);
          for (std::int64_t row = first; row < until; ++row) {
            const float* from = x.first + row * x.row_stride + head * x.head_step;
            if (w.first.forms().any()) {
              quantized_.out(w.first.forms(), head * rows, cols).write_row(from, row, rows, cols);
            } else {
              std::copy_n(from, cols, floats_.data() + (head * rows + row) * cols);
            }
          }
        }
      });
}

void HeadProducts::multiply(const ExpertMatrices& w, const HeadParts<const float>& x, int rows,
                            const HeadParts<float>& y) {
  gather(w, x, rows);
  const std::int64_t cols = w.first.cols, panels = num_panels(w.first.rows), total = w.count * panels;
  context_.pool.for_ranges(
      to_size(total), panels_of_a_piece(total, rows, context_.pool), [&](std::size_t from, std::size_t to, int worker) {
        for (auto begin = static_cast<std::int64_t>(from); begin < static_cast<std::int64_t>(to);) {
          const std::int64_t head = begin / panels, first = begin % panels, row = head * rows;
          const std::int64_t end = std::min(panels, first + static_cast<std::int64_t>(to) - begin);
          const WeightMatrix matrix = w.of(static_cast<int>(head));
          multiply_part({&matrix, y.first + head * y.head_step, y.row_stride},
                        quantized_.view(floats_.data() + row * cols, cols, row), {first, end, 0, rows},
                        context_.kernels, context_.scratch, worker);
          begin += end - first;
        }
      });
}

}  // namespace octavo
