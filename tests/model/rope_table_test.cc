// Angles against the definition, in float64.
#include "model/rope_table.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "base/to_size.h"
#include "model/compute_fixture.h"

namespace octavo::test {
namespace {

constexpr int kDim = 16;

/// A head rotated by the definition.
std::vector<float> rotated(const RopeSpec& spec, const std::vector<float>& factors, int position,
                           std::vector<float> head) {
  const auto half = to_size(spec.num_rotated / 2);
  for (std::size_t i = 0; i < half; ++i) {
    const bool neighbours = spec.layout == RopeLayout::kNeighbours;
    const std::size_t a = neighbours ? 2 * i : i, b = neighbours ? 2 * i + 1 : i + half;
    double angle = position / spec.position_divisor * std::pow(spec.base, -static_cast<double>(i) / double(half));
    if (!factors.empty()) angle /= static_cast<double>(factors[i]);
    const double x = static_cast<double>(head[a]), y = static_cast<double>(head[b]);
    head[a] = static_cast<float>(x * std::cos(angle) - y * std::sin(angle));
    head[b] = static_cast<float>(x * std::sin(angle) + y * std::cos(angle));
  }
  return head;
}

void expect_as_defined(const RopeSpec& spec, const std::vector<float>& factors = {}) {
  const std::vector<int> positions = {0, 1, 5, 4095, 1'000'000};
  ComputeFixture fixture;
  RopeTable table(spec, factors.empty() ? nullptr : factors.data(), fixture.context);
  EXPECT_EQ(table.spec(), spec);
  for (std::size_t row = 0; row < positions.size(); ++row) table.fill(static_cast<std::int64_t>(row), positions[row]);
  for (std::size_t row = 0; row < positions.size(); ++row) {
    const std::vector<float> head = random_floats(kDim, static_cast<unsigned>(row));
    const std::vector<float> expected = rotated(spec, factors, positions[row], head);
    std::vector<float> found = head;
    table.rotate(fixture.context.kernels, static_cast<std::int64_t>(row), found.data());
    for (std::size_t i = 0; i < kDim; ++i) EXPECT_NEAR(found[i], expected[i], 1e-6) << positions[row] << " " << i;
  }
}

TEST(RopeTable, NeighboursOrHalvesRotateTogether) {
  expect_as_defined({.layout = RopeLayout::kNeighbours, .num_rotated = kDim});
  expect_as_defined({.layout = RopeLayout::kHalves, .num_rotated = kDim});
}

TEST(RopeTable, DimensionsBehindTheRotatedOnesStay) {
  for (const RopeLayout layout : {RopeLayout::kNeighbours, RopeLayout::kHalves})
    expect_as_defined({.layout = layout, .num_rotated = 6});
}

TEST(RopeTable, BaseDivisorAndFactorsSlowTheRotation) {
  expect_as_defined({.num_rotated = kDim, .base = 500.0});
  expect_as_defined({.num_rotated = kDim, .position_divisor = 8});
  expect_as_defined({.num_rotated = kDim, .base = 5e5, .position_divisor = 2}, {1, 1, 2, 3, 4, 8, 16, 32});
}

TEST(RopeTable, PositionZeroRotatesNothing) {
  ComputeFixture fixture;
  RopeTable table({.num_rotated = kDim}, nullptr, fixture.context);
  table.fill(3, 0);
  const std::vector<float> head = random_floats(kDim, 1);
  std::vector<float> found = head;
  table.rotate(fixture.context.kernels, 3, found.data());
  EXPECT_EQ(found, head);
}

}  // namespace
}  // namespace octavo::test
