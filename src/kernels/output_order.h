// The order PanelOrder::kOutputs of the weights in a panel's blocks: the columns of an output lie together, so that
// they become one vector (generic/weights_of_outputs.inl). Scales lie as in the other order, but Q4_1 has its halfs d
// and m.
//
// 32 columns of a type's fields of n bits are a plane of n 64 bytes. Column c and column 16 + c are pair c, and pairs
// lie in ascending order, as words of four bytes that hold them for some outputs:
//
//     bytes       8 rows of words, [2 outputs][2 columns] bytes to a word: weights plus 128
//     nibbles     4 of them, [4 outputs] bytes to a word: the first column in the low nibble, as Q4_0's file has it
//     two bits    2 of them, [2 columns][8 outputs] fields of two bits to a word
//     one bit     1 of them, [2 columns][16 outputs] bits to a word
//
// where a row of words has 16, one for each pair. Blocks of 256 weights have a plane's eight parts of 32 columns one
// after another, and planes in the order: nibbles, then the upper bits. Plain header: kernels of every instruction set
// include it, so its functions have internal linkage.
#pragma once

#include "kernels/packed_layout.h"

namespace octavo {

/// The bits of a weight: the fields that its planes have.
struct OutputPlanes {
  int low, high;  // bits of the first plane and of the second one
};
static inline constexpr OutputPlanes output_planes(DType type) {
  switch (type) {
    case DType::kQ4_0:
    case DType::kQ4_1:
    case DType::kQ4_K:
    case DType::kIQ4_NL:
    case DType::kIQ4_XS:
    case DType::kMXFP4: return {4, 0};
    case DType::kQ5_0:
    case DType::kQ5_1:
    case DType::kQ5_K: return {4, 1};
    case DType::kQ6_K: return {4, 2};
    case DType::kQ8_0: return {8, 0};
    default: return {0, 0};
  }
}
/// Whether a type's panels can lie in this order.
static inline constexpr bool has_output_order(DType type) { return output_planes(type).low != 0; }

/// The bytes of 32 columns in a plane of fields of `bits` bits.
static inline constexpr int plane_bytes(int bits) { return bits * 64; }
/// The place of the second plane in a block.
static inline constexpr int high_plane(DType type) {
  return packed_block(type).block / 32 * plane_bytes(output_planes(type).low);
}

/// The field of `bits` bits of an output's column, in 32 columns of its plane.
static inline int field_of(const uint8_t* plane, int bits, int output, int column) {
  const int of_row = 16 / bits, half = column / 16;  // the outputs of a row of words
  uint32_t word;
  __builtin_memcpy(&word, plane + output / of_row * 64 + column % 16 * 4, 4);
  const int in_row = output % of_row;
  const int shift = bits >= 4 ? 2 * bits * in_row + bits * half : 16 * half + bits * in_row;
  return (int)(word >> shift & ((1U << bits) - 1));
}
/// The weight's unsigned number in part `part` of 32 columns of a block.
static inline int number_of(DType type, const uint8_t* quads, int part, int output, int column) {
  const OutputPlanes planes = output_planes(type);
  int number = field_of(quads + part * plane_bytes(planes.low), planes.low, output, column);
  if (planes.high > 0)
    number |= field_of(quads + high_plane(type) + part * plane_bytes(planes.high), planes.high, output, column) << 4;
  return number;
}

}  // namespace octavo
