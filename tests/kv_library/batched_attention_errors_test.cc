// Errors of batched attention and their words; and slots without keys and values.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kv_library/attention_cases.h"

namespace octavo {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

/// The message of a call that fails and leaves its output alone.
template <class F>
std::string failure_of(std::size_t num_floats, const F& attend) {
  std::vector<float> out(num_floats, 7.0F);
  const Result<void> done = attend(std::span<float>(out));
  EXPECT_FALSE(done);
  EXPECT_EQ(out, std::vector<float>(num_floats, 7.0F));
  return done ? "" : done.error().message;
}

TEST(BatchedAttention, A5_shapes_that_make_no_sense_are_refused) {
  const AttentionShape shape{.num_kv_heads = 2, .group = 2, .head_dim = 8};
  const std::vector<SlotData> slots = make_slots(shape, std::vector{5, 6, 7});
  const BatchedKvView view = make_view(shape, slots);
  const PagedSlots paged(shape, KvType::kF16, 16, slots);
  const ContiguousKvCache contiguous = make_contiguous(shape, KvType::kF32, slots);
  BatchedAttention attention = make_attention();
  // The same on every kind of memory.
  const auto failures = [&](std::size_t queries, std::size_t outputs, const AttentionOptions& options) {
    const std::vector<float> q(queries);
    const std::string of_view =
        failure_of(outputs, [&](std::span<float> out) { return attention.decode(view, q, options, out); });
    EXPECT_EQ(of_view, failure_of(outputs, [&](std::span<float> out) {
                return attention.decode(*paged.cache, 0, paged.ids, q, options, out);
              }));
    EXPECT_EQ(of_view,
              failure_of(outputs, [&](std::span<float> out) { return attention.decode(contiguous, q, options, out); }));
    return of_view;
  };
  const AttentionOptions options = shape.options();
  const std::size_t row = shape.row_floats();
  AttentionOptions wrong = options;
  for (const int num_heads : {0, -2, 3}) {
    wrong.num_heads = num_heads;
    EXPECT_THAT(failures(3 * row, 3 * row, wrong),
                AllOf(HasSubstr("num_heads: found " + std::to_string(num_heads)), HasSubstr("2 KV heads")));
  }
  wrong = options;
  wrong.window = -1;
  EXPECT_THAT(failures(3 * row, 3 * row, wrong), HasSubstr("window: found -1"));
  EXPECT_THAT(failures(3 * row - 1, 3 * row - 1, options),
              AllOf(HasSubstr("queries: found 95 floats"), HasSubstr("4 heads x 8 dimensions")));
  EXPECT_THAT(failures(2 * row, 2 * row, options), AllOf(HasSubstr("found 2 rows"), HasSubstr("expected 3")));
  EXPECT_THAT(failures(4 * row, 4 * row, options), AllOf(HasSubstr("found 4 rows"), HasSubstr("expected 3")));
  EXPECT_THAT(failures(3 * row, 3 * row + 1, options), AllOf(HasSubstr("out: found 97"), HasSubstr("expected 96")));
  const auto of_empty_view = [&](int num_kv_heads, int head_dim) {
    return failure_of(0, [&](std::span<float> out) {
      return attention.decode(BatchedKvView(num_kv_heads, head_dim), {}, options, out);
    });
  };
  EXPECT_THAT(of_empty_view(0, 8), HasSubstr("num_kv_heads: found 0"));
  EXPECT_THAT(of_empty_view(2, 0), HasSubstr("head_dim: found 0, expected 1 to 576"));
  EXPECT_THAT(of_empty_view(2, 577), HasSubstr("head_dim: found 577, expected 1 to 576"));
}

TEST(BatchedAttention, A5_errors_of_a_slot_name_it_and_both_lengths) {
  const AttentionShape shape{.num_kv_heads = 1, .group = 2, .head_dim = 8};
  const std::vector<SlotData> slots = make_slots(shape, std::vector{3, 5, 2});
  const std::vector<float> queries = queries_of(slots);
  BatchedAttention attention = make_attention();
  const auto of_view = [&](std::size_t num_keys, std::size_t num_values, int position) {
    BatchedKvView view(1, 8);
    view.add_borrowed({.keys = slots[0].keys, .values = slots[0].values, .position = 3});
    view.add_borrowed({.keys = std::span(slots[1].keys).first(num_keys),
                       .values = std::span(slots[1].values).first(num_values),
                       .position = position});
    view.add_borrowed({.keys = slots[2].keys, .values = slots[2].values, .position = 2});
    return failure_of(queries.size(),
                      [&](std::span<float> out) { return attention.decode(view, queries, shape.options(), out); });
  };
  EXPECT_EQ(of_view(39, 40, 5), "slot 1: found 39 floats of keys, expected 40");
  EXPECT_EQ(of_view(40, 39, 5), "slot 1: found 39 floats of values, expected 40");
  EXPECT_EQ(of_view(0, 0, 5), "slot 1: found 0 floats of keys, expected 40");
  EXPECT_THAT(of_view(40, 40, -1), HasSubstr("slot 1: found -1 positions"));

  const PagedSlots paged(shape, KvType::kF32, 4, slots);
  const auto of_chunk = [&](const ChunkRows& second, std::size_t num_rows, int layer) {
    const std::vector<float> q(num_rows * shape.row_floats());
    const ChunkRows rows[] = {{paged.ids[0], 1}, second, {paged.ids[2], 1}};
    return failure_of(q.size(), [&](std::span<float> out) {
      return attention.chunk(*paged.cache, layer, rows, q, shape.options(), out);
    });
  };
  EXPECT_THAT(of_chunk({paged.ids[1], 6}, 8, 0), AllOf(HasSubstr("slot 1: found 6 query rows"), HasSubstr("1 to 5")));
  EXPECT_THAT(of_chunk({paged.ids[1], 0}, 2, 0), HasSubstr("slot 1: found 0 query rows"));
  EXPECT_THAT(of_chunk({paged.ids[1], -1}, 2, 0), HasSubstr("slot 1: found -1 query rows"));
  EXPECT_EQ(of_chunk({99, 1}, 3, 0), "slot 1: sequence 99 not found");
  EXPECT_EQ(of_chunk({paged.ids[1], 1}, 3, 1), "layer 1 out of range, the cache has 1");
  EXPECT_EQ(of_chunk({paged.ids[1], 1}, 3, -1), "layer -1 out of range, the cache has 1");
}

TEST(BatchedAttention, A5_an_unknown_isa_and_a_negative_number_of_threads_are_refused) {
  EXPECT_THAT(BatchedAttention::create(1, "mmx").error().message, HasSubstr("mmx"));
  EXPECT_THAT(BatchedAttention::create(-1).error().message, HasSubstr("num_threads: found -1"));
  EXPECT_THAT(BatchedAttention::create(1025).error().message, HasSubstr("found 1025, expected 0 to 1024"));
}

TEST(BatchedAttention, A6_a_slot_without_keys_and_values_is_an_error_unless_zeros_are_wanted) {
  const AttentionShape shape{.num_kv_heads = 2, .group = 2, .head_dim = 16};
  const std::vector<SlotData> slots = make_slots(shape, std::vector{5, 0, 300});
  const std::vector<float> queries = queries_of(slots);
  const PagedSlots paged(shape, KvType::kF32, 16, slots);
  const BatchedKvView view = make_view(shape, slots);
  const ContiguousKvCache contiguous = make_contiguous(shape, KvType::kF32, slots);
  BatchedAttention attention = make_attention();
  AttentionOptions options = shape.options();
  const auto of_pages = [&](std::span<float> out) {
    return attention.decode(*paged.cache, 0, paged.ids, queries, options, out);
  };
  const auto of_view = [&](std::span<float> out) { return attention.decode(view, queries, options, out); };
  const auto of_contiguous = [&](std::span<float> out) { return attention.decode(contiguous, queries, options, out); };
  EXPECT_THAT(failure_of(queries.size(), of_pages), AllOf(HasSubstr("slot 1"), HasSubstr("no keys and values")));
  EXPECT_THAT(failure_of(queries.size(), of_view), AllOf(HasSubstr("slot 1"), HasSubstr("no keys and values")));
  EXPECT_THAT(failure_of(queries.size(), of_contiguous), AllOf(HasSubstr("slot 1"), HasSubstr("no keys and values")));

  options.zeros_for_empty = true;
  const std::size_t row = shape.row_floats();
  std::vector<float> expected(queries.size());
  for (const std::size_t s : {0, 2}) {
    const std::vector<float> alone =
        decode(attention, make_view(shape, std::span(slots).subspan(s, 1)), slots[s].queries, shape.options());
    std::ranges::copy(alone, expected.begin() + static_cast<std::ptrdiff_t>(s * row));
  }
  EXPECT_TRUE(same_bits(output_of(queries.size(), of_pages), expected));
  EXPECT_TRUE(same_bits(output_of(queries.size(), of_view), expected));
  EXPECT_TRUE(same_bits(output_of(queries.size(), of_contiguous), expected));
}

TEST(BatchedAttention, A6_zeros_for_every_row_of_an_empty_slot_but_never_for_too_many_rows) {
  const AttentionShape shape{.num_kv_heads = 1, .group = 1, .head_dim = 4};
  const PagedSlots paged(shape, KvType::kF32, 16, make_slots(shape, std::vector{0, 2}));
  BatchedAttention attention = make_attention();
  AttentionOptions options = shape.options();
  options.zeros_for_empty = true;
  const std::vector<float> queries(12, 1.0F);
  const ChunkRows empty_first[] = {{paged.ids[0], 2}, {paged.ids[1], 1}};
  const std::vector<float> got = chunk(attention, *paged.cache, empty_first, queries, options);
  EXPECT_TRUE(same_bits(std::span(got).first(8), std::vector<float>(8, 0.0F)));
  const ChunkRows only_last[] = {{paged.ids[1], 1}};
  EXPECT_TRUE(same_bits(std::span(got).last(4),
                        chunk(attention, *paged.cache, only_last, std::span(queries).last(4), options)));
  // A slot of fewer than no rows would move the rows of those behind it.
  const ChunkRows negative[] = {{paged.ids[0], -1}, {paged.ids[1], 1}};
  EXPECT_THAT(failure_of(4,
                         [&](std::span<float> out) {
                           return attention.chunk(*paged.cache, 0, negative, std::span(queries).first(4), options, out);
                         }),
              HasSubstr("slot 0: found -1 query rows"));
  const ChunkRows too_many[] = {{paged.ids[0], 1}, {paged.ids[1], 3}};
  EXPECT_THAT(failure_of(16,
                         [&](std::span<float> out) {
                           return attention.chunk(*paged.cache, 0, too_many, std::vector<float>(16), options, out);
                         }),
              HasSubstr("slot 1: found 3 query rows"));
}

}  // namespace
}  // namespace octavo
