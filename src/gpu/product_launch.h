// The launches of products on a card: which kernel, on how many blocks.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>
#include <vector>

#include "gpu/kernels/expert_arguments.h"
#include "gpu/kernels/product_arguments.h"

namespace octavo::gpu {

/// Zeroes the bytes of a kernel's argument that belong to no member, so that equal arguments are equal bytes.
template <class Argument>
void clear_padding([[maybe_unused]] Argument& argument) {
#if __has_builtin(__builtin_clear_padding)
  __builtin_clear_padding(&argument);
#endif
}

/// A kernel's name (kernels/kernel_list.h), its grid, and its one argument.
struct KernelLaunch {
  static constexpr std::size_t kMaxArgumentBytes = 128;
  std::string_view kernel;
  int grid_x = 1, grid_y = 1, threads = 1, shared_bytes = 0;
  alignas(16) std::array<std::byte, kMaxArgumentBytes> argument{};

  template <class Argument>
  void set_argument(const Argument& value) {
    static_assert(sizeof(Argument) <= kMaxArgumentBytes);
    Argument copy = value;
    clear_padding(copy);
    std::memcpy(argument.data(), &copy, sizeof copy);
  }
};

/// Weights on a card: `outputs` rows of `cols` columns, in the CPU's panels.
struct WeightsOnCard {
  DType type;
  std::int64_t outputs, cols;
  const std::uint8_t* panels;
};

/// Whether there are kernels for weights of this type.
bool has_product(DType type);

/// The names of the kernels for weights of a type, or of those for experts; empty where it has none.
std::vector<std::string_view> product_kernels(DType type, ScaleOrder order, bool of_experts = false);

/// Quantizes rows to int8: row r is at x + r * stride. The number of columns is a multiple of 32.
KernelLaunch quantize_launch(const float* x, std::int64_t stride, std::int64_t rows, std::int64_t cols, ActPair* out);

/// y[r][n] = the sum over k of w[n][k] x[r][k] for `rows` rows; row r of y begins at y + r * ldy. The weights are no
/// plain floats. `order` matters for K types alone.
KernelLaunch product_launch(const WeightsOnCard& w, ScaleOrder order, const ActPair* x, std::int64_t rows, float* y,
                            std::int64_t ldy, int multiprocessors);
/// The product with weights that are plain floats; row r of x begins at x + r * stride, and stride is a multiple of 4.
KernelLaunch product_launch(const WeightsOnCard& w, const float* x, std::int64_t stride, std::int64_t rows, float* y,
                            std::int64_t ldy);

/// The shape of blocks in products of experts, which depends on how many rows an expert has on average.
enum class ItemShape : std::uint8_t { kOne, kFew, kNarrow, kWide };

/// How a step's rows are cut into items, by their number alone.
struct ItemPlan {
  ItemShape shape;
  int item_rows;  // the most slots of an item, a multiple of kRowsOfTile
  int max_items;
};
/// The most slots and items that choices of `rows` rows may have.
int max_slots(int rows, int num_experts, int num_chosen);
int max_items(int rows, int num_experts, int num_chosen);
/// A plan for experts whose matrices have these types.
ItemPlan plan_items(int rows, int num_experts, int num_chosen, std::span<const DType> types);

/// The products of items, as product_launch() has them, of weights whose first expert is `w`; rows and outputs are by
/// slots.
KernelLaunch experts_launch(const WeightsOnCard& w, std::uint64_t bytes_of_expert, ScaleOrder order,
                            const ItemPlan& plan, const ExpertItem* items, const ActPair* x, float* y,
                            int multiprocessors);
KernelLaunch experts_launch(const WeightsOnCard& w, std::uint64_t bytes_of_expert, const ItemPlan& plan,
                            const ExpertItem* items, const float* x, float* y);

}  // namespace octavo::gpu
