// Rows to int8 on a card against the CPU's kernels.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <vector>

#include "gpu/emulation/emulated_kernels.h"
#include "gpu/kernels/act_pair.h"
#include "kernels/dispatch.h"

namespace octavo::gpu {
namespace {

/// A row as the CPU's kernels have it, alone in its tile.
std::vector<ActTile<1>> row_of_cpu(const float* x, std::int64_t cols) {
  std::vector<ActTile<1>> tiles(static_cast<std::size_t>(cols / kActBlock));
  kernel_table(IsaLevel::kScalar, Bits::kPortable)
      .quantize_row(x, cols, {reinterpret_cast<std::uint8_t*>(tiles.data()), 1, 0});
  return tiles;
}

std::vector<ActPair> quantize(const std::vector<float>& x, std::int64_t rows, std::int64_t cols) {
  std::vector<ActPair> out(act_bytes(rows, cols) / sizeof(ActPair));
  const QuantizeRows argument{x.data(), cols, cols, out.data()};
  simt::run_emulated_kernel("octavo_quantize_rows",
                            {.grid_x = static_cast<int>((cols + kQuantizeCols - 1) / kQuantizeCols),
                             .grid_y = static_cast<int>(rows),
                             .threads = kQuantizeThreads},
                            &argument);
  return out;
}

/// Block `block` of row `row` in the CPU's form.
ActTile<1> block_of(const std::vector<ActPair>& x, std::int64_t cols, int row, int block) {
  const ActPair& pair = x[static_cast<std::size_t>(row / kRowsOfTile * act_pairs(cols) + block / 2)];
  const int r = row % kRowsOfTile, b = block % 2;
  ActTile<1> tile;
  for (int half = 0; half < 2; ++half)
    for (int j = 0; j < 4; ++j)
      for (int i = 0; i < 4; ++i) tile.q[0][16 * half + 4 * j + i] = pair.q[r][j][b][half][i];
  const auto sum = static_cast<std::uint32_t>(pair.sums[b][r / 2][r % 2]);
  const auto first = static_cast<std::uint32_t>(pair.first_sums[b][r / 2][r % 2]);
  tile.scale[0] = pair.terms[b][r / 2][r % 2];
  tile.sum32[0] = pair.terms[b][r / 2][2 + r % 2];
  tile.minus_sum32[0] = static_cast<std::int32_t>(-sum);
  tile.minus_sum16[0][0] = static_cast<std::int32_t>(-first);
  tile.minus_sum16[1][0] = static_cast<std::int32_t>(first - sum);
  return tile;
}

void expect_same(const std::vector<float>& x, std::int64_t rows, std::int64_t cols) {
  const std::vector<ActPair> got = quantize(x, rows, cols);
  for (int row = 0; row < rows; ++row) {
    const auto expected = row_of_cpu(x.data() + row * cols, cols);
    for (int block = 0; block < cols / kActBlock; ++block) {
      const ActTile<1>&want = expected[static_cast<std::size_t>(block)], found = block_of(got, cols, row, block);
      EXPECT_EQ(std::memcmp(want.q, found.q, sizeof want.q), 0) << row << ' ' << block;
      EXPECT_EQ(std::memcmp(want.scale, found.scale, 4), 0) << row << ' ' << block;
      EXPECT_EQ(std::memcmp(want.sum32, found.sum32, 4), 0) << row << ' ' << block;
      EXPECT_EQ(want.minus_sum32[0], found.minus_sum32[0]) << row << ' ' << block;
      EXPECT_EQ(want.minus_sum16[0][0], found.minus_sum16[0][0]) << row << ' ' << block;
      EXPECT_EQ(want.minus_sum16[1][0], found.minus_sum16[1][0]) << row << ' ' << block;
    }
  }
}

std::vector<float> normal(std::size_t n, float deviation) {
  std::mt19937 random(7);
  std::normal_distribution<float> distribution(0, deviation);
  std::vector<float> values(n);
  for (float& value : values) value = distribution(random);
  return values;
}

TEST(Activations, HaveTheBitsOfTheCpu) {
  for (const std::int64_t cols : {32, 64, 576, 1056, 2048})
    for (const std::int64_t rows : {1, 7, 9}) expect_same(normal(static_cast<std::size_t>(rows * cols), 3), rows, cols);
}

TEST(Activations, OfZerosTiniesAndHugesHaveTheBitsOfTheCpu) {
  expect_same(std::vector<float>(96, 0.0F), 1, 96);
  expect_same(std::vector<float>(96, -0.0F), 1, 96);
  expect_same(normal(512, 1e-38F), 1, 512);
  expect_same(normal(512, 1e37F), 1, 512);
  expect_same({normal(32, 1e-42F)}, 1, 32);
}

TEST(Activations, OfInfinitiesHaveTheBitsOfTheCpu) {
  std::vector<float> x = normal(64, 1);
  x[5] = std::numeric_limits<float>::infinity();
  x[40] = x[41] = -std::numeric_limits<float>::infinity();
  expect_same(x, 1, 64);
}

TEST(Activations, KeepEveryNaN) {
  for (int column = 0; column < 32; ++column) {
    std::vector<float> x = normal(64, 1);
    x[static_cast<std::size_t>(column)] = std::numeric_limits<float>::quiet_NaN();
    const std::vector<ActPair> got = quantize(x, 1, 64);
    EXPECT_TRUE(std::isnan(got[0].terms[0][0][0])) << column;
    EXPECT_TRUE(std::isnan(got[0].terms[0][0][2])) << column;
    EXPECT_TRUE(std::isfinite(got[0].terms[1][0][0])) << column;
  }
}

}  // namespace
}  // namespace octavo::gpu
