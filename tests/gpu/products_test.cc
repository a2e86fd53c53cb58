// Products on a card against the CPU's kernels, byte for byte.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "gpu/emulation/emulated_kernels.h"
#include "gpu/product_launch.h"
#include "kernels/dispatch.h"
#include "kernels/pack.h"
#include "tensor/dequantize.h"
#include "tensor/dtype.h"
#include "tensor/tensor.h"

namespace octavo::gpu {
namespace {

constexpr float kUntouched = -12345.0F;

struct Case {
  DType type;
  ScaleOrder order;
};

/// The places of the halfs in a block of `type`.
std::vector<int> half_offsets(DType type) {
  switch (type) {
    case DType::kQ4_1:
    case DType::kQ4_K:
    case DType::kQ5_K: return {0, 2};
    case DType::kQ6_K: return {208};
    default: return {0};
  }
}

/// Memory that begins at a cache line and has no byte too many, so that a sanitizer sees what is read behind it.
class Lines {
 public:
  explicit Lines(std::size_t bytes) : storage_(new(std::align_val_t{64}) std::uint8_t[bytes]) {}
  ~Lines() { ::operator delete[](storage_, std::align_val_t{64}); }
  Lines(const Lines&) = delete;
  Lines& operator=(const Lines&) = delete;
  std::uint8_t* data() { return storage_; }

 private:
  std::uint8_t* storage_;
};

/// Any bytes, but for scales that are ordinary numbers.
std::vector<std::byte> random_weights(DType type, std::int64_t outputs, std::int64_t cols, std::mt19937& random) {
  std::uniform_real_distribution<float> number(-1, 1);
  std::vector<std::byte> bytes(*dtype_bytes(type, static_cast<std::uint64_t>(outputs * cols)));
  for (std::byte& byte : bytes) byte = static_cast<std::byte>(random());
  const auto block = static_cast<std::size_t>(dtype_info(type).block_bytes);
  for (std::size_t at = 0; at < bytes.size(); at += block) {
    if (type == DType::kF32) {
      const float v = number(random);
      std::memcpy(&bytes[at], &v, 4);
    } else if (type == DType::kBF16) {
      const std::uint16_t bits = f32_to_bf16(number(random));
      std::memcpy(&bytes[at], &bits, 2);
    } else {
      for (const int offset : half_offsets(type)) {
        const std::uint16_t bits = f32_to_f16((type == DType::kF16 ? 1.0F : 0.01F) * number(random));
        std::memcpy(&bytes[at + static_cast<std::size_t>(offset)], &bits, 2);
      }
    }
  }
  return bytes;
}

/// The table with the order of `of`'s sums; null where this processor has none.
const KernelTable* table_of(Case of) {
  if (of.order == ScaleOrder::kFloatScales)
    return &kernel_table(isa_supported(IsaLevel::kAvx2) ? IsaLevel::kAvx2 : IsaLevel::kScalar, Bits::kPortable);
  return isa_supported(IsaLevel::kAvx2) ? &kernel_table(IsaLevel::kAvx2) : nullptr;
}

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
  EXPECT_EQ(product_kernels(DType::kIQ1_S, ScaleOrder::kFloatScales), Names{});
  EXPECT_FALSE(has_product(DType::kIQ1_S));
  EXPECT_TRUE(has_product(DType::kF16));
}

std::string name_of(const ::testing::TestParamInfo<Case>& info) {
  return std::string(dtype_info(info.param.type).name) +
         (info.param.order == ScaleOrder::kWordScales ? "_word_scales" : "");
}

INSTANTIATE_TEST_SUITE_P(
    Formats, ProductsOfCard,
    ::testing::Values(Case{DType::kQ4_0, ScaleOrder::kFloatScales}, Case{DType::kQ4_1, ScaleOrder::kFloatScales},
                      Case{DType::kQ5_0, ScaleOrder::kFloatScales}, Case{DType::kQ8_0, ScaleOrder::kFloatScales},
                      Case{DType::kQ1_0, ScaleOrder::kFloatScales}, Case{DType::kQ4_K, ScaleOrder::kFloatScales},
                      Case{DType::kQ5_K, ScaleOrder::kFloatScales}, Case{DType::kQ6_K, ScaleOrder::kFloatScales},
                      Case{DType::kQ4_K, ScaleOrder::kWordScales}, Case{DType::kQ5_K, ScaleOrder::kWordScales},
                      Case{DType::kQ6_K, ScaleOrder::kWordScales}, Case{DType::kF16, ScaleOrder::kFloatScales},
                      Case{DType::kBF16, ScaleOrder::kFloatScales}, Case{DType::kF32, ScaleOrder::kFloatScales}),
    name_of);

}  // namespace
}  // namespace octavo::gpu
