// One product by the names of kernels/isa/tiles_amx.h, of the processor or of the emulation.
#include "kernels/isa/tiles_amx.h"

#include "emulated_isa/tile_product.h"

extern "C" void octavo_tile_product(const octavo::TileProductCase& product, std::int32_t* sums) {
  octavo::TileConfig config;
  const int columns = product.columns;
  for (int t = 0; t < 3; ++t) config.rows[t] = static_cast<std::uint8_t>(t == 2 ? product.bytes / 4 : product.rows);
  for (int t = 0; t < 3; ++t) config.bytes_of_row[t] = static_cast<std::uint16_t>(t == 1 ? product.bytes : 4 * columns);
  octavo::tiles_configure(config);
  octavo::tile_load<0>(sums, 4 * columns);
  octavo::tile_load<1>(product.a, product.bytes);
  octavo::tile_load<2>(product.b, 4 * columns);
  if (product.is_bf16) {
    octavo::tile_dot_bf16<0, 1, 2>();
  } else {
    octavo::tile_dot<0, 1, 2>();
  }
  octavo::tile_store<0>(sums, 4 * columns);
  octavo::tiles_release();
}
