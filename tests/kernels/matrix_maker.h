// Matrices of any type with random bytes and ordinary scales, and rows in the int8 form, for tests of products.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstring>
#include <span>

#include "kernels/kernel_test.h"
#include "tensor/dequantize.h"
#include "tensor/quant_blocks.h"

namespace octavo {

/// The places of the halfs in a block of `type`, which are filled with ordinary scales.
inline std::vector<int> half_offsets(DType type) {
  switch (type) {
    case DType::kQ4_1:
    case DType::kQ5_1:
    case DType::kQ4_K:
    case DType::kQ5_K: return {0, 2};
    case DType::kQ2_K: return {80, 82};
    case DType::kQ3_K: return {108};
    case DType::kQ6_K: return {208};
    case DType::kTQ1_0: return {52};
    case DType::kTQ2_0: return {64};
    case DType::kMXFP4:
    case DType::kNVFP4:
    case DType::kIQ1_M: return {};
    default: return {0};
  }
}

struct Matrix {
  Tensor tensor;
  std::vector<std::byte> bytes;
  std::vector<float> weights;  // [rows][cols], decoded by the reference; of Q4_1 with scales as they are packed
  std::vector<std::uint8_t> storage;
  PackedMatrix packed;
};

enum class Fill { kRandom, kZeros, kOnes };

class MatrixMaker {
 public:
  /// `kernels`: those that read the panels; null: any with the order of most levels.
  explicit MatrixMaker(std::mt19937& random, const KernelTable* kernels = nullptr)
      : random_(random), kernels_(kernels) {}

  /// Any bytes but the scales, which are ordinary numbers. kOnes sets every bit of the weights: extreme bytes.
  Matrix make(DType type, std::int64_t rows, std::int64_t cols, Fill fill = Fill::kRandom) {
    Matrix m;
    const DTypeInfo& info = dtype_info(type);
    m.bytes.resize(*dtype_bytes(type, static_cast<std::uint64_t>(rows * cols)));
    for (std::byte& b : m.bytes) b = fill_byte(fill);
    for (std::size_t block = 0; block < m.bytes.size(); block += static_cast<std::size_t>(info.block_bytes))
      set_scales(type, m.bytes.data() + block);
    m.tensor = {type, rows, cols, m.bytes};
    m.weights.resize(static_cast<std::size_t>(rows * cols));
    dequantize(type, m.bytes.data(), m.weights);
    const PanelOrder order = kernels_ == nullptr ? PanelOrder::kQuads : kernels_->panel_order(type);
    for (std::int64_t row = 0; has_integer_scales(type) && order == PanelOrder::kQuads && row < rows; ++row)
      round_scales(reinterpret_cast<const BlockQ4_1*>(m.bytes.data()) + row * (cols / 32),
                   std::span(m.weights).subspan(static_cast<std::size_t>(row * cols), static_cast<std::size_t>(cols)));
    pack(m, order);
    return m;
  }

 private:
  /// w = d q + m, where d and m / 8 are rounded to multiples of the row's unit.
  static void round_scales(const BlockQ4_1* blocks, std::span<float> weights) {
    double unit = 0;
    for (std::size_t b = 0; b < weights.size() / 32; ++b) {
      const double d = f16_to_f32(blocks[b].d), m = f16_to_f32(blocks[b].m);
      unit = std::max({unit, std::fabs(d) / 32760, std::fabs(d + m / 8) / 32760});
    }
    for (std::size_t i = 0; i < weights.size(); ++i) {
      const double d = f16_to_f32(blocks[i / 32].d), m = f16_to_f32(blocks[i / 32].m);
      const double q = std::round((weights[i] - m) / d);
      const double rounded = std::nearbyint(d / unit) * unit * q + std::nearbyint(m / (8 * unit)) * 8 * unit;
      EXPECT_NEAR(rounded, weights[i], 11.5 * unit);  // half a unit for each q, half of eight units for m
      weights[i] = static_cast<float>(rounded);
    }
  }
  std::byte fill_byte(Fill fill) {
    if (fill == Fill::kZeros) return std::byte{0};
    return fill == Fill::kOnes ? std::byte{255} : static_cast<std::byte>(random_() & 255);
  }
  void set_scales(DType type, std::byte* block) {
    std::uniform_real_distribution<float> scale(0.5F, 1.5F);
    if (type == DType::kF32) {
      const float x = scale(random_) - 1.0F;
      std::memcpy(block, &x, 4);
    } else if (type == DType::kF16 || type == DType::kBF16) {
      const float x = scale(random_) - 1.0F;
      const std::uint16_t bits = type == DType::kF16 ? f32_to_f16(x) : f32_to_bf16(x);
      std::memcpy(block, &bits, 2);
    } else if (type == DType::kMXFP4) {
      block[0] = static_cast<std::byte>(120 + random_() % 10);
    }
    for (const int offset : is_plain_float(type) ? std::vector<int>{} : half_offsets(type)) {
      const std::uint16_t bits = f32_to_f16(0.01F * scale(random_));
      std::memcpy(block + offset, &bits, 2);
    }
    if (type == DType::kIQ1_M) {  // its half lies in the upper nibbles of four words
      const std::uint16_t bits = f32_to_f16(0.01F * scale(random_));
      for (int i = 0; i < 4; ++i) {
        std::byte& odd = block[49 + 2 * i];
        odd = (odd & std::byte{15}) | static_cast<std::byte>(bits >> 4 * i & 15) << 4;
      }
    }
    if (type == DType::kTQ2_0)  // 2-bit fields hold 0, 1 or 2
      for (int i = 0; i < 64; ++i)
        if ((block[i] & block[i] >> 1 & std::byte{0x55}) != std::byte{0}) block[i] &= std::byte{0xAA};
    if (type == DType::kTQ1_0)  // base-3 digits as a fraction of 256, as the format writes them
      for (int i = 0; i < 52; ++i) {
        const int number = i < 48 ? static_cast<int>(random_() % 243) : static_cast<int>(random_() % 81) * 3;
        block[i] = static_cast<std::byte>((number * 256 + 242) / 243);
      }
  }
  static void pack(Matrix& m, PanelOrder order) {
    // One cache line of alignment, as the engine gives it.
    m.storage.resize(packed_bytes(m.tensor.type, m.tensor.rows, m.tensor.cols) + 64);
    auto address = reinterpret_cast<std::uintptr_t>(m.storage.data());
    std::uint8_t* data = m.storage.data() + (64 - address % 64) % 64;
    pack_panels(m.tensor, 0, num_panels(m.tensor.rows), data, order);
    m.packed = {m.tensor.type, m.tensor.rows, m.tensor.cols, data};
  }

  std::mt19937& random_;
  const KernelTable* kernels_;
};

/// Rows in the forms that kernels read.
struct Rows {
  std::int64_t cols, num_rows;
  int tile_rows;
  std::vector<float> x;
  std::vector<std::uint8_t> tiles, bf16;
  std::vector<std::int8_t> joined;  // empty where kernels do not read it

  ActivationRows view() const {
    return {cols, x.data(), tiles.data(), bf16.data(), joined.empty() ? nullptr : joined.data()};
  }

  /// Field `index` of row `row`'s block: its place in an ActTile<1>.
  template <class T>
  T field(std::int64_t row, std::int64_t block, std::size_t index) const {
    const ActPlace at = act_place(nullptr, cols, row, num_rows, tile_rows);
    std::size_t offset =
        (reinterpret_cast<std::uintptr_t>(at.tile)) + static_cast<std::size_t>(block * at.rows) * sizeof(ActTile<1>);
    offset += static_cast<std::size_t>(at.rows) * (kActBlock + index * 4) + static_cast<std::size_t>(at.row) * 4;
    T value;
    std::memcpy(&value, tiles.data() + offset, sizeof(T));
    return value;
  }
  int q(std::int64_t row, std::int64_t k) const {
    const ActPlace at = act_place(nullptr, cols, row, num_rows, tile_rows);
    const std::size_t offset = reinterpret_cast<std::uintptr_t>(at.tile) +
                               static_cast<std::size_t>(k / kActBlock * at.rows) * sizeof(ActTile<1>) +
                               static_cast<std::size_t>(at.row * kActBlock + k % kActBlock);
    return static_cast<std::int8_t>(tiles[offset]);
  }
  float scale(std::int64_t row, std::int64_t block) const { return field<float>(row, block, 0); }
};

inline Rows quantized(const KernelTable& kernels, std::vector<float> x, std::int64_t cols) {
  Rows r{cols, static_cast<std::int64_t>(x.size()) / cols, kernels.tile_rows, std::move(x), {}, {}, {}};
  r.tiles.resize(static_cast<std::size_t>(r.num_rows) * act_row_bytes(cols) + 1);
  if (kernels.joined_rows > 0) r.joined.resize(static_cast<std::size_t>(r.num_rows * cols) + 1);
  for (std::int64_t row = 0; row < r.num_rows && cols % kActBlock == 0; ++row) {
    ActPlace place = act_place(r.tiles.data(), cols, row, r.num_rows, kernels.tile_rows);
    if (kernels.joined_rows > 0) place.joined = joined_place(r.joined.data(), cols, row, r.num_rows);
    kernels.quantize_row(r.x.data() + row * cols, cols, place);
  }
  r.bf16.resize(static_cast<std::size_t>(r.num_rows) * act_row_bytes(cols) + kBf16ReadBehind);
  for (std::int64_t row = 0; row < r.num_rows && cols % kActBlock == 0 && kernels.round_row != nullptr; ++row)
    kernels.round_row(r.x.data() + row * cols, cols, bf16_place(r.bf16.data(), cols, row, r.num_rows));
  return r;
}

}  // namespace octavo
