#include "tensor/quantize.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <fstream>
#include <iterator>
#include <limits>
#include <random>
#include <sstream>
#include <string>
#include <vector>

#include "support/source_dir.h"
#include "tensor/dequantize.h"
#include "tensor/quant_blocks.h"

namespace octavo {
namespace {

using Row = std::vector<float>;

constexpr DType kQuantized[] = {DType::kQ8_0, DType::kQ4_0, DType::kQ4_1, DType::kQ5_0, DType::kQ5_1,
                                DType::kQ4_K, DType::kQ5_K, DType::kQ6_K, DType::kQ2_0};
constexpr DType kFloats[] = {DType::kF32, DType::kF16, DType::kBF16};

/// Whether the type is among those that errors name as written.
bool is_written(DType type) {
  std::stringstream names(written_dtype_names());
  for (std::string name; std::getline(names >> std::ws, name, ',');)
    if (name == dtype_info(type).name) return true;
  return false;
}

std::string name_of(const testing::TestParamInfo<DType>& test) { return std::string(dtype_info(test.param).name); }

std::vector<std::byte> encoded(DType type, const Row& row, const Row& importance = {}) {
  std::vector<std::byte> out(dtype_bytes(type, row.size()).value());
  const auto done = quantize(type, row, importance, out);
  EXPECT_TRUE(done) << done.error().message;
  return out;
}

Row decoded(DType type, const std::vector<std::byte>& blocks, std::size_t size) {
  Row row(size);
  dequantize(type, blocks.data(), row);
  return row;
}

Row through(DType type, const Row& row, const Row& importance = {}) {
  return decoded(type, encoded(type, row, importance), row.size());
}

double square_error(const Row& a, const Row& b) {
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += std::pow(static_cast<double>(a[i]) - static_cast<double>(b[i]), 2);
  return sum;
}

Row normal_row(std::size_t size, std::uint32_t seed, float scale = 0.02F) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal(0, scale);
  Row row(size);
  std::ranges::generate(row, [&] { return normal(random); });
  return row;
}

Row floats_in(const std::string& name) {
  std::ifstream in(test::source_dir() + "/tests/data/quantize/" + name, std::ios::binary);
  const std::string bytes{std::istreambuf_iterator<char>(in), {}};
  Row values(bytes.size() / sizeof(float));
  if (!values.empty()) std::memcpy(values.data(), bytes.data(), bytes.size());
  return values;
}

class QuantizedType : public testing::TestWithParam<DType> {};
INSTANTIATE_TEST_SUITE_P(Types, QuantizedType, testing::ValuesIn(kQuantized), name_of);

// tools/make_quantize_golden.py made the rows (normal, heavy-tailed, shifted, with outliers), and what ggml's own
// quantizers leave of them.
TEST_P(QuantizedType, IsAsNearAsGgmlsOwnQuantizer) {
  const Row rows = floats_in("rows.f32");
  const Row theirs = floats_in(std::string(dtype_info(GetParam()).name) + ".f32");
  ASSERT_FALSE(rows.empty());
  ASSERT_EQ(rows.size(), theirs.size());
  constexpr std::size_t kKinds = 4;
  const std::size_t kind_size = rows.size() / kKinds;
  for (std::size_t kind = 0; kind < kKinds; ++kind) {
    const auto part = [&](const Row& all) {
      const auto begin = all.begin() + static_cast<std::ptrdiff_t>(kind * kind_size);
      return Row(begin, begin + static_cast<std::ptrdiff_t>(kind_size));
    };
    const Row row = part(rows);
    const double ours = square_error(row, through(GetParam(), row));
    EXPECT_LE(ours, 1.02 * square_error(row, part(theirs))) << "rows of kind " << kind;
  }
}

TEST_P(QuantizedType, KeepsZerosAndTheSmallestWeights) {
  const Row zeros(256);
  EXPECT_EQ(through(GetParam(), zeros), zeros);
  const Row tiny(256, std::numeric_limits<float>::denorm_min());
  for (const float weight : through(GetParam(), tiny)) EXPECT_LE(std::abs(weight), 1e-7F);
}

TEST_P(QuantizedType, KeepsTheLargestWeights) {
  Row row(256);
  for (std::size_t i = 0; i < row.size(); ++i) row[i] = i % 2 == 0 ? 65504.0F : -65504.0F;
  for (const float weight : through(GetParam(), row)) EXPECT_NEAR(std::abs(weight), 65504.0F, 65504.0F * 0.08F);
}

TEST_P(QuantizedType, RefusesWeightsThatItsScalesCannotHold) {
  Row row = normal_row(256, 1);
  row[77] = 65536.0F;
  std::vector<std::byte> out(dtype_bytes(GetParam(), row.size()).value());
  const auto done = quantize(GetParam(), row, {}, out);
  ASSERT_FALSE(done);
  EXPECT_NE(done.error().message.find("weight 77 of the row is 65536"), std::string::npos) << done.error().message;
}

// A column that counts for more is met better, on the average of many rows.
TEST_P(QuantizedType, MeetsImportantColumnsBetter) {
  constexpr std::size_t kImportant = 5;
  Row importance(256, 1.0F);
  importance[kImportant] = 1000.0F;
  double with = 0, without = 0;
  for (std::uint32_t seed = 0; seed < 200; ++seed) {
    const Row row = normal_row(256, seed);
    const auto error = [&](const Row& there) {
      return std::pow(static_cast<double>(there[kImportant]) - static_cast<double>(row[kImportant]), 2);
    };
    with += error(through(GetParam(), row, importance));
    without += error(through(GetParam(), row));
  }
  if (GetParam() == DType::kQ8_0) {
    EXPECT_EQ(with, without);  // its scale is not searched for
  } else {
    EXPECT_LT(with, 0.5 * without);
  }
}

// Quantized again, weights stay where they are, but for the rounding of the scale.
TEST_P(QuantizedType, HardlyMovesWeightsThatAreQuantizedAlready) {
  for (std::uint32_t seed = 0; seed < 20; ++seed) {
    const Row row = normal_row(512, seed);
    const Row once = through(GetParam(), row);
    const Row twice = through(GetParam(), once);
    EXPECT_LE(square_error(once, twice), 0.2 * square_error(row, once)) << "seed " << seed;
  }
}

class WrittenType : public testing::TestWithParam<DType> {};
INSTANTIATE_TEST_SUITE_P(Quantized, WrittenType, testing::ValuesIn(kQuantized), name_of);
INSTANTIATE_TEST_SUITE_P(Floats, WrittenType, testing::ValuesIn(kFloats), name_of);

TEST_P(WrittenType, CanBeWritten) { EXPECT_TRUE(is_written(GetParam())); }

TEST_P(WrittenType, RefusesWeightsThatAreNotFinite) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  for (const float wrong : {kInfinity, -kInfinity, std::numeric_limits<float>::quiet_NaN()}) {
    Row row = normal_row(256, 2);
    row[3] = wrong;
    std::vector<std::byte> out(dtype_bytes(GetParam(), row.size()).value());
    const auto done = quantize(GetParam(), row, {}, out);
    ASSERT_FALSE(done) << wrong;
    EXPECT_NE(done.error().message.find("weight 3 of the row is"), std::string::npos) << done.error().message;
  }
}

TEST_P(WrittenType, WritesNothingForNoWeights) { EXPECT_TRUE(quantize(GetParam(), {}, {}, {})); }

TEST(Quantize, RoundsFloatsToTheNearest) {
  const Row row{1.0F, -0.1F, 3.14159F, 65504.0F};
  EXPECT_EQ(through(DType::kF32, row), row);
  for (std::size_t i = 0; i < row.size(); ++i) {
    EXPECT_EQ(through(DType::kF16, row)[i], f16_to_f32(f32_to_f16(row[i])));
    EXPECT_EQ(through(DType::kBF16, row)[i], bf16_to_f32(f32_to_bf16(row[i])));
  }
}

TEST(Quantize, KeepsWeightsThatWereTrainedAsTernaryOnes) {
  Row row(256);
  for (std::size_t i = 0; i < row.size(); ++i)
    row[i] = static_cast<float>(static_cast<int>(i % 3) - 1) *
             bf16_to_f32(f32_to_bf16(0.013F + 0.01F * static_cast<float>(i / 64)));
  EXPECT_EQ(through(DType::kQ2_0, row), row);
}

TEST(Quantize, WritesNoOtherType) {
  for (const DType type : kAllDTypes) {
    const bool written = std::ranges::count(kQuantized, type) + std::ranges::count(kFloats, type) > 0;
    EXPECT_EQ(is_written(type), written) << dtype_info(type).name;
  }
}

// Codes that a block may hold, and the 6-bit scales, at their places.
RC_GTEST_PROP(Quantize, PacksScalesAsTheyAreUnpacked, ()) {
  ScaleMin groups[8];
  for (ScaleMin& group : groups)
    group = {*rc::gen::inRange<std::uint8_t>(0, 64), *rc::gen::inRange<std::uint8_t>(0, 64)};
  std::uint8_t scales[12];
  pack_scales_k4(groups, scales);
  for (int g = 0; g < 8; ++g) {
    RC_ASSERT(unpack_scales_k4(scales, g).scale == groups[g].scale);
    RC_ASSERT(unpack_scales_k4(scales, g).min == groups[g].min);
  }
}

RC_GTEST_PROP(Quantize, GivesFiniteWeightsForAnyFiniteOnes, ()) {
  const DType type = *rc::gen::elementOf(std::vector<DType>(std::begin(kQuantized), std::end(kQuantized)));
  Row row(256);
  const int lowest = *rc::gen::inRange(-149, 15);
  for (float& weight : row)
    weight = std::ldexp(static_cast<float>(*rc::gen::inRange(-1000, 1001)) / 1000, *rc::gen::inRange(lowest, 16));
  float greatest = 0;
  for (const float weight : row) greatest = std::max(greatest, std::abs(weight));
  for (const float weight : through(type, row)) RC_ASSERT(std::abs(weight) <= 1.2F * greatest + 1e-6F);
}

TEST(QuantizeDeathTest, RefusesRoomOfAnotherSize) {
  const Row row(32);
  std::vector<std::byte> out(17);
  EXPECT_DEATH((void)quantize(DType::kQ4_0, row, {}, out), "32 weights of type Q4_0 into 17 bytes");
}

}  // namespace
}  // namespace octavo
