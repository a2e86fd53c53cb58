// Decode rows of several owners in a step that has no time for all of them.
#include "engine/decode_turns.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

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

}  // namespace
}  // namespace octavo
