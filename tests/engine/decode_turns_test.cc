// Decode rows of several requests and owners in a step that has no time for all of them.
#include "engine/schedule/decode_turns.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <deque>
#include <map>
#include <set>

#include "engine/scheduler_harness.h"

namespace octavo {
namespace {

using test::Harness;
using test::make_cost;

struct Shared {
  /// The first owner's single answer, and `num_others` of another one, all decoding; 11 ms are ten rows.
  Shared(int num_others, std::string_view other) {
    harness.add(4, 200, -1, 0, "one");
    for (int i = 0; i < num_others; ++i) harness.add(4, 200, -1, 0, other);
    for (int i = 0; i < 40; ++i) harness.step();
  }
  std::set<RequestId> step() {
    std::set<RequestId> ids;
    for (const auto& [id, rows] : harness.step()) ids.insert(id);
    return ids;
  }
  CostModel cost = make_cost();
  Harness harness{{.max_step_tokens = 512, .max_sequences = 64, .step_ms = 11}, {.num_blocks = 2048}, &cost};
};

TEST(DecodeTurns, AnOwnerWithManyAnswersDoesNotSlowAnother) {
  Shared shared(30, "many");
  for (int i = 0; i < 20; ++i) {
    const std::set<RequestId> rows = shared.step();
    EXPECT_TRUE(rows.contains(1)) << i;
    EXPECT_GE(rows.size(), 9U) << "the time is used";
    EXPECT_LE(rows.size(), 11U) << "the step is no longer than the target";
  }
}

TEST(DecodeTurns, TheManyAnswersOfAnOwnerTakeTurns) {
  Shared shared(30, "many");
  std::set<RequestId> seen;
  for (int i = 0; i < 5; ++i) seen.merge(shared.step());
  EXPECT_EQ(seen.size(), 31U) << "nine or ten of thirty in each step";
  EXPECT_TRUE(shared.harness.intact());
}

TEST(DecodeTurns, OneOwnerAloneHasAllItsRowsInEveryStep) {
  Shared shared(30, "one");
  for (int i = 0; i < 5; ++i) EXPECT_EQ(shared.step().size(), 31U);
}

TEST(DecodeTurns, EachOwnerHasARowInEveryStepHoweverManyTheyAre) {
  const CostModel cost = make_cost();
  Harness harness({.max_step_tokens = 512, .max_sequences = 64, .step_ms = 11}, {.num_blocks = 2048}, &cost);
  std::vector<std::string> names;
  for (int i = 0; i < 40; ++i) names.push_back(fmt::format("owner {}", i));
  for (const std::string& name : names) harness.add(4, 200, -1, 0, name);
  for (int i = 0; i < 60; ++i) harness.step();
  EXPECT_EQ(harness.step().size(), 40U);
}

TEST(DecodeTurns, WithoutATargetNobodyWaits) {
  Harness harness({.max_step_tokens = 512, .max_sequences = 64}, {.num_blocks = 2048});
  for (int i = 0; i < 20; ++i) harness.add(4, 200, -1, 0, i == 0 ? "one" : "many");
  for (int i = 0; i < 5; ++i) harness.step();
  EXPECT_EQ(harness.step().size(), 20U);
}

/// Answers that decode, of requests of one owner or several, and the rows that they get.
class DecodingAnswers {
 public:
  explicit DecodingAnswers(double step_ms = 11, CostModel cost = make_cost())
      : cost_(std::move(cost)), step_ms_(step_ms) {}

  void add(RequestId request, int num_choices, std::string_view owner = "one") {
    for (int i = 0; i < num_choices; ++i) {
      Sequence& sequence = sequences_.emplace_back();
      sequence.params = {.id = request, .choice = i, .prompt_tokens = 4};
      sequence.tokens.assign(5, 0);
      sequence.num_computed = 4;
      sequence.notes.counts_of_owner = &owners_[owner];
      sequence.notes.rank = {.id = request, .choice = i};
      running_.push_back(&sequence);
    }
  }
  /// Requests and choices that have a row in the next step.
  std::set<std::pair<RequestId, int>> step() {
    StepBudget budget(512, step_ms_, &cost_);
    budget.begin(true);
    turns_.choose(running_, ++step_, budget);
    std::set<std::pair<RequestId, int>> rows;
    for (Sequence* sequence : running_) {
      if (sequence->notes.skipped_in_step == step_) continue;
      sequence->notes.planned_in_step = step_;
      rows.emplace(sequence->params.id, sequence->params.choice);
    }
    return rows;
  }
  std::deque<Sequence>& sequences() { return sequences_; }

 private:
  CostModel cost_;
  double step_ms_;
  DecodeTurns turns_{512};
  std::deque<Sequence> sequences_;
  std::vector<Sequence*> running_;
  std::map<std::string_view, OwnerCounts> owners_;
  std::uint64_t step_ = 0;
};

TEST(DecodeTurns, ARequestForManyAnswersDoesNotSlowAnotherOfTheSameOwner) {
  DecodingAnswers answers;
  answers.add(1, 1);
  answers.add(2, 128);
  std::set<std::pair<RequestId, int>> seen;
  for (int i = 0; i < 20; ++i) {
    std::set<std::pair<RequestId, int>> rows = answers.step();
    EXPECT_TRUE(rows.contains({1, 0})) << i;
    EXPECT_GE(rows.size(), 9U) << "the time is used";
    EXPECT_LE(rows.size(), 10U) << "the step is no longer than the target";
    seen.merge(rows);
  }
  EXPECT_EQ(seen.size(), 129U) << "its answers take turns";
}

TEST(DecodeTurns, WhatDrawsCostCounts) {
  DecodingAnswers answers;
  answers.add(1, 1);
  answers.add(2, 128);
  for (Sequence& sequence : answers.sequences()) sequence.draw_ms = sequence.params.id == 2 ? 3 : 0;
  for (int i = 0; i < 5; ++i) EXPECT_EQ(answers.step().size(), 3U) << "1 ms, 3 rows, two draws of 3 ms";
}

TEST(DecodeTurns, ARequestAloneHasAllItsRowsInEveryStep) {
  DecodingAnswers answers;
  answers.add(1, 128);
  for (int i = 0; i < 5; ++i) EXPECT_EQ(answers.step().size(), 128U);
}

TEST(DecodeTurns, EachRequestOfAnOwnerHasARowInEveryStepAndItsAnswersTakeTurns) {
  DecodingAnswers answers;
  for (RequestId id = 1; id <= 4; ++id) answers.add(id, 3);
  std::map<std::pair<RequestId, int>, int> counts;
  for (int i = 0; i < 30; ++i) {
    const auto rows = answers.step();
    EXPECT_EQ(rows.size(), 10U) << "four, four more, and two that the time is left for";
    std::set<RequestId> requests;
    for (const auto& row : rows) {
      requests.insert(row.first);
      ++counts[row];
    }
    EXPECT_EQ(requests.size(), 4U);
  }
  for (const auto& [row, count] : counts) EXPECT_GE(count, 15) << row.first << ", " << row.second;
}

TEST(DecodeTurns, BesideLongRowsThatCannotWaitGoAFewMoreButNoneBeyondFourTimesTheTarget) {
  DecodingAnswers small;  // of 21 ms that cannot wait
  for (RequestId id = 1; id <= 19; ++id) small.add(id, 1);
  small.add(20, 128);
  EXPECT_EQ(small.step().size(), 41U) << "twice as long";
  DecodingAnswers large;
  for (RequestId id = 1; id <= 39; ++id) large.add(id, 1);
  large.add(40, 128);
  EXPECT_EQ(large.step().size(), 43U) << "44 ms";
}

TEST(DecodeTurns, AmongOwnersThoseOfOneDoNotWaitForTheManyAnswersOfItsOtherRequest) {
  DecodingAnswers answers;
  answers.add(1, 1);
  answers.add(2, 128);
  for (RequestId id = 3; id <= 40; ++id) answers.add(id, 1, "another");
  int steps_without = 0;
  for (int i = 0; i < 20; ++i) {
    const auto rows = answers.step();
    EXPECT_LE(rows.size(), 10U);
    steps_without = rows.contains({1, 0}) ? 0 : steps_without + 1;
    EXPECT_LE(steps_without, 1);
  }
}

}  // namespace
}  // namespace octavo
