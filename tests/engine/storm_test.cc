// Requests that come, go and are cancelled at random, in little memory, with prompts that begin alike and several
// choices: every answer is the one it would have alone.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "engine/test_engine.h"

namespace octavo {
namespace {

using test::make_request;
using test::TestEngine;
using test::TestEngineOptions;

/// A prompt that stays in the memory; it may be refused, as there is no room for so much beside the longest context.
Request as_pin(Request request) {
  request.max_tokens = -1;
  request.pins = true;
  request.num_choices = 1;
  request.first_choice = 0;
  request.reasoning = {};
  return request;
}

struct Action {
  int kind;  // 0 to 3: submit, 4: cancel, else a step
  std::uint32_t value, shared;
};

TestEngineOptions random_options() {
  TestEngineOptions options;
  options.runner.block_size = 1 << *rc::gen::inRange(0, 5);
  const int num_tokens = *rc::gen::inRange(32, 160);
  options.runner.num_blocks = std::max(2, (num_tokens + options.runner.block_size - 1) / options.runner.block_size);
  const int window = *rc::gen::inRange(1, 40);
  options.runner.windows = *rc::gen::elementOf(std::vector<std::vector<int>>{{0},
                                                                             {0, window},
                                                                             {window, 0, 2 * window},
                                                                             {window},
                                                                             {test::kRecurrent, 0},
                                                                             {0, test::chunks_of(window + 1)},
                                                                             {test::chunks_of(window + 1)}});
  options.runner.num_snapshots = *rc::gen::inRange(1, 12);
  options.prefix_cache = *rc::gen::weightedElement<bool>({{4, true}, {1, false}});
  options.max_context = 64;
  options.runner.has_draft_head = *rc::gen::arbitrary<bool>();
  options.runner.guess_wrong = *rc::gen::inRange(0, 5);
  options.draft = {.mode = *rc::gen::element(DraftMode::kOff, DraftMode::kNgram, DraftMode::kSuffix, DraftMode::kMtp,
                                             DraftMode::kAuto),
                   .max_tokens = *rc::gen::inRange(1, kMaxDraftTokens + 1)};
  options.tokenizer = test::reasoning_tokenizer;
  options.num_threads = *rc::gen::inRange(1, 3);
  options.limits = {.max_step_tokens = *rc::gen::inRange(1, 40),
                    .max_sequences = *rc::gen::inRange(1, 10),
                    .step_ms = *rc::gen::element(0.0, 0.005, 0.05),  // about what a step of the fake model takes
                    .policy = *rc::gen::element(PrefillPriority::kPrefillFirst, PrefillPriority::kInterleaved,
                                                PrefillPriority::kDecodePriority)};
  return options;
}

/// Some prompts have a picture, which stands where those that begin alike have it, too; or others have another one of
/// the same shape there.
void add_random_picture(const Action& action, int context, Request& request) {
  const int rows = 1 + static_cast<int>(action.shared / 5 % 2), columns = 1 + static_cast<int>(action.shared / 3 % 4);
  const int room = context - static_cast<int>(request.tokens.size()) - request.max_tokens;
  const int first = static_cast<int>(action.shared / 9 % 6);
  if (rows * columns > room || std::cmp_greater_equal(first, request.tokens.size())) return;
  test::add_picture(request, first,
                    test::made_up_picture(rows, columns, static_cast<std::uint8_t>(1 + action.value % 3)));
}

/// The prompt begins like those of other requests, as far as `shared` says.
Request random_request(const Action& action, int context, int max_sequences, bool sees) {
  const int prompt = 1 + static_cast<int>(action.value % static_cast<std::uint32_t>(context - 1));
  const auto room = static_cast<std::uint32_t>(context - prompt);
  Request request = make_request(prompt, 1 + static_cast<int>(action.value / 64 % room), action.value);
  const Request common = make_request(prompt, 1, 100 + action.shared % 3);
  const auto same = std::min<std::size_t>(request.tokens.size(), action.shared / 3 % 64);
  std::copy_n(common.tokens.begin(), same, request.tokens.begin());
  request.cache_domain = action.shared % 5 == 0 ? "another" : "";
  request.num_choices =
      action.shared % 7 < 3 ? 1 + static_cast<int>(action.shared / 7) % std::min(4, max_sequences) : 1;
  request.priority = static_cast<int>(action.shared % 13) / 4 - 1;
  request.owner = std::string(action.shared / 2 % 4, 'o');  // one of four
  if (action.value % 4 == 0) {
    request.reasoning = {.mode = ReasoningMode::kSplit,
                         .begins_inside = action.value % 8 == 0,
                         .budget = static_cast<int>(action.value / 8 % 12) - 1};
    // Closing would wait for the end of a character.
    for (const TokenId token : test::kTinyEuro) request.sampling.logit_bias.emplace_back(token, -100.0F);
  }
  request.first_choice = action.shared % 11 == 0 ? 1000 : 0;
  if (sees && action.shared % 3 == 0) add_random_picture(action, context, request);
  return request;
}

/// The answer as it will be, but for some of its tokens, or for none.
std::vector<TokenId> prediction_of(const Action& action, const Request& request, std::span<const int> windows) {
  std::vector<TokenId> tokens = test::reference_answer(request, 32, windows).tokens;
  const std::size_t nth = action.value / 16 % 8;  // is wrong
  for (std::size_t i = nth; nth > 0 && i < tokens.size(); i += nth) tokens[i] = (tokens[i] + 1) % 32;
  return tokens;
}

void check_answer(const test::Answer& answer, test::Answer expected) {
  RC_ASSERT(answer.num_last_events == 1);
  if (answer.finish == FinishReason::kCancelled) {
    RC_ASSERT(answer.tokens.size() < expected.tokens.size());
    expected.tokens.resize(answer.tokens.size());
    expected.logprobs.resize(answer.tokens.size());
  }
  RC_ASSERT(answer.same_tokens(expected));
}

RC_GTEST_PROP(Engine, RandomStormLosesNothingAndChangesNoAnswer, ()) {
  TestEngineOptions options = random_options();
  const bool sees = *rc::gen::arbitrary<bool>();
  if (sees) {
    options.encoder.emplace();
    options.picture_memory.max_bytes = *rc::gen::inRange<std::uint64_t>(8, 40) * 8;  // a picture has up to 8 rows
  }
  TestEngine engine(options);
  const int context = engine->info().max_context;
  const int max_sequences = std::min(options.limits.max_sequences, options.limits.max_step_tokens);

  std::vector<std::pair<RequestId, Request>> submitted;
  std::vector<RequestId> pins;
  const auto actions = *rc::gen::container<std::vector<Action>>(rc::gen::construct<Action>(
      rc::gen::inRange(0, 10), rc::gen::arbitrary<std::uint32_t>(), rc::gen::arbitrary<std::uint32_t>()));
  for (const Action& action : actions) {
    if (action.kind < 4) {
      Request request = random_request(action, context, max_sequences, sees);
      if (action.shared % 6 == 5) {
        const auto pin = engine->submit(as_pin(request), [&](const TokenEvent& event) { engine.record(event); });
        if (pin) pins.push_back(*pin);
        continue;
      }
      if (action.value % 3 != 0) request.prediction = prediction_of(action, request, engine.runner().windows());
      submitted.emplace_back(engine.submit(request), request);
    } else if (action.kind == 4 && !submitted.empty()) {
      engine->cancel(submitted[action.value % submitted.size()].first);
      if (!pins.empty() && action.value % 2 == 0) engine->cancel(pins[action.value / 2 % pins.size()]);
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
    for (int i = 0; i < request.num_choices; ++i) {
      check_answer(engine.answer(id, i), test::reference_answer(request, 32, engine.runner().windows(), i));
    }
  }
  for (const RequestId pin : pins) {
    const FinishReason finish = engine.answer(pin).finish;
    RC_ASSERT(finish == FinishReason::kLength || finish == FinishReason::kNotPinned ||
              finish == FinishReason::kCancelled);
    engine->cancel(pin);
  }
  RC_ASSERT(engine.all_blocks_free());
  RC_ASSERT(engine->stats().kv.tokens == 0);
}

}  // namespace
}  // namespace octavo
