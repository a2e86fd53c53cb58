// The kernels of products, which product_list.h lists.
#pragma once

#include "gpu/kernels/product_list.h"
#include "gpu/kernels/products_of_floats.h"
#include "gpu/kernels/products_of_rows.h"
#include "gpu/kernels/products_of_tiles.h"

#define OCTAVO_GPU_DEFINE_FORMAT(X, name, type, order)                                            \
  OCTAVO_GPU_KERNEL(octavo::simt::kWarp* octavo::gpu::kBatonWarpsOfOneRow, 2)                     \
  octavo_product_one_##name(octavo::gpu::ProductOfPanels m) {                                     \
    using F = octavo::gpu::Format<octavo::DType::type, octavo::gpu::ScaleOrder::order>;           \
    octavo::gpu::BatonWarp<F, 1, octavo::gpu::kBatonWarpsOfOneRow>(m).run();                      \
  }                                                                                               \
  OCTAVO_GPU_KERNEL(octavo::simt::kWarp* octavo::gpu::kBatonWarps, 2)                             \
  octavo_product_few_##name(octavo::gpu::ProductOfPanels m) {                                     \
    using F = octavo::gpu::Format<octavo::DType::type, octavo::gpu::ScaleOrder::order>;           \
    octavo::gpu::BatonWarp<F, 2, octavo::gpu::kBatonWarps>(m).run();                              \
  }                                                                                               \
  OCTAVO_GPU_KERNEL(octavo::simt::kWarp* octavo::gpu::kNarrowShape.warps(), 2)                    \
  octavo_product_narrow_##name(octavo::gpu::ProductOfPanels m) {                                  \
    using F = octavo::gpu::Format<octavo::DType::type, octavo::gpu::ScaleOrder::order>;           \
    octavo::gpu::TileWarp<F, octavo::gpu::kNarrowShape>(m).run();                                 \
  }                                                                                               \
  OCTAVO_GPU_KERNEL(octavo::simt::kWarp* octavo::gpu::wide_shape(octavo::DType::type).warps(), 2) \
  octavo_product_wide_##name(octavo::gpu::ProductOfPanels m) {                                    \
    using F = octavo::gpu::Format<octavo::DType::type, octavo::gpu::ScaleOrder::order>;           \
    octavo::gpu::TileWarp<F, octavo::gpu::wide_shape(octavo::DType::type)>(m).run();              \
  }
#define OCTAVO_GPU_DEFINE_FLOATS(X, name, type)                                                         \
  OCTAVO_GPU_KERNEL(octavo::simt::kWarp, 1) octavo_product_one_##name(octavo::gpu::ProductOfFloats m) { \
    octavo::gpu::FloatsWarp<octavo::DType::type, 1>(m).run();                                           \
  }                                                                                                     \
  OCTAVO_GPU_KERNEL(octavo::simt::kWarp, 1) octavo_product_few_##name(octavo::gpu::ProductOfFloats m) { \
    octavo::gpu::FloatsWarp<octavo::DType::type, octavo::gpu::kFloatRows>(m).run();                     \
  }
OCTAVO_GPU_FORMATS(OCTAVO_GPU_DEFINE_FORMAT, )
OCTAVO_GPU_FLOATS(OCTAVO_GPU_DEFINE_FLOATS, )
#undef OCTAVO_GPU_DEFINE_FORMAT
#undef OCTAVO_GPU_DEFINE_FLOATS
