// The mixture of experts against its formula, and the same bits however rows come together.
#include "cpu/experts_ffn.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>
#include <limits>
#include <numeric>

#include "base/to_size.h"
#include "cpu/compute_fixture.h"
#include "kernels/dispatch.h"
#include "tensor/dequantize.h"

namespace octavo::test {
namespace {

constexpr int kWidth = 64, kExperts = 6, kChosen = 2, kSharedWidth = 160;

/// Matrices of a mixture: floats, or Q8_0 weights of about a sixteenth.
struct Matrices : StoredWeights {
  ExpertMatrices weights;

  Matrices(DType type, std::int64_t rows, std::int64_t cols, unsigned seed)
      : StoredWeights(type, kExperts * rows * cols, seed) {
    weights = {.first = {.type = type,
                         .activations = kernel_table(IsaLevel::kScalar).activation_form(type),
                         .rows = rows,
                         .cols = cols,
                         .file = bytes.data()},
               .count = kExperts};
  }
  std::vector<double> product(int expert, const std::vector<double>& x) const {
    const auto cols = x.size();
    const std::size_t rows = to_size(weights.first.rows);
    std::vector<double> y(rows);
    for (std::size_t row = 0; row < rows; ++row)
      for (std::size_t i = 0; i < cols; ++i)
        y[row] += static_cast<double>(floats[(to_size(expert) * rows + row) * cols + i]) * x[i];
    return y;
  }
};

// As Mixtral's; as gpt-oss's; as Qwen 3.5's; with weights in front of the experts, as Llama 4's.
enum class Kind : std::uint8_t { kPlain, kBiased, kShared, kWeighed };

/// One layer of a model, and the rows of a step.
class Mixture {
 public:
  Mixture(DType type, int width, int max_rows = 40, int threads = 2, Kind kind = Kind::kPlain)
      : fixture_(supported_isa_levels().back(), threads, max_rows),
        gate_(type, width, kWidth, 1),
        up_(type, width, kWidth, 2),
        down_(type, kWidth, width, 3),
        shared_gate_(type, kSharedWidth, kWidth, 21),
        shared_up_(type, kSharedWidth, kWidth, 22),
        shared_down_(type, kWidth, kSharedWidth, 23),
        router_(random_floats(kExperts * kWidth, 4)) {
    config_.width = kWidth;
    spec_ = {.num_experts = kExperts, .num_chosen = kChosen, .width = width};
    weights_.layers.resize(1);
    w() = {.router = matrix_of(router_, kExperts),
           .gate = gate_.weights,
           .up = up_.weights,
           .down = down_.weights,
           .num_chosen = kChosen,
           .shared = {},
           .shared_gate = {}};
    if (kind == Kind::kBiased) add_biases();
    if (kind == Kind::kShared) add_shared();
    spec_.weighs_inputs = kind == Kind::kWeighed;
    config_.layers.resize(1);
    config_.layers[0].feed_forward = spec_;
    stream_ = std::make_unique<ResidualStream>(fixture_.context, kWidth, kWidth,
                                               NormOptions{.epsilon = 1e-5F, .epsilon_of_results = 1e-5F});
    dense_ = std::make_unique<DenseFfn>(config_, fixture_.context, *stream_);
    ffn_ = std::make_unique<ExpertsFfn>(config_, weights_, fixture_.context, *stream_, *dense_);
  }

  ExpertsFfnWeights& w() {
    if (!std::holds_alternative<ExpertsFfnWeights>(weights_.layers[0].feed_forward))
      weights_.layers[0].feed_forward.emplace<ExpertsFfnWeights>();
    return std::get<ExpertsFfnWeights>(weights_.layers[0].feed_forward);
  }

  /// Results of rows of the residual stream, [rows, kWidth], each of which is a sequence of its own.
  std::vector<float> run(const std::vector<float>& x) {
    const int rows = static_cast<int>(x.size()) / kWidth;
    std::memcpy(stream_->x(0), x.data(), x.size() * sizeof(float));
    Batch batch;
    batch.clear();
    for (int row = 0; row < rows; ++row) {
      batch.tokens.push_back(0);
      batch.seq_begin.push_back(row + 1);
      batch.kv_len.push_back(1);
    }
    StepRows step_rows(rows);
    step_rows.begin(batch);
    const ThreadPool::Step step(fixture_.pool);
    for (int row = 0; row < rows; ++row)
      stream_->norm_row({.weight = ones_.data(), .forms = ExpertsFfn::forms(w())}, row, row, rows);
    input_.assign(stream_->h(), stream_->h() + x.size());
    ffn_->begin();
    ffn_->run(spec_, w(), step_rows, {});
    return {stream_->x(0), stream_->x(0) + x.size()};
  }

  /// The formula for a row of the last run's input.
  std::vector<double> expected(int row) const {
    const auto first = input_.begin() + row * kWidth;
    const std::vector<double> h(first, first + kWidth);
    std::vector<double> scores(kExperts), out(kWidth);
    for (std::size_t i = 0; i < kExperts * kWidth; ++i)
      scores[i / kWidth] += static_cast<double>(router_[i]) * h[i % kWidth];
    add_bias(router_bias_.data(), scores);
    std::vector<int> order(kExperts);
    std::iota(order.begin(), order.end(), 0);
    std::ranges::stable_sort(order, std::greater(), [&](int i) { return scores[to_size(i)]; });
    order.resize(kChosen);
    double sum = 0;
    for (const int expert : order) sum += std::exp(scores[to_size(expert)]);
    for (const int expert : order) {
      const double weight = std::exp(scores[to_size(expert)]) / sum;
      std::vector<double> read = h;
      if (spec_.weighs_inputs)
        for (double& value : read) value *= weight;
      const std::vector<double> result = result_of(expert, read);
      for (std::size_t i = 0; i < kWidth; ++i) out[i] += (spec_.weighs_inputs ? 1 : weight) * result[i];
    }
    if (spec_.shared_width > 0) add_shared_result(h, out);
    return out;
  }
  /// The formula for the expert of every row.
  void add_shared_result(const std::vector<double>& h, std::vector<double>& out) const {
    std::vector<double> gated = shared_gate_.product(0, h);
    const std::vector<double> ups = shared_up_.product(0, h);
    for (std::size_t i = 0; i < gated.size(); ++i) gated[i] = gated[i] / (1 + std::exp(-gated[i])) * ups[i];
    const std::vector<double> result = shared_down_.product(0, gated);
    double score = 0;
    for (std::size_t i = 0; i < kWidth; ++i) score += static_cast<double>(shared_router_[i]) * h[i];
    for (std::size_t i = 0; i < kWidth; ++i) out[i] += result[i] / (1 + std::exp(-score));
  }

  /// The formula for one expert.
  std::vector<double> result_of(int expert, const std::vector<double>& h) const {
    const ExpertsFfnWeights& w = std::get<ExpertsFfnWeights>(weights_.layers[0].feed_forward);
    std::vector<double> gated = gate_.product(expert, h), ups = up_.product(expert, h);
    add_bias(w.gate.bias_of(expert), gated);
    add_bias(w.up.bias_of(expert), ups);
    const auto sigmoid = [](double x) { return 1 / (1 + std::exp(-x)); };
    for (std::size_t i = 0; i < gated.size(); ++i) {
      const double g = std::min(gated[i], 7.0), u = std::clamp(ups[i], -7.0, 7.0);
      gated[i] = spec_.activation == Activation::kSilu ? gated[i] * sigmoid(gated[i]) * ups[i]
                                                       : g * sigmoid(1.702 * g) * (u + 1);
    }
    std::vector<double> result = down_.product(expert, gated);
    add_bias(w.down.bias_of(expert), result);
    return result;
  }

  const ExpertsFfn& ffn() const { return *ffn_; }
  std::vector<float>& router() { return router_; }

 private:
  static void add_bias(const float* bias, std::vector<double>& x) {
    for (std::size_t i = 0; bias != nullptr && i < x.size(); ++i) x[i] += static_cast<double>(bias[i]);
  }
  /// So large that some inputs of the activation meet its bounds.
  void add_biases() {
    const auto bias = [](std::int64_t count, float deviation, unsigned seed) {
      std::vector<float> floats = random_floats(to_size(count), seed);
      for (float& x : floats) x *= deviation;
      return floats;
    };
    spec_.biases = Presence::kRequired;
    spec_.activation = Activation::kClampedSwiglu;
    gate_bias_ = bias(std::int64_t{kExperts} * spec_.width, 5, 11);
    up_bias_ = bias(std::int64_t{kExperts} * spec_.width, 5, 12);
    down_bias_ = bias(kExperts * kWidth, 1, 13);
    router_bias_ = bias(kExperts, 4, 14);
    w().gate.bias = gate_bias_.data();
    w().up.bias = up_bias_.data();
    w().down.bias = down_bias_.data();
    w().router_bias = router_bias_.data();
  }

  void add_shared() {
    spec_.shared_width = kSharedWidth;
    w().shared = {
        .gate = shared_gate_.weights.first, .up = shared_up_.weights.first, .down = shared_down_.weights.first};
    w().shared_gate = matrix_of(shared_router_, 1);
  }

  ComputeFixture fixture_;
  ModelConfig config_;
  ExpertsFfnSpec spec_;
  Matrices gate_, up_, down_;
  Matrices shared_gate_, shared_up_, shared_down_;  // of which the first is used
  std::vector<float> shared_router_ = random_floats(kWidth, 24);
  std::vector<float> gate_bias_, up_bias_, down_bias_, router_bias_;
  std::vector<float> router_, ones_ = std::vector<float>(kWidth, 1.0F), input_;
  Weights weights_;
  std::unique_ptr<ResidualStream> stream_;
  std::unique_ptr<DenseFfn> dense_;
  std::unique_ptr<ExpertsFfn> ffn_;
};

void expect_as_defined(DType type, int width, int rows, double tolerance, Kind kind = Kind::kPlain) {
  SCOPED_TRACE(testing::Message() << dtype_info(type).name << ", " << width << " units, " << rows << " rows");
  Mixture mixture(type, width, 40, 2, kind);
  const std::vector<float> x = random_floats(to_size(rows) * kWidth, 5), found = mixture.run(x);
  for (int row = 0; row < rows; ++row) {
    const std::vector<double> expected = mixture.expected(row);
    for (std::size_t i = 0; i < kWidth; ++i) {
      const std::size_t at = to_size(row) * kWidth + i;
      EXPECT_NEAR(found[at], static_cast<double>(x[at]) + expected[i], tolerance);
    }
  }
}

TEST(ExpertsFfn, FloatsGiveTheFormula) {
  for (const int width : {96, 40})  // of 40 units the last panel is partly empty
    for (const int rows : {1, 2, 9, 40}) expect_as_defined(DType::kF32, width, rows, 5e-5);
}

TEST(ExpertsFfn, QuantizedWeightsGiveItWithinTheRoundingOfTheirInput) {
  for (const int rows : {1, 9}) expect_as_defined(DType::kQ8_0, 96, rows, 0.08);
}

TEST(ExpertsFfn, BiasesAreAddedToScoresToBothProductsAndToEachResult) {
  for (const int width : {96, 40})
    for (const int rows : {1, 2, 9, 40}) expect_as_defined(DType::kF32, width, rows, 2e-4, Kind::kBiased);
  for (const int rows : {1, 9}) expect_as_defined(DType::kQ8_0, 96, rows, 0.5, Kind::kBiased);
}

TEST(ExpertsFfn, OneThatComputesEveryRowIsAddedTimesTheSigmoidOfItsGate) {
  for (const int rows : {1, 2, 9, 40}) expect_as_defined(DType::kF32, 96, rows, 1e-4, Kind::kShared);
  for (const int rows : {1, 9}) expect_as_defined(DType::kQ8_0, 96, rows, 0.12, Kind::kShared);
}

TEST(ExpertsFfn, WeightsMayMultiplyWhatExpertsRead) {
  for (const int rows : {1, 2, 9, 40}) expect_as_defined(DType::kF32, 96, rows, 5e-5, Kind::kWeighed);
  for (const int rows : {1, 9}) expect_as_defined(DType::kQ8_0, 96, rows, 0.08, Kind::kWeighed);
}

void expect_same_bits(DType type, Kind kind) {
  Mixture one(type, 96, 40, 1, kind);
  const std::vector<float> x = random_floats(40 * kWidth, 7), together = one.run(x);
  for (const int threads : {1, 2, 3}) {
    Mixture other(type, 96, 40, threads, kind);
    EXPECT_EQ(other.run(x), together) << threads << " threads";
    for (const int chunk : {1, 2, 7, 13}) {
      std::vector<float> parts;
      for (int row = 0; row < 40; row += chunk) {
        const std::vector<float> part(x.begin() + row * kWidth, x.begin() + std::min(row + chunk, 40) * kWidth);
        const std::vector<float> found = other.run(part);
        parts.insert(parts.end(), found.begin(), found.end());
      }
      EXPECT_EQ(parts, together) << threads << " threads, " << chunk << " rows at a time";
    }
  }
}

TEST(ExpertsFfn, ARowHasItsBitsAloneInAnyCompanyAndOnAnyThreads) {
  for (const DType type : {DType::kF32, DType::kQ8_0})
    for (const Kind kind : {Kind::kPlain, Kind::kBiased, Kind::kShared, Kind::kWeighed}) expect_same_bits(type, kind);
}

TEST(ExpertsFfn, MoreRowsThanAreGroupedTogetherAreOnesLikeTheOthers) {
  constexpr int kRows = 1025;  // the last is alone in its pass
  for (const DType type : {DType::kF32, DType::kQ8_0}) {
    Mixture many(type, 32, kRows);
    const std::vector<float> x = random_floats(kRows * kWidth, 7), together = many.run(x);
    for (const int row : {0, 1023, 1024}) {
      const std::vector<float> alone = many.run({x.begin() + row * kWidth, x.begin() + (row + 1) * kWidth});
      EXPECT_EQ(std::memcmp(alone.data(), together.data() + row * kWidth, sizeof(float) * kWidth), 0) << row;
    }
  }
}

TEST(ExpertsFfn, OneThatAllRowsChooseAndOthersOfOneRowAreAllComputed) {
  Mixture mixture(DType::kF32, 96);
  std::vector<float> x = random_floats(40 * kWidth, 5);
  for (std::size_t i = 0; i < x.size(); ++i)
    if (i % kWidth == 0) x[i] = 20;  // the first element decides
  for (std::size_t i = 0; i < kExperts; ++i) mixture.router()[i * kWidth] = i == 3 ? 50 : 0;
  const std::vector<float> found = mixture.run(x);
  for (int row = 0; row < 40; ++row) {
    const std::vector<double> expected = mixture.expected(row);
    for (std::size_t i = 0; i < kWidth; ++i) {
      const std::size_t at = to_size(row) * kWidth + i;
      EXPECT_NEAR(found[at], static_cast<double>(x[at]) + expected[i], 5e-5);
    }
  }
}

TEST(ExpertsFfn, TheBytesOfExpertsThatWereReadAreCountedOnceAStep) {
  Mixture mixture(DType::kQ8_0, 96);
  const std::uint64_t one = 3 * 96 * kWidth / 32 * 34;
  EXPECT_EQ(bytes_of_one(mixture.w()), one);
  const std::vector<float> x = random_floats(kWidth, 5);
  mixture.run(x);
  EXPECT_EQ(mixture.ffn().bytes_read(), kChosen * one);
  std::vector<float> same;
  for (int i = 0; i < 30; ++i) same.insert(same.end(), x.begin(), x.end());
  mixture.run(same);
  EXPECT_EQ(mixture.ffn().bytes_read(), kChosen * one) << "rows that choose alike";
  mixture.run(random_floats(40 * kWidth, 5));
  EXPECT_EQ(mixture.ffn().bytes_read(), kExperts * one);
}

TEST(ExpertsFfn, ARowThatIsNotFiniteIsNamedAndSpoilsNoOther) {
  for (const DType type : {DType::kF32, DType::kQ8_0}) {
    Mixture mixture(type, 96);
    std::vector<float> x = random_floats(12 * kWidth, 5);
    const std::vector<float> before = mixture.run(x);
    EXPECT_TRUE(mixture.ffn().not_finite().empty());
    x[4 * kWidth + 3] = std::numeric_limits<float>::quiet_NaN();
    const std::vector<float> found = mixture.run(x);
    ASSERT_EQ(mixture.ffn().not_finite().size(), 1U);
    EXPECT_EQ(mixture.ffn().not_finite()[0], 4);
    for (std::size_t i = 0; i < x.size(); ++i) {
      if (i / kWidth == 4) {
        EXPECT_TRUE(std::isnan(found[i]));
      } else {
        EXPECT_EQ(found[i], before[i]);
      }
    }
  }
}

TEST(ExpertsFfn, WantsInt8IfOneMatrixDoes) {
  const WeightMatrix floats{.type = DType::kF16},
      quantized{.type = DType::kQ4_K, .activations = ActivationForm::kInt8Blocks};
  const ExpertMatrices plain{.first = floats}, int8{.first = quantized};
  const auto reads_int8 = [](const WeightMatrix& router, const ExpertMatrices& gate, const ExpertMatrices& up,
                             const ExpertMatrices& down, const WeightMatrix& shared) {
    return ExpertsFfn::forms({.router = router,
                              .gate = gate,
                              .up = up,
                              .down = down,
                              .shared = {.gate = shared, .up = {}, .down = {}},
                              .shared_gate = {}})
        .int8;
  };
  EXPECT_FALSE(reads_int8(floats, plain, plain, int8, {}));
  EXPECT_TRUE(reads_int8(floats, plain, plain, plain, quantized));
  EXPECT_TRUE(reads_int8(quantized, plain, plain, plain, {}));
  EXPECT_TRUE(reads_int8(floats, int8, plain, plain, {}));
  EXPECT_TRUE(reads_int8(floats, plain, int8, plain, {}));
}

}  // namespace
}  // namespace octavo::test
