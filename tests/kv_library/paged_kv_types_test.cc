// P15: what rounding to each element type costs, position by position. T13: the numbers of the paged cache's origin.
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <random>

#include "kv_library/kv_values.h"
#include "tensor/dequantize.h"

namespace octavo {
namespace {

constexpr float kLargestHalf = 65'504;

std::vector<float> random_floats(std::size_t count, float low, float high, unsigned seed) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<float> exponent(low, high);
  std::vector<float> values(count);
  for (float& value : values) value = std::exp2(exponent(random)) * (random() % 2 == 0 ? 1.0F : -1.0F);
  return values;
}

struct Stored {
  std::vector<float> key, value;  // as read back
};

Stored store(KvType type, KvLayout layout, int block_size, int heads, int dim, const std::vector<float>& key,
             const std::vector<float>& value) {
  const auto cache = make_cache({.type = type,
                                 .layout = layout,
                                 .block_size = block_size,
                                 .num_kv_heads = heads,
                                 .head_dim = dim,
                                 .layer_windows = {0, 0},
                                 .num_blocks = 3});
  const SequenceId id = cache->create_sequence();
  const std::int64_t position = block_size + block_size / 2;
  Stored out{std::vector<float>(key.size()), std::vector<float>(key.size())};
  EXPECT_TRUE(cache->write_kv(id, 1, position, key, value));
  // Neighbours in the block must not matter.
  const std::vector<float> ones(key.size(), 1);
  for (const std::int64_t other : {position - 1, position + 1}) EXPECT_TRUE(cache->write_kv(id, 1, other, ones, ones));
  EXPECT_TRUE(cache->read_kv(id, 1, position, out.key, out.value));
  return out;
}

// Every shape of a head: whole vectors, tails, and one dimension.
struct Shape {
  int heads, dim, block_size;
};
constexpr Shape kShapes[] = {{1, 1, 16}, {3, 64, 16}, {2, 80, 32}, {1, 100, 1}, {2, 256, 4}, {1, 33, 256}};

void expect_relative(KvType type, float bound, float low, float high) {
  for (const KvLayout layout : {KvLayout::kPaged, KvLayout::kContiguous}) {
    for (const Shape& shape : kShapes) {
      const auto count = static_cast<std::size_t>(shape.heads * shape.dim);
      const std::vector<float> key = random_floats(count, low, high, 1), value = random_floats(count, low, high, 2);
      const Stored got = store(type, layout, shape.block_size, shape.heads, shape.dim, key, value);
      for (std::size_t i = 0; i < count; ++i) {
        ASSERT_LE(std::abs(got.key[i] - key[i]), bound * std::abs(key[i])) << key[i];
        ASSERT_LE(std::abs(got.value[i] - value[i]), bound * std::abs(value[i])) << value[i];
      }
    }
  }
}

TEST(PagedKvCache, P15_f32_is_exact) { expect_relative(KvType::kF32, 0, -120, 120); }

TEST(PagedKvCache, P15_f16_errs_by_2_to_minus_11_in_its_normal_range) {
  expect_relative(KvType::kF16, 0x1p-11F, -14, 15.9F);
}

TEST(PagedKvCache, P15_f16_holds_values_beyond_its_range_at_its_largest) {
  const Stored got = store(KvType::kF16, KvLayout::kPaged, 16, 1, 3, {1e9F, -1e9F, kLargestHalf}, {0, 70'000, -70'000});
  EXPECT_EQ(got.key, (std::vector<float>{kLargestHalf, -kLargestHalf, kLargestHalf}));
  EXPECT_EQ(got.value, (std::vector<float>{0, kLargestHalf, -kLargestHalf}));
}

// Eight significant bits, rounded to the nearest: half a unit of the last place is 2^-8 of the smallest mantissa, 2^-9
// of the largest.
TEST(PagedKvCache, P15_bf16_errs_by_2_to_minus_8) { expect_relative(KvType::kBF16, 0x1p-8F, -100, 100); }

TEST(PagedKvCache, P15_bf16_errs_by_2_to_minus_9_of_the_next_power_of_two) {
  const std::vector<float> key = random_floats(64, -100, 100, 5);
  const Stored got = store(KvType::kBF16, KvLayout::kPaged, 16, 1, 64, key, key);
  for (std::size_t i = 0; i < key.size(); ++i) {
    int exponent = 0;
    std::frexp(key[i], &exponent);  // |key| < 2^exponent
    ASSERT_LE(std::abs(got.key[i] - key[i]), std::ldexp(0x1p-9F, exponent));
  }
}

TEST(PagedKvCache, P15_f32_and_bf16_keep_infinities_and_what_is_not_a_number) {
  const auto of_bits = [](std::uint32_t bits) { return std::bit_cast<float>(bits); };
  const std::vector<float> key = {INFINITY, -INFINITY, of_bits(0x7F800001), of_bits(0x7FFFFFFF), of_bits(0xFFFFFFFF)};
  for (const KvType type : {KvType::kF32, KvType::kBF16}) {
    const Stored got = store(type, KvLayout::kPaged, 16, 1, 5, key, key);
    for (const std::vector<float>& found : {got.key, got.value}) {
      EXPECT_EQ(found[0], INFINITY);
      EXPECT_EQ(found[1], -INFINITY);
      for (const std::size_t i : {2, 3, 4}) EXPECT_TRUE(std::isnan(found[i])) << kv_type_name(type) << i;
    }
  }
}

// Of the `run` dimensions that have a scale in common, the largest is the integer `top_integer`; the half that is
// stored is the scale of the integer `one`.
void expect_half_a_step(KvType type, KvLayout layout, std::size_t run, float top_integer, float one) {
  for (const Shape& shape : kShapes) {
    const auto count = static_cast<std::size_t>(shape.heads * shape.dim);
    const auto dim = static_cast<std::size_t>(shape.dim);
    for (const float top : {-3.0F, 6.0F, 15.0F}) {
      const std::vector<float> key = random_floats(count, top - 10, top, 3),
                               value = random_floats(count, top - 4, top, 4);
      const Stored got = store(type, layout, shape.block_size, shape.heads, shape.dim, key, value);
      const auto check = [&](const std::vector<float>& given, const std::vector<float>& found) {
        for (std::size_t head = 0; head < count; head += dim) {
          for (std::size_t begin = 0; begin < dim; begin += run) {
            const std::size_t end = std::min(dim, begin + run);
            float largest = 0;
            for (std::size_t d = begin; d < end; ++d) largest = std::max(largest, std::abs(given[head + d]));
            const float step = f16_to_f32(f32_to_f16(largest / (top_integer / one))) / one;
            const float bound = step * 0.5001F;  // half, and what the test's own arithmetic rounds
            for (std::size_t d = begin; d < end; ++d)
              ASSERT_LE(std::abs(found[head + d] - given[head + d]), bound) << given[head + d] << " of " << largest;
          }
        }
      };
      check(key, got.key);
      check(value, got.value);
    }
  }
}

TEST(PagedKvCache, P15_q8_0_errs_by_half_a_step_of_its_32_dimensions) {
  expect_half_a_step(KvType::kQ8_0, KvLayout::kPaged, 32, 127, 1);
}

TEST(PagedKvCache, P15_i16_errs_by_2_to_minus_14_of_the_largest_of_its_64_dimensions) {
  for (const KvLayout layout : {KvLayout::kPaged, KvLayout::kContiguous})
    expect_half_a_step(KvType::kI16, layout, 64, 8192, 8192);
}

// A scale that is a subnormal half is a multiple of 2^-24.
TEST(PagedKvCache, P15_small_values_err_by_half_a_step_of_a_scale_that_reaches_them) {
  struct Integers {
    KvType type;
    float top, one;  // the largest integer, and the one that is the scale
  };
  for (const auto& [type, top_integer, one] : {Integers{KvType::kQ8_0, 127, 1}, {KvType::kI16, 8192, 8192}}) {
    for (float top = -8; top > -40; top -= 0.37F) {
      const std::vector<float> key = random_floats(32, top - 3, top, 6);
      float largest = 0;
      for (const float x : key) largest = std::max(largest, std::abs(x));
      const float step = (largest * one / top_integer * (1 + 0x1p-11F) + 0x1p-24F) / one;
      const Stored got = store(type, KvLayout::kPaged, 16, 1, 32, key, key);
      for (std::size_t i = 0; i < key.size(); ++i) {
        ASSERT_LE(std::abs(got.key[i] - key[i]), step * 0.5001F) << kv_type_name(type) << ' ' << key[i];
        ASSERT_LE(std::abs(got.value[i] - key[i]), step * 0.5001F) << kv_type_name(type) << ' ' << key[i];
      }
    }
  }
}

TEST(PagedKvCache, P15_i16_holds_values_beyond_its_range_at_its_largest) {
  const Stored got = store(KvType::kI16, KvLayout::kPaged, 16, 1, 3, {1e9F, -1e9F, 1000}, {0, 70'000, -70'000});
  const float largest = kLargestHalf * (1 + 0x1p-10F);  // the largest scale, and an integer that its rounding allows
  EXPECT_EQ(got.key, (std::vector<float>{largest, -largest, 125 * (kLargestHalf / 8192)}));
  EXPECT_EQ(got.value, (std::vector<float>{0, largest, -largest}));
}

// The example of the origin's documentation: two layers, four heads of 64, eight pages.
TEST(PagedKvCache, T13_documentation_example) {
  const auto cache =
      make_cache({.type = KvType::kF32, .num_kv_heads = 4, .head_dim = 64, .layer_windows = {0, 0}, .num_blocks = 8});
  const SequenceId id = cache->create_sequence();
  EXPECT_EQ(id, 0U);
  ASSERT_TRUE(cache->ensure_capacity(id, 16));
  std::vector<float> key(256, 1), value(256, 2), k(256), v(256);
  ASSERT_TRUE(cache->write_kv(id, 0, 0, key, value));
  ASSERT_TRUE(cache->read_kv(id, 0, 0, k, v));
  EXPECT_EQ(k, key);
  EXPECT_EQ(v, value);
  ASSERT_TRUE(cache->drop_sequence(id));
  EXPECT_EQ(cache->utilization(), 0);
}

PagedKvOptions origin(int num_blocks, int layers = 1) {
  return {.type = KvType::kF32,
          .block_size = 4,
          .num_kv_heads = 2,
          .head_dim = 4,
          .layer_windows = std::vector<int>(static_cast<std::size_t>(layers), 0),
          .num_blocks = num_blocks};
}

TEST(PagedKvCache, T13_twenty_tokens_lie_in_five_blocks_of_four) {
  const auto cache = make_cache(origin(8));
  const SequenceId id = cache->create_sequence();
  for (int i = 0; i < 20; ++i) ASSERT_TRUE(write_number(*cache, id, 0, i, static_cast<float>(i)));
  EXPECT_EQ(cache->table(id, 0).num_blocks(), 5);
  for (int i = 0; i < 20; ++i) EXPECT_EQ(read_number(*cache, id, 0, i), static_cast<float>(i));
}

TEST(PagedKvCache, T13_five_tokens_take_two_blocks_and_lengths_are_not_capacities) {
  const auto cache = make_cache(origin(4, 2));
  const SequenceId id = cache->create_sequence();
  ASSERT_TRUE(cache->ensure_capacity(id, 5));
  EXPECT_EQ(cache->pool(0).free_count(), 2);  // the origin took 2 pages for each layer: 4, and utilization 1
  EXPECT_EQ(cache->utilization(), 0.5);
  ASSERT_TRUE(write_number(*cache, id, 0, 0, 1));
  EXPECT_EQ(cache->token_capacity(id), 8);
  EXPECT_EQ(cache->sequence_length(id), 0);  // layer 1 lacks it
}

TEST(PagedKvCache, T13_utilization_goes_from_zero_to_one_and_back) {
  const auto cache = make_cache(origin(4));
  const SequenceId id = cache->create_sequence();
  for (int blocks = 0; blocks <= 4; ++blocks) {
    ASSERT_TRUE(cache->ensure_capacity(id, blocks * 4));
    EXPECT_EQ(cache->utilization(), blocks / 4.0);
  }
  ASSERT_TRUE(cache->drop_sequence(id));
  EXPECT_EQ(cache->utilization(), 0);
  EXPECT_EQ(BlockPool(0).utilization(), 0);
}

TEST(PagedKvCache, T13_sequences_and_layers_are_isolated) {
  const auto cache = make_cache(origin(4, 2));
  const SequenceId a = cache->create_sequence(), b = cache->create_sequence();
  for (const SequenceId id : {a, b})
    for (const int layer : {0, 1})
      ASSERT_TRUE(write_number(*cache, id, layer, 0, static_cast<float>(10 * id) + static_cast<float>(layer)));
  for (const SequenceId id : {a, b})
    for (const int layer : {0, 1})
      EXPECT_EQ(read_number(*cache, id, layer, 0), static_cast<float>(10 * id) + static_cast<float>(layer));
}

TEST(PagedKvCache, T13_out_of_memory_on_crossing_a_block) {
  const auto cache = make_cache(origin(1));
  const SequenceId id = cache->create_sequence();
  for (int i = 0; i < 4; ++i) ASSERT_TRUE(write_number(*cache, id, 0, i, 1));
  EXPECT_TRUE(is_out_of_blocks(write_number(*cache, id, 0, 4, 1)));
  EXPECT_EQ(cache->sequence_length(id), 4);
  EXPECT_EQ(error_of(cache->ensure_capacity(99, 1)), "sequence 99 not found");
}

}  // namespace
}  // namespace octavo
