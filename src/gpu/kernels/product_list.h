// The formats of weights that have kernels, and the kernels' names. A plain header.
#pragma once

#include "gpu/kernels/expert_arguments.h"
#include "gpu/kernels/product_arguments.h"

/// Begin(X, name, type, order) for each format of int8 products.
#define OCTAVO_GPU_FORMATS(Begin, X)                                                                              \
  Begin(X, q4_0, kQ4_0, kFloatScales) Begin(X, q4_1, kQ4_1, kFloatScales) Begin(X, q5_0, kQ5_0, kFloatScales)     \
      Begin(X, q8_0, kQ8_0, kFloatScales) Begin(X, q1_0, kQ1_0, kFloatScales) Begin(X, q4_k, kQ4_K, kFloatScales) \
          Begin(X, q5_k, kQ5_K, kFloatScales) Begin(X, q6_k, kQ6_K, kFloatScales)                                 \
              Begin(X, q4_k_words, kQ4_K, kWordScales) Begin(X, q5_k_words, kQ5_K, kWordScales)                   \
                  Begin(X, q6_k_words, kQ6_K, kWordScales)

/// Begin(X, name, type) for each type of floats.
#define OCTAVO_GPU_FLOATS(Begin, X) Begin(X, f16, kF16) Begin(X, bf16, kBF16) Begin(X, f32, kF32)

/// X(name, type of its argument) for the kernels of a format: one row, up to eight, and the shapes for more; then the
/// same for items of experts.
#define OCTAVO_GPU_KERNELS_OF_FORMAT(X, name, type, order)       \
  X(octavo_product_one_##name, octavo::gpu::ProductOfPanels)     \
  X(octavo_product_few_##name, octavo::gpu::ProductOfPanels)     \
  X(octavo_product_narrow_##name, octavo::gpu::ProductOfPanels)  \
  X(octavo_product_wide_##name, octavo::gpu::ProductOfPanels)    \
  X(octavo_experts_one_##name, octavo::gpu::ProductOfExperts)    \
  X(octavo_experts_few_##name, octavo::gpu::ProductOfExperts)    \
  X(octavo_experts_narrow_##name, octavo::gpu::ProductOfExperts) \
  X(octavo_experts_wide_##name, octavo::gpu::ProductOfExperts)
#define OCTAVO_GPU_KERNELS_OF_FLOATS(X, name, type)                \
  X(octavo_product_one_##name, octavo::gpu::ProductOfFloats)       \
  X(octavo_product_few_##name, octavo::gpu::ProductOfFloats)       \
  X(octavo_experts_one_##name, octavo::gpu::FloatProductOfExperts) \
  X(octavo_experts_few_##name, octavo::gpu::FloatProductOfExperts)

#define OCTAVO_GPU_PRODUCTS(X)                        \
  OCTAVO_GPU_FORMATS(OCTAVO_GPU_KERNELS_OF_FORMAT, X) \
  OCTAVO_GPU_FLOATS(OCTAVO_GPU_KERNELS_OF_FLOATS, X)
