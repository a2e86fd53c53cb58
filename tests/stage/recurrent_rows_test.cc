// Which rows of a step go through which states.
#include "stage/recurrent_rows.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace octavo::test {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

/// Three sequences: a prompt's beginning, two drafted tokens behind a known one, one drafted token.
Batch some_batch() {
  Batch batch;
  batch.clear();
  batch.positions = {0, 1, 7, 8, 9, 4, 5};
  batch.tokens.assign(batch.positions.size(), 0);
  batch.seq_begin = {0, 2, 5, 7};
  batch.kv_len = {2, 10, 6};
  batch.state_slots = {3, 0, 5};
  batch.num_drafted = {0, 2, 1};
  return batch;
}

TEST(RecurrentRows, ARangeIsASequencesRowsWithItsDraftedOnesNumberedThroughTheBatch) {
  RecurrentRows rows(8);
  rows.plan(some_batch());
  EXPECT_THAT(
      rows.ranges(),
      ElementsAre(
          RecurrentRows::Range{.first_row = 0, .num_rows = 2, .state_slot = 3, .begins = true},
          RecurrentRows::Range{.first_row = 2, .num_rows = 3, .state_slot = 0, .begins = false, .num_drafted = 2},
          RecurrentRows::Range{
              .first_row = 5, .num_rows = 2, .state_slot = 5, .begins = false, .num_drafted = 1, .first_kept = 2}));
  EXPECT_THAT(rows.range_numbers(), ElementsAre(0, 0, 1, 1, 1, 2, 2));
  EXPECT_EQ(rows.range_of(4).num_known(), 1);
  EXPECT_EQ(rows.count(), 7);
}

TEST(RecurrentRows, RowsThatWereRightAreFoundWhereTheyAreKept) {
  RecurrentRows rows(8);
  rows.plan(some_batch());
  const StateAdvance advances[] = {{.state_slot = 0, .first_row = 0, .num_rows = 0},
                                   {.state_slot = 5, .first_row = 2, .num_rows = 1},
                                   {.state_slot = 0, .first_row = 0, .num_rows = 2}};
  rows.plan_advances(advances);
  EXPECT_THAT(
      rows.ranges(),
      ElementsAre(
          RecurrentRows::Range{.first_row = 0, .num_rows = 1, .state_slot = 5, .begins = false, .first_kept = 2},
          RecurrentRows::Range{.first_row = 1, .num_rows = 2, .state_slot = 0, .begins = false}));
  EXPECT_THAT(rows.range_numbers(), ElementsAre(0, 1, 1));
  rows.plan_advances({});
  EXPECT_THAT(rows.ranges(), IsEmpty());
}

TEST(RecurrentRowsDeathTest, ABatchSaysOfEverySequenceWhatIsDrafted) {
  RecurrentRows rows(8);
  Batch batch = some_batch();
  batch.num_drafted.pop_back();
  EXPECT_DEATH(rows.plan(batch), "2 num_drafted of 3 sequences");
  batch = some_batch();
  batch.num_drafted = {0, 30, 3};
  EXPECT_DEATH(rows.plan(batch), "33 rows of drafted tokens");
}

}  // namespace
}  // namespace octavo::test
