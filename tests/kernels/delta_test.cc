// The recurrences of a gated delta net and of Mamba-2 and the convolution before them, against double precision; and
// cut into calls.
#include <cmath>
#include <cstring>

#include "kernels/kernel_test.h"

namespace octavo {
namespace {

class Delta : public KernelTest {
 protected:
  /// Tokens of one head whose rows are [q, k, v, something else].
  struct Tokens {
    int key_dim, columns, num_tokens;
    std::vector<float> rows = {}, gates = {};

    int stride() const { return 2 * key_dim + columns + 3; }
    DeltaColumns view(int first, int count) {
      float* row = rows.data() + first * stride();
      return {.q = row,
              .k = row + key_dim,
              .v = row + 2 * key_dim,
              .gates = gates.data() + 4 * first,
              .stride = stride(),
              .gate_stride = 4,
              .num_tokens = count,
              .key_dim = key_dim,
              .columns = columns};
    }
    /// The same rows as b, c and x, with decays and steps.
    ScanColumns scan(int first, int count) {
      float* row = rows.data() + first * stride();
      return {.b = row,
              .c = row + key_dim,
              .x = row + 2 * key_dim,
              .steps = gates.data() + 4 * first,
              .stride = stride(),
              .step_stride = 4,
              .num_tokens = count,
              .skip = kSkip,
              .state_dim = key_dim,
              .columns = columns};
    }
  };
  static constexpr float kSkip = 0.75F;

  Tokens make(int key_dim, int columns, int num_tokens) {
    Tokens tokens{.key_dim = key_dim, .columns = columns, .num_tokens = num_tokens};
    tokens.rows = normal(static_cast<std::size_t>(num_tokens * tokens.stride()), 0.3F);
    std::uniform_real_distribution<float> gate(0.1F, 1.0F);
    tokens.gates.resize(static_cast<std::size_t>(4 * num_tokens));
    for (float& value : tokens.gates) value = gate(random);
    return tokens;
  }
  static std::vector<float> no_state(int key_dim) {
    return std::vector<float>(static_cast<std::size_t>(key_dim) * kStateColumns);
  }
};
OCTAVO_FOR_EACH_LEVEL(Delta);

TEST_P(Delta, RuleIsThatOfThePaper) {
  for (const auto& [key_dim, columns] : {std::pair{128, 32}, {64, 16}, {18, 24}, {5, 1}, {3, 31}}) {
    Tokens tokens = make(key_dim, columns, 20);
    const std::vector<float> given = tokens.rows;
    std::vector<float> state = no_state(key_dim);
    kernels().delta_rule(tokens.view(0, 20), state.data());
    std::vector<double> expected(state.size());
    for (int t = 0; t < 20; ++t) {
      const float* row = given.data() + t * tokens.stride();
      const double decay = tokens.gates[4 * t], beta = tokens.gates[4 * t + 1];
      for (int j = 0; j < columns; ++j) {
        double found = 0, out = 0;
        for (int i = 0; i < key_dim; ++i) found += (expected[i * kStateColumns + j] *= decay) * row[key_dim + i];
        const double change = beta * (row[2 * key_dim + j] - found);
        for (int i = 0; i < key_dim; ++i)
          out += (expected[i * kStateColumns + j] += row[key_dim + i] * change) * row[i];
        EXPECT_NEAR(tokens.rows[t * tokens.stride() + 2 * key_dim + j], out, 1e-4 * (1 + std::fabs(out)));
      }
    }
    for (std::size_t i = 0; i < state.size(); ++i) EXPECT_NEAR(state[i], expected[i], 1e-4) << i;
    for (int t = 0; t < 20; ++t)  // what lies around its columns is not written
      EXPECT_EQ(std::memcmp(tokens.rows.data() + (t + 1) * tokens.stride() - 3,
                            given.data() + (t + 1) * tokens.stride() - 3, 3 * sizeof(float)),
                0);
  }
}

TEST_P(Delta, TokensCutIntoCallsGiveTheSameBits) {
  for (const int cut : {1, 7, 19}) {
    Tokens whole = make(20, 27, 20), parts = whole;
    std::vector<float> state = no_state(20), state_of_parts = state;
    kernels().delta_rule(whole.view(0, 20), state.data());
    for (int first = 0; first < 20; first += cut)
      kernels().delta_rule(parts.view(first, std::min(cut, 20 - first)), state_of_parts.data());
    EXPECT_EQ(std::memcmp(whole.rows.data(), parts.rows.data(), whole.rows.size() * sizeof(float)), 0);
    EXPECT_EQ(std::memcmp(state.data(), state_of_parts.data(), state.size() * sizeof(float)), 0);
  }
}

TEST_P(Delta, ScanIsThatOfThePaper) {
  for (const auto& [state_dim, columns] : {std::pair{128, 32}, {64, 16}, {18, 24}, {5, 1}, {3, 31}}) {
    Tokens tokens = make(state_dim, columns, 20);
    const std::vector<float> given = tokens.rows;
    std::vector<float> state = no_state(state_dim);
    kernels().selective_scan(tokens.scan(0, 20), state.data());
    std::vector<double> expected(state.size());
    for (int t = 0; t < 20; ++t) {
      const float* row = given.data() + t * tokens.stride();
      const double decay = tokens.gates[4 * t], step = tokens.gates[4 * t + 1];
      for (int j = 0; j < columns; ++j) {
        const double x = row[2 * state_dim + j];
        double out = kSkip * x;
        for (int i = 0; i < state_dim; ++i) {
          double& at = expected[i * kStateColumns + j];
          at = decay * at + step * x * row[i];
          out += at * row[state_dim + i];
        }
        EXPECT_NEAR(tokens.rows[t * tokens.stride() + 2 * state_dim + j], out, 1e-4 * (1 + std::fabs(out)));
      }
    }
    for (std::size_t i = 0; i < state.size(); ++i) EXPECT_NEAR(state[i], expected[i], 1e-4) << i;
    for (int t = 0; t < 20; ++t)  // what lies around its columns is not written
      EXPECT_EQ(std::memcmp(tokens.rows.data() + (t + 1) * tokens.stride() - 3,
                            given.data() + (t + 1) * tokens.stride() - 3, 3 * sizeof(float)),
                0);
  }
}

TEST_P(Delta, TokensOfAScanCutIntoCallsGiveTheSameBits) {
  for (const int cut : {1, 7, 19}) {
    Tokens whole = make(20, 27, 20), parts = whole;
    std::vector<float> state = no_state(20), state_of_parts = state;
    kernels().selective_scan(whole.scan(0, 20), state.data());
    for (int first = 0; first < 20; first += cut)
      kernels().selective_scan(parts.scan(first, std::min(cut, 20 - first)), state_of_parts.data());
    EXPECT_EQ(std::memcmp(whole.rows.data(), parts.rows.data(), whole.rows.size() * sizeof(float)), 0);
    EXPECT_EQ(std::memcmp(state.data(), state_of_parts.data(), state.size() * sizeof(float)), 0);
  }
}

TEST_P(Delta, ConvolutionIsActivated) {
  for (const std::int64_t n : {1, 17, 96}) {
    for (const int num_taps : {2, 4, 8}) {
      const std::vector<float> bias = normal(static_cast<std::size_t>(n));
      const std::vector<float> taps = normal(static_cast<std::size_t>(num_taps * n)), x = normal(taps.size());
      std::vector<const float*> rows;
      for (int tap = 0; tap < num_taps; ++tap) rows.push_back(x.data() + tap * n);
      std::vector<float> y(static_cast<std::size_t>(n));
      for (const float* added : {static_cast<const float*>(nullptr), bias.data()}) {
        kernels().short_conv(rows.data(), taps.data(), added, num_taps, n, y.data());
        for (std::int64_t i = 0; i < n; ++i) {
          double sum = added == nullptr ? 0 : added[i];
          for (int tap = 0; tap < num_taps; ++tap)
            sum += static_cast<double>(taps[tap * n + i]) * static_cast<double>(x[tap * n + i]);
          EXPECT_NEAR(y[i], sum / (1 + std::exp(-sum)), 2e-6 * (1 + std::fabs(sum)));
        }
      }
    }
  }
}

}  // namespace
}  // namespace octavo
