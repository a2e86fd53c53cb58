// Packs blocks in the order of outputs (output_order.h). 16 bytes of a row are a vector here, one byte a pair of
// columns; four such vectors interleaved are a row of words of a plane.
#include "kernels/output_order.h"
#include "kernels/pack_block.h"
#include "tensor/quant_blocks.h"

namespace octavo {
namespace {

typedef std::uint8_t Bytes __attribute__((vector_size(16)));

Bytes load_bytes(const std::uint8_t* from) {
  Bytes bytes;
  std::memcpy(&bytes, from, sizeof(bytes));
  return bytes;
}

/// Stores words of a byte of each vector.
void store_interleaved(const Bytes& a, const Bytes& b, const Bytes& c, const Bytes& d, std::uint8_t* out) {
  const Bytes ab_low = __builtin_shufflevector(a, b, 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23);
  const Bytes ab_high = __builtin_shufflevector(a, b, 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31);
  const Bytes cd_low = __builtin_shufflevector(c, d, 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23);
  const Bytes cd_high = __builtin_shufflevector(c, d, 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31);
  typedef std::uint16_t Pairs __attribute__((vector_size(16)));
  const auto store = [out](int place, const Bytes& first, const Bytes& second) {
    const auto x = reinterpret_cast<const Pairs&>(first), y = reinterpret_cast<const Pairs&>(second);
    const Pairs low = __builtin_shufflevector(x, y, 0, 8, 1, 9, 2, 10, 3, 11);
    const Pairs high = __builtin_shufflevector(x, y, 4, 12, 5, 13, 6, 14, 7, 15);
    std::memcpy(out + place, &low, sizeof(low));
    std::memcpy(out + place + 16, &high, sizeof(high));
  };
  store(0, ab_low, cd_low);
  store(32, ab_high, cd_high);
}

/// 32 columns of an output: fields of up to 8 bits, the first ones of the pairs and the second ones.
struct Columns {
  Bytes first, second;
};

/// Packs a plane of nibbles; load(row) gives an output's pairs, the first column in the low nibble.
template <class Load>
void store_nibbles(const Load& load, std::uint8_t* plane) {
  for (int row = 0; row < kPanelRows; row += 4)
    store_interleaved(load(row), load(row + 1), load(row + 2), load(row + 3), plane + row / 4 * 64);
}

/// Packs a plane of one or two bits; load(row) gives them as the low bits of bytes.
template <int Bits, class Load>
void store_bits(const Load& load, std::uint8_t* plane) {
  constexpr int kInByte = 8 / Bits, kOfRow = 2 * kInByte;
  for (int row = 0; row < kPanelRows; row += kOfRow) {
    Columns low{}, high{};
    for (int i = 0; i < kInByte; ++i) {
      const Columns of_low = load(row + i), of_high = load(row + kInByte + i);
      low.first |= of_low.first << (Bits * i), low.second |= of_low.second << (Bits * i);
      high.first |= of_high.first << (Bits * i), high.second |= of_high.second << (Bits * i);
    }
    store_interleaved(low.first, high.first, low.second, high.second, plane + row / kOfRow * 64);
  }
}

/// Nibbles that are pairs in the file already: weight i in the low nibble of byte i, weight i + 16 in the high one.
void pack_paired_nibbles(const BlockRows& rows, int offset, std::uint8_t* plane) {
  store_nibbles([&](int row) { return load_bytes(rows[static_cast<std::size_t>(row)] + offset); }, plane);
}

/// The fifth bits of 32 weights, bit i of a word of the file belonging to weight i.
void pack_fifth_bits(const BlockRows& rows, int offset, std::uint8_t* plane) {
  const auto load = [&](int row) {
    const std::uint8_t* at = rows[static_cast<std::size_t>(row)] + offset;
    constexpr Bytes kBit = {1, 2, 4, 8, 16, 32, 64, 128, 1, 2, 4, 8, 16, 32, 64, 128};
    const auto bits_of = [&](int byte) {
      Bytes spread = {};
      for (int i = 0; i < 16; ++i) spread[i] = at[byte + i / 8];
      return reinterpret_cast<Bytes>((spread & kBit) != 0) & 1;
    };
    return Columns{bits_of(0), bits_of(2)};
  };
  store_bits<1>(load, plane);
}

/// The nibbles of Q4_K and Q5_K: sub-block 2 p in the low nibbles of bytes 32 p .. 32 p + 31, 2 p + 1 in the high ones.
void pack_nibbles_of_k(const BlockRows& rows, int offset, std::uint8_t* quads) {
  for (int part = 0; part < 8; ++part) {
    const auto load = [&](int row) {
      const std::uint8_t* at = rows[static_cast<std::size_t>(row)] + offset + part / 2 * 32;
      const Bytes first = load_bytes(at), second = load_bytes(at + 16);
      return part % 2 == 0 ? (first & 15) | second << 4 : first >> 4 | (second & 0xF0);
    };
    store_nibbles(load, quads + part * plane_bytes(4));
  }
}

}  // namespace

void pack_outputs_q4_0(const BlockRows& rows, std::uint8_t* quads, std::uint8_t* scales) {
  copy_halves(rows, offsetof(BlockQ4_0, d), scales);
  pack_paired_nibbles(rows, offsetof(BlockQ4_0, qs), quads);
}

void pack_outputs_q4_1(const BlockRows& rows, std::uint8_t* quads, std::uint8_t* scales) {
  copy_halves(rows, offsetof(BlockQ4_1, d), scales);
  copy_halves(rows, offsetof(BlockQ4_1, m), scales + 32);
  pack_paired_nibbles(rows, offsetof(BlockQ4_1, qs), quads);
}

void pack_outputs_q5_0(const BlockRows& rows, std::uint8_t* quads, std::uint8_t* scales) {
  copy_halves(rows, offsetof(BlockQ5_0, d), scales);
  pack_paired_nibbles(rows, offsetof(BlockQ5_0, qs), quads);
  pack_fifth_bits(rows, offsetof(BlockQ5_0, qh), quads + high_plane(DType::kQ5_0));
}

void pack_outputs_q5_1(const BlockRows& rows, std::uint8_t* quads, std::uint8_t* scales) {
  copy_halves(rows, offsetof(BlockQ5_1, d), scales);
  copy_halves(rows, offsetof(BlockQ5_1, m), scales + 32);
  pack_paired_nibbles(rows, offsetof(BlockQ5_1, qs), quads);
  pack_fifth_bits(rows, offsetof(BlockQ5_1, qh), quads + high_plane(DType::kQ5_1));
}

void pack_outputs_q8_0(const BlockRows& rows, std::uint8_t* quads, std::uint8_t* scales) {
  copy_halves(rows, offsetof(BlockQ8_0, d), scales);
  constexpr std::uint8_t kOffset = 128;
  for (std::size_t row = 0; row < kPanelRows; row += 2) {
    const std::uint8_t *a = rows[row] + offsetof(BlockQ8_0, qs), *b = rows[row + 1] + offsetof(BlockQ8_0, qs);
    store_interleaved(load_bytes(a) ^ kOffset, load_bytes(a + 16) ^ kOffset, load_bytes(b) ^ kOffset,
                      load_bytes(b + 16) ^ kOffset, quads + row / 2 * 64);
  }
}

void pack_outputs_q4_k(const BlockRows& rows, std::uint8_t* quads, std::uint8_t* scales) {
  pack_scales_k4(rows, scales);
  pack_nibbles_of_k(rows, offsetof(BlockQ4_K, qs), quads);
}

void pack_outputs_q5_k(const BlockRows& rows, std::uint8_t* quads, std::uint8_t* scales) {
  pack_scales_k4(rows, scales);
  pack_nibbles_of_k(rows, offsetof(BlockQ5_K, qs), quads);
  for (int part = 0; part < 8; ++part) {
    const auto load = [&](int row) {
      const std::uint8_t* at = rows[static_cast<std::size_t>(row)] + offsetof(BlockQ5_K, qh);
      return Columns{load_bytes(at) >> part & 1, load_bytes(at + 16) >> part & 1};
    };
    store_bits<1>(load, quads + high_plane(DType::kQ5_K) + part * plane_bytes(1));
  }
}

void pack_outputs_q6_k(const BlockRows& rows, std::uint8_t* quads, std::uint8_t* scales) {
  copy_halves(rows, offsetof(BlockQ6_K, d), scales);
  copy_bytes<16>(rows, offsetof(BlockQ6_K, scales), scales + 32);
  for (int part = 0; part < 8; ++part) {
    const int half = part / 4, quarter = part % 4;  // weights 128 half + 32 quarter ..
    const auto low = [&](int row) {
      const std::uint8_t* at =
          rows[static_cast<std::size_t>(row)] + offsetof(BlockQ6_K, ql) + 64 * half + 32 * (quarter % 2);
      const Bytes first = load_bytes(at), second = load_bytes(at + 16);
      return quarter < 2 ? (first & 15) | second << 4 : first >> 4 | (second & 0xF0);
    };
    store_nibbles(low, quads + part * plane_bytes(4));
    const auto high = [&](int row) {
      const std::uint8_t* at = rows[static_cast<std::size_t>(row)] + offsetof(BlockQ6_K, qh) + 32 * half;
      return Columns{load_bytes(at) >> (2 * quarter) & 3, load_bytes(at + 16) >> (2 * quarter) & 3};
    };
    store_bits<2>(high, quads + high_plane(DType::kQ6_K) + part * plane_bytes(2));
  }
}

void pack_outputs_iq4_nl(const BlockRows& rows, std::uint8_t* quads, std::uint8_t* scales) {
  copy_halves(rows, offsetof(BlockIQ4_NL, d), scales);
  pack_paired_nibbles(rows, offsetof(BlockIQ4_NL, qs), quads);
}

void pack_outputs_iq4_xs(const BlockRows& rows, std::uint8_t* quads, std::uint8_t* scales) {
  pack_scales_iq4_xs(rows, scales);
  for (int part = 0; part < 8; ++part)
    pack_paired_nibbles(rows, static_cast<int>(offsetof(BlockIQ4_XS, qs)) + 16 * part, quads + part * plane_bytes(4));
}

void pack_outputs_mxfp4(const BlockRows& rows, std::uint8_t* quads, std::uint8_t* scales) {
  for (std::size_t row = 0; row < kPanelRows; ++row) scales[row] = rows[row][offsetof(BlockMXFP4, e)];
  pack_paired_nibbles(rows, offsetof(BlockMXFP4, qs), quads);
}

}  // namespace octavo
