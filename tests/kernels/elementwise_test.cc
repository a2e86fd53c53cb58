// Row operations against double precision.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "kernels/kernel_test.h"

namespace octavo {
namespace {

class Elementwise : public KernelTest {
 protected:
  static constexpr std::int64_t kLengths[] = {1, 7, 16, 33, 576};
};
OCTAVO_FOR_EACH_LEVEL(Elementwise);

TEST_P(Elementwise, RmsNorm) {
  for (const std::int64_t n : kLengths) {
    const std::vector<float> x = normal(n, 5.0F), w = normal(n);
    std::vector<float> y(n);
    kernels().rms_norm(x.data(), w.data(), n, 1e-6F, y.data());
    double squares = 0;
    for (const float v : x) squares += static_cast<double>(v) * v;
    for (std::int64_t i = 0; i < n; ++i) {
      const double expected = x[i] / std::sqrt(squares / static_cast<double>(n) + 1e-6) * w[i];
      EXPECT_NEAR(y[i], expected, 1e-5 * (1 + std::fabs(expected))) << n;
    }
  }
}

TEST_P(Elementwise, SiluAndGelu) {
  for (const std::int64_t n : kLengths) {
    std::vector<float> gate = normal(n, 8.0F);
    gate[0] = -200.0F;  // far out in the tail
    const std::vector<float> up = normal(n);
    std::vector<float> silu(n), gelu(n), alone(n);
    kernels().silu_mul(gate.data(), up.data(), n, silu.data());
    kernels().gelu_mul(gate.data(), up.data(), n, gelu.data());
    kernels().gelu_mul(gate.data(), nullptr, n, alone.data());
    for (std::int64_t i = 0; i < n; ++i) {
      const double g = gate[i];
      EXPECT_NEAR(silu[i], g / (1 + std::exp(-g)) * up[i], 2e-6 * (1 + std::fabs(g)));
      const double tanh = std::tanh(std::sqrt(2 / M_PI) * (g + 0.044715 * g * g * g));
      EXPECT_NEAR(gelu[i], 0.5 * g * (1 + tanh) * up[i], 2e-6 * (1 + std::fabs(g)));
      EXPECT_NEAR(alone[i], 0.5 * g * (1 + tanh), 2e-6 * (1 + std::fabs(g)));
    }
  }
}

TEST_P(Elementwise, LayerNorm) {
  for (const std::int64_t n : kLengths)
    for (const bool has_bias : {false, true}) {
      std::vector<float> x = normal(n, 5.0F);
      for (float& v : x) v += 40.0F;  // a mean that would spoil sums of squares
      const std::vector<float> w = normal(n), b = normal(n);
      std::vector<float> y(n);
      kernels().layer_norm(x.data(), w.data(), has_bias ? b.data() : nullptr, n, 1e-6F, y.data());
      double mean = 0, squares = 0;
      for (const float v : x) mean += static_cast<double>(v) / static_cast<double>(n);
      for (const float v : x) squares += (v - mean) * (v - mean);
      for (std::int64_t i = 0; i < n; ++i) {
        const double expected = (x[i] - mean) / std::sqrt(squares / static_cast<double>(n) + 1e-6) * w[i] +
                                (has_bias ? static_cast<double>(b[i]) : 0.0);
        EXPECT_NEAR(y[i], expected, 4e-5 * (1 + std::fabs(expected))) << n;
      }
    }
}

TEST_P(Elementwise, GeluOfTheErrorFunctionMayStandAlone) {
  for (const std::int64_t n : kLengths) {
    std::vector<float> gate = normal(n, 4.0F);
    gate[0] = -200.0F;  // far out in the tail
    const std::vector<float> up = normal(n);
    std::vector<float> both(n), alone(n);
    kernels().gelu_erf_mul(gate.data(), up.data(), n, both.data());
    kernels().gelu_erf_mul(gate.data(), nullptr, n, alone.data());
    for (std::int64_t i = 0; i < n; ++i) {
      const double g = gate[i], expected = 0.5 * g * std::erfc(-g / std::sqrt(2.0));
      EXPECT_NEAR(alone[i], expected, 1e-6 * (1 + std::fabs(g)));
      EXPECT_NEAR(both[i], expected * up[i], 1e-6 * (1 + std::fabs(g)) * (1 + std::fabs(up[i])));
    }
  }
}

TEST_P(Elementwise, GeluMayStandAlone) {
  for (const std::int64_t n : kLengths) {
    const std::vector<float> gate = normal(n, 4.0F), ones(to_size(n), 1.0F);
    std::vector<float> alone(to_size(n)), beside_ones(to_size(n));
    kernels().gelu_mul(gate.data(), nullptr, n, alone.data());
    kernels().gelu_mul(gate.data(), ones.data(), n, beside_ones.data());
    EXPECT_EQ(alone, beside_ones);
  }
}

TEST_P(Elementwise, XieluIsASquareAbove0AndAnExponentialBelow) {
  const XieluNumbers numbers{.above = 0.75F, .below = 1.25F, .slope = 0.5F, .most = -1e-6F};
  for (const std::int64_t n : kLengths) {
    std::vector<float> gate = normal(n, 4.0F), out(to_size(n));
    gate[0] = -200.0F;              // whose exponential is 0
    gate[to_size(n / 3)] = -1e-4F;  // whose exponential less 1 would have no digits left
    gate[to_size(n / 2)] = std::numeric_limits<float>::quiet_NaN();
    kernels().xielu(gate.data(), numbers, n, out.data());
    for (std::size_t i = 0; i < to_size(n); ++i) {
      EXPECT_EQ(std::isnan(out[i]), std::isnan(gate[i]));
      if (std::isnan(gate[i])) continue;
      const double x = static_cast<double>(gate[i]);
      const double expected = x > 0 ? 0.75 * x * x + 0.5 * x : 1.25 * (std::expm1(std::min(x, -1e-6)) - x) + 0.5 * x;
      EXPECT_NEAR(static_cast<double>(out[i]), expected, 1e-6 * std::abs(expected) + 5e-7 * std::abs(x));
    }
  }
}

TEST_P(Elementwise, TheSquareOfPositiveNumbersMayStandAlone) {
  for (const std::int64_t n : kLengths) {
    std::vector<float> gate = normal(n, 4.0F);
    gate[0] = -1e30F;
    gate[n / 2] = std::numeric_limits<float>::quiet_NaN();
    const std::vector<float> up = normal(n);
    std::vector<float> both(n), alone(n);
    kernels().squared_relu(gate.data(), up.data(), n, both.data());
    kernels().squared_relu(gate.data(), nullptr, n, alone.data());
    for (std::int64_t i = 0; i < n; ++i) {
      const float expected = gate[i] < 0 ? 0 : gate[i] * gate[i];
      EXPECT_EQ(std::isnan(alone[i]), std::isnan(gate[i]));
      if (std::isnan(gate[i])) continue;
      EXPECT_EQ(alone[i], expected);
      EXPECT_EQ(both[i], expected * up[i]);
    }
  }
}

TEST_P(Elementwise, ClampedSwiglu) {
  for (const std::int64_t n : kLengths) {
    std::vector<float> gate = normal(n, 8.0F), up = normal(n, 8.0F);
    gate[0] = -200.0F;  // far out in the tail
    gate[n / 2] = 1e30F;
    up[n - 1] = -1e30F;
    std::vector<float> out(n);
    kernels().clamped_swiglu(gate.data(), up.data(), n, out.data());
    for (std::int64_t i = 0; i < n; ++i) {
      const double g = std::min(static_cast<double>(gate[i]), 7.0),
                   u = std::clamp(static_cast<double>(up[i]), -7.0, 7.0);
      const double expected = g / (1 + std::exp(-static_cast<double>(kSwigluSlope) * g)) * (u + 1);
      EXPECT_NEAR(out[i], expected, 2e-6 * (1 + std::fabs(expected))) << gate[i] << ", " << up[i];
    }
  }
}

TEST_P(Elementwise, ClampedSwigluKeepsWhatIsNoNumber) {
  constexpr float kNan = std::numeric_limits<float>::quiet_NaN(), kInfinity = std::numeric_limits<float>::infinity();
  std::vector<float> gate(33, 1.0F), up(33, 1.0F), out(33);
  gate[3] = up[5] = gate[32] = kNan;
  gate[7] = up[7] = kInfinity;
  up[9] = -kInfinity;
  kernels().clamped_swiglu(gate.data(), up.data(), 33, out.data());
  for (const int i : {3, 5, 32}) EXPECT_TRUE(std::isnan(out[i])) << i;
  EXPECT_NEAR(out[7], 7 * 8 / (1 + std::exp(-7 * kSwigluSlope)), 1e-4);
  EXPECT_NEAR(out[9], -6 / (1 + std::exp(-kSwigluSlope)), 1e-5);
  EXPECT_TRUE(std::isfinite(out[4]));
}

TEST_P(Elementwise, AddAndScale) {
  for (const std::int64_t n : kLengths) {
    std::vector<float> x = normal(n);
    const std::vector<float> before = x, y = normal(n);
    kernels().add(x.data(), y.data(), n);
    for (std::int64_t i = 0; i < n; ++i) EXPECT_EQ(x[i], before[i] + y[i]);
    kernels().scale(x.data(), 2.5F, n);
    for (std::int64_t i = 0; i < n; ++i) EXPECT_EQ(x[i], (before[i] + y[i]) * 2.5F);
  }
}

TEST_P(Elementwise, SoftCap) {
  for (const std::int64_t n : kLengths)
    for (const float cap : {0.3F, 30.0F}) {
      std::vector<float> x = normal(n, cap);
      x[0] = 1e-4F * cap;  // tanh of it is nearly itself, and as exact
      x[n / 2] = -0.55F * cap;
      x[n - 1] = n > 1 ? -1e30F : x[0];
      const std::vector<float> before = x;
      kernels().soft_cap(x.data(), cap, n);
      for (std::int64_t i = 0; i < n; ++i) {
        const double expected = cap * std::tanh(static_cast<double>(before[i]) / cap);
        EXPECT_NEAR(x[i], expected, 6e-7 * std::fabs(expected)) << before[i] << " of " << cap;
      }
    }
}

TEST_P(Elementwise, SoftCapKeepsWhatIsNoNumber) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  std::vector<float> x(33, 1.0F);
  x[3] = x[32] = std::numeric_limits<float>::quiet_NaN();
  x[4] = kInfinity;
  x[5] = -kInfinity;
  kernels().soft_cap(x.data(), 30.0F, 33);
  EXPECT_TRUE(std::isnan(x[3]) && std::isnan(x[32]));
  EXPECT_EQ(x[4], 30.0F);
  EXPECT_EQ(x[5], -30.0F);
  EXPECT_TRUE(std::isfinite(x[6]));
}

TEST_P(Elementwise, RopeRotatesPairs) {
  const int head_dim = 12;
  std::vector<float> cosines(6), sines(6);
  for (int i = 0; i < 6; ++i) {
    cosines[i] = std::cos(0.3F * static_cast<float>(i + 1));
    sines[i] = std::sin(0.3F * static_cast<float>(i + 1));
  }
  const std::vector<float> x = normal(head_dim);
  std::vector<float> halves = x, neighbours = x;
  kernels().rope_halves(halves.data(), cosines.data(), sines.data(), head_dim);
  kernels().rope_neighbours(neighbours.data(), cosines.data(), sines.data(), head_dim);
  for (int i = 0; i < 6; ++i) {
    EXPECT_FLOAT_EQ(halves[i], x[i] * cosines[i] - x[i + 6] * sines[i]);
    EXPECT_FLOAT_EQ(halves[i + 6], x[i] * sines[i] + x[i + 6] * cosines[i]);
    EXPECT_FLOAT_EQ(neighbours[2 * i], x[2 * i] * cosines[i] - x[2 * i + 1] * sines[i]);
    EXPECT_FLOAT_EQ(neighbours[2 * i + 1], x[2 * i] * sines[i] + x[2 * i + 1] * cosines[i]);
  }
}

}  // namespace
}  // namespace octavo
