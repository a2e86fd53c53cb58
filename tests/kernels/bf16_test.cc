// Products in bf16 on matrix tiles: the emulation against what a processor did, weights against the file's, and
// products against the chain that one instruction has for them.
#include <gmock/gmock.h>

#include <bit>
#include <fstream>
#include <iterator>

#include "base/tile_support.h"
#include "emulated_isa/tile_machine.h"
#include "emulated_isa/tile_product.h"
#include "kernels/matrix_maker.h"
#include "support/source_dir.h"

namespace octavo {
namespace {

using testing::IsEmpty;

#if defined(__x86_64__)

constexpr DType kInBf16[] = {DType::kQ4_0, DType::kQ4_1, DType::kQ5_0,   DType::kQ5_1,   DType::kQ8_0, DType::kQ4_K,
                             DType::kQ5_K, DType::kQ6_K, DType::kIQ4_NL, DType::kIQ4_XS, DType::kMXFP4};

using Bytes = std::vector<std::uint8_t>;

/// A product that an Emerald Rapids did.
struct Vector {
  int rows, bytes;  // of A
  Bytes a, b;
  std::vector<float> before, after;
};

std::vector<Vector> vectors() {
  std::ifstream file(test::source_dir() + "/tests/data/amx_tiles_bf16.bin", std::ios::binary);
  const Bytes all((std::istreambuf_iterator<char>(file)), {});
  std::size_t at = 0;
  const auto take = [&](int count) {
    const auto from = all.begin() + static_cast<std::ptrdiff_t>(at);
    at += to_size(count);
    return Bytes(from, from + count);
  };
  const auto take_floats = [&](int count) {
    const Bytes bytes = take(4 * count);
    std::vector<float> floats(to_size(count));
    std::memcpy(floats.data(), bytes.data(), bytes.size());
    return floats;
  };
  std::vector<Vector> found;
  while (at < all.size()) {
    const Bytes head = take(4);
    Vector v{head[1], head[2], {}, {}, {}, {}};
    v.a = take(v.rows * v.bytes);
    v.b = take(v.bytes * 16);
    v.before = take_floats(v.rows * 16);
    v.after = take_floats(v.rows * 16);
    found.push_back(std::move(v));
  }
  return found;
}

bool is_same(float a, float b) {
  return std::bit_cast<std::uint32_t>(a) == std::bit_cast<std::uint32_t>(b) || (std::isnan(a) && std::isnan(b));
}

TEST(TilesOfBf16, ProductsHaveTheBitsOfAProcessors) {
  const std::vector<Vector> all = vectors();
  ASSERT_EQ(all.size(), 64U);
  std::vector<decltype(&octavo_tile_product)> products = {&octavo_tile_product_emulated};
  if (bf16_tile_support() == TileSupport::kUsable) products.push_back(&octavo_tile_product);
  for (const Vector& v : all)
    for (const auto product : products) {
      std::vector<std::int32_t> sums(v.before.size());
      std::memcpy(sums.data(), v.before.data(), 4 * sums.size());
      product({.rows = v.rows, .bytes = v.bytes, .columns = 16, .a = v.a.data(), .b = v.b.data(), .is_bf16 = true},
              sums.data());
      for (std::size_t i = 0; i < sums.size(); ++i)
        EXPECT_TRUE(is_same(std::bit_cast<float>(sums[i]), v.after[i])) << i;
    }
  EXPECT_THAT(TileMachine::of_thread().take_errors(), IsEmpty());
}

class ProductsInBf16 : public testing::Test {
 protected:
  void SetUp() override {
    if (kernels_ == nullptr) GTEST_SKIP() << "amxbf16: not run, the processor can not even emulate it";
  }
  void TearDown() override { EXPECT_THAT(TileMachine::of_thread().take_errors(), IsEmpty()); }

  std::vector<float> normal(std::int64_t count) {
    std::normal_distribution<float> distribution;
    std::vector<float> values(to_size(count));
    for (float& value : values) value = distribution(random_);
    return values;
  }
  std::vector<float> product(const Matrix& m, const Rows& x) const {
    const std::int64_t n = m.tensor.rows;
    std::vector<float> y(to_size(x.num_rows * n), std::numeric_limits<float>::quiet_NaN());
    kernels_->matmul[dtype_index(m.tensor.type)](m.packed, x.view(), 0, num_panels(n), 0, x.num_rows, y.data(), n);
    EXPECT_FALSE(TileMachine::of_thread().configured());
    return y;
  }
  std::vector<float> product(const Matrix& m, const std::vector<float>& x) const {
    return product(m, quantized(*kernels_, x, m.tensor.cols));
  }

  /// The weights as products see them, [rows][cols]: products with rows that are 1 in one column.
  std::vector<float> weights_of(const Matrix& m) const {
    const std::int64_t n = m.tensor.rows, cols = m.tensor.cols;
    std::vector<float> ones(to_size(cols * cols)), weights(to_size(n * cols));
    for (std::int64_t k = 0; k < cols; ++k) ones[to_size(k * cols + k)] = 1;
    const std::vector<float> y = product(m, ones);
    for (std::int64_t k = 0; k < cols; ++k)
      for (std::int64_t out = 0; out < n; ++out) weights[to_size(out * cols + k)] = y[to_size(k * n + out)];
    return weights;
  }

  const KernelTable* kernels_ = kernels_of_level(IsaLevel::kAmxBf16);
  std::mt19937 random_{54321};
  MatrixMaker maker_{random_, kernels_};
};

TEST_F(ProductsInBf16, AreThoseOfElevenTypesAndAllElseIsTheLevelsWithoutThem) {
  const KernelTable& without = *kernels_of_level(IsaLevel::kAmx);
  for (const DType type : kAllDTypes) {
    const bool is_in_bf16 = std::ranges::find(kInBf16, type) != std::end(kInBf16);
    EXPECT_EQ(kernels_->matmul[dtype_index(type)] != without.matmul[dtype_index(type)], is_in_bf16);
    EXPECT_EQ(kernels_->activation_form(type),
              is_in_bf16 ? ActivationForm::kBf16Blocks : without.activation_form(type));
    EXPECT_EQ(kernels_->panel_order(type), is_in_bf16 ? PanelOrder::kOutputs : PanelOrder::kQuads);
    EXPECT_EQ(without.panel_order(type), PanelOrder::kQuads);
  }
  EXPECT_EQ(kernels_->attention[0], without.attention[0]);
  EXPECT_EQ(kernels_->quantize_row, without.quantize_row);
  EXPECT_EQ(without.round_row, nullptr);
}

/// The largest weight of the 256 around one, or of its row.
double largest_near(const Matrix& m, std::int64_t at) {
  const std::int64_t first = at / m.tensor.cols * m.tensor.cols + at % m.tensor.cols / 256 * 256;
  double most = 0;
  for (std::int64_t i = first; i < std::min(first + 256, (at / m.tensor.cols + 1) * m.tensor.cols); ++i)
    most = std::max(most, std::fabs(static_cast<double>(m.weights[to_size(i)])));
  return most;
}

// A weight times 1027 / 1024 is cut to eight bits of mantissa.
TEST_F(ProductsInBf16, WeightsAreTheFilesCutToBf16) {
  for (const DType type : kInBf16)
    for (const Fill fill : {Fill::kRandom, Fill::kZeros, Fill::kOnes}) {
      const Matrix m = maker_.make(type, 37, 512, fill);
      const std::vector<float> found = weights_of(m);
      double sum = 0, magnitudes = 0;
      for (std::size_t i = 0; i < found.size(); ++i) {
        const double more = m.weights[i] * (1027.0 / 1024), bits = found[i];
        ASSERT_EQ(std::bit_cast<std::uint32_t>(found[i]) & 0xFFFF, 0U);
        if (m.weights[i] == 0) {
          ASSERT_EQ(found[i], 0) << dtype_info(type).name;
        }
        const double slack = 1e-6 * largest_near(m, static_cast<std::int64_t>(i));  // scales and minimums in floats
        ASSERT_LE(std::fabs(bits), std::fabs(more) + slack) << dtype_info(type).name;
        ASSERT_GE(std::fabs(bits), std::fabs(more) * (1 - 0x1p-7) - slack) << dtype_info(type).name;
        sum += std::fabs(bits) - std::fabs(static_cast<double>(m.weights[i]));
        magnitudes += std::fabs(static_cast<double>(m.weights[i]));
      }
      if (fill == Fill::kRandom) {
        EXPECT_NEAR(sum / magnitudes, 0, 4e-4) << dtype_info(type).name;  // it is no bias
      }
    }
}

/// Rounds to bf16, to nearest and ties to even.
float rounded(float x) { return bf16_to_f32(f32_to_bf16(x)); }

float normal_or_zero(float x) { return std::fabs(x) < std::numeric_limits<float>::min() ? std::copysign(0.0F, x) : x; }

/// One output by one row: what tile_dot_bf16 does, block by block.
float chain(const float* w, const float* x, std::int64_t cols) {
  float y = 0;
  for (std::int64_t b = 0; b < cols; b += 32) {
    float first = 0, second = 0;
    for (std::int64_t k = b; k < b + 16; ++k) {
      first = normal_or_zero(std::fma(w[k], normal_or_zero(rounded(x[k])), first));
      second = normal_or_zero(std::fma(w[k + 16], normal_or_zero(rounded(x[k + 16])), second));
    }
    y = normal_or_zero(y + normal_or_zero(first + second));
  }
  return y;
}

TEST_F(ProductsInBf16, AreTheChainOfTheInstruction) {
  for (const DType type : kInBf16) {
    const std::int64_t cols = 768, rows = 35, outputs = 53;
    const Matrix m = maker_.make(type, outputs, cols);
    const std::vector<float> weights = weights_of(m);
    std::vector<float> x = normal(rows * cols);
    for (std::size_t i = 0; i < x.size(); i += 7) x[i] *= 100;
    x[5] = 1e-40F, x[6] = -0.0F, x[40] = 3e-39F;
    const std::vector<float> y = product(m, x);
    for (std::int64_t row = 0; row < rows; ++row)
      for (std::int64_t out = 0; out < outputs; ++out)
        ASSERT_EQ(y[to_size(row * outputs + out)], chain(&weights[to_size(out * cols)], &x[to_size(row * cols)], cols))
            << dtype_info(type).name << " row " << row << " output " << out;
  }
}

TEST_F(ProductsInBf16, AreNearTheTruth) {
  for (const DType type : kInBf16) {
    const std::int64_t cols = 1024, rows = 20, outputs = 48;
    const Matrix m = maker_.make(type, outputs, cols);
    const std::vector<float> x = normal(rows * cols), y = product(m, x);
    double errors = 0, squares = 0;
    for (std::int64_t row = 0; row < rows; ++row)
      for (std::int64_t out = 0; out < outputs; ++out) {
        double sum = 0;
        for (std::int64_t k = 0; k < cols; ++k)
          sum += static_cast<double>(m.weights[to_size(out * cols + k)]) * x[to_size(row * cols + k)];
        errors += (y[to_size(row * outputs + out)] - sum) * (y[to_size(row * outputs + out)] - sum);
        squares += sum * sum;
      }
    EXPECT_LT(std::sqrt(errors / squares), 0.003) << dtype_info(type).name;  // int8 in blocks of 32: 0.0053
  }
}

/// `values` all at once, then each of some rows alone, and some in parts.
TEST_F(ProductsInBf16, BitsOfARowDoNotDependOnTheNumberOfRows) {
  for (const DType type : kInBf16) {
    const std::int64_t cols = packed_block(type).block > 64 ? 512 : 608, outputs = 53, most = 512;
    const Matrix m = maker_.make(type, outputs, cols);
    const std::vector<float> values = normal(most * cols), all = product(m, values);
    std::vector<std::int64_t> counts = {31, 32, 33, 64, 111, 112, 113, 129};
    for (std::int64_t rows = 1; rows <= 17; ++rows) counts.push_back(rows);
    for (const std::int64_t rows : counts) {
      const std::int64_t first = most - rows;
      const std::vector<float> some = product(m, {values.begin() + first * cols, values.end()});
      EXPECT_EQ(std::memcmp(some.data(), &all[to_size(first * outputs)], some.size() * sizeof(float)), 0)
          << dtype_info(type).name << ", " << rows << " rows";
    }
  }
}

TEST_F(ProductsInBf16, MoreRowsThanShareAStretchHaveTheSameBits) {
  const std::int64_t cols = 64, outputs = 16, rows = 1030;
  const Matrix m = maker_.make(DType::kQ4_0, outputs, cols);
  const std::vector<float> values = normal(rows * cols), all = product(m, values);
  const std::vector<float> last = product(m, {values.end() - 2 * cols, values.end()});
  EXPECT_EQ(std::memcmp(last.data(), &all[to_size((rows - 2) * outputs)], last.size() * sizeof(float)), 0);
}

TEST_F(ProductsInBf16, TakeAnyNumberOfColumns) {
  for (const DType type : kInBf16)
    for (const std::int64_t blocks : {1, 2, 3, 7, 8, 9, 17, 33, 384}) {
      const std::int64_t cols = blocks * packed_block(type).block;
      if (cols > 12288) continue;
      const Matrix m = maker_.make(type, 37, cols);
      const std::vector<float> values = normal(35 * cols), all = product(m, values);
      const std::vector<float> one = product(m, {values.begin(), values.begin() + cols});
      EXPECT_EQ(std::memcmp(one.data(), all.data(), one.size() * sizeof(float)), 0) << dtype_info(type).name;
      for (const float y : all) ASSERT_TRUE(std::isfinite(y));
    }
}

TEST_F(ProductsInBf16, ArePartsOfAPanelsAndRowsProductToo) {
  const std::int64_t cols = 768, outputs = 53, rows = 75;
  for (const DType type : kInBf16) {
    const Matrix m = maker_.make(type, outputs, cols);
    const Rows x = quantized(*kernels_, normal(rows * cols), cols);
    const std::vector<float> whole = product(m, x);
    std::vector<float> parts(whole.size());
    for (const auto& [panel, panel_end] : {std::pair{0, 1}, {1, 1}, {1, 4}})
      for (const auto& [row, row_end] : {std::pair{0, 16}, {16, 16}, {16, 64}, {64, 75}})
        kernels_->matmul[dtype_index(type)](m.packed, x.view(), panel, panel_end, row, row_end, parts.data(), outputs);
    EXPECT_EQ(std::memcmp(parts.data(), whole.data(), whole.size() * sizeof(float)), 0) << dtype_info(type).name;
  }
}

TEST_F(ProductsInBf16, RowsAreRoundedToNearestAndWhatIsNoNumberStaysSo) {
  constexpr float kInfinite = std::numeric_limits<float>::infinity();
  const std::int64_t cols = 96, rows = 19;
  std::vector<float> x = normal(rows * cols);
  const float special[] = {kInfinite,
                           -kInfinite,
                           std::numeric_limits<float>::quiet_NaN(),
                           std::numeric_limits<float>::max(),
                           1 + 0x1p-8F,
                           1 + 0x3p-8F,
                           1e-42F,
                           -0.0F,
                           std::bit_cast<float>(0x7F800001U),
                           std::bit_cast<float>(0xFFFFFFFFU)};
  std::ranges::copy(special, x.begin() + 5);
  const Rows by_rows = quantized(*kernels_, x, cols);
  Rows by_columns = by_rows;
  std::ranges::fill(by_columns.bf16, std::uint8_t{0});
  for (std::int64_t row = 0; row < rows; row += kBf16TileRows)
    for (std::int64_t block = 0; block < cols / kActBlock; ++block) {
      ActPlace place = bf16_place(by_columns.bf16.data(), cols, row, rows);
      place.tile += to_size(block * place.rows) * sizeof(ActTile<1>);
      kernels_->round_column(x.data() + row * cols + block * kActBlock, cols, place.rows, place);
    }
  EXPECT_EQ(by_columns.bf16, by_rows.bf16);
  for (std::int64_t row = 0; row < rows; ++row) {
    const ActPlace place = bf16_place(by_columns.bf16.data(), cols, row, rows);
    for (std::int64_t k = 0; k < cols; ++k) {
      std::uint16_t bits = 0;
      const std::int64_t pair = k / 32 * 16 + k % 16;
      std::memcpy(&bits, place.tile + (pair * place.rows + place.row) * 4 + k % 32 / 16 * 2, 2);
      const float value = bf16_to_f32(bits), given = x[to_size(row * cols + k)];
      if (std::isnan(given)) {
        EXPECT_TRUE(std::isnan(value));
      } else {
        EXPECT_EQ(value, rounded(given)) << given;
      }
    }
  }
}

#ifdef OCTAVO_EMULATES_AMXBF16

// A panel by a row tile by a block of 32 columns takes one product, whatever the rows of the tile.
TEST_F(ProductsInBf16, AreOneForARowTileOfAPanelAndABlock) {
  constexpr std::int64_t kPanels = 3, kBlocks = 24;
  for (const DType type : kInBf16)
    for (const std::int64_t rows : {1, 2, 15, 16, 17, 32, 33, 129, 512}) {
      const Matrix m = maker_.make(type, kPanels * 16, kBlocks * 32);
      const Rows x = quantized(*kernels_, std::vector<float>(to_size(rows * kBlocks * 32), 1.0F), kBlocks * 32);
      const std::int64_t before = TileMachine::of_thread().products();
      product(m, x);
      EXPECT_EQ(TileMachine::of_thread().products() - before, kPanels * kBlocks * ((rows + 15) / 16));
    }
}

#endif

TEST_F(ProductsInBf16, TheProbeDoesTheMultiplyAddsThatItCounts) {
  std::array<std::int8_t, 16> operands;
  operands.fill(1);
  std::int32_t some = 0, others = 0;
  EXPECT_EQ(kernels_->probe_int8(3, operands.data(), &some), 3 * 4 * 16 * 16 * 32);
  operands[0] = 2;
  kernels_->probe_int8(3, operands.data(), &others);
  EXPECT_NE(some, others);
}

#endif

}  // namespace
}  // namespace octavo
