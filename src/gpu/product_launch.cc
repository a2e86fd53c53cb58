#include "gpu/product_launch.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "base/error.h"
#include "base/to_size.h"
#include "gpu/kernels/product_list.h"

namespace octavo::gpu {
namespace {

constexpr int kWarp = 32;

/// The kernels of a format: for one row, up to eight, up to 32, and more. Formats of floats lack the last two.
struct ShapeKernels {
  std::string_view one, few, narrow = {}, wide = {};

  std::string_view of(ItemShape shape) const {
    return std::array{one, few, narrow, wide}[to_size(static_cast<int>(shape))];
  }
  std::vector<std::string_view> all() const {
    return narrow.empty() ? std::vector{one, few} : std::vector{one, few, narrow, wide};
  }
};
struct FormatKernels {
  DType type;
  ScaleOrder order;
  ShapeKernels plain, experts;
};
#define OCTAVO_GPU_SHAPES(kind, name)                                                              \
  {"octavo_" #kind "_one_" #name, "octavo_" #kind "_few_" #name, "octavo_" #kind "_narrow_" #name, \
   "octavo_" #kind "_wide_" #name}
#define OCTAVO_GPU_NAMES(X, name, type, order) \
  {DType::type, ScaleOrder::order, OCTAVO_GPU_SHAPES(product, name), OCTAVO_GPU_SHAPES(experts, name)},
constexpr FormatKernels kFormats[] = {OCTAVO_GPU_FORMATS(OCTAVO_GPU_NAMES, )};
#undef OCTAVO_GPU_NAMES
#undef OCTAVO_GPU_SHAPES
#define OCTAVO_GPU_NAMES(X, name, type)                        \
  {DType::type,                                                \
   ScaleOrder::kFloatScales,                                   \
   {"octavo_product_one_" #name, "octavo_product_few_" #name}, \
   {"octavo_experts_one_" #name, "octavo_experts_few_" #name}},
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

/// The number of blocks that share panels evenly: each has as many as the others, or one less.
int even_grid(int panels, int most) { return ceiling(panels, ceiling(panels, most)); }

/// How many blocks of kernels for few rows a multiprocessor has at once.
constexpr int kBatonBlocks = 2;

/// Sets the launch for few rows: `blocks` blocks at most share the panels.
void set_baton_shape(KernelLaunch& launch, const ShapeKernels& kernels, const WeightsOnCard& w, bool one_row,
                     int blocks) {
  const int warps = one_row ? kBatonWarpsOfOneRow : kBatonWarps;
  launch.kernel = one_row ? kernels.one : kernels.few;
  launch.grid_x = even_grid(ceiling(w.outputs, kPanelRows), blocks);
  launch.threads = kWarp * warps;
  launch.shared_bytes = baton_shared_bytes(w.type, warps);
}

/// Sets the launch for many rows: large blocks reuse most, as long as there are enough for all multiprocessors.
void set_tile_shape(KernelLaunch& launch, const FormatKernels& kernels, const WeightsOnCard& w, std::int64_t rows,
                    int multiprocessors) {
  const auto blocks_of = [&](TileShape shape) {
    return std::pair(ceiling(w.outputs, shape.panels() * kPanelRows), ceiling(rows, shape.tiles() * kRowsOfTile));
  };
  TileShape shape = wide_shape(w.type);
  const auto [wide_x, wide_y] = blocks_of(shape);
  const bool wide = static_cast<std::int64_t>(wide_x) * wide_y >= multiprocessors;
  if (!wide) shape = kNarrowShape;
  launch.kernel = wide ? kernels.plain.wide : kernels.plain.narrow;
  std::tie(launch.grid_x, launch.grid_y) = blocks_of(shape);
  launch.threads = kWarp * shape.warps();
  launch.shared_bytes = tile_shared_bytes(w.type, shape);
}

const FormatKernels& float_format_of(DType type) {
  const auto* const found = std::ranges::find(kFloats, type, &FormatKernels::type);
  OCTAVO_CHECK(found != std::end(kFloats), "a product of floats on a card with weights of type {}",
               static_cast<int>(type));
  return *found;
}

}  // namespace

bool has_product(DType type) {
  const auto is_of_type = [&](const FormatKernels& f) { return f.type == type; };
  return std::ranges::any_of(kFormats, is_of_type) || std::ranges::any_of(kFloats, is_of_type);
}

std::vector<std::string_view> product_kernels(DType type, ScaleOrder order, bool of_experts) {
  if (!has_product(type)) return {};
  const FormatKernels& format = is_plain_float(type) ? float_format_of(type) : format_of(type, order);
  return (of_experts ? format.experts : format.plain).all();
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
    set_baton_shape(launch, kernels.plain, w, rows == 1, kBatonBlocks * multiprocessors);
  } else {
    set_tile_shape(launch, kernels, w, rows, multiprocessors);
  }
  launch.set_argument(ProductOfPanels{w.panels, x, y, w.cols, w.outputs, ldy, static_cast<int>(rows)});
  return launch;
}

KernelLaunch product_launch(const WeightsOnCard& w, const float* x, std::int64_t stride, std::int64_t rows, float* y,
                            std::int64_t ldy) {
  const FormatKernels& kernels = float_format_of(w.type);
  KernelLaunch launch;
  launch.kernel = rows == 1 ? kernels.plain.one : kernels.plain.few;
  launch.grid_x = ceiling(w.outputs, kFloatPanels * kPanelRows);
  launch.grid_y = ceiling(rows, kFloatRows);
  launch.threads = kWarp;
  launch.shared_bytes = float_shared_bytes(w.type);
  launch.set_argument(ProductOfFloats{w.panels, x, y, stride, w.cols, w.outputs, ldy, static_cast<int>(rows)});
  return launch;
}

// An expert with choices has at least one row.
int max_slots(int rows, int num_experts, int num_chosen) {
  const int choices = rows * num_chosen;
  return ceiling(choices + (kRowsOfTile - 1) * std::min(num_experts, choices), kRowsOfTile) * kRowsOfTile;
}

int max_items(int rows, int num_experts, int num_chosen) {
  const int choices = rows * num_chosen;
  return std::min(num_experts, choices) + choices / kRowsOfTile;
}

ItemPlan plan_items(int rows, int num_experts, int num_chosen, std::span<const DType> types) {
  const int choices = rows * num_chosen, average = choices / num_experts;
  ItemPlan plan{ItemShape::kOne, kRowsOfTile, std::min(num_experts, choices)};
  if (rows == 1) return plan;
  plan.shape = ItemShape::kFew;
  if (rows > kMaxBatonRows && average > kMaxBatonRows && !std::ranges::any_of(types, is_plain_float)) {
    constexpr int kNarrowRows = kNarrowShape.tiles() * kRowsOfTile;
    plan.shape = average > kNarrowRows ? ItemShape::kWide : ItemShape::kNarrow;
    plan.item_rows = kNarrowRows;
    if (plan.shape == ItemShape::kWide) {
      const auto tiles = [](DType type) { return wide_shape(type).tiles(); };
      plan.item_rows = kRowsOfTile * tiles(std::ranges::min(types, {}, tiles));
    }
  }
  plan.max_items += choices / plan.item_rows;
  return plan;
}

KernelLaunch experts_launch(const WeightsOnCard& w, std::uint64_t bytes_of_expert, ScaleOrder order,
                            const ItemPlan& plan, const ExpertItem* items, const ActPair* x, float* y,
                            int multiprocessors) {
  const ShapeKernels& kernels = format_of(w.type, order).experts;
  KernelLaunch launch;
  if (plan.shape == ItemShape::kOne || plan.shape == ItemShape::kFew) {
    set_baton_shape(launch, kernels, w, plan.shape == ItemShape::kOne,
                    std::max(1, kBatonBlocks * multiprocessors / plan.max_items));
  } else {
    const TileShape shape = plan.shape == ItemShape::kWide ? wide_shape(w.type) : kNarrowShape;
    launch.kernel = plan.shape == ItemShape::kWide ? kernels.wide : kernels.narrow;
    launch.grid_x = ceiling(w.outputs, shape.panels() * kPanelRows);
    launch.threads = kWarp * shape.warps();
    launch.shared_bytes = tile_shared_bytes(w.type, shape);
  }
  launch.grid_y = plan.max_items;
  launch.set_argument(ProductOfExperts{{w.panels, x, y, w.cols, w.outputs, w.outputs, 0}, items, bytes_of_expert});
  return launch;
}

KernelLaunch experts_launch(const WeightsOnCard& w, std::uint64_t bytes_of_expert, const ItemPlan& plan,
                            const ExpertItem* items, const float* x, float* y) {
  const ShapeKernels& kernels = float_format_of(w.type).experts;
  KernelLaunch launch;
  launch.kernel = plan.shape == ItemShape::kOne ? kernels.one : kernels.few;
  launch.grid_x = ceiling(w.outputs, kFloatPanels * kPanelRows);
  launch.grid_y = plan.max_items;
  launch.threads = kWarp;
  launch.shared_bytes = float_shared_bytes(w.type);
  launch.set_argument(
      FloatProductOfExperts{{w.panels, x, y, w.cols, w.cols, w.outputs, w.outputs, 0}, items, bytes_of_expert});
  return launch;
}

}  // namespace octavo::gpu
