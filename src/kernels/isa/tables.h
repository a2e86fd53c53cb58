// The one symbol that each instruction set's unit exports.
#pragma once

#include "kernels/kernels.h"

extern "C" {
const octavo::KernelTable* octavo_kernels_scalar();
const octavo::KernelTable* octavo_kernels_avx2();
const octavo::KernelTable* octavo_kernels_avxvnni();
const octavo::KernelTable* octavo_kernels_avx512vnni();
const octavo::KernelTable* octavo_kernels_neon();
}
