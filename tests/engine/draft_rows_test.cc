// Which drafted tokens have rows in a step: those that pay, in what others leave of its rows, time and memory.
#include "engine/schedule/draft_rows.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/scheduler_harness.h"

namespace octavo {
namespace {

using test::Harness;
using test::make_cost;
using ::testing::ElementsAre;

void draft(Sequence& sequence, std::initializer_list<float> chances) {
  sequence.draft.clear();
  for (const float chance : chances) sequence.draft.add(0, chance);
}

/// Past the steps that try what rows cost.
void pass_tries(Harness& harness, Sequence& sequence) {
  for (int i = 0; i < DraftRows::kFirstTries; ++i) {
    draft(sequence, {1});
    harness.step();
  }
}

std::vector<int> drafted(Harness& harness) {
  std::vector<int> rows;
  for (const ScheduledSequence& planned : harness.schedule()) rows.push_back(planned.num_drafted);
  return rows;
}

// A step of one row takes 2 ms, and a further row 1.
TEST(DraftRows, JoinWhileTheyBringATokenForLessThanItTakesWithoutThem) {
  const CostModel cost = make_cost();
  Harness harness({.max_step_tokens = 16, .max_sequences = 4}, {.num_blocks = 64}, &cost);
  Sequence& sequence = harness.add(3, 40);
  harness.step();
  pass_tries(harness, sequence);
  draft(sequence, {0.95F, 0.9F, 0.85F, 0.3F, 0.3F});
  EXPECT_THAT(drafted(harness), ElementsAre(3));
  harness.complete(harness.plan().sequences);
  draft(sequence, {0.4F, 0.4F});
  EXPECT_THAT(drafted(harness), ElementsAre(0));
}

// A prompt was read while the machine was busy, so that a row seems to take as long as a step.
TEST(DraftRows, AnAnswerAloneTriesWhatRowsCostAtFirstAndNowAndThen) {
  CostModel cost({});
  for (int i = 0; i < 50; ++i)
    for (const int rows : {1, 100}) cost.observe(cost.work(0, rows, 1), 10.0 * rows);
  Harness harness({.max_step_tokens = 16, .max_sequences = 4}, {.num_blocks = 64}, &cost);
  Sequence& sequence = harness.add(3, 100);
  harness.step();
  std::vector<int> rows;
  for (int i = 0; i < DraftRows::kFirstTries + DraftRows::kPatience + 2; ++i) {
    draft(sequence, {0.45F, 0.42F, 0.1F});
    rows.push_back(drafted(harness)[0]);
    harness.complete(harness.plan().sequences);
  }
  std::vector<int> expected(rows.size(), 0);
  std::fill_n(expected.begin(), DraftRows::kFirstTries, 2);
  expected[to_size(DraftRows::kFirstTries + DraftRows::kPatience)] = 2;
  EXPECT_EQ(rows, expected);
}

TEST(DraftRows, AFullStepDraftsNothingAndItsTimeIsNotExceeded) {
  const CostModel cost = make_cost();
  for (const double step_ms : {50.0, 5.5}) {
    Harness harness({.max_step_tokens = 64, .max_sequences = 20, .step_ms = step_ms}, {.num_blocks = 200}, &cost);
    for (int i = 0; i < 3; ++i) harness.add(3, 40);
    while (harness.scheduler().num_waiting() > 0 || harness.sequences().at(3)->num_tokens() == 3) harness.step();
    for (const auto& [id, sequence] : harness.sequences()) draft(*sequence, {0.99F, 0.98F});
    EXPECT_THAT(drafted(harness), step_ms > 10 ? ElementsAre(2, 2, 2) : ElementsAre(1, 0, 0));
    EXPECT_LE(cost.predict_ms(harness.plan().budget.work()), step_ms);
  }
  Harness full({.max_step_tokens = 64, .max_sequences = 40}, {.num_blocks = 400}, &cost);
  for (int i = 0; i < 30; ++i) full.add(3, 40);
  while (full.sequences().at(30)->num_tokens() == 3) full.step();
  for (const auto& [id, sequence] : full.sequences()) draft(*sequence, {0.9F});
  EXPECT_THAT(drafted(full), ::testing::Each(0)) << "a token takes 31/30 ms, and a row 1";
}

// A step of one row takes 2 ms and a further row 1, where 1.5 are the target: a slow machine, or a large model.
TEST(DraftRows, AnAnswerAloneDraftsThoughItsStepsTakeLongerThanTheTarget) {
  const CostModel cost = make_cost();
  Harness harness({.max_step_tokens = 16, .max_sequences = 4, .step_ms = 1.5}, {.num_blocks = 64}, &cost);
  Sequence& sequence = harness.add(3, 40);
  while (sequence.num_tokens() == 3) harness.step();
  pass_tries(harness, sequence);
  draft(sequence, {0.95F, 0.9F, 0.85F, 0.8F});
  EXPECT_THAT(drafted(harness), ElementsAre(2)) << "twice the time without them";
  harness.complete(harness.plan().sequences);
  Sequence& other = harness.add(3, 40);
  while (other.num_tokens() == 3) harness.step();
  draft(sequence, {0.95F});
  draft(other, {0.95F});
  EXPECT_THAT(drafted(harness), ::testing::Each(0)) << "each would make the other wait";
}

TEST(DraftRows, TheLikeliestTokenOfAllGoesFirst) {
  Harness harness({.max_step_tokens = 5, .max_sequences = 4}, {.num_blocks = 64});
  Sequence& one = harness.add(2, 40);
  Sequence& other = harness.add(2, 40);
  while (other.num_tokens() == 2) harness.step();
  draft(one, {0.9F, 0.5F, 0.4F});
  draft(other, {0.8F, 0.7F, 0.6F});
  EXPECT_THAT(drafted(harness), ElementsAre(1, 2));
}

TEST(DraftRows, TakeNoBlockThatIsPromisedOrKeepsContents) {
  Harness harness({.max_step_tokens = 16, .max_sequences = 4}, {.num_blocks = 3, .prefix_cache = true});
  const Sequence& first = harness.add(5, 2, 50);
  while (harness.sequences().contains(first.params.id) && harness.step().size() > 0) {
  }
  ASSERT_EQ(harness.pool().stats().cached, 1);
  ASSERT_EQ(harness.pool().stats().free, 2);
  Sequence& sequence = harness.add(6, 7);
  harness.step();
  draft(sequence, {1, 1, 1, 1, 1, 1});
  EXPECT_THAT(drafted(harness), ElementsAre(1)) << "to the end of its second block: the third is kept to be found";
}

TEST(DraftRows, ThoseWhoCatchUpDraftNothing) {
  Harness harness({.max_step_tokens = 4, .max_sequences = 4}, {.num_blocks = 64});
  Sequence& prompt = harness.add(6, 20);
  draft(prompt, {1, 1});
  EXPECT_THAT(drafted(harness), ElementsAre(0));
}

TEST(DraftRows, AreNoMoreThanARunnerKeepsForRecurrentLayers) {
  Harness harness({.max_step_tokens = 200, .max_sequences = 10},
                  {.num_blocks = 400, .windows = {test::kRecurrent, 0}, .num_snapshots = 20});
  for (int i = 0; i < 10; ++i) harness.add(2, 40);
  while (harness.sequences().at(10)->num_tokens() == 2) harness.step();
  for (const auto& [id, sequence] : harness.sequences()) draft(*sequence, {1, 1, 1, 1});
  int rows = 0;
  for (const ScheduledSequence& planned : harness.schedule()) rows += planned.num_drafted;
  EXPECT_EQ(rows, kMaxDraftedRows);
}

TEST(DraftRows, AreNoMoreThanTheRowsOfLogitsThatARunnerHolds) {
  Harness harness({.max_step_tokens = 200, .max_sequences = 10}, {.num_blocks = 400});
  for (int i = 0; i < 10; ++i) harness.add(2, 40);
  while (harness.sequences().at(10)->num_tokens() == 2) harness.step();
  for (const auto& [id, sequence] : harness.sequences()) {
    sequence->draft.clear();
    for (int i = 0; i < 16; ++i) sequence->draft.add(0, 1);
  }
  int rows = 0;
  for (const ScheduledSequence& planned : harness.schedule()) rows += planned.num_tokens;
  EXPECT_EQ(rows, kMaxLogitRows);
}

}  // namespace
}  // namespace octavo
