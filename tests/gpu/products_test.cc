// Products on a card against the CPU's kernels, byte for byte.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "gpu/emulation/emulated_kernels.h"
#include "gpu/packed_weights.h"
#include "gpu/product_launch.h"
#include "kernels/dispatch.h"
#include "kernels/pack.h"
#include "tensor/dequantize.h"
#include "tensor/dtype.h"
#include "tensor/tensor.h"

namespace octavo::gpu {
namespace {

constexpr float kUntouched = -12345.0F;

/// A product on both sides.
class Products {
 public:
  Products(Case of, std::int64_t outputs, std::int64_t cols)
      : of_(of), cols_(cols), outputs_(outputs), packed_(packed_bytes(of.type, outputs, cols)) {
    const std::vector<std::byte> file = random_weights(of.type, outputs, cols, random_);
    pack_panels({of.type, outputs, cols, file}, 0, num_panels(outputs), packed_.data());
  }

  std::vector<float> rows(std::int64_t count, float deviation = 1) {
    std::normal_distribution<float> distribution(0, deviation);
    std::vector<float> x(static_cast<std::size_t>(count * cols_));
    for (float& v : x) v = distribution(random_);
    return x;
  }

  std::vector<float> by_cpu(const std::vector<float>& x, std::int64_t rows) {
    const KernelTable& table = *table_of(of_);
    Lines tiles(static_cast<std::size_t>(rows) * act_row_bytes(cols_));
    for (std::int64_t r = 0; r < rows; ++r)
      table.quantize_row(x.data() + r * cols_, cols_, act_place(tiles.data(), cols_, r, rows, table.tile_rows));
    std::vector<float> y(static_cast<std::size_t>(rows * ldy()), kUntouched);
    table.matmul[dtype_index(of_.type)]({of_.type, outputs_, cols_, packed_.data()}, {cols_, x.data(), tiles.data()}, 0,
                                        num_panels(outputs_), 0, rows, y.data(), ldy());
    return y;
  }

  std::vector<float> by_card(const std::vector<float>& x, std::int64_t rows, int multiprocessors) {
    const WeightsOnCard weights{of_.type, outputs_, cols_, packed_.data()};
    Lines acts(act_bytes(rows, cols_)), floats(x.size() * sizeof(float));
    std::memcpy(floats.data(), x.data(), x.size() * sizeof(float));
    const auto* const from = reinterpret_cast<const float*>(floats.data());
    auto* const pairs = reinterpret_cast<ActPair*>(acts.data());
    std::vector<float> y(static_cast<std::size_t>(rows * ldy()), kUntouched);
    if (is_plain_float(of_.type)) {
      launch(product_launch(weights, from, cols_, rows, y.data(), ldy()));
    } else {
      launch(quantize_launch(from, cols_, rows, cols_, pairs));
      launch(product_launch(weights, of_.order, pairs, rows, y.data(), ldy(), multiprocessors));
    }
    return y;
  }

  void expect_same(const std::vector<float>& x, std::int64_t rows, int multiprocessors) {
    const std::vector<float> want = by_cpu(x, rows), got = by_card(x, rows, multiprocessors);
    int differing = 0;
    std::size_t first = 0;
    for (std::size_t i = want.size(); i-- > 0;) {
      if (std::memcmp(&want[i], &got[i], 4) == 0 || (std::isnan(want[i]) && std::isnan(got[i]))) continue;
      ++differing;
      first = i;
    }
    EXPECT_EQ(differing, 0) << rows << " rows, " << outputs_ << " outputs, " << cols_ << " columns, " << kernel_
                            << "; row " << static_cast<std::int64_t>(first) / ldy() << ", output "
                            << static_cast<std::int64_t>(first) % ldy() << ": " << got[first] << " for " << want[first];
  }

 private:
  std::int64_t ldy() const { return outputs_ + 3; }

  /// Threads and copies take another order each time.
  void launch(const KernelLaunch& launch) {
    ++launches_;
    kernel_ = launch.kernel;
    simt::run_emulated_kernel(
        launch.kernel,
        {.grid_x = launch.grid_x,
         .grid_y = launch.grid_y,
         .threads = launch.threads,
         .shared_bytes = static_cast<std::size_t>(launch.shared_bytes),
         .copies = launches_ % 2 == 0 ? simt::Copies::kLate : simt::Copies::kAtOnce,
         .order = launches_ / 2 % 2 == 0 ? simt::ThreadOrder::kAscending : simt::ThreadOrder::kDescending},
        launch.argument.data());
  }

  std::mt19937 random_{99};
  Case of_;
  std::int64_t cols_, outputs_;
  Lines packed_;
  int launches_ = 0;
  std::string_view kernel_;
};

/// Multiprocessors of a card for which a block of several panels is enough, and of one that wants many blocks.
constexpr int kSmallCard = 1, kLargeCard = 1000;

class ProductsOfCard : public ::testing::TestWithParam<Case> {
 protected:
  void SetUp() override {
    if (table_of(GetParam()) == nullptr) GTEST_SKIP() << "not run, the processor lacks AVX2";
  }
  /// Columns that end within the units, chunks and pairs of blocks of kernels, and some that all warps share.
  std::vector<std::int64_t> columns() const {
    const int block = packed_block(GetParam().type).block;
    if (block == 256) return {256, 512, 1280, 2304};
    if (block == 128) return {128, 384, 1152, 9600};
    return {32, 64, 576, 1056, 2336};
  }
};

TEST_P(ProductsOfCard, HaveTheBitsOfTheCpuForFewRows) {
  std::int64_t outputs = 3;
  for (const std::int64_t cols : columns()) {
    Products products(GetParam(), outputs, cols);
    for (std::int64_t rows = 1; rows <= 9; ++rows)
      products.expect_same(products.rows(rows), rows, rows % 2 == 0 ? kSmallCard : kLargeCard);
    outputs = outputs * 2 + 10;  // 3, 16, 42, 94, 198
  }
}

TEST_P(ProductsOfCard, HaveTheBitsOfTheCpuForManyRows) {
  const std::int64_t cols = columns()[2];
  Products one_panel(GetParam(), 16, cols), several(GetParam(), 133, cols);
  for (const std::int64_t rows : {9, 31, 32, 33, 127, 128, 129}) {
    const std::vector<float> x = several.rows(rows);
    several.expect_same(x, rows, kSmallCard);
    several.expect_same(x, rows, kLargeCard);
    if (rows == 9 || rows == 33) one_panel.expect_same(x, rows, rows == 9 ? kSmallCard : kLargeCard);
  }
}

TEST_P(ProductsOfCard, HaveTheBitsOfTheCpuForZerosAndExtremes) {
  const std::int64_t cols = columns()[2];
  Products products(GetParam(), 40, cols);
  for (const std::int64_t rows : {1, 3, 12}) {
    const auto count = static_cast<std::size_t>(rows * cols);
    products.expect_same(std::vector<float>(count, 0.0F), rows, kSmallCard);
    products.expect_same(std::vector<float>(count, -0.0F), rows, kSmallCard);
    products.expect_same(std::vector<float>(count, 127.0F), rows, kSmallCard);
    products.expect_same(std::vector<float>(count, -1.0F), rows, kSmallCard);
    products.expect_same(products.rows(rows, 1e37F), rows, kSmallCard);
    products.expect_same(products.rows(rows, 1e-38F), rows, kSmallCard);
    products.expect_same(std::vector<float>(count, std::numeric_limits<float>::quiet_NaN()), rows, kSmallCard);
  }
}

/// A row with a number that is not finite leaves the others alone.
TEST_P(ProductsOfCard, OfARowDoNotDependOnOtherRows) {
  const std::int64_t cols = columns()[1];
  Products products(GetParam(), 20, cols);
  for (const std::int64_t rows : {2, 8, 11, 70}) {
    std::vector<float> x = products.rows(rows);
    const std::vector<float> alone = products.by_card({x.end() - cols, x.end()}, 1, kSmallCard);
    x[0] = std::numeric_limits<float>::infinity();
    x[static_cast<std::size_t>(cols)] = std::numeric_limits<float>::quiet_NaN();
    if (rows == 2) x[static_cast<std::size_t>(cols)] = 1;
    const std::vector<float> all = products.by_card(x, rows, rows == 70 ? kSmallCard : kLargeCard);
    if (rows == 2) continue;
    EXPECT_EQ(std::memcmp(alone.data(), all.data() + (rows - 1) * 23, 23 * sizeof(float)), 0) << rows;
    for (int n = 0; n < 20; ++n) {
      EXPECT_FALSE(std::isfinite(all[static_cast<std::size_t>(n)])) << rows;
      EXPECT_FALSE(std::isfinite(all[static_cast<std::size_t>(23 + n)])) << rows;
    }
  }
}

TEST(ProductKernels, AreThoseOfTheTypeAndOrder) {
  using Names = std::vector<std::string_view>;
  EXPECT_EQ(product_kernels(DType::kQ8_0, ScaleOrder::kWordScales),
            (Names{"octavo_product_one_q8_0", "octavo_product_few_q8_0", "octavo_product_narrow_q8_0",
                   "octavo_product_wide_q8_0"}));
  EXPECT_EQ(product_kernels(DType::kQ6_K, ScaleOrder::kWordScales).front(), "octavo_product_one_q6_k_words");
  EXPECT_EQ(product_kernels(DType::kBF16, ScaleOrder::kFloatScales),
            (Names{"octavo_product_one_bf16", "octavo_product_few_bf16"}));
  EXPECT_EQ(product_kernels(DType::kQ6_K, ScaleOrder::kFloatScales, true).back(), "octavo_experts_wide_q6_k");
  EXPECT_EQ(product_kernels(DType::kF16, ScaleOrder::kFloatScales, true),
            (Names{"octavo_experts_one_f16", "octavo_experts_few_f16"}));
  EXPECT_EQ(product_kernels(DType::kIQ1_S, ScaleOrder::kFloatScales), Names{});
  EXPECT_FALSE(has_product(DType::kIQ1_S));
  EXPECT_TRUE(has_product(DType::kF16));
}

INSTANTIATE_TEST_SUITE_P(Formats, ProductsOfCard, ::testing::ValuesIn(kCases), name_of);

}  // namespace
}  // namespace octavo::gpu
