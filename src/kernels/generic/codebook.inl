// Blocks of codebook numbers, one for each group of weights, become nibbles and float scales, a part of a panel at a
// time, which stays in the caches.
//
// A number is looked up in a table of words (tensor/codebooks.h), one for each 8 weights of a row; groups of 4 take two
// look-ups. What is found lies as nibbles of other types do, but quads 2 l and 2 l + 1 share a vector. The lower three
// bits of a nibble are the code of a level, the upper one is the sign. Look-ups are scalar on every level: a gather
// takes as long for each lane, and permutations of registers hold no table of this size (docs/kernels_low_bit.md). All
// else is plain loops over 16 rows, which the compiler makes vectors of.
#pragma once

#include "kernels/generic/weights.inl"
#include "tensor/codebooks.h"

namespace octavo {
namespace {

constexpr bool has_codebook(DType type) { return group_number_bytes(type) > 0; }

/// The bytes that nibbles stand for: `step` times a level plus `zero`, or `zero` less that if the upper bit is set.
struct LevelBytes {
  uint8_t bytes[16];
};
template <int N>
constexpr LevelBytes signed_levels(const int8_t (&levels)[N], int zero, int parts = 1) {
  LevelBytes out{};
  for (int i = 0; i < 16; ++i) {
    const int level = i % 8 < N ? levels[i % 8] / parts : 0;
    out.bytes[i] = (uint8_t)(i < 8 ? zero + level : zero - level);
  }
  return out;
}
/// The bytes of IQ1: 8 times a level plus 1, or less 1 if the upper bit is set.
constexpr LevelBytes moved_levels(int zero) {
  LevelBytes out{};
  for (int i = 0; i < 16; ++i)
    out.bytes[i] = (uint8_t)(zero + (i % 8 < 3 ? 8 * kIq1Levels[i % 8] + (i < 8 ? 1 : -1) : 0));
  return out;
}
alignas(16) inline constexpr LevelBytes kIq2Bytes = signed_levels(kIq2Levels, 64);
alignas(16) inline constexpr LevelBytes kIq3XxsBytes = signed_levels(kIq3XxsLevels, 32, 2);
alignas(16) inline constexpr LevelBytes kIq3SBytes = signed_levels(kIq3SLevels, 16);
alignas(16) inline constexpr LevelBytes kIq1Bytes = moved_levels(16);

/// A block of a panel.
struct CodebookBlock {
  const uint8_t *quads, *scales;

  const uint8_t* number(int group) const { return quads + group * kPanelRows; }
  template <DType T>
  const uint32_t* signs(int g) const {
    return (const uint32_t*)(quads + group_number_bytes(T)) + g * kPanelRows;
  }
  const uint16_t* halfs(int field) const { return (const uint16_t*)scales + field * kPanelRows; }
};

/// The traits that Weights<T> gives for other types: bytes, and their sub-blocks.
template <int SubBlock, int Zero, int MaxByte>
struct CodebookWeights {
  static constexpr int kSubBlock = SubBlock;
  static constexpr bool kWide = false;
  static constexpr bool kHasMin = false;
  static constexpr int kZero = Zero;
  static constexpr int kMaxByte = MaxByte;
};
template <>
struct Weights<DType::kIQ2_XXS> : CodebookWeights<32, 64, 107> {};
template <>
struct Weights<DType::kIQ2_XS> : CodebookWeights<16, 64, 107> {};
template <>
struct Weights<DType::kIQ3_XXS> : CodebookWeights<32, 32, 63> {};
template <>
struct Weights<DType::kIQ3_S> : CodebookWeights<32, 16, 31> {};
template <>
struct Weights<DType::kIQ1_M> : CodebookWeights<16, 16, 31> {};

/// The type whose kernels multiply the nibbles of T: they differ in sub-blocks and in the range of bytes.
template <DType T>
constexpr DType nibbles_of() {
  if (T == DType::kIQ2_S) return DType::kIQ2_XS;
  if (T == DType::kIQ1_S) return DType::kIQ3_S;
  return T;
}

// GroupsOf<T> has kGroups, the table; kLevels; high_bits(b, i, r), bits of number i of row r beyond a byte; signs(b, g,
// out), the upper bits of the nibbles of the 32 weights g, in packed_layout.h's order of signs; sc(b, s, r), such that
// the scale of sub-block s is kFactor d (2 sc + 1).

/// Adds the four signs that were left out: each makes the number of signs of its group even.
inline void whole_signs(const uint32_t* packed, uint32_t (&out)[kPanelRows]) {
  for (int r = 0; r < kPanelRows; ++r) {
    const uint32_t known = packed[r] & ~kSignsLeftOut;
    uint32_t odd = known ^ (known >> 16 | known << 16);
    odd ^= odd >> 8 | odd << 24;  // now all bytes are the same
    odd ^= odd >> 4;              // bit l of each byte: whether group l is odd
    out[r] = known | (odd & kSignsLeftOut);
  }
}
inline void copy_signs(const uint32_t* packed, uint32_t (&out)[kPanelRows]) {
  for (int r = 0; r < kPanelRows; ++r) out[r] = packed[r];
}

/// Types with sc in the place of the signs that are left out.
template <DType T>
struct CodebookXxs {
  static constexpr bool kHasHighBits = false;
  static uint32_t high_bits(const CodebookBlock&, int, int) { return 0; }
  static void signs(const CodebookBlock& b, int g, uint32_t (&out)[kPanelRows]) { whole_signs(b.signs<T>(g), out); }
  static uint32_t sc(const CodebookBlock& b, int s, int r) {
    const uint32_t word = b.signs<T>(s)[r];
    return (word & 1) | (word >> 8 & 2) | (word >> 16 & 4) | (word >> 24 & 8);
  }
};
template <DType T>
struct GroupsOf;
template <>
struct GroupsOf<DType::kIQ2_XXS> : CodebookXxs<DType::kIQ2_XXS> {
  static constexpr const uint32_t* kGroups = kIq2XxsGroups.words;
  static constexpr const LevelBytes* kLevels = &kIq2Bytes;
  static constexpr float kFactor = 0.125F;
};
template <>
struct GroupsOf<DType::kIQ3_XXS> : CodebookXxs<DType::kIQ3_XXS> {
  static constexpr const uint32_t* kGroups = kIq3XxsGroups.words;
  static constexpr const LevelBytes* kLevels = &kIq3XxsBytes;  // half the levels
  static constexpr float kFactor = 0.5F;
};

/// Reads sc from nibbles.
inline uint32_t nibble_sc(const CodebookBlock& b, int s, int r) {
  return b.scales[32 + s / 2 * kPanelRows + r] >> (s % 2 * 4) & 15;
}
template <>
struct GroupsOf<DType::kIQ2_XS> {
  static constexpr const uint32_t* kGroups = kIq2XsGroups.words;
  static constexpr const LevelBytes* kLevels = &kIq2Bytes;
  static constexpr float kFactor = 0.125F;
  static constexpr bool kHasHighBits = true;
  static uint32_t high_bits(const CodebookBlock& b, int i, int r) {
    return b.signs<DType::kIQ2_XS>(i / 4)[r] >> (9 * (i % 4)) & 1;
  }
  static void signs(const CodebookBlock& b, int g, uint32_t (&out)[kPanelRows]) {
    whole_signs(b.signs<DType::kIQ2_XS>(g), out);
  }
  static uint32_t sc(const CodebookBlock& b, int s, int r) { return nibble_sc(b, s, r); }
};
template <>
struct GroupsOf<DType::kIQ2_S> {
  static constexpr const uint32_t* kGroups = kIq2SGroups.words;
  static constexpr const LevelBytes* kLevels = &kIq2Bytes;
  static constexpr float kFactor = 0.125F;
  static constexpr bool kHasHighBits = true;
  static uint32_t high_bits(const CodebookBlock& b, int i, int r) {
    return b.quads[1024 + i / 4 * kPanelRows + r] >> (i % 4 * 2) & 3;
  }
  static void signs(const CodebookBlock& b, int g, uint32_t (&out)[kPanelRows]) {
    copy_signs(b.signs<DType::kIQ2_S>(g), out);
  }
  static uint32_t sc(const CodebookBlock& b, int s, int r) { return nibble_sc(b, s, r); }
};
template <>
struct GroupsOf<DType::kIQ3_S> {
  static constexpr const uint32_t* kGroups = kIq3SGroups.words;
  static constexpr const LevelBytes* kLevels = &kIq3SBytes;
  static constexpr float kFactor = 1;
  static constexpr bool kHasHighBits = true;
  static uint32_t high_bits(const CodebookBlock& b, int i, int r) {
    return b.quads[1536 + i / 8 * kPanelRows + r] >> (i % 8) & 1;
  }
  static void signs(const CodebookBlock& b, int g, uint32_t (&out)[kPanelRows]) {
    copy_signs(b.signs<DType::kIQ3_S>(g), out);
  }
  static uint32_t sc(const CodebookBlock& b, int s, int r) { return nibble_sc(b, s, r); }
};

// IQ1 has no signs: the upper bit of a nibble says that an eighth is subtracted from the weight.
template <>
struct GroupsOf<DType::kIQ1_S> {
  static constexpr const uint32_t* kGroups = kIq1Groups.words;
  static constexpr const LevelBytes* kLevels = &kIq1Bytes;
  static constexpr float kFactor = 0.125F;
  static constexpr bool kHasHighBits = true;
  static const uint16_t* more(const CodebookBlock& b, int g) {
    return (const uint16_t*)(b.quads + 512) + g * kPanelRows;
  }
  static uint32_t high_bits(const CodebookBlock& b, int i, int r) { return more(b, i / 4)[r] >> (i % 4 * 3) & 7; }
  static void signs(const CodebookBlock& b, int g, uint32_t (&out)[kPanelRows]) {
    for (int r = 0; r < kPanelRows; ++r) out[r] = 0U - (more(b, g)[r] >> 15);
  }
  static uint32_t sc(const CodebookBlock& b, int s, int r) { return more(b, s)[r] >> 12 & 7; }
};
template <>
struct GroupsOf<DType::kIQ1_M> {
  static constexpr const uint32_t* kGroups = kIq1Groups.words;
  static constexpr const LevelBytes* kLevels = &kIq1Bytes;
  static constexpr float kFactor = 0.125F;
  static constexpr bool kHasHighBits = true;
  static const uint8_t* more(const CodebookBlock& b, int pair) { return b.quads + 512 + pair * kPanelRows; }
  static uint32_t high_bits(const CodebookBlock& b, int i, int r) { return more(b, i / 2)[r] >> (i % 2 * 4) & 7; }
  static void signs(const CodebookBlock& b, int g, uint32_t (&out)[kPanelRows]) {
    const uint8_t *low = more(b, 2 * g), *high = more(b, 2 * g + 1);
    for (int r = 0; r < kPanelRows; ++r)
      out[r] = 0x11111111U * ((low[r] >> 3 & 1U) | (low[r] >> 6 & 2U) | (high[r] >> 1 & 4U) | (high[r] >> 4 & 8U));
  }
  static uint32_t sc(const CodebookBlock& b, int s, int r) { return b.halfs(s / 4)[r] >> (s % 4 * 3) & 7; }
};

/// Some blocks of a panel: nibbles[8 blocks or so][groups of 8 weights], and the scales of sub-blocks.
template <DType T>
struct NibblePart {
  static constexpr int kBlocks = 4;  // 12 KiB at most, which stay in the L1 cache beside the rows that they meet
  static constexpr int kSubBlocks = 256 / Weights<T>::kSubBlock;
  alignas(64) uint32_t nibbles[kBlocks * 32][kPanelRows];
  alignas(64) float scales[kBlocks * kSubBlocks][kPanelRows];
};

/// Looks up a word of the table. The compiler must not make gathers of look-ups.
inline uint32_t look_up(const uint32_t* table, uint32_t number) {
  uint32_t word = table[number];
  asm("" : "+r"(word));
  return word;
}

/// Looks up the words of 16 rows: group i of 8 weights, from numbers with all their bits.
template <DType T, class Number>
inline void look_up_rows(const Number* numbers, uint32_t (&out)[kPanelRows]) {
  const uint32_t* const table = GroupsOf<T>::kGroups;
#pragma GCC unroll 16
  for (int r = 0; r < kPanelRows; ++r) {
    if constexpr (group_number_bytes(T) == 1024) {
      out[r] = look_up(table, numbers[r]) | look_up(table, numbers[kPanelRows + r]) << 4;
    } else {
      out[r] = look_up(table, numbers[r]);
    }
  }
}

/// Looks up the codes of a block's weights.
template <DType T>
inline void expand_numbers(const CodebookBlock& b, uint32_t (*out)[kPanelRows]) {
  constexpr int kNumbers = group_number_bytes(T) / kPanelRows, kPerWord = kNumbers / 32;
  constexpr int kHere = kNumbers / 8;  // the numbers of 32 weights
  constexpr int kLines = (packed_block(T).quad_bytes + packed_block(T).scale_bytes + 511) / 512;
  for (int g = 0; g < 8; ++g) {
    for (int line = 0; line < kLines; ++line) prefetch(b.quads + kPrefetchBytes + (g * kLines + line) * 64);
    if constexpr (GroupsOf<T>::kHasHighBits) {
      uint16_t numbers[kHere][kPanelRows];
      for (int i = 0; i < kHere; ++i)
        for (int r = 0; r < kPanelRows; ++r)
          numbers[i][r] = (uint16_t)(b.number(g * kHere + i)[r] | GroupsOf<T>::high_bits(b, g * kHere + i, r) << 8);
      for (int i = 0; i < 4; ++i) look_up_rows<T>(numbers[i * kPerWord], out[4 * g + i]);
    } else {
      for (int i = 0; i < 4; ++i) look_up_rows<T>(b.number(g * kHere + i * kPerWord), out[4 * g + i]);
    }
  }
}

template <DType T>
inline void find_d(const CodebookBlock& b, float (&d)[kPanelRows]) {
  for (int h = 0; h < kPanelVectors; ++h) {
    if constexpr (T == DType::kIQ1_M) {
      uint16_t halfs[kLanes];
      for (int i = 0; i < kLanes; ++i) {
        const int r = h * kLanes + i;
        halfs[i] = (uint16_t)(b.halfs(0)[r] >> 12 | (b.halfs(1)[r] >> 12) << 4 | (b.halfs(2)[r] >> 12) << 8 |
                              (b.halfs(3)[r] >> 12) << 12);
      }
      f32_store(d + h * kLanes, times(f32_load_f16(halfs), GroupsOf<T>::kFactor));
    } else {
      f32_store(d + h * kLanes, times(half_field(b.scales, h), GroupsOf<T>::kFactor));
    }
  }
}

/// Expands a block of a panel into nibbles and scales.
template <DType T>
__attribute__((noinline)) void expand_block(const CodebookBlock& b, uint32_t (*nibbles)[kPanelRows],
                                            float (*scales)[kPanelRows]) {
  expand_numbers<T>(b, nibbles);
  for (int g = 0; g < 8; ++g) {
    uint32_t signs[kPanelRows];
    GroupsOf<T>::signs(b, g, signs);
    for (int l = 0; l < 4; ++l)
      for (int r = 0; r < kPanelRows; ++r) nibbles[4 * g + l][r] |= signs[r] << (3 - l) & 0x88888888U;
  }
  float d[kPanelRows];
  find_d<T>(b, d);
  for (int s = 0; s < NibblePart<nibbles_of<T>()>::kSubBlocks; ++s) {
    int32_t odd[kPanelRows];  // a copy: for all that the compiler knows, bytes that it reads may alias the floats
    for (int r = 0; r < kPanelRows; ++r) odd[r] = (int32_t)(2 * GroupsOf<T>::sc(b, s, r) + 1);
    for (int r = 0; r < kPanelRows; ++r) scales[s][r] = d[r] * (float)odd[r];
  }
}

}  // namespace
}  // namespace octavo
