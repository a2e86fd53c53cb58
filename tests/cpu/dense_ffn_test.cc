// The dense feed-forward against its formula: down(activation(gate x) * (up x)).
#include "cpu/dense_ffn.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <numbers>
#include <vector>

#include "base/to_size.h"
#include "cpu/compute_fixture.h"
#include "kernels/dispatch.h"
#include "tensor/dequantize.h"

namespace octavo::test {
namespace {

constexpr int kWidth = 64;

double activated(Activation activation, double x) {
  if (activation == Activation::kSilu) return x / (1 + std::exp(-x));
  return 0.5 * x * (1 + std::tanh(std::sqrt(2 / std::numbers::pi) * (x + 0.044715 * x * x * x)));
}

/// Q8_0 weights of about a sixteenth, or floats.
struct Matrix : StoredWeights {
  WeightMatrix weight;

  Matrix(DType type, std::int64_t rows, std::int64_t cols, unsigned seed) : StoredWeights(type, rows * cols, seed) {
    weight = {.type = type,
              .activations = kernel_table(IsaLevel::kScalar).activation_form(type),
              .rows = rows,
              .cols = cols,
              .file = bytes.data()};
  }
  std::vector<double> product(const std::vector<double>& x) const {
    std::vector<double> y;
    for (std::size_t row = 0; row < floats.size() / x.size(); ++row) {
      double sum = 0;
      for (std::size_t i = 0; i < x.size(); ++i) sum += static_cast<double>(floats[row * x.size() + i]) * x[i];
      y.push_back(sum);
    }
    return y;
  }
};

/// One layer of `spec` in a model whose widest feed-forward has 160 units.
void expect_as_defined(const DenseFfnSpec& spec, DType type, int rows, double tolerance) {
  SCOPED_TRACE(testing::Message() << dtype_info(type).name << ", " << spec.width << " units, " << rows << " rows");
  ModelConfig config;
  config.width = kWidth;
  config.layers.resize(2);
  config.layers[0].feed_forward = DenseFfnSpec{.width = 160};
  config.layers[1].feed_forward = spec;
  ComputeFixture fixture;
  ResidualStream stream(fixture.context, kWidth, 160, {.epsilon = 1e-5F, .epsilon_of_results = 1e-5F});
  DenseFfn ffn(config, fixture.context, stream);
  const Matrix gate(type, spec.width, kWidth, 1), up(type, spec.width, kWidth, 2), down(type, kWidth, spec.width, 3);
  const DenseFfnWeights weights{.gate = gate.weight, .up = up.weight, .down = down.weight};
  EXPECT_EQ(DenseFfn::forms(weights).any(), type != DType::kF32);

  const std::vector<float> x = random_floats(to_size(rows) * kWidth, 5), ones(kWidth, 1.0F);
  std::memcpy(stream.x(0), x.data(), x.size() * sizeof(float));
  for (int row = 0; row < rows; ++row)
    stream.norm_row({.weight = ones.data(), .forms = DenseFfn::forms(weights)}, row, row, rows);
  const std::vector<float> input(stream.h(), stream.h() + rows * kWidth);
  {
    const ThreadPool::Step step(fixture.pool);
    ffn.run(spec, weights, rows, {});
  }
  for (int row = 0; row < rows; ++row) {
    const auto first = input.begin() + row * kWidth;
    const std::vector<double> h(first, first + kWidth);
    std::vector<double> gated = gate.product(h);
    const std::vector<double> ups = up.product(h);
    for (std::size_t i = 0; i < gated.size(); ++i) gated[i] = activated(spec.activation, gated[i]) * ups[i];
    const std::vector<double> expected = down.product(gated);
    for (int i = 0; i < kWidth; ++i) {
      const auto at = to_size(row * kWidth + i);
      EXPECT_NEAR(stream.x(row)[i], static_cast<double>(x[at]) + expected[to_size(i)], tolerance);
    }
  }
}

TEST(DenseFfn, FloatsGiveTheFormula) {
  for (const Activation activation : {Activation::kSilu, Activation::kGeluTanh})
    for (const int width : {96, 160})
      for (const int rows : {1, 9, 32}) expect_as_defined({width, activation}, DType::kF32, rows, 2e-5);
}

TEST(DenseFfn, QuantizedWeightsGiveItWithinTheRoundingOfTheirInput) {
  for (const Activation activation : {Activation::kSilu, Activation::kGeluTanh})
    for (const int rows : {1, 9}) expect_as_defined({96, activation}, DType::kQ8_0, rows, 0.05);
}

TEST(DenseFfn, WantsTheFormsThatItsMatricesWant) {
  const WeightMatrix floats{.type = DType::kF16},
      in_bf16{.type = DType::kQ4_0, .activations = ActivationForm::kBf16Blocks},
      quantized{.type = DType::kQ4_K, .activations = ActivationForm::kInt8Blocks};
  EXPECT_FALSE(DenseFfn::forms({.gate = floats, .up = floats, .down = quantized}).any());
  EXPECT_TRUE(DenseFfn::forms({.gate = quantized, .up = floats, .down = floats}).int8);
  EXPECT_TRUE(DenseFfn::forms({.gate = floats, .up = quantized, .down = floats}).int8);
  EXPECT_EQ(DenseFfn::forms({.gate = floats, .up = in_bf16, .down = floats}), RowForms{.bf16 = true});
  EXPECT_EQ(DenseFfn::forms({.gate = in_bf16, .up = quantized, .down = floats}),
            (RowForms{.int8 = true, .bf16 = true}));
}

}  // namespace
}  // namespace octavo::test
