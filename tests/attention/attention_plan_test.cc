// The cut of attention into work, with a kernel that only counts. Every query meets every position that it
// sees exactly once, whatever is shared and in however many rounds; and loads are counted as they happen.
#include "attention/attention_plan.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <functional>
#include <map>
#include <mutex>
#include <numeric>
#include <optional>
#include <set>
#include <span>
#include <thread>
#include <vector>

#include "kernels/dispatch.h"

namespace octavo {
namespace {

constexpr std::size_t kTokenBytes = 10;

/// The kernel's records; KvLayer::data points to it.
struct Counts {
  std::mutex mutex;
  std::map<std::pair<const float*, int>, std::vector<int>> times_met;  // [query, KV head][position]
  std::uint64_t tokens_loaded = 0;                                     // of all KV heads
  int items = 0, partial_items = 0;
  std::map<int, int> loads_of_block;           // tokens loaded by block
  std::map<std::pair<int, int>, int> fetches;  // by block and KV head, ahead of their turn
  int far_fetches = 0;                         // items that fetch for more than the stretch after them
  std::vector<int> heads_of_many;              // KV heads of tiles with many queries, as they were computed
  std::function<void()> on_item = {};
};

/// Instead of attention: the mean of the positions that a query sees, as a softmax state of equal weights.
void keep_manager(const KvLayer& kv, const AttentionItem& item, const AttentionAhead& next, float*) {
  Counts& counts = *reinterpret_cast<Counts*>(kv.data);
  if (counts.on_item) counts.on_item();
  const std::scoped_lock lock(counts.mutex);
  ++counts.items;
  counts.tokens_loaded += static_cast<std::uint64_t>(item.end - item.begin);
  for (int p = item.begin; p < item.end; ++p) ++counts.loads_of_block[item.blocks[p / kv.block_size]];
  EXPECT_LE(item.num_queries, kMaxItemQueries);
  if (next.num_parts > 1) ++counts.far_fetches;
  if (item.partial != nullptr && item.num_queries > kMaxTileQueries) counts.heads_of_many.push_back(item.kv_head);
  for (const AttentionAhead::Part& part : std::span(next.parts, static_cast<std::size_t>(next.num_parts))) {
    EXPECT_LE(part.first_head + part.num_heads, kv.num_kv_heads);
    for (const std::int32_t block : std::span(part.blocks, static_cast<std::size_t>(part.num_blocks)))
      for (int head = 0; head < part.num_heads; ++head) ++counts.fetches[{block, part.first_head + head}];
  }
  for (int i = 0; i < item.num_queries; ++i) {
    const AttentionQuery& query = item.queries[i];
    std::vector<int>& met = counts.times_met[{query.q, item.kv_head}];
    const int begin = std::max(item.begin, query.begin), end = std::min(item.end, query.end);
    if (met.size() < static_cast<std::size_t>(query.end)) met.resize(static_cast<std::size_t>(query.end));
    double sum = 0;
    for (int p = begin; p < end; ++p) {
      ++met[static_cast<std::size_t>(p)];
      sum += p;
    }
    if (item.states != nullptr) {  // the sum, how many, and that all before have been met
      EXPECT_EQ(item.begin / kTileTokens, (item.end - 1) / kTileTokens);
      EXPECT_EQ(item.resumes, item.begin > item.queries[0].begin);
      float* state = item.states + static_cast<std::ptrdiff_t>(i) * (kv.v_dim + 2);
      if (!item.resumes) state[0] = state[1] = 0;
      sum += state[0];
      state[0] = static_cast<float>(sum);
      state[1] += static_cast<float>(std::max(0, end - begin));
      EXPECT_EQ(std::count(met.begin() + query.begin, met.begin() + std::max(end, query.begin), 0), 0);
      if (item.end >= query.end)
        std::fill_n(query.out + item.kv_head * item.out_stride, kv.v_dim, static_cast<float>(sum / state[1]));
      continue;
    }
    float* out = query.out + item.kv_head * item.out_stride;
    if (item.partial != nullptr) {
      if (i == 0) ++counts.partial_items;
      EXPECT_EQ(item.begin / kTileTokens, (item.end - 1) / kTileTokens);
      float* state = item.partial + static_cast<std::ptrdiff_t>(i) * (kv.v_dim + 2);
      std::fill_n(state, kv.v_dim, static_cast<float>(sum));
      state[kv.v_dim] = begin < end ? 0 : -std::numeric_limits<float>::infinity();
      state[kv.v_dim + 1] = static_cast<float>(end - begin);
    } else {
      std::fill_n(out, kv.v_dim, static_cast<float>(sum / (end - begin)));
    }
  }
}

struct Rows {
  std::vector<std::int32_t> blocks;
  int first_position, num_rows;
  int sight_end = 0;
};

struct Outcome {
  std::uint64_t bytes, tokens_loaded;
  std::map<int, int> loads_of_block;
  std::map<std::pair<int, int>, int> fetches;
  int far_fetches, items, partial_items;
  std::vector<int> heads_of_many;
};

/// The positions begin <= p < end.
std::pair<int, int> seen_by(const AttentionReach& reach, int position, int num_tokens, int sight_end) {
  if (reach.joins && sight_end > 0)
    return {reach.window > 0 ? std::max(0, position - reach.window + 1) : 0, std::max(position + 1, sight_end)};
  if (reach.is_chunked) return {position / reach.window * reach.window, position + 1};
  const int side = reach.is_causal ? reach.window - 1 : reach.window / 2;
  return {reach.window > 0 ? std::max(0, position - side) : 0, reach.is_causal ? position + 1
                                                               : reach.window == 0
                                                                   ? num_tokens
                                                                   : std::min(num_tokens, position + side + 1)};
}

/// What happens around a run: at each item, and whether somebody wants it still, which is asked between any two tasks
/// where it is set.
struct Company {
  std::function<void(ThreadPool& pool, const ThreadPool::Step& step)> on_item = {};
  std::function<bool()> is_unwanted = {};
  std::optional<ThreadPool::Pauses::Rules> pauses = {};
};

/// Plans and runs, and checks that every query met what it sees once, and that its result came from all of it. With
/// `in_turn` one thread does what each of the others would do, one after the other.
Outcome run_plan(const AttentionPlan::Shape& shape, const std::vector<Rows>& sequences, const AttentionReach& reach,
                 int block_size, int threads, std::size_t token_bytes = kTokenBytes, bool in_turn = false,
                 const Company& company = {}) {
  Counts counts;
  const auto row = static_cast<std::size_t>(shape.num_heads * shape.k_dim);
  std::size_t num_rows = 0;
  for (const Rows& s : sequences) num_rows += static_cast<std::size_t>(s.num_rows);
  std::vector<float> q(num_rows * row), out(num_rows * row, -1);
  std::vector<AttentionSequence> given;
  num_rows = 0;
  for (const Rows& s : sequences) {
    given.push_back({.blocks = s.blocks,
                     .q = q.data() + num_rows * row,
                     .out = out.data() + num_rows * row,
                     .first_position = s.first_position,
                     .num_rows = s.num_rows,
                     .num_tokens = s.first_position + s.num_rows,
                     .sight_end = s.sight_end});
    num_rows += static_cast<std::size_t>(s.num_rows);
  }
  const KvLayer kv{.data = reinterpret_cast<std::uint8_t*>(&counts),
                   .block_bytes = 0,
                   .head_bytes = 0,
                   .v_offset = 0,
                   .token_bytes = token_bytes,
                   .k_order = KOrder::kDimMajor,
                   .block_size = block_size,
                   .num_kv_heads = shape.num_kv_heads,
                   .k_dim = shape.k_dim,
                   .v_dim = shape.v_dim,
                   .token_stride = shape.v_dim};
  AttentionPlan plan(shape, threads);
  ThreadPool pool(in_turn ? 1 : threads);
  plan.build(given, reach, block_size);
  const ThreadPool::Step step(pool);
  if (company.on_item) counts.on_item = [&] { company.on_item(pool, step); };
  std::optional<ThreadPool::Pauses> pauses;
  if (company.pauses) pauses.emplace(pool, company.is_unwanted, *company.pauses);
  plan.run(kv, keep_manager, kernel_table(IsaLevel::kScalar).merge_tiles, pool);

  const int group = shape.num_heads / shape.num_kv_heads;
  for (const AttentionSequence& s : given)
    for (int i = 0; i < s.num_rows * shape.num_heads; ++i) {
      const auto [begin, end] = seen_by(reach, s.first_position + i / shape.num_heads, s.num_tokens, s.sight_end);
      const int head = i % shape.num_heads;
      // A query is known by the head of KV head 0's group.
      const float* key = s.q + static_cast<std::ptrdiff_t>(i - head + head % group) * shape.k_dim;
      std::vector<int> expected(static_cast<std::size_t>(end), 0);
      std::fill(expected.begin() + begin, expected.end(), 1);
      EXPECT_EQ((counts.times_met[{key, head / group}]), expected) << "row " << i / shape.num_heads << " head " << head;
      const double mean = (begin + end - 1) / 2.0;
      EXPECT_NEAR(s.out[static_cast<std::ptrdiff_t>(i) * shape.k_dim], mean, 1e-3 * end);
    }
  return {.bytes = plan.kv_bytes_loaded(kv),
          .tokens_loaded = counts.tokens_loaded,
          .loads_of_block = counts.loads_of_block,
          .fetches = counts.fetches,
          .far_fetches = counts.far_fetches,
          .items = counts.items,
          .partial_items = counts.partial_items,
          .heads_of_many = counts.heads_of_many};
}

/// `count` block ids from `first` on.
std::vector<std::int32_t> blocks_from(int first, int count) {
  std::vector<std::int32_t> blocks(static_cast<std::size_t>(count));
  std::iota(blocks.begin(), blocks.end(), first);
  return blocks;
}

/// A decode row at the end of `length` tokens: blocks 0 .. shared - 1, then blocks of its own from `first_own` on.
Rows decode_row(int length, int block_size, int shared, int first_own) {
  std::vector<std::int32_t> blocks = blocks_from(0, shared);
  const std::vector<std::int32_t> own = blocks_from(first_own, (length + block_size - 1) / block_size - shared);
  blocks.insert(blocks.end(), own.begin(), own.end());
  return {std::move(blocks), length - 1, 1};
}

TEST(AttentionPlan, RowsThatAreNotCausalMeetWhatLiesBehindThem) {
  for (const int window : {0, 2, 130, 1000})
    for (const int threads : {1, 3})
      for (const int length : {1, 40, 256, 257, 700}) {
        SCOPED_TRACE(::testing::Message() << window << ' ' << threads << ' ' << length);
        const Rows all{blocks_from(0, (length + 15) / 16), 0, length};
        run_plan({.num_heads = 4, .num_kv_heads = 2, .k_dim = 4, .v_dim = 4, .max_rows = 800}, {all, all},
                 {.window = window, .is_causal = false}, 16, threads);
      }
}

TEST(AttentionPlan, RowsOfAPictureMeetWhatLiesBehindThemUpToTheEndOfSight) {
  for (const int window : {0, 2, 130, 1000})
    for (const int threads : {1, 3})
      for (const auto [first, rows, end] :
           {std::array{0, 40, 40}, {10, 8, 300}, {250, 1, 251}, {250, 1, 700}, {300, 300, 600}, {16, 24, 1000}}) {
        SCOPED_TRACE(::testing::Message() << window << ' ' << threads << ' ' << first << ' ' << rows << ' ' << end);
        const Rows picture{blocks_from(0, (end + 15) / 16), first, rows, end};
        const AttentionPlan::Shape shape{.num_heads = 4, .num_kv_heads = 2, .k_dim = 4, .v_dim = 4, .max_rows = 400};
        run_plan(shape, {picture}, {.window = window, .joins = true}, 16, threads);
        run_plan(shape, {picture}, {.window = window}, 16, threads);  // layers that do not join them
      }
}

TEST(AttentionPlan, ATextsAttentionMayPauseBetweenAnyTwoTasks) {
  constexpr int kLength = 1000, kHeads = 2;
  const Rows text{blocks_from(0, (kLength + 15) / 16), 0, kLength};
  int num_asked = 0;
  const Company company{.is_unwanted =
                            [&] {
                              ++num_asked;
                              return false;
                            },
                        .pauses = {{.ask_every = std::chrono::milliseconds(0)}}};
  const Outcome outcome =
      run_plan({.num_heads = kHeads, .num_kv_heads = kHeads, .k_dim = 4, .v_dim = 4, .max_rows = kLength}, {text},
               {.is_causal = false}, 16, 1, kTokenBytes, false, company);
  EXPECT_GE(outcome.items, kHeads * kLength / 96) << "a task has at most 96 queries of a head";
  EXPECT_GE(num_asked, outcome.items - 1);
}

TEST(AttentionPlan, StepsOfOthersComeInTheMidstOfATextsAttention) {
  constexpr int kLength = 1000;
  const Rows text{blocks_from(0, (kLength + 15) / 16), 0, kLength};
  int num_items = 0, num_others = 0, most_between = 0;  // guarded by the steps
  std::vector<std::jthread> others;
  const auto on_item = [&](ThreadPool& pool, const ThreadPool::Step& step) {
    const int item = ++num_items;
    if (item % 10 != 1) return;
    others.emplace_back([&, item] {
      const ThreadPool::Step its_own(pool);
      ++num_others;
      most_between = std::max(most_between, num_items - item);
    });
    while (!step.is_wanted_by_others()) std::this_thread::yield();
  };
  const Company company{.on_item = on_item, .pauses = {{.shortest_turn = std::chrono::milliseconds(0)}}};
  const Outcome outcome = run_plan({.num_heads = 4, .num_kv_heads = 4, .k_dim = 4, .v_dim = 4, .max_rows = kLength},
                                   {text}, {.is_causal = false}, 16, 1, kTokenBytes, false, company);
  EXPECT_GE(outcome.items, 42);
  EXPECT_EQ(num_others, (outcome.items + 9) / 10);
  EXPECT_LE(most_between, 2) << "the task at hand, and the one that was taken ahead";
}

TEST(AttentionPlan, EveryQueryMeetsEveryPositionOnce) {
  const AttentionReach reaches[] = {{},
                                    {.window = 1},
                                    {.window = 200},
                                    {.window = 700},
                                    {.window = 1, .is_chunked = true},
                                    {.window = 256, .is_chunked = true},
                                    {.window = 310, .is_chunked = true},
                                    {.window = 5000, .is_chunked = true}};
  for (const AttentionReach& reach : reaches)
    for (const int threads : {1, 3}) {
      SCOPED_TRACE(::testing::Message() << reach.window << ' ' << reach.is_chunked << ' ' << threads);
      std::vector<Rows> sequences = {decode_row(1, 16, 0, 1000),    decode_row(300, 16, 0, 1100),
                                     decode_row(900, 16, 40, 1200), decode_row(2000, 16, 40, 1300),
                                     decode_row(641, 16, 40, 1500), decode_row(256, 16, 16, 1600)};
      // Forks of one another that end at different places of the same tile, without blocks of their own.
      for (const int length : {500, 512, 520}) sequences.push_back(decode_row(length, 16, (length + 15) / 16, 0));
      sequences.push_back({blocks_from(0, 60), 900, 60});     // a chunk behind shared blocks
      sequences.push_back({blocks_from(2000, 20), 0, 320});   // a whole prompt
      sequences.push_back({blocks_from(2100, 40), 600, 5});   // few rows
      sequences.push_back({blocks_from(2000, 20), 300, 10});  // of another prompt's blocks
      const Outcome outcome = run_plan({.num_heads = 6, .num_kv_heads = 2, .k_dim = 3, .v_dim = 3, .max_rows = 404},
                                       sequences, reach, 16, threads);
      EXPECT_EQ(outcome.bytes, outcome.tokens_loaded * kTokenBytes);
    }
}

TEST(AttentionPlan, AThreadHasTheSameHeadsOfAllTilesOfASharedPrefix) {
  std::vector<Rows> sequences;
  for (int s = 0; s < 12; ++s) sequences.push_back(decode_row(2600 + 40 * s, 16, 160, 1000 * (s + 1)));
  for (const auto& [heads, threads] :
       std::vector<std::pair<int, int>>{{4, 2}, {4, 3}, {8, 3}, {3, 2}, {2, 4}, {4, 1}}) {
    SCOPED_TRACE(::testing::Message() << heads << " heads, " << threads << " threads");
    const AttentionPlan::Shape shape{.num_heads = heads, .num_kv_heads = heads, .k_dim = 3, .v_dim = 3, .max_rows = 12};
    const std::vector<int> order = run_plan(shape, sequences, {}, 16, threads, kTokenBytes, true).heads_of_many;
    ASSERT_EQ(order.size(), static_cast<std::size_t>(10 * heads));
    const int together = std::max(1, heads / threads);
    EXPECT_TRUE(std::ranges::is_sorted(order, {}, [&](int head) { return head / together; }));
    for (std::size_t i = 0; i + 1 < static_cast<std::size_t>(10 * together); ++i)  // each tile's side by side
      EXPECT_EQ(order[i + 1], (order[i] + 1) % together);
  }
}

// 16 rows of 32 heads, 9000 tokens deep, are more partial results than scratch holds.
TEST(AttentionPlan, DeepContextsAreDoneInRoundsWithinTheSameScratch) {
  const AttentionPlan::Shape shape{.num_heads = 32, .num_kv_heads = 4, .k_dim = 254, .v_dim = 254, .max_rows = 16};
  const std::uint64_t scratch = AttentionPlan(shape, 2).scratch_bytes();
  const std::uint64_t partials =
      std::uint64_t{(9000 + kTileTokens - 1) / kTileTokens} * 16 * 32 * (254 + 2) * sizeof(float);
  ASSERT_GT(partials, 2 * scratch);  // two rounds would not do
  std::vector<Rows> shared, apart;
  for (int s = 0; s < 16; ++s) {
    shared.push_back(decode_row(9000 - 500 * (s % 5), 64, s < 8 ? 90 : 60, 1000 * (s + 1)));
    apart.push_back(decode_row(9000 - 500 * (s % 5), 64, 0, 1000 * (s + 1)));
  }
  for (const std::vector<Rows>& sequences : {shared, apart}) {
    const Outcome outcome = run_plan(shape, sequences, {}, 64, 2);
    EXPECT_EQ(outcome.bytes, outcome.tokens_loaded * kTokenBytes);
  }
}

// Results of tiles go through memory only where threads share a sequence.
TEST(AttentionPlan, SequencesAreWholeWhileOthersKeepTheThreadsBusy) {
  const AttentionPlan::Shape shape{.num_heads = 4, .num_kv_heads = 2, .k_dim = 2, .v_dim = 2, .max_rows = 16};
  std::vector<Rows> sequences;
  for (int s = 0; s < 16; ++s) sequences.push_back(decode_row(4 * kTileTokens, 16, 0, 1000 * s));
  EXPECT_EQ(run_plan(shape, sequences, {}, 16, 1).partial_items, 0);
  EXPECT_EQ(run_plan(shape, sequences, {}, 16, 2).partial_items, 2 * 4 * 2);  // the last two: tiles and KV heads
  EXPECT_EQ(run_plan(shape, sequences, {}, 16, 20).partial_items, 16 * 4 * 2);
  sequences.resize(1);
  EXPECT_EQ(run_plan(shape, sequences, {}, 16, 2).partial_items, 4 * 2);
  // The threads share a long one, which keeps them busy while one of them has the short one.
  sequences.push_back(decode_row(40 * kTileTokens, 16, 0, 1000));
  EXPECT_EQ(run_plan(shape, sequences, {}, 16, 2).partial_items, 40 * 2);
}

// More heads than one thread keeps states of at once.
TEST(AttentionPlan, ManyHeadsAreWholeInRanges) {
  const AttentionPlan::Shape shape{.num_heads = 160, .num_kv_heads = 40, .k_dim = 3, .v_dim = 3, .max_rows = 16};
  std::vector<Rows> sequences;
  for (int s = 0; s < 8; ++s) sequences.push_back(decode_row(700 + 50 * s, 16, 0, 1000 * s));
  static_assert(40 * 4 > kMaxItemQueries);
  for (const int threads : {1, 3}) {
    const Outcome outcome = run_plan(shape, sequences, {}, 16, threads);
    EXPECT_EQ(outcome.tokens_loaded, (8 * 700 + 50 * 28) * 40);
    EXPECT_LT(outcome.partial_items, outcome.items);
  }
}

/// Every block of every KV head is fetched once before it is read, except those of one thread's first head's tile.
void expect_fetched_once(const Outcome& outcome, const std::vector<Rows>& sequences, int num_kv_heads) {
  std::set<std::pair<int, int>> not_fetched;
  for (const Rows& s : sequences)
    for (const std::int32_t block : s.blocks)
      for (int head = 0; head < num_kv_heads; ++head) {
        const auto found = outcome.fetches.find({block, head});
        if (found == outcome.fetches.end())
          not_fetched.insert({block, head});
        else
          EXPECT_EQ(found->second, 1) << "block " << block << " head " << head;
      }
  EXPECT_EQ(not_fetched.size(), std::size_t{kTileTokens / 16});
}

// Whether the heads of a tile go together, as many as the caches hold (big tokens), or each by itself (many queries).
TEST(AttentionPlan, WhatAThreadReadsNextIsFetchedOnce) {
  struct Case {
    int group;
    std::size_t token_bytes;
  };
  for (const Case& c : {Case{1, 256}, Case{4, 256}, Case{1, 512}, Case{1, 1 << 20}, Case{5, 256}, Case{12, 4}}) {
    SCOPED_TRACE(::testing::Message() << c.group << ' ' << c.token_bytes);
    const AttentionPlan::Shape shape{
        .num_heads = 6 * c.group, .num_kv_heads = 6, .k_dim = 2, .v_dim = 2, .max_rows = 3};
    std::vector<Rows> sequences;
    for (int s = 0; s < 3; ++s) sequences.push_back(decode_row(1000, 16, 0, 100 * s));
    const Outcome outcome = run_plan(shape, sequences, {}, 16, 1, c.token_bytes);
    expect_fetched_once(outcome, sequences, 6);
    EXPECT_EQ(outcome.far_fetches, 0);
  }
}

// Sequences that share a prefix: more than 8 queries of a tile have time to fetch the lines of several stretches later,
// so that memory does not rest. They do not if the whole step waits for products (small tokens). If all items have as
// many, none does, as the test above finds.
TEST(AttentionPlan, ItemsThatTakeLongForTheirBytesFetchFurtherAhead) {
  for (const int num_sequences : {8, 9, 16, 17, 40})
    for (const std::size_t token_bytes : {16, 4}) {
      SCOPED_TRACE(::testing::Message() << num_sequences << ' ' << token_bytes);
      const AttentionPlan::Shape shape{
          .num_heads = 4, .num_kv_heads = 4, .k_dim = 4, .v_dim = 4, .max_rows = num_sequences};
      std::vector<Rows> sequences;
      for (int s = 0; s < num_sequences; ++s) sequences.push_back(decode_row(2048 + 512, 16, 128, 1000 + 100 * s));
      const Outcome outcome = run_plan(shape, sequences, {}, 16, 1, token_bytes);
      expect_fetched_once(outcome, sequences, 4);
      EXPECT_EQ(outcome.far_fetches > 0, num_sequences > 8 && token_bytes == 16) << outcome.far_fetches;
    }
}

TEST(AttentionPlan, ABlockOfSeveralSequencesIsLoadedOnceUpToItsLastWholeTile) {
  const AttentionPlan::Shape shape{.num_heads = 2, .num_kv_heads = 1, .k_dim = 2, .v_dim = 2, .max_rows = 4};
  // 600 tokens are shared: two tiles of 256, and 88 tokens of a third, which each reads for itself.
  const std::vector<Rows> sequences = {decode_row(620, 4, 150, 1000), decode_row(700, 4, 150, 2000),
                                       decode_row(1000, 4, 150, 3000)};
  const Outcome outcome = run_plan(shape, sequences, {}, 4, 1);
  for (int block = 0; block < 150; ++block)
    EXPECT_EQ(outcome.loads_of_block.at(block), block * 4 < 2 * kTileTokens ? 4 : 12) << block;
  EXPECT_EQ(outcome.tokens_loaded, 2 * kTileTokens + 3 * 88 + 20 + 100 + 400);
  EXPECT_EQ(outcome.bytes, outcome.tokens_loaded * kTokenBytes);
}

TEST(AttentionPlan, NestedPrefixesAreLoadedOnceEach) {
  const AttentionPlan::Shape shape{.num_heads = 1, .num_kv_heads = 1, .k_dim = 2, .v_dim = 2, .max_rows = 8};
  // All share 2 tiles; the first three and the last two share 2 and 1 tiles more.
  std::vector<Rows> sequences;
  const int depth[] = {4, 4, 4, 3, 3};
  for (int s = 0; s < 5; ++s) {
    std::vector<std::int32_t> blocks = blocks_from(0, 2 * 16);
    const std::vector<std::int32_t> middle = blocks_from(s < 3 ? 100 : 200, (depth[s] - 2) * 16);
    const std::vector<std::int32_t> own = blocks_from(1000 * (s + 1), 20);
    blocks.insert(blocks.end(), middle.begin(), middle.end());
    blocks.insert(blocks.end(), own.begin(), own.end());
    sequences.push_back({blocks, depth[s] * kTileTokens + 300, 1});
  }
  std::swap(sequences[0], sequences[4]);  // the order in which they are given does not matter
  const Outcome outcome = run_plan(shape, sequences, {}, 16, 2);
  EXPECT_EQ(outcome.tokens_loaded, (2 + 2 + 1) * kTileTokens + 5 * 301);
}

// No more queries than one item holds are read together.
TEST(AttentionPlan, AtMostOneItemsQueriesShareALoad) {
  const AttentionPlan::Shape shape{.num_heads = 16, .num_kv_heads = 1, .k_dim = 2, .v_dim = 2, .max_rows = 16};
  std::vector<Rows> sequences;
  sequences.reserve(16);
  for (int s = 0; s < 16; ++s) sequences.push_back(decode_row(513, 16, 32, 1000 * (s + 1)));
  const Outcome outcome = run_plan(shape, sequences, {}, 16, 1);
  static_assert(16 * 16 == 2 * kMaxItemQueries);
  EXPECT_EQ(outcome.tokens_loaded, 2 * 512 + 16);
}

TEST(AttentionPlan, WindowsSkipWhatLiesBeforeThem) {
  const AttentionPlan::Shape shape{.num_heads = 1, .num_kv_heads = 1, .k_dim = 1, .v_dim = 1, .max_rows = 4};
  // Blocks that left the window are not there.
  std::vector<Rows> sequences = {decode_row(1000, 16, 0, 100), decode_row(1000, 16, 0, 200)};
  for (Rows& rows : sequences) std::fill_n(rows.blocks.begin(), 1000 / 16 - 20, -1);
  const Outcome outcome = run_plan(shape, sequences, {.window = 300}, 16, 1);
  EXPECT_FALSE(outcome.loads_of_block.contains(-1));
  EXPECT_EQ(outcome.tokens_loaded, 600);
}

TEST(AttentionPlan, WindowsShareWhatAllOfThemStillHave) {
  const AttentionPlan::Shape shape{.num_heads = 1, .num_kv_heads = 1, .k_dim = 1, .v_dim = 1, .max_rows = 8};
  // Pairs with common blocks but for the last, of which each has given back what its window of 600 has passed; the
  // pairs' windows overlap without common blocks, and a fifth sequence lies far behind them.
  std::vector<Rows> sequences;
  for (const auto& [length, first_block] : {std::pair{1500, 0}, {1700, 200}, {1530, 0}, {1650, 200}, {9000, 400}}) {
    Rows rows = decode_row(length, 16, 0, first_block);
    rows.blocks.back() = 5000 + length;
    std::fill_n(rows.blocks.begin(), (length - 600) / 16, -1);
    sequences.push_back(rows);
  }
  const Outcome outcome = run_plan(shape, sequences, {.window = 600}, 16, 1);
  EXPECT_FALSE(outcome.loads_of_block.contains(-1));
  // Tiles 4 (1024 to 1279) of the first pair, and 5 of the second, which sees 1100 and later.
  EXPECT_EQ(outcome.loads_of_block.at(1024 / 16), 16);
  EXPECT_EQ(outcome.loads_of_block.at(200 + 1280 / 16), 16);
  EXPECT_EQ(outcome.tokens_loaded, 5 * 600 - 2 * 256);
}

TEST(AttentionPlan, APlanIsBuiltAnewFromStepToStep) {
  const AttentionPlan::Shape shape{.num_heads = 2, .num_kv_heads = 2, .k_dim = 4, .v_dim = 4, .max_rows = 8};
  AttentionPlan plan(shape, 2);
  const std::uint64_t scratch = plan.scratch_bytes();
  const KvLayer kv{.data = nullptr,
                   .block_bytes = 0,
                   .head_bytes = 0,
                   .v_offset = 0,
                   .token_bytes = kTokenBytes,
                   .k_order = KOrder::kDimMajor,
                   .block_size = 16,
                   .num_kv_heads = 2,
                   .k_dim = 4,
                   .v_dim = 4,
                   .token_stride = 4};
  for (const int length : {3000, 1, 100000, 300}) {
    const Rows rows = decode_row(length, 16, 0, 0);
    const AttentionSequence one{
        .blocks = rows.blocks, .q = nullptr, .out = nullptr, .first_position = length - 1, .num_rows = 1};
    plan.build({&one, 1}, {}, 16);
    EXPECT_EQ(plan.kv_bytes_loaded(kv), static_cast<std::uint64_t>(length) * 2 * kTokenBytes);
  }
  plan.build({}, {}, 16);
  EXPECT_EQ(plan.kv_bytes_loaded(kv), 0);
  EXPECT_EQ(plan.scratch_bytes(), scratch);
}

}  // namespace
}  // namespace octavo
