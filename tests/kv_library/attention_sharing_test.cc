// Chunks, sliding windows and shared blocks: the bits of one row alone, and what is loaded.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "kv_library/attention_cases.h"

namespace octavo {
namespace {

/// Each row of a slot by itself: decoded over blocks of its own that end there, on one thread.
std::vector<float> row_by_row(BatchedAttention& serial, const AttentionShape& shape, KvType type, const SlotData& slot,
                              const AttentionOptions& options) {
  const PagedSlots alone(shape, type, 16, {&slot, 1});
  std::vector<float> out(slot.queries.size());
  for (int row = slot.num_rows; row-- > 0;) {
    EXPECT_TRUE(alone.cache->truncate(alone.ids[0], slot.length - slot.num_rows + row + 1));
    const std::size_t first = static_cast<std::size_t>(row) * shape.row_floats();
    const Result<void> done =
        serial.decode(*alone.cache, 0, alone.ids, std::span(slot.queries).subspan(first, shape.row_floats()), options,
                      std::span(out).subspan(first, shape.row_floats()));
    EXPECT_TRUE(done) << (done ? "" : done.error().message);
  }
  return out;
}

std::vector<float> row_by_row(BatchedAttention& serial, const AttentionShape& shape, KvType type,
                              std::span<const SlotData> slots, const AttentionOptions& options) {
  std::vector<float> out;
  for (const SlotData& slot : slots) {
    const std::vector<float> of_slot = row_by_row(serial, shape, type, slot, options);
    out.insert(out.end(), of_slot.begin(), of_slot.end());
  }
  return out;
}

/// Rows of a whole prompt, of a chunk behind a past, and a few as in a decode; across tiles and within one.
std::vector<SlotData> chunk_slots(const AttentionShape& shape) {
  std::mt19937 random(5);
  std::vector<SlotData> slots;
  for (const auto& [length, rows] : {std::pair{70, 70}, {600, 90}, {300, 1}, {520, 4}, {1, 1}, {256, 2}, {800, 33}})
    slots.push_back(make_slot(shape, length, random, rows));
  return slots;
}

TEST(BatchedAttention, A8_a_chunk_has_the_bits_of_its_rows_decoded_one_by_one) {
  const AttentionShape shape{.num_kv_heads = 2, .group = 3, .head_dim = 40};
  const std::vector<SlotData> slots = chunk_slots(shape);
  const std::vector<float> queries = queries_of(slots);
  for (const int window : {0, 100, 256}) {
    const AttentionOptions options = shape.options(window);
    const std::vector<double> expected = reference(shape, slots, options);
    for (const IsaLevel level : supported_isa_levels())
      for (const KvType type : kAllKvTypes) {
        SCOPED_TRACE(::testing::Message() << window << ' ' << kv_type_name(type) << ' ' << isa_name(level));
        const PagedSlots paged(shape, type, 16, slots);
        BatchedAttention attention = make_attention(2, isa_name(level)), serial = make_attention(1, isa_name(level));
        const std::vector<float> got = chunk(attention, *paged.cache, paged.rows, queries, options);
        EXPECT_TRUE(same_bits(got, row_by_row(serial, shape, type, slots, options)));
        if (type == KvType::kF32) {
          EXPECT_LE(largest_error(got, expected), 1e-5);
        }
      }
  }
}

TEST(BatchedAttention, A8_a_window_has_the_same_bits_over_every_memory) {
  const AttentionShape shape{.num_kv_heads = 1, .group = 4, .head_dim = 64};
  const int lengths[] = {1, 64, 65, 700, 2000};
  const std::vector<SlotData> slots = make_slots(shape, lengths);
  const std::vector<float> queries = queries_of(slots);
  const PagedSlots paged(shape, KvType::kF32, 16, slots);
  const BatchedKvView view = make_view(shape, slots);
  const ContiguousKvCache contiguous = make_contiguous(shape, KvType::kF32, slots);
  BatchedAttention attention = make_attention(2);
  for (const int window : {1, 64, 300, 1024, 5000}) {
    const AttentionOptions options = shape.options(window);
    const std::vector<float> got = decode(attention, paged, queries, options);
    EXPECT_LE(largest_error(got, reference(shape, slots, options)), 1e-5) << window;
    EXPECT_TRUE(same_bits(decode(attention, view, queries, options), got)) << window;
    EXPECT_TRUE(same_bits(decode(attention, contiguous, queries, options), got)) << window;
  }
  // A window that covers everything is none.
  EXPECT_TRUE(same_bits(decode(attention, paged, queries, shape.options(2000)),
                        decode(attention, paged, queries, shape.options())));
}

TEST(BatchedAttention, A8_blocks_that_left_a_groups_window_are_not_missed) {
  const AttentionShape shape{.num_kv_heads = 2, .group = 2, .head_dim = 16};
  constexpr int kWindow = 100, kLength = 900;
  const std::vector<SlotData> slots = make_slots(shape, std::vector{kLength});
  const PagedSlots whole(shape, KvType::kF32, 16, slots);
  const auto windowed = make_paged(shape, KvType::kF32, 16, kLength, kWindow);
  const SequenceId id = windowed->create_sequence();
  for (int begin = 0; begin < kLength; begin += 60) {
    ASSERT_TRUE(windowed->reserve(id, begin, begin + 60));
    write_tokens(*windowed, id, shape, slots[0], begin, begin + 60);
    windowed->commit(id, begin + 60);
  }
  ASSERT_EQ(windowed->table(id, 0).block_ids()[0], kNoBlock);
  // Two that gave the same blocks back share nothing there.
  const SequenceId other = *windowed->fork(id);
  const SequenceId both[] = {id, other};
  BatchedAttention attention = make_attention(2);
  std::vector<float> twice = slots[0].queries;
  twice.insert(twice.end(), slots[0].queries.begin(), slots[0].queries.end());
  // Positions that left the group's window are not there to be seen, whatever window is asked for.
  for (const auto& [asked, seen] : {std::pair{0, kWindow}, {kWindow, kWindow}, {5000, kWindow}, {30, 30}}) {
    const std::vector<float> got = output_of(twice.size(), [&](std::span<float> out) {
      return attention.decode(*windowed, 0, both, twice, shape.options(asked), out);
    });
    const std::vector<float> expected = decode(attention, whole, slots[0].queries, shape.options(seen));
    EXPECT_TRUE(same_bits(std::span(got).first(expected.size()), expected)) << asked;
    EXPECT_TRUE(same_bits(std::span(got).last(expected.size()), expected)) << asked;
  }
}

/// Slots that share their first `shared` tokens; each goes on by itself.
std::vector<SlotData> slots_with_prefix(const AttentionShape& shape, int shared, std::span<const int> tails) {
  std::mt19937 random(9);
  const SlotData prefix = make_slot(shape, shared, random);
  std::vector<SlotData> slots;
  for (const int tail : tails) {
    SlotData slot = make_slot(shape, shared + tail, random);
    std::ranges::copy(prefix.keys, slot.keys.begin());
    std::ranges::copy(prefix.values, slot.values.begin());
    slots.push_back(std::move(slot));
  }
  return slots;
}

/// An empty cache with room for the prefix once and each slot's own tokens.
std::unique_ptr<PagedKvCache> cache_for(const AttentionShape& shape, KvType type, int shared,
                                        std::span<const SlotData> slots) {
  std::int64_t num_tokens = shared;
  for (const SlotData& slot : slots) num_tokens += slot.length - shared + 32;
  return make_paged(shape, type, 16, num_tokens);
}

/// The same by forks of one sequence that holds the prefix.
PagedSlots forked_slots(const AttentionShape& shape, KvType type, int shared, std::span<const SlotData> slots) {
  PagedSlots forked;
  forked.cache = cache_for(shape, type, shared, slots);
  const SequenceId origin = forked.cache->create_sequence();
  write_tokens(*forked.cache, origin, shape, slots[0], 0, shared);
  for (const SlotData& slot : slots) {
    forked.ids.push_back(*forked.cache->fork(origin));
    write_tokens(*forked.cache, forked.ids.back(), shape, slot, shared, slot.length);
  }
  return forked;
}

/// The same by the prefix cache: the first slot publishes, the others attach what they find.
PagedSlots attached_slots(const AttentionShape& shape, KvType type, int shared, std::span<const SlotData> slots) {
  PagedSlots attached;
  attached.cache = cache_for(shape, type, shared, slots);
  for (std::size_t s = 0; s < slots.size(); ++s) {
    std::vector<TokenId> tokens(static_cast<std::size_t>(slots[s].length), static_cast<TokenId>(s));
    std::iota(tokens.begin(), tokens.begin() + shared, 1000);
    const SequenceId id = attached.ids.emplace_back(attached.cache->create_sequence());
    const int found = *attached.cache->attach_prefix(id, tokens, "");
    EXPECT_EQ(found, s == 0 ? 0 : shared / 16 * 16);
    write_tokens(*attached.cache, id, shape, slots[s], found, slots[s].length);
    EXPECT_TRUE(attached.cache->publish(id, tokens, ""));
  }
  return attached;
}

TEST(BatchedAttention, A8_shared_prefixes_have_the_bits_of_copies_written_one_by_one) {
  for (const int group : {1, 3, 8}) {
    const AttentionShape shape{.num_kv_heads = 2, .group = group, .head_dim = 64};
    const int tails[] = {1, 40, 300, 2, 513, 17, 31, 256};
    for (const int shared : {100, 512, 777}) {
      const std::vector<SlotData> slots = slots_with_prefix(shape, shared, tails);
      const std::vector<float> queries = queries_of(slots);
      for (const KvType type : kAllKvTypes) {
        const PagedSlots copies(shape, type, 16, slots), forked = forked_slots(shape, type, shared, slots),
                                                         attached = attached_slots(shape, type, shared, slots);
        for (const IsaLevel level : supported_isa_levels()) {
          SCOPED_TRACE(::testing::Message()
                       << group << ":1, " << shared << " shared, " << kv_type_name(type) << ' ' << isa_name(level));
          BatchedAttention attention = make_attention(2, isa_name(level));
          for (const int window : {0, 600}) {
            const std::vector<float> got = decode(attention, copies, queries, shape.options(window));
            const std::uint64_t unshared_bytes = attention.kv_bytes_loaded();
            EXPECT_TRUE(same_bits(decode(attention, forked, queries, shape.options(window)), got)) << window;
            EXPECT_TRUE(same_bits(decode(attention, attached, queries, shape.options(window)), got)) << window;
            if (shared > kDefaultBlockSize * 16 && window == 0) {
              EXPECT_LT(attention.kv_bytes_loaded(), unshared_bytes);
            }
          }
        }
      }
    }
  }
}

std::uint64_t bytes_per_token(const AttentionShape& shape, KvType type) {
  const int dim = shape.head_dim, run = type == KvType::kQ8_0 ? 32 : type == KvType::kI16 ? 64 : 0;
  const int scales = run > 0 ? 2 * ((dim + run - 1) / run) : 0;
  const int element = type == KvType::kF32 ? 4 : type == KvType::kQ8_0 ? 1 : 2;
  return static_cast<std::uint64_t>(2 * shape.num_kv_heads * (dim * element + scales));
}

// 16 sequences behind a common prefix of 4096 tokens: the prefix once and the tails, however many query heads read it.
TEST(BatchedAttention, A9_a_prefix_of_16_sequences_is_loaded_once_and_each_tail_once) {
  constexpr int kShared = 4096;
  std::vector<int> tails(16);
  for (int s = 0; s < 16; ++s) tails[static_cast<std::size_t>(s)] = 1 + 37 * s;
  const auto tail_tokens = static_cast<std::uint64_t>(std::accumulate(tails.begin(), tails.end(), 0));
  for (const KvType type : {KvType::kF16, KvType::kQ8_0, KvType::kI16})
    for (const int group : {1, 3, 4, 8}) {
      SCOPED_TRACE(::testing::Message() << kv_type_name(type) << ' ' << group << ":1");
      const AttentionShape shape{.num_kv_heads = 2, .group = group, .head_dim = 32};
      const std::vector<SlotData> slots = slots_with_prefix(shape, kShared, tails);
      const std::vector<float> queries = queries_of(slots);
      BatchedAttention attention = make_attention(2);
      const PagedSlots forked = forked_slots(shape, type, kShared, slots);
      const std::vector<float> together = decode(attention, forked, queries, shape.options());
      EXPECT_EQ(attention.kv_bytes_loaded(), (kShared + tail_tokens) * bytes_per_token(shape, type));
      // Written one by one, each sequence has blocks of its own to load: once, with any number of query heads.
      const PagedSlots copies(shape, type, 16, slots);
      EXPECT_TRUE(same_bits(decode(attention, copies, queries, shape.options()), together));
      EXPECT_EQ(attention.kv_bytes_loaded(), (16 * kShared + tail_tokens) * bytes_per_token(shape, type));
    }
}

/// Positions loaded where each tile that several see all of is read once, and each by itself what it sees of others.
int positions_of_tiles(std::span<const SlotData> slots, int shared, int window) {
  int positions = 0;
  for (int tile = 0; tile < 100; ++tile) {
    bool read = false;
    for (const SlotData& slot : slots) {
      const int begin = std::max(tile * 256, slot.length - window), end = std::min((tile + 1) * 256, slot.length);
      const bool together = end - begin == 256 && end <= shared;
      if (begin < end && !(together && read)) positions += end - begin;
      read |= together;
    }
  }
  return positions;
}

// Sequences of different lengths have given back different blocks; what all still see is read once.
TEST(BatchedAttention, A9_windows_of_different_lengths_load_what_they_share_once) {
  const AttentionShape shape{.num_kv_heads = 2, .group = 2, .head_dim = 32};
  constexpr int kShared = 2048, kWindow = 1024;
  std::vector<int> tails(16);
  for (int s = 0; s < 16; ++s) tails[static_cast<std::size_t>(s)] = 1 + 16 * s;
  const std::vector<SlotData> slots = slots_with_prefix(shape, kShared, tails);
  const std::vector<float> queries = queries_of(slots);
  PagedSlots forked;
  forked.cache = make_paged(shape, KvType::kF16, 16, kShared + 16 * 320, kWindow);
  const SequenceId origin = forked.cache->create_sequence();
  write_tokens(*forked.cache, origin, shape, slots[0], 0, kShared);
  forked.cache->commit(origin, kShared);
  for (const SlotData& slot : slots) {
    forked.ids.push_back(*forked.cache->fork(origin));
    write_tokens(*forked.cache, forked.ids.back(), shape, slot, kShared, slot.length);
    forked.cache->commit(forked.ids.back(), slot.length - 1);
  }
  ASSERT_LT(forked.cache->table(forked.ids[0], 0).first_held(), forked.cache->table(forked.ids[15], 0).first_held());
  for (const int threads : {1, 2}) {
    BatchedAttention attention = make_attention(threads);
    const std::vector<float> got = decode(attention, forked, queries, shape.options());
    EXPECT_EQ(attention.kv_bytes_loaded(), static_cast<std::uint64_t>(positions_of_tiles(slots, kShared, kWindow)) *
                                               bytes_per_token(shape, KvType::kF16));
    const PagedSlots copies(shape, KvType::kF16, 16, slots);
    EXPECT_TRUE(same_bits(decode(attention, copies, queries, shape.options(kWindow)), got));
    EXPECT_EQ(attention.kv_bytes_loaded(), 16 * kWindow * bytes_per_token(shape, KvType::kF16));
  }
}

TEST(BatchedAttention, A9_each_byte_of_the_callers_memory_is_loaded_once) {
  const AttentionShape shape{.num_kv_heads = 3, .group = 5, .head_dim = 33};
  const std::vector<SlotData> slots = make_slots(shape, std::vector{1, 300, 1000});
  const std::vector<float> queries = queries_of(slots);
  BatchedAttention attention = make_attention();
  decode(attention, make_view(shape, slots), queries, shape.options());
  EXPECT_EQ(attention.kv_bytes_loaded(), 1301 * bytes_per_token(shape, KvType::kF32));
  for (const KvType type : {KvType::kF32, KvType::kBF16, KvType::kI16}) {
    decode(attention, make_contiguous(shape, type, slots), queries, shape.options());
    EXPECT_EQ(attention.kv_bytes_loaded(), 1301 * bytes_per_token(shape, type));
  }
  // Positions before the window are not loaded.
  decode(attention, make_view(shape, slots), queries, shape.options(100));
  EXPECT_EQ(attention.kv_bytes_loaded(), 201 * bytes_per_token(shape, KvType::kF32));
}

TEST(BatchedAttention, A9_a_chunk_loads_its_past_once_for_all_rows_that_are_computed_together) {
  const AttentionShape shape{.num_kv_heads = 1, .group = 2, .head_dim = 32};
  std::mt19937 random(3);
  const std::vector<SlotData> slots = {make_slot(shape, 700, random, 30)};
  const PagedSlots paged(shape, KvType::kF16, 16, slots);
  BatchedAttention attention = make_attention();
  chunk(attention, *paged.cache, paged.rows, slots[0].queries, shape.options());
  EXPECT_EQ(attention.kv_bytes_loaded(), 700 * bytes_per_token(shape, KvType::kF16));
}

/// Random sequences that share leading blocks at random depths, forks of forks among them, each with random rows.
class RandomTables {
 public:
  RandomTables(const AttentionShape& shape, KvType type, int block_size, unsigned seed)
      : shape_(shape), random_(seed), cache_(make_paged(shape, type, block_size, std::int64_t{kMaxSlots} * 2048)) {}

  void add_slots(int count) {
    for (int s = 0; s < count; ++s) add_slot();
  }
  const PagedKvCache& cache() const { return *cache_; }
  std::span<const SlotData> slots() const { return slots_; }
  std::span<const ChunkRows> rows() const { return rows_; }

  static constexpr int kMaxSlots = 7;

 private:
  int pick(int low, int high) { return std::uniform_int_distribution(low, high)(random_); }

  // A fork of an earlier one, cut at a random depth, or a new one; then a tail of its own, or none.
  void add_slot() {
    static constexpr int kTails[] = {1, 20, 256, 700};
    int tail = pick(1, kTails[pick(0, 3)]);
    SlotData slot;
    SequenceId id = 0;
    int shared = 0;
    if (!slots_.empty() && pick(0, 3) > 0) {
      const auto parent = static_cast<std::size_t>(pick(0, static_cast<int>(slots_.size()) - 1));
      shared = pick(0, slots_[parent].length);
      if (pick(0, 1) == 0) shared = shared / 256 * 256;
      shared = std::min(shared, 1200);
      if (shared > 0 && pick(0, 3) == 0) tail = 0;
      slot = make_slot(shape_, shared + tail, random_, pick_rows(shared + tail));
      std::ranges::copy(tokens_of(shape_, slots_[parent].keys, 0, shared), slot.keys.begin());
      std::ranges::copy(tokens_of(shape_, slots_[parent].values, 0, shared), slot.values.begin());
      id = *cache_->fork(rows_[parent].id);
      RC_ASSERT(cache_->truncate(id, shared).has_value());
    } else {
      slot = make_slot(shape_, tail, random_, pick_rows(tail));
      id = cache_->create_sequence();
    }
    if (tail > 0) write_tokens(*cache_, id, shape_, slot, shared, slot.length);
    rows_.push_back({id, slot.num_rows});
    slots_.push_back(std::move(slot));
  }
  int pick_rows(int length) { return pick(0, 1) == 0 ? 1 : pick(1, std::min(length, pick(0, 3) == 0 ? 80 : 6)); }

  AttentionShape shape_;
  std::mt19937 random_;
  std::unique_ptr<PagedKvCache> cache_;
  std::vector<SlotData> slots_;
  std::vector<ChunkRows> rows_;
};

RC_GTEST_PROP(BatchedAttention, A8_any_mix_has_the_bits_of_each_row_alone, ()) {
  const AttentionShape shape{.num_kv_heads = *rc::gen::inRange(1, 4),
                             .group = *rc::gen::element(1, 2, 3, 8, 16),
                             .head_dim = *rc::gen::element(6, 33, 64)};
  const KvType type = *rc::gen::elementOf(std::vector<KvType>(std::begin(kAllKvTypes), std::end(kAllKvTypes)));
  const int block_size = *rc::gen::element(1, 4, 16, 32, 256), threads = *rc::gen::inRange(1, 4);
  const std::string_view isa = isa_name(*rc::gen::elementOf(supported_isa_levels()));
  RandomTables tables(shape, type, block_size, *rc::gen::arbitrary<unsigned>());
  tables.add_slots(*rc::gen::inRange(1, RandomTables::kMaxSlots + 1));
  BatchedAttention attention = make_attention(threads, isa), serial = make_attention(1, isa);
  const std::vector<float> queries = queries_of(tables.slots());
  for (const int window : {0, *rc::gen::inRange(1, 1000)}) {
    const AttentionOptions options = shape.options(window);
    const std::vector<float> got = chunk(attention, tables.cache(), tables.rows(), queries, options);
    RC_ASSERT(same_bits(got, row_by_row(serial, shape, type, tables.slots(), options)));
    RC_ASSERT(type != KvType::kF32 || largest_error(got, reference(shape, tables.slots(), options)) <= 1e-5);
  }
}

}  // namespace
}  // namespace octavo
