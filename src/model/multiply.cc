#include "model/multiply.h"

#include <algorithm>

#include "kernels/pack.h"
#include "tensor/dtype.h"

namespace octavo {
namespace {

// Activations that meet a run of panels before the next rows do: they stay in the second-level cache.
constexpr std::int64_t kRowBlockBytes = std::int64_t{256} << 10;

/// Rows of such a block: whole tiles.
std::int64_t row_block(std::int64_t cols, int tile_rows) {
  const std::int64_t tiles = kRowBlockBytes / (static_cast<std::int64_t>(act_row_bytes(cols)) * tile_rows + 1);
  return std::max<std::int64_t>(1, tiles) * tile_rows;
}

}  // namespace

void multiply(std::span<const Product> products, const ActivationRows& x, int rows, const KernelTable& kernels,
              PanelScratch& scratch, ThreadPool& pool) {
  const std::int64_t block = row_block(x.cols, kernels.tile_rows);
  std::int64_t total = 0;
  for (const Product& p : products) total += num_panels(p.weight->rows);
  // About eight claims a thread, so that none waits long for the last; at most as many panels as caches hold.
  const std::int64_t fair = total / (8 * pool.num_threads());
  const auto grain = static_cast<std::size_t>(std::clamp<std::int64_t>(fair, 1, 16));
  pool.for_ranges(static_cast<std::size_t>(total), grain, [&](std::size_t begin, std::size_t end, int worker) {
    std::int64_t first = 0;  // number of the product's first panel
    for (const Product& p : products) {
      const std::int64_t panels = num_panels(p.weight->rows);
      const std::int64_t from = std::max(static_cast<std::int64_t>(begin) - first, std::int64_t{0});
      const std::int64_t to = std::min(static_cast<std::int64_t>(end) - first, panels);
      first += panels;
      if (from >= to) continue;
      const MatmulFn matmul = kernels.matmul[dtype_index(p.weight->type)];
      scratch.for_runs(*p.weight, from, to, worker, [&](const PackedMatrix& run, std::int64_t first_panel) {
        for (std::int64_t row = 0; row < rows; row += block)
          matmul(run, x, 0, num_panels(run.rows), row, std::min<std::int64_t>(row + block, rows),
                 p.y + first_panel * kPanelRows, p.weight->rows);
      });
    }
  });
}

}  // namespace octavo
