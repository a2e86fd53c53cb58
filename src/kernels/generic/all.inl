// Includes every kernel once; each instruction set's unit compiles it over its own simd_*.h.
#include "kernels/isa/tables.h"
#include "kernels/packed_layout.h"
//
#include "kernels/generic/attention.inl"
#include "kernels/generic/delta.inl"
#include "kernels/generic/elementwise.inl"
#include "kernels/generic/matmul.inl"
#include "kernels/generic/matmul_codebook.inl"
#include "kernels/generic/probe.inl"
#include "kernels/generic/quantize.inl"
#include "kernels/generic/weights.inl"
//
#include "kernels/generic/table.inl"
