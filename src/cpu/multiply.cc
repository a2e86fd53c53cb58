#include "cpu/multiply.h"

#include <algorithm>

#include "base/to_size.h"
#include "kernels/pack.h"
#include "tensor/dtype.h"

namespace octavo {
namespace {

// Activations that meet a panel before the next rows do stay in the second-level cache, which has room for so many.
constexpr std::int64_t kRowBlockBytes = std::int64_t{256} << 10;
// Processors with matrix tiles have at least twice the cache, and unpack weights once for all rows of a call.
constexpr std::int64_t kTileRowBlockBytes = std::int64_t{512} << 10;
// But weights that few rows meet are read again for the next ones: long rows come from the third level instead.
constexpr std::int64_t kMinRowBlock = 64;

/// Rows of such a block of `rows`: whole row tiles, of which blocks have about as many each.
std::int64_t row_block(std::int64_t rows, std::int64_t cols, const KernelTable& kernels) {
  const std::int64_t row_bytes = std::max<std::int64_t>(1, static_cast<std::int64_t>(act_row_bytes(cols)));
  const std::int64_t row_step = kernels.row_step, tile_rows = kernels.tile_rows;
  const std::int64_t bytes = row_step > tile_rows ? kTileRowBlockBytes : kRowBlockBytes;
  const std::int64_t most = std::max(kMinRowBlock, bytes / row_bytes);
  const std::int64_t blocks = (rows + most - 1) / most;
  return (rows + blocks * row_step - 1) / (blocks * row_step) * row_step;
}

// Each part reads all weights: with so many rows a byte in four cycles of a core, which memory gives many of them.
constexpr int kMinPartRows = 128;

/// y[rows][count] times the factor of a whole matrix, where the kernel has not done it.
void scale_outputs(const WeightMatrix& w, const KernelTable& kernels, float* y, std::int64_t stride, std::int64_t count,
                   std::int64_t rows) {
  if (w.scale == nullptr || w.type == DType::kNVFP4) return;
  for (std::int64_t row = 0; row < rows; ++row) kernels.scale(y + row * stride, *w.scale, count);
}

/// The division of a product's rows among threads. A thread that has rows of its own, the same in every region of a
/// step, finds them in its own caches. Threads of a few rows share the weights instead, which then are read once.
struct RowParts {
  std::int64_t count, rows_of_each, rows;

  /// `packed`: weights that lie in the file are packed as they are read, once for all rows.
  RowParts(bool packed, int all_rows, int row_step, const ThreadPool& pool)
      : count(packed ? std::clamp(all_rows / kMinPartRows, 1, pool.num_threads()) : 1),
        rows_of_each((all_rows + count * row_step - 1) / (count * row_step) * row_step),
        rows(all_rows) {}
};

/// Calls body(begin, end, row, row_end, worker) for ranges of `total` panels (or of two panels each) and of the rows of
/// a part.
template <class Body>
void for_parts(std::int64_t total, std::size_t grain, const RowParts& parts, ThreadPool& pool, const Body& body) {
  const auto items = to_size(parts.count * total);
  pool.for_ranges(items, grain, [&](std::size_t from, std::size_t to, int worker) {
    for (auto begin = static_cast<std::int64_t>(from); begin < static_cast<std::int64_t>(to);) {
      const std::int64_t part = begin / total, end = std::min(static_cast<std::int64_t>(to), (part + 1) * total);
      const std::int64_t row = part * parts.rows_of_each, row_end = std::min(row + parts.rows_of_each, parts.rows);
      if (row < row_end) body(begin - part * total, end - part * total, row, row_end, worker);
      begin = end;
    }
  });
}

}  // namespace

std::size_t panels_of_a_piece(std::int64_t total, int rows, const ThreadPool& pool) {
  const std::int64_t panels = std::clamp<std::int64_t>(total / (8 * pool.num_threads()), 1, rows > 64 ? 4 : 16);
  return to_size(panels - (panels > 1 ? panels % 2 : 0));  // kernels meet pairs
}

void multiply_part(const Product& product, const ActivationRows& x, const ProductPart& part, const KernelTable& kernels,
                   PanelScratch& scratch, int worker) {
  const WeightMatrix& w = *product.weight;
  const std::int64_t block = row_block(part.row_end - part.row, x.cols, kernels);
  const MatmulFn matmul = kernels.matmul[dtype_index(w.type)];
  scratch.for_ranges(w, part.begin, part.end, worker, [&](const PackedMatrix& range, std::int64_t first_panel) {
    float* y = product.y + first_panel * kPanelRows;
    const std::int64_t stride = product.stride();
    for (std::int64_t row = part.row; row < part.row_end; row += block)
      matmul(range, x, 0, num_panels(range.rows), row, std::min(row + block, part.row_end), y, stride);
    scale_outputs(w, kernels, y + part.row * stride, stride, range.rows, part.row_end - part.row);
  });
}

void multiply(std::span<const Product> products, const ActivationRows& x, int rows, const KernelTable& kernels,
              PanelScratch& scratch, ThreadPool& pool) {
  std::int64_t total = 0;
  for (const Product& p : products) total += num_panels(p.weight->rows);
  const std::size_t grain = panels_of_a_piece(total, rows, pool);
  const bool packed = std::ranges::all_of(products, [](const Product& p) { return p.weight->panels != nullptr; });
  for_parts(total, grain, RowParts(packed, rows, kernels.row_step, pool), pool,
            [&](std::int64_t begin, std::int64_t end, std::int64_t first_row, std::int64_t row_end, int worker) {
              for (const Product& p : products) {  // begin and end count from its first panel
                const std::int64_t panels = num_panels(p.weight->rows);
                const ProductPart part{std::max(begin, std::int64_t{0}), std::min(end, panels), first_row, row_end};
                multiply_part(p, x, part, kernels, scratch, worker);
                begin -= panels;
                end -= panels;
              }
            });
}

namespace {

/// One thread's part of a gated product: ranges of kGatedColumns outputs of both matrices, counted in these.
class GatedPart {
 public:
  GatedPart(const GatedProduct& product, const ActivationRows& x, const KernelTable& kernels, PanelScratch& scratch,
            int worker, std::span<float> floats, int rows)
      : product_(product),
        x_(x),
        kernels_(kernels),
        scratch_(scratch),
        worker_(worker),
        gate_(floats.first(floats.size() / 2)),
        up_(floats.last(floats.size() / 2)),
        rows_(rows) {}

  void run(std::int64_t gated, std::int64_t gated_end, std::int64_t row, std::int64_t row_end) const {
    const std::int64_t columns = (gated_end - gated) * kGatedColumns;
    multiply_range(*product_.gate, gated, gated_end, row, row_end, gate_.data());
    add_bias(product_.gate_bias, gated, columns, row, row_end, gate_.data());
    const float* up = nullptr;
    if (product_.up != nullptr) {
      multiply_range(*product_.up, gated, gated_end, row, row_end, up_.data());
      add_bias(product_.up_bias, gated, columns, row, row_end, up_.data());
      up = up_.data() + row * columns;
    }
    float* out = gate_.data() + row * columns;
    const std::int64_t count = (row_end - row) * columns;
    activate(up, count, out);
    if (product_.out != nullptr) copy_out(gated, columns, row, row_end);
    if (product_.quantized.is_wanted()) quantize(gated, columns, row, row_end);
  }

 private:
  void activate(const float* up, std::int64_t count, float* out) const {
    if (product_.xielu != nullptr) return kernels_.xielu(out, *product_.xielu, count, out);
    if (product_.limit > 0) return activate_within(product_.limit, up, count, out);
    product_.activate(out, up, count, out);
  }

  /// Comparisons keep what is no number.
  void activate_within(float limit, const float* up, std::int64_t count, float* out) const {
    kernels_.sigmoid_mul(out, out, count, out);
    for (std::int64_t i = 0; i < count; ++i) {
      const float least = up[i] < -limit ? -limit : up[i];
      out[i] = (out[i] > limit ? limit : out[i]) * (least > limit ? limit : least);
    }
  }

  /// y[row .. row_end)[columns] += the outputs' part of a bias.
  void add_bias(const float* bias, std::int64_t gated, std::int64_t columns, std::int64_t row, std::int64_t row_end,
                float* y) const {
    if (bias == nullptr) return;
    const std::int64_t first = gated * kGatedColumns, count = std::min(columns, product_.gate->rows - first);
    for (; row < row_end; ++row) kernels_.add(y + row * columns, bias + first, count);
  }

  void copy_out(std::int64_t gated, std::int64_t columns, std::int64_t row, std::int64_t row_end) const {
    const std::int64_t width = product_.gate->rows, first = gated * kGatedColumns;
    for (; row < row_end; ++row)
      std::copy_n(gate_.data() + row * columns, std::min(columns, width - first), product_.out + row * width + first);
  }

  void quantize(std::int64_t gated, std::int64_t columns, std::int64_t row, std::int64_t row_end) const {
    product_.quantized.write({.x = gate_.data() + row * columns,
                              .stride = columns,
                              .row = row,
                              .row_end = row_end,
                              .rows = rows_,
                              .block = gated,
                              .blocks = columns / kActBlock,
                              .cols = product_.gate->rows});
  }

  /// y[row .. row_end)[columns] = the outputs of the range.
  void multiply_range(const WeightMatrix& w, std::int64_t gated, std::int64_t gated_end, std::int64_t row,
                      std::int64_t row_end, float* y) const {
    const std::int64_t begin = 2 * gated, end = std::min(2 * gated_end, num_panels(w.rows));
    const MatmulFn matmul = kernels_.matmul[dtype_index(w.type)];
    const std::int64_t columns = (gated_end - gated) * kGatedColumns;
    scratch_.for_ranges(w, begin, end, worker_, [&](const PackedMatrix& range, std::int64_t first) {
      float* outputs = y + (first - begin) * kPanelRows;
      matmul(range, x_, 0, num_panels(range.rows), row, row_end, outputs, columns);
      scale_outputs(w, kernels_, outputs + row * columns, columns, range.rows, row_end - row);
    });
  }

  const GatedProduct& product_;
  const ActivationRows& x_;
  const KernelTable& kernels_;
  PanelScratch& scratch_;
  int worker_;
  std::span<float> gate_, up_;  // [rows][columns of a range]
  int rows_;
};

}  // namespace

void multiply_gated_part(const GatedProduct& product, const ActivationRows& x, int rows, const ProductPart& part,
                         const KernelTable& kernels, PanelScratch& scratch, int worker, std::span<float> floats) {
  const std::int64_t block = row_block(part.row_end - part.row, x.cols, kernels);
  const std::int64_t stride = std::max(1, kRowsOfOneGate / rows);
  const GatedPart gated(product, x, kernels, scratch, worker, floats, rows);
  for (std::int64_t row = part.row; row < part.row_end; row += block)
    for (std::int64_t begin = part.begin; begin < part.end; begin += stride)
      gated.run(begin, std::min(begin + stride, part.end), row, std::min(row + block, part.row_end));
}

void multiply_gated(const GatedProduct& product, const ActivationRows& x, int rows, const KernelTable& kernels,
                    PanelScratch& scratch, std::span<float> floats, ThreadPool& pool) {
  const std::int64_t total = (num_panels(product.gate->rows) + 1) / 2;
  const std::size_t grain = (panels_of_a_piece(4 * total, rows, pool) + 3) / 4;
  const std::size_t part_floats = floats.size() / to_size(pool.num_threads());
  const bool packed = product.gate->panels != nullptr && (product.up == nullptr || product.up->panels != nullptr);
  for_parts(total, grain, RowParts(packed, rows, kernels.row_step, pool), pool,
            [&](std::int64_t begin, std::int64_t end, std::int64_t row, std::int64_t row_end, int worker) {
              const auto own = floats.subspan(to_size(worker) * part_floats, part_floats);
              multiply_gated_part(product, x, rows, {begin, end, row, row_end}, kernels, scratch, worker, own);
            });
}

}  // namespace octavo
