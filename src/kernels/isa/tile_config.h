// The shapes of matrix tiles, as the processor reads them. Plain header: kernels and the emulation include it.
#pragma once

#include <stdint.h>

namespace octavo {
namespace {

inline constexpr int kTileRegisters = 8;
inline constexpr int kTileMaxRows = 16, kTileRowBytes = 64;

/// The operand of the instruction that configures tiles.
struct alignas(64) TileConfig {
  uint8_t palette = 1, start_row = 0, reserved[14] = {};
  uint16_t bytes_of_row[16] = {};  // of each tile; 8 are there
  uint8_t rows[16] = {};
};
static_assert(sizeof(TileConfig) == 64);

}  // namespace
}  // namespace octavo
