// Gated delta nets on the card, kernel by kernel, against the processor's kernels: the same bytes.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <vector>

#include "base/math.h"
#include "base/to_size.h"
#include "gpu/emulation/emulated_kernels.h"
#include "gpu/kernels/delta_arguments.h"
#include "kernels/dispatch.h"
#include "model/delta_norms.h"
#include "model/head_states.h"
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

int blocks_of(int count, int each) { return (count + each - 1) / each; }

/// A sequence that begins, one that goes on with drafted rows, and one of a single row; row 6 is nobody's.
constexpr int kNumRows = 13, kNumSlots = 4, kNumKept = 5;
const std::vector<DeltaRange> kRanges = {
    {.first_row = 0, .num_known = 6, .num_drafted = 0, .state_slot = 2, .begins = 1, .first_kept = 0},
    {.first_row = 7, .num_known = 2, .num_drafted = 3, .state_slot = 0, .begins = 0, .first_kept = 1},
    {.first_row = 12, .num_known = 1, .num_drafted = 0, .state_slot = 3, .begins = 0, .first_kept = 4}};
const std::vector<std::int32_t> kRangeOf = {0, 0, 0, 0, 0, 0, -1, 1, 1, 1, 1, 1, 2};

std::vector<DeltaSpec> odd_specs() {
  std::vector<DeltaSpec> specs;
  for (const int key_dim : {1, 2, 3, 4, 5, 7, 8, 9, 31, 32, 33, 64, 127, 128, 129})
    specs.push_back({.num_key_heads = 1 + key_dim % 3,
                     .num_value_heads = 2 * (1 + key_dim % 3),
                     .key_dim = key_dim,
                     .value_dim = key_dim % 2 == 0 ? key_dim : 2 * key_dim + 1,
                     .taps = 2 + key_dim % 7});
  return specs;
}

/// The order of sums of native AVX2, or of portable bits.
class DeltaOfACard : public ::testing::TestWithParam<Bits> {
 protected:
  const KernelTable& kernels() const { return kernel_table(IsaLevel::kAvx2, GetParam()); }
  int lanes() const { return GetParam() == Bits::kPortable ? 16 : 8; }

  static std::size_t state_floats(const DeltaSpec& spec) { return states_of(spec).bytes() / sizeof(float); }
  /// Makes zeros of what fills up the last pieces of heads, which nobody reads.
  static void clear_padding(const DeltaSpec& spec, std::vector<float>& states) {
    const HeadStates shape = states_of(spec);
    const int columns = spec.value_dim - (shape.num_pieces() - 1) * kStateColumns;  // of the last piece
    for (int slot = 0; slot < kNumSlots; ++slot)
      for (int head = 0; head < spec.num_value_heads; ++head) {
        float* last = shape.piece(states.data() + to_size(slot) * state_floats(spec), head, shape.num_pieces() - 1);
        for (int i = 0; i < spec.key_dim; ++i)
          std::fill_n(last + i * kStateColumns + columns, kStateColumns - columns, 0.0F);
      }
  }
  /// The states of all slots.
  static std::vector<float> some_states(const DeltaSpec& spec) {
    std::vector<float> states = normals(kNumSlots * state_floats(spec), 1);
    clear_padding(spec, states);
    return states;
  }
  static DeltaLayer layer_of(const DeltaSpec& spec, std::vector<float>& states) {
    return {.ranges = kRanges.data(),
            .range_of = kRangeOf.data(),
            .states = states.data(),
            .stride = static_cast<std::int64_t>(state_floats(spec)),
            .num_key_heads = spec.num_key_heads,
            .num_value_heads = spec.num_value_heads,
            .key_dim = spec.key_dim,
            .value_dim = spec.value_dim,
            .taps = spec.taps};
  }
  template <class Arguments>
  void run(const char* kernel, int grid_x, int grid_y, int threads, int shared_bytes, const Arguments& arguments) {
    simt::run_emulated_kernel(kernel,
                              {.grid_x = grid_x,
                               .grid_y = grid_y,
                               .threads = threads,
                               .shared_bytes = to_size(shared_bytes),
                               .order = order_},
                              &arguments);
    order_ = order_ == simt::ThreadOrder::kAscending ? simt::ThreadOrder::kDescending : simt::ThreadOrder::kAscending;
  }
  /// The rows of a piece of a head's state, by the processor.
  void run_rule(const DeltaSpec& spec, int first_row, int num_rows, int head, int index,
                const std::vector<float>& gates, std::vector<float>& mixed, float* piece) const {
    float* rows = mixed.data() + to_size(first_row * spec.num_channels());
    const int key_head = head % spec.num_key_heads, column = index * kStateColumns;
    kernels().delta_rule({.q = rows + key_head * spec.key_dim,
                          .k = rows + spec.key_width() + key_head * spec.key_dim,
                          .v = rows + 2 * spec.key_width() + head * spec.value_dim + column,
                          .gates = gates.data() + 2 * (first_row * spec.num_value_heads + head),
                          .stride = spec.num_channels(),
                          .gate_stride = 2 * spec.num_value_heads,
                          .num_tokens = num_rows,
                          .key_dim = spec.key_dim,
                          .columns = std::min(kStateColumns, spec.value_dim - column)},
                         piece);
  }

  simt::ThreadOrder order_ = simt::ThreadOrder::kAscending;  // of the next launch
};

TEST_P(DeltaOfACard, ConvolvesAsTheProcessor) {
  for (const DeltaSpec& spec : odd_specs()) {
    const int channels = spec.num_channels(), history = spec.taps - 1;
    const DeltaNorms norms(spec);
    std::vector<float> states = some_states(spec), inputs = normals(to_size(kNumRows * channels), 2);
    const std::vector<float> taps = normals(to_size(spec.taps * channels), 3), zeros(to_size(channels));
    inputs[to_size(channels)] = std::numeric_limits<float>::infinity();
    std::vector<float> expected(inputs.size(), -1), found = expected;
    const std::vector<float> q_norm(to_size(spec.key_dim), norms.q_weight), k_norm(q_norm.size(), norms.k_weight);
    for (int row = 0; row < kNumRows; ++row) {
      if (kRangeOf[to_size(row)] < 0) continue;
      const DeltaRange& range = kRanges[to_size(kRangeOf[to_size(row)])];
      const float* before = states_of(spec).inputs(states.data() + to_size(range.state_slot) * state_floats(spec));
      std::array<const float*, kMaxConvolutionTaps> x{};
      for (int tap = 0; tap < spec.taps; ++tap) {
        const int at = row - range.first_row - history + tap;
        x[to_size(tap)] = at >= 0             ? inputs.data() + to_size((range.first_row + at) * channels)
                          : range.begins != 0 ? zeros.data()
                                              : before + (history + at) * channels;
      }
      float* y = expected.data() + to_size(row * channels);
      kernels().short_conv(x.data(), taps.data(), nullptr, spec.taps, channels, y);
      for (int head = 0; head < 2 * spec.num_key_heads; ++head, y += spec.key_dim)
        kernels().rms_norm(y, head < spec.num_key_heads ? q_norm.data() : k_norm.data(), spec.key_dim, norms.epsilon,
                           y);
    }
    run("octavo_convolve_heads", blocks_of(2 * spec.num_key_heads + spec.num_value_heads, kHeadWarps), kNumRows,
        kHeadThreads, convolve_heads_shared(spec.key_dim, spec.value_dim),
        ConvolveHeadsArguments{layer_of(spec, states), inputs.data(), taps.data(), found.data(), norms.q_weight,
                               norms.k_weight, norms.epsilon, lanes()});
    for (std::size_t i = 0; i < expected.size(); ++i) {
      if (std::isnan(expected[i])) expected[i] = found[i] = std::isnan(found[i]) ? 0 : 1;  // the same but for its sign
    }
    EXPECT_TRUE(same(found, expected)) << spec.key_dim;
  }
}

TEST_P(DeltaOfACard, RunsTheRuleAsTheProcessor) {
  for (const DeltaSpec& spec : odd_specs()) {
    std::vector<float> states = some_states(spec), found_states = states;
    std::vector<float> mixed = normals(to_size(kNumRows * spec.num_channels()), 4, 0.3F), found = mixed;
    std::vector<float> gates = normals(to_size(2 * kNumRows * spec.num_value_heads), 5);
    for (float& gate : gates) gate = std::abs(gate) / 4;
    gates[1] = 0, gates.back() = std::numeric_limits<float>::infinity();
    const HeadStates shape = states_of(spec);
    for (const DeltaRange& range : kRanges)
      for (int head = 0; head < spec.num_value_heads; ++head)
        for (int index = 0; index < shape.num_pieces(); ++index) {
          float* piece = shape.piece(states.data() + to_size(range.state_slot) * state_floats(spec), head, index);
          if (range.begins != 0) std::fill_n(piece, shape.piece_floats(), 0.0F);
          run_rule(spec, range.first_row, range.num_known, head, index, gates, mixed, piece);
          std::vector<float> ahead(piece, piece + shape.piece_floats());
          run_rule(spec, range.first_row + range.num_known, range.num_drafted, head, index, gates, mixed, ahead.data());
        }
    run("octavo_delta_rule", spec.num_value_heads * shape.num_pieces(), static_cast<int>(kRanges.size()), kDeltaThreads,
        delta_rule_shared(spec.key_dim), DeltaRuleArguments{layer_of(spec, found_states), found.data(), gates.data()});
    for (std::vector<float>* of_either : {&mixed, &found, &states, &found_states})
      for (float& v : *of_either)
        if (std::isnan(v)) v = 0x1p100F;  // of any sign
    EXPECT_TRUE(same(found, mixed)) << spec.key_dim;
    clear_padding(spec, states);
    clear_padding(spec, found_states);
    EXPECT_TRUE(same(found_states, states)) << spec.key_dim;
  }
}

TEST_P(DeltaOfACard, KeepsInputs) {
  for (const DeltaSpec& spec : odd_specs()) {
    const int channels = spec.num_channels(), gates_of_row = 2 * spec.num_value_heads, history = spec.taps - 1;
    std::vector<float> states = some_states(spec), found_states = states;
    const std::vector<float> inputs = normals(to_size(kNumRows * channels), 2),
                             gates = normals(to_size(kNumRows * gates_of_row), 3);
    std::vector<float> kept(to_size(kNumKept * channels), -1),
        found_kept = kept, kept_gates(to_size(kNumKept * gates_of_row), -1), found_gates = kept_gates;
    for (const DeltaRange& range : kRanges) {
      float* in_state = states_of(spec).inputs(states.data() + to_size(range.state_slot) * state_floats(spec));
      // All inputs of the sequence, the state's and the step's, one behind another.
      std::vector<float> all(to_size(history * channels));
      if (range.begins == 0) std::copy_n(in_state, all.size(), all.data());
      const int end = range.first_row + range.num_known;
      all.insert(all.end(), inputs.begin() + range.first_row * channels, inputs.begin() + end * channels);
      std::copy(all.end() - history * channels, all.end(), in_state);
      std::copy_n(inputs.begin() + end * channels, range.num_drafted * channels,
                  kept.begin() + range.first_kept * channels);
      std::copy_n(gates.begin() + end * gates_of_row, range.num_drafted * gates_of_row,
                  kept_gates.begin() + range.first_kept * gates_of_row);
    }
    run("octavo_keep_inputs", blocks_of(channels, kRowThreads), static_cast<int>(kRanges.size()), kRowThreads, 0,
        KeepInputsArguments{layer_of(spec, found_states), inputs.data(), gates.data(), found_kept.data(),
                            found_gates.data()});
    EXPECT_TRUE(same(found_states, states)) << spec.key_dim;
    EXPECT_TRUE(same(found_kept, kept) && same(found_gates, kept_gates)) << spec.key_dim;
  }
}

TEST_P(DeltaOfACard, GatesResultsAsTheProcessor) {
  for (const DeltaSpec& spec : odd_specs()) {
    const int width = spec.value_width(), channels = spec.num_channels(), dim = spec.value_dim;
    const std::vector<std::int32_t> batch_row = {1, 4, 12};
    const int rows = static_cast<int>(batch_row.size());
    std::vector<float> mixed = normals(to_size(kNumRows * channels), 1, 3),
                       gated = normals(to_size(rows * width), 2, 4), found = gated;
    const std::vector<float> norm = normals(to_size(dim), 3), given = mixed;
    for (int row = 0; row < rows; ++row) {
      float* result = mixed.data() + to_size(batch_row[to_size(row)] * channels + 2 * spec.key_width());
      for (float* head = result; head != result + width; head += dim)
        kernels().rms_norm(head, norm.data(), dim, kEpsilon, head);
      float* out = gated.data() + to_size(row * width);
      kernels().silu_mul(out, result, width, out);
    }
    run("octavo_gate_results", blocks_of(spec.num_value_heads, kHeadWarps), rows, kHeadThreads,
        gate_results_shared(dim),
        GateResultsArguments{.mixed = given.data(),
                             .gated = found.data(),
                             .norm = norm.data(),
                             .batch_row = batch_row.data(),
                             .epsilon = kEpsilon,
                             .num_heads = spec.num_value_heads,
                             .head_dim = dim,
                             .num_channels = channels,
                             .lanes = lanes()});
    EXPECT_TRUE(same(found, gated)) << dim;
  }
}

INSTANTIATE_TEST_SUITE_P(Orders, DeltaOfACard, ::testing::Values(Bits::kNative, Bits::kPortable));

double softplus(double x) { return x > 30 ? x : portable::log1p(portable::exp(x)); }

TEST(GatesOfACard, AreThoseOfTheProcessor) {
  const int heads = 37, rows = 500, count = heads * rows;
  std::vector<float> decay = normals(to_size(count), 1, 12), beta = normals(to_size(count), 2, 30);
  const float infinity = std::numeric_limits<float>::infinity();
  const std::vector<float> unusual = {0, -0.0F, 1e-40F, 30, 30.0001F, 800, -800, 1e30F, -1e30F, infinity, -infinity};
  std::ranges::copy(unusual, decay.begin());
  std::ranges::copy(unusual, beta.begin());
  std::vector<float> bias = normals(to_size(heads), 3), scale = normals(to_size(heads), 4, 4);
  std::fill_n(bias.begin(), unusual.size(), 0.0F);
  for (float& s : scale) s = -std::abs(s);
  std::vector<float> expected(to_size(2 * count)), found(expected.size());
  for (int i = 0; i < count; ++i) {
    const double step = softplus(static_cast<double>(decay[to_size(i)] + bias[to_size(i % heads)]));
    expected[to_size(2 * i)] = static_cast<float>(portable::exp(static_cast<double>(scale[to_size(i % heads)]) * step));
    expected[to_size(2 * i + 1)] = static_cast<float>(1 / (1 + portable::exp(-static_cast<double>(beta[to_size(i)]))));
  }
  const FindGatesArguments a{decay.data(), beta.data(), bias.data(), scale.data(), found.data(), count, heads};
  simt::run_emulated_kernel("octavo_find_gates", {.grid_x = blocks_of(count, kRowThreads), .threads = kRowThreads}, &a);
  EXPECT_TRUE(same(found, expected));
}

TEST(GatesOfACard, KeepNaNs) {
  const float nan = std::nanf(""), bias = 0, scale = -1;
  std::array<float, 2> found{};
  const FindGatesArguments a{&nan, &nan, &bias, &scale, found.data(), 1, 1};
  simt::run_emulated_kernel("octavo_find_gates", {.threads = kRowThreads}, &a);
  EXPECT_TRUE(std::isnan(found[0]) && std::isnan(found[1]));
}

}  // namespace
}  // namespace octavo::gpu
