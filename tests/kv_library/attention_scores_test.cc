// Scores beyond what numbers hold: no mean of values is what a row gets then, and nothing of anybody else's.
#include <gtest/gtest.h>

#include <cmath>

#include "kv_library/attention_cases.h"

namespace octavo {
namespace {

constexpr AttentionShape kShape{.num_kv_heads = 2, .group = 2, .head_dim = 64};

/// Positions begin .. end - 1 have keys whose score with a query of -1e30 is -inf.
void blind(SlotData& slot, int begin, int end) {
  const auto first = slot.keys.begin() + static_cast<std::ptrdiff_t>(kShape.token_floats()) * begin;
  std::fill(first, first + static_cast<std::ptrdiff_t>(kShape.token_floats()) * (end - begin), 1e30F);
}

TEST(BatchedAttention, A1_scores_that_are_all_minus_infinity_give_nan_and_nothing_of_others) {
  for (const IsaLevel level : supported_isa_levels())
    for (const KvType type : {KvType::kF32, KvType::kBF16})
      for (const int threads : {1, 2})
        for (const int length : {40, 300, 900}) {
          std::vector<SlotData> slots = make_slots(kShape, std::vector{length, length});
          blind(slots[1], 0, length);
          std::ranges::fill(slots[1].queries, -1e30F);
          const PagedSlots paged(kShape, type, 16, slots);
          BatchedAttention attention = make_attention(threads, isa_name(level));
          const auto row = [&](std::size_t s) {
            return output_of(slots[s].queries.size(), [&](std::span<float> out) {
              return attention.decode(*paged.cache, 0, {&paged.ids[s], 1}, slots[s].queries, kShape.options(), out);
            });
          };
          const std::vector<float> before = row(0), got = row(1);
          EXPECT_TRUE(std::ranges::all_of(got, [](float x) { return std::isnan(x); }))
              << isa_name(level) << ' ' << kv_type_name(type) << ", " << threads << " threads, " << length;
          EXPECT_TRUE(same_bits(row(0), before));
          const std::vector<float> both = decode(attention, paged, queries_of(slots), kShape.options());
          EXPECT_TRUE(same_bits(std::span(both).first(before.size()), before));
          EXPECT_TRUE(same_bits(std::span(both).subspan(before.size()), got));
        }
}

TEST(BatchedAttention, A1_tiles_whose_scores_are_all_minus_infinity_count_for_nothing) {
  for (const auto& [begin, end] : {std::pair{0, 300}, {256, 512}, {500, 700}}) {
    std::mt19937 random(3);
    SlotData slot = make_slot(kShape, 700, random);
    for (float& x : slot.queries) x = -std::abs(x);
    SlotData seen = slot;  // without the positions that are not seen
    const auto width = static_cast<std::ptrdiff_t>(kShape.token_floats());
    for (std::vector<float>* data : {&seen.keys, &seen.values})
      data->erase(data->begin() + begin * width, data->begin() + end * width);
    seen.length -= end - begin;
    const auto first = slot.keys.begin() + begin * width;
    std::fill(first, first + (end - begin) * width, std::numeric_limits<float>::infinity());
    const std::vector<double> expected = reference(kShape, {&seen, 1}, kShape.options());
    for (const int threads : {1, 2}) {
      BatchedAttention attention = make_attention(threads);
      const PagedSlots paged(kShape, KvType::kF32, 16, {&slot, 1});
      EXPECT_LE(largest_error(decode(attention, paged, slot.queries, kShape.options()), expected), 1e-5) << begin;
    }
  }
}

// A window may go on for ever, positions may not: kernels count them in 32 bits.
TEST(BatchedAttention, A5_positions_near_two_to_the_31_are_attended_to_or_refused) {
  constexpr int kWindow = 300, kBlock = 256;
  constexpr std::int64_t kMost = std::numeric_limits<int>::max() - 511;
  const AttentionShape shape{.num_kv_heads = 1, .group = 2, .head_dim = 4};
  const auto cache = make_paged(shape, KvType::kF32, kBlock, 16 * kBlock, kWindow);
  const SequenceId id = cache->create_sequence();
  const std::int64_t near = (kMost - 1000) / kBlock * kBlock;
  for (std::int64_t at = 0; at < near; at += 4 * kBlock) {
    ASSERT_TRUE(cache->reserve(id, at, std::min(near, at + 4 * kBlock)));
    cache->commit(id, std::min(near, at + 4 * kBlock));
  }
  BatchedAttention attention = make_attention();
  const std::vector<float> query(shape.row_floats(), 0.5F), token(shape.token_floats(), 2.0F);
  std::vector<float> out(query.size());
  for (std::int64_t at = near; at < kMost; ++at) {
    ASSERT_TRUE(cache->write_kv(id, 0, at, token, token));
    cache->commit(id, at + 1);
  }
  ASSERT_TRUE(attention.decode(*cache, 0, {&id, 1}, query, shape.options(), out));
  EXPECT_TRUE(std::ranges::all_of(out, [](float x) { return std::abs(x - 2) < 1e-6; }));
  ASSERT_TRUE(cache->write_kv(id, 0, kMost, token, token));
  const Result<void> refused = attention.decode(*cache, 0, {&id, 1}, query, shape.options(), out);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().message, "slot 0: found 2147483137 positions, expected at most 2147483136");
}

}  // namespace
}  // namespace octavo
