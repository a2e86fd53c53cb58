#include "gpu/product_launch.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "base/error.h"
#include "gpu/kernels/product_list.h"

namespace octavo::gpu {
namespace {

constexpr int kWarp = 32;

/// The kernels of a format: for one row, up to eight, up to 32, and more.
struct FormatKernels {
  DType type;
  ScaleOrder order;
  std::string_view one, few, narrow, wide;
};
#define OCTAVO_GPU_NAMES(X, name, type, order) \
  {DType::type,                                \
   ScaleOrder::order,                          \
   "octavo_product_one_" #name,                \
   "octavo_product_few_" #name,                \
   "octavo_product_narrow_" #name,             \
   "octavo_product_wide_" #name},
constexpr FormatKernels kFormats[] = {OCTAVO_GPU_FORMATS(OCTAVO_GPU_NAMES, )};
#undef OCTAVO_GPU_NAMES
#define OCTAVO_GPU_NAMES(X, name, type) \
  {DType::type, ScaleOrder::kFloatScales, "octavo_product_one_" #name, "octavo_product_few_" #name, "", ""},
constexpr FormatKernels kFloats[] = {OCTAVO_GPU_FLOATS(OCTAVO_GPU_NAMES, )};
#undef OCTAVO_GPU_NAMES

bool has_two_orders(DType type) {
  return std::ranges::count_if(kFormats, [&](const FormatKernels& f) { return f.type == type; }) > 1;
}

ScaleOrder order_for(DType type, ScaleOrder order) { return has_two_orders(type) ? order : ScaleOrder::kFloatScales; }

const FormatKernels& format_of(DType type, ScaleOrder order) {
  order = order_for(type, order);
  const auto* const found =
      std::ranges::find_if(kFormats, [&](const FormatKernels& f) { return f.type == type && f.order == order; });
  OCTAVO_CHECK(found != std::end(kFormats), "a product on a card with weights of type {}", static_cast<int>(type));
  return *found;
}

int ceiling(std::int64_t a, std::int64_t b) { return static_cast<int>((a + b - 1) / b); }

/// Blocks of which each has as many panels as the others, or one less.
int even_grid(int panels, int most) { return ceiling(panels, ceiling(panels, most)); }

/// Blocks of kernels for few rows that a multiprocessor has at once.
constexpr int kBatonBlocks = 2;

void set_baton_shape(KernelLaunch& launch, const FormatKernels& kernels, const WeightsOnCard& w, std::int64_t rows,
                     int multiprocessors) {
  const int warps = rows == 1 ? kBatonWarpsOfOneRow : kBatonWarps;
  launch.kernel = rows == 1 ? kernels.one : kernels.few;
  launch.grid_x = even_grid(ceiling(w.outputs, kPanelRows), kBatonBlocks * multiprocessors);
  launch.threads = kWarp * warps;
  launch.shared_bytes = baton_shared_bytes(w.type, warps);
}

/// Large blocks share most; but they should be enough for all multiprocessors.
void set_tile_shape(KernelLaunch& launch, const FormatKernels& kernels, const WeightsOnCard& w, std::int64_t rows,
                    int multiprocessors) {
  const auto blocks_of = [&](TileShape shape) {
    return std::pair(ceiling(w.outputs, shape.panels() * kPanelRows), ceiling(rows, shape.tiles() * kRowsOfTile));
  };
  TileShape shape = wide_shape(w.type);
  const auto [wide_x, wide_y] = blocks_of(shape);
  const bool wide = static_cast<std::int64_t>(wide_x) * wide_y >= multiprocessors;
  if (!wide) shape = kNarrowShape;
  launch.kernel = wide ? kernels.wide : kernels.narrow;
  std::tie(launch.grid_x, launch.grid_y) = blocks_of(shape);
  launch.threads = kWarp * shape.warps();
  launch.shared_bytes = tile_shared_bytes(w.type, shape);
}

}  // namespace

bool has_product(DType type) {
  const auto is_of_type = [&](const FormatKernels& f) { return f.type == type; };
  return std::ranges::any_of(kFormats, is_of_type) || std::ranges::any_of(kFloats, is_of_type);
}

std::vector<std::string_view> product_kernels(DType type, ScaleOrder order) {
  for (const FormatKernels& f : kFloats)
    if (f.type == type) return {f.one, f.few};
  for (const FormatKernels& f : kFormats)
    if (f.type == type && f.order == order_for(type, order)) return {f.one, f.few, f.narrow, f.wide};
  return {};
}

KernelLaunch quantize_launch(const float* x, std::int64_t stride, std::int64_t rows, std::int64_t cols, ActPair* out) {
  KernelLaunch launch;
  launch.kernel = "octavo_quantize_rows";
  launch.grid_x = ceiling(cols, kQuantizeCols);
  launch.grid_y = static_cast<int>(rows);
  launch.threads = kQuantizeThreads;
  launch.set_argument(QuantizeRows{x, stride, cols, out});
  return launch;
}

KernelLaunch product_launch(const WeightsOnCard& w, ScaleOrder order, const ActPair* x, std::int64_t rows, float* y,
                            std::int64_t ldy, int multiprocessors) {
  const FormatKernels& kernels = format_of(w.type, order);
  KernelLaunch launch;
  if (rows <= kMaxBatonRows) {
    set_baton_shape(launch, kernels, w, rows, multiprocessors);
  } else {
    set_tile_shape(launch, kernels, w, rows, multiprocessors);
  }
  launch.set_argument(ProductOfPanels{w.panels, x, y, w.cols, w.outputs, ldy, static_cast<int>(rows)});
  return launch;
}

KernelLaunch product_launch(const WeightsOnCard& w, const float* x, std::int64_t stride, std::int64_t rows, float* y,
                            std::int64_t ldy) {
  const auto* const kernels = std::ranges::find(kFloats, w.type, &FormatKernels::type);
  OCTAVO_CHECK(kernels != std::end(kFloats), "a product of floats on a card with weights of type {}",
               static_cast<int>(w.type));
  KernelLaunch launch;
  launch.kernel = rows == 1 ? kernels->one : kernels->few;
  launch.grid_x = ceiling(w.outputs, kFloatPanels * kPanelRows);
  launch.grid_y = ceiling(rows, kFloatRows);
  launch.threads = kWarp;
  launch.shared_bytes = float_shared_bytes(w.type);
  launch.set_argument(ProductOfFloats{w.panels, x, y, stride, w.cols, w.outputs, ldy, static_cast<int>(rows)});
  return launch;
}

}  // namespace octavo::gpu
