// Prompts of a model with recurrent layers that begin alike: they go on from checkpoints, with the answers that they
// give alone, and what they share is computed once.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <new>

#include "engine/test_engine.h"

namespace octavo {
namespace {

using test::Answer;
using test::kRecurrent;
using test::make_request;
using test::reference_answer;
using test::TestEngine;

const std::vector<int> kHybrid = {kRecurrent, 0};

/// Requests of one document begin with the same tokens, as many as `shared`.
Request make_shared(int shared, int prompt_tokens, int max_tokens, std::uint64_t seed) {
  Request request = make_request(prompt_tokens, max_tokens, seed);
  std::ranges::copy(make_request(shared, 1, 77).tokens, request.tokens.begin());
  return request;
}

Answer expected_of(TestEngine& engine, const Request& request, int choice = 0) {
  return reference_answer(request, 32, engine.runner().windows(), choice);
}

TEST(CheckpointSharing, CacheHitGivesTheAnswerOfAMiss) {
  for (const std::vector<int>& windows : {kHybrid, std::vector{kRecurrent, 0, 6}, std::vector{kRecurrent, 9}}) {
    SCOPED_TRACE(testing::PrintToString(windows));
    TestEngine engine({.runner = {.windows = windows, .state_bytes = 4096}});
    const Request request = make_request(30, 12);
    const Answer miss = engine.run(request);
    const int rows = engine.runner().num_rows();
    const Answer hit = engine.run(request);
    EXPECT_EQ(miss.stats.cached_tokens, 0);
    EXPECT_EQ(hit.stats.cached_tokens, 28) << "the last whole block before the last token";
    EXPECT_EQ(engine.runner().num_rows() - rows, 2 + 11);
    EXPECT_TRUE(miss.same_tokens(expected_of(engine, request)));
    EXPECT_TRUE(hit.same_tokens(expected_of(engine, request)));
    EXPECT_TRUE(engine.all_blocks_free());
  }
}

TEST(CheckpointSharing, TheStateIsKeptInFrontOfTheGenerationPrompt) {
  TestEngine engine({.runner = {.windows = kHybrid, .state_bytes = 4096}});
  Request first = make_request(30, 3);
  first.generation_prompt_tokens = 5;
  engine.run(first);
  Request next = make_request(50, 3, 9);  // the template writes other tokens there when the conversation goes on
  std::copy_n(first.tokens.begin(), 25, next.tokens.begin());
  EXPECT_EQ(engine.run(next).stats.cached_tokens, 24);
  EXPECT_EQ(engine.refusal({.tokens = {1, 2}, .generation_prompt_tokens = 3}),
            "generation_prompt_tokens: found 3, expected 0 to 2, the prompt's tokens");
}

TEST(CheckpointSharing, AnAnswerIsFoundAgainUpToTheLastIntervalOfTokens) {
  TestEngine engine({.runner = {.windows = kHybrid}});  // every 8 tokens
  const Request first = make_request(10, 25);
  const Answer answer = engine.run(first);
  Request second = make_request(50, 5, 3);
  std::ranges::copy(first.tokens, second.tokens.begin());
  std::ranges::copy(answer.tokens, second.tokens.begin() + 10);
  const Answer next = engine.run(second);
  EXPECT_EQ(next.stats.cached_tokens, 32) << "10 + 24 tokens were computed";
  EXPECT_TRUE(next.same_tokens(expected_of(engine, second)));
}

// Blocks of 16, a state as large as the keys and values of 1536 tokens, as of Qwen 3.5 with 4 billion weights.
TEST(CheckpointSharing, ThirtyTwoClientsWithOneDocumentOf1000TokensCostOnePrefill) {
  constexpr int kClients = 32, kShared = 1000, kPrompt = 1040, kAnswerTokens = 4;
  for (const int num_snapshots : {40, 6, 2}) {
    SCOPED_TRACE(num_snapshots);
    TestEngine engine({.runner = {.block_size = 16,
                                  .num_blocks = 600,
                                  .windows = kHybrid,
                                  .num_snapshots = num_snapshots,
                                  .state_bytes = 8 * 1536},
                       .max_context = 1200});
    std::vector<std::pair<RequestId, Request>> submitted;
    for (std::uint64_t i = 0; i < kClients; ++i) {
      const Request request = make_shared(kShared, kPrompt, kAnswerTokens, i);
      submitted.emplace_back(engine.submit(request), request);
    }
    while (engine->step()) ASSERT_TRUE(engine->check_integrity());
    for (const auto& [id, request] : submitted)
      EXPECT_TRUE(engine.answer(id).same_tokens(expected_of(engine, request))) << "request " << id;
    // What lies behind the last whole block that they share, each of them computes.
    const int of_each = kPrompt - kShared / 16 * 16 + kAnswerTokens - 1;
    EXPECT_LE(engine->stats().computed_tokens, static_cast<std::uint64_t>(kShared + kClients * of_each));
  }
}

TEST(CheckpointSharing, AStateIsKeptWhereWaitingPromptsPart) {
  TestEngine engine(
      {.runner = {.num_blocks = 200, .windows = kHybrid, .state_bytes = 4096}, .limits = {.max_step_tokens = 32}});
  // Two documents, whose first 60 tokens are the same; of each there are three prompts.
  std::vector<std::pair<RequestId, Request>> submitted;
  for (std::uint64_t i = 0; i < 6; ++i) {
    Request request = make_request(112, 3, i);
    std::ranges::copy(make_request(100, 1, 50 + i % 2).tokens, request.tokens.begin());
    std::ranges::copy(make_request(60, 1, 77).tokens, request.tokens.begin());
    submitted.emplace_back(engine.submit(request), request);
  }
  while (engine->step()) ASSERT_TRUE(engine->check_integrity());
  for (const auto& [id, request] : submitted)
    EXPECT_TRUE(engine.answer(id).same_tokens(expected_of(engine, request))) << "request " << id;
  EXPECT_LE(engine->stats().computed_tokens, 60U + 2 * 40 + 6 * (12 + 2));
}

TEST(CheckpointSharing, AWaiterGoesOnWhenTheOneThatItWaitsForEnds) {
  TestEngine engine({.runner = {.windows = kHybrid, .state_bytes = 4096}, .limits = {.max_step_tokens = 16}});
  const Request first = make_shared(60, 64, 4, 1), second = make_shared(60, 64, 4, 2);
  const RequestId a = engine.submit(first), b = engine.submit(second);
  engine->step();
  engine->step();
  engine->cancel(a);
  while (engine->step()) ASSERT_TRUE(engine->check_integrity());
  EXPECT_TRUE(engine.answer(b).same_tokens(expected_of(engine, second)));
  EXPECT_TRUE(engine.all_blocks_free());
}

// Eight choices go on from the state behind the prompt, each in a place of its own.
TEST(CheckpointSharing, EightChoicesOfOnePromptAreTheAnswersThatTheyGiveAlone) {
  for (const int num_snapshots : {20, 8, 3}) {
    SCOPED_TRACE(num_snapshots);
    TestEngine engine({.runner = {.num_blocks = 200, .windows = kHybrid, .num_snapshots = num_snapshots}});
    Request request = make_request(33, 20);
    request.num_choices = 8;
    for (int turn = 0; turn < 2; ++turn) {
      const RequestId id = engine.submit(request);
      while (engine->step()) ASSERT_TRUE(engine->check_integrity());
      for (int choice = 0; choice < 8; ++choice)
        EXPECT_TRUE(engine.answer(id, choice).same_tokens(expected_of(engine, request, choice))) << choice;
      if (num_snapshots == 20) {
        EXPECT_EQ(engine.answer(id).stats.cached_tokens, turn == 1 ? 32 : 0);
      }
    }
    EXPECT_TRUE(engine.all_blocks_free());
  }
}

// A batch that the system has no memory for was not computed: copies that it was to make were not made either.
TEST(CheckpointSharing, ARefusedBatchLeavesNoStateHalfAdvanced) {
  int steps = 0, refused_step = -1;
  TestEngine engine({.runner = {.windows = kHybrid,
                                .before_forward =
                                    [&] {
                                      if (steps++ == refused_step) throw std::bad_alloc();
                                    }},
                     .limits = {.max_step_tokens = 16}});
  const Request request = make_request(40, 12);
  engine.run(request);
  const int steps_of_one = steps;
  for (int i = 0; i < steps_of_one; ++i) {
    steps = 0;
    refused_step = i;
    const Answer failed = engine.run(request);
    refused_step = -1;
    ASSERT_TRUE(engine->check_integrity());
    EXPECT_TRUE(engine.all_blocks_free());
    EXPECT_TRUE(failed.finish == FinishReason::kFailed || i > 0) << "with a checkpoint it has fewer steps";
    EXPECT_TRUE(engine.run(request).same_tokens(expected_of(engine, request))) << "step " << i;
  }
}

TEST(CheckpointSharing, MemoryThatGoesBackForgetsThem) {
  TestEngine engine({.runner = {.windows = kHybrid}});
  const Request request = make_request(30, 12);
  engine.run(request);
  EXPECT_GT(engine->stats().kv.checkpoints, 0);
  engine->release_memory(true);
  EXPECT_EQ(engine->stats().kv.checkpoints, 0);
  const Answer again = engine.run(request);
  EXPECT_EQ(again.stats.cached_tokens, 0);
  EXPECT_TRUE(again.same_tokens(expected_of(engine, request)));
}

TEST(CheckpointSharing, WithoutAPrefixCacheNoStateIsKept) {
  TestEngine engine({.runner = {.windows = kHybrid}, .prefix_cache = false});
  engine.run(make_request(30, 5));
  EXPECT_EQ(engine.run(make_request(30, 5)).stats.cached_tokens, 0);
  EXPECT_EQ(engine->stats().kv.checkpoints, 0);
}

}  // namespace
}  // namespace octavo
