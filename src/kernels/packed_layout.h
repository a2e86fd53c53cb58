// The memory layout of weights for the kernels: rows interleaved by sixteen.
//
// A panel holds 16 rows. Four consecutive weights of one row are a quad. A plane stores the same quad of all 16 rows
// next to each other (64 bytes when a weight takes a byte). So one broadcast of four activations meets 16 outputs, and
// nothing is summed across lanes. A panel is read from its first byte to its last, as one stream: K blocks in ascending
// order, in units of as many as it takes for their scales to be whole cache lines:
//
//     scales [blocks of the unit][scale_bytes]    each field as 16 values, one a row; padded to whole cache lines
//     quads  [blocks of the unit][quad_bytes]     in planes of 8, 4, 2 or 1 bits (see pack_block.h)
//
// Scales come first because they are needed first: nothing is read ahead of the stream. The last unit has the blocks
// that are left. The bytes are those of the file in another order, except for padding (the last panel, cache lines) and
// for Q4_1. Plain floats lie as [cols][16]. Plain header: kernels of every instruction set include it, so its functions
// have internal linkage: no unit may hand its code to another.
//
// A weight of Q4_1 is d q + m. Instead of halfs it has integers: its scales field is [16] pairs of int16 (s, t), and
// behind the last unit come 16 floats u, one a row, with
//
//     d = u s,  m = 8 u (t - s), so that a weight is u (s (q - 8) + 8 t)
//
// The sum of 32 products with q - 8 and the sum of the activations are int16 too. One instruction multiplies and adds
// two pairs of those: a multiply-add of floats less for every 32 products. The unit u is 1/32760 of the row's largest d
// or d + m / 8, so that s and t are as exact as the halfs of blocks near the largest.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "tensor/dtype_id.h"

namespace octavo {

inline constexpr int kPanelRows = 16;
inline constexpr int kQuad = 4;

/// The order of weights inside a panel's blocks. Blocks and their scales have the same bytes in both.
enum class PanelOrder : uint8_t {
  kQuads,    // as above
  kOutputs,  // the columns of an output lie together (kernels/output_order.h)
};

/// The bytes of one K block of a panel: `block` weights of 16 rows.
struct PackedBlock {
  int block;        // the weights of a row in a block
  int quad_bytes;   // 0 for plain floats
  int scale_bytes;  // for plain floats: the bytes of 16 elements
};

static inline constexpr PackedBlock packed_block(DType type) {
  switch (type) {
    case DType::kF32: return {1, 0, 64};
    case DType::kF16: return {1, 0, 32};
    case DType::kBF16: return {1, 0, 32};
    case DType::kQ4_0: return {32, 256, 32};
    case DType::kQ4_1: return {32, 256, 64};
    case DType::kQ5_0: return {32, 320, 32};
    case DType::kQ5_1: return {32, 320, 64};
    case DType::kQ8_0: return {32, 512, 32};
    case DType::kQ2_K: return {256, 1024, 320};
    case DType::kQ3_K: return {256, 1536, 224};
    case DType::kQ4_K: return {256, 2048, 256};
    case DType::kQ5_K: return {256, 2560, 256};
    case DType::kQ6_K: return {256, 3072, 288};
    case DType::kIQ4_NL: return {32, 256, 32};
    case DType::kIQ4_XS: return {256, 2048, 128};
    case DType::kTQ1_0: return {256, 832, 32};
    case DType::kTQ2_0: return {256, 1024, 32};
    case DType::kMXFP4: return {32, 256, 16};
    case DType::kNVFP4: return {64, 512, 64};
    case DType::kQ1_0: return {128, 256, 32};
    case DType::kQ2_0: return {64, 256, 32};
    case DType::kIQ2_XXS: return {256, 1024, 32};
    case DType::kIQ2_XS: return {256, 1024, 160};
    case DType::kIQ2_S: return {256, 1152, 160};
    case DType::kIQ3_XXS: return {256, 1536, 32};
    case DType::kIQ3_S: return {256, 1664, 96};
    case DType::kIQ1_S: return {256, 768, 32};
    case DType::kIQ1_M: return {256, 768, 128};
  }
  return {1, 0, 0};
}

// Blocks with numbers of groups of weights (tensor/codebooks.h) have no planes of weights. Their quads are
//
//     numbers  [32][16] bytes, of groups of 8 weights; [64][16] of groups of 4
//     signs    [8][16] words: bit l of byte c is the sign of weight c of quad 2 l of 32 weights, bit l + 4 of quad 2 l
//     + 1 more     bits of numbers beyond a byte, as in the file: [8][16] or [16][16] bytes; IQ1_S: [8][16] halfs
//
// and IQ1 has no signs. Where the file has 7 signs for 8 weights, bit l of byte l, the sign of weight l of group l, is
// left out: the number of signs is even. In place of these four bits are those of sc (IQ2_XXS, IQ3_XXS), or the ninth
// bits of the numbers (IQ2_XS).

/// The bytes of the numbers of groups in a block; 0 for other types.
static inline constexpr int group_number_bytes(DType type) {
  switch (type) {
    case DType::kIQ2_XXS:
    case DType::kIQ2_XS:
    case DType::kIQ2_S:
    case DType::kIQ1_S:
    case DType::kIQ1_M: return 512;
    case DType::kIQ3_XXS:
    case DType::kIQ3_S: return 1024;
    default: return 0;
  }
}

/// The bits of a word of signs that hold something else: bit l of byte l.
inline constexpr uint32_t kSignsLeftOut = 0x08040201;

static inline constexpr bool is_plain_float(DType type) {
  return type == DType::kF32 || type == DType::kF16 || type == DType::kBF16;
}

/// The K blocks in a unit: the scales of that many blocks are whole cache lines.
static inline constexpr int unit_blocks(DType type) {
  const int odd = packed_block(type).scale_bytes % 64;
  return odd == 0 ? 1 : odd % 32 == 0 ? 2 : 4;
}

/// The bytes before the quads of a unit of `blocks` blocks.
static inline constexpr int64_t unit_scale_bytes(DType type, int64_t blocks) {
  return (blocks * packed_block(type).scale_bytes + 63) / 64 * 64;
}

/// The places of the parts of a K block in its panel of `num_blocks`, in bytes.
struct BlockPlace {
  size_t quads, scales;
};
static inline constexpr BlockPlace place_of_block(DType type, int64_t num_blocks, int64_t block) {
  const PackedBlock b = packed_block(type);
  const int64_t unit = unit_blocks(type), first = block / unit * unit;
  const int64_t count = num_blocks - first < unit ? num_blocks - first : unit;
  const int64_t begin = first * (b.quad_bytes + b.scale_bytes);
  return {(size_t)(begin + unit_scale_bytes(type, count) + (block - first) * b.quad_bytes),
          (size_t)(begin + (block - first) * b.scale_bytes)};
}

/// Whether a block's scale and minimum are a pair of integers in units of its row.
static inline constexpr bool has_integer_scales(DType type) { return type == DType::kQ4_1; }

/// The end of a panel's blocks, in bytes, where the units of its rows are.
static inline constexpr size_t place_of_units(DType type, int64_t cols) {
  const PackedBlock block = packed_block(type);
  const size_t bytes = (size_t)(cols / block.block) * (size_t)(block.quad_bytes + block.scale_bytes);
  return (bytes + 63) / 64 * 64;
}

/// The distance from one panel to the next, in bytes.
static inline constexpr size_t panel_bytes(DType type, int64_t cols) {
  return place_of_units(type, cols) + (has_integer_scales(type) ? kPanelRows * sizeof(float) : 0);
}

}  // namespace octavo
