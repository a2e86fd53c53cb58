// Products, row operations and the project's own functions have the same bits on every level and machine.
#include "kernels/portable_bits.h"

#include <algorithm>
#include <array>
#include <functional>

#include "base/math.h"
#include "tensor/dequantize.h"

namespace octavo {
namespace {

class PortableBits : public PortableTest {};
OCTAVO_FOR_EACH_LEVEL(PortableBits);

std::string name_of(std::string_view operation, std::int64_t n) {
  return std::string(operation) + " " + std::to_string(n);
}

/// A matrix of any bytes whose scales are numbers below 2: without this bit neither a half nor a float is larger.
struct PortableMatrix {
  std::vector<std::byte> bytes;
  std::vector<std::uint8_t> storage;
  PackedMatrix packed;

  PortableMatrix(DType type, std::int64_t rows, std::int64_t cols, std::mt19937& random)
      : bytes(*dtype_bytes(type, static_cast<std::uint64_t>(rows * cols))),
        storage(packed_bytes(type, rows, cols) + 64) {
    for (std::byte& byte : bytes) byte = static_cast<std::byte>(random() >> 24) & std::byte{0xBF};
    const auto address = reinterpret_cast<std::uintptr_t>(storage.data());
    std::uint8_t* data = storage.data() + (64 - address % 64) % 64;
    pack_panels({type, rows, cols, bytes}, 0, num_panels(rows), data);
    packed = {type, rows, cols, data};
  }
};

TEST_P(PortableBits, Products) {
  constexpr std::int64_t kRows = 37, kOutputs = 43, kCols = 768;
  const std::vector<float> x = bells(kRows * kCols);
  std::vector<std::uint8_t> tiles(static_cast<std::size_t>(kRows) * act_row_bytes(kCols));
  for (std::int64_t row = 0; row < kRows; ++row)
    kernels().quantize_row(x.data() + row * kCols, kCols,
                           act_place(tiles.data(), kCols, row, kRows, kernels().tile_rows));
  for (int i = 0; i < kNumDTypes; ++i) {
    const DType type = kAllDTypes[i];
    if (kernels().matmul[i] == nullptr) continue;
    const PortableMatrix matrix(type, kOutputs, kCols, random);
    for (const std::int64_t rows : {kRows, std::int64_t{1}}) {  // many rows, and one alone, for which tiles have places
      std::vector<float> y(static_cast<std::size_t>(rows * kOutputs));
      std::vector<std::uint8_t> own(static_cast<std::size_t>(rows) * act_row_bytes(kCols));
      for (std::int64_t row = 0; row < rows; ++row)
        kernels().quantize_row(x.data() + row * kCols, kCols,
                               act_place(own.data(), kCols, row, rows, kernels().tile_rows));
      kernels().matmul[i](matrix.packed, {kCols, x.data(), own.data()}, 0, num_panels(kOutputs), 0, rows, y.data(),
                          kOutputs);
      expect_portable(name_of(dtype_info(type).name, rows), std::span<const float>(y));
    }
    std::vector<float> row(kCols);
    kernels().decode_row[i](matrix.packed, 17, row.data());
    expect_portable(name_of(dtype_info(type).name, 0), std::span<const float>(row));
  }
}

TEST_P(PortableBits, Norms) {
  for (const std::int64_t n : {1, 7, 16, 24, 63, 64, 100, 128, 131, 576, 4097}) {
    const std::vector<float> x = bells(to_size(n)), weight = bells(to_size(n)), bias = bells(to_size(n));
    std::vector<float> y(to_size(n));
    kernels().rms_norm(x.data(), weight.data(), n, 1e-5F, y.data());
    expect_portable(name_of("rms_norm", n), std::span<const float>(y));
    kernels().layer_norm(x.data(), weight.data(), bias.data(), n, 1e-5F, y.data());
    expect_portable(name_of("layer_norm", n), std::span<const float>(y));
  }
}

TEST_P(PortableBits, ElementByElement) {
  constexpr std::int64_t kCount = 1003;
  const std::vector<float> a = bells(kCount), b = bells(kCount);
  std::vector<float> out(kCount);
  using Gated = void (*)(const float*, const float*, std::int64_t, float*);
  const std::array<std::pair<const char*, Gated>, 6> gated = {{{"sigmoid_mul", kernels().sigmoid_mul},
                                                               {"silu_mul", kernels().silu_mul},
                                                               {"gelu_mul", kernels().gelu_mul},
                                                               {"gelu_erf_mul", kernels().gelu_erf_mul},
                                                               {"squared_relu", kernels().squared_relu},
                                                               {"clamped_swiglu", kernels().clamped_swiglu}}};
  for (const auto& [name, function] : gated) {
    function(a.data(), b.data(), kCount, out.data());
    expect_portable(name, std::span<const float>(out));
  }
  kernels().xielu(a.data(), {.above = 0.75F, .below = 1.25F, .slope = 0.5F, .most = -1e-6F}, kCount, out.data());
  expect_portable("xielu", std::span<const float>(out));
  out = a;
  kernels().soft_cap(out.data(), 1.7F, kCount);
  expect_portable("soft_cap", std::span<const float>(out));
  out = a;
  kernels().rope_halves(out.data(), b.data(), b.data() + 400, 128);
  kernels().rope_neighbours(out.data() + 128, b.data(), b.data() + 400, 128);
  expect_portable("rope", std::span<const float>(out));
  const std::array<const float*, 4> taps = {a.data(), b.data(), a.data() + 1, b.data() + 2};
  out.assign(100, 0);
  kernels().short_conv(taps.data(), b.data() + 300, nullptr, 4, 100, out.data());
  expect_portable("short_conv", std::span<const float>(out));
  kernels().short_conv(taps.data(), b.data() + 300, a.data() + 500, 4, 100, out.data());
  expect_portable("short_conv with a bias", std::span<const float>(out));
}

TEST_P(PortableBits, DeltaRule) {
  constexpr int kKeyDim = 66, kColumns = 27, kTokens = 9;
  std::vector<float> q = bells(kKeyDim * kTokens), k = q, v = bells(kColumns * kTokens), gates(2 * kTokens, 0.75F);
  for (float& value : k) value *= 0.125F;
  std::vector<float> state(kKeyDim * kStateColumns), rows;
  for (int t = 0; t < kTokens; ++t) {
    rows.insert(rows.end(), q.begin() + t * kKeyDim, q.begin() + (t + 1) * kKeyDim);
    rows.insert(rows.end(), k.begin() + t * kKeyDim, k.begin() + (t + 1) * kKeyDim);
    rows.insert(rows.end(), v.begin() + t * kColumns, v.begin() + (t + 1) * kColumns);
  }
  kernels().delta_rule({.q = rows.data(),
                        .k = rows.data() + kKeyDim,
                        .v = rows.data() + 2 * kKeyDim,
                        .gates = gates.data(),
                        .stride = 2 * kKeyDim + kColumns,
                        .gate_stride = 2,
                        .num_tokens = kTokens,
                        .key_dim = kKeyDim,
                        .columns = kColumns},
                       state.data());
  expect_portable("delta_rule", std::span<const float>(rows));
}

TEST_P(PortableBits, SelectiveScan) {
  constexpr int kStateDim = 66, kColumns = 27, kTokens = 9, kStride = 2 * kStateDim + kColumns;
  std::vector<float> rows = bells(kStride * kTokens);
  const std::vector<float> steps(2 * kTokens, 0.75F);
  std::vector<float> state(kStateDim * kStateColumns);
  kernels().selective_scan({.b = rows.data(),
                            .c = rows.data() + kStateDim,
                            .x = rows.data() + 2 * kStateDim,
                            .steps = steps.data(),
                            .stride = kStride,
                            .step_stride = 2,
                            .num_tokens = kTokens,
                            .skip = 0.625F,
                            .state_dim = kStateDim,
                            .columns = kColumns},
                           state.data());
  expect_portable("selective_scan", std::span<const float>(rows));
}

/// Every function at many places: `low` to `high`, of exponents of 2 where `by_exponent`.
struct FunctionCase {
  const char* name;
  double (*own)(double);
  long double (*true_value)(long double);
  double low, high;
  bool by_exponent = false;
};

double place_of(const FunctionCase& c, std::mt19937& random) {
  const double share = static_cast<double>(random()) / 0x1p32, at = c.low + (c.high - c.low) * share;
  return c.by_exponent ? std::ldexp(1 + share, static_cast<int>(at)) : at;
}

constexpr double kBase = 1'000'003;
const FunctionCase kFunctions[] = {
    {"exp", portable::exp, std::exp, -745, 709},
    {"exp near 0", portable::exp, std::exp, -1, 1},
    {"exp2", portable::exp2, std::exp2, -1070, 1023},
    {"log", portable::log, std::log, -1074, 1023, true},
    {"log near 1", portable::log, std::log, 0.9, 1.1},
    {"log2", portable::log2, std::log2, -1074, 1023, true},
    {"log2 near 1", portable::log2, std::log2, 0.9, 1.1},
    {"log1p", portable::log1p, std::log1p, -80, 80, true},
    {"log1p near 0", portable::log1p, std::log1p, -0.999, 1},
    {"sin", portable::sin, std::sin, -8, 8},
    {"sin of large angles", portable::sin, std::sin, -0x1p31, 0x1p31},
    {"sin of small angles", portable::sin, std::sin, -80, -1, true},
    {"cos", portable::cos, std::cos, -8, 8},
    {"cos of large angles", portable::cos, std::cos, -0x1p31, 0x1p31},
    {"pow of a base", [](double x) { return portable::pow(kBase, x); },
     [](long double x) { return std::pow(static_cast<long double>(kBase), x); }, -1, 1},
    {"pow to 17", [](double x) { return portable::pow(x, 17); }, [](long double x) { return std::pow(x, 17.0L); }, 1e-9,
     1e9},
};

TEST(PortableFunctions, AreWithinTheirBound) {
  for (const FunctionCase& c : kFunctions) {
    std::mt19937 random(99);
    long double worst = 0;
    for (int i = 0; i < 8'000; ++i) {
      const double x = place_of(c, random);
      const long double value = c.true_value(x);
      const auto size = static_cast<double>(std::abs(value));
      const double step = std::nextafter(size, std::numeric_limits<double>::infinity()) - size;
      worst = std::max(worst, std::abs(value - c.own(x)) / step);
    }
    EXPECT_LT(worst, 1) << c.name;
  }
}

TEST(PortableFunctions, HaveTheSameBitsEverywhere) {
  for (const FunctionCase& c : kFunctions) {
    std::mt19937 random(98);
    std::vector<double> values(5'000);
    for (double& value : values) value = c.own(place_of(c, random));
    expect_portable(c.name, std::span<const double>(values));
  }
}

TEST(PortableFunctions, HaveTheLimitsOfTheCLibrary) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity(), kNan = std::numeric_limits<double>::quiet_NaN();
  const double places[] = {0, -0.0, 1, -1, 2, 0.5, -2, 1e300, -1e300, 1e-300, 5e-324, kInfinity, -kInfinity, kNan};
  using Function = double (*)(double);
  const std::pair<Function, Function> pairs[] = {{portable::exp, std::exp},
                                                 {portable::exp2, std::exp2},
                                                 {portable::log, std::log},
                                                 {portable::log2, std::log2},
                                                 {portable::log1p, std::log1p}};
  const auto expect_alike = [](double ours, double theirs) {
    if (std::isnan(theirs)) {
      EXPECT_TRUE(std::isnan(ours));
    } else {
      EXPECT_DOUBLE_EQ(ours, theirs);
    }
  };
  for (const double x : places) {
    for (const auto& [own, theirs] : pairs) expect_alike(own(x), theirs(x));
    for (const double y : places)
      if (!std::signbit(x)) expect_alike(portable::pow(x, y), std::pow(x, y));
  }
  for (const double x : {kInfinity, -kInfinity, kNan}) {
    EXPECT_TRUE(std::isnan(portable::sin(x)));
    EXPECT_TRUE(std::isnan(portable::cos(x)));
  }
  EXPECT_TRUE(std::isnan(portable::pow(-1, 0.5)));
  EXPECT_EQ(portable::log2(8), 3);
  EXPECT_EQ(portable::cos(0), 1);
}

}  // namespace
}  // namespace octavo
