// A step allocates nothing after warm-up: counted by replacing the program's operator new. Events that cannot be kept
// for want of memory: tested by letting it fail.
#include <gtest/gtest.h>

#include <array>
#include <chrono>

#include "engine/drawn_choice.h"
#include "engine/test_engine.h"
#include "octavo/token_stream.h"
#include "replaced_new.h"

namespace octavo {
namespace {

using test::allocations_left;
using test::make_request;
using test::num_allocated_bytes;
using test::num_allocations;
using test::out_of_memory;
using test::TestEngine;

// Runs prompts in chunks, cached prefixes, forks, decodes, preemptions and ends; gives the allocations made within
// steps.
long allocations_in_steps(TestEngine& engine, long& num_tokens) {
  int num_told = 0;
  for (std::uint64_t i = 0; i < 8; ++i) {
    Request request = make_request(6 + static_cast<int>(i), 30, i % 4);  // two of each begin alike
    request.num_choices = 1 + static_cast<int>(i % 3);
    request.sampling = {.temperature = 0.8F, .top_k = 20, .top_p = 0.9F, .min_p = 0.01F, .seed = i};
    if (i % 2 == 0) {
      request.sampling.repetition_penalty = 1.1F;
      request.sampling.presence_penalty = 0.5F;
      request.sampling.logit_bias = {{3, -100.0F}, {4, 1.0F}};
      request.top_logprobs = 5;
      request.min_tokens = 10;
      request.on_prompt_progress = [&](const PromptProgress& progress) { num_told += progress.computed_tokens > 0; };
      request.stop = {"\u20AC\u20AC\u20AC", "never in it"};
    }
    const auto id = engine->submit(std::move(request), [&](const TokenEvent&) { ++num_tokens; });
    EXPECT_TRUE(id);
  }
  const long before = num_allocations.load();
  engine->run();
  const long made = num_allocations.load() - before;
  EXPECT_GT(num_told, 0);
  return made;
}

TEST(EngineAllocations, StepsAllocateNothingAfterWarmUp) {
  for (const std::vector<int>& windows :
       {std::vector{0}, std::vector{0, 6}, std::vector{9}, std::vector{test::kRecurrent, 0}}) {
    for (const auto& [threads, mode] :
         {std::pair(1, DraftMode::kOff), {2, DraftMode::kOff}, {2, DraftMode::kSuffix}, {2, DraftMode::kMtp}}) {
      TestEngine engine({.runner = {.num_blocks = 20, .windows = windows, .has_draft_head = true},
                         .max_context = 64,
                         .num_threads = threads,
                         .limits = {.max_step_tokens = 16},
                         .draft = {.mode = mode}});
      long num_tokens = 0;
      allocations_in_steps(engine, num_tokens);
      EXPECT_GT(engine->stats().preemptions, 0U);
      EXPECT_EQ(allocations_in_steps(engine, num_tokens), 0);
      EXPECT_EQ(num_tokens, 2 * 15 * 30);  // of 15 choices
      EXPECT_GT(engine->stats().cached_tokens, 0U);
      EXPECT_GT(engine->stats().kv.copies, 0U);
    }
  }
}

TEST(EngineAllocations, ChoicesThatBeginInLaterStepsAllocateNothingAfterWarmUp) {
  TestEngine engine({.runner = {.num_blocks = 64}, .max_context = 64, .limits = {.step_ms = 1e-6}});
  const auto run = [&] {
    Request request = make_request(10, 20);
    request.num_choices = 8;
    EXPECT_TRUE(engine->submit(std::move(request), {}));
    const long before = num_allocations.load();
    engine->run();
    return num_allocations.load() - before;
  };
  EXPECT_GT(run(), 0);
  EXPECT_EQ(run(), 0);
}

TEST(EngineAllocations, ARequestTakesAsMuchAfterManyOthersAsAfterAFew) {
  TestEngine engine({.runner = {.num_blocks = 64}, .max_context = 64});
  const auto allocations_of = [&](int num_requests) {
    const long before = num_allocations.load();
    for (int i = 0; i < num_requests; ++i) {
      EXPECT_TRUE(engine->submit(make_request(10, 20), {}));
      engine->run();
    }
    return num_allocations.load() - before;
  };
  allocations_of(20);
  const long few = allocations_of(20);
  EXPECT_EQ(allocations_of(500), 25 * few);
}

TEST(EngineAllocations, AMaskThatFindsNoMemoryOutsideOfTheStepsFailsAndItsThreadLivesOn) {
  int num_failed = 0, num_found = 0;
  for (long before = 0; before < 60; ++before) {
    test::DrawnChoice drawn(0);
    drawn.finder.want(drawn.request, drawn.choice);
    NextMask& mask = drawn.choice.mask;
    mask.bits.reserve(64);
    allocations_left = before;
    try {
      drawn.finder.find();
    } catch (const std::bad_alloc&) {
      allocations_left = -1;
      ADD_FAILURE() << "it ends the engine, for want of allocation " << before;
      continue;
    }
    while (mask.state == NextMask::State::kOutside) {
      drawn.finder.wait(std::chrono::milliseconds(1000));
      drawn.finder.collect();
    }
    allocations_left = -1;
    ++(mask.state == NextMask::State::kFailed ? num_failed : num_found);
    EXPECT_FALSE(drawn.choice.sequence.waits_for_mask);
  }
  EXPECT_GT(num_failed, 5) << "of the thread's own, and of what hands the work over";
  EXPECT_GT(num_found, 0);
}

/// Bytes that the engine takes for a request that waits.
long bytes_of_waiting(int num_choices) {
  TestEngine engine({.runner = {.num_blocks = 4096}, .max_context = 8000, .limits = {.max_sequences = 128}});
  EXPECT_TRUE(engine->submit(make_request(4, 10, 1), {}));  // takes what the first one of all takes
  Request request = make_request(4000, 100, 2);
  request.num_choices = num_choices;
  const long before = num_allocated_bytes.load();
  EXPECT_TRUE(engine->submit(std::move(request), {}));
  return num_allocated_bytes.load() - before;
}

TEST(EngineAllocations, WaitingForManyChoicesTakesNoMoreThanForOne) {
  const long one = bytes_of_waiting(1), many = bytes_of_waiting(128);
  EXPECT_LT(one, 100'000) << "of 4000 tokens, of which the caller has made the list";
  EXPECT_LT(many - one, 128 * 64) << "places in lists, and nothing of the prompt";
}

/// The last events of a request with choices that begin in a step in which one allocation fails, and of another that
/// runs beside it.
struct Ends {
  std::array<FinishReason, 4> choices = {};
  FinishReason other = FinishReason::kNone;
  int num_other = 0;
  bool failed = false;
};
Ends ends_with_failed_allocation(long allocation, double step_ms) {
  TestEngine engine({.runner = {.num_blocks = 40}, .max_context = 200, .limits = {.step_ms = step_ms}});
  Ends ends;
  EXPECT_TRUE(engine->submit(make_request(6, 30, 1), [&](const TokenEvent& event) {
    ++ends.num_other;
    ends.other = event.finish;
  }));
  engine->step();
  Request request = make_request(6, 30, 2);
  request.num_choices = 4;
  EXPECT_TRUE(engine->submit(std::move(request), [&](const TokenEvent& event) {
    if (event.finish != FinishReason::kNone) ends.choices.at(event.choice) = event.finish;
  }));
  allocations_left = allocation;
  const int num_steps = step_ms > 0 ? 4 : 1;  // until its prompt is read
  for (int i = 0; i < num_steps && allocations_left >= 0; ++i) engine->step();
  ends.failed = allocations_left < 0;
  allocations_left = -1;
  EXPECT_TRUE(engine->check_integrity());
  engine->run();
  EXPECT_TRUE(engine.all_blocks_free());
  return ends;
}

TEST(EngineAllocations, WithoutMemoryForARowOfLogitsItsChoicesBeginAtOnce) {
  // The first allocation that is made for choices is the row, where they begin in several steps.
  const Ends ends = ends_with_failed_allocation(0, 1e-6);
  EXPECT_TRUE(ends.failed);
  for (const FinishReason finish : ends.choices) EXPECT_EQ(finish, FinishReason::kLength);
  EXPECT_EQ(ends.other, FinishReason::kLength);
}

TEST(EngineAllocations, ChoicesThatFindNoMemoryAsTheyBeginEndTheirRequestAndNothingElse) {
  int num_failures = 0;
  for (bool failed = true; failed; num_failures += failed ? 1 : 0) {
    const Ends ends = ends_with_failed_allocation(num_failures, 0);
    failed = ends.failed;
    const FinishReason expected = failed ? FinishReason::kFailed : FinishReason::kLength;
    for (const FinishReason finish : ends.choices) EXPECT_EQ(finish, expected) << "allocation " << num_failures;
    EXPECT_EQ(ends.other, FinishReason::kLength) << "allocation " << num_failures;
    EXPECT_EQ(ends.num_other, 30);
    ASSERT_LT(num_failures, 1000);
  }
  EXPECT_GT(num_failures, 4);
}

TEST(EngineAllocations, AStreamWhoseEventsCannotBeKeptEndsAsFailedAndTheEngineGoesOn) {
  TestEngine engine({.runner = {.num_blocks = 40}, .max_context = 200, .limits = {.max_step_tokens = 16}});
  long num_tokens = 0;
  allocations_in_steps(engine, num_tokens);
  int num_of_other = 0;
  FinishReason finish_of_other = FinishReason::kNone;
  ASSERT_TRUE(engine->submit(make_request(6, 100, 1), [&](const TokenEvent& event) {
    ++num_of_other;
    finish_of_other = event.finish;
  }));
  const auto stream = TokenStream::submit(*engine, make_request(6, 100, 2));
  ASSERT_TRUE(stream);
  for (int i = 0; i < 20; ++i) engine->step();
  out_of_memory = true;
  for (int i = 0; i < 20; ++i) engine->step();  // further events than the queue has room for
  out_of_memory = false;
  int num_events = 0;
  FinishReason finish = FinishReason::kNone;
  while (const RequestEvent* event = (*stream)->try_next()) {
    finish = event->finish;
    ++num_events;
  }
  EXPECT_EQ(finish, FinishReason::kFailed);
  EXPECT_TRUE((*stream)->done());
  EXPECT_EQ((*stream)->next(), nullptr);
  EXPECT_GT(num_events, 10);
  EXPECT_LT(num_events, 40);
  EXPECT_EQ(engine->stats().running, 1);  // the other's
  engine->run();
  EXPECT_EQ(num_of_other, 100);
  EXPECT_EQ(finish_of_other, FinishReason::kLength);
}

TEST(EngineAllocations, TheCounterCounts) {
  const long before = num_allocations.load();
  static int* volatile seen;  // a pair of new and delete that nobody sees may be left out
  seen = new int(1);
  delete seen;
  EXPECT_GE(num_allocations.load(), before + 1);
}

}  // namespace
}  // namespace octavo
