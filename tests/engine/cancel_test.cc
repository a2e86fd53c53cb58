// Cancels that meet: from several threads, before a request's time, and where the system has no memory for a step.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <new>
#include <thread>

#include "engine/test_engine.h"

namespace octavo {
namespace {

using test::make_request;
using test::reference_answer;
using test::TestEngine;

TEST(Cancel, FromSeveralThreadsWhileNobodyStepsEndsThemAll) {
  TestEngine engine;
  for (int round = 0; round < 200; ++round) {
    std::atomic<int> ended = 0;
    std::vector<RequestId> ids;
    for (std::uint64_t i = 0; i < 3; ++i) {
      const auto id = engine->submit(make_request(8, 20, i), [&](const TokenEvent& event) {
        ended += event.finish == FinishReason::kCancelled ? 1 : 0;
      });
      ASSERT_TRUE(id);
      ids.push_back(*id);
    }
    if (round % 2 == 0) engine->step();
    {
      std::vector<std::jthread> threads;
      for (const RequestId id : ids) threads.emplace_back([&, id] { engine->cancel(id); });
      threads.emplace_back([&] {
        for (int i = 0; i < 20; ++i) engine->stats();
      });
    }
    ASSERT_EQ(ended, 3) << round;
    ASSERT_TRUE(engine.all_blocks_free());
  }
  EXPECT_FALSE(engine->step());
}

/// The end of a text that is cancelled while a long step computes it.
FinishReason end_of_text_cancelled_in_step(bool also_others) {
  TestEngine* made = nullptr;
  RequestId text = 0;
  TestEngine engine({.runner = {.is_encoder = true, .asks_whether_wanted = true, .before_forward = [&] {
                                  std::jthread([&] { (*made)->cancel(text); }).join();
                                }}});
  made = &engine;
  FinishReason finish = FinishReason::kNone, of_other = FinishReason::kNone;
  const auto submit = [&](FinishReason& told) {
    Request request = make_request(8, -1);
    request.embedding.on_rows = [](int, int, std::span<const float>) {};
    return *engine->submit(std::move(request), [&told](const TokenEvent& event) { told = event.finish; });
  };
  text = submit(finish);
  if (also_others) submit(of_other);
  engine->run();
  EXPECT_TRUE(engine.all_blocks_free());
  EXPECT_EQ(engine.runner().num_forwards(), also_others ? 1 : 0);
  EXPECT_EQ(of_other, also_others ? FinishReason::kLength : FinishReason::kNone);
  return finish;
}

TEST(Cancel, AStepWhoseTextsAreAllCancelledEndsInItsMidst) {
  EXPECT_EQ(end_of_text_cancelled_in_step(false), FinishReason::kCancelled);
}

TEST(Cancel, AStepThatSomebodyElseWantsGoesOn) {
  EXPECT_EQ(end_of_text_cancelled_in_step(true), FinishReason::kLength) << "its rows were there when it was heard";
}

// A thread that holds a lock while it cancels is not waited for by a callback that takes the lock.
TEST(Cancel, CallbackThatWaitsForAnotherCancelGetsThere) {
  TestEngine engine;
  std::atomic<bool> in_callback = false, other_done = false;
  std::atomic<int> ended = 0;
  const auto first = engine->submit(make_request(8, 20), [&](const TokenEvent&) {
    ++ended;
    in_callback = true;
    other_done.wait(false);
  });
  const auto second = engine->submit(make_request(8, 20), [&](const TokenEvent&) { ++ended; });
  ASSERT_TRUE(first && second);
  {
    const std::jthread other([&] {
      in_callback.wait(false);
      engine->cancel(*second);
      other_done = true;
      other_done.notify_all();
    });
    const std::jthread one([&] {
      in_callback.notify_all();
      engine->cancel(*first);
    });
    while (!in_callback) std::this_thread::yield();
    in_callback.notify_all();
  }
  EXPECT_EQ(ended, 2);
  EXPECT_TRUE(engine.all_blocks_free());
}

TEST(Cancel, OfAnIdThatIsNobodysYetDoesNotMeetWhoGetsIt) {
  TestEngine engine;
  RequestId next = 0;
  const auto id = engine->submit(make_request(5, 2), [&](const TokenEvent& event) {
    if (event.finish == FinishReason::kNone) return;
    engine->cancel(event.request + 1);
    next = engine.submit(make_request(7, 9));
    EXPECT_EQ(next, event.request + 1);
  });
  ASSERT_TRUE(id);
  engine->run();
  EXPECT_EQ(engine.answer(next).finish, FinishReason::kLength);
  engine->cancel(next + 1);
  EXPECT_EQ(engine.run(make_request(7, 9)).finish, FinishReason::kLength);
}

TEST(OutOfMemory, InAStepEndsThoseThatHadRowsAndOthersGoOn) {
  int steps = 0;
  TestEngine engine({.runner = {.before_forward =
                                    [&] {
                                      if (++steps == 3) throw std::bad_alloc();
                                    }},
                     .limits = {.max_sequences = 2}});
  Request choices = make_request(9, 8);
  choices.num_choices = 2;
  const RequestId lost = engine.submit(choices);
  const Request request = make_request(12, 6, 2);
  const RequestId waits = engine.submit(request);
  engine->run();
  for (int choice = 0; choice < 2; ++choice) {
    EXPECT_EQ(engine.answer(lost, choice).finish, FinishReason::kFailed);
    EXPECT_EQ(engine.answer(lost, choice).num_last_events, 1);
    EXPECT_EQ(engine.answer(lost, choice).tokens.size(), 2U);
  }
  EXPECT_TRUE(engine.answer(waits).same_tokens(reference_answer(request, 32)));
  EXPECT_TRUE(engine.all_blocks_free());
  EXPECT_TRUE(engine->check_integrity());
}

// The runner names the sequence, behind its rows: its router's scores are not finite, or its hidden rows.
TEST(NotFinite, EndsItsRequestAndNobodyElses) {
  constexpr TokenId kBad = 40;  // without a text, so it is never drawn
  for (const std::size_t at : {0, 20, 39}) {
    test::TestEngineOptions options{.runner = {.vocab_size = 64}, .limits = {.max_step_tokens = 16}};
    (at == 20 ? options.runner.spoiled_token : options.runner.not_finite_token) = kBad;
    TestEngine engine(options);
    const std::vector<Request> good = {make_request(40, 10, 1), make_request(9, 25, 2)};
    Request bad = good[0];  // shares its blocks with the first one as far as it can
    bad.tokens[at] = kBad;
    bad.num_choices = 2;
    std::vector<RequestId> ids;
    for (const Request& request : good) ids.push_back(engine.submit(request));
    const RequestId lost = engine.submit(bad);
    while (engine->step()) ASSERT_TRUE(engine->check_integrity());
    for (int choice = 0; choice < 2; ++choice) {
      EXPECT_EQ(engine.answer(lost, choice).finish, FinishReason::kNotFinite);
      EXPECT_TRUE(engine.answer(lost, choice).tokens.empty());
      EXPECT_EQ(engine.answer(lost, choice).num_last_events, 1);
    }
    for (std::size_t i = 0; i < good.size(); ++i) {
      TestEngine alone(options);
      EXPECT_TRUE(engine.answer(ids[i]).same_tokens(alone.run(good[i]))) << i;
      EXPECT_EQ(engine.answer(ids[i]).finish, FinishReason::kLength);
    }
    EXPECT_TRUE(engine.all_blocks_free());
    EXPECT_EQ(engine.run(bad).finish, FinishReason::kNotFinite) << "nothing of it was published";
  }
}

TEST(NotFinite, RowsOfAPromptWhoseLogitsAreWantedAreHandedOut) {
  TestEngine engine({.runner = {.spoiled_token = 7}});
  Request request = make_request(9, -1, 1);
  request.tokens[3] = 7;
  int num_rows = 0;
  request.on_prompt_logits = [&](int, std::span<const float> logits) {
    num_rows += static_cast<int>(logits.size()) / 32;
  };
  EXPECT_EQ(engine.run(request).finish, FinishReason::kLength);
  EXPECT_EQ(num_rows, 9);
}

}  // namespace
}  // namespace octavo
