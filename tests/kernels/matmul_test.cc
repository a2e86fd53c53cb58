// Matrix kernels of every weight type against the reference decoding and double precision.
#include <algorithm>
#include <cmath>
#include <cstring>

#include "kernels/kernel_test.h"
#include "tensor/dequantize.h"

namespace octavo {
namespace {

class Matmul : public KernelTest {};
OCTAVO_FOR_EACH_LEVEL(Matmul);

constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();

/// Where a block of `type` keeps its halfs; filled with ordinary scales.
std::vector<int> half_offsets(DType type) {
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
    case DType::kMXFP4: return {};
    default: return {0};
  }
}

struct Matrix {
  Tensor tensor;
  std::vector<std::byte> bytes;
  std::vector<float> weights;  // [rows][cols], decoded by the reference
  std::vector<std::uint8_t> storage;
  PackedMatrix packed;
};

enum class Fill { kRandom, kZeros, kOnes };

class MatrixMaker {
 public:
  explicit MatrixMaker(std::mt19937& random) : random_(random) {}

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
    pack(m);
    return m;
  }

 private:
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
    if (type == DType::kTQ2_0)  // 2-bit fields hold 0, 1 or 2
      for (int i = 0; i < 64; ++i)
        if ((block[i] & block[i] >> 1 & std::byte{0x55}) != std::byte{0}) block[i] &= std::byte{0xAA};
    if (type == DType::kTQ1_0)  // base-3 digits as a fraction of 256, as the format writes them
      for (int i = 0; i < 52; ++i) {
        const int number = i < 48 ? static_cast<int>(random_() % 243) : static_cast<int>(random_() % 81) * 3;
        block[i] = static_cast<std::byte>((number * 256 + 242) / 243);
      }
  }
  static void pack(Matrix& m) {
    // One cache line of alignment, as the engine gives it.
    m.storage.resize(packed_bytes(m.tensor.type, m.tensor.rows, m.tensor.cols) + 64);
    auto address = reinterpret_cast<std::uintptr_t>(m.storage.data());
    std::uint8_t* data = m.storage.data() + (64 - address % 64) % 64;
    pack_panels(m.tensor, 0, num_panels(m.tensor.rows), data);
    m.packed = {m.tensor.type, m.tensor.rows, m.tensor.cols, data};
  }

  std::mt19937& random_;
};

struct Rows {
  std::vector<float> x, scale, sum32, sum16;
  std::vector<std::int8_t> q;
  std::vector<std::int32_t> bias;
  ActivationRows view;
};

Rows quantized(const KernelTable& kernels, std::vector<float> x, std::int64_t cols) {
  Rows r;
  const auto n = static_cast<std::int64_t>(x.size());
  r.x = std::move(x);
  r.q.resize(r.x.size());
  r.scale.resize(r.x.size() / 32 + 1);
  r.sum32.resize(r.x.size() / 32 + 1);
  r.sum16.resize(r.x.size() / 16 + 1);
  r.bias.resize(r.scale.size());
  if (cols % 32 == 0)
    kernels.quantize_row(r.x.data(), n, {r.q.data(), r.scale.data(), r.sum32.data(), r.sum16.data(), r.bias.data()});
  r.view = {cols, r.x.data(), r.q.data(), r.scale.data(), r.sum32.data(), r.sum16.data(), r.bias.data()};
  return r;
}

/// What the weights meet: the floats, or the quantized activations multiplied out.
double activation(const Rows& r, bool plain, std::size_t i) {
  return plain ? r.x[i] : static_cast<double>(r.q[i]) * r.scale[i / 32];
}

void expect_product(const KernelTable& kernels, const Matrix& m, const Rows& x, std::int64_t rows) {
  const std::int64_t n = m.tensor.rows, cols = m.tensor.cols;
  std::vector<float> y(static_cast<std::size_t>(rows * n), kNaN);
  kernels.matmul[dtype_index(m.tensor.type)](m.packed, x.view, 0, num_panels(n), 0, rows, y.data(), n);
  for (std::int64_t row = 0; row < rows; ++row)
    for (std::int64_t out = 0; out < n; ++out) {
      double sum = 0, magnitude = 0;
      for (std::int64_t k = 0; k < cols; ++k) {
        const double a = activation(x, is_plain_float(m.tensor.type), static_cast<std::size_t>(row * cols + k));
        const double product = a * m.weights[static_cast<std::size_t>(out * cols + k)];
        sum += product;
        magnitude += std::fabs(product);
      }
      ASSERT_NEAR(y[static_cast<std::size_t>(row * n + out)], sum, 4e-6 * magnitude + 1e-6)
          << dtype_info(m.tensor.type).name << " row " << row << " output " << out;
    }
}

TEST_P(Matmul, EveryTypeEqualsTheReferenceProduct) {
  MatrixMaker maker(random);
  for (const DType type : kAllDTypes) {
    const std::int64_t cols = 512, outputs = 37, rows = 15;  // a partial panel; tiles of 8, 4, 2 and 1
    const Matrix m = maker.make(type, outputs, cols);
    expect_product(kernels(), m, quantized(kernels(), normal(rows * cols), cols), rows);
  }
}

TEST_P(Matmul, ExtremeBytesDoNotSaturate) {
  MatrixMaker maker(random);
  for (const DType type : kAllDTypes)
    for (const Fill fill : {Fill::kZeros, Fill::kOnes}) {
      const std::int64_t cols = 256, outputs = 16, rows = 3;
      const Matrix m = maker.make(type, outputs, cols, fill);
      std::vector<float> x(rows * cols);
      for (std::size_t i = 0; i < x.size(); ++i) x[i] = i < 256 ? 1.0F : i < 512 ? -1.0F : i % 2 == 0 ? 1.0F : -1.0F;
      expect_product(kernels(), m, quantized(kernels(), x, cols), rows);
    }
}

TEST_P(Matmul, PlainFloatsTakeAnyNumberOfColumns) {
  MatrixMaker maker(random);
  for (const DType type : {DType::kF32, DType::kF16, DType::kBF16}) {
    const Matrix m = maker.make(type, 5, 7);
    expect_product(kernels(), m, quantized(kernels(), normal(3 * 7), 7), 3);
  }
}

TEST_P(Matmul, BitsOfARowDoNotDependOnItsCompany) {
  MatrixMaker maker(random);
  for (const DType type : kAllDTypes) {
    const std::int64_t cols = 512, outputs = 48, rows = 13;
    const Matrix m = maker.make(type, outputs, cols);
    const Rows x = quantized(kernels(), normal(rows * cols), cols);
    const MatmulFn matmul = kernels().matmul[dtype_index(type)];
    std::vector<float> whole(rows * outputs, kNaN), pieces(rows * outputs, kNaN);
    matmul(m.packed, x.view, 0, 3, 0, rows, whole.data(), outputs);
    for (std::int64_t row = 0; row < rows; ++row)
      for (std::int64_t panel = 0; panel < 3; ++panel)
        matmul(m.packed, x.view, panel, panel + 1, row, row + 1, pieces.data(), outputs);
    EXPECT_EQ(std::memcmp(whole.data(), pieces.data(), whole.size() * sizeof(float)), 0) << dtype_info(type).name;
  }
}

TEST_P(Matmul, RowsDecodeToTheReferenceWeights) {
  MatrixMaker maker(random);
  for (const DType type : kAllDTypes) {
    const std::int64_t cols = 512, outputs = 21;
    const Matrix m = maker.make(type, outputs, cols);
    std::vector<float> row(static_cast<std::size_t>(cols));
    for (std::int64_t r = 0; r < outputs; ++r) {
      kernels().decode_row[dtype_index(type)](m.packed, r, row.data());
      for (std::size_t k = 0; k < row.size(); ++k) {
        const float expected = m.weights[static_cast<std::size_t>(r * cols) + k];
        ASSERT_NEAR(row[k], expected, 1e-5F * (1 + std::fabs(expected))) << dtype_info(type).name << " row " << r;
      }
    }
  }
}

class Quantize : public KernelTest {};
OCTAVO_FOR_EACH_LEVEL(Quantize);

TEST_P(Quantize, ErrorIsAtMostHalfAStepAndSumsAreExact) {
  const std::vector<float> x = normal(1024, 3.0F);
  const Rows r = quantized(kernels(), x, 1024);
  for (std::size_t i = 0; i < x.size(); ++i)
    ASSERT_NEAR(r.q[i] * r.scale[i / 32], x[i], 0.5001F * r.scale[i / 32]) << i;
  for (std::size_t b = 0; b < x.size() / 16; ++b) {
    int sum = 0;
    for (std::size_t i = 0; i < 16; ++i) sum += r.q[16 * b + i];
    ASSERT_EQ(r.sum16[b], static_cast<float>(sum) * r.scale[b / 2]);
  }
}

TEST_P(Quantize, ZerosAndDenormalsGiveZeros) {
  std::vector<float> x(64, 0.0F);
  x[40] = 1e-42F;
  const Rows r = quantized(kernels(), x, 64);
  for (const std::int8_t q : r.q) EXPECT_EQ(q, 0);
}

}  // namespace
}  // namespace octavo
