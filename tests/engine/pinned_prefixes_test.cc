// Pinned prompts stay in the KV memory whatever else runs, and leave room for everybody to run.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/test_engine.h"

namespace octavo {
namespace {

using test::Answer;
using test::kRecurrent;
using test::make_request;
using test::reference_answer;
using test::TestEngine;
using test::TestEngineOptions;

/// 60 blocks of 4 tokens, of which a context of 80 tokens leaves 39 to pins: one more is kept for a choice's own.
TestEngineOptions small_memory(std::vector<int> windows = {0}) {
  return {.runner = {.num_blocks = 60, .windows = std::move(windows), .num_snapshots = 20, .state_bytes = 4096},
          .max_context = 80,
          .limits = {.max_sequences = 8}};
}

Request pin_of(int num_tokens, std::uint64_t seed = 1) {
  Request request = make_request(num_tokens, 1, seed);
  request.max_tokens = -1;
  request.pins = true;
  return request;
}

/// Prompts that go on behind the one of pin_of(num_tokens).
Request behind(int num_tokens, std::uint64_t seed) {
  Request request = make_request(num_tokens + 6, 5, seed);
  std::ranges::copy(make_request(num_tokens, 1, 1).tokens, request.tokens.begin());
  return request;
}

void fill_memory(TestEngine& engine) {
  for (std::uint64_t seed = 100; seed < 112; ++seed) engine.submit(make_request(60, 15, seed));
  engine->run();
}

TEST(PinnedPrefixes, APromptIsFoundWhateverElseHasRunSince) {
  for (const std::vector<int>& windows : {std::vector{0}, std::vector{0, 6}, std::vector{kRecurrent, 0},
                                          std::vector{kRecurrent, 9}, std::vector{0, test::chunks_of(8)}}) {
    SCOPED_TRACE(testing::PrintToString(windows));
    for (const int num_tokens : {32, 35}) {
      TestEngine engine(small_memory(windows));
      Request unpinned = make_request(num_tokens, 1, 1);
      engine.run(unpinned);
      fill_memory(engine);
      ASSERT_EQ(engine.run(behind(num_tokens, 2)).stats.cached_tokens, 0) << "the memory is too small for all";
      const RequestId pin = engine.submit(pin_of(num_tokens));
      engine->run();
      EXPECT_EQ(engine.answer(pin).finish, FinishReason::kLength);
      EXPECT_EQ(engine.answer(pin).num_last_events, 1);
      EXPECT_GT(engine->stats().pinned_bytes, 0U);
      for (std::uint64_t seed = 3; seed < 6; ++seed) {
        fill_memory(engine);
        const Request request = behind(num_tokens, seed);
        const Answer answer = engine.run(request);
        EXPECT_EQ(answer.stats.cached_tokens, 32);
        EXPECT_TRUE(answer.same_tokens(reference_answer(request, 32, engine.runner().windows())));
      }
      engine->release_memory(true);
      EXPECT_EQ(engine.run(behind(num_tokens, 7)).stats.cached_tokens, 32);
      EXPECT_FALSE(engine.all_blocks_free());
      engine->cancel(pin);
      EXPECT_TRUE(engine.all_blocks_free());
      EXPECT_EQ(engine->stats().pinned_bytes, 0U);
    }
  }
}

TEST(PinnedPrefixes, PinsThatBeginAlikeShareTheirBlocks) {
  TestEngine engine(small_memory());
  std::vector<RequestId> pins = {engine.submit(pin_of(40))};
  engine->run();
  const std::uint64_t block = engine->stats().pinned_bytes / 10;
  for (std::uint64_t seed = 2; seed < 22; ++seed) {
    Request branch = pin_of(44, seed);
    std::ranges::copy(make_request(40, 1, 1).tokens, branch.tokens.begin());
    pins.push_back(engine.submit(branch));
  }
  engine->run();
  EXPECT_EQ(engine->stats().pinned_bytes, (10 + 20) * block);
  engine->cancel(pins.front());
  EXPECT_EQ(engine->stats().pinned_bytes, (10 + 20) * block) << "the others hold them";
  for (const RequestId pin : pins) engine->cancel(pin);
  EXPECT_TRUE(engine.all_blocks_free());
}

TEST(PinnedPrefixes, WhatHasNoRoomIsKeptAsAnyOtherPrompt) {
  TestEngine engine(small_memory());
  for (std::uint64_t seed = 1; seed < 4; ++seed) EXPECT_EQ(engine.run(pin_of(44, seed)).finish, FinishReason::kLength);
  const Answer refused = engine.run(pin_of(48, 4));
  EXPECT_EQ(refused.finish, FinishReason::kNotPinned);
  EXPECT_EQ(
      refused.stats.error,
      "found 48 tokens, which make 45 pinned blocks, expected at most 39: the others are kept for a context of 80 "
      "tokens");
  EXPECT_EQ(engine.run(pin_of(24, 5)).finish, FinishReason::kLength);
  Request again = make_request(48, 3, 4);
  EXPECT_EQ(engine.run(again).stats.cached_tokens, 44);
}

TEST(PinnedPrefixes, LongestRequestsOfAllChoicesRunBesideFullPins) {
  for (const std::vector<int>& windows : {std::vector{0}, std::vector{0, 6}, std::vector{kRecurrent, 0}}) {
    SCOPED_TRACE(testing::PrintToString(windows));
    TestEngine engine(small_memory(windows));
    for (std::uint64_t seed = 1; seed < 6; ++seed) engine.run(pin_of(28, seed));
    Request request = make_request(50, 30, 9);
    request.num_choices = 8;
    const RequestId id = engine.submit(request);
    const RequestId alone = engine.submit(make_request(10, 70, 10));
    engine->run();
    for (int choice = 0; choice < 8; ++choice)
      EXPECT_TRUE(
          engine.answer(id, choice).same_tokens(reference_answer(request, 32, engine.runner().windows(), choice)));
    EXPECT_EQ(engine.answer(alone).tokens.size(), 70U);
  }
}

TEST(PinnedPrefixes, APinIsGivenBackWithinItsOwnLastEventAndBeforeIt) {
  TestEngine engine(small_memory());
  const Result<RequestId> pin = engine->submit(pin_of(32), [&](const TokenEvent& event) {
    if (event.finish != FinishReason::kNone) engine->cancel(event.request);
  });
  ASSERT_TRUE(pin);
  engine->run();
  EXPECT_EQ(engine->stats().pinned_bytes, 0U);
  const RequestId cancelled = engine.submit(pin_of(32));
  engine->cancel(cancelled);
  engine->run();
  EXPECT_EQ(engine.answer(cancelled).finish, FinishReason::kCancelled);
  EXPECT_TRUE(engine.all_blocks_free());
}

TEST(PinnedPrefixes, ErrorsSayWhatWasFoundAndExpected) {
  TestEngine engine(small_memory());
  Request request = pin_of(20);
  request.max_tokens = 3;
  EXPECT_EQ(engine.refusal(request), "pins: found true with max_tokens 3, expected -1: nothing is generated");
  request = pin_of(20);
  request.on_prompt_logits = [](int, std::span<const float>) {};
  EXPECT_EQ(engine.refusal(request), "pins: found true beside on_prompt_logits or embedding.on_rows, expected neither");
  TestEngineOptions tight = small_memory();
  tight.max_context = 200;
  TestEngine full(tight);
  EXPECT_EQ(
      full.refusal(pin_of(50)),
      "pins: found a prompt of 50 tokens, expected at most 36: pins leave room for a context of 200 tokens in the "
      "KV memory");
  tight = small_memory();
  tight.prefix_cache = false;
  TestEngine without(tight);
  EXPECT_EQ(without.refusal(pin_of(20)),
            "pins: found a prompt of 20 tokens, expected at most 0: pins leave room for a context of 80 tokens in the "
            "KV memory");
}

}  // namespace
}  // namespace octavo
