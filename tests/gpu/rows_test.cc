// Norms, activations, heads and the ends of rows on the card, against the processor's kernels: the same bytes.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>
#include <random>
#include <vector>

#include "base/to_size.h"
#include "gpu/emulation/emulated_kernels.h"
#include "gpu/kernels/arguments.h"
#include "gpu/simt.h"
#include "kernels/dispatch.h"
#include "octavo/bits.h"

namespace octavo::gpu {
namespace {

constexpr float kEpsilon = 1e-6F;

std::vector<float> normals(std::size_t count, unsigned seed, float deviation = 1) {
  std::mt19937 random(seed);
  std::normal_distribution<float> of(0, deviation);
  std::vector<float> values(count);
  for (float& value : values) value = of(random);
  return values;
}

bool same(const std::vector<float>& a, const std::vector<float>& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
}

int column_blocks(int width) { return (width + kRowThreads - 1) / kRowThreads; }

/// The order of sums of native AVX2, or of portable bits.
class RowsOfACard : public ::testing::TestWithParam<Bits> {
 protected:
  const KernelTable& kernels() const { return kernel_table(IsaLevel::kAvx2, GetParam()); }
  int lanes() const { return GetParam() == Bits::kPortable ? 16 : 8; }
  simt::ThreadOrder order_ = simt::ThreadOrder::kAscending;  // of the next launch

  void expect_same_finish(FinishRowsArguments a, int width, int rows) {
    const auto n = to_size(rows * width);
    const std::vector<float> bias = normals(to_size(width), 1), post = normals(to_size(width), 2),
                             next = normals(to_size(width), 3);
    std::vector<float> x = normals(n, 4, 3), h = normals(n, 5), x_of_card = x, h_of_card = h;
    for (int row = 0; row < rows; ++row) {
      float *of_x = x.data() + to_size(row * width), *of_h = h.data() + to_size(row * width);
      if (a.adds) {
        if (a.bias != nullptr) kernels().add(of_h, bias.data(), width);
        if (a.post_norm != nullptr) kernels().rms_norm(of_h, post.data(), width, kEpsilon, of_h);
        kernels().add(of_x, of_h, width);
      }
      if (a.scale != 1) kernels().scale(of_x, a.scale, width);
      std::memcpy(of_h, of_x, to_size(width) * sizeof(float));
      if (a.next_norm != nullptr) kernels().rms_norm(of_x, next.data(), width, kEpsilon, of_h);
    }
    a.x = x_of_card.data(), a.h = h_of_card.data(), a.width = width, a.lanes = lanes(), a.epsilon = kEpsilon;
    if (a.bias != nullptr) a.bias = bias.data();
    if (a.post_norm != nullptr) a.post_norm = post.data();
    if (a.next_norm != nullptr) a.next_norm = next.data();
    simt::run_emulated_kernel(
        "octavo_finish_rows",
        {.grid_x = rows, .threads = kRowThreads, .shared_bytes = to_size(finish_rows_shared(width)), .order = order_},
        &a);
    order_ = order_ == simt::ThreadOrder::kAscending ? simt::ThreadOrder::kDescending : simt::ThreadOrder::kAscending;
    EXPECT_TRUE(same(x_of_card, x) && same(h_of_card, h)) << width;
  }
};

TEST_P(RowsOfACard, EndPartsAsTheProcessor) {
  const float there = 0;  // in place of a vector, which the check fills in
  for (const int width : {32, 64, 96, 576, 1000, 4096}) {
    expect_same_finish({.next_norm = &there, .scale = 1, .adds = true}, width, 3);
    expect_same_finish({.bias = &there, .post_norm = &there, .next_norm = &there, .scale = 0.5F, .adds = true}, width,
                       2);
    expect_same_finish({.post_norm = &there, .scale = 1, .adds = true}, width, 2);
    expect_same_finish({.next_norm = &there, .scale = 1, .adds = false}, width, 2);
  }
}

TEST_P(RowsOfACard, ActivateAsTheProcessor) {
  const int width = 300, rows = 2;
  std::vector<float> gate = normals(to_size(rows * width), 1, 8), up = normals(to_size(rows * width), 2, 8);
  gate[3] = 1e30F, gate[4] = -1e30F, up[5] = std::numeric_limits<float>::infinity(), gate[6] = 0;
  const auto expect = [&](Activation activation, auto function, bool is_gated) {
    std::vector<float> expected(gate.size()), found(gate.size());
    function(gate.data(), is_gated ? up.data() : nullptr, rows * width, expected.data());
    const ActivateArguments a{gate.data(), is_gated ? up.data() : nullptr, nullptr, nullptr, found.data(), width,
                              activation};
    simt::run_emulated_kernel("octavo_activate_rows",
                              {.grid_x = column_blocks(width), .grid_y = rows, .threads = kRowThreads}, &a);
    EXPECT_TRUE(same(found, expected)) << static_cast<int>(activation);
  };
  expect(Activation::kSilu, kernels().silu_mul, true);
  expect(Activation::kGeluTanh, kernels().gelu_mul, true);
  expect(Activation::kGeluTanh, kernels().gelu_mul, false);
  expect(Activation::kGelu, kernels().gelu_erf_mul, true);
  expect(Activation::kGelu, kernels().gelu_erf_mul, false);
  expect(Activation::kSquaredRelu, kernels().squared_relu, true);
  expect(Activation::kSquaredRelu, kernels().squared_relu, false);
  expect(Activation::kClampedSwiglu, kernels().clamped_swiglu, true);
}

TEST_P(RowsOfACard, FinishQueriesAsTheProcessor) {
  for (const int dim : {32, 64, 80, 128, 256}) {
    for (const bool halves : {false, true}) {
      const int heads = 5, rows = 3, rotated = dim / 2;
      const std::vector<float> bias = normals(to_size(heads * dim), 1), norm = normals(to_size(dim), 2),
                               cosines = normals(to_size(rows * rotated / 2), 3),
                               sines = normals(to_size(rows * rotated / 2), 4), scales = {0.5F, 0.25F, 3};
      std::vector<float> expected = normals(to_size(rows * heads * dim), 5), found = expected;
      for (int row = 0; row < rows; ++row) {
        float* q = expected.data() + to_size(row * heads * dim);
        kernels().add(q, bias.data(), heads * dim);
        for (float* head = q; head != q + to_size(heads * dim); head += dim) {
          kernels().rms_norm(head, norm.data(), dim, kEpsilon, head);
          const float *c = cosines.data() + to_size(row * rotated / 2), *s = sines.data() + to_size(row * rotated / 2);
          halves ? kernels().rope_halves(head, c, s, rotated) : kernels().rope_neighbours(head, c, s, rotated);
        }
        kernels().scale(q, scales[to_size(row)], heads * dim);
      }
      const FinishQueriesArguments a{.products = found.data(),
                                     .q = found.data(),
                                     .bias = bias.data(),
                                     .scales = scales.data(),
                                     .batch_row = nullptr,
                                     .head = {.norm = norm.data(),
                                              .rope = {cosines.data(), sines.data(), rotated, halves},
                                              .epsilon = kEpsilon,
                                              .head_dim = dim,
                                              .lanes = lanes()},
                                     .num_heads = heads,
                                     .product_dim = dim};
      simt::run_emulated_kernel("octavo_finish_queries",
                                {.grid_x = (heads + kHeadWarps - 1) / kHeadWarps,
                                 .grid_y = rows,
                                 .threads = kHeadThreads,
                                 .shared_bytes = to_size(heads_shared(dim))},
                                &a);
      EXPECT_TRUE(same(found, expected)) << dim << ' ' << halves;
    }
  }
}

TEST_P(RowsOfACard, GateAttentionAsTheProcessor) {
  for (const int dim : {32, 80, 256}) {
    const int heads = 3, rows = 2;
    const std::vector<float> bias = normals(to_size(heads * 2 * dim), 1), norm = normals(to_size(dim), 2),
                             scales = {0.5F, 3}, products = normals(to_size(rows * heads * 2 * dim), 5, 4);
    std::vector<float> q(to_size(rows * heads * dim)), found_q(q.size(), -1), attended = normals(q.size(), 6),
                                                                              found = attended, biased = products;
    attended[3] = found[3] = std::numeric_limits<float>::infinity();
    for (int i = 0; i < rows * heads; ++i) {
      float* const product = biased.data() + to_size(i * 2 * dim);
      kernels().add(product, bias.data() + to_size(i % heads * 2 * dim), 2 * dim);
      kernels().rms_norm(product, norm.data(), dim, kEpsilon, q.data() + to_size(i * dim));
      kernels().scale(q.data() + to_size(i * dim), scales[to_size(i / heads)], dim);
      float* const head = attended.data() + to_size(i * dim);
      kernels().sigmoid_mul(product + dim, head, dim, head);
    }
    const FinishQueriesArguments queries{.products = products.data(),
                                         .q = found_q.data(),
                                         .bias = bias.data(),
                                         .scales = scales.data(),
                                         .batch_row = nullptr,
                                         .head = {norm.data(), {}, kEpsilon, dim, lanes()},
                                         .num_heads = heads,
                                         .product_dim = 2 * dim};
    simt::run_emulated_kernel(
        "octavo_finish_queries",
        {.grid_x = 1, .grid_y = rows, .threads = kHeadThreads, .shared_bytes = to_size(heads_shared(dim))}, &queries);
    EXPECT_TRUE(same(found_q, q)) << dim;
    const GateAttendedArguments a{found.data(), products.data(), bias.data(), heads, dim};
    simt::run_emulated_kernel("octavo_gate_attended",
                              {.grid_x = column_blocks(heads * dim), .grid_y = rows, .threads = kRowThreads}, &a);
    EXPECT_TRUE(same(found, attended)) << dim;
  }
}

TEST_P(RowsOfACard, CapLogitsAsTheProcessor) {
  const int width = 1000;
  const std::vector<float> bias = normals(to_size(width), 1);
  std::vector<float> expected = normals(to_size(width), 2, 30), found = expected;
  kernels().add(expected.data(), bias.data(), width);
  kernels().soft_cap(expected.data(), 20, width);
  const FinishLogitsArguments a{found.data(), bias.data(), 20, width};
  simt::run_emulated_kernel("octavo_finish_logits", {.grid_x = column_blocks(width), .threads = kRowThreads}, &a);
  EXPECT_TRUE(same(found, expected));
}

INSTANTIATE_TEST_SUITE_P(Orders, RowsOfACard, ::testing::Values(Bits::kNative, Bits::kPortable));

TEST(FiniteRowsOfACard, AreThoseWithoutAnInfinityOrANan) {
  const int width = 700, rows = 4;
  std::vector<float> x = normals(to_size(rows * width), 1);
  x[to_size(width + 699)] = std::numeric_limits<float>::infinity();
  x[to_size(3 * width)] = std::nanf("");
  std::vector<std::int32_t> found(to_size(rows), -1);
  const FindFiniteArguments a{x.data(), found.data(), width};
  simt::run_emulated_kernel("octavo_find_finite",
                            {.grid_x = rows, .threads = kRowThreads, .shared_bytes = kFindFiniteShared}, &a);
  EXPECT_EQ(found, (std::vector<std::int32_t>{1, 0, 1, 0}));
}

TEST(WordsOfACard, AreAllReadOnce) {
  for (const std::int64_t num_words : {4, 4 * kRowThreads, 4 * 11 * kRowThreads + 8, 40000}) {
    std::vector<simt::Words4> words(to_size(num_words / 4));
    std::uint32_t expected = 0;
    std::mt19937 random(static_cast<unsigned>(num_words));
    for (simt::Words4& four : words)
      for (std::uint32_t& word : four.v) expected += word = static_cast<std::uint32_t>(random());
    std::vector<std::uint32_t> sums(3 * kRowThreads, 1);
    const ReadWordsArguments a{words.data()->v, num_words, sums.data()};
    simt::run_emulated_kernel("octavo_read_words", {.grid_x = 3, .threads = kRowThreads}, &a);
    EXPECT_EQ(std::accumulate(sums.begin(), sums.end(), 0U), expected) << num_words;
  }
}

TEST(GatheredRowsOfACard, AreThoseOfTheList) {
  const int width = 300;
  const std::vector<float> from = normals(to_size(4 * width), 1);
  std::vector<float> to(to_size(2 * width));
  const std::vector<std::int32_t> rows = {1, 3};
  const GatherRowsArguments a{from.data(), rows.data(), to.data(), width};
  simt::run_emulated_kernel("octavo_gather_rows", {.grid_x = column_blocks(width), .grid_y = 2, .threads = kRowThreads},
                            &a);
  EXPECT_EQ(std::memcmp(to.data(), from.data() + width, to_size(width) * sizeof(float)), 0);
  EXPECT_EQ(std::memcmp(to.data() + width, from.data() + 3 * width, to_size(width) * sizeof(float)), 0);
}

}  // namespace
}  // namespace octavo::gpu
