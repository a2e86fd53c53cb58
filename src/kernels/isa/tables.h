// The one symbol that each instruction set's unit exports: mostly its tables, either the level's own or those of the
// bits that all levels have.
#pragma once

#include "kernels/kernels.h"

extern "C" {
const octavo::KernelTable* octavo_kernels_scalar();
const octavo::KernelTable* octavo_kernels_scalar_portable();
const octavo::KernelTable* octavo_kernels_avx2(bool portable);
const octavo::KernelTable* octavo_kernels_avxvnni(bool portable);
const octavo::KernelTable* octavo_kernels_avx512vnni();  // this level defines the bits that all levels have
const octavo::KernelTable* octavo_kernels_amx();         // with the bits of avx512vnni
const octavo::KernelTable* octavo_kernels_amxbf16();
const octavo::KernelTable* octavo_kernels_neon(bool portable);

/// A MatmulFn for types whose integer scales otherwise multiply 16-bit sums (generic/matmul_word_scales.inl).
void octavo_products_by_float_scales(const octavo::PackedMatrix& w, const octavo::ActivationRows& x,
                                     int64_t panel_begin, int64_t panel_end, int64_t row_begin, int64_t row_end,
                                     float* y, int64_t ldy);
}
