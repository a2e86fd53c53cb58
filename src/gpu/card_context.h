// What all parts of a layer on the card compute with: the device, the order of sums, and the int8 form of the rows that
// the next product reads.
//
// Owned by CardStage.
#pragma once

#include <cstdint>

#include "base/cpu_info.h"
#include "gpu/card_weights.h"
#include "gpu/cuda_device.h"
#include "gpu/kernels/act_pair.h"
#include "gpu/kernels/arguments.h"
#include "gpu/product_launch.h"
#include "octavo/bits.h"

namespace octavo::gpu {

/// The order in which a level adds up sums, which the card follows.
struct SumOrder {
  int lanes = 16;
  ScaleOrder scales = ScaleOrder::kFloatScales;  // for products of K types
};
/// The order of a level. Error: the card cannot follow it.
Result<SumOrder> sum_order_of(IsaLevel isa, Bits bits);

struct CardContext {
  CudaDevice& device;
  SumOrder order;
  float epsilon = 0;     // the epsilon of norms
  CardMemory int8 = {};  // [max_rows, the widest matrix]

  /// Memory for `rows` rows of `cols` floats. Error: the card has none.
  Result<CardMemory> allocate_rows(int rows, std::uint64_t cols) const;
  /// Quantizes x, [rows, cols], to int8, for the next products.
  void quantize(const float* x, std::int64_t cols, int rows);
  /// y = w x, [rows, w.rows]. Where w multiplies int8, quantize() was called with x just before.
  void multiply(const CardMatrix& w, const float* x, int rows, float* y);
  /// Ends a part of a layer for `count` rows. It sets the order of sums in `rows`.
  void finish_rows(FinishRowsArguments rows, int count);
};

/// The blocks of kRowThreads columns that `cols` columns need.
constexpr int column_blocks(std::int64_t cols) { return static_cast<int>((cols + kRowThreads - 1) / kRowThreads); }

}  // namespace octavo::gpu
