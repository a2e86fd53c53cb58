// The launches of products on a card: which kernel, on how many blocks.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>
#include <vector>

#include "gpu/kernels/product_arguments.h"

namespace octavo::gpu {

/// Makes bytes of a kernel's argument that are no member's zero, so that equal arguments are equal bytes.
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

/// Weights of a card: `outputs` rows of `cols` in the CPU's panels.
struct WeightsOnCard {
  DType type;
  std::int64_t outputs, cols;
  const std::uint8_t* panels;
};

/// Whether there are kernels for weights of this type.
bool has_product(DType type);

/// The names of the kernels for weights of a type; none where it has no product.
std::vector<std::string_view> product_kernels(DType type, ScaleOrder order);

/// Rows to int8: row r is at x + r * stride. Columns are a multiple of 32.
KernelLaunch quantize_launch(const float* x, std::int64_t stride, std::int64_t rows, std::int64_t cols, ActPair* out);

/// y[r][n] = the sum over k of w[n][k] x[r][k] for `rows` rows, row r of y beginning at y + r * ldy, of weights that
/// are not plain floats. `order` concerns K types.
KernelLaunch product_launch(const WeightsOnCard& w, ScaleOrder order, const ActPair* x, std::int64_t rows, float* y,
                            std::int64_t ldy, int multiprocessors);
/// The same of weights that are plain floats, with rows of floats at x + r * stride; stride is a multiple of 4.
KernelLaunch product_launch(const WeightsOnCard& w, const float* x, std::int64_t stride, std::int64_t rows, float* y,
                            std::int64_t ldy);

}  // namespace octavo::gpu
