// Packs blocks of 256 weights, which meet eight activation blocks of 32. A byte of the file holds the same weight of
// two, four or eight activation blocks. Fields are transposed so that a byte holds two, four or eight quads of one.
#include "kernels/pack_block.h"
#include "tensor/quant_blocks.h"

namespace octavo {
namespace {

/// Packs the nibbles of Q4_K and Q5_K: words 8 p .. 8 p + 7 hold activation block 2 p in low nibbles, 2 p + 1 in high.
void pack_nibbles(const BlockRows& rows, int offset, std::uint8_t* quads) {
  Words words[32];
  load_words(rows, offset, words);
  for (int pair = 0; pair < 4; ++pair)
    for (int i = 0; i < 4; ++i) transpose_fields<2>(&words[8 * pair + i], 4);
  for (int i = 0; i < 32; ++i) store_words(quads + 64 * i, words[i]);
}

/// Packs a plane of two bits per weight: words 8 h .. 8 h + 7 hold activation blocks 4 h .. 4 h + 3.
void pack_pairs(const BlockRows& rows, int offset, std::uint8_t* quads) {
  Words words[16];
  load_words(rows, offset, words);
  for (int i = 0; i < 16; i += 4) {
    transpose_fields<4>(&words[i]);
    const int half = i / 8, vector = i / 4 % 2;  // vector: which of the two vectors of an activation block
    for (int block = 0; block < 4; ++block)
      store_words(quads + 64 * (2 * (4 * half + block) + vector), words[i + block]);
  }
}

/// Packs one bit per weight: 8 words hold all activation blocks.
void pack_bits(const BlockRows& rows, int offset, std::uint8_t* quads) {
  Words words[8];
  load_words(rows, offset, words);
  transpose_fields<8>(words);
  for (int i = 0; i < 8; ++i) store_words(quads + 64 * i, words[i]);
}

}  // namespace

void pack_scales_k4(const BlockRows& rows, std::uint8_t* scales) {
  Words words[4];
  load_words(rows, 0, words);
  const Words &first_scales = words[1], &first_minima = words[2];  // sub-blocks 0 .. 3; the upper two bits are 4 .. 7's
  store_halves(words[0], scales, scales + 32);
  store_bytes((first_scales & 0x0F0F0F0F) | (first_minima & 0x0F0F0F0F) << 4, scales + 64);
  store_bytes(words[3], scales + 64 + 4 * kPanelRows);
  // Sub-blocks 0 .. 3 are in the lower nibbles, 4 .. 7 in the upper ones.
  const Words high = (first_scales >> 4 & 0x03030303) | (first_minima >> 2 & 0x0C0C0C0C) |
                     (first_scales >> 2 & 0x30303030) | (first_minima & 0xC0C0C0C0);
  Words fields[2] = {high & 0x00FF00FF, high >> 8 & 0x00FF00FF};  // bytes 0 and 2: even sub-blocks; odd ones
  transpose_fields<2>(fields);  // bytes 0 and 2: sub-blocks 0 and 1, 2 and 3; 4 and 5, 6 and 7
  store_bytes((fields[0] & 0xFF) | (fields[0] >> 8 & 0xFF00) | (fields[1] & 0xFF) << 16 | (fields[1] & 0xFF0000) << 8,
              scales + 192);
}

void pack_q2_k(const BlockRows& rows, std::uint8_t* quads, std::uint8_t* scales) {
  copy_halves(rows, offsetof(BlockQ2_K, d), scales);
  copy_halves(rows, offsetof(BlockQ2_K, dmin), scales + 32);
  copy_bytes<16>(rows, offsetof(BlockQ2_K, scales), scales + 64);
  pack_pairs(rows, offsetof(BlockQ2_K, qs), quads);
}

void pack_q3_k(const BlockRows& rows, std::uint8_t* quads, std::uint8_t* scales) {
  copy_halves(rows, offsetof(BlockQ3_K, d), scales);
  copy_bytes<12>(rows, offsetof(BlockQ3_K, scales), scales + 32);  // 8 of low nibbles, 4 of high pairs, as in the file
  pack_pairs(rows, offsetof(BlockQ3_K, qs), quads);
  pack_bits(rows, offsetof(BlockQ3_K, hmask), quads + 1024);
}

void pack_q4_k(const BlockRows& rows, std::uint8_t* quads, std::uint8_t* scales) {
  static_assert(offsetof(BlockQ4_K, d) == 0 && offsetof(BlockQ4_K, scales) == 4);
  pack_scales_k4(rows, scales);
  pack_nibbles(rows, offsetof(BlockQ4_K, qs), quads);
}

void pack_q5_k(const BlockRows& rows, std::uint8_t* quads, std::uint8_t* scales) {
  static_assert(offsetof(BlockQ5_K, d) == 0 && offsetof(BlockQ5_K, scales) == 4);
  pack_scales_k4(rows, scales);
  pack_nibbles(rows, offsetof(BlockQ5_K, qs), quads);
  pack_bits(rows, offsetof(BlockQ5_K, qh), quads + 2048);
}

void pack_q6_k(const BlockRows& rows, std::uint8_t* quads, std::uint8_t* scales) {
  copy_halves(rows, offsetof(BlockQ6_K, d), scales);
  copy_bytes<16>(rows, offsetof(BlockQ6_K, scales), scales + 32);
  Words words[32];
  load_words(rows, offsetof(BlockQ6_K, ql), words);
  for (int i = 0; i < 32; i += 8) {  // two activation blocks, the second 64 weights on: 0 and 2, 1 and 3, 4 and 6, ...
    const int block = i / 16 * 4 + i / 8 % 2;
    for (int j = 0; j < 4; ++j) {
      transpose_fields<2>(&words[i + j], 4);
      store_words(quads + 256 * block + 64 * j, words[i + j]);
      store_words(quads + 256 * (block + 2) + 64 * j, words[i + j + 4]);
    }
  }
  pack_pairs(rows, offsetof(BlockQ6_K, qh), quads + 2048);
}

void pack_scales_iq4_xs(const BlockRows& rows, std::uint8_t* scales) {
  copy_halves(rows, offsetof(BlockIQ4_XS, d), scales);
  copy_bytes<4>(rows, offsetof(BlockIQ4_XS, scales_l), scales + 32);
  for (int row = 0; row < kPanelRows; ++row)
    for (int i = 0; i < 2; ++i) scales[96 + i * kPanelRows + row] = rows[row][offsetof(BlockIQ4_XS, scales_h) + i];
}

void pack_iq4_xs(const BlockRows& rows, std::uint8_t* quads, std::uint8_t* scales) {
  pack_scales_iq4_xs(rows, scales);
  Words words[32];  // quads j and j + 4 of an activation block share a byte already
  load_words(rows, offsetof(BlockIQ4_XS, qs), words);
  for (int i = 0; i < 32; ++i) store_words(quads + 64 * i, words[i]);
}

}  // namespace octavo
