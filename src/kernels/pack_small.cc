// Packs blocks of 32 weights with one scale, or a scale and a minimum. Their nibbles already share a byte as packed
// ones do: quads j and j + 4.
#include <limits>

#include "kernels/pack_block.h"
#include "tensor/quant_blocks.h"

namespace octavo {
namespace {

void copy_nibbles(const BlockRows& rows, int offset, std::uint8_t* quads) {
  Words words[4];
  load_words(rows, offset, words);
  for (int i = 0; i < 4; ++i) store_words(quads + 64 * i, words[i]);
}

void pack_fifth_bits(const BlockRows& rows, int offset, std::uint8_t* plane) {
  Words bits;
  load_word(rows, offset, bits);
  transpose_bits(bits);
  store_words(plane, bits);
}

// Four rows at a time, because GCC compares and converts wider vectors element by element.
constexpr int kRows = 4, kParts = kPanelRows / kRows;
typedef float Floats __attribute__((vector_size(4 * kRows)));
typedef std::int32_t Ints __attribute__((vector_size(4 * kRows)));

/// The scales and minimums of a block, four rows in each part.
struct BlockScales {
  Floats d[kParts], m[kParts];
};

/// Loads halfs of four rows, and marks the ones that are not finite. (Vectors go by reference: how they are passed by
/// value depends on the instruction set.)
void load_halves(const std::uint8_t* from, Floats& values, Ints& not_finite) {
  typedef std::uint16_t Halves __attribute__((vector_size(2 * kRows)));
  Halves halves;
  std::memcpy(&halves, from, sizeof(halves));
  const Ints h = __builtin_convertvector(halves, Ints);
  not_finite |= (h & 0x7C00) == 0x7C00;
  // The exponent bits as they stand are 112 too small, which the product mends, also for subnormal halfs.
  values = reinterpret_cast<Floats>((h & 0x7FFF) << 13 | (h & 0x8000) << 16) * 0x1p112F;
}

void load_scales(const std::uint8_t* from, BlockScales& scales, Ints (&not_finite)[kParts]) {
  for (int i = 0; i < kParts; ++i) {
    load_halves(from + 2 * kRows * i, scales.d[i], not_finite[i]);
    load_halves(from + 2 * (kPanelRows + kRows * i), scales.m[i], not_finite[i]);
  }
}

void raise_to(Floats& largest, const Floats& x) {
  const Floats magnitude = x < 0 ? -x : x;
  largest = largest < magnitude ? magnitude : largest;
}

void round(const Floats& x, Ints& out) {
  const float no_fraction = 0x1.8p23F;  // floats as large as this have no fraction
  out = __builtin_convertvector(x + no_fraction - no_fraction, Ints);
}

}  // namespace

void unite_q4_1_scales(std::uint8_t* panel, std::int64_t num_blocks) {
  constexpr PackedBlock kBlock = packed_block(DType::kQ4_1);
  constexpr int kBlockBytes = kBlock.quad_bytes + kBlock.scale_bytes;
  static_assert(unit_blocks(DType::kQ4_1) == 1);
  BlockScales of_block;
  Floats largest[kParts] = {}, inverse[kParts], unit[kParts];
  Ints not_finite[kParts] = {};
  for (std::int64_t b = 0; b < num_blocks; ++b) {
    load_scales(panel + b * kBlockBytes, of_block, not_finite);
    for (int i = 0; i < kParts; ++i) {
      raise_to(largest[i], of_block.d[i]);
      raise_to(largest[i], of_block.d[i] + of_block.m[i] * 0.125F);
    }
  }
  for (int i = 0; i < kParts; ++i) {
    inverse[i] = largest[i] > 0 ? 32760 / largest[i] : Floats{};
    unit[i] = not_finite[i] != 0 ? Floats{} + std::numeric_limits<float>::quiet_NaN() : largest[i] / 32760;
  }
  for (std::int64_t b = 0; b < num_blocks; ++b) {
    std::uint8_t* scales = panel + b * kBlockBytes;
    load_scales(scales, of_block, not_finite);  // all of them are loaded first: the pairs take their place
    for (int i = 0; i < kParts; ++i) {
      Ints s, t;
      round(of_block.d[i] * inverse[i], s);
      round(of_block.m[i] * 0.125F * inverse[i] + __builtin_convertvector(s, Floats), t);
      const Ints pairs = (s & 0xFFFF) | t << 16;
      std::memcpy(scales + 4 * kRows * i, &pairs, sizeof(pairs));
    }
  }
  std::memcpy(panel + num_blocks * kBlockBytes, &unit, sizeof(unit));
}

void pack_q4_0(const BlockRows& rows, std::uint8_t* quads, std::uint8_t* scales) {
  copy_halves(rows, offsetof(BlockQ4_0, d), scales);
  copy_nibbles(rows, offsetof(BlockQ4_0, qs), quads);
}

void pack_iq4_nl(const BlockRows& rows, std::uint8_t* quads, std::uint8_t* scales) {
  copy_halves(rows, offsetof(BlockIQ4_NL, d), scales);
  copy_nibbles(rows, offsetof(BlockIQ4_NL, qs), quads);
}

void pack_q4_1(const BlockRows& rows, std::uint8_t* quads, std::uint8_t* scales) {
  copy_halves(rows, offsetof(BlockQ4_1, d), scales);
  copy_halves(rows, offsetof(BlockQ4_1, m), scales + 32);
  copy_nibbles(rows, offsetof(BlockQ4_1, qs), quads);
}

void pack_q5_0(const BlockRows& rows, std::uint8_t* quads, std::uint8_t* scales) {
  copy_halves(rows, offsetof(BlockQ5_0, d), scales);
  copy_nibbles(rows, offsetof(BlockQ5_0, qs), quads);
  pack_fifth_bits(rows, offsetof(BlockQ5_0, qh), quads + 256);
}

void pack_q5_1(const BlockRows& rows, std::uint8_t* quads, std::uint8_t* scales) {
  copy_halves(rows, offsetof(BlockQ5_1, d), scales);
  copy_halves(rows, offsetof(BlockQ5_1, m), scales + 32);
  copy_nibbles(rows, offsetof(BlockQ5_1, qs), quads);
  pack_fifth_bits(rows, offsetof(BlockQ5_1, qh), quads + 256);
}

void pack_q8_0(const BlockRows& rows, std::uint8_t* quads, std::uint8_t* scales) {
  copy_halves(rows, offsetof(BlockQ8_0, d), scales);
  Words words[8];
  load_words(rows, offsetof(BlockQ8_0, qs), words);
  for (int i = 0; i < 8; ++i) store_words(quads + 64 * i, words[i] ^ 0x80808080);  // adds 128 to each byte
}

/// Sub-blocks of 16 weights have nibbles of their own: two words, of quads 0 and 2, and 1 and 3.
void pack_nvfp4(const BlockRows& rows, std::uint8_t* quads, std::uint8_t* scales) {
  copy_bytes<4>(rows, offsetof(BlockNVFP4, scales), scales);
  for (int i = 0; i < 4 * kPanelRows; ++i)
    if (scales[i] == 0x7F) scales[i] = 0;  // the one scale that is not finite
  Words words[8];
  load_words(rows, offsetof(BlockNVFP4, qs), words);
  for (int i = 0; i < 8; ++i) store_words(quads + 64 * i, words[i]);
}

void pack_mxfp4(const BlockRows& rows, std::uint8_t* quads, std::uint8_t* scales) {
  for (int row = 0; row < kPanelRows; ++row) scales[row] = rows[row][offsetof(BlockMXFP4, e)];
  copy_nibbles(rows, offsetof(BlockMXFP4, qs), quads);
}

}  // namespace octavo
