// The things that every part of a layer computes with on the card: the device, the order of sums, and the int8 form of
// the rows that are multiplied next.
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

/// The order of a level's sums, which the card takes over.
struct SumOrder {
  int lanes = 16;
  ScaleOrder scales = ScaleOrder::kFloatScales;  // of K types
};
/// Error: the card has not got the level's order.
Result<SumOrder> sum_order_of(IsaLevel isa, Bits bits);

struct CardContext {
  CudaDevice& device;
  SumOrder order;
  float epsilon = 0;     // of norms
  CardMemory int8 = {};  // [max_rows, the widest matrix]

  /// Memory for `rows` rows of `cols` floats. Error: the card has none.
  Result<CardMemory> allocate_rows(int rows, std::uint64_t cols) const;
  /// The int8 form of x, [rows, cols].
  void quantize(const float* x, std::int64_t cols, int rows);
  /// y = w x, [rows, w.rows]. Where w reads int8, x was quantized last.
  void multiply(const CardMatrix& w, const float* x, int rows, float* y);
  /// Ends a part of a layer for `count` rows, whose order of sums is put in here.
  void finish_rows(FinishRowsArguments rows, int count);
};

/// Blocks of kRowThreads columns.
constexpr int column_blocks(std::int64_t cols) { return static_cast<int>((cols + kRowThreads - 1) / kRowThreads); }

}  // namespace octavo::gpu
