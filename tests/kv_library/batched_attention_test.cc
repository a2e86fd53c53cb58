// Batched attention over each kind of memory: shapes, element types, layouts, threads.
#include <gtest/gtest.h>

#include "kv_library/attention_cases.h"

namespace octavo {
namespace {

/// Largest errors for keys, values and queries of unit variance, by element type: against the written values, and
/// against those in the cache. f16 and bf16 are decoded exactly; with q8_0 and i16, queries and weights are integers.
double bound_of_type(KvType type) {
  switch (type) {
    case KvType::kF32: return 1e-5;
    case KvType::kF16: return 2e-3;
    case KvType::kBF16: return 1.5e-2;
    case KvType::kQ8_0: return 3e-2;
    case KvType::kI16: return 1e-3;
  }
  return 0;
}
double bound_of_kernel(KvType type) { return type == KvType::kQ8_0 || type == KvType::kI16 ? 2e-4 : 1e-5; }

TEST(BatchedAttention, A1_each_slot_attends_to_its_own_keys_and_values) {
  const AttentionShape shape{.num_kv_heads = 2, .group = 3, .head_dim = 64};
  const int lengths[] = {1, 2000, 7, 255, 256, 257, 1025, 16, 512};
  const std::vector<SlotData> slots = make_slots(shape, lengths);
  const PagedSlots paged(shape, KvType::kF32, 16, slots);
  const std::vector<float> queries = queries_of(slots);
  BatchedAttention attention = make_attention(2);
  // The scale is taken as given: none, the usual one, a sharp one, and one that turns the order of scores round.
  for (const float scale : {0.0F, 0.125F, 0.5F, -0.125F}) {
    AttentionOptions options = shape.options();
    options.scale = scale;
    EXPECT_LE(largest_error(decode(attention, paged, queries, options), reference(shape, slots, options)), 1e-5)
        << scale;
  }
}

// Every product of a score, and then of an output, has the largest magnitude that there is: integer sums come as near
// to 2^31 as they can.
TEST(BatchedAttention, A1_sums_of_the_largest_products_do_not_overflow) {
  for (const int head_dim : {64, 96, 128}) {
    const AttentionShape shape{.num_kv_heads = 1, .group = 3, .head_dim = head_dim};
    std::vector<SlotData> slots = make_slots(shape, std::vector{512, 700});
    for (SlotData& slot : slots) {
      std::ranges::fill(slot.queries, 0.5F);
      for (std::size_t i = 0; i < slot.keys.size(); ++i) {
        const bool is_near = i / static_cast<std::size_t>(head_dim) % 5 != 2;
        slot.keys[i] = is_near ? 3.0F : -3.0F;
        slot.values[i] = is_near ? -2.0F : 2.0F;
      }
    }
    for (const KvType type : kAllKvTypes)
      for (const IsaLevel level : supported_isa_levels()) {
        SCOPED_TRACE(::testing::Message() << kv_type_name(type) << ' ' << isa_name(level) << ' ' << head_dim);
        const PagedSlots paged(shape, type, 16, slots);
        BatchedAttention attention = make_attention(2, isa_name(level));
        for (const float out : decode(attention, paged, queries_of(slots), shape.options())) EXPECT_NEAR(out, -2, 2e-3);
      }
  }
}

TEST(BatchedAttention, A1_reads_the_layer_it_is_asked_for) {
  const AttentionShape shape{.num_kv_heads = 1, .group = 2, .head_dim = 8};
  // Layers of two groups, so that the layers of a group are not numbered one after the other.
  const auto cache = make_cache(
      {.type = KvType::kF32, .num_kv_heads = 1, .head_dim = 8, .layer_windows = {0, 32, 0, 32}, .num_blocks = 8});
  const SequenceId id = cache->create_sequence();
  const std::vector<SlotData> layers = make_slots(shape, std::vector{40, 40, 40, 40});
  for (int layer = 0; layer < 4; ++layer) {
    const SlotData& data = layers[static_cast<std::size_t>(layer)];
    ASSERT_TRUE(cache->write_kv(id, layer, 0, data.keys, data.values, data.length));
  }
  BatchedAttention attention = make_attention();
  for (int layer = 0; layer < 4; ++layer) {
    const std::span<const SlotData> data = std::span(layers).subspan(static_cast<std::size_t>(layer), 1);
    const std::vector<float> got = output_of(shape.row_floats(), [&](std::span<float> out) {
      return attention.decode(*cache, layer, {&id, 1}, data[0].queries, shape.options(), out);
    });
    EXPECT_LE(largest_error(got, reference(shape, data, shape.options(layer % 2 == 0 ? 0 : 32))), 1e-5) << layer;
  }
}

class EveryShape : public ::testing::TestWithParam<int> {};  // head_dim
INSTANTIATE_TEST_SUITE_P(BatchedAttention, EveryShape, ::testing::Values(1, 6, 33, 64, 80, 96, 128, 256, 512));

// Every element type, block size and level: within the bounds, and the same bits for every block size.
TEST_P(EveryShape, A2_A7_groups_of_1_to_16_are_within_the_bounds_of_every_element_type) {
  const int lengths[] = {1, 19, 300};
  for (const int group : {1, 2, 3, 4, 7, 8, 16}) {
    const AttentionShape shape{.num_kv_heads = 2, .group = group, .head_dim = GetParam()};
    const std::vector<SlotData> slots = make_slots(shape, lengths);
    const std::vector<float> queries = queries_of(slots);
    const std::vector<double> expected = reference(shape, slots, shape.options());
    for (const KvType type : kAllKvTypes) {
      std::vector<PagedSlots> caches;
      for (const int block_size : {16, 1, 4, 32, 256}) caches.emplace_back(shape, type, block_size, slots);
      const std::vector<double> of_stored = reference(shape, as_stored(shape, caches.front(), slots), shape.options());
      for (const IsaLevel level : supported_isa_levels()) {
        SCOPED_TRACE(::testing::Message() << group << ":1 " << kv_type_name(type) << ' ' << isa_name(level));
        BatchedAttention attention = make_attention(1, isa_name(level));
        const std::vector<float> got = decode(attention, caches.front(), queries, shape.options());
        EXPECT_LE(largest_error(got, expected), bound_of_type(type));
        EXPECT_LE(largest_error(got, of_stored), bound_of_kernel(type));
        for (const PagedSlots& cache : caches)
          EXPECT_TRUE(same_bits(decode(attention, cache, queries, shape.options()), got)) << cache.cache->block_size();
      }
    }
  }
}

// Decoding over all memories that can hold the slots: the same bits.
TEST_P(EveryShape, A3_pages_views_and_contiguous_caches_give_the_same_bits) {
  const AttentionShape shape{.num_kv_heads = 2, .group = 3, .head_dim = GetParam()};
  const int lengths[] = {3, 700, 1, 256, 41};
  const std::vector<SlotData> slots = make_slots(shape, lengths);
  const std::vector<float> queries = queries_of(slots);
  BatchedKvView owning(shape.num_kv_heads, shape.head_dim);
  for (const SlotData& slot : slots) owning.add_owned(slot.keys, slot.values, slot.length);
  for (const IsaLevel level : supported_isa_levels()) {
    SCOPED_TRACE(isa_name(level));
    BatchedAttention attention = make_attention(2, isa_name(level));
    EXPECT_EQ(attention.isa(), isa_name(level));
    for (const KvType type : {KvType::kF32, KvType::kF16, KvType::kBF16, KvType::kI16}) {
      const std::vector<float> paged = decode(attention, PagedSlots(shape, type, 16, slots), queries, shape.options());
      EXPECT_TRUE(same_bits(decode(attention, make_contiguous(shape, type, slots), queries, shape.options()), paged))
          << kv_type_name(type);
      if (type != KvType::kF32) continue;
      EXPECT_TRUE(same_bits(decode(attention, make_view(shape, slots), queries, shape.options()), paged));
      EXPECT_TRUE(same_bits(decode(attention, owning, queries, shape.options()), paged));
    }
  }
}

TEST(BatchedAttention, A3_the_contiguous_layout_of_the_paged_cache_has_the_same_bits) {
  const AttentionShape shape{.head_dim = 80};
  const std::vector<SlotData> slots = make_slots(shape, std::vector{333});
  BatchedAttention attention = make_attention();
  for (const KvType type : {KvType::kF32, KvType::kF16, KvType::kBF16, KvType::kI16}) {
    const auto cache = make_cache({.type = type,
                                   .layout = KvLayout::kContiguous,
                                   .num_kv_heads = shape.num_kv_heads,
                                   .head_dim = shape.head_dim,
                                   .layer_windows = {0},
                                   .memory_bytes = std::uint64_t{1} << 24,
                                   .max_tokens = 400});
    const SequenceId id = cache->create_sequence();
    write_tokens(*cache, id, shape, slots[0], 0, 333);
    const std::vector<float> got = output_of(shape.row_floats(), [&](std::span<float> out) {
      return attention.decode(*cache, 0, {&id, 1}, slots[0].queries, shape.options(), out);
    });
    EXPECT_TRUE(
        same_bits(got, decode(attention, PagedSlots(shape, type, 16, slots), slots[0].queries, shape.options())));
  }
}

TEST(BatchedAttention, A3_borrowed_memory_is_read_in_place_at_each_call) {
  const AttentionShape shape;
  std::vector<SlotData> slots = make_slots(shape, std::vector{50, 60});
  const std::vector<float> queries = queries_of(slots);
  const BatchedKvView view = make_view(shape, slots);
  BatchedAttention attention = make_attention();
  const std::vector<float> before = decode(attention, view, queries, shape.options());
  for (float& x : slots[1].keys) x = -x;
  for (float& x : slots[1].values) x += 1;
  const std::vector<float> after = decode(attention, view, queries, shape.options());
  const std::size_t row = shape.row_floats();
  EXPECT_TRUE(same_bits(std::span(after).first(row), std::span(before).first(row)));
  EXPECT_LE(largest_error(after, reference(shape, slots, shape.options())), 1e-5);
}

TEST(BatchedAttention, A3_keys_and_values_longer_than_needed_are_accepted_and_not_read) {
  const AttentionShape shape{.head_dim = 33};
  const std::vector<SlotData> slots = make_slots(shape, std::vector{21, 300});
  const std::vector<float> queries = queries_of(slots);
  std::vector<SlotData> longer = slots;
  for (SlotData& slot : longer) {
    slot.keys.resize(slot.keys.size() + 7, std::numeric_limits<float>::quiet_NaN());
    slot.values.resize(slot.values.size() + 500, std::numeric_limits<float>::quiet_NaN());
  }
  BatchedAttention attention = make_attention();
  EXPECT_TRUE(same_bits(decode(attention, make_view(shape, longer), queries, shape.options()),
                        decode(attention, make_view(shape, slots), queries, shape.options())));
}

TEST(BatchedAttention, A3_an_empty_batch_gives_an_empty_result) {
  const AttentionShape shape;
  const PagedSlots paged(shape, KvType::kF16, 16, make_slots(shape, std::vector{5}));
  BatchedAttention attention = make_attention(2);
  // Earlier loads are not counted again.
  decode(attention, paged, std::vector<float>(shape.row_floats()), shape.options());
  EXPECT_GT(attention.kv_bytes_loaded(), 0);
  EXPECT_TRUE(attention.decode(*paged.cache, 0, {}, {}, shape.options(), {}));
  EXPECT_EQ(attention.kv_bytes_loaded(), 0);
  EXPECT_TRUE(attention.chunk(*paged.cache, 0, {}, {}, shape.options(), {}));
  EXPECT_TRUE(attention.decode(make_view(shape, {}), {}, shape.options(), {}));
  EXPECT_EQ(attention.kv_bytes_loaded(), 0);
}

TEST(BatchedAttention, A3_scratch_does_not_grow_with_depth) {
  const AttentionShape shape{.num_kv_heads = 4, .group = 2, .head_dim = 32};
  const int depths[] = {1, 300, 5000, 40000};
  const std::vector<SlotData> slots = make_slots(shape, depths);
  const PagedSlots paged(shape, KvType::kF32, 16, slots);
  std::vector<std::uint64_t> scratch_paged, scratch_view;
  for (std::size_t s = 0; s < slots.size(); ++s) {
    BatchedAttention attention = make_attention(2);
    const std::vector<float> got = output_of(shape.row_floats(), [&](std::span<float> out) {
      return attention.decode(*paged.cache, 0, {&paged.ids[s], 1}, slots[s].queries, shape.options(), out);
    });
    scratch_paged.push_back(attention.scratch_bytes());
    const BatchedKvView view = make_view(shape, std::span(slots).subspan(s, 1));
    EXPECT_TRUE(same_bits(decode(attention, view, slots[s].queries, shape.options()), got));
    scratch_view.push_back(attention.scratch_bytes());
  }
  EXPECT_EQ(scratch_paged, std::vector<std::uint64_t>(4, scratch_paged[0]));
  EXPECT_EQ(scratch_view, std::vector<std::uint64_t>(4, scratch_paged[0]));
  EXPECT_GT(scratch_paged[0], 0);
  // Far from a copy of what the deepest reads, let alone a transposed one.
  EXPECT_LT(scratch_paged[0], slots.back().keys.size() * sizeof(float) / 4);
}

TEST(BatchedAttention, A4_the_result_does_not_depend_on_the_number_of_threads) {
  const AttentionShape shape{.num_kv_heads = 3, .group = 4, .head_dim = 64};
  const int lengths[] = {1, 2000, 255, 600, 17};
  const std::vector<SlotData> slots = make_slots(shape, lengths);
  const std::vector<float> queries = queries_of(slots);
  EXPECT_EQ(make_attention(0).num_threads(), default_threads());
  for (const IsaLevel level : supported_isa_levels())
    for (const KvType type : kAllKvTypes) {
      SCOPED_TRACE(::testing::Message() << kv_type_name(type) << ' ' << isa_name(level));
      const PagedSlots paged(shape, type, 16, slots);
      BatchedAttention one = make_attention(1, isa_name(level));
      EXPECT_EQ(one.num_threads(), 1);
      const std::vector<float> expected = decode(one, paged, queries, shape.options());
      for (const int threads : {2, 5}) {
        BatchedAttention attention = make_attention(threads, isa_name(level));
        EXPECT_EQ(attention.num_threads(), threads);
        EXPECT_TRUE(same_bits(decode(attention, paged, queries, shape.options()), expected)) << threads;
        if (type == KvType::kQ8_0) continue;
        const ContiguousKvCache contiguous = make_contiguous(shape, type, slots);
        EXPECT_TRUE(same_bits(decode(attention, contiguous, queries, shape.options()), expected)) << threads;
        if (type != KvType::kF32) continue;
        EXPECT_TRUE(same_bits(decode(attention, make_view(shape, slots), queries, shape.options()), expected));
      }
    }
}

TEST(BatchedAttention, A7_one_slot_alone_has_the_bits_it_has_in_a_batch) {
  const AttentionShape shape{.num_kv_heads = 2, .group = 4, .head_dim = 96};
  const int lengths[] = {300, 1, 2000, 64, 513, 256};
  const std::vector<SlotData> slots = make_slots(shape, lengths);
  for (const IsaLevel level : supported_isa_levels())
    for (const KvType type : kAllKvTypes) {
      SCOPED_TRACE(::testing::Message() << kv_type_name(type) << ' ' << isa_name(level));
      const PagedSlots paged(shape, type, 16, slots);
      BatchedAttention batched = make_attention(2, isa_name(level)), serial = make_attention(1, isa_name(level));
      const std::vector<float> together = decode(batched, paged, queries_of(slots), shape.options());
      for (std::size_t s = 0; s < slots.size(); ++s) {
        const std::vector<float> alone = output_of(shape.row_floats(), [&](std::span<float> out) {
          return serial.decode(*paged.cache, 0, {&paged.ids[s], 1}, slots[s].queries, shape.options(), out);
        });
        const std::size_t row = shape.row_floats();
        EXPECT_TRUE(same_bits(std::span(together).subspan(s * row, row), alone)) << slots[s].length;
      }
    }
}

TEST(BatchedAttention, T1_a_view_of_three_slots_tells_counts_positions_and_slices) {
  BatchedKvView view(2, 4);
  const int positions[] = {3, 7, 1};
  std::vector<std::vector<float>> keys, values;
  for (const int position : positions) {
    const auto count = static_cast<std::size_t>(position) * 8;
    const auto slot = static_cast<float>(keys.size());
    keys.emplace_back(count, 1 + slot);
    values.emplace_back(count, -1 - slot);
    std::iota(keys.back().begin(), keys.back().end(), 100 * slot);
  }
  view.add_owned(keys[0], values[0], 3);
  view.add_borrowed({.keys = keys[1], .values = values[1], .position = 7});
  view.add_owned(keys[2], values[2], 1);
  EXPECT_EQ(view.slot_count(), 3);
  EXPECT_EQ(view.num_kv_heads(), 2);
  EXPECT_EQ(view.head_dim(), 4);
  for (int s = 0; s < 3; ++s) {
    const auto at = static_cast<std::size_t>(s);
    const KvSlot slot = view.kv_for_slot(s);
    EXPECT_EQ(view.position(s), positions[s]);
    EXPECT_EQ(slot.position, positions[s]);
    EXPECT_EQ(slot.keys.size(), static_cast<std::size_t>(positions[s]) * 2 * 4);
    EXPECT_TRUE(std::ranges::equal(slot.keys, keys[at]));
    EXPECT_TRUE(std::ranges::equal(slot.values, values[at]));
  }
  EXPECT_EQ(view.kv_for_slot(1).keys.data(), keys[1].data());  // borrowed: not copied
  EXPECT_NE(view.kv_for_slot(0).keys.data(), keys[0].data());
  // Longer than its position: cut, but given() is as it came.
  view.add_borrowed({.keys = keys[1], .values = values[1], .position = 2});
  EXPECT_EQ(view.kv_for_slot(3).keys.size(), 16);
  EXPECT_EQ(view.given(3).keys.size(), 56);
}

TEST(BatchedAttention, T2_two_slots_of_16_and_24_tokens_equal_the_serial_call) {
  const AttentionShape shape{.num_kv_heads = 2, .group = 1, .head_dim = 8};
  const std::vector<SlotData> slots = make_slots(shape, std::vector{16, 24});
  BatchedAttention batched = make_attention(2), serial = make_attention(1);
  const std::vector<float> together = decode(batched, make_view(shape, slots), queries_of(slots), shape.options());
  EXPECT_LE(largest_error(together, reference(shape, slots, shape.options())), 1e-5);
  for (std::size_t s = 0; s < 2; ++s) {
    const BatchedKvView alone = make_view(shape, std::span(slots).subspan(s, 1));
    EXPECT_TRUE(
        same_bits(std::span(together).subspan(s * 16, 16), decode(serial, alone, slots[s].queries, shape.options())));
  }
}

}  // namespace
}  // namespace octavo
