// The layouts of the quantized blocks of a GGUF file (ggml's formats), one struct per type.
//
// Scales are IEEE halfs kept as raw bits. All fields are bytes or little-endian 16-bit words.
#pragma once

#include <cstdint>

namespace octavo {

struct BlockQ4_0 {  // w = d (q - 8)
  std::uint16_t d;
  std::uint8_t qs[16];  // weight i in the low nibble of byte i, weight i + 16 in the high one
};
struct BlockQ4_1 {  // w = d q + m
  std::uint16_t d, m;
  std::uint8_t qs[16];  // like Q4_0
};
struct BlockQ5_0 {  // w = d (q - 16)
  std::uint16_t d;
  std::uint8_t qh[4];   // fifth bit of weight i is bit i of this 32-bit word
  std::uint8_t qs[16];  // like Q4_0
};
struct BlockQ5_1 {  // w = d q + m
  std::uint16_t d, m;
  std::uint8_t qh[4], qs[16];  // like Q5_0
};
struct BlockQ8_0 {  // w = d q
  std::uint16_t d;
  std::int8_t qs[32];
};
struct BlockQ2_K {          // 16 groups of 16: w = d sc q - dmin mn
  std::uint8_t scales[16];  // sc in the low nibble, mn in the high one
  std::uint8_t qs[64];      // half h, plane j: weight 128 h + 32 j + l is bits 2j of byte 32 h + l
  std::uint16_t d, dmin;
};
struct BlockQ3_K {          // 16 groups of 16: w = d (sc - 32) (q - 4)
  std::uint8_t hmask[32];   // third bit of weight 32 j + l is bit j of byte l
  std::uint8_t qs[64];      // low two bits, as Q2_K
  std::uint8_t scales[12];  // 6 bits each: low nibbles in bytes 0-7, high pairs in bytes 8-11
  std::uint16_t d;
};
struct BlockQ4_K {  // 8 groups of 32: w = d sc q - dmin mn
  std::uint16_t d, dmin;
  std::uint8_t scales[12];  // 6-bit sc and mn, see unpack_scales_k4
  std::uint8_t qs[128];     // group 2p: low nibbles of bytes 32p..32p+31, group 2p+1: high ones
};
struct BlockQ5_K {  // like Q4_K with a fifth bit
  std::uint16_t d, dmin;
  std::uint8_t scales[12];
  std::uint8_t qh[32];  // fifth bit of weight 32 j + l is bit j of byte l
  std::uint8_t qs[128];
};
struct BlockQ6_K {       // 16 groups of 16: w = d sc (q - 32)
  std::uint8_t ql[128];  // half h: weight 128h+l low nibble of byte 64h+l, +32: of byte 64h+32+l, +64, +96: high ones
  std::uint8_t qh[64];   // half h, plane j: high pair of weight 128 h + 32 j + l is bits 2j of byte 32 h + l
  std::int8_t scales[16];
  std::uint16_t d;
};
struct BlockIQ4_NL {  // w = d kIq4Values[q]
  std::uint16_t d;
  std::uint8_t qs[16];  // like Q4_0
};
struct BlockIQ4_XS {  // 8 groups of 32: w = d (sc - 32) kIq4Values[q]
  std::uint16_t d;
  std::uint16_t scales_h;    // high pair of group g's scale is bits 2g
  std::uint8_t scales_l[4];  // low nibble of group g's scale: nibble g
  std::uint8_t qs[128];      // group g: as Q4_0 in bytes 16g..16g+15
};
struct BlockTQ1_0 {     // w = d (t - 1); a byte holds base-3 digits as a fraction of 256
  std::uint8_t qs[48];  // five digits a byte: bytes 0-31: weight 32 n + l; bytes 32-47: weight 160 + 16 n + l
  std::uint8_t qh[4];   // four digits a byte: weight 240 + 4 n + l
  std::uint16_t d;
};
struct BlockTQ2_0 {     // w = d (t - 1)
  std::uint8_t qs[64];  // like Q2_K
  std::uint16_t d;
};
struct BlockMXFP4 {  // w = 2^(e - 127) times an E2M1 value; kMxfp4Values holds twice the value
  std::uint8_t e;
  std::uint8_t qs[16];  // like Q4_0
};
struct BlockNVFP4 {        // 4 groups of 16: w = sc times an E2M1 value, and a factor of the whole tensor
  std::uint8_t scales[4];  // E4M3, no sign
  std::uint8_t qs[32];     // group g: weight i in the low nibble of byte 8 g + i, weight i + 8 in the high one
};

// Blocks of numbers of codebook groups (codebooks.h): of 8 weights where there are 32 numbers, of 4 where there are 64.
// Signs: bit i % 8 of byte i / 8 says that weight i is negative; where only 7 of every 8 signs are stored, the last one
// makes the number of negative weights even.
// 64. Signs: bit i % 8 of byte i / 8 says that weight i is negative; of every 8 that are stored as 7, the last is such
// that an even number of them are.
struct BlockIQ2_XXS {  // 8 sub-blocks of 32: w = d (sc + 1/2) / 4 times a level
  std::uint16_t d;
  struct {
    std::uint8_t groups[4];
    std::uint8_t signs_and_scale[4];  // 4 times 7 bits of signs, then 4 of sc
  } parts[8];
};
struct BlockIQ2_XS {  // 16 sub-blocks of 16: w = d (sc + 1/2) / 4 times a level
  std::uint16_t d;
  std::uint16_t groups[32];  // 9 bits, and 7 of signs
  std::uint8_t scales[8];    // sc of sub-block g: nibble g
};
struct BlockIQ2_S {  // like IQ2_XS
  std::uint16_t d;
  std::uint8_t groups[32];
  std::uint8_t signs[32];
  std::uint8_t groups_h[8];  // high pair of group l of 4: bits 2 l
  std::uint8_t scales[8];
};
struct BlockIQ3_XXS {  // 8 sub-blocks of 32: w = d (sc + 1/2) / 2 times a level
  std::uint16_t d;
  std::uint8_t groups[64];
  std::uint8_t signs_and_scales[8][4];  // like IQ2_XXS
};
struct BlockIQ3_S {  // 8 sub-blocks of 32: w = d (2 sc + 1) times a level
  std::uint16_t d;
  std::uint8_t groups[64];
  std::uint8_t groups_h[8];  // ninth bit of group l of 8: bit l
  std::uint8_t signs[32];
  std::uint8_t scales[4];  // sc of sub-block g: nibble g
};
struct BlockIQ1_S {  // 8 sub-blocks of 32: w = d (2 sc + 1) (a level +- 1/8)
  std::uint16_t d;
  std::uint8_t groups[32];
  std::uint16_t groups_h[8];  // 4 times 3 bits of groups, 3 of sc, 1 if the eighth is taken away
};
struct BlockIQ1_M {  // 16 sub-blocks of 16, as IQ1_S
  std::uint8_t groups[32];
  std::uint8_t groups_h[16];  // a nibble for each group: 3 bits of it, 1 if the eighth is taken away
  std::uint16_t scales[4];    // 4 times 3 bits of sc, 4 of d: the lowest first
};
struct BlockQ1_0 {  // w = +d where the bit is 1, else -d
  std::uint16_t d;
  std::uint8_t qs[16];  // weight i is bit i % 8 of byte i / 8
};
struct BlockQ2_0 {  // w = d (q - 1)
  std::uint16_t d;
  std::uint8_t qs[16];  // weight i is bits 2 (i % 4) and up of byte i / 4
};

static_assert(sizeof(BlockQ4_0) == 18 && sizeof(BlockQ4_1) == 20 && sizeof(BlockQ5_0) == 22 && sizeof(BlockQ5_1) == 24);
static_assert(sizeof(BlockQ8_0) == 34 && sizeof(BlockQ2_K) == 84 && sizeof(BlockQ3_K) == 110 &&
              sizeof(BlockQ4_K) == 144);
static_assert(sizeof(BlockQ5_K) == 176 && sizeof(BlockQ6_K) == 210 && sizeof(BlockIQ4_NL) == 18);
static_assert(sizeof(BlockIQ4_XS) == 136 && sizeof(BlockTQ1_0) == 54 && sizeof(BlockTQ2_0) == 66);
static_assert(sizeof(BlockIQ2_XXS) == 66 && sizeof(BlockIQ2_XS) == 74 && sizeof(BlockIQ2_S) == 82);
static_assert(sizeof(BlockIQ3_XXS) == 98 && sizeof(BlockIQ3_S) == 110 && sizeof(BlockIQ1_S) == 50);
static_assert(sizeof(BlockIQ1_M) == 56 && sizeof(BlockNVFP4) == 36);
static_assert(sizeof(BlockMXFP4) == 17 && sizeof(BlockQ1_0) == 18 && sizeof(BlockQ2_0) == 18);

inline constexpr std::int8_t kIq4Values[16] = {-127, -104, -83, -65, -49, -35, -22, -10,
                                               1,    13,   25,  38,  53,  69,  89,  113};
inline constexpr std::int8_t kMxfp4Values[16] = {0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12};

/// The scale and minimum (6 bits each) of group `g` of a Q4_K or Q5_K block.
struct ScaleMin {
  std::uint8_t scale, min;
};
inline ScaleMin unpack_scales_k4(const std::uint8_t scales[12], int g) {
  if (g < 4) return {static_cast<std::uint8_t>(scales[g] & 63), static_cast<std::uint8_t>(scales[g + 4] & 63)};
  return {static_cast<std::uint8_t>((scales[g + 4] & 15) | (scales[g - 4] >> 6) << 4),
          static_cast<std::uint8_t>((scales[g + 4] >> 4) | (scales[g] >> 6) << 4)};
}

/// Packs the scales and minima of the 8 groups: the inverse of unpack_scales_k4().
inline void pack_scales_k4(const ScaleMin (&groups)[8], std::uint8_t (&scales)[12]) {
  for (int g = 0; g < 4; ++g) {
    const ScaleMin low = groups[g], high = groups[g + 4];
    scales[g] = static_cast<std::uint8_t>(low.scale | high.scale >> 4 << 6);
    scales[g + 4] = static_cast<std::uint8_t>(low.min | high.min >> 4 << 6);
    scales[g + 8] = static_cast<std::uint8_t>((high.scale & 15) | (high.min & 15) << 4);
  }
}

/// The half d of an IQ1_M block.
inline std::uint16_t unpack_d_iq1_m(const std::uint16_t scales[4]) {
  return static_cast<std::uint16_t>(scales[0] >> 12 | (scales[1] >> 12) << 4 | (scales[2] >> 12) << 8 |
                                    (scales[3] >> 12) << 12);
}

/// The scale (6 bits, bias 32 not removed) of group `g` of a Q3_K block.
inline std::uint8_t unpack_scale_q3(const std::uint8_t scales[12], int g) {
  const int low = g < 8 ? scales[g] & 15 : scales[g - 8] >> 4;
  const int high = scales[8 + g % 4] >> (2 * (g / 4)) & 3;
  return static_cast<std::uint8_t>(low | high << 4);
}

}  // namespace octavo
