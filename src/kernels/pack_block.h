// The building blocks of packing: reading a K block of 16 rows as vectors of 32-bit words, one word for each row, and
// the moves of bits that make packed planes of the planes of the file's formats.
//
// A quad, four neighbouring weights of a row, never leaves its 32-bit word in any format (but for the bits of Q5_0,
// Q5_1, Q1_0 and Q2_0). So rows are read word by word and transposed: the same word of all rows is one vector of 64
// bytes, as in the packed planes. Bits are moved for 16 rows at once. In a plane quads are in ascending order, and 8 /
// bits quads share a vector; but a vector of nibbles holds the quads j and j + 4 of 32 weights. Only
// src/kernels/pack*.cc includes this header; pure functions.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "kernels/packed_layout.h"

namespace octavo {

/// One K block of all rows of a panel: the beginnings of each row's bytes. Rows of padding point at zeros.
using BlockRows = std::array<const std::uint8_t*, kPanelRows>;

/// Packs one K block: all bytes of its quads and of its scales are written.
using PackBlockFn = void(const BlockRows& rows, std::uint8_t* quads, std::uint8_t* scales);

// Blocks of 32 weights (pack_small.cc).
PackBlockFn pack_q4_0, pack_q4_1, pack_q5_0, pack_q5_1, pack_q8_0, pack_iq4_nl, pack_mxfp4, pack_nvfp4;
/// Turns the scales and minimums of a packed panel into integers in units of its rows, written after its blocks.
void unite_q4_1_scales(std::uint8_t* panel, std::int64_t num_blocks);
// Blocks of 256 weights with scales of their own inside (pack_k.cc).
PackBlockFn pack_q2_k, pack_q3_k, pack_q4_k, pack_q5_k, pack_q6_k, pack_iq4_xs;
/// Packs the scales of Q4_K and Q5_K. The file has d, dmin and 12 bytes of scales and minima of 6 bits (see
/// unpack_scales_k4); packed are d, dmin, 8 fields with a sub-block's low nibbles, 4 with the high pairs of two
/// sub-blocks each.
void pack_scales_k4(const BlockRows& rows, std::uint8_t* scales);
void pack_scales_iq4_xs(const BlockRows& rows, std::uint8_t* scales);
// Blocks of codebook numbers, one for each group of weights (pack_codebook.cc).
PackBlockFn pack_iq2_xxs, pack_iq2_xs, pack_iq2_s, pack_iq3_xxs, pack_iq3_s, pack_iq1_s, pack_iq1_m;
// Ternary and 1-bit weights (pack_low_bit.cc).
PackBlockFn pack_tq1_0, pack_tq2_0, pack_q1_0, pack_q2_0;
// The order of outputs (pack_outputs.cc).
PackBlockFn pack_outputs_q4_0, pack_outputs_q4_1, pack_outputs_q5_0, pack_outputs_q5_1, pack_outputs_q8_0,
    pack_outputs_q4_k, pack_outputs_q5_k, pack_outputs_q6_k, pack_outputs_iq4_nl, pack_outputs_iq4_xs,
    pack_outputs_mxfp4;

/// The 32-bit words at one offset of each row.
typedef std::uint32_t Words __attribute__((vector_size(4 * kPanelRows)));

inline void store_words(std::uint8_t* out, const Words& words) { std::memcpy(out, &words, sizeof(words)); }

/// Loads N words of every row from byte `offset` on. Four words of four rows are transposed in registers at a time.
template <int N>
inline void load_words(const BlockRows& rows, int offset, Words (&words)[N]) {
  static_assert(N % 4 == 0);
  typedef std::uint32_t Four __attribute__((vector_size(16)));
  for (int row = 0; row < kPanelRows; row += 4)
    for (int n = 0; n < N; n += 4) {
      Four in[4];
      for (int i = 0; i < 4; ++i) std::memcpy(&in[i], rows[row + i] + offset + 4 * n, sizeof(Four));
      const Four ab01 = __builtin_shufflevector(in[0], in[1], 0, 4, 1, 5);
      const Four ab23 = __builtin_shufflevector(in[0], in[1], 2, 6, 3, 7);
      const Four cd01 = __builtin_shufflevector(in[2], in[3], 0, 4, 1, 5);
      const Four cd23 = __builtin_shufflevector(in[2], in[3], 2, 6, 3, 7);
      const Four out[4] = {
          __builtin_shufflevector(ab01, cd01, 0, 1, 4, 5), __builtin_shufflevector(ab01, cd01, 2, 3, 6, 7),
          __builtin_shufflevector(ab23, cd23, 0, 1, 4, 5), __builtin_shufflevector(ab23, cd23, 2, 3, 6, 7)};
      for (int i = 0; i < 4; ++i)
        std::memcpy(reinterpret_cast<std::uint8_t*>(&words[n + i]) + 4 * row, &out[i], sizeof(Four));
    }
}

/// Loads one word of every row, where four would reach beyond the block.
inline void load_word(const BlockRows& rows, int offset, Words& words) {
  for (int row = 0; row < kPanelRows; ++row)
    std::memcpy(reinterpret_cast<std::uint8_t*>(&words) + 4 * row, rows[row] + offset, 4);
}

/// Copies the 16-bit field at `offset` of every row.
inline void copy_halves(const BlockRows& rows, int offset, std::uint8_t* out) {
  for (int row = 0; row < kPanelRows; ++row) std::memcpy(out + 2 * row, rows[row] + offset, 2);
}

/// Stores the low and the high halves of the words as two fields of 16-bit values.
inline void store_halves(const Words& words, std::uint8_t* low, std::uint8_t* high) {
  for (int row = 0; row < kPanelRows; ++row) {
    const std::uint32_t word = words[row];
    const auto l = static_cast<std::uint16_t>(word), h = static_cast<std::uint16_t>(word >> 16);
    std::memcpy(low + 2 * row, &l, 2);
    std::memcpy(high + 2 * row, &h, 2);
  }
}

/// Stores the four bytes of each word as four fields of 16 bytes.
inline void store_bytes(const Words& words, std::uint8_t* out) {
  for (int row = 0; row < kPanelRows; ++row)
    for (int i = 0; i < 4; ++i) out[i * kPanelRows + row] = static_cast<std::uint8_t>(words[row] >> (8 * i));
}

/// Copies N fields of one byte in each row, from byte `offset` on.
template <int N>
inline void copy_bytes(const BlockRows& rows, int offset, std::uint8_t* out) {
  for (int i = 0; i < N; i += 4) {
    Words words;
    load_word(rows, offset + i, words);
    store_bytes(words, out + kPanelRows * i);
  }
}

/// Transposes fields: each byte of N words is N fields of 8 / N bits, and field j of word i goes to field i of word j.
/// A byte of the file holds the same weight of N activation blocks; a byte of a packed plane then holds the weight of N
/// quads of one block.
template <int N>
inline void transpose_fields(Words* words, int stride = 1) {
  for (int step = N / 2, shift = 4; step > 0; step /= 2, shift /= 2) {
    const std::uint32_t low = 0xFFFFFFFFU / ((1U << shift) + 1);  // it selects the lower half of every 2 * shift bits
    for (int i = 0; i < N; ++i) {
      if ((i & step) != 0) continue;
      Words &a = words[i * stride], &b = words[(i + step) * stride];
      const Words moved = (a >> shift ^ b) & low;
      b ^= moved;
      a ^= moved << shift;
    }
  }
}

/// Exchanges each bit under `mask` with the bit `shift` places above it; with a suitable mask, this exchanges two
/// digits of the bits' numbers.
inline void exchange_bits(Words& word, int shift, std::uint32_t mask) {
  const Words moved = (word >> shift ^ word) & mask;
  word ^= moved ^ moved << shift;
}

/// Moves the bits of a word whose bit i belongs to weight i: afterwards bit l of byte c belongs to weight c of quad 2
/// l, and bit l + 4 to weight c of quad 2 l + 1.
inline void transpose_bits_of_groups(Words& word) {
  exchange_bits(word, 14, 0x0000CCCC);
  exchange_bits(word, 7, 0x00AA00AA);
}

/// Moves the bits of a word whose bits 2 i and 2 i + 1 belong to weight i: afterwards bits 2 j and 2 j + 1 of byte c
/// belong to weight c of quad j.
inline void transpose_pairs(Words& word) {
  exchange_bits(word, 12, 0x0000F0F0);
  exchange_bits(word, 6, 0x00CC00CC);
}

/// Moves the bits of a word whose bit i belongs to weight i: afterwards bit j of byte c belongs to weight c of quad j.
/// So the number 4 j + c of a bit becomes 8 c + j.
inline void transpose_bits(Words& word) {
  transpose_bits_of_groups(word);
  exchange_bits(word, 2, 0x0C0C0C0C);
  exchange_bits(word, 1, 0x22222222);
}

}  // namespace octavo
