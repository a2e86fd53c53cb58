// Prompts that begin alike share blocks, with the answers that they give alone: hits, publication in flight, domains,
// windows.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <thread>

#include "engine/test_engine.h"

namespace octavo {
namespace {

using test::Answer;
using test::make_request;
using test::reference_answer;
using test::TestEngine;

/// Prompts of one `document` begin with the same tokens, as many as `shared`; the rest is a function of `seed`.
Request make_shared(int shared, int prompt_tokens, int max_tokens, std::uint64_t seed, std::uint64_t document = 77) {
  Request request = make_request(prompt_tokens, max_tokens, seed);
  const Request common = make_request(shared, 1, document);
  std::ranges::copy(common.tokens, request.tokens.begin());
  return request;
}

TEST(Sharing, CacheHitGivesTheAnswerOfAMiss) {
  for (const std::vector<int>& windows : {std::vector{0}, std::vector{0, 6}, std::vector{9}}) {
    SCOPED_TRACE(testing::PrintToString(windows));
    TestEngine engine({.runner = {.windows = windows}});
    const Request request = make_request(30, 12);
    const Answer expected = reference_answer(request, 32, engine.runner().windows());
    const Answer miss = engine.run(request);
    const int rows = engine.runner().num_rows();
    const Answer hit = engine.run(request);
    EXPECT_EQ(miss.stats.cached_tokens, 0);
    EXPECT_EQ(hit.stats.cached_tokens, 28);  // whole blocks of 4, and the last token never
    EXPECT_EQ(engine.runner().num_rows() - rows, 2 + 11);
    EXPECT_TRUE(miss.same_tokens(expected));
    EXPECT_TRUE(hit.same_tokens(expected));
    EXPECT_EQ(engine->stats().cached_tokens, 28U);
    EXPECT_EQ(engine->stats().computed_tokens, 30U + 11 + 2 + 11);
    EXPECT_TRUE(engine.all_blocks_free());
    EXPECT_GT(engine->stats().kv.blocks_cached, 0);
  }
}

TEST(Sharing, AnswersAreFoundAgainAsPromptsOfTheNextTurn) {
  TestEngine engine;
  const Request first = make_request(10, 15);
  const Answer answer = engine.run(first);
  Request second = make_request(40, 5, 3);
  std::ranges::copy(first.tokens, second.tokens.begin());
  std::ranges::copy(answer.tokens, second.tokens.begin() + 10);
  const Answer next = engine.run(second);
  EXPECT_EQ(next.stats.cached_tokens, 24);  // 10 + 14 tokens were computed
  EXPECT_TRUE(next.same_tokens(reference_answer(second, 32)));
}

TEST(Sharing, RequestAttachesToWhatAnotherHasComputedSoFarOfItsPrompt) {
  TestEngine engine({.limits = {.max_step_tokens = 16}});
  const Request first = make_shared(60, 62, 4, 1), second = make_shared(60, 61, 4, 2);
  const RequestId a = engine.submit(first);
  engine->step();
  engine->step();
  const RequestId b = engine.submit(second);  // the first is half way through its prompt
  engine->step();
  EXPECT_TRUE(engine.answer(a).tokens.empty());
  engine->run();
  EXPECT_GE(engine.answer(b).stats.cached_tokens, 32);
  EXPECT_TRUE(engine.answer(a).same_tokens(reference_answer(first, 32)));
  EXPECT_TRUE(engine.answer(b).same_tokens(reference_answer(second, 32)));
}

TEST(Sharing, ManyRequestsForOneDocumentComputeItLittleMoreThanOnce) {
  TestEngine engine({.runner = {.num_blocks = 200}, .limits = {.max_step_tokens = 32}});
  std::vector<std::pair<RequestId, Request>> submitted;
  for (std::uint64_t i = 0; i < 12; ++i) {
    const Request request = make_shared(100, 104, 3, i);
    submitted.emplace_back(engine.submit(request), request);
  }
  engine->run();
  for (const auto& [id, request] : submitted) {
    EXPECT_TRUE(engine.answer(id).same_tokens(reference_answer(request, 32))) << "request " << id;
  }
  EXPECT_LT(engine->stats().computed_tokens, 2U * 100 + 12 * (4 + 4 + 2));  // 12 x 104 + 24 without sharing
}

TEST(Sharing, OwnerThatEndsInItsPrefillLeavesItsWaitersWhatItComputed) {
  for (const bool expires : {false, true}) {
    TestEngine engine({.limits = {.max_step_tokens = 16}});
    Request owner = make_shared(60, 62, 4, 1);
    if (expires) owner.deadline_s = 0.005;
    const Request second = make_shared(60, 62, 4, 2), third = make_shared(60, 63, 4, 3);
    const RequestId a = engine.submit(owner), b = engine.submit(second), c = engine.submit(third);
    engine->step();
    engine->step();
    if (expires) {
      std::this_thread::sleep_for(std::chrono::milliseconds(6));
    } else {
      engine->cancel(a);
    }
    engine->run();
    EXPECT_EQ(engine.answer(a).finish, expires ? FinishReason::kDeadline : FinishReason::kCancelled);
    EXPECT_TRUE(engine.answer(b).same_tokens(reference_answer(second, 32)));
    EXPECT_TRUE(engine.answer(c).same_tokens(reference_answer(third, 32)));
    // The document once, of the two that are left their own tokens, at most a block more each, and three decode rows.
    EXPECT_LE(engine->stats().computed_tokens, 60U + 2 + 3 + 2 * 4 + 2 * 3);
  }
}

TEST(Sharing, DomainsDoNotSeeEachOther) {
  TestEngine engine;
  Request request = make_request(30, 5);
  request.cache_domain = "one key";
  engine.run(request);
  const Answer same = engine.run(request);
  request.cache_domain = "another key";
  const Answer other = engine.run(request);
  request.cache_domain = "";
  const Answer none = engine.run(request);
  EXPECT_EQ(same.stats.cached_tokens, 28);
  EXPECT_EQ(other.stats.cached_tokens, 0);
  EXPECT_EQ(none.stats.cached_tokens, 0);
  EXPECT_TRUE(other.same_tokens(same));
  EXPECT_TRUE(none.same_tokens(same));
}

TEST(Sharing, WithoutAPrefixCacheNothingIsShared) {
  TestEngine engine({.prefix_cache = false});
  engine.run(make_request(30, 5));
  const Answer again = engine.run(make_request(30, 5));
  EXPECT_EQ(again.stats.cached_tokens, 0);
  EXPECT_EQ(engine->stats().kv.blocks_cached, 0);
  EXPECT_TRUE(again.same_tokens(reference_answer(make_request(30, 5), 32)));
}

TEST(Sharing, RequestForPromptLogitsComputesEveryRow) {
  TestEngine engine;
  engine.run(make_request(30, 5));
  Request request = make_request(30, 5);
  std::size_t rows = 0;
  request.on_prompt_logits = [&](int first, std::span<const float> logits) {
    EXPECT_EQ(static_cast<std::size_t>(first), rows);
    rows += logits.size() / 32;
  };
  const Answer answer = engine.run(request);
  EXPECT_EQ(rows, 30U);
  EXPECT_EQ(answer.stats.cached_tokens, 0);
  EXPECT_TRUE(answer.same_tokens(reference_answer(make_request(30, 5), 32)));
}

// Its tail went to a request of higher priority that was gone before it had written all of it.
TEST(Sharing, PreemptedSequenceAttachesAgainToWhatIsStillCached) {
  TestEngine engine({.runner = {.num_blocks = 8}, .max_context = 32, .limits = {.max_step_tokens = 8}});
  const Request request = make_request(24, 8);
  const RequestId low = engine.submit(request);
  for (int i = 0; i < 3; ++i) engine->step();
  Request urgent = make_request(20, 4, 2);
  urgent.priority = 1;
  const RequestId high = engine.submit(urgent);
  engine->step();
  EXPECT_GT(engine->stats().preempted_blocks, 1U);
  engine->cancel(high);
  engine->run();
  EXPECT_EQ(engine->stats().computed_tokens, 24U + 8 + 7) << "nothing twice";
  EXPECT_EQ(engine->stats().cached_tokens, 0U) << "nobody else computed anything of it";
  EXPECT_TRUE(engine.answer(low).same_tokens(reference_answer(request, 32)));
  EXPECT_EQ(engine.answer(low).stats.cached_tokens, 0);
}

// Every row is one of a prompt, and none is computed twice where no block was taken: what a request did not compute,
// others did, also where it was set aside in the middle.
TEST(Sharing, WhatOthersComputedIsCountedOnceThroughPreemptions) {
  int set_aside = 0;
  for (std::uint64_t run = 0; run < 300; ++run) {
    const auto number = [run](std::uint64_t i, std::uint64_t below) {
      return static_cast<int>(test::mix(run * 100 + i) % below);
    };
    TestEngine engine({.runner = {.num_blocks = 16 + number(0, 10)},
                       .max_context = 60,
                       .limits = {.max_step_tokens = 4 + 4 * number(1, 3)}});
    std::vector<RequestId> ids;
    int prompt_tokens = 0, cached_tokens = 0;
    std::uint64_t looked_for = 0;
    for (std::uint64_t i = 0; i < 5; ++i) {
      Request request = make_request(20 + number(10 * i + 2, 30), 1, i % 2 == 0 ? 1 : 10 + i);
      request.priority = number(10 * i + 3, 6);
      prompt_tokens += static_cast<int>(request.tokens.size());
      looked_for += (request.tokens.size() - 1) / 4 * 4;
      ids.push_back(engine.submit(request));
      for (int steps = number(10 * i + 4, 3); steps > 0; --steps) engine->step();
    }
    engine->run();
    for (const RequestId id : ids) cached_tokens += engine.answer(id).stats.cached_tokens;
    const EngineStats stats = engine->stats();
    EXPECT_EQ(stats.cached_tokens, static_cast<std::uint64_t>(cached_tokens)) << run;
    EXPECT_EQ(stats.kv.hits, stats.cached_tokens) << run;
    EXPECT_EQ(stats.kv.hits + stats.kv.misses, looked_for) << "once a prompt, however often it is looked for";
    if (stats.preempted_blocks > 0) continue;
    set_aside += static_cast<int>(stats.preemptions);
    EXPECT_EQ(static_cast<int>(stats.computed_tokens) + cached_tokens, prompt_tokens) << run;
  }
  EXPECT_GT(set_aside, 0);
}

TEST(Sharing, SharedBlocksMakeRoomForMoreSequences) {
  // 20 blocks: three prompts of 8 blocks do not fit beside each other, three that share 7 do.
  TestEngine engine({.runner = {.num_blocks = 20}, .max_context = 40});
  engine.run(make_shared(28, 30, 2, 1));
  std::vector<std::pair<RequestId, Request>> submitted;
  for (std::uint64_t i = 2; i < 5; ++i) {
    const Request request = make_shared(28, 30, 3, i);
    submitted.emplace_back(engine.submit(request), request);
  }
  engine->step();
  EXPECT_EQ(engine.runner().max_sequences_seen(), 3);
  engine->run();
  for (const auto& [id, request] : submitted) {
    EXPECT_TRUE(engine.answer(id).same_tokens(reference_answer(request, 32))) << "request " << id;
  }
  EXPECT_EQ(engine->stats().preemptions, 0U);
}

TEST(Windows, SequenceLongerThanItsPoolRunsInIt) {
  for (const int window : {1, 4, 5, 9}) {
    TestEngine engine({.runner = {.num_blocks = 4, .windows = {window}}, .limits = {.max_step_tokens = 512}});
    EXPECT_EQ(engine->info().max_context, 200);
    const Request request = make_request(120, 60);
    EXPECT_TRUE(engine.run(request).same_tokens(reference_answer(request, 32, engine.runner().windows()))) << window;
    EXPECT_TRUE(engine.all_blocks_free());
  }
}

TEST(Windows, ManyLongSequencesShareASmallPoolAndAllEnd) {
  TestEngine engine({.runner = {.num_blocks = 9, .windows = {7}}, .limits = {.max_step_tokens = 24}});
  std::vector<std::pair<RequestId, Request>> submitted;
  for (std::uint64_t i = 0; i < 8; ++i) {
    const Request request = make_shared(static_cast<int>(i) * 5, 80, 40, i);
    submitted.emplace_back(engine.submit(request), request);
  }
  while (engine->step()) ASSERT_TRUE(engine->check_integrity());
  for (const auto& [id, request] : submitted) {
    EXPECT_TRUE(engine.answer(id).same_tokens(reference_answer(request, 32, engine.runner().windows()))) << id;
  }
  EXPECT_TRUE(engine.all_blocks_free());
}

TEST(Windows, GroupsOfDifferentWindowsGiveBackEachItsOwn) {
  TestEngine engine({.runner = {.num_blocks = 40, .windows = {5, 0, 11}}, .max_context = 150});
  const Request request = make_request(100, 40);
  const RequestId id = engine.submit(request);
  for (int i = 0; i < 10; ++i) engine->step();
  const KvStats stats = engine->stats().kv;  // 109 positions: 28 blocks, and the last 4 and 10 positions of the others
  EXPECT_LE(stats.blocks_referenced, 28 + 2 + 4);
  engine->run();
  EXPECT_TRUE(engine.answer(id).same_tokens(reference_answer(request, 32, engine.runner().windows())));
}

}  // namespace
}  // namespace octavo
