// Angles against the definition, in float64.
#include "stage/rope_table.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <tuple>
#include <vector>

#include "base/to_size.h"
#include "kernels/dispatch.h"

namespace octavo::test {
namespace {

constexpr int kDim = 16, kRows = 32;

const KernelTable& kernels() { return kernel_table(IsaLevel::kScalar); }

std::vector<float> random_head(unsigned seed) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal;
  std::vector<float> head(kDim);
  for (float& x : head) x = normal(random);
  return head;
}

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
  RopeTable table(spec, factors.empty() ? nullptr : factors.data(), Math(), kRows);
  EXPECT_EQ(table.spec(), spec);
  for (std::size_t row = 0; row < positions.size(); ++row) table.fill(static_cast<std::int64_t>(row), positions[row]);
  for (std::size_t row = 0; row < positions.size(); ++row) {
    const std::vector<float> head = random_head(static_cast<unsigned>(row));
    const std::vector<float> expected = rotated(spec, factors, positions[row], head);
    std::vector<float> found = head;
    table.rotate(kernels(), static_cast<std::int64_t>(row), found.data());
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
  const RopeSpec spec{.num_rotated = kDim, .scaling = {.divisor = 8, .yarn = YarnRamp{.original_context = 4096}}};
  RopeTable table(spec, nullptr, Math(), kRows);
  table.fill(0, 800);
  std::vector<float> head(kDim, 0.0F);
  head[0] = head[kDim / 2 - 1] = 1;
  table.rotate(kernels(), 0, head.data());
  EXPECT_NEAR(head[0], std::cos(800.0), 1e-6);
  EXPECT_NEAR(head[kDim / 2 - 1], std::cos(100.0 * std::pow(1e4, -7.0 / 8)), 1e-6);
}

TEST(RopeTable, PositionZeroRotatesNothing) {
  RopeTable table({.num_rotated = kDim}, nullptr, Math(), kRows);
  table.fill(3, 0);
  const std::vector<float> head = random_head(1);
  std::vector<float> found = head;
  table.rotate(kernels(), 3, found.data());
  EXPECT_EQ(found, head);
}

TEST(RopeTables, LayersThatRotateAlikeHaveOneTable) {
  ThreadPool pool(2);
  RopeTables tables(Math(), kRows);
  const std::vector<float> factors = {1, 1, 2, 3, 4, 8, 16, 32};
  const RopeSpec plain{.num_rotated = kDim}, slowed{.num_rotated = kDim, .factors = Presence::kRequired};
  EXPECT_EQ(tables.add(plain, factors.data()), 0U);
  EXPECT_EQ(tables.add(slowed, factors.data()), 1U);
  EXPECT_EQ(tables.add(plain, factors.data()), 0U);
  ASSERT_EQ(tables.size(), 2U);
  Batch batch;
  for (int row = 0; row < kRows; ++row) batch.add_row(0, row, 3 * row + 1);
  const ThreadPool::Step step(pool);
  tables.fill(batch, pool);
  for (const auto& [spec, number, given] : {std::tuple(plain, 0U, false), std::tuple(slowed, 1U, true)}) {
    RopeTable alone(spec, given ? factors.data() : nullptr, Math(), kRows);
    for (int row = 0; row < kRows; ++row) alone.fill(row, batch.rope_positions[to_size(row)]);
    EXPECT_TRUE(std::ranges::equal(tables[number].cosines(kRows), alone.cosines(kRows)));
    EXPECT_TRUE(std::ranges::equal(tables[number].sines(kRows), alone.sines(kRows)));
  }
}

}  // namespace
}  // namespace octavo::test
