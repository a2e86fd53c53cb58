#include "gpu/card_context.h"

namespace octavo::gpu {

// NEON adds neighbouring lanes first, and scalar rounds a multiply-add twice.
Result<SumOrder> sum_order_of(IsaLevel isa, Bits bits) {
  if (bits == Bits::kPortable || isa == IsaLevel::kAvx512Vnni) return SumOrder{};
  switch (isa) {
    case IsaLevel::kAvx2: return SumOrder{.lanes = 8, .scales = ScaleOrder::kWordScales};
    case IsaLevel::kAvxVnni: return SumOrder{.lanes = 8};
    default:
      return fail("the card has not got the order in which level {} adds up; it has with --bits portable",
                  isa_name(isa));
  }
}

void CardContext::quantize(const float* x, std::int64_t cols, int rows) {
  device.launch({.kernel = "octavo_quantize_rows",
                 .grid_x = static_cast<int>((cols + kQuantizeCols - 1) / kQuantizeCols),
                 .grid_y = rows,
                 .threads = kQuantizeThreads},
                QuantizeRows{.x = x, .stride = cols, .cols = cols, .out = int8.as<ActPair>()});
}

void CardContext::multiply(const CardMatrix& w, const float* x, int rows, float* y) {
  launch_product(device, {.type = w.type,
                          .order = order.scales,
                          .panels = w.panels,
                          .outputs = w.rows,
                          .cols = w.cols,
                          .x = x,
                          .int8 = int8.as<ActPair>(),
                          .rows = rows,
                          .y = y});
}

}  // namespace octavo::gpu
