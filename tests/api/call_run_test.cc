// The prompts of a call on their way through an engine: how many are in work, and how they end.
#include "api/call/call_run.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "base/error.h"
#include "support/no_text.h"

namespace octavo {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

/// Keeps requests until a test ends them.
class WaitingEngine final : public Engine {
 public:
  WaitingEngine() : Engine(std::make_shared<const test::NoText>()) {}

  bool is_full = false;
  bool ends_at_cancel = true;            // else with the next step, which does not come
  std::function<void()> in_submit = {};  // before a request is taken or refused
  std::vector<TokenId> submitted = {};   // the first token of each
  std::vector<double> deadlines = {};
  std::vector<RequestId> cancelled = {};
  std::map<RequestId, TokenCallback> active = {};

  EngineStats stats() const override { return {}; }
  Result<RequestId> submit(Request request, TokenCallback on_event) override {
    if (in_submit) in_submit();
    if (is_full) return fail_as(ErrorKind::kQueueFull, "the queue is full");
    submitted.push_back(request.tokens.front());
    deadlines.push_back(request.deadline_s);
    active[submitted.size()] = std::move(on_event);
    return submitted.size();
  }
  void cancel(RequestId id) override {
    cancelled.push_back(id);
    if (ends_at_cancel) end(id, FinishReason::kCancelled);
  }
  bool step() override { return false; }
  void run_until(std::stop_token) override {}
  void drain() override {}

  void end(RequestId id, FinishReason finish = FinishReason::kLength) {
    const TokenCallback on_event = std::move(active.at(id));
    active.erase(id);
    on_event({.request = id, .finish = finish});
  }
};

class CallRunTest : public testing::Test {
 protected:
  /// A run of prompts whose first tokens are their numbers.
  void open(CallPrompts prompts) {
    prompts.make = [this](std::size_t prompt) -> Result<Request> {
      return Request{.tokens = {static_cast<TokenId>(prompt)}, .deadline_s = deadline_s_};
    };
    prompts.on_event = [this](std::size_t prompt, const TokenEvent& event) {
      if (event.finish != FinishReason::kNone) ended_.push_back(prompt);
      if (goes_on_) EXPECT_TRUE(run_->go_on(run_));
    };
    run_ = std::make_shared<CallRun>(engine_, std::move(prompts));
  }
  Result<void> go_on() { return run_->go_on(run_); }

  WaitingEngine engine_;
  double deadline_s_ = 0;
  bool goes_on_ = false;  // behind each event
  std::vector<std::size_t> ended_;
  std::shared_ptr<CallRun> run_;
};

TEST_F(CallRunTest, SomePromptsAreInWorkAtATimeUntilAllHaveEnded) {
  open({.num_tokens = {1, 1, 1, 1}, .most_at_once = 2});
  ASSERT_TRUE(go_on());
  ASSERT_TRUE(go_on());
  EXPECT_THAT(engine_.submitted, ElementsAre(0, 1));
  EXPECT_TRUE(run_->has_left());
  engine_.end(2);
  ASSERT_TRUE(go_on());
  EXPECT_THAT(engine_.submitted, ElementsAre(0, 1, 2));
  goes_on_ = true;
  engine_.end(1);  // it is counted before it is told
  EXPECT_THAT(engine_.submitted, ElementsAre(0, 1, 2, 3));
  EXPECT_FALSE(run_->has_left());
  engine_.end(3);
  engine_.end(4);
  EXPECT_THAT(ended_, ElementsAre(1, 0, 2, 3));
  EXPECT_THAT(run_->requests(), ElementsAre(1, 2, 3, 4));
}

TEST_F(CallRunTest, TokensInWorkAreBoundedButForAPromptAlone) {
  open({.num_tokens = {50, 5, 5, 1}, .most_at_once = 10, .most_tokens_at_once = 10});
  ASSERT_TRUE(go_on());
  EXPECT_THAT(engine_.submitted, ElementsAre(0));
  engine_.end(1);
  ASSERT_TRUE(go_on());
  EXPECT_THAT(engine_.submitted, ElementsAre(0, 1, 2));
  run_->drop_bounds();
  ASSERT_TRUE(go_on());
  EXPECT_THAT(engine_.submitted, ElementsAre(0, 1, 2, 3));
}

TEST_F(CallRunTest, APromptHasEndedWithTheLastOfItsChoices) {
  open({.num_tokens = {1, 1}, .num_choices = 2, .most_at_once = 1});
  ASSERT_TRUE(go_on());
  EXPECT_EQ(run_->num_choices(), 2U);
  const TokenCallback on_event = engine_.active.at(1);
  on_event({.request = 1, .choice = 1, .finish = FinishReason::kStop});
  ASSERT_TRUE(go_on());
  EXPECT_THAT(engine_.submitted, ElementsAre(0));
  on_event({.request = 1, .finish = FinishReason::kStop});
  ASSERT_TRUE(go_on());
  EXPECT_THAT(engine_.submitted, ElementsAre(0, 1));
}

TEST_F(CallRunTest, AFullQueueIsWaitedForAsLongAsAPromptIsInWork) {
  open({.num_tokens = {1, 1, 1}, .most_at_once = 2});
  engine_.is_full = true;
  EXPECT_EQ(go_on().error().kind, ErrorKind::kQueueFull);
  EXPECT_EQ(run_->num_submitted(), 0U);
  engine_.is_full = false;
  engine_.in_submit = [this] { engine_.is_full = engine_.submitted.size() == 1; };
  EXPECT_TRUE(go_on());
  EXPECT_THAT(engine_.submitted, ElementsAre(0));
  engine_.in_submit = {};
  engine_.end(1);
  EXPECT_EQ(go_on().error().kind, ErrorKind::kQueueFull);
  engine_.is_full = false;
  EXPECT_TRUE(go_on());
  EXPECT_THAT(engine_.submitted, ElementsAre(0, 1, 2));
}

TEST_F(CallRunTest, WithoutBoundsAFullQueueIsAnError) {
  open({.num_tokens = {1, 1}});
  engine_.in_submit = [this] { engine_.is_full = engine_.submitted.size() == 1; };
  EXPECT_EQ(go_on().error().kind, ErrorKind::kQueueFull);
  EXPECT_EQ(run_->num_submitted(), 1U);
}

TEST_F(CallRunTest, ACancelEndsWhatIsInWorkAndSubmitsNothingMore) {
  open({.num_tokens = {1, 1, 1}, .most_at_once = 2});
  ASSERT_TRUE(go_on());
  engine_.end(1);
  goes_on_ = true;
  EXPECT_TRUE(run_->cancel()) << "of one prompt the engine has not heard";
  EXPECT_THAT(engine_.cancelled, ElementsAre(2));
  EXPECT_THAT(engine_.submitted, ElementsAre(0, 1));
  EXPECT_FALSE(run_->has_left());
  EXPECT_TRUE(run_->cancel());
  EXPECT_THAT(engine_.cancelled, ElementsAre(2)) << "it has ended";
}

TEST_F(CallRunTest, APromptOnItsWayIsCancelledWhenTheEngineHasIt) {
  open({.num_tokens = {1}});
  engine_.in_submit = [this] { EXPECT_FALSE(run_->cancel()); };
  EXPECT_TRUE(go_on());
  EXPECT_THAT(engine_.cancelled, ElementsAre(1));
  EXPECT_THAT(ended_, ElementsAre(0U));
}

TEST_F(CallRunTest, APromptThatFindsNoRoomWhileTheCallIsCancelledIsTold) {
  open({.num_tokens = {1, 1}, .most_at_once = 2});
  engine_.ends_at_cancel = false;
  engine_.in_submit = [this] {
    engine_.is_full = !engine_.submitted.empty();
    if (engine_.is_full) EXPECT_FALSE(run_->cancel()) << "the last one is on its way";
  };
  EXPECT_EQ(go_on().error().kind, ErrorKind::kStopped);
  EXPECT_THAT(engine_.cancelled, ElementsAre(1));
  EXPECT_EQ(run_->num_submitted(), 1U);
}

TEST_F(CallRunTest, ADeadlineCountsFromTheFirstPrompt) {
  deadline_s_ = 1e-9;
  open({.num_tokens = {1, 1}});
  ASSERT_TRUE(go_on());
  EXPECT_THAT(engine_.deadlines, ElementsAre(1e-9, kLeastDeadlineS));
}

TEST_F(CallRunTest, WhatHasNoMemoryIsAnError) {
  CallPrompts prompts{.num_tokens = {1}};
  prompts.make = [](std::size_t) -> Result<Request> { throw std::bad_alloc(); };
  run_ = std::make_shared<CallRun>(engine_, std::move(prompts));
  EXPECT_EQ(go_on().error().kind, ErrorKind::kOutOfMemory);
  EXPECT_THAT(engine_.submitted, IsEmpty());
}

}  // namespace
}  // namespace octavo
