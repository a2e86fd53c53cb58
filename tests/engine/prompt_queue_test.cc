// The prompts that are still to be computed, as those who wait are told of them.
#include "octavo/prompt_queue.h"

#include <gtest/gtest.h>

#include "engine/test_engine.h"

namespace octavo {
namespace {

using test::make_request;
using test::TestEngine;

TEST(PromptQueue, IsEmptyAtFirst) {
  const PromptQueue queue;
  EXPECT_EQ(queue.num_tokens(), 0U);
  EXPECT_EQ(queue.num_before(1), 0U);
  EXPECT_EQ(queue.num_before(UINT64_MAX), 0U);
}

TEST(PromptQueue, APromptWaitsForThoseWithNoMoreTokensLeft) {
  PromptQueue queue{.token_s = 0.5};
  for (const std::uint64_t tokens : {1U, 100U, 1000U, 5000U}) queue.add(tokens);
  EXPECT_EQ(queue.num_tokens(), 6101U);
  EXPECT_EQ(queue.num_before(1), 1U);
  EXPECT_EQ(queue.num_before(63), 1U);
  EXPECT_EQ(queue.num_before(100), 101U);
  EXPECT_EQ(queue.num_before(2000), 1101U);
  EXPECT_EQ(queue.num_before(1 << 20), 6101U);
  EXPECT_EQ(queue.seconds_before(2000), 550.5);
}

TEST(PromptQueue, HasTheLongestPromptThereMayBe) {
  PromptQueue queue;
  queue.add(UINT64_MAX / 2);
  EXPECT_EQ(queue.num_before(UINT64_MAX), UINT64_MAX / 2);
  EXPECT_EQ(queue.num_before(1000), 0U);
}

TEST(PromptQueue, OfAnEngineHasWhatItHasNotComputedYet) {
  TestEngine engine({.limits = {.max_step_tokens = 8}});
  engine.submit(make_request(30, 4));
  engine->step();
  EXPECT_EQ(engine->stats().prompts.num_tokens(), 22U);
  engine->run();
  EXPECT_EQ(engine->stats().prompts.num_tokens(), 0U);
}

}  // namespace
}  // namespace octavo
