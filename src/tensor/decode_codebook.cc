#include "tensor/decode_codebook.h"

#include <bit>
#include <cstring>

#include "tensor/codebooks.h"
#include "tensor/dequantize.h"

namespace octavo {
namespace {

/// The 8 signs from 7 of them: an even number of weights is negative.
unsigned eight_signs(unsigned seven) { return seven | (std::popcount(seven) % 2U) << 7; }

float sign_of(unsigned signs, int i) { return (signs >> i & 1) != 0 ? -1.0F : 1.0F; }

/// Writes the 8 weights of a group with its signs.
void write_signed(float scale, std::uint32_t group, const std::int8_t* levels, unsigned signs, int count, float* w) {
  for (int i = 0; i < count; ++i) w[i] = scale * static_cast<float>(levels[code_of(group, i)]) * sign_of(signs, i);
}

std::uint32_t word_at(const std::uint8_t* bytes) {
  std::uint32_t word;
  std::memcpy(&word, bytes, sizeof(word));
  return word;
}

unsigned nibble(const std::uint8_t* bytes, int i) { return bytes[i / 2] >> (i % 2 * 4) & 15; }

float half_more(unsigned scale) { return 0.5F + static_cast<float>(scale); }
float odd(unsigned scale) { return static_cast<float>(2 * scale + 1); }

/// Writes the 8 weights of a group, each plus or minus an eighth.
void write_moved(float scale, std::uint32_t group, bool less, float* w) {
  const float delta = less ? -0.125F : 0.125F;
  for (int i = 0; i < 8; ++i) w[i] = scale * (static_cast<float>(kIq1Levels[code_of(group, i)]) + delta);
}

}  // namespace

void decode(const BlockIQ2_XXS& b, float* w) {
  const float d = f16_to_f32(b.d);
  for (int l = 0; l < 32; ++l) {
    const auto& part = b.parts[l / 4];
    const std::uint32_t word = word_at(part.signs_and_scale);
    const float scale = d * half_more(word >> 28) * 0.25F;
    write_signed(scale, kIq2XxsGroups.words[part.groups[l % 4]], kIq2Levels, eight_signs(word >> (l % 4 * 7) & 127), 8,
                 w + 8 * l);
  }
}

void decode(const BlockIQ2_XS& b, float* w) {
  const float d = f16_to_f32(b.d);
  for (int l = 0; l < 32; ++l) {
    const float scale = d * half_more(nibble(b.scales, l / 2)) * 0.25F;
    write_signed(scale, kIq2XsGroups.words[b.groups[l] & 511], kIq2Levels, eight_signs(b.groups[l] >> 9), 8, w + 8 * l);
  }
}

void decode(const BlockIQ2_S& b, float* w) {
  const float d = f16_to_f32(b.d);
  for (int l = 0; l < 32; ++l) {
    const float scale = d * half_more(nibble(b.scales, l / 2)) * 0.25F;
    const int group = b.groups[l] | (b.groups_h[l / 4] >> (l % 4 * 2) & 3) << 8;
    write_signed(scale, kIq2SGroups.words[group], kIq2Levels, b.signs[l], 8, w + 8 * l);
  }
}

void decode(const BlockIQ3_XXS& b, float* w) {
  const float d = f16_to_f32(b.d);
  for (int l = 0; l < 64; ++l) {
    const std::uint32_t word = word_at(b.signs_and_scales[l / 8]);
    const float scale = d * half_more(word >> 28) * 0.5F;
    const unsigned signs = eight_signs(word >> (l % 8 / 2 * 7) & 127);
    write_signed(scale, kIq3XxsGroups.words[b.groups[l]], kIq3XxsLevels, signs >> (l % 2 * 4), 4, w + 4 * l);
  }
}

void decode(const BlockIQ3_S& b, float* w) {
  const float d = f16_to_f32(b.d);
  for (int l = 0; l < 64; ++l) {
    const float scale = d * odd(nibble(b.scales, l / 8));
    const int group = b.groups[l] | (b.groups_h[l / 8] >> (l % 8) & 1) << 8;
    write_signed(scale, kIq3SGroups.words[group], kIq3SLevels, b.signs[l / 2] >> (l % 2 * 4), 4, w + 4 * l);
  }
}

void decode(const BlockIQ1_S& b, float* w) {
  const float d = f16_to_f32(b.d);
  for (int l = 0; l < 32; ++l) {
    const unsigned high = b.groups_h[l / 4];
    const float scale = d * odd(high >> 12 & 7);
    const unsigned group = b.groups[l] | (high >> (l % 4 * 3) & 7) << 8;
    write_moved(scale, kIq1Groups.words[group], (high & 0x8000) != 0, w + 8 * l);
  }
}

void decode(const BlockIQ1_M& b, float* w) {
  const float d = f16_to_f32(unpack_d_iq1_m(b.scales));
  for (int l = 0; l < 32; ++l) {
    const unsigned high = nibble(b.groups_h, l);
    const float scale = d * odd(b.scales[l / 8] >> (l % 8 / 2 * 3) & 7U);
    write_moved(scale, kIq1Groups.words[b.groups[l] | (high & 7) << 8], (high & 8) != 0, w + 8 * l);
  }
}

}  // namespace octavo
