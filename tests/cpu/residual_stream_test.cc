// The rows between the parts: norms, sums, int8 forms and the rows that are kept.
#include "cpu/residual_stream.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cmath>
#include <cstring>
#include <tuple>
#include <vector>

#include "base/to_size.h"
#include "cpu/compute_fixture.h"

namespace octavo::test {
namespace {

constexpr int kWidth = 64, kMaxCols = 96;
constexpr float kEpsilon = 1e-5F;

std::vector<double> normed(const float* x, const float* weight) {
  double squares = 0;
  for (int i = 0; i < kWidth; ++i) squares += static_cast<double>(x[i]) * static_cast<double>(x[i]);
  const double root = std::sqrt(squares / kWidth + static_cast<double>(kEpsilon));
  std::vector<double> out;
  for (int i = 0; i < kWidth; ++i) out.push_back(static_cast<double>(x[i]) / root * static_cast<double>(weight[i]));
  return out;
}

void expect_near(const float* found, const std::vector<double>& expected) {
  for (std::size_t i = 0; i < expected.size(); ++i) EXPECT_NEAR(found[i], expected[i], 1e-5) << i;
}

class ResidualStreamTest : public testing::Test {
 protected:
  void fill(int rows) {
    const std::vector<float> floats = random_floats(to_size(rows * kWidth), 3);
    std::memcpy(stream_.x(0), floats.data(), floats.size() * sizeof(float));
  }
  std::vector<float> x(int row) { return {stream_.x(row), stream_.x(row) + kWidth}; }
  float* h(int row) { return stream_.h() + row * kWidth; }

  ComputeFixture fixture_;
  ResidualStream stream_{fixture_.context, kWidth, kMaxCols, {.epsilon = kEpsilon, .epsilon_of_results = kEpsilon}};
  std::vector<float> weight_ = random_floats(kWidth, 1), other_ = random_floats(kWidth, 2);
};

TEST_F(ResidualStreamTest, ARowIsNormedIntoItsPlace) {
  fill(3);
  const std::vector<float> before = x(2);
  stream_.norm_row({.weight = weight_.data()}, 2, 0, 1);
  expect_near(h(0), normed(before.data(), weight_.data()));
  EXPECT_EQ(x(2), before);
  EXPECT_EQ(stream_.input().x, stream_.h());
  EXPECT_EQ(stream_.input().cols, kWidth);
}

TEST_F(ResidualStreamTest, AResultIsAddedAndTheNextInputMade) {
  fill(2);
  const std::vector<float> before = x(1), result = random_floats(kWidth, 9);
  std::memcpy(h(1), result.data(), sizeof(float) * kWidth);
  stream_.finish_row({.post_norm = nullptr, .next = Norm{.weight = weight_.data()}}, 1, 2);
  for (std::size_t i = 0; i < kWidth; ++i) EXPECT_EQ(x(1)[i], before[i] + result[i]);
  expect_near(h(1), normed(stream_.x(1), weight_.data()));
}

TEST_F(ResidualStreamTest, AResultMayBeNormedFirst) {
  fill(1);
  const std::vector<float> before = x(0), result = random_floats(kWidth, 9);
  std::memcpy(h(0), result.data(), sizeof(float) * kWidth);
  stream_.finish_row({.post_norm = other_.data()}, 0, 1);
  std::vector<double> sum = normed(result.data(), other_.data());
  for (std::size_t i = 0; i < kWidth; ++i) sum[i] += static_cast<double>(before[i]);
  expect_near(stream_.x(0), sum);
  // Nothing comes next: h keeps the normed result.
  expect_near(h(0), normed(result.data(), other_.data()));
}

TEST_F(ResidualStreamTest, TheNextPartMayReadTheRowAsItWasBeforeTheSum) {
  fill(1);
  const std::vector<float> before = x(0), result = random_floats(kWidth, 9);
  std::memcpy(h(0), result.data(), sizeof(float) * kWidth);
  stream_.finish_row({.next = Norm{.weight = other_.data()}, .is_parallel = true}, 0, 1);
  std::vector<double> sum;
  for (std::size_t i = 0; i < kWidth; ++i)
    sum.push_back(static_cast<double>(before[i]) + static_cast<double>(result[i]));
  expect_near(stream_.x(0), sum);
  expect_near(h(0), normed(before.data(), other_.data()));
}

TEST_F(ResidualStreamTest, APartMayReadTheRowAsItIs) {
  fill(2);
  const std::vector<float> before = x(1);
  stream_.norm_row({}, 1, 0, 1);
  EXPECT_EQ(std::vector<float>(h(0), h(0) + kWidth), before);
  EXPECT_EQ(x(1), before);
}

TEST_F(ResidualStreamTest, TheSumMayBeScaledBeforeTheNextInputIsMade) {
  fill(1);
  const std::vector<float> before = x(0), result = random_floats(kWidth, 9);
  std::memcpy(h(0), result.data(), sizeof(float) * kWidth);
  stream_.finish_row({.scale = 0.25F, .next = Norm{}}, 0, 1);
  for (std::size_t i = 0; i < kWidth; ++i) EXPECT_EQ(x(0)[i], (before[i] + result[i]) * 0.25F);
  EXPECT_EQ(std::vector<float>(h(0), h(0) + kWidth), x(0));
}

TEST_F(ResidualStreamTest, RowsThatAreKeptMoveUp) {
  fill(8);
  std::vector<std::vector<float>> before;
  for (int row = 0; row < 8; ++row) before.push_back(x(row));
  stream_.keep_rows(std::vector<std::int32_t>{0, 2, 3, 7});
  for (const auto& [row, from] : {std::pair(0, 0U), std::pair(1, 2U), std::pair(2, 3U), std::pair(3, 7U)})
    EXPECT_EQ(x(row), before[from]) << row;
}

using ResidualStreamDeathTest = ResidualStreamTest;

TEST_F(ResidualStreamDeathTest, RowsOutOfOrderAreABug) {
  EXPECT_DEATH(stream_.keep_rows(std::vector<std::int32_t>{3, 2}), "row 2 is out of order");
  EXPECT_DEATH(stream_.keep_rows(std::vector<std::int32_t>{1, 1}), "row 1 is out of order");
}

// The int8 form is that of the kernel, at the row's place in its tile, whatever rows were quantized before.
TEST_F(ResidualStreamTest, InputsAreQuantizedWhereAProductWantsIt) {
  constexpr int kRows = 5;
  fill(kRows);
  const KernelTable& kernels = fixture_.context.kernels;
  for (int row = 0; row < kRows; ++row)
    stream_.norm_row({.weight = weight_.data(), .forms = {.int8 = true}}, row, row, kRows);
  QuantizedRows expected(kRows, kWidth, kernels);
  for (int row = 0; row < kRows; ++row) expected.out({.int8 = true}).write_row(h(row), row, kRows, kWidth);
  const std::size_t bytes = kRows * act_row_bytes(kWidth);
  EXPECT_EQ(std::memcmp(stream_.input().tiles, expected.view(nullptr, kWidth).tiles, bytes), 0);

  const std::vector<float> wide = random_floats(kMaxCols * kRows, 4);
  for (int row = 0; row < kRows; ++row) stream_.quantize_row({.int8 = true}, wide.data(), kMaxCols, row, kRows);
  QuantizedRows of_wide(kRows, kMaxCols, kernels);
  for (int row = 0; row < kRows; ++row)
    of_wide.out({.int8 = true}).write_row(wide.data() + row * kMaxCols, row, kRows, kMaxCols);
  const ActivationRows view = stream_.quantized(wide.data(), kMaxCols);
  EXPECT_EQ(view.x, wide.data());
  EXPECT_EQ(view.cols, kMaxCols);
  EXPECT_EQ(std::memcmp(view.tiles, of_wide.view(nullptr, kMaxCols).tiles, kRows * act_row_bytes(kMaxCols)), 0);
}

// Few rows are divided among the threads by row, then by column.
TEST_F(ResidualStreamTest, AllRowsAreFinishedAsOneByOne) {
  const Epilogue epilogue{.post_norm = other_.data(), .next = Norm{.weight = weight_.data(), .forms = {.int8 = true}}};
  for (const int rows : {1, 2, 5, 7, 13, 31}) {
    const std::vector<float> results = random_floats(to_size(rows * kWidth), 9);
    const std::size_t bytes = to_size(rows) * act_row_bytes(kWidth), floats = results.size();
    const auto finish = [&](const auto& all) {
      fill(rows);
      std::memcpy(stream_.h(), results.data(), floats * sizeof(float));
      all();
      const std::uint8_t* tiles = stream_.input().tiles;
      return std::tuple(std::vector(stream_.x(0), stream_.x(0) + floats),
                        std::vector(stream_.h(), stream_.h() + floats), std::vector(tiles, tiles + bytes));
    };
    std::atomic<int> num_before = 0;
    const auto together = finish([&] {
      stream_.finish_rows(epilogue, rows, [&](std::int64_t row) { num_before += 1 + static_cast<int>(row); });
    });
    const auto one_by_one = finish([&] {
      for (int row = 0; row < rows; ++row) stream_.finish_row(epilogue, row, rows);
    });
    EXPECT_EQ(together, one_by_one) << rows << " rows";
    EXPECT_EQ(num_before, rows * (rows + 1) / 2);

    const std::vector<float> wide = random_floats(to_size(kMaxCols * rows), 4);
    const auto tiles_of = [&] {
      const std::uint8_t* tiles = stream_.quantized(wide.data(), kMaxCols).tiles;
      return std::vector(tiles, tiles + to_size(rows) * act_row_bytes(kMaxCols));
    };
    stream_.quantize_rows({.int8 = true}, wide.data(), kMaxCols, rows);
    const std::vector<std::uint8_t> of_all = tiles_of();
    for (int row = 0; row < rows; ++row) stream_.quantize_row({.int8 = true}, wide.data(), kMaxCols, row, rows);
    EXPECT_EQ(of_all, tiles_of()) << rows << " rows";
  }
}

}  // namespace
}  // namespace octavo::test
