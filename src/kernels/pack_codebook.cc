// Packs blocks of codebook numbers, one for each group of weights. Numbers are copied; the bits of signs are moved so
// that a byte holds the signs of the same weight of eight quads, and a sign that follows from others gives its place to
// other bits.
#include "kernels/pack_block.h"
#include "tensor/quant_blocks.h"

namespace octavo {
namespace {

/// Adds the eighth sign to each of 4 groups with 7 signs: an even number of the bits of each byte is set.
void add_eighth_signs(Words& signs) {
  Words odd = signs ^ signs >> 4;  // the lowest bit of each byte says whether it has an odd number of signs
  odd ^= odd >> 2;
  odd ^= odd >> 1;
  signs |= (odd & 0x01010101) << 7;
}

/// Stores signs in the order of weights, with four other bits in place of the signs that are left out: bit l of byte l.
void store_signs(const Words& by_group, const Words& others, std::uint8_t* out) {
  Words signs = by_group;
  transpose_bits_of_groups(signs);
  store_words(out, (signs & ~kSignsLeftOut) | others);
}

/// Packs words that have 4 times 7 signs of groups, and 4 bits above them.
void pack_signs_and_scales(const BlockRows& rows, int offset, int stride, std::uint8_t* out) {
  for (int g = 0; g < 8; ++g) {
    Words word;
    load_word(rows, offset + g * stride, word);
    Words signs = (word & 0x7F) | (word & 0x3F80) << 1 | (word & 0x1FC000) << 2 | (word & 0xFE00000) << 3;
    add_eighth_signs(signs);
    store_signs(signs, (word >> 28) * 0x01010101 & kSignsLeftOut, out + 64 * g);
  }
}

/// Packs eight signs for each group.
void pack_whole_signs(const BlockRows& rows, int offset, std::uint8_t* out) {
  Words words[8];
  load_words(rows, offset, words);
  for (int g = 0; g < 8; ++g) {
    transpose_bits_of_groups(words[g]);
    store_words(out + 64 * g, words[g]);
  }
}

/// Packs words that have the numbers of two groups, of 9 bits each, with 7 signs above each number.
void pack_numbers_of_9_bits(const Words& first, const Words& second, std::uint8_t* numbers, std::uint8_t* out) {
  store_bytes((first & 0xFF) | (first >> 8 & 0xFF00) | (second & 0xFF) << 16 | (second & 0xFF0000) << 8, numbers);
  Words signs = (first >> 9 & 0x7F) | (first >> 25) << 8 | (second >> 9 & 0x7F) << 16 | (second >> 25) << 24;
  add_eighth_signs(signs);
  const Words ninth = (first >> 8 & 1) | (first >> 24 & 1) << 9 | (second >> 8 & 1) << 18 | (second >> 24 & 1) << 27;
  store_signs(signs, ninth, out);
}

}  // namespace

void pack_iq2_xxs(const BlockRows& rows, std::uint8_t* quads, std::uint8_t* scales) {
  constexpr int kParts = offsetof(BlockIQ2_XXS, parts), kPart = sizeof(BlockIQ2_XXS::parts) / 8;
  copy_halves(rows, offsetof(BlockIQ2_XXS, d), scales);
  for (int g = 0; g < 8; ++g) copy_bytes<4>(rows, kParts + g * kPart, quads + 64 * g);
  pack_signs_and_scales(rows, kParts + 4, kPart, quads + 512);
}

void pack_iq2_xs(const BlockRows& rows, std::uint8_t* quads, std::uint8_t* scales) {
  copy_halves(rows, offsetof(BlockIQ2_XS, d), scales);
  copy_bytes<8>(rows, offsetof(BlockIQ2_XS, scales), scales + 32);
  Words words[16];
  load_words(rows, offsetof(BlockIQ2_XS, groups), words);
  for (int g = 0; g < 8; ++g)
    pack_numbers_of_9_bits(words[2 * g], words[2 * g + 1], quads + 64 * g, quads + 512 + 64 * g);
}

void pack_iq2_s(const BlockRows& rows, std::uint8_t* quads, std::uint8_t* scales) {
  copy_halves(rows, offsetof(BlockIQ2_S, d), scales);
  copy_bytes<8>(rows, offsetof(BlockIQ2_S, scales), scales + 32);
  copy_bytes<32>(rows, offsetof(BlockIQ2_S, groups), quads);
  pack_whole_signs(rows, offsetof(BlockIQ2_S, signs), quads + 512);
  copy_bytes<8>(rows, offsetof(BlockIQ2_S, groups_h), quads + 1024);
}

void pack_iq3_xxs(const BlockRows& rows, std::uint8_t* quads, std::uint8_t* scales) {
  copy_halves(rows, offsetof(BlockIQ3_XXS, d), scales);
  copy_bytes<64>(rows, offsetof(BlockIQ3_XXS, groups), quads);
  pack_signs_and_scales(rows, offsetof(BlockIQ3_XXS, signs_and_scales), 4, quads + 1024);
}

void pack_iq3_s(const BlockRows& rows, std::uint8_t* quads, std::uint8_t* scales) {
  copy_halves(rows, offsetof(BlockIQ3_S, d), scales);
  copy_bytes<4>(rows, offsetof(BlockIQ3_S, scales), scales + 32);
  copy_bytes<64>(rows, offsetof(BlockIQ3_S, groups), quads);
  pack_whole_signs(rows, offsetof(BlockIQ3_S, signs), quads + 1024);
  copy_bytes<8>(rows, offsetof(BlockIQ3_S, groups_h), quads + 1536);
}

void pack_iq1_s(const BlockRows& rows, std::uint8_t* quads, std::uint8_t* scales) {
  copy_halves(rows, offsetof(BlockIQ1_S, d), scales);
  copy_bytes<32>(rows, offsetof(BlockIQ1_S, groups), quads);
  for (int g = 0; g < 8; ++g) copy_halves(rows, offsetof(BlockIQ1_S, groups_h) + 2 * g, quads + 512 + 32 * g);
}

void pack_iq1_m(const BlockRows& rows, std::uint8_t* quads, std::uint8_t* scales) {
  for (int i = 0; i < 4; ++i) copy_halves(rows, offsetof(BlockIQ1_M, scales) + 2 * i, scales + 32 * i);
  copy_bytes<32>(rows, offsetof(BlockIQ1_M, groups), quads);
  copy_bytes<16>(rows, offsetof(BlockIQ1_M, groups_h), quads + 512);
}

}  // namespace octavo
