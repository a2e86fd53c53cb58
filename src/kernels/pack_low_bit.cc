// Ternary and 1-bit weights.
#include "kernels/pack_block.h"
#include "tensor/quant_blocks.h"

namespace octavo {
namespace {

/// The same quad of all rows: 64 weights or bytes.
using Quad = std::array<std::uint8_t, kQuad * kPanelRows>;

/// Digit `digit` of bytes that hold base-3 digits as a fraction of 256, the first one the most significant.
void take_digit(const Words& words, int digit, Quad& out) {
  constexpr std::uint8_t kPow3[] = {1, 3, 9, 27, 81};
  Quad bytes;
  std::memcpy(bytes.data(), &words, bytes.size());
  for (std::size_t i = 0; i < bytes.size(); ++i)
    out[i] = static_cast<std::uint8_t>(static_cast<std::uint8_t>(bytes[i] * kPow3[digit]) * 3 >> 8);
}

/// The digits of a block, [quad]; see BlockTQ1_0.
void take_trits(const BlockRows& rows, std::array<Quad, 64>& quads) {
  Words words[12], last;
  load_words(rows, offsetof(BlockTQ1_0, qs), words);
  load_word(rows, offsetof(BlockTQ1_0, qh), last);
  for (int digit = 0; digit < 5; ++digit) {
    for (int i = 0; i < 8; ++i) take_digit(words[i], digit, quads[static_cast<std::size_t>(8 * digit + i)]);
    for (int i = 0; i < 4; ++i) take_digit(words[8 + i], digit, quads[static_cast<std::size_t>(40 + 4 * digit + i)]);
    if (digit < 4) take_digit(last, digit, quads[static_cast<std::size_t>(60 + digit)]);
  }
}

}  // namespace

/// Five quads a vector as base-3 digits, the digits as a fraction of 256; the last vector holds four.
void pack_tq1_0(const BlockRows& rows, std::uint8_t* quads, std::uint8_t* scales) {
  copy_halves(rows, offsetof(BlockTQ1_0, d), scales);
  std::array<Quad, 64> trits;
  take_trits(rows, trits);
  for (std::size_t vector = 0; vector < 13; ++vector) {
    std::array<std::uint16_t, kQuad * kPanelRows> numbers{};
    for (std::size_t quad = 5 * vector; quad < 5 * vector + 5; ++quad)
      for (std::size_t i = 0; i < numbers.size(); ++i)
        numbers[i] = static_cast<std::uint16_t>(numbers[i] * 3 + (quad < trits.size() ? trits[quad][i] : 0));
    for (std::size_t i = 0; i < numbers.size(); ++i)
      quads[64 * vector + i] = static_cast<std::uint8_t>((numbers[i] * 256U + 242U) / 243U);
  }
}

void pack_tq2_0(const BlockRows& rows, std::uint8_t* quads, std::uint8_t* scales) {
  copy_halves(rows, offsetof(BlockTQ2_0, d), scales);
  pack_pairs(rows, offsetof(BlockTQ2_0, qs), quads);
}

void pack_q1_0(const BlockRows& rows, std::uint8_t* quads, std::uint8_t* scales) {
  copy_halves(rows, offsetof(BlockQ1_0, d), scales);
  Words words[4];
  load_words(rows, offsetof(BlockQ1_0, qs), words);
  for (int i = 0; i < 4; ++i) {
    turn_bits(words[i]);
    store_words(quads + 64 * i, words[i]);
  }
}

}  // namespace octavo
