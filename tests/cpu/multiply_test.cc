// Products give the bits of one kernel's call however they are shared out; a gated product those of its parts: two
// products, the activation, the forms that products read.
#include "cpu/multiply.h"

#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "emulated_isa/level_kernels.h"

namespace octavo {
namespace {

constexpr std::int64_t kCols = 256;

/// A matrix of random weights with ordinary scales, in the file's form and packed.
struct Weight {
  std::vector<std::byte> file;
  AlignedBuffer<std::uint8_t> panels;
  WeightMatrix packed, mapped;

  Weight(const KernelTable& kernels, DType type, std::int64_t rows, unsigned seed)
      : file(*dtype_bytes(type, static_cast<std::uint64_t>(rows * kCols))) {
    std::mt19937 random(seed);
    for (std::byte& b : file) b = static_cast<std::byte>(random());
    for (std::size_t i = 0; i < file.size(); i += static_cast<std::size_t>(dtype_info(type).block_bytes))
      std::memcpy(file.data() + i, "\x00\x20", 2);  // 2^-7
    panels = AlignedBuffer<std::uint8_t>(packed_bytes(type, rows, kCols));
    const PanelOrder order = kernels.panel_order(type);
    pack_panels({type, rows, kCols, file}, 0, num_panels(rows), panels.data(), order);
    packed = {.type = type, .order = order, .rows = rows, .cols = kCols, .panels = panels.data()};
    mapped = {.type = type, .order = order, .rows = rows, .cols = kCols, .file = file.data()};
  }
};

class GatedProductOf : public testing::TestWithParam<IsaLevel> {
 protected:
  void SetUp() override {
    if (kernels_of_level(GetParam()) == nullptr) GTEST_SKIP() << "this processor has no " << isa_name(GetParam());
  }

  /// Rows of the input, in every form.
  void make_input(int rows) {
    const KernelTable& kernels = *kernels_of_level(GetParam());
    std::mt19937 random(3);
    std::normal_distribution<float> normal;
    x_.resize(static_cast<std::size_t>(rows * kCols));
    for (float& v : x_) v = normal(random);
    quantized_ = QuantizedRows(rows, kCols, kernels);
    for (std::int64_t row = 0; row < rows; ++row)
      quantized_.out(all_forms()).write_row(x_.data() + row * kCols, row, rows, kCols);
  }
  ActivationRows input() const { return quantized_.view(x_.data(), kCols); }
  static RowForms all_forms() { return {.int8 = true, .bf16 = kernels_of_level(GetParam())->round_row != nullptr}; }

  void expect_bits_of_the_parts(const WeightMatrix& gate, const WeightMatrix& up, int rows, int threads);

  std::vector<float> x_;
  QuantizedRows quantized_;
};
INSTANTIATE_TEST_SUITE_P(Levels, GatedProductOf,
                         testing::Values(IsaLevel::kScalar, IsaLevel::kAvx2, IsaLevel::kAvxVnni, IsaLevel::kAvx512Vnni,
                                         IsaLevel::kAmxBf16, IsaLevel::kAmx),
                         [](const auto& param) { return std::string(isa_name(param.param)); });

void GatedProductOf::expect_bits_of_the_parts(const WeightMatrix& gate, const WeightMatrix& up, int rows, int threads) {
  const KernelTable& kernels = *kernels_of_level(GetParam());
  const std::int64_t width = gate.rows;
  const bool quantizes = width % kActBlock == 0;
  ThreadPool pool(threads);
  const ThreadPool::Step step(pool);
  PanelScratch scratch(panel_bytes(gate.type, kCols), threads);
  const auto size = static_cast<std::size_t>(rows * width);
  std::vector<float> g(size), u(size), out(size, -1);
  const std::array<Product, 2> products = {{{&gate, g.data()}, {&up, u.data()}}};
  multiply(products, input(), rows, kernels, scratch, pool);
  QuantizedRows wanted(rows, static_cast<int>(width), kernels);
  QuantizedRows found(rows, static_cast<int>(width), kernels);
  for (std::int64_t row = 0; row < rows; ++row) {
    float* own = g.data() + row * width;
    kernels.silu_mul(own, u.data() + row * width, width, own);
    if (quantizes) wanted.out(all_forms()).write_row(own, row, rows, width);
  }
  AlignedBuffer<float> floats(static_cast<std::size_t>(threads * gated_scratch_floats(rows)));
  multiply_gated({&gate, &up, kernels.silu_mul, out.data(), quantizes ? found.out(all_forms()) : QuantizedOut()},
                 input(), rows, kernels, scratch, floats.span(), pool);
  EXPECT_EQ(std::memcmp(out.data(), g.data(), size * sizeof(float)), 0) << rows << " rows of " << width;
  if (!quantizes) return;
  const ActivationRows a = found.view(nullptr, width), b = wanted.view(nullptr, width);
  const std::size_t bytes = static_cast<std::size_t>(rows) * act_row_bytes(width);
  EXPECT_EQ(std::memcmp(a.tiles, b.tiles, bytes), 0) << rows << " rows of " << width;
  if (all_forms().bf16) {
    EXPECT_EQ(std::memcmp(a.bf16, b.bf16, bytes), 0) << rows << " rows of " << width;
  }
}

TEST_P(GatedProductOf, HasTheBitsOfItsPartsForAnyRowsThreadsAndWidth) {
  const KernelTable& kernels = *kernels_of_level(GetParam());
  for (const std::int64_t width : {32, 40, 288}) {
    const Weight gate(kernels, DType::kQ8_0, width, 1), up(kernels, DType::kQ4_0, width, 2);
    for (const int rows : {1, 2, 7, 8, 13, 70, 300}) {
      make_input(rows);
      for (const int threads : {1, 3}) {
        expect_bits_of_the_parts(gate.packed, up.packed, rows, threads);
        expect_bits_of_the_parts(gate.mapped, up.mapped, rows, threads);
      }
    }
  }
}

TEST_P(GatedProductOf, PartsOfRowsAndColumnsHaveTheBitsOfTheWholeProduct) {
  const KernelTable& kernels = *kernels_of_level(GetParam());
  const Weight a(kernels, DType::kQ8_0, 80, 1), b(kernels, DType::kQ4_0, 40, 2);
  for (const int rows : {1, 64, 255, 256, 259, 600}) {
    make_input(rows);
    const auto whole = [&](const WeightMatrix& w) {
      std::vector<float> y(static_cast<std::size_t>(rows * w.rows));
      kernels.matmul[dtype_index(w.type)]({w.type, w.rows, w.cols, w.panels}, input(), 0, num_panels(w.rows), 0, rows,
                                          y.data(), w.rows);
      return y;
    };
    const std::vector<float> wanted_a = whole(a.packed), wanted_b = whole(b.packed);
    for (const int threads : {1, 2, 3, 5}) {
      ThreadPool pool(threads);
      const ThreadPool::Step step(pool);
      PanelScratch scratch(panel_bytes(DType::kQ8_0, kCols), threads);
      std::vector<float> found_a(wanted_a.size(), -1), found_b(wanted_b.size(), -1);
      const std::array<Product, 2> products = {{{&a.packed, found_a.data()}, {&b.packed, found_b.data()}}};
      multiply(products, input(), rows, kernels, scratch, pool);
      EXPECT_EQ(found_a, wanted_a) << rows << " rows, " << threads << " threads";
      EXPECT_EQ(found_b, wanted_b) << rows << " rows, " << threads << " threads";
    }
  }
}

// Q2_0 is multiplied in int8 where Q4_0 is in bf16.
TEST_P(GatedProductOf, MatricesThatReadOtherFormsOfTheSameRowsHaveTheBitsOfTheirOwn) {
  const KernelTable& kernels = *kernels_of_level(GetParam());
  const Weight a(kernels, DType::kQ2_0, 64, 1), b(kernels, DType::kQ4_0, 64, 2);
  for (const int rows : {1, 19, 300}) {
    make_input(rows);
    expect_bits_of_the_parts(a.packed, b.packed, rows, 2);
    expect_bits_of_the_parts(b.packed, a.mapped, rows, 2);
  }
}

TEST_P(GatedProductOf, AFactorMultipliesTheOutputsOfItsMatrix) {
  const KernelTable& kernels = *kernels_of_level(GetParam());
  const float half = 0.5F;  // exact, so that bits are those of the halves
  Weight a(kernels, DType::kQ8_0, 80, 1), b(kernels, DType::kQ4_0, 80, 2);
  ThreadPool pool(2);
  const ThreadPool::Step step(pool);
  PanelScratch scratch(panel_bytes(DType::kQ8_0, kCols), 2);
  for (const int rows : {1, 300}) {
    make_input(rows);
    const auto product_of = [&](const WeightMatrix& w) {
      std::vector<float> y(static_cast<std::size_t>(rows * w.rows));
      const Product product{&w, y.data()};
      multiply({&product, 1}, input(), rows, kernels, scratch, pool);
      return y;
    };
    for (WeightMatrix* w : {&a.packed, &b.mapped}) {
      std::vector<float> wanted = product_of(*w);
      for (float& y : wanted) y *= half;
      w->scale = &half;
      EXPECT_EQ(product_of(*w), wanted) << rows << " rows";
    }
    expect_bits_of_the_parts(a.packed, b.mapped, rows, 2);
    a.packed.scale = b.mapped.scale = nullptr;
  }
}

}  // namespace
}  // namespace octavo
