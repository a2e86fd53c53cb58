// Matrix kernels of every weight type against the reference decoding and double precision.
#include "kernels/matrix_maker.h"

namespace octavo {
namespace {

class Matmul : public KernelTest {};
OCTAVO_FOR_EACH_LEVEL(Matmul);

constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();

/// The activations that the weights meet: floats, or the quantized ones multiplied out.
double activation(const Rows& r, ActivationForm form, std::int64_t row, std::int64_t k) {
  const float x = r.x[static_cast<std::size_t>(row * r.cols + k)];
  if (form == ActivationForm::kFloat) return x;
  if (form == ActivationForm::kBf16Blocks) return bf16_to_f32(f32_to_bf16(x));
  return static_cast<double>(r.q(row, k)) * r.scale(row, k / kActBlock);
}

void expect_product(const KernelTable& kernels, const Matrix& m, const Rows& x, std::int64_t rows) {
  const std::int64_t n = m.tensor.rows, cols = m.tensor.cols;
  std::vector<float> y(static_cast<std::size_t>(rows * n), kNaN);
  kernels.matmul[dtype_index(m.tensor.type)](m.packed, x.view(), 0, num_panels(n), 0, rows, y.data(), n);
  const ActivationForm form = kernels.activation_form(m.tensor.type);
  const double rounding = form == ActivationForm::kBf16Blocks ? 0x1p-7 : 4e-6;  // bf16_test.cc looks at those bits
  for (std::int64_t row = 0; row < rows; ++row)
    for (std::int64_t out = 0; out < n; ++out) {
      double sum = 0, magnitude = 0;
      for (std::int64_t k = 0; k < cols; ++k) {
        const double a = activation(x, form, row, k);
        const double product = a * m.weights[static_cast<std::size_t>(out * cols + k)];
        sum += product;
        magnitude += std::fabs(product);
      }
      ASSERT_NEAR(y[static_cast<std::size_t>(row * n + out)], sum, rounding * magnitude + 1e-6)
          << dtype_info(m.tensor.type).name << " row " << row << " output " << out;
    }
}

TEST_P(Matmul, EveryTypeEqualsTheReferenceProduct) {
  MatrixMaker maker(random, &kernels());
  for (const DType type : kAllDTypes) {
    const std::int64_t cols = 512, outputs = 37, rows = 23;  // a partial panel; tiles of 8, 8, 4 and 3
    const Matrix m = maker.make(type, outputs, cols);
    expect_product(kernels(), m, quantized(kernels(), normal(rows * cols), cols), rows);
  }
}

TEST_P(Matmul, ExtremeBytesDoNotSaturate) {
  MatrixMaker maker(random, &kernels());
  for (const DType type : kAllDTypes)
    for (const Fill fill : {Fill::kZeros, Fill::kOnes}) {
      const std::int64_t cols = 256, outputs = 16;
      const Matrix m = maker.make(type, outputs, cols, fill);
      for (const std::int64_t rows : {3, 18}) {  // alone, and in tiles that share unpacked weights
        std::vector<float> x(static_cast<std::size_t>(rows * cols));
        for (std::size_t i = 0; i < x.size(); ++i) {
          const std::size_t row = i / 256 % 3;
          x[i] = row == 0 ? 1.0F : row == 1 ? -1.0F : i % 2 == 0 ? 1.0F : -1.0F;
        }
        expect_product(kernels(), m, quantized(kernels(), x, cols), rows);
      }
    }
}

TEST_P(Matmul, PlainFloatsTakeAnyNumberOfColumns) {
  MatrixMaker maker(random, &kernels());
  for (const DType type : {DType::kF32, DType::kF16, DType::kBF16}) {
    const Matrix m = maker.make(type, 5, 7);
    expect_product(kernels(), m, quantized(kernels(), normal(3 * 7), 7), 3);
  }
}

/// The product of all rows, of each tile of them and of each row alone: the same bytes.
void expect_same_bits(const KernelTable& kernels, const Matrix& m, const std::vector<float>& values) {
  const std::int64_t cols = m.tensor.cols, outputs = m.tensor.rows, panels = num_panels(outputs);
  const Rows x = quantized(kernels, values, cols);
  const std::int64_t rows = x.num_rows;
  const auto size = static_cast<std::size_t>(rows * outputs);
  const MatmulFn matmul = kernels.matmul[dtype_index(m.tensor.type)];
  std::vector<float> whole(size, kNaN), tiles(size, kNaN), alone(size, kNaN);
  matmul(m.packed, x.view(), 0, panels, 0, rows, whole.data(), outputs);
  for (std::int64_t row = 0; row < rows; ++row) {
    const RowTile tile = kernels.activation_form(m.tensor.type) == ActivationForm::kBf16Blocks
                             ? RowTile{row / kBf16TileRows * kBf16TileRows, bf16_place(nullptr, cols, row, rows).rows}
                             : tile_of_row(row, rows, kernels.tile_rows);
    const Rows one = quantized(kernels, {values.begin() + row * cols, values.begin() + (row + 1) * cols}, cols);
    for (std::int64_t panel = 0; panel < panels; ++panel) {
      if (tile.first == row) matmul(m.packed, x.view(), panel, panel + 1, row, row + tile.rows, tiles.data(), outputs);
      matmul(m.packed, one.view(), panel, panel + 1, 0, 1, alone.data() + row * outputs, outputs);
    }
  }
  EXPECT_EQ(std::memcmp(whole.data(), tiles.data(), size * sizeof(float)), 0) << dtype_info(m.tensor.type).name;
  EXPECT_EQ(std::memcmp(whole.data(), alone.data(), size * sizeof(float)), 0) << dtype_info(m.tensor.type).name;
}

TEST_P(Matmul, BitsOfARowDoNotDependOnItsCompany) {
  MatrixMaker maker(random, &kernels());
  for (const DType type : kAllDTypes) {
    const std::int64_t cols = 512, outputs = 48;  // panels: a pair and one alone
    const Matrix m = maker.make(type, outputs, cols);
    // Tiles of 8, 8, 4 and 3, or five of 4 and one of 3; with 39 rows as many as share the scales of a pair of panels.
    for (const std::int64_t rows : {5, 23, 39}) expect_same_bits(kernels(), m, normal(rows * cols));
  }
}

// Seventeen tiles are two groups with AVX2, of nine and of eight; their last run of 256 weights is cut short.
TEST_P(Matmul, BitsOfARowDoNotDependOnTheGroupOfItsTile) {
  MatrixMaker maker(random, &kernels());
  for (const DType type : kAllDTypes) {
    const std::int64_t cols = packed_block(type).block > 64 ? 768 : 576, outputs = 21;
    const Matrix m = maker.make(type, outputs, cols);
    expect_same_bits(kernels(), m, normal(71 * cols));
  }
}

// Scales of long rows are decoded for one panel at a time, and those of longer ones as they are met.
TEST_P(Matmul, BitsOfALongRowDoNotDependOnItsCompany) {
  MatrixMaker maker(random, &kernels());
  for (const DType type : {DType::kQ4_K, DType::kQ6_K, DType::kIQ4_XS, DType::kQ8_0})
    for (const std::int64_t cols : {8448, 16640}) {
      const Matrix m = maker.make(type, 32, cols);
      expect_same_bits(kernels(), m, normal(33 * cols));
    }
}

TEST_P(Matmul, ARowThatIsNotFiniteDoesNotTouchTheOthers) {
  MatrixMaker maker(random, &kernels());
  constexpr float kInf = std::numeric_limits<float>::infinity(), kMost = std::numeric_limits<float>::max();
  for (const DType type : kAllDTypes) {
    const std::int64_t cols = 512, outputs = 16, rows = 4, broken = 1;
    const Matrix m = maker.make(type, outputs, cols);
    std::vector<float> x = normal(rows * cols);
    const auto product = [&] {
      std::vector<float> y(rows * outputs);
      const Rows r = quantized(kernels(), x, cols);
      kernels().matmul[dtype_index(type)](m.packed, r.view(), 0, num_panels(outputs), 0, rows, y.data(), outputs);
      return y;
    };
    const std::vector<float> before = product();
    const float values[] = {kNaN, kMost, kInf, -kMost, -kInf, 1, -kNaN};  // a run of NaN, then all of them
    for (std::int64_t k = 0; k < cols; ++k) x[broken * cols + k] = k < 64 ? kNaN : values[k % 7];
    const std::vector<float> after = product();
    for (std::int64_t row = 0; row < rows; ++row) {
      if (row == broken) continue;
      const std::size_t begin = static_cast<std::size_t>(row * outputs);
      EXPECT_EQ(std::memcmp(&before[begin], &after[begin], outputs * sizeof(float)), 0) << dtype_info(type).name;
    }
  }
}

TEST_P(Matmul, BitsOfARowDoNotDependOnItsCompanyWhereItsScalesAreTooManyToBeKept) {
  MatrixMaker maker(random, &kernels());
  for (const DType type : kAllDTypes)
    for (const std::int64_t blocks : {64, 65}) {  // of 256: as many as are decoded ahead, and one more
      const std::int64_t cols = blocks * 256, outputs = 16, rows = 16;
      const Matrix m = maker.make(type, outputs, cols);
      expect_same_bits(kernels(), m, normal(rows * cols));
    }
}

TEST_P(Matmul, AFactorOfTheWholeMatrixComesInOnce) {
  MatrixMaker maker(random, &kernels());
  const std::int64_t cols = 128, outputs = 21, rows = 3;
  Matrix m = maker.make(DType::kNVFP4, outputs, cols);
  m.packed.scale = 0.25F;
  for (float& w : m.weights) w *= 0.25F;
  expect_product(kernels(), m, quantized(kernels(), normal(rows * cols), cols), rows);
  std::vector<float> row(cols);
  kernels().decode_row[dtype_index(DType::kNVFP4)](m.packed, 20, row.data());
  EXPECT_TRUE(std::equal(row.begin(), row.end(), m.weights.end() - cols));
}

TEST_P(Matmul, RowsDecodeToTheReferenceWeights) {
  MatrixMaker maker(random, &kernels());
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
  const std::int64_t cols = 224, rows = 15;  // blocks go by fours and threes
  const Rows r = quantized(kernels(), normal(rows * cols, 3.0F), cols);
  for (std::int64_t row = 0; row < rows; ++row)
    for (std::int64_t block = 0; block < cols / kActBlock; ++block) {
      int sums[2] = {};
      for (std::int64_t i = 0; i < kActBlock; ++i) {
        const std::int64_t k = block * kActBlock + i;
        const int q = r.q(row, k);
        ASSERT_NEAR(static_cast<float>(q) * r.scale(row, block), r.x[static_cast<std::size_t>(row * cols + k)],
                    0.5001F * r.scale(row, block));
        sums[i / 16] += q;
      }
      const float d = r.scale(row, block);
      ASSERT_EQ(r.field<float>(row, block, 1), d * static_cast<float>(sums[0] + sums[1]));
      ASSERT_EQ(r.field<float>(row, block, 2), d * static_cast<float>(sums[0]));
      ASSERT_EQ(r.field<float>(row, block, 3), d * static_cast<float>(sums[1]));
      ASSERT_EQ(r.field<std::int32_t>(row, block, 4), -(sums[0] + sums[1]));
      ASSERT_EQ(r.field<std::int32_t>(row, block, 5), -sums[0]);
      ASSERT_EQ(r.field<std::int32_t>(row, block, 6), -sums[1]);
      const auto pair = r.field<std::uint32_t>(row, block, 7);
      const int eight_sums = 8 * (sums[0] + sums[1]);
      ASSERT_EQ(pair, (static_cast<std::uint32_t>(eight_sums) << 16) + 32768 - static_cast<std::uint32_t>(eight_sums));
    }
}

TEST_P(Quantize, AColumnOfATileHasTheBitsOfItsRows) {
  const std::int64_t cols = 96, rows = 15;  // tiles of 8 and 4 or three of 4, and one of 3
  const Rows by_rows = quantized(kernels(), normal(rows * cols), cols);
  Rows by_columns = by_rows;
  std::ranges::fill(by_columns.tiles, std::uint8_t{0});
  for (std::int64_t row = 0; row < rows; row += tile_of_row(row, rows, kernels().tile_rows).rows)
    for (std::int64_t block = 0; block < cols / kActBlock; ++block) {
      ActPlace place = act_place(by_columns.tiles.data(), cols, row, rows, kernels().tile_rows);
      place.tile += static_cast<std::size_t>(block * place.rows) * sizeof(ActTile<1>);
      kernels().quantize_column(by_rows.x.data() + row * cols + block * kActBlock, cols, place.rows, place);
    }
  EXPECT_EQ(by_columns.tiles, by_rows.tiles);
}

TEST_P(Quantize, ZerosAndDenormalsGiveZeros) {
  std::vector<float> x(64, 0.0F);
  x[40] = 1e-42F;
  const Rows r = quantized(kernels(), x, 64);
  for (std::int64_t k = 0; k < 64; ++k) EXPECT_EQ(r.q(0, k), 0);
}

TEST(ActTiles, EveryRowHasAPlaceOfItsOwnAndTilesFollowOneAnother) {
  for (const int tile_rows : {4, 8})
    for (std::int64_t rows = 1; rows < 40; ++rows) {
      std::int64_t next = 0;
      for (std::int64_t row = 0; row < rows; ++row) {
        const RowTile tile = tile_of_row(row, rows, tile_rows);
        if (row == next) next = tile.first + tile.rows;
        EXPECT_TRUE(tile.first <= row && row < tile.first + tile.rows && tile.first + tile.rows == next);
        EXPECT_TRUE(tile.rows == tile_rows || tile.rows <= kSmallTile);
        EXPECT_LE(next, rows);
      }
    }
}

}  // namespace
}  // namespace octavo
