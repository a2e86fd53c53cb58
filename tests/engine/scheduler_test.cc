#include "engine/scheduler.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <map>
#include <memory>
#include <set>

namespace octavo {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pair;

// A scheduler over integers alone: a step "computes" by adding to num_computed and, for a sequence that is up to date,
// by appending a token.
class Harness {
 public:
  Harness(const Scheduler::Limits& limits, int num_blocks, int block_size, int num_groups = 1)
      : block_size_(block_size) {
    for (int i = 0; i < num_groups; ++i) pools_.emplace_back(num_blocks);
    scheduler_ = std::make_unique<Scheduler>(limits, pools_);
  }

  Sequence& add(int prompt_tokens, int generated_tokens) {
    auto sequence = std::make_unique<Sequence>();
    sequence->id = next_id_++;
    sequence->tokens.assign(static_cast<std::size_t>(prompt_tokens), 0);
    sequence->prompt_tokens = prompt_tokens;
    sequence->max_cached = prompt_tokens + generated_tokens - 1;
    for (BlockPool& pool : pools_) sequence->tables.emplace_back(pool, block_size_);
    scheduler_->add(*sequence);
    return *sequences_.emplace(sequence->id, std::move(sequence)).first->second;
  }

  // Runs a step; gives (id, number of tokens) in the plan's order.
  std::vector<std::pair<RequestId, int>> step() {
    std::vector<std::pair<RequestId, int>> rows;
    const std::vector<ScheduledSequence> plan = [&] {
      const auto view = scheduler_->schedule();
      return std::vector(view.begin(), view.end());
    }();
    for (const auto& [sequence, num_tokens] : plan) {
      rows.emplace_back(sequence->id, num_tokens);
      sequence->num_computed += num_tokens;
      if (sequence->num_uncomputed() != 0) continue;
      if (sequence->num_tokens() == sequence->max_cached) {
        scheduler_->remove(*sequence);
        sequences_.erase(sequence->id);
      } else {
        sequence->tokens.push_back(0);
      }
    }
    return rows;
  }

  void remove(Sequence& sequence) {
    scheduler_->remove(sequence);
    sequences_.erase(sequence.id);
  }

  bool intact() const {
    for (std::size_t group = 0; group < pools_.size(); ++group) {
      std::vector<std::span<const BlockId>> tables;
      for (const auto& [id, sequence] : sequences_) tables.push_back(sequence->tables[group].block_ids());
      if (!pools_[group].check_integrity(tables)) return false;
    }
    return true;
  }

  Scheduler& scheduler() { return *scheduler_; }
  const BlockPool& pool() const { return pools_[0]; }
  const auto& sequences() const { return sequences_; }

 private:
  int block_size_;
  std::vector<BlockPool> pools_;
  std::map<RequestId, std::unique_ptr<Sequence>> sequences_;
  std::unique_ptr<Scheduler> scheduler_;
  RequestId next_id_ = 1;
};

TEST(Scheduler, NothingToDoGivesAnEmptyPlan) {
  Harness harness({}, 4, 4);
  EXPECT_THAT(harness.step(), IsEmpty());
}

TEST(Scheduler, LongPromptIsReadInChunksOfTheStepsBudget) {
  Harness harness({.max_step_tokens = 8, .max_sequences = 4}, 16, 4);
  harness.add(20, 2);
  EXPECT_THAT(harness.step(), ElementsAre(Pair(1, 8)));
  EXPECT_THAT(harness.step(), ElementsAre(Pair(1, 8)));
  EXPECT_THAT(harness.step(), ElementsAre(Pair(1, 4)));
  EXPECT_THAT(harness.step(), ElementsAre(Pair(1, 1)));
  EXPECT_TRUE(harness.scheduler().empty());
  EXPECT_EQ(harness.pool().free_count(), 16);
}

TEST(Scheduler, DecodeRowsComeFirstThenThePromptWithFewestTokensLeft) {
  Harness harness({.max_step_tokens = 10, .max_sequences = 8}, 64, 4);
  harness.add(3, 9);
  EXPECT_THAT(harness.step(), ElementsAre(Pair(1, 3)));
  harness.add(30, 4);
  harness.add(6, 4);
  EXPECT_THAT(harness.step(), ElementsAre(Pair(1, 1), Pair(3, 6), Pair(2, 3)));
  EXPECT_THAT(harness.step(), ElementsAre(Pair(1, 1), Pair(3, 1), Pair(2, 8)));
}

TEST(Scheduler, PromptsOfEqualLengthGoOldestFirst) {
  Harness harness({.max_step_tokens = 5, .max_sequences = 5}, 64, 4);
  harness.add(4, 2);
  harness.add(4, 2);
  EXPECT_THAT(harness.step(), ElementsAre(Pair(1, 4), Pair(2, 1)));
}

TEST(Scheduler, PromptPassedOverTooOftenGoesFirst) {
  Harness harness({.max_step_tokens = 4, .max_sequences = 4}, 64, 4);
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
  Harness harness({.max_step_tokens = 100, .max_sequences = 3}, 64, 4);
  for (int i = 0; i < 5; ++i) harness.add(2, 3);
  EXPECT_EQ(harness.step().size(), 3U);
  EXPECT_EQ(harness.scheduler().num_waiting(), 2);
}

TEST(Scheduler, EveryAdmittedSequenceAdvancesEvenWhenStepsAreSmall) {
  Harness harness({.max_step_tokens = 2, .max_sequences = 256}, 64, 4);
  for (int i = 0; i < 4; ++i) harness.add(1, 5);
  EXPECT_THAT(harness.step(), ElementsAre(Pair(1, 1), Pair(2, 1)));
  EXPECT_THAT(harness.step(), ElementsAre(Pair(1, 1), Pair(2, 1)));
}

TEST(Scheduler, WaitsAtAdmissionUntilAllItsTokensAndOneBlockFit) {
  Harness harness({.max_step_tokens = 64, .max_sequences = 4}, 4, 4);
  Sequence& first = harness.add(8, 4);  // 2 blocks now, 3 in the end
  Sequence& second = harness.add(8, 8);
  EXPECT_THAT(harness.step(), ElementsAre(Pair(1, 8)));
  EXPECT_TRUE(first.admitted);
  EXPECT_FALSE(second.admitted);  // 2 blocks are free, it asks for 3
  EXPECT_EQ(second.tables[0].num_blocks(), 0);
  harness.remove(first);
  EXPECT_THAT(harness.step(), ElementsAre(Pair(2, 8)));
}

TEST(Scheduler, SequenceThatNeverGrowsIsAdmittedWithoutASpareBlock) {
  Harness harness({.max_step_tokens = 64, .max_sequences = 4}, 2, 4);
  harness.add(6, 3);  // 8 tokens in the end: both blocks, at once
  EXPECT_THAT(harness.step(), ElementsAre(Pair(1, 6)));
}

TEST(Scheduler, YoungerShortPromptDoesNotOvertakeAtAdmission) {
  Harness harness({.max_step_tokens = 64, .max_sequences = 4}, 4, 4);
  harness.add(8, 2);
  harness.add(12, 2);
  harness.add(1, 2);
  EXPECT_THAT(harness.step(), ElementsAre(Pair(1, 8)));
  EXPECT_EQ(harness.scheduler().num_waiting(), 2);
}

TEST(Scheduler, SequenceThatCannotGrowPreemptsTheYoungest) {
  Harness harness({.max_step_tokens = 64, .max_sequences = 4}, 5, 4);
  Sequence& first = harness.add(4, 13);
  Sequence& second = harness.add(4, 13);
  EXPECT_EQ(harness.step().size(), 2U);  // one block each, one spare each
  EXPECT_EQ(harness.step().size(), 2U);  // two blocks each
  while (harness.scheduler().num_preemptions() == 0) ASSERT_FALSE(harness.step().empty());
  EXPECT_TRUE(first.admitted);
  EXPECT_FALSE(second.admitted);
  EXPECT_EQ(second.num_computed, 0);
  EXPECT_EQ(second.tables[0].num_blocks(), 0);
  const int kept = second.num_tokens();
  EXPECT_GT(kept, 4);
  EXPECT_TRUE(harness.intact());
  while (!second.admitted) {
    ASSERT_FALSE(harness.step().empty());
    if (harness.sequences().size() == 1) break;
  }
  EXPECT_THAT(harness.step(), ElementsAre(Pair(2, kept)));  // computed anew in one go
}

TEST(Scheduler, YoungestThatCannotGrowGoesItself) {
  Harness harness({.max_step_tokens = 64, .max_sequences = 4}, 4, 4);
  harness.add(4, 5);  // grows into a second block, the last free one
  harness.add(2, 3);  // stays within one
  Sequence& youngest = harness.add(4, 5);
  EXPECT_EQ(harness.step().size(), 3U);
  EXPECT_THAT(harness.step(), ElementsAre(Pair(1, 1), Pair(2, 1)));
  EXPECT_FALSE(youngest.admitted);
  EXPECT_EQ(harness.scheduler().num_preemptions(), 1U);
  EXPECT_EQ(youngest.num_tokens(), 5);
}

TEST(Scheduler, RemovingGivesAllBlocksBackInEveryState) {
  Harness harness({.max_step_tokens = 6, .max_sequences = 4}, 8, 4, 2);
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
  Harness harness({}, 4, 4);
  EXPECT_DEATH(harness.add(16, 2), "5 blocks of 4");
}

RC_GTEST_PROP(Scheduler, EverySequenceEndsAndEveryBlockIsAccountedFor, ()) {
  const int block_size = 1 << *rc::gen::inRange(0, 4);
  const int num_blocks = *rc::gen::inRange(2, 20);
  const Scheduler::Limits limits{.max_step_tokens = *rc::gen::inRange(1, 20), .max_sequences = *rc::gen::inRange(1, 8)};
  Harness harness(limits, num_blocks, block_size, *rc::gen::inRange(1, 3));
  const auto arrivals = *rc::gen::container<std::vector<std::pair<int, int>>>(
      rc::gen::pair(rc::gen::inRange(1, 40), rc::gen::inRange(1, 40)));
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
  for (const auto& [prompt, generated] : arrivals) {
    if (prompt + generated - 1 > num_blocks * block_size) continue;
    harness.add(prompt, generated);
    for (int i = 0; i < gap; ++i) step();
  }
  while (!harness.scheduler().empty()) step();
  RC_ASSERT(harness.sequences().empty());
  RC_ASSERT(harness.pool().free_count() == num_blocks);
}

}  // namespace
}  // namespace octavo
