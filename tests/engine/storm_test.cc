// Requests that come, go and are cancelled at random, in little memory: every answer is the one it would have alone.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "engine/test_engine.h"

namespace octavo {
namespace {

using test::make_request;
using test::TestEngine;
using test::TestEngineOptions;

RC_GTEST_PROP(Engine, RandomStormLosesNothingAndChangesNoAnswer, ()) {
  TestEngineOptions options;
  options.runner.block_size = 1 << *rc::gen::inRange(0, 5);
  const int num_tokens = *rc::gen::inRange(32, 160);
  const int num_blocks = (num_tokens + options.runner.block_size - 1) / options.runner.block_size;
  options.runner.num_blocks.assign(*rc::gen::inRange<std::size_t>(1, 3), num_blocks);
  options.max_context = 64;
  options.num_threads = *rc::gen::inRange(1, 3);
  options.limits = {.max_step_tokens = *rc::gen::inRange(1, 40), .max_sequences = *rc::gen::inRange(1, 10)};
  TestEngine engine(options);
  const int context = engine->info().max_context;

  std::vector<std::pair<RequestId, Request>> submitted;
  const auto actions = *rc::gen::container<std::vector<std::pair<int, std::uint32_t>>>(
      rc::gen::pair(rc::gen::inRange(0, 10), rc::gen::arbitrary<std::uint32_t>()));
  for (const auto& [action, value] : actions) {
    if (action < 4) {
      const int prompt = 1 + static_cast<int>(value % static_cast<std::uint32_t>(context - 1));
      const int room = context - prompt;
      const Request request =
          make_request(prompt, 1 + static_cast<int>(value / 64 % static_cast<std::uint32_t>(room)), value);
      submitted.emplace_back(engine.submit(request), request);
    } else if (action == 4 && !submitted.empty()) {
      engine->cancel(submitted[value % submitted.size()].first);
    } else {
      engine->step();
    }
    RC_ASSERT(engine->check_integrity().has_value());
  }
  for (int steps = 0; engine->step(); ++steps) {
    RC_ASSERT(engine->check_integrity().has_value());
    RC_ASSERT(steps < 100'000);
  }
  for (const auto& [id, request] : submitted) {
    const test::Answer& answer = engine.answer(id);
    RC_ASSERT(answer.num_last_events == 1);
    test::Answer expected = test::reference_answer(request, 32);
    if (answer.finish == FinishReason::kCancelled) {
      RC_ASSERT(answer.tokens.size() < expected.tokens.size());
      expected.tokens.resize(answer.tokens.size());
      expected.logprobs.resize(answer.tokens.size());
    }
    RC_ASSERT(answer.same_tokens(expected));
  }
  RC_ASSERT(engine.all_blocks_free());
}

}  // namespace
}  // namespace octavo
