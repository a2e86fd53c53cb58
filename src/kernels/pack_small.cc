// Blocks of 32 weights with one scale, or a scale and a minimum. Their nibbles already share a byte as packed ones do,
// the quads j and j + 4.
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
  turn_bits(bits);
  store_words(plane, bits);
}

}  // namespace

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
  for (int i = 0; i < 8; ++i) store_words(quads + 64 * i, words[i] ^ 0x80808080);  // plus 128
}

void pack_mxfp4(const BlockRows& rows, std::uint8_t* quads, std::uint8_t* scales) {
  for (int row = 0; row < kPanelRows; ++row) scales[row] = rows[row][offsetof(BlockMXFP4, e)];
  copy_nibbles(rows, offsetof(BlockMXFP4, qs), quads);
}

}  // namespace octavo
