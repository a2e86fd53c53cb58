// Angles against the definition, in float64.
#include "cpu/rope_table.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "base/to_size.h"
#include "cpu/compute_fixture.h"

namespace octavo::test {
namespace {

constexpr int kDim = 16;

/// The share of pair i's frequency that YaRN keeps: a ramp between the pairs that turn slow_turns and fast_turns times
/// within the original context, both taken to whole pairs if the spec says so.
double yarn_keeps(const RopeSpec& spec, double i) {
  const YarnRamp& ramp = *spec.scaling.yarn;
  const auto pair = [&](double turns) {
    return spec.num_rotated / 2.0 * std::log(ramp.original_context / (2 * M_PI * turns)) / std::log(spec.base);
  };
  const double fast = pair(ramp.fast_turns), slow = pair(ramp.slow_turns);
  const double low = std::max(0.0, ramp.whole_pairs ? std::floor(fast) : fast);
  const double high = std::min(spec.num_rotated - 1.0, ramp.whole_pairs ? std::ceil(slow) : slow);
  return ramp.strength * (i <= low ? 1 : i >= high ? 0 : (high - i) / (high - low));
}

/// A head rotated by the definition.
std::vector<float> rotated(const RopeSpec& spec, const std::vector<float>& factors, int position,
                           std::vector<float> head) {
  const auto half = to_size(spec.num_rotated / 2);
  for (std::size_t i = 0; i < half; ++i) {
    const bool neighbours = spec.layout == RopeLayout::kNeighbours;
    const std::size_t a = neighbours ? 2 * i : i, b = neighbours ? 2 * i + 1 : i + half;
    double angle = position * std::pow(spec.base, -static_cast<double>(i) / double(half));
    if (!factors.empty()) angle /= static_cast<double>(factors[i]);
    const double kept = spec.scaling.yarn ? yarn_keeps(spec, static_cast<double>(i)) : 0;
    angle = kept * angle + (1 - kept) * angle / spec.scaling.divisor;
    const double x = static_cast<double>(head[a]), y = static_cast<double>(head[b]);
    head[a] = static_cast<float>(spec.scaling.magnitude * (x * std::cos(angle) - y * std::sin(angle)));
    head[b] = static_cast<float>(spec.scaling.magnitude * (x * std::sin(angle) + y * std::cos(angle)));
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
  expect_as_defined({.num_rotated = kDim, .scaling = {.divisor = 8}});
  expect_as_defined({.num_rotated = kDim, .base = 5e5, .scaling = {.divisor = 2}}, {1, 1, 2, 3, 4, 8, 16, 32});
}

TEST(RopeTable, YarnSlowsTheSlowPairsAndLengthensAll) {
  const YarnRamp ramp{.original_context = 4096};
  expect_as_defined({.num_rotated = kDim, .base = 1e4, .scaling = {.divisor = 8, .yarn = ramp, .magnitude = 1.2}});
  expect_as_defined({.num_rotated = kDim, .base = 1e6, .scaling = {.divisor = 4, .yarn = ramp}},
                    {1, 1, 2, 2, 3, 3, 4, 4});
  const YarnRamp narrow{.original_context = 512, .fast_turns = 4, .slow_turns = 2, .strength = 0.5};
  expect_as_defined({.num_rotated = kDim, .base = 1e4, .scaling = {.divisor = 8, .yarn = narrow}});
}

TEST(RopeTable, YarnsRampMayBeginWithinAPair) {
  YarnRamp ramp{.original_context = 4096};
  ramp.whole_pairs = false;
  expect_as_defined({.num_rotated = kDim, .base = 1.5e5, .scaling = {.divisor = 32, .yarn = ramp}});
}

TEST(RopeTable, YarnsFastestPairTurnsAsBeforeAndItsSlowestByTheDivisor) {
  ComputeFixture fixture;
  const RopeSpec spec{.num_rotated = kDim, .scaling = {.divisor = 8, .yarn = YarnRamp{.original_context = 4096}}};
  RopeTable table(spec, nullptr, fixture.context);
  table.fill(0, 800);
  std::vector<float> head(kDim, 0.0F);
  head[0] = head[kDim / 2 - 1] = 1;
  table.rotate(fixture.context.kernels, 0, head.data());
  EXPECT_NEAR(head[0], std::cos(800.0), 1e-6);
  EXPECT_NEAR(head[kDim / 2 - 1], std::cos(100.0 * std::pow(1e4, -7.0 / 8)), 1e-6);
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
