// The avx2 level's products of K types in the order of the other levels, which multiply by scales that are floats: for
// the bits that all levels have (docs/portable_bits.md).
#define OCTAVO_FLOAT_SCALES 1
#include "kernels/isa/simd_avx2.h"
//
#include "kernels/generic/matmul.inl"
#include "kernels/isa/tables.h"

namespace octavo {
namespace {

MatmulFn product_of(DType type) {
  switch (type) {
    case DType::kQ2_K: return &matmul<DType::kQ2_K>;
    case DType::kQ3_K: return &matmul<DType::kQ3_K>;
    case DType::kQ4_K: return &matmul<DType::kQ4_K>;
    case DType::kQ5_K: return &matmul<DType::kQ5_K>;
    default: return &matmul<DType::kQ6_K>;
  }
}

}  // namespace
}  // namespace octavo

extern "C" void octavo_products_by_float_scales(const octavo::PackedMatrix& w, const octavo::ActivationRows& x,
                                                int64_t panel_begin, int64_t panel_end, int64_t row_begin,
                                                int64_t row_end, float* y, int64_t ldy) {
  octavo::product_of(w.type)(w, x, panel_begin, panel_end, row_begin, row_end, y, ldy);
}
