// Places and memory between several owners: one who asks for much does not keep another waiting.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <deque>
#include <string>
#include <string_view>

#include "engine/scheduler_harness.h"

namespace octavo {
namespace {

using test::Harness;
using ::testing::ElementsAre;
using ::testing::Pair;

int num_running(const Harness& harness, std::string_view owner) {
  int count = 0;
  for (const auto& [id, sequence] : harness.sequences())
    count += sequence->params.owner == owner && Harness::is_running(*sequence) ? 1 : 0;
  return count;
}

Sequence& add_of(Harness& harness, std::string_view owner, int prompt_tokens, int generated_tokens, int priority = 0) {
  return harness.add(prompt_tokens, generated_tokens, -1, priority, owner);
}

void run_to_end(Harness& harness) {
  for (int steps = 0; !harness.scheduler().empty(); ++steps) {
    harness.step();
    ASSERT_TRUE(harness.intact());
    ASSERT_LT(steps, 20'000);
  }
}

TEST(Owners, OneWhoIsAllThatRunsIsSuspendedForAnotherInTheNextStep) {
  Harness harness({.max_step_tokens = 64, .max_sequences = 4}, {.num_blocks = 256});
  for (int i = 0; i < 6; ++i) add_of(harness, "many", 8, 100);
  harness.step();
  EXPECT_EQ(num_running(harness, "many"), 4);
  const Sequence& other = add_of(harness, "one", 8, 10);
  harness.step();
  EXPECT_TRUE(Harness::is_running(other));
  EXPECT_EQ(num_running(harness, "many"), 3);
  const Sequence& last = *harness.sequences().at(4);
  EXPECT_FALSE(Harness::is_running(last)) << "the youngest of those that ran";
  EXPECT_EQ(last.num_computed, 8) << "it loses its place, and nothing that it has computed";
  EXPECT_EQ(last.num_preemptions, 1);
  run_to_end(harness);
}

int num_running_of_flow(const Harness& harness, std::string_view flow) {
  int count = 0;
  for (const auto& [id, sequence] : harness.sequences())
    count += sequence->params.flow == flow && Harness::is_running(*sequence) ? 1 : 0;
  return count;
}

TEST(Flows, TakeTheirOwnersPlacesByTurnsWhenTheseAreFree) {
  Harness harness({.max_step_tokens = 64, .max_sequences = 4}, {.num_blocks = 512});
  for (int i = 0; i < 10; ++i) harness.add(4, 10, -1, 0, "a", 0, "loud");
  harness.step();
  for (int i = 0; i < 10; ++i) harness.add(4, 10, -1, 0, "a", 0, "quiet");
  harness.step();
  EXPECT_EQ(num_running_of_flow(harness, "loud"), 4) << "no flow is suspended for another";
  for (int i = 0; i < 12; ++i) harness.step();
  EXPECT_EQ(num_running_of_flow(harness, "loud"), 2);
  EXPECT_EQ(num_running_of_flow(harness, "quiet"), 2);
  run_to_end(harness);
}

TEST(Flows, OfOneOwnerGetNoMoreThanAnOwnerWithoutAny) {
  Harness harness({.max_step_tokens = 64, .max_sequences = 6}, {.num_blocks = 512});
  constexpr std::string_view kFlows[] = {"1", "2", "3", "4", "5", "6", "7", "8"};
  for (int i = 0; i < 16; ++i) harness.add(4, 60, -1, 0, "many", 0, kFlows[i % 8]);
  harness.step();
  for (int i = 0; i < 10; ++i) add_of(harness, "one", 4, 60);
  harness.step();
  EXPECT_EQ(num_running(harness, "many"), 3);
  EXPECT_EQ(num_running(harness, "one"), 3);
  run_to_end(harness);
}

TEST(Flows, ThatComeLaterDoNotWaitForAllOfAFlowWithoutAName) {
  Harness harness({.max_step_tokens = 64, .max_sequences = 2}, {.num_blocks = 512});
  for (int i = 0; i < 20; ++i) harness.add(4, 10, -1, 0, "a");
  harness.step();
  const Sequence& late = harness.add(4, 60, -1, 0, "a", 0, "late");
  for (int i = 0; i < 13; ++i) harness.step();
  EXPECT_TRUE(Harness::is_running(late));
  run_to_end(harness);
}

TEST(Owners, RequestsOfManyChoicesThatAreAllThatRunAreSuspendedAsWell) {
  Harness harness({.max_step_tokens = 64, .max_sequences = 8}, {.num_blocks = 256});
  harness.add(200, 10, -1, 0, "many", 3);
  harness.add(200, 10, -1, 0, "many", 3);
  harness.step();
  const Sequence& other = add_of(harness, "one", 8, 10);
  harness.step();
  EXPECT_TRUE(Harness::is_running(other));
  EXPECT_TRUE(harness.intact());
}

TEST(Owners, RunningSequencesEvenOutBetweenThoseWhoWantMoreThanThereAre) {
  Harness harness({.max_step_tokens = 64, .max_sequences = 6}, {.num_blocks = 512});
  for (int i = 0; i < 20; ++i) add_of(harness, "a", 4, 60);
  harness.step();
  EXPECT_EQ(num_running(harness, "a"), 6);
  for (int i = 0; i < 20; ++i) add_of(harness, "b", 4, 60);
  harness.step();
  EXPECT_EQ(num_running(harness, "a"), 3);
  EXPECT_EQ(num_running(harness, "b"), 3);
  for (int i = 0; i < 20; ++i) add_of(harness, "c", 4, 60);
  harness.step();
  for (const char* owner : {"a", "b", "c"}) EXPECT_EQ(num_running(harness, owner), 2) << owner;
  run_to_end(harness);
}

TEST(Owners, TakeTurnsWhereOneSequenceRuns) {
  Harness harness({.max_step_tokens = 64, .max_sequences = 1}, {.num_blocks = 64});
  for (int i = 0; i < 4; ++i) add_of(harness, "a", 4, 20);
  harness.step();
  for (int i = 0; i < 4; ++i) add_of(harness, "b", 4, 20);
  std::string turns;
  for (RequestId last = 0; !harness.scheduler().empty();) {
    const auto rows = harness.step();
    ASSERT_EQ(rows.size(), 1U);
    if (std::exchange(last, rows.front().first) != rows.front().first) turns += rows.front().first <= 4 ? 'a' : 'b';
  }
  EXPECT_EQ(turns, "abababab");
}

TEST(Owners, MemoryOfOneWhoHoldsAllOfItGoesToAnother) {
  Harness harness({.max_step_tokens = 64, .max_sequences = 8}, {.num_blocks = 10});
  const Sequence& first = add_of(harness, "many", 12, 9);
  const Sequence& second = add_of(harness, "many", 16, 9);
  harness.step();
  const Sequence& other = add_of(harness, "one", 16, 4);
  harness.step();
  EXPECT_TRUE(Harness::is_running(other));
  EXPECT_TRUE(Harness::is_running(first)) << "an owner's first sequence has the rank that it would have alone";
  EXPECT_FALSE(Harness::is_running(second));
  EXPECT_EQ(harness.scheduler().counts().preempted_blocks, 2U) << "what was missing, and no more";
  EXPECT_TRUE(harness.intact());
  run_to_end(harness);
}

TEST(Owners, WithinOneTheHigherPriorityGoesFirstAndThenTheOlder) {
  Harness harness({.max_step_tokens = 64, .max_sequences = 2}, {.num_blocks = 256});
  add_of(harness, "b", 4, 50);
  add_of(harness, "a", 4, 50);
  add_of(harness, "a", 4, 5);
  const RequestId urgent = add_of(harness, "a", 4, 5, 3).params.id;
  EXPECT_THAT(harness.step(), ElementsAre(Pair(4, 4), Pair(1, 4))) << "each owner's first";
  while (harness.sequences().contains(urgent)) harness.step();
  harness.step();
  EXPECT_TRUE(Harness::is_running(*harness.sequences().at(2)));
  EXPECT_FALSE(Harness::is_running(*harness.sequences().at(3)));
  run_to_end(harness);
}

TEST(Owners, NamelessRequestsAreOneOwners) {
  Harness harness({.max_step_tokens = 64, .max_sequences = 2}, {.num_blocks = 256});
  for (int i = 0; i < 3; ++i) harness.add(4, 50);
  harness.step();
  const Sequence& named = add_of(harness, "a", 4, 5);
  harness.step();
  EXPECT_TRUE(Harness::is_running(named));
  EXPECT_EQ(num_running(harness, ""), 1);
  run_to_end(harness);
}

TEST(Owners, WaitingLongOutweighsWhatTheOwnerHas) {
  Harness harness({.max_step_tokens = 8, .max_sequences = 2}, {.num_blocks = 2048});
  add_of(harness, "a", 4, 7000);
  const Sequence& patient = add_of(harness, "a", 4, 7000);
  std::deque<std::string> names;  // which stay where they are
  int steps = 0;
  for (; !Harness::is_running(patient); ++steps) {
    ASSERT_LT(steps, 2 * kStepsPerChoice);
    add_of(harness, names.emplace_back(fmt::format("owner {}", steps)), 4, 1);  // of no other ever before
    harness.step();
  }
  EXPECT_NEAR(steps, kStepsPerChoice, 3);
}

TEST(Owners, NoMoreAreSuspendedThanMayRunHoweverManyOwnersCome) {
  constexpr int kMaxSequences = 8;
  Harness harness({.max_step_tokens = 64, .max_sequences = kMaxSequences}, {.num_blocks = 1024});
  const std::string names = "abcdefghijklmnopqrst";
  for (std::size_t i = 0; i < names.size(); ++i) {
    for (int k = 0; k < kMaxSequences; ++k) add_of(harness, std::string_view(names).substr(i, 1), 4, 100);
    harness.step();
    ASSERT_TRUE(harness.intact());
    int begun = 0;
    for (const auto& [id, sequence] : harness.sequences()) begun += sequence->notes.was_admitted ? 1 : 0;
    EXPECT_LE(begun, 2 * kMaxSequences);
  }
  run_to_end(harness);
}

// A single request of another owner has a place in the step after it came, whatever one owner asks for.
RC_GTEST_PROP(Owners, NoFloodOfOneKeepsAnotherWaiting, ()) {
  const int max_sequences = *rc::gen::inRange(2, 9);
  Harness harness({.max_step_tokens = *rc::gen::inRange(max_sequences, 64),
                   .max_sequences = max_sequences,
                   .policy = *rc::gen::element(PrefillPriority::kPrefillFirst, PrefillPriority::kInterleaved,
                                               PrefillPriority::kDecodePriority)},
                  {.num_blocks = 4096, .prefix_cache = *rc::gen::arbitrary<bool>()});
  const int count = *rc::gen::inRange(max_sequences, 40);
  for (int i = 0; i < count; ++i) {
    harness.add(*rc::gen::inRange(1, 40), *rc::gen::inRange(1, 60), *rc::gen::inRange(-1, 3), 0, "many");
    if (*rc::gen::arbitrary<bool>()) harness.step();
  }
  const Sequence& other = harness.add(*rc::gen::inRange(1, 40), 5, -1, 0, "one");
  harness.step();
  RC_ASSERT(Harness::is_running(other));
  RC_ASSERT(harness.intact());
}

// Of any owners, priorities and lengths, in any memory: everybody ends, and the counts are in order after each step.
RC_GTEST_PROP(Owners, EveryRequestOfEachEnds, ()) {
  constexpr std::string_view kNames[] = {"", "a", "b", "c"};
  const int num_blocks = *rc::gen::inRange(4, 40), count = *rc::gen::inRange(2, 30);
  Harness harness({.max_step_tokens = *rc::gen::inRange(1, 40),
                   .max_sequences = *rc::gen::inRange(1, 8),
                   .policy = *rc::gen::element(PrefillPriority::kPrefillFirst, PrefillPriority::kInterleaved,
                                               PrefillPriority::kDecodePriority)},
                  {.num_blocks = num_blocks,
                   .windows = *rc::gen::element(std::vector{0}, std::vector{0, 6}, std::vector{9},
                                                std::vector{0, test::chunks_of(6)}),
                   .prefix_cache = *rc::gen::arbitrary<bool>()});
  for (int i = 0; i < count; ++i) {
    harness.add(*rc::gen::inRange(1, 2 * num_blocks), *rc::gen::inRange(1, 2 * num_blocks), *rc::gen::inRange(-1, 3),
                *rc::gen::inRange(-1, 2), kNames[*rc::gen::inRange(0, 4)]);
    if (*rc::gen::arbitrary<bool>()) harness.step();
    RC_ASSERT(harness.intact());
  }
  for (int steps = 0; !harness.scheduler().empty(); ++steps) {
    harness.step();
    RC_ASSERT(harness.intact());
    RC_ASSERT(steps < 100'000);
  }
}

}  // namespace
}  // namespace octavo
