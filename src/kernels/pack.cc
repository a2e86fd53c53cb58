#include "kernels/pack.h"

#include <algorithm>
#include <cstring>

#include "base/error.h"
#include "tensor/quant_blocks.h"

namespace octavo {
namespace {

constexpr int kMaxBlock = 256;

/// One K block of a panel while it is packed: bytes of the weights in natural order, and where the scales go.
struct BlockTarget {
  std::uint8_t q[kPanelRows][kMaxBlock];
  std::uint8_t* scales;

  void half(int offset, int row, std::uint16_t bits) const { std::memcpy(scales + offset + 2 * row, &bits, 2); }
  void byte(int offset, int field, int row, int value) const {
    scales[offset + field * kPanelRows + row] = static_cast<std::uint8_t>(value);
  }
  void add(int offset, int field, int row, int value) const {
    scales[offset + field * kPanelRows + row] |= static_cast<std::uint8_t>(value);
  }
};

void split_nibbles(const std::uint8_t* qs, std::uint8_t* q) {
  for (int i = 0; i < 16; ++i) {
    q[i] = qs[i] & 15;
    q[i + 16] = qs[i] >> 4;
  }
}

void split_pairs(const std::uint8_t* qs, std::uint8_t* q) {  // Q2_K, Q3_K and TQ2_0: halves of four planes
  for (int half = 0; half < 2; ++half)
    for (int plane = 0; plane < 4; ++plane)
      for (int l = 0; l < 32; ++l) q[128 * half + 32 * plane + l] = qs[32 * half + l] >> (2 * plane) & 3;
}

void split_nibbles_k(const std::uint8_t* qs, std::uint8_t* q) {  // Q4_K and Q5_K
  for (int pair = 0; pair < 4; ++pair)
    for (int l = 0; l < 32; ++l) {
      q[64 * pair + l] = qs[32 * pair + l] & 15;
      q[64 * pair + 32 + l] = qs[32 * pair + l] >> 4;
    }
}

void take(const BlockQ4_0& b, int row, BlockTarget& t) {
  t.half(0, row, b.d);
  split_nibbles(b.qs, t.q[row]);
}
void take(const BlockIQ4_NL& b, int row, BlockTarget& t) {
  t.half(0, row, b.d);
  split_nibbles(b.qs, t.q[row]);
}
void take(const BlockQ4_1& b, int row, BlockTarget& t) {
  t.half(0, row, b.d);
  t.half(32, row, b.m);
  split_nibbles(b.qs, t.q[row]);
}
void add_fifth_bits(const std::uint8_t qh[4], std::uint8_t* q) {
  for (int i = 0; i < 32; ++i) q[i] |= static_cast<std::uint8_t>((qh[i / 8] >> (i % 8) & 1) << 4);
}
void take(const BlockQ5_0& b, int row, BlockTarget& t) {
  t.half(0, row, b.d);
  split_nibbles(b.qs, t.q[row]);
  add_fifth_bits(b.qh, t.q[row]);
}
void take(const BlockQ5_1& b, int row, BlockTarget& t) {
  t.half(0, row, b.d);
  t.half(32, row, b.m);
  split_nibbles(b.qs, t.q[row]);
  add_fifth_bits(b.qh, t.q[row]);
}
void take(const BlockQ8_0& b, int row, BlockTarget& t) {
  t.half(0, row, b.d);
  for (int i = 0; i < 32; ++i) t.q[row][i] = static_cast<std::uint8_t>(b.qs[i]) ^ 0x80;
}
void take(const BlockMXFP4& b, int row, BlockTarget& t) {
  t.byte(0, 0, row, b.e);
  split_nibbles(b.qs, t.q[row]);
}
void take(const BlockQ2_K& b, int row, BlockTarget& t) {
  t.half(0, row, b.d);
  t.half(32, row, b.dmin);
  for (int g = 0; g < 16; ++g) t.byte(64, g, row, b.scales[g]);
  split_pairs(b.qs, t.q[row]);
}
void take(const BlockQ3_K& b, int row, BlockTarget& t) {
  t.half(0, row, b.d);
  for (int g = 0; g < 16; ++g) {
    const int scale = unpack_scale_q3(b.scales, g);
    t.add(32, g % 8, row, (scale & 15) << (g < 8 ? 0 : 4));
    t.add(160, g % 4, row, (scale >> 4) << (2 * (g / 4)));
  }
  split_pairs(b.qs, t.q[row]);
  for (int i = 0; i < 256; ++i) t.q[row][i] |= static_cast<std::uint8_t>((b.hmask[i % 32] >> (i / 32) & 1) << 2);
}
template <class Block>
void take_k4_scales(const Block& b, int row, BlockTarget& t) {
  t.half(0, row, b.d);
  t.half(32, row, b.dmin);
  for (int g = 0; g < 8; ++g) {
    const ScaleMin s = unpack_scales_k4(b.scales, g);
    t.byte(64, g, row, (s.scale & 15) | (s.min & 15) << 4);
    t.add(192, g / 2, row, ((s.scale >> 4) | (s.min >> 4) << 2) << (4 * (g % 2)));
  }
}
void take(const BlockQ4_K& b, int row, BlockTarget& t) {
  take_k4_scales(b, row, t);
  split_nibbles_k(b.qs, t.q[row]);
}
void take(const BlockQ5_K& b, int row, BlockTarget& t) {
  take_k4_scales(b, row, t);
  split_nibbles_k(b.qs, t.q[row]);
  for (int i = 0; i < 256; ++i) t.q[row][i] |= static_cast<std::uint8_t>((b.qh[i % 32] >> (i / 32) & 1) << 4);
}
void take(const BlockQ6_K& b, int row, BlockTarget& t) {
  t.half(0, row, b.d);
  for (int g = 0; g < 16; ++g) t.byte(32, g, row, static_cast<std::uint8_t>(b.scales[g]));
  for (int half = 0; half < 2; ++half)
    for (int plane = 0; plane < 4; ++plane)
      for (int l = 0; l < 32; ++l) {
        const int low = b.ql[64 * half + 32 * (plane % 2) + l] >> (plane < 2 ? 0 : 4) & 15;
        const int high = b.qh[32 * half + l] >> (2 * plane) & 3;
        t.q[row][128 * half + 32 * plane + l] = static_cast<std::uint8_t>(low | high << 4);
      }
}
void take(const BlockIQ4_XS& b, int row, BlockTarget& t) {
  t.half(0, row, b.d);
  for (int g = 0; g < 8; ++g) {
    t.add(32, g / 2, row, (b.scales_l[g / 2] >> (4 * (g % 2)) & 15) << (4 * (g % 2)));
    t.add(96, g / 4, row, (b.scales_h >> (2 * g) & 3) << (2 * (g % 4)));
    split_nibbles(b.qs + 16 * g, t.q[row] + 32 * g);
  }
}
std::uint8_t trit(std::uint8_t byte, int digit) {
  constexpr std::uint8_t kPow3[] = {1, 3, 9, 27, 81};
  return static_cast<std::uint8_t>(static_cast<std::uint8_t>(byte * kPow3[digit]) * 3 >> 8);
}
void take(const BlockTQ1_0& b, int row, BlockTarget& t) {
  t.half(0, row, b.d);
  for (int n = 0; n < 5; ++n) {
    for (int l = 0; l < 32; ++l) t.q[row][32 * n + l] = trit(b.qs[l], n);
    for (int l = 0; l < 16; ++l) t.q[row][160 + 16 * n + l] = trit(b.qs[32 + l], n);
  }
  for (int n = 0; n < 4; ++n)
    for (int l = 0; l < 4; ++l) t.q[row][240 + 4 * n + l] = trit(b.qh[l], n);
}
void take(const BlockTQ2_0& b, int row, BlockTarget& t) {
  t.half(0, row, b.d);
  split_pairs(b.qs, t.q[row]);
}
void take(const BlockQ1_0& b, int row, BlockTarget& t) {
  t.half(0, row, b.d);
  for (int i = 0; i < 128; ++i) t.q[row][i] = b.qs[i / 8] >> (i % 8) & 1;
}

/// Writes a plane of `Bits` bits a weight: of each byte, the bits from `From` up. Quads are in ascending order,
/// 8 / Bits of them share a vector, except that a vector of nibbles holds quads j and j + 4. A quad is one 32-bit word.
template <int Bits, int From>
void write_plane(const BlockTarget& t, int block, std::uint8_t* out) {
  constexpr std::uint32_t kMask = 0x01010101U * ((1U << Bits) - 1U);
  constexpr int kQuads = 8 / Bits;  // that share a vector
  for (int group = 0; group < block / 32; ++group, out += 64 * Bits)
    for (int row = 0; row < kPanelRows; ++row) {
      std::uint32_t words[Bits] = {};
      for (int quad = 0; quad < 8; ++quad) {
        std::uint32_t word;
        std::memcpy(&word, t.q[row] + 32 * group + kQuad * quad, sizeof(word));
        const int vector = Bits == 4 ? quad % 4 : quad / kQuads;
        const int slot = Bits == 4 ? quad / 4 : quad % kQuads;
        words[vector] |= (word >> From & kMask) << (slot * Bits);
      }
      for (int vector = 0; vector < Bits; ++vector)
        std::memcpy(out + vector * 64 + row * kQuad, &words[vector], sizeof(std::uint32_t));
    }
}

/// TQ1_0: five quads a vector as base-3 digits, the digits as a fraction of 256; the last vector holds four.
void write_trits(const BlockTarget& t, std::uint8_t* out) {
  for (int vector = 0; vector < 13; ++vector)
    for (int row = 0; row < kPanelRows; ++row)
      for (int c = 0; c < kQuad; ++c) {
        int number = 0;
        for (int digit = 0; digit < 5; ++digit) {
          const int quad = 5 * vector + digit;
          number = number * 3 + (quad < 64 ? t.q[row][quad * kQuad + c] : 0);
        }
        out[vector * 64 + row * kQuad + c] = static_cast<std::uint8_t>((number * 256 + 242) / 243);
      }
}

/// Writes the quads of a block. Bits above the planes named here do not occur.
void write_quads(DType type, const BlockTarget& t, std::uint8_t* out) {
  const int block = packed_block(type).block;
  switch (type) {
    case DType::kQ8_0: return write_plane<8, 0>(t, block, out);
    case DType::kQ5_0:
    case DType::kQ5_1:
    case DType::kQ5_K: write_plane<4, 0>(t, block, out); return write_plane<1, 4>(t, block, out + block / 32 * 256);
    case DType::kQ6_K: write_plane<4, 0>(t, block, out); return write_plane<2, 4>(t, block, out + block / 32 * 256);
    case DType::kQ3_K: write_plane<2, 0>(t, block, out); return write_plane<1, 2>(t, block, out + block / 32 * 128);
    case DType::kQ2_K:
    case DType::kTQ2_0: return write_plane<2, 0>(t, block, out);
    case DType::kQ1_0: return write_plane<1, 0>(t, block, out);
    case DType::kTQ1_0: return write_trits(t, out);
    default: return write_plane<4, 0>(t, block, out);
  }
}

template <class Block>
void pack_quantized(const Tensor& source, std::int64_t panel, std::uint8_t* packed) {
  const PackedBlock layout = packed_block(source.type);
  const std::int64_t num_blocks = source.cols / layout.block;
  const std::int64_t first = panel * kPanelRows;
  const int rows = static_cast<int>(std::min<std::int64_t>(kPanelRows, source.rows - first));
  BlockTarget target{};
  for (std::int64_t b = 0; b < num_blocks; ++b) {
    const BlockPlace place = place_of_block(source.type, num_blocks, b);
    target.scales = packed + place.scales;
    for (int row = 0; row < rows; ++row) {
      Block block;
      std::memcpy(&block, source.row(first + row) + static_cast<std::size_t>(b) * sizeof(Block), sizeof(Block));
      take(block, row, target);
    }
    write_quads(source.type, target, packed + place.quads);
  }
}

void pack_plain(const Tensor& source, std::int64_t panel, std::uint8_t* packed) {
  const std::size_t size = source.row_bytes() / static_cast<std::size_t>(source.cols);
  const std::int64_t first = panel * kPanelRows;
  const std::int64_t rows = std::min<std::int64_t>(kPanelRows, source.rows - first);
  for (std::int64_t row = 0; row < rows; ++row) {
    const std::byte* in = source.row(first + row);
    for (std::int64_t k = 0; k < source.cols; ++k)
      std::memcpy(packed + static_cast<std::size_t>(k * kPanelRows + row) * size,
                  in + static_cast<std::size_t>(k) * size, size);
  }
}

using PackFn = void (*)(const Tensor&, std::int64_t panel, std::uint8_t* packed);

PackFn pack_function(DType type) {
  switch (type) {
    case DType::kF32:
    case DType::kF16:
    case DType::kBF16: return &pack_plain;
    case DType::kQ4_0: return &pack_quantized<BlockQ4_0>;
    case DType::kQ4_1: return &pack_quantized<BlockQ4_1>;
    case DType::kQ5_0: return &pack_quantized<BlockQ5_0>;
    case DType::kQ5_1: return &pack_quantized<BlockQ5_1>;
    case DType::kQ8_0: return &pack_quantized<BlockQ8_0>;
    case DType::kQ2_K: return &pack_quantized<BlockQ2_K>;
    case DType::kQ3_K: return &pack_quantized<BlockQ3_K>;
    case DType::kQ4_K: return &pack_quantized<BlockQ4_K>;
    case DType::kQ5_K: return &pack_quantized<BlockQ5_K>;
    case DType::kQ6_K: return &pack_quantized<BlockQ6_K>;
    case DType::kIQ4_NL: return &pack_quantized<BlockIQ4_NL>;
    case DType::kIQ4_XS: return &pack_quantized<BlockIQ4_XS>;
    case DType::kTQ1_0: return &pack_quantized<BlockTQ1_0>;
    case DType::kTQ2_0: return &pack_quantized<BlockTQ2_0>;
    case DType::kMXFP4: return &pack_quantized<BlockMXFP4>;
    case DType::kQ1_0: return &pack_quantized<BlockQ1_0>;
  }
  check_failed("packable type", __FILE__, __LINE__, "");
}

}  // namespace

std::size_t packed_bytes(DType type, std::int64_t rows, std::int64_t cols) {
  return static_cast<std::size_t>(num_panels(rows)) * panel_bytes(type, cols);
}

void pack_panels(const Tensor& source, std::int64_t begin, std::int64_t end, std::uint8_t* packed) {
  const PackFn pack = pack_function(source.type);
  const std::size_t stride = panel_bytes(source.type, source.cols);
  for (std::int64_t panel = begin; panel < end; ++panel) {
    std::uint8_t* out = packed + static_cast<std::size_t>(panel) * stride;
    std::memset(out, 0, stride);
    pack(source, panel, out);
  }
}

}  // namespace octavo
