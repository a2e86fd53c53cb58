// The bounds of the queue: how many requests may wait, and how many of one owner.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/test_engine.h"

namespace octavo {
namespace {

using test::make_request;
using test::TestEngine;
using ::testing::AllOf;
using ::testing::HasSubstr;

TEST(QueueBound, OneMoreIsRefusedUntilSomebodyIsAdmitted) {
  TestEngine engine({.limits = {.max_sequences = 1}, .max_queued = 2});
  const RequestId first = engine.submit(make_request(5, 3));
  engine.submit(make_request(5, 3));
  const auto refused = engine->submit(make_request(5, 3), {});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().kind, ErrorKind::kQueueFull);
  EXPECT_THAT(refused.error().message, HasSubstr("2 requests"));
  engine->step();  // the first is admitted
  engine.submit(make_request(5, 3));
  EXPECT_FALSE(engine->submit(make_request(5, 3), {}));
  engine->run();
  EXPECT_EQ(engine.answer(first).finish, FinishReason::kLength);
  EXPECT_TRUE(engine->submit(make_request(5, 3), {}));
}

TEST(QueueBound, CancelledRequestsLeaveTheQueue) {
  TestEngine engine({.limits = {.max_sequences = 1}, .max_queued = 2});
  engine.submit(make_request(5, 3));
  const RequestId second = engine.submit(make_request(5, 3));
  engine->cancel(second);
  EXPECT_TRUE(engine->submit(make_request(5, 3), {}));
  engine->run();
}

TEST(QueueBound, PromptsCountOnceForEachChoice) {
  TestEngine engine({.limits = {.max_sequences = 4}, .max_queued_tokens = 100});
  const auto of_choices = [](int prompt_tokens, int num_choices) {
    Request request = make_request(prompt_tokens, 3);
    request.num_choices = num_choices;
    return request;
  };
  engine.submit(of_choices(25, 4));
  engine->step();  // it is admitted, and takes every place
  engine.submit(of_choices(20, 3));
  const auto refused = engine->submit(of_choices(20, 3), {});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().kind, ErrorKind::kQueueFull);
  EXPECT_THAT(refused.error().message, HasSubstr("60 tokens of prompts waiting and 60 more, expected at most 100"));
  engine.submit(of_choices(20, 2));
  EXPECT_FALSE(engine->submit(of_choices(1, 1), {}));
  engine->run();
  EXPECT_TRUE(engine->submit(of_choices(20, 3), {}));
}

TEST(QueueBound, WhatCouldNeverWaitIsAWrongRequest) {
  TestEngine engine({.max_queued_tokens = 100});
  Request request = make_request(40, 3);
  request.num_choices = 3;
  const auto refused = engine->submit(request, {});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().kind, ErrorKind::kOther);
  EXPECT_THAT(refused.error().message, AllOf(HasSubstr("found 120"), HasSubstr("at most 100")));
}

/// The number of an owner's requests that are taken until one is refused.
int num_taken(TestEngine& engine, const std::string& owner, int prompt_tokens) {
  for (int count = 0;; ++count) {
    Request request = make_request(prompt_tokens, 3);
    request.owner = owner;
    const auto id = engine->submit(request, {});
    if (id) continue;
    EXPECT_EQ(id.error().kind, ErrorKind::kQueueFull);
    return count;
  }
}

TEST(QueueBound, OneClientLeavesAFifthOfItToOthersAndASecondOneAFifthOfThat) {
  TestEngine requests({.limits = {.max_sequences = 1}, .max_queued = 100});
  EXPECT_EQ(num_taken(requests, "first", 5), 80);
  EXPECT_EQ(num_taken(requests, "second", 5), 16);
  EXPECT_EQ(num_taken(requests, "third", 5), 4);
  EXPECT_EQ(num_taken(requests, "fourth", 5), 0);
  TestEngine tokens({.limits = {.max_sequences = 1}, .max_queued_tokens = 1000});
  EXPECT_EQ(num_taken(tokens, "first", 10), 80);
  EXPECT_EQ(num_taken(tokens, "second", 10), 16);
  EXPECT_EQ(num_taken(tokens, "third", 10), 4);
  EXPECT_EQ(num_taken(tokens, "fourth", 10), 0);
}

TEST(QueueBound, RequestsOfNobodyInParticularMayTakeAllOfIt) {
  TestEngine engine({.limits = {.max_sequences = 1}, .max_queued = 100});
  EXPECT_EQ(num_taken(engine, "", 5), 100);
}

TEST(Owner, TooLongANameIsRefusedWithBothNumbers) {
  TestEngine engine;
  Request request = make_request(5, 3);
  request.owner.assign(257, 'x');
  EXPECT_THAT(engine.refusal(request), AllOf(HasSubstr("owner: found 257 bytes"), HasSubstr("at most 256")));
}

}  // namespace
}  // namespace octavo
