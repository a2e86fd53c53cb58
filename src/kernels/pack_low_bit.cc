// Packs ternary, 1-bit and 2-bit weights: vectors of a panel are words of the file; only Q1_0 and Q2_0 move bits. The
// meaning of the words is written at the code that reads them (generic/matmul_low_bit.inl).
#include "kernels/pack_block.h"
#include "tensor/quant_blocks.h"

namespace octavo {
namespace {

template <int N>
void copy_words(const BlockRows& rows, int offset, std::uint8_t* quads) {
  Words words[N];
  load_words(rows, offset, words);
  for (int i = 0; i < N; ++i) store_words(quads + 64 * i, words[i]);
}

}  // namespace

void pack_tq1_0(const BlockRows& rows, std::uint8_t* quads, std::uint8_t* scales) {
  copy_halves(rows, offsetof(BlockTQ1_0, d), scales);
  copy_words<12>(rows, offsetof(BlockTQ1_0, qs), quads);
  Words last;
  load_word(rows, offsetof(BlockTQ1_0, qh), last);
  store_words(quads + 12 * 64, last);
}

void pack_tq2_0(const BlockRows& rows, std::uint8_t* quads, std::uint8_t* scales) {
  copy_halves(rows, offsetof(BlockTQ2_0, d), scales);
  copy_words<16>(rows, offsetof(BlockTQ2_0, qs), quads);
}

/// Bits 2 g and 2 g + 1 of vector i belong to quads 2 i and 2 i + 1 of word g of the file, which is 32 weights.
void pack_q1_0(const BlockRows& rows, std::uint8_t* quads, std::uint8_t* scales) {
  copy_halves(rows, offsetof(BlockQ1_0, d), scales);
  Words words[4];
  load_words(rows, offsetof(BlockQ1_0, qs), words);
  for (Words& word : words) transpose_bits(word);
  transpose_fields<4>(words);
  for (int i = 0; i < 4; ++i) store_words(quads + 64 * i, words[i]);
}

/// A word is 16 weights, a byte of it a quad. Fields 2 g and 2 g + 1 of vector i belong to quads 2 i and 2 i + 1 of
/// words 2 g and 2 g + 1 of the file, which are 32 weights.
void pack_q2_0(const BlockRows& rows, std::uint8_t* quads, std::uint8_t* scales) {
  copy_halves(rows, offsetof(BlockQ2_0, d), scales);
  Words words[4];
  load_words(rows, offsetof(BlockQ2_0, qs), words);
  for (Words& word : words) transpose_pairs(word);
  transpose_fields<2>(words, 2);
  transpose_fields<2>(words + 1, 2);
  constexpr int kPlaces[] = {0, 2, 1, 3};  // word i has quads 4 (i % 2) + 2 (i / 2) and the next one
  for (int i = 0; i < 4; ++i) store_words(quads + std::ptrdiff_t{64} * kPlaces[i], words[i]);
}

}  // namespace octavo
