// The kernels of products, which product_list.h lists.
#pragma once

#include "gpu/kernels/product_list.h"
#include "gpu/kernels/products_of_floats.h"
#include "gpu/kernels/products_of_rows.h"
#include "gpu/kernels/products_of_tiles.h"

namespace octavo::gpu {

/// The product that this block's item needs; without rows where the item does not exist.
OCTAVO_GPU_DEVICE ProductOfPanels product_of_item(const ProductOfExperts& a) {
  const ExpertItem item = a.items[simt::block_y()];
  ProductOfPanels m = a.product;
  m.panels += (size_t)item.expert * a.bytes_of_expert;
  m.x += (size_t)(item.first_slot / kRowsOfTile) * (size_t)act_pairs(m.cols);
  m.y += item.first_slot * m.ldy;
  m.rows = item.num_rows;
  return m;
}
OCTAVO_GPU_DEVICE ProductOfFloats product_of_item(const FloatProductOfExperts& a) {
  const ExpertItem item = a.items[simt::block_y()];
  ProductOfFloats m = a.product;
  m.panels += (size_t)item.expert * a.bytes_of_expert;
  m.x += item.first_slot * m.stride;
  m.y += item.first_slot * m.ldy;
  m.rows = item.num_rows;
  return m;
}

// The bodies of kernels, by shape. A block of an item that does not exist returns at once.
template <DType T, ScaleOrder O, int C, int W>
OCTAVO_GPU_DEVICE void multiply_rows(const ProductOfPanels& m) {
  BatonWarp<Format<T, O>, C, W>(m).run();
}
template <DType T, ScaleOrder O, TileShape S>
OCTAVO_GPU_DEVICE void multiply_tiles(const ProductOfPanels& m, int first_tile) {
  TileWarp<Format<T, O>, S>(m, first_tile).run();
}

}  // namespace octavo::gpu

#define OCTAVO_GPU_DEFINE_FORMAT(X, name, type, order)                                                             \
  OCTAVO_GPU_KERNEL(octavo::simt::kWarp* octavo::gpu::kBatonWarpsOfOneRow, 2)                                      \
  octavo_product_one_##name(octavo::gpu::ProductOfPanels m) {                                                      \
    using namespace octavo::gpu;                                                                                   \
    multiply_rows<octavo::DType::type, ScaleOrder::order, 1, kBatonWarpsOfOneRow>(m);                              \
  }                                                                                                                \
  OCTAVO_GPU_KERNEL(octavo::simt::kWarp* octavo::gpu::kBatonWarps, 2)                                              \
  octavo_product_few_##name(octavo::gpu::ProductOfPanels m) {                                                      \
    using namespace octavo::gpu;                                                                                   \
    multiply_rows<octavo::DType::type, ScaleOrder::order, 2, kBatonWarps>(m);                                      \
  }                                                                                                                \
  OCTAVO_GPU_KERNEL(octavo::simt::kWarp* octavo::gpu::kNarrowShape.warps(), 2)                                     \
  octavo_product_narrow_##name(octavo::gpu::ProductOfPanels m) {                                                   \
    using namespace octavo::gpu;                                                                                   \
    multiply_tiles<octavo::DType::type, ScaleOrder::order, kNarrowShape>(                                          \
        m, octavo::simt::block_y() * kNarrowShape.tiles());                                                        \
  }                                                                                                                \
  OCTAVO_GPU_KERNEL(octavo::simt::kWarp* octavo::gpu::wide_shape(octavo::DType::type).warps(), 2)                  \
  octavo_product_wide_##name(octavo::gpu::ProductOfPanels m) {                                                     \
    using namespace octavo::gpu;                                                                                   \
    constexpr TileShape shape = wide_shape(octavo::DType::type);                                                   \
    multiply_tiles<octavo::DType::type, ScaleOrder::order, shape>(m, octavo::simt::block_y() * shape.tiles());     \
  }                                                                                                                \
  OCTAVO_GPU_KERNEL(octavo::simt::kWarp* octavo::gpu::kBatonWarpsOfOneRow, 2)                                      \
  octavo_experts_one_##name(octavo::gpu::ProductOfExperts a) {                                                     \
    using namespace octavo::gpu;                                                                                   \
    const ProductOfPanels m = product_of_item(a);                                                                  \
    if (m.rows > 0) multiply_rows<octavo::DType::type, ScaleOrder::order, 1, kBatonWarpsOfOneRow>(m);              \
  }                                                                                                                \
  OCTAVO_GPU_KERNEL(octavo::simt::kWarp* octavo::gpu::kBatonWarps, 2)                                              \
  octavo_experts_few_##name(octavo::gpu::ProductOfExperts a) {                                                     \
    using namespace octavo::gpu;                                                                                   \
    const ProductOfPanels m = product_of_item(a);                                                                  \
    if (m.rows > 0) multiply_rows<octavo::DType::type, ScaleOrder::order, 2, kBatonWarps>(m);                      \
  }                                                                                                                \
  OCTAVO_GPU_KERNEL(octavo::simt::kWarp* octavo::gpu::kNarrowShape.warps(), 2)                                     \
  octavo_experts_narrow_##name(octavo::gpu::ProductOfExperts a) {                                                  \
    using namespace octavo::gpu;                                                                                   \
    const ProductOfPanels m = product_of_item(a);                                                                  \
    if (m.rows > 0) multiply_tiles<octavo::DType::type, ScaleOrder::order, kNarrowShape>(m, 0);                    \
  }                                                                                                                \
  OCTAVO_GPU_KERNEL(octavo::simt::kWarp* octavo::gpu::wide_shape(octavo::DType::type).warps(), 2)                  \
  octavo_experts_wide_##name(octavo::gpu::ProductOfExperts a) {                                                    \
    using namespace octavo::gpu;                                                                                   \
    const ProductOfPanels m = product_of_item(a);                                                                  \
    if (m.rows > 0) multiply_tiles<octavo::DType::type, ScaleOrder::order, wide_shape(octavo::DType::type)>(m, 0); \
  }
#define OCTAVO_GPU_DEFINE_FLOATS(X, name, type)                                                               \
  OCTAVO_GPU_KERNEL(octavo::simt::kWarp, 1) octavo_product_one_##name(octavo::gpu::ProductOfFloats m) {       \
    octavo::gpu::FloatsWarp<octavo::DType::type, 1>(m, octavo::simt::block_y()).run();                        \
  }                                                                                                           \
  OCTAVO_GPU_KERNEL(octavo::simt::kWarp, 1) octavo_product_few_##name(octavo::gpu::ProductOfFloats m) {       \
    using namespace octavo::gpu;                                                                              \
    FloatsWarp<octavo::DType::type, kFloatRows>(m, octavo::simt::block_y() * kFloatRows).run();               \
  }                                                                                                           \
  OCTAVO_GPU_KERNEL(octavo::simt::kWarp, 1) octavo_experts_one_##name(octavo::gpu::FloatProductOfExperts a) { \
    const octavo::gpu::ProductOfFloats m = octavo::gpu::product_of_item(a);                                   \
    if (m.rows > 0) octavo::gpu::FloatsWarp<octavo::DType::type, 1>(m, 0).run();                              \
  }                                                                                                           \
  OCTAVO_GPU_KERNEL(octavo::simt::kWarp, 1) octavo_experts_few_##name(octavo::gpu::FloatProductOfExperts a) { \
    const octavo::gpu::ProductOfFloats m = octavo::gpu::product_of_item(a);                                   \
    if (m.rows > 0) octavo::gpu::FloatsWarp<octavo::DType::type, octavo::gpu::kFloatRows>(m, 0).run();        \
  }
OCTAVO_GPU_FORMATS(OCTAVO_GPU_DEFINE_FORMAT, )
OCTAVO_GPU_FLOATS(OCTAVO_GPU_DEFINE_FLOATS, )
#undef OCTAVO_GPU_DEFINE_FORMAT
#undef OCTAVO_GPU_DEFINE_FLOATS
