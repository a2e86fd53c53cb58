#include "engine/scheduler.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <map>
#include <memory>
#include <set>
#include <tuple>

namespace octavo {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pair;

struct Cache {
  int num_blocks = 16;
  int block_size = 4;
  std::vector<int> windows = {0};
  bool prefix_cache = false;
};

std::unique_ptr<PagedKvCache> make_cache(const Cache& cache) {
  return std::move(PagedKvCache::create({.type = KvType::kF32,
                                         .block_size = cache.block_size,
                                         .num_kv_heads = 1,
                                         .head_dim = 1,
                                         .layer_windows = cache.windows,
                                         .num_blocks = cache.num_blocks,
                                         .prefix_cache = cache.prefix_cache}))
      .value();
}

// A scheduler over integers alone: a step "computes" by complete() and, for a sequence that is up to date, by appending
// a token. Ids count from 1.
class Harness {
 public:
  Harness(const Scheduler::Limits& limits, const Cache& cache) : kv_(make_cache(cache)), scheduler_(limits, *kv_) {}

  /// Prompts are all different, unless they are given the same first token.
  Sequence& add(int prompt_tokens, int generated_tokens, int first_token = -1) {
    auto sequence = std::make_unique<Sequence>();
    sequence->id = next_id_++;
    sequence->tokens.reserve(static_cast<std::size_t>(prompt_tokens + generated_tokens));
    sequence->tokens.assign(static_cast<std::size_t>(prompt_tokens), 0);
    sequence->tokens[0] = first_token >= 0 ? first_token : 1000 + static_cast<TokenId>(sequence->id);
    sequence->prompt_tokens = prompt_tokens;
    sequence->prompt_logits_from = prompt_tokens;
    sequence->max_cached = prompt_tokens + generated_tokens - 1;
    sequence->kv = kv_->create_sequence(sequence->max_cached);
    scheduler_.add(*sequence);
    return *sequences_.emplace(sequence->id, std::move(sequence)).first->second;
  }

  /// What the next step is to compute.
  std::vector<ScheduledSequence> schedule() {
    const auto view = scheduler_.schedule();
    return {view.begin(), view.end()};
  }
  void complete(std::span<const ScheduledSequence> plan) {
    scheduler_.complete();
    for (const ScheduledSequence& planned : plan) {
      Sequence& sequence = *planned.sequence;
      if (sequence.num_uncomputed() != 0) continue;
      if (sequence.num_tokens() == sequence.max_cached) {
        remove(sequence);
      } else {
        sequence.tokens.push_back(0);
      }
    }
  }
  /// Runs a step; gives (id, number of tokens) in the plan's order.
  std::vector<std::pair<RequestId, int>> step() {
    const std::vector<ScheduledSequence> plan = schedule();
    std::vector<std::pair<RequestId, int>> rows;
    for (const ScheduledSequence& planned : plan) rows.emplace_back(planned.sequence->id, planned.num_tokens);
    complete(plan);
    return rows;
  }

  void remove(Sequence& sequence) {
    scheduler_.remove(sequence);
    EXPECT_TRUE(kv_->drop_sequence(sequence.kv));
    sequences_.erase(sequence.id);
  }

  bool intact() const {
    for (const auto& [id, sequence] : sequences_) {
      if (sequence->num_computed != kv_->sequence_length(sequence->kv)) return false;
    }
    return kv_->check_integrity().has_value();
  }
  static bool is_running(const Sequence& sequence) { return sequence.state == Sequence::State::kRunning; }
  int num_blocks(const Sequence& sequence) const { return kv_->table(sequence.kv, 0).num_blocks(); }

  Scheduler& scheduler() { return scheduler_; }
  PagedKvCache& kv() { return *kv_; }
  const BlockPool& pool() const { return kv_->pool(0); }
  const auto& sequences() const { return sequences_; }

 private:
  std::unique_ptr<PagedKvCache> kv_;
  std::map<RequestId, std::unique_ptr<Sequence>> sequences_;
  Scheduler scheduler_;
  RequestId next_id_ = 1;
};

TEST(Scheduler, NothingToDoGivesAnEmptyPlan) {
  Harness harness({}, {.num_blocks = 4});
  EXPECT_THAT(harness.step(), IsEmpty());
}

TEST(Scheduler, LongPromptIsReadInChunksOfTheStepsBudget) {
  Harness harness({.max_step_tokens = 8, .max_sequences = 4}, {.num_blocks = 16});
  harness.add(20, 2);
  EXPECT_THAT(harness.step(), ElementsAre(Pair(1, 8)));
  EXPECT_THAT(harness.step(), ElementsAre(Pair(1, 8)));
  EXPECT_THAT(harness.step(), ElementsAre(Pair(1, 4)));
  EXPECT_THAT(harness.step(), ElementsAre(Pair(1, 1)));
  EXPECT_TRUE(harness.scheduler().empty());
  EXPECT_EQ(harness.pool().free_count(), 16);
}

TEST(Scheduler, DecodeRowsComeFirstThenThePromptWithFewestTokensLeft) {
  Harness harness({.max_step_tokens = 10, .max_sequences = 8}, {.num_blocks = 64});
  harness.add(3, 9);
  EXPECT_THAT(harness.step(), ElementsAre(Pair(1, 3)));
  harness.add(30, 4);
  harness.add(6, 4);
  EXPECT_THAT(harness.step(), ElementsAre(Pair(1, 1), Pair(3, 6), Pair(2, 3)));
  EXPECT_THAT(harness.step(), ElementsAre(Pair(1, 1), Pair(3, 1), Pair(2, 8)));
}

TEST(Scheduler, PromptsOfEqualLengthGoOldestFirst) {
  Harness harness({.max_step_tokens = 5, .max_sequences = 5}, {.num_blocks = 64});
  harness.add(4, 2);
  harness.add(4, 2);
  EXPECT_THAT(harness.step(), ElementsAre(Pair(1, 4), Pair(2, 1)));
}

TEST(Scheduler, PromptPassedOverTooOftenGoesFirst) {
  Harness harness({.max_step_tokens = 4, .max_sequences = 4}, {.num_blocks = 64});
  harness.add(30, 2);
  int steps = 0;
  for (bool served = false; !served; ++steps) {
    ASSERT_LT(steps, 3 * Scheduler::kMaxStepsWaited);
    harness.add(4, 1);  // a fresh short prompt every step takes the whole budget
    for (const auto& [id, tokens] : harness.step()) served = served || id == 1;
  }
  EXPECT_EQ(steps, Scheduler::kMaxStepsWaited + 1);
}

TEST(Scheduler, NoMoreSequencesAdvanceThanTheLimit) {
  Harness harness({.max_step_tokens = 100, .max_sequences = 3}, {.num_blocks = 64});
  for (int i = 0; i < 5; ++i) harness.add(2, 3);
  EXPECT_EQ(harness.step().size(), 3U);
  EXPECT_EQ(harness.scheduler().num_waiting(), 2);
}

TEST(Scheduler, EveryAdmittedSequenceAdvancesEvenWhenStepsAreSmall) {
  Harness harness({.max_step_tokens = 2, .max_sequences = 256}, {.num_blocks = 64});
  for (int i = 0; i < 4; ++i) harness.add(1, 5);
  EXPECT_THAT(harness.step(), ElementsAre(Pair(1, 1), Pair(2, 1)));
  EXPECT_THAT(harness.step(), ElementsAre(Pair(1, 1), Pair(2, 1)));
}

TEST(Scheduler, WaitsAtAdmissionUntilAllItsTokensAndOneBlockFit) {
  Harness harness({.max_step_tokens = 64, .max_sequences = 4}, {.num_blocks = 4});
  Sequence& first = harness.add(8, 4);  // 2 blocks now, 3 in the end
  Sequence& second = harness.add(8, 8);
  EXPECT_THAT(harness.step(), ElementsAre(Pair(1, 8)));
  EXPECT_TRUE(harness.is_running(first));
  EXPECT_FALSE(harness.is_running(second));  // 2 blocks are free, it asks for 3
  EXPECT_EQ(harness.num_blocks(second), 0);
  harness.remove(first);
  EXPECT_THAT(harness.step(), ElementsAre(Pair(2, 8)));
}

TEST(Scheduler, SequenceThatNeverGrowsIsAdmittedWithoutASpareBlock) {
  Harness harness({.max_step_tokens = 64, .max_sequences = 4}, {.num_blocks = 2});
  harness.add(6, 3);  // 8 tokens in the end: both blocks, at once
  EXPECT_THAT(harness.step(), ElementsAre(Pair(1, 6)));
}

TEST(Scheduler, YoungerShortPromptDoesNotOvertakeAtAdmission) {
  Harness harness({.max_step_tokens = 64, .max_sequences = 4}, {.num_blocks = 4});
  harness.add(8, 2);
  harness.add(12, 2);
  harness.add(1, 2);
  EXPECT_THAT(harness.step(), ElementsAre(Pair(1, 8)));
  EXPECT_EQ(harness.scheduler().num_waiting(), 2);
}

TEST(Scheduler, SequenceThatCannotGrowPreemptsTheYoungest) {
  Harness harness({.max_step_tokens = 64, .max_sequences = 4}, {.num_blocks = 5});
  Sequence& first = harness.add(4, 13);
  Sequence& second = harness.add(4, 13);
  EXPECT_EQ(harness.step().size(), 2U);  // one block each, one spare each
  EXPECT_EQ(harness.step().size(), 2U);  // two blocks each
  while (harness.scheduler().num_preemptions() == 0) ASSERT_FALSE(harness.step().empty());
  EXPECT_TRUE(harness.is_running(first));
  EXPECT_FALSE(harness.is_running(second));
  EXPECT_EQ(second.num_computed, 0);
  EXPECT_EQ(harness.num_blocks(second), 0);
  const int kept = second.num_tokens();
  EXPECT_GT(kept, 4);
  EXPECT_TRUE(harness.intact());
  while (!harness.is_running(second)) {
    ASSERT_FALSE(harness.step().empty());
    if (harness.sequences().size() == 1) break;
  }
  EXPECT_THAT(harness.step(), ElementsAre(Pair(2, kept)));  // computed anew in one go
}

TEST(Scheduler, YoungestThatCannotGrowGoesItself) {
  Harness harness({.max_step_tokens = 64, .max_sequences = 4}, {.num_blocks = 4});
  harness.add(4, 5);  // grows into a second block, the last free one
  harness.add(2, 3);  // stays within one
  Sequence& youngest = harness.add(4, 5);
  EXPECT_EQ(harness.step().size(), 3U);
  EXPECT_THAT(harness.step(), ElementsAre(Pair(1, 1), Pair(2, 1)));
  EXPECT_FALSE(harness.is_running(youngest));
  EXPECT_EQ(harness.scheduler().num_preemptions(), 1U);
  EXPECT_EQ(youngest.num_tokens(), 5);
}

TEST(Scheduler, RemovingGivesAllBlocksBackInEveryState) {
  Harness harness({.max_step_tokens = 6, .max_sequences = 4}, {.num_blocks = 8, .windows = {0, 9}});
  Sequence& running = harness.add(4, 9);
  Sequence& chunked = harness.add(12, 9);
  Sequence& waiting = harness.add(20, 9);
  harness.step();
  EXPECT_TRUE(harness.intact());
  harness.remove(waiting);
  harness.remove(chunked);
  harness.remove(running);
  EXPECT_EQ(harness.pool().free_count(), 8);
  EXPECT_TRUE(harness.scheduler().empty());
}

TEST(SchedulerDeathTest, SequenceThatCouldNeverFitIsABugOfTheCaller) {
  Harness harness({}, {.num_blocks = 4});
  EXPECT_DEATH(harness.add(16, 2), "17 tokens, the cache holds 16");
}

TEST(Scheduler, C8_every_prompt_row_is_a_chunk_of_next_action) {
  Harness harness({.max_step_tokens = 8, .max_sequences = 4}, {.num_blocks = 32});
  harness.add(2, 12);
  harness.step();
  Sequence& prompt = harness.add(20, 3);
  std::vector<std::pair<int, int>> chunks;
  while (prompt.num_computed < 20) {
    const std::vector<ScheduledSequence> plan = harness.schedule();
    ASSERT_EQ(plan.size(), 2U);
    EXPECT_EQ(plan[0].chunk.size(), 0) << "the decode had its turn in this very step";
    const PrefillChunk& chunk = plan[1].chunk;
    EXPECT_EQ(chunk.index, static_cast<int>(chunks.size())) << "the next chunk of the same PrefillScheduler";
    EXPECT_EQ(chunk.size(), plan[1].num_tokens);
    EXPECT_EQ(chunk.start, prompt.num_computed);
    EXPECT_EQ(chunk.tokens.data(), prompt.tokens.data() + chunk.start) << "a view of the sequence's own tokens";
    EXPECT_EQ(chunk.is_last, chunk.end == 20);
    EXPECT_EQ(prompt.prefill->num_computed(), chunk.start) << "counted when computed, not when handed out";
    chunks.emplace_back(chunk.start, chunk.end);
    harness.complete(plan);
    EXPECT_EQ(prompt.prefill->num_computed(), chunk.end);
  }
  EXPECT_THAT(chunks, ElementsAre(Pair(0, 7), Pair(7, 14), Pair(14, 20)));
  EXPECT_TRUE(prompt.prefill->is_complete());
}

TEST(Scheduler, PromptBeginsBehindItsCachedPrefix) {
  Harness harness({.max_step_tokens = 64, .max_sequences = 4}, {.num_blocks = 16, .prefix_cache = true});
  harness.add(14, 2, 7);
  EXPECT_THAT(harness.step(), ElementsAre(Pair(1, 14)));
  Sequence& same = harness.add(14, 2, 7);
  const std::vector<ScheduledSequence> plan = harness.schedule();
  ASSERT_EQ(plan.size(), 2U);
  EXPECT_EQ(plan[1].sequence, &same);
  EXPECT_EQ(plan[1].chunk.start, 12);
  EXPECT_EQ(same.cached_tokens, 12);
  EXPECT_TRUE(harness.intact());
  harness.complete(plan);
  EXPECT_EQ(harness.scheduler().num_cached_tokens(), 12U);
  EXPECT_EQ(harness.scheduler().num_computed_tokens(), 14U + 1 + 2);
}

TEST(Scheduler, PromptWithoutRowsLooksAgainWhenOthersHavePublished) {
  Harness harness({.max_step_tokens = 8, .max_sequences = 4}, {.num_blocks = 32, .prefix_cache = true});
  harness.add(24, 4, 7);
  Sequence& same = harness.add(24, 4, 7);
  EXPECT_THAT(harness.step(), ElementsAre(Pair(1, 8)));
  EXPECT_TRUE(harness.is_running(same));
  EXPECT_EQ(same.num_computed, 0);
  EXPECT_THAT(harness.step(), ElementsAre(Pair(1, 8)));
  EXPECT_EQ(same.num_computed, 8);  // found while the first was still in its prefill
  EXPECT_THAT(harness.step(), ElementsAre(Pair(1, 8)));
  EXPECT_THAT(harness.step(), ElementsAre(Pair(1, 1), Pair(2, 4)));  // 20 of 24 tokens
  EXPECT_TRUE(harness.intact());
}

TEST(Scheduler, BlocksFoundInTheCacheCountAsRoomOnceOnly) {
  Harness harness({.max_step_tokens = 64, .max_sequences = 4}, {.num_blocks = 6, .prefix_cache = true});
  Sequence& first = harness.add(12, 2, 7);  // 3 blocks, 4 in the end
  harness.step();
  harness.remove(first);
  harness.add(10, 2, 9);
  harness.step();                          // 3 free blocks are left, all cached
  Sequence& same = harness.add(16, 5, 7);  // attaches 3, needs 1, and 1 to grow
  EXPECT_THAT(harness.step(), ElementsAre(Pair(2, 1)));
  EXPECT_FALSE(harness.is_running(same));
  EXPECT_EQ(same.num_computed, 0);
  EXPECT_EQ(harness.num_blocks(same), 0);  // it let go of what it attached
  EXPECT_TRUE(harness.intact());
  harness.step();
  EXPECT_TRUE(harness.is_running(same));
  EXPECT_EQ(same.cached_tokens, 12);
}

TEST(Scheduler, PromisedBlocksAreNotTakenByDecodes) {
  Harness harness({.max_step_tokens = 4, .max_sequences = 4}, {.num_blocks = 8});
  Sequence& reader = harness.add(16, 4);
  Sequence& decoder = harness.add(3, 20);
  while (reader.num_computed < 16) {
    ASSERT_FALSE(harness.step().empty());
    ASSERT_TRUE(harness.intact());
  }
  EXPECT_EQ(harness.scheduler().num_preemptions(), 0U);
  EXPECT_TRUE(harness.is_running(decoder));
}

TEST(Scheduler, LongPromptRunsInAWindowedPoolSmallerThanItself) {
  Harness harness({.max_step_tokens = 32, .max_sequences = 4}, {.num_blocks = 5, .windows = {6}});
  Sequence& sequence = harness.add(100, 3);
  std::vector<int> chunks;
  while (sequence.num_computed < 100) {
    const std::vector<std::pair<RequestId, int>> rows = harness.step();
    ASSERT_EQ(rows.size(), 1U);
    chunks.push_back(rows[0].second);
    ASSERT_TRUE(harness.intact());
  }
  EXPECT_EQ(chunks.front(), 20);                       // all five blocks
  EXPECT_THAT(chunks, testing::Each(testing::Ge(4)));  // two blocks of the window stay, three move on
  EXPECT_LE(harness.pool().total_count() - harness.pool().free_count(), 2);
}

TEST(Scheduler, WindowedPromptsAreAdmittedByWhatTheyHoldAtOneTime) {
  // Each holds at most 6 - 1 + 8 positions, in 4 blocks.
  Harness harness({.max_step_tokens = 8, .max_sequences = 4}, {.num_blocks = 9, .windows = {6}});
  Sequence& first = harness.add(200, 3);
  Sequence& second = harness.add(200, 3);
  Sequence& third = harness.add(200, 3);
  harness.step();
  EXPECT_TRUE(harness.is_running(first));
  EXPECT_TRUE(harness.is_running(second)) << "it is not asked for 50 blocks";
  EXPECT_FALSE(harness.is_running(third));
  while (!harness.scheduler().empty()) {
    ASSERT_FALSE(harness.step().empty());
    ASSERT_TRUE(harness.intact());
  }
  EXPECT_EQ(harness.scheduler().num_preemptions(), 0U);
}

TEST(Scheduler, WhereNoPromptHasRoomForARowTheOldestTakesTheBlocksOfTheYoungest) {
  Harness harness({.max_step_tokens = 16, .max_sequences = 4}, {.num_blocks = 13, .windows = {6}});
  harness.add(200, 3);
  harness.step();
  Sequence& younger = harness.add(100, 3);
  EXPECT_THAT(harness.step(), ElementsAre(Pair(2, 16)));
  const SequenceId thief = harness.kv().create_sequence();  // of blocks that were promised
  ASSERT_TRUE(harness.kv().reserve(thief, 0, std::int64_t{4} * harness.pool().free_count()));
  EXPECT_THAT(harness.step(), ElementsAre(Pair(1, 8)));  // in the two blocks that the younger one held
  EXPECT_FALSE(harness.is_running(younger));
  EXPECT_EQ(harness.scheduler().num_preemptions(), 1U);
  ASSERT_TRUE(harness.kv().drop_sequence(thief));
  while (!harness.scheduler().empty()) {
    ASSERT_FALSE(harness.step().empty());
    ASSERT_TRUE(harness.intact());
  }
}

TEST(Scheduler, ForksRunInTheSeatsThatTheirParentHeld) {
  Harness harness({.max_step_tokens = 16, .max_sequences = 3}, {.num_blocks = 16});
  Sequence& parent = harness.add(6, 4);
  parent.num_forks = 0;
  harness.remove(parent);
  auto sequence = std::make_unique<Sequence>();
  Sequence child;
  for (Sequence* s : {sequence.get(), &child}) {
    s->id = 1;
    s->tokens.reserve(10);
    s->tokens.assign(6, 1);
    s->prompt_tokens = s->prompt_logits_from = 6;
    s->max_cached = 9;
    s->kv = harness.kv().create_sequence(9);
  }
  sequence->num_forks = 1;
  child.choice = 1;
  harness.scheduler().add(*sequence);
  Sequence& other = harness.add(5, 4);
  Sequence& late = harness.add(5, 4);
  harness.schedule();
  EXPECT_TRUE(harness.is_running(other));
  EXPECT_FALSE(harness.is_running(late)) << "two seats are the first request's";
  harness.scheduler().complete();
  harness.scheduler().fork(*sequence, child);
  EXPECT_EQ(child.num_computed, 6);
  EXPECT_EQ(harness.scheduler().num_running(), 3);
  for (Sequence* s : {sequence.get(), &child, &other}) s->tokens.push_back(1);
  const std::vector<ScheduledSequence> plan = harness.schedule();
  ASSERT_EQ(plan.size(), 3U);
  EXPECT_EQ(plan[1].sequence, &child) << "choices go in their order";
  EXPECT_EQ(harness.scheduler().copies().size(), 1U) << "the block that both write into is copied once";
  harness.scheduler().complete();
  EXPECT_TRUE(harness.kv().check_integrity());
  for (Sequence* s : {sequence.get(), &child}) {
    harness.scheduler().remove(*s);
    EXPECT_TRUE(harness.kv().drop_sequence(s->kv));
  }
}

RC_GTEST_PROP(Scheduler, EverySequenceEndsAndEveryBlockIsAccountedFor, ()) {
  const int block_size = 1 << *rc::gen::inRange(0, 4);
  const int num_blocks = *rc::gen::inRange(2, 20);
  const int window = *rc::gen::inRange(1, 40);
  const auto windows = *rc::gen::elementOf(std::vector<std::vector<int>>{{0}, {0, window}, {window}});
  const Scheduler::Limits limits{.max_step_tokens = *rc::gen::inRange(1, 20), .max_sequences = *rc::gen::inRange(1, 8)};
  Harness harness(limits, {.num_blocks = num_blocks,
                           .block_size = block_size,
                           .windows = windows,
                           .prefix_cache = *rc::gen::arbitrary<bool>()});
  const auto arrivals = *rc::gen::container<std::vector<std::tuple<int, int, int>>>(
      rc::gen::tuple(rc::gen::inRange(1, 40), rc::gen::inRange(1, 40), rc::gen::inRange(0, 3)));
  const auto gap = *rc::gen::inRange(0, 4);
  int steps = 0;
  const auto step = [&] {
    const auto rows = harness.step();
    int tokens = 0;
    std::set<RequestId> seen;
    for (const auto& [id, count] : rows) {
      RC_ASSERT(count >= 1);
      RC_ASSERT(seen.insert(id).second);
      tokens += count;
    }
    RC_ASSERT(tokens <= limits.max_step_tokens);
    RC_ASSERT(static_cast<int>(rows.size()) <= limits.max_sequences);
    RC_ASSERT(harness.intact());
    RC_ASSERT(++steps < 100'000);
  };
  for (const auto& [prompt, generated, first_token] : arrivals) {
    if (prompt + generated - 1 > harness.kv().max_sequence_tokens()) continue;
    harness.add(prompt, generated, first_token);
    for (int i = 0; i < gap; ++i) step();
  }
  while (!harness.scheduler().empty()) step();
  RC_ASSERT(harness.sequences().empty());
  RC_ASSERT(harness.pool().free_count() == num_blocks);
}

}  // namespace
}  // namespace octavo
