// Several answers to one prompt: computed once, forked, and each the answer that its choice gives alone.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <limits>
#include <map>

#include "engine/test_engine.h"

namespace octavo {
namespace {

using test::Answer;
using test::make_request;
using test::reference_answer;
using test::TestEngine;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

Request with_choices(Request request, int num_choices, std::uint32_t first_choice = 0) {
  request.num_choices = num_choices;
  request.first_choice = first_choice;
  return request;
}

void expect_answers(TestEngine& engine, RequestId id, const Request& request) {
  for (int i = 0; i < request.num_choices; ++i) {
    const Answer& answer = engine.answer(id, i);
    EXPECT_TRUE(answer.same_tokens(reference_answer(request, 32, engine.runner().windows(), i)))
        << "request " << id << ", choice " << i;
    EXPECT_EQ(answer.num_last_events, 1);
    EXPECT_EQ(answer.stats.prompt_tokens, static_cast<int>(request.tokens.size()));
  }
}

TEST(Choices, EachIsWhatItGivesAlone) {
  for (const std::vector<int>& windows : {std::vector{0}, std::vector{0, 6}, std::vector{9},
                                          std::vector{test::kRecurrent, 0}, std::vector{0, test::chunks_of(8)}}) {
    const Request request = with_choices(make_request(10, 20), 5);
    TestEngine engine({.runner = {.windows = windows}});
    const RequestId id = engine.submit(request);
    engine->run();
    expect_answers(engine, id, request);
    EXPECT_NE(engine.answer(id, 0).tokens, engine.answer(id, 1).tokens);
    for (std::uint32_t i = 0; i < 5; ++i) {
      TestEngine alone({.runner = {.windows = windows}});
      EXPECT_TRUE(
          alone.run(with_choices(make_request(10, 20), 1, i)).same_tokens(engine.answer(id, static_cast<int>(i))));
    }
    EXPECT_TRUE(engine.all_blocks_free());
  }
}

TEST(Choices, PromptIsComputedOnce) {
  TestEngine engine({.limits = {.max_step_tokens = 16}});
  const Request request = with_choices(make_request(50, 8), 6);
  const RequestId id = engine.submit(request);
  engine->run();
  expect_answers(engine, id, request);
  EXPECT_EQ(engine.runner().num_rows(), 50 + 6 * 7);
  EXPECT_EQ(engine->stats().cached_tokens, 0U);
}

TEST(Choices, BlockThatTheyAllWriteIntoIsCopiedOnceLessThanThereAreChoices) {
  TestEngine engine;
  const Request request = with_choices(make_request(10, 5), 6);  // the third block is half full
  const RequestId id = engine.submit(request);
  engine->run();
  expect_answers(engine, id, request);
  EXPECT_EQ(engine.runner().num_copies(), 5);
  EXPECT_EQ(engine->stats().kv.copies, 5U);
}

TEST(Choices, UnderPreemptionEachIsStillWhatItGivesAlone) {
  TestEngine engine({.runner = {.num_blocks = 14}, .max_context = 56});
  const Request first = with_choices(make_request(9, 30, 1), 5), second = with_choices(make_request(7, 30, 2), 3, 100);
  const RequestId a = engine.submit(first), b = engine.submit(second);
  while (engine->step()) ASSERT_TRUE(engine->check_integrity());
  EXPECT_GT(engine->stats().preemptions, 0U);
  expect_answers(engine, a, first);
  expect_answers(engine, b, second);
  EXPECT_TRUE(engine.all_blocks_free());
}

TEST(Choices, PromptPreemptedBeforeItsForksIsReadAgain) {
  TestEngine engine({.runner = {.num_blocks = 16}, .max_context = 64, .limits = {.max_step_tokens = 6}});
  const Request older = make_request(20, 40, 9), forked = with_choices(make_request(30, 12, 2), 3);
  const RequestId a = engine.submit(older);
  while (engine.answer(a).tokens.empty()) engine->step();
  const RequestId b = engine.submit(forked);
  while (engine->step()) ASSERT_TRUE(engine->check_integrity());
  EXPECT_TRUE(engine.answer(a).same_tokens(reference_answer(older, 32)));
  expect_answers(engine, b, forked);
}

TEST(Choices, RunOneAfterTheOtherWhereThereIsOneBlock) {
  TestEngine engine({.runner = {.block_size = 64, .num_blocks = 1}, .max_context = 64});
  const Request request = with_choices(make_request(10, 20), 4);
  const RequestId id = engine.submit(request);
  engine->run();
  expect_answers(engine, id, request);
}

TEST(Choices, EventsNameTheChoiceAndEachEndsOnItsOwn) {
  TestEngine engine;
  std::vector<std::uint32_t> ended;
  std::vector<int> tokens(3);
  Request request = with_choices(make_request(5, 4), 3, 7);
  const auto id = engine->submit(std::move(request), [&](const TokenEvent& event) {
    ASSERT_GE(event.choice, 7U);
    ++tokens.at(event.choice - 7);
    if (event.finish == FinishReason::kNone) return;
    ended.push_back(event.choice);
    EXPECT_EQ(event.stats.generated_tokens, 4);
  });
  ASSERT_TRUE(id);
  engine->run();
  EXPECT_THAT(tokens, ElementsAre(4, 4, 4));
  EXPECT_THAT(ended, ElementsAre(7, 8, 9));
}

TEST(Choices, CancelEndsThoseThatAreLeft) {
  for (const int steps : {0, 1, 2, 4}) {
    TestEngine engine({.limits = {.max_step_tokens = 8}});
    const RequestId id = engine.submit(with_choices(make_request(12, 20), 3));
    for (int i = 0; i < steps; ++i) engine->step();
    engine->cancel(id);
    EXPECT_TRUE(engine.all_blocks_free());
    for (int i = 0; i < 3; ++i) {
      EXPECT_EQ(engine.answer(id, i).finish, FinishReason::kCancelled) << steps;
      EXPECT_EQ(engine.answer(id, i).num_last_events, 1);
    }
    EXPECT_FALSE(engine->step());
    EXPECT_TRUE(engine->check_integrity());
  }
}

TEST(Choices, CallbackOfOneMayCancelAll) {
  TestEngine engine;
  RequestId own = 0;
  int last_events = 0, events = 0;
  const auto id = engine->submit(with_choices(make_request(5, 9), 4), [&](const TokenEvent& event) {
    last_events += event.finish != FinishReason::kNone ? 1 : 0;
    if (++events == 2) engine->cancel(own);
  });
  ASSERT_TRUE(id);
  own = *id;
  engine->run();
  EXPECT_EQ(last_events, 4);
  EXPECT_EQ(events, 2 + 4);
  EXPECT_TRUE(engine.all_blocks_free());
}

/// A target that every step misses: of choices that do not begin with their prompt's last row one begins in each.
constexpr double kNoTime = 1e-6;

TEST(Choices, ThoseThatBeginInLaterStepsAreStillWhatTheyGiveAlone) {
  for (const std::vector<int>& windows : {std::vector{0}, std::vector{0, 6}, std::vector{9},
                                          std::vector{test::kRecurrent, 0}, std::vector{0, test::chunks_of(8)}}) {
    for (const int prompt_tokens : {1, 8, 9, 11}) {  // blocks have four
      const Request request = with_choices(make_request(prompt_tokens, 6), 9);
      TestEngine engine({.runner = {.windows = windows}, .limits = {.step_ms = kNoTime}});
      const RequestId id = engine.submit(request);
      std::size_t num_begun = 0;
      while (num_begun == 0) {
        engine->step();
        for (int i = 0; i < 9; ++i) num_begun += engine.answer(id, i).tokens.size();
      }
      EXPECT_LE(num_begun, 2U) << "as long as nobody knows what a draw costs";
      while (engine->step()) ASSERT_TRUE(engine->check_integrity());
      expect_answers(engine, id, request);
      EXPECT_EQ(engine.runner().num_rows(), prompt_tokens + 9 * 5) << "the prompt's last row is not computed again";
      EXPECT_TRUE(engine.all_blocks_free());
    }
  }
}

TEST(Choices, StepsBeginNoMoreThanTheirDrawsHaveTimeFor) {
  TestEngine engine({.runner = {.num_blocks = 256}, .limits = {.step_ms = 10}});
  std::map<std::uint32_t, int> begun_in;  // the step, of a choice
  int step = 0;
  const auto id = engine->submit(with_choices(make_request(8, 2), 40), [&](const TokenEvent& event) {
    begun_in.emplace(event.choice, step);
    const auto until = std::chrono::steady_clock::now() + std::chrono::milliseconds(1);
    while (std::chrono::steady_clock::now() < until) {  // events count as their draws do
    }
  });
  ASSERT_TRUE(id);
  for (; engine->step(); ++step) {
  }
  std::map<int, int> num_in;
  for (const auto& [choice, in] : begun_in) ++num_in[in];
  EXPECT_EQ(begun_in.size(), 40U);
  for (const auto& [in, count] : num_in) EXPECT_LE(count, 10) << "step " << in;
  EXPECT_LE(num_in.begin()->second, 2);
}

TEST(Choices, WhereNoneOfThoseThatHaveBegunGoesOnTheOthersBeginInStepsWithoutRows) {
  TestEngine engine({.limits = {.step_ms = kNoTime}});
  const Request request = with_choices(make_request(10, 1), 9);
  const RequestId id = engine.submit(request);
  while (engine->step()) ASSERT_TRUE(engine->check_integrity());
  expect_answers(engine, id, request);
  EXPECT_EQ(engine.runner().num_rows(), 10);
  EXPECT_TRUE(engine.all_blocks_free());
}

TEST(Choices, UnderPreemptionThoseThatBeginInLaterStepsAreStillWhatTheyGiveAlone) {
  for (const std::vector<int>& windows : {std::vector{0}, std::vector{9}, std::vector{test::kRecurrent, 0}}) {
    TestEngine engine(
        {.runner = {.num_blocks = 14, .windows = windows}, .max_context = 56, .limits = {.step_ms = kNoTime}});
    const Request first = with_choices(make_request(9, 30, 1), 5),
                  second = with_choices(make_request(7, 30, 2), 3, 100);
    const RequestId a = engine.submit(first), b = engine.submit(second);
    while (engine->step()) ASSERT_TRUE(engine->check_integrity());
    EXPECT_GT(engine->stats().preemptions, 0U);
    expect_answers(engine, a, first);
    expect_answers(engine, b, second);
    EXPECT_TRUE(engine.all_blocks_free());
  }
}

TEST(Choices, CancelEndsThoseThatHaveNotBegunAsWell) {
  for (int steps = 0; steps < 12; ++steps) {
    TestEngine engine({.limits = {.max_step_tokens = 8, .step_ms = kNoTime}});
    const RequestId id = engine.submit(with_choices(make_request(12, 20), 8));
    for (int i = 0; i < steps; ++i) engine->step();
    engine->cancel(id);
    EXPECT_TRUE(engine.all_blocks_free());
    for (int i = 0; i < 8; ++i) {
      EXPECT_EQ(engine.answer(id, i).finish, FinishReason::kCancelled) << steps;
      EXPECT_EQ(engine.answer(id, i).num_last_events, 1);
    }
    EXPECT_EQ(engine->stats().finished, 8U);
    EXPECT_FALSE(engine->step());
    EXPECT_TRUE(engine->check_integrity());
  }
}

TEST(Choices, AnotherOwnerTakesThePlacesOfThoseThatHaveNotBegun) {
  TestEngine engine({.limits = {.max_sequences = 8, .step_ms = kNoTime}});
  Request many = with_choices(make_request(12, 20, 1), 8), one = make_request(5, 10, 2);
  many.owner = "many";
  one.owner = "one";
  const RequestId a = engine.submit(many);
  while (engine.answer(a, 0).tokens.empty()) engine->step();
  const RequestId b = engine.submit(one);
  while (engine.answer(b).tokens.size() < 10) {
    ASSERT_TRUE(engine->step());
    ASSERT_TRUE(engine->check_integrity());
  }
  EXPECT_EQ(engine.answer(a, 7).num_last_events, 0);
  engine->run();
  expect_answers(engine, a, many);
  expect_answers(engine, b, one);
}

TEST(Choices, ProgressOfTheirPromptIsToldOnceHoweverLateTheyBegin) {
  TestEngine engine({.limits = {.max_step_tokens = 8, .step_ms = kNoTime}});
  Request request = with_choices(make_request(20, 5), 6);
  std::vector<int> computed;
  request.on_prompt_progress = [&](const PromptProgress& progress) { computed.push_back(progress.computed_tokens); };
  const RequestId id = engine.submit(request);
  engine->run();
  EXPECT_EQ(std::ranges::count(computed, 20), 1);
  EXPECT_EQ(computed.back(), 20);
  request.on_prompt_progress = {};
  expect_answers(engine, id, request);
}

TEST(Choices, PromptLogitsComeOnce) {
  TestEngine engine;
  int rows = 0;
  Request request = with_choices(make_request(20, 5), 3);
  request.on_prompt_logits = [&](int, std::span<const float> logits) { rows += static_cast<int>(logits.size() / 32); };
  const RequestId id = engine.submit(request);
  engine->run();
  EXPECT_EQ(rows, 20);
  expect_answers(engine, id, request);
}

TEST(Choices, MoreThanOneStepAdvancesAreRefusedWithTheNumbers) {
  TestEngine engine({.limits = {.max_sequences = 5}});
  EXPECT_THAT(engine.refusal(with_choices(make_request(5, 5), 6)),
              AllOf(HasSubstr("num_choices: found 6"), HasSubstr("1 to 5")));
  EXPECT_THAT(engine.refusal(with_choices(make_request(5, 5), 0)), HasSubstr("num_choices: found 0"));
  EXPECT_EQ(engine.refusal(with_choices(make_request(5, 5), 5)), "accepted");
  TestEngine large({.limits = {.max_sequences = 500}});
  EXPECT_THAT(large.refusal(with_choices(make_request(5, 5), 129)), HasSubstr("1 to 128"));
  EXPECT_THAT(large.refusal(with_choices(make_request(5, 5), 2, std::numeric_limits<std::uint32_t>::max())),
              HasSubstr("first_choice: found 4294967295, expected at most 4294967294"));
  Request nothing = with_choices(make_request(5, -1), 2);
  nothing.on_prompt_logits = [](int, std::span<const float>) {};
  EXPECT_THAT(large.refusal(nothing), HasSubstr("nothing is generated"));
}

}  // namespace
}  // namespace octavo
