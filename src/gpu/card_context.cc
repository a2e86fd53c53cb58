#include "gpu/card_context.h"

#include "base/to_size.h"

namespace octavo::gpu {

// The card lacks two orders: NEON adds neighbouring lanes first, and scalar rounds a multiply-add twice.
Result<SumOrder> sum_order_of(IsaLevel isa, Bits bits) {
  if (bits == Bits::kPortable || level_of_bits(isa) == IsaLevel::kAvx512Vnni) return SumOrder{};
  switch (isa) {
    case IsaLevel::kAvx2: return SumOrder{.lanes = 8, .scales = ScaleOrder::kWordScales};
    case IsaLevel::kAvxVnni: return SumOrder{.lanes = 8};
    default:
      return fail("the card has not got the order in which level {} adds up; it has with --bits portable",
                  isa_name(isa));
  }
}

Result<CardMemory> CardContext::allocate_rows(int rows, std::uint64_t cols) const {
  return device.allocate(to_size(rows) * cols * sizeof(float));
}

void CardContext::quantize(const float* x, std::int64_t cols, int rows) {
  device.launch(quantize_launch(x, cols, rows, cols, int8.as<ActPair>()));
}

void CardContext::multiply(const CardMatrix& w, const float* x, int rows, float* y) {
  const WeightsOnCard weights{.type = w.type, .outputs = w.rows, .cols = w.cols, .panels = w.panels};
  device.launch(w.reads_int8() ? product_launch(weights, order.scales, int8.as<ActPair>(), rows, y, w.rows,
                                                device.info().num_multiprocessors)
                               : product_launch(weights, x, w.cols, rows, y, w.rows));
}

void CardContext::finish_rows(FinishRowsArguments rows, int count) {
  rows.epsilon = epsilon;
  rows.lanes = order.lanes;
  device.launch({.kernel = "octavo_finish_rows",
                 .grid_x = count,
                 .threads = kRowThreads,
                 .shared_bytes = finish_rows_shared(rows.width)},
                rows);
}

}  // namespace octavo::gpu
