// Batched attention as a transformer calls it: layer by layer, while later layers of the same positions are not
// written, and over windows that give blocks back.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kv_library/attention_cases.h"

namespace octavo {
namespace {

using ::testing::HasSubstr;

/// The row of the first `length` positions of a slot, from the caller's own arrays.
std::vector<float> row_alone(BatchedAttention& attention, const AttentionShape& shape, const SlotData& slot, int length,
                             std::span<const float> query, int window) {
  BatchedKvView view(shape.num_kv_heads, shape.head_dim);
  view.add_borrowed({.keys = slot.keys, .values = slot.values, .position = length});
  return decode(attention, view, {query.begin(), query.end()}, shape.options(window));
}

TEST(BatchedAttention, A1_a_layer_sees_the_position_that_later_layers_do_not_have_yet) {
  const AttentionShape shape{.num_kv_heads = 1, .group = 2, .head_dim = 8};
  const std::vector<int> windows = {0, 3, 0, 3};
  std::mt19937 random(7);
  std::vector<SlotData> layers;  // of one sequence
  for (std::size_t i = 0; i < windows.size(); ++i) layers.push_back(make_slot(shape, 40, random, 40));
  BatchedAttention attention = make_attention();
  for (const int block_size : {1, 4, 16}) {
    const auto cache = make_cache({.type = KvType::kF32,
                                   .block_size = block_size,
                                   .num_kv_heads = shape.num_kv_heads,
                                   .head_dim = shape.head_dim,
                                   .layer_windows = windows,
                                   .num_blocks = 48});
    const SequenceId id = cache->create_sequence();
    for (int position = 0; position < 40; ++position) {
      for (int layer = 0; layer < cache->num_layers(); ++layer) {
        const SlotData& data = layers[static_cast<std::size_t>(layer)];
        ASSERT_TRUE(cache->write_kv(id, layer, position, tokens_of(shape, data.keys, position, position + 1),
                                    tokens_of(shape, data.values, position, position + 1)));
        const auto query = std::span(data.queries)
                               .subspan(static_cast<std::size_t>(position) * shape.row_floats(), shape.row_floats());
        const std::vector<float> got = output_of(query.size(), [&](std::span<float> out) {
          return attention.decode(*cache, layer, {&id, 1}, query, shape.options(), out);
        });
        EXPECT_TRUE(same_bits(
            got, row_alone(attention, shape, data, position + 1, query, windows[static_cast<std::size_t>(layer)])))
            << "block size " << block_size << ", position " << position << ", layer " << layer;
      }
      cache->commit(id, position + 1);
    }
    EXPECT_GT(cache->table(id, 1).first_held(), 0);  // the window has given blocks back meanwhile
  }
}

TEST(BatchedAttention, A8_layers_differ_in_heads_and_read_the_keys_and_values_of_others) {
  const AttentionShape wide{.num_kv_heads = 1, .group = 4, .head_dim = 64}, narrow{.num_kv_heads = 2, .head_dim = 24};
  const AttentionShape shapes[] = {wide, narrow, narrow, wide};
  const int windows[] = {0, 20, 7, 0}, lenders[] = {0, 1, 1, 0};
  std::mt19937 random(9);
  const std::vector<SlotData> data = {make_slot(wide, 70, random, 70), make_slot(narrow, 70, random, 70)};
  for (const KvType type : kAllKvTypes) {
    const auto cache = make_cache({.type = type,
                                   .block_size = 4,
                                   .layers = {{1, 64, 64}, {2, 24, 24, 20}, {2, 24, 24, 7, 1}, {1, 64, 64, 0, 0}},
                                   .num_blocks = 40});
    const SequenceId id = cache->create_sequence();
    BatchedAttention attention = make_attention(2);
    for (const auto& [first, end] : {std::pair{0, 33}, std::pair{33, 34}, std::pair{34, 70}}) {
      for (const int layer : {0, 1}) {
        const SlotData& slot = data[static_cast<std::size_t>(layer)];
        ASSERT_TRUE(cache->write_kv(id, layer, first, tokens_of(shapes[layer], slot.keys, first, end),
                                    tokens_of(shapes[layer], slot.values, first, end), end - first));
      }
      for (int layer = 0; layer < 4; ++layer) {
        const AttentionShape& shape = shapes[layer];
        const auto lender = static_cast<std::size_t>(lenders[layer]);
        SlotData slot = data[lender];
        slot.length = end;
        slot.num_rows = end - first;
        const std::size_t row = shape.row_floats();
        slot.queries.assign(
            data[lender].queries.begin() + static_cast<std::ptrdiff_t>(static_cast<std::size_t>(first) * row),
            data[lender].queries.begin() + static_cast<std::ptrdiff_t>(static_cast<std::size_t>(end) * row));
        const ChunkRows rows{id, end - first};
        const std::vector<float> got = output_of(slot.queries.size(), [&](std::span<float> out) {
          return attention.chunk(*cache, layer, {&rows, 1}, slot.queries, shape.options(), out);
        });
        const std::vector<SlotData> slots = {slot};
        EXPECT_LT(largest_error(got, reference(shape, slots, shape.options(windows[layer]))),
                  type == KvType::kQ8_0   ? 0.1
                  : type == KvType::kBF16 ? 0.02
                                          : 2e-3)
            << kv_type_name(type) << ", layer " << layer;
      }
      cache->commit(id, end);
    }
  }
}

TEST(BatchedAttention, A5_positions_that_a_window_has_given_back_are_an_error) {
  const AttentionShape shape{.num_kv_heads = 1, .group = 1, .head_dim = 8};
  std::mt19937 random(8);
  const SlotData slot = make_slot(shape, 64, random);
  const auto cache = make_paged(shape, KvType::kF32, 4, 64, 6);
  const SequenceId id = cache->create_sequence();
  write_tokens(*cache, id, shape, slot, 0, 64);
  BatchedAttention attention = make_attention();
  const auto rows = [&](int num_rows, int window) {
    const std::vector<float> queries(static_cast<std::size_t>(num_rows) * shape.row_floats());
    std::vector<float> out(queries.size());
    const ChunkRows last{id, num_rows};
    const Result<void> done = attention.chunk(*cache, 0, {&last, 1}, queries, shape.options(window), out);
    return done ? "" : done.error().message;
  };
  EXPECT_EQ(rows(64, 0), "");  // nothing is given back before the commit
  cache->commit(id, 61);       // position 61 sees 56 and later
  EXPECT_EQ(rows(3, 0), "");
  EXPECT_EQ(rows(1, 0), "");
  EXPECT_EQ(rows(4, 6),
            "slot 0: found keys and values from position 56 on, expected from 55: commit() comes after "
            "attention");
  EXPECT_THAT(rows(64, 0), HasSubstr("from position 56 on, expected from 0"));
  EXPECT_EQ(rows(8, 1), "");  // a narrower window needs less
  EXPECT_THAT(rows(8, 2), HasSubstr("from position 56 on, expected from 55"));
}

TEST(BatchedAttention, A3_no_slots_need_no_memory_whatever_the_heads_are) {
  const AttentionShape shape{.num_kv_heads = 1, .group = 1, .head_dim = 512};
  const auto cache = make_paged(shape, KvType::kF32, 16, 16);
  BatchedAttention attention = make_attention();
  const AttentionOptions options{.num_heads = 1 << 30, .scale = 1};
  EXPECT_TRUE(attention.decode(*cache, 0, {}, {}, options, {}));
  EXPECT_EQ(attention.scratch_bytes(), 0U);
  EXPECT_EQ(attention.kv_bytes_loaded(), 0U);
}

}  // namespace
}  // namespace octavo
