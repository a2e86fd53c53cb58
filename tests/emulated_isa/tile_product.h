// One product of matrix tiles, by the emulation and by the processor (tile_product.cc is compiled for both).
#pragma once

#include <cstdint>

namespace octavo {

/// A product of signed bytes, or of bf16 where `is_bf16`.
struct TileProductCase {
  int rows, bytes, columns;  // of A: rows and bytes of a row; 32-bit columns of B and of the sums
  const std::uint8_t* a;     // [rows][bytes]
  const std::uint8_t* b;     // [bytes / 4][columns][4]
  bool is_bf16 = false;
};

}  // namespace octavo

extern "C" {
/// Adds the product to sums, [rows][columns]: integers, or floats by their bits.
void octavo_tile_product(const octavo::TileProductCase& product, std::int32_t* sums);
void octavo_tile_product_emulated(const octavo::TileProductCase& product, std::int32_t* sums);
}
