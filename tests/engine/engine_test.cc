#include "engine/engine_impl.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "engine/test_engine.h"

namespace octavo {
namespace {

using test::Answer;
using test::kTinyControl;
using test::kTinyEos;
using test::kTinyEuro;
using test::make_request;
using test::TestEngine;
using test::TestEngineOptions;
using ::testing::AllOf;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Lt;

// A model that answers `script`, one token after the other, after a prompt that ends with script[0].
auto scripted(std::vector<TokenId> script) {
  return [script](TokenId token, std::span<float> logits) {
    for (std::size_t i = 0; i + 1 < script.size(); ++i) {
      if (script[i] == token) logits[static_cast<std::size_t>(script[i + 1])] = 1000;
    }
  };
}

TEST(Engine, AnswersAsTheModelWithoutAnEngineDoes) {
  for (const int prompt : {1, 3, 4, 5, 50}) {
    TestEngine engine;
    const Answer answer = engine.run(make_request(prompt, 40));
    EXPECT_TRUE(answer.same_tokens(test::reference_answer(make_request(prompt, 40), 32))) << prompt;
    EXPECT_EQ(answer.finish, FinishReason::kLength);
    EXPECT_TRUE(engine.all_blocks_free());
  }
}

TEST(Engine, SequencesOfDifferentLengthsShareABatchAndAnswerAsAlone) {
  for (const std::vector<int>& windows : {std::vector{0}, std::vector{0, 6}, std::vector{test::kRecurrent, 0}}) {
    TestEngine engine({.runner = {.windows = windows}});
    std::vector<std::pair<RequestId, Request>> submitted;
    for (int i = 0; i < 6; ++i) {
      const Request request = make_request(1 + 7 * i, 20 - i, static_cast<std::uint64_t>(i));
      submitted.emplace_back(engine.submit(request), request);
    }
    engine->run();
    EXPECT_EQ(engine.runner().max_sequences_seen(), 6);
    for (const auto& [id, request] : submitted) {
      EXPECT_TRUE(engine.answer(id).same_tokens(test::reference_answer(request, 32, engine.runner().windows())))
          << "request " << id;
    }
  }
}

TEST(Engine, AnyChunkSizeGivesTheSameAnswer) {
  const Answer expected = test::reference_answer(make_request(100, 20), 32);
  for (const int chunk : {1, 2, 7, 64, 99, 100, 512}) {
    TestEngine engine({.limits = {.max_step_tokens = chunk}});
    EXPECT_TRUE(engine.run(make_request(100, 20)).same_tokens(expected)) << chunk;
    EXPECT_EQ(engine.runner().num_forwards(), (100 + chunk - 1) / chunk + 19);
  }
}

TEST(Engine, StepsAreNoLargerThanTheRunnerCanTake) {
  TestEngine engine({.runner = {.max_rows = 10}, .limits = {.max_step_tokens = 512}});
  EXPECT_TRUE(engine.run(make_request(45, 5)).same_tokens(test::reference_answer(make_request(45, 5), 32)));
}

TEST(Engine, AnyNumberOfThreadsAndBlockSizeGivesTheSameAnswer) {
  const Answer expected = test::reference_answer(make_request(30, 20), 32);
  for (const int threads : {1, 2, 5}) {
    for (const int block_size : {1, 4, 16}) {
      TestEngine engine({.runner = {.block_size = block_size}, .max_context = 60, .num_threads = threads});
      EXPECT_TRUE(engine.run(make_request(30, 20)).same_tokens(expected)) << threads << " " << block_size;
    }
  }
}

TEST(Engine, PreemptedSequencesResumeWithTheSameAnswer) {
  // 12 blocks of 4 tokens for 5 sequences that want 9 each.
  TestEngine engine({.runner = {.num_blocks = 12}, .max_context = 48});
  std::vector<std::pair<RequestId, Request>> submitted;
  for (int i = 0; i < 5; ++i) {
    const Request request = make_request(6, 30, static_cast<std::uint64_t>(i));
    submitted.emplace_back(engine.submit(request), request);
  }
  engine->run();
  EXPECT_GT(engine->stats().preemptions, 0U);
  for (const auto& [id, request] : submitted) {
    EXPECT_TRUE(engine.answer(id).same_tokens(test::reference_answer(request, 32))) << "request " << id;
    EXPECT_EQ(engine.answer(id).num_last_events, 1);
  }
  EXPECT_TRUE(engine.all_blocks_free());
}

TEST(Engine, MoreSequencesThanLogitRowsAreSampledInSlices) {
  TestEngine engine({.runner = {.num_blocks = 1000}});
  std::vector<std::pair<RequestId, Request>> submitted;
  for (std::uint64_t i = 0; i < 150; ++i)
    submitted.emplace_back(engine.submit(make_request(3, 4, i)), make_request(3, 4, i));
  engine->run();
  EXPECT_EQ(engine.runner().max_sequences_seen(), 150);
  for (const auto& [id, request] : submitted) {
    EXPECT_TRUE(engine.answer(id).same_tokens(test::reference_answer(request, 32))) << "request " << id;
  }
}

TEST(Engine, EndTokenStopsTheAnswerAndHasNoText) {
  TestEngine engine({.runner = {.edit = scripted({10, 11, 12, kTinyEos})}});
  const Answer answer = engine.run({.tokens = {7, 10}, .sampling = {.temperature = 0}});
  EXPECT_THAT(answer.tokens, ElementsAre(11, 12, kTinyEos));
  EXPECT_EQ(answer.finish, FinishReason::kStop);
  EXPECT_EQ(answer.text, "GH");
  EXPECT_TRUE(engine.all_blocks_free());
}

TEST(Engine, IgnoreEosGoesOnAfterAnEndToken) {
  TestEngine engine({.runner = {.edit = scripted({10, kTinyEos, 11, 12})}});
  const Answer answer =
      engine.run({.tokens = {10}, .sampling = {.temperature = 0}, .max_tokens = 3, .ignore_eos = true});
  EXPECT_THAT(answer.tokens, ElementsAre(kTinyEos, 11, 12));
  EXPECT_EQ(answer.finish, FinishReason::kLength);
  EXPECT_EQ(answer.text, "GH");
}

TEST(Engine, StopTokensEndTheAnswerEvenWithIgnoreEos) {
  TestEngine engine({.runner = {.edit = scripted({10, 11, 12, 13})}});
  Request request;
  request.tokens = {10};
  request.sampling.temperature = 0;
  request.ignore_eos = true;
  request.stop_tokens = {20, 12};
  const Answer answer = engine.run(std::move(request));
  EXPECT_THAT(answer.tokens, ElementsAre(11, 12));
  EXPECT_EQ(answer.finish, FinishReason::kStop);
  EXPECT_EQ(answer.text, "G");
}

TEST(Engine, ControlTokensHaveNoText) {
  TestEngine engine({.runner = {.edit = scripted({10, 11, kTinyControl, 12, kTinyEos})}});
  const Answer answer = engine.run({.tokens = {10}, .sampling = {.temperature = 0}});
  EXPECT_THAT(answer.tokens, ElementsAre(11, kTinyControl, 12, kTinyEos));
  EXPECT_EQ(answer.text, "GH");
}

TEST(Engine, AnswerWithoutLimitEndsWithTheContext) {
  TestEngine engine({.max_context = 40});
  const Answer answer = engine.run(make_request(12, 0));
  EXPECT_EQ(answer.tokens.size(), 28U);
  EXPECT_EQ(answer.finish, FinishReason::kContext);
}

TEST(Engine, ContextIsWhatThePoolHolds) {
  TestEngine engine({.runner = {.num_blocks = 5}, .max_context = 200});
  EXPECT_EQ(engine->info().max_context, 20);
  EXPECT_EQ(engine.run(make_request(15, 0)).tokens.size(), 5U);
}

TEST(Engine, KvMemoryTooSmallForAnythingIsAnError) {
  EngineParts parts;
  parts.resources = Resources::create({.num_threads = 1}).value();
  parts.text.words = ModelTokenizer(test::tiny_tokenizer(32));
  parts.runner = std::make_unique<test::FakeRunner>(test::FakeRunner::Options{.block_size = 1, .num_blocks = 1});
  parts.text.info.max_context = 100;
  const auto engine = EngineImpl::create(std::move(parts));
  ASSERT_FALSE(engine);
  EXPECT_THAT(engine.error().message, HasSubstr("room for 1 tokens"));
}

TEST(Engine, PartialCharacterIsHeldBackUntilItIsWhole) {
  TestEngine engine({.runner = {.edit = scripted({10, kTinyEuro[0], kTinyEuro[1], kTinyEuro[2], 11, kTinyEos})}});
  std::vector<std::string> texts;
  const auto id = engine->submit({.tokens = {10}, .sampling = {.temperature = 0}}, [&](const TokenEvent& event) {
    texts.emplace_back(event.text);
    EXPECT_EQ(event.text, event.bytes);
  });
  ASSERT_TRUE(id);
  engine->run();
  EXPECT_THAT(texts, ElementsAre("", "", "\u20AC", "G", ""));
}

TEST(Engine, CharacterThatStaysPartialEndsAsReplacementWithItsTrueBytes) {
  TestEngine engine({.runner = {.edit = scripted({10, kTinyEuro[0], kTinyEuro[1], kTinyEos})}});
  std::string text, bytes;
  const auto id = engine->submit({.tokens = {10}, .sampling = {.temperature = 0}}, [&](const TokenEvent& event) {
    text += event.text;
    bytes += event.bytes;
  });
  ASSERT_TRUE(id);
  engine->run();
  EXPECT_EQ(text, "\uFFFD");
  EXPECT_EQ(bytes, "\xE2\x82");
}

TEST(Engine, PaddingOfTheVocabularyIsNeverAnswered) {
  TestEngine engine({.runner = {.vocab_size = 48}, .tokenizer_size = 20});
  const Answer answer = engine.run(make_request(5, 150));
  EXPECT_EQ(answer.tokens.size(), 150U);
  EXPECT_THAT(answer.tokens, Each(Lt(20)));
}

TEST(Engine, LogitsThatAreNotNumbersDoNotCrash) {
  TestEngine engine({.runner = {.edit = [](TokenId, std::span<float> logits) {
                       std::ranges::fill(logits, std::numeric_limits<float>::quiet_NaN());
                     }}});
  EXPECT_EQ(engine.run(make_request(5, 10)).tokens.size(), 10U);
}

TEST(Engine, CancelFreesTheBlocksBeforeTheLastEvent) {
  TestEngine engine;
  bool free_at_event = false;
  std::vector<FinishReason> finishes;
  const auto id = engine->submit(make_request(20, 50), [&](const TokenEvent& event) {
    finishes.push_back(event.finish);
    if (event.finish == FinishReason::kNone) return;
    free_at_event = engine.all_blocks_free();
    EXPECT_EQ(event.token, -1);
    EXPECT_EQ(event.stats.prompt_tokens, 20);
    EXPECT_EQ(event.stats.generated_tokens, 2);
  });
  ASSERT_TRUE(id);
  engine->step();
  engine->step();
  EXPECT_FALSE(engine.all_blocks_free());
  engine->cancel(*id);
  EXPECT_TRUE(free_at_event);
  EXPECT_THAT(finishes, ElementsAre(FinishReason::kNone, FinishReason::kNone, FinishReason::kCancelled));
  EXPECT_FALSE(engine->step());
}

TEST(Engine, CancelWorksWhileWaitingAndInTheMiddleOfAPrompt) {
  TestEngine engine({.runner = {.num_blocks = 16}, .max_context = 64, .limits = {.max_step_tokens = 8}});
  const RequestId reading = engine.submit(make_request(50, 2));
  const RequestId waiting = engine.submit(make_request(50, 2));
  engine->step();
  engine->cancel(reading);
  engine->cancel(waiting);
  EXPECT_TRUE(engine.all_blocks_free());
  EXPECT_EQ(engine.answer(reading).finish, FinishReason::kCancelled);
  EXPECT_EQ(engine.answer(waiting).finish, FinishReason::kCancelled);
  EXPECT_FALSE(engine->step());
}

TEST(Engine, CancelOfAnUnknownOrFinishedRequestIsIgnored) {
  TestEngine engine;
  const RequestId id = engine.submit(make_request(3, 2));
  engine->run();
  engine->cancel(id);
  engine->cancel(999);
  EXPECT_EQ(engine.answer(id).num_last_events, 1);
  EXPECT_EQ(engine.answer(id).finish, FinishReason::kLength);
}

TEST(Engine, CallbackMayCancelItsOwnRequestAndOthers) {
  TestEngine engine;
  const RequestId other = engine.submit(make_request(8, 50, 1));
  const RequestId bystander = engine.submit(make_request(9, 12, 2));
  RequestId own = 0;
  int events = 0;
  std::string text_after_cancel;
  const auto id = engine->submit(make_request(5, 50, 3), [&](const TokenEvent& event) {
    if (++events != 3 || event.finish != FinishReason::kNone) return;
    const std::string before(event.text);
    engine->cancel(other);
    engine->cancel(own);
    EXPECT_EQ(event.text, before);
  });
  ASSERT_TRUE(id);
  own = *id;
  engine->run();
  EXPECT_EQ(events, 4);
  EXPECT_EQ(engine.answer(other).finish, FinishReason::kCancelled);
  EXPECT_TRUE(engine.answer(bystander).same_tokens(test::reference_answer(make_request(9, 12, 2), 32)));
  EXPECT_TRUE(engine.all_blocks_free());
}

TEST(Engine, CancelInsideTheLastEventOfACancelIsSafe) {
  TestEngine engine;
  const RequestId other = engine.submit(make_request(8, 50, 1));
  const auto id = engine->submit(make_request(5, 50, 3), [&](const TokenEvent&) { engine->cancel(other); });
  ASSERT_TRUE(id);
  engine->cancel(*id);
  EXPECT_EQ(engine.answer(other).finish, FinishReason::kCancelled);
}

TEST(Engine, CallbackMaySubmitTheNextRequest) {
  TestEngine engine;
  RequestId next = 0;
  const auto id = engine->submit(make_request(5, 3, 3), [&](const TokenEvent& event) {
    if (event.finish != FinishReason::kNone) next = engine.submit(make_request(6, 4, 4));
  });
  ASSERT_TRUE(id);
  engine->run();
  EXPECT_TRUE(engine.answer(next).same_tokens(test::reference_answer(make_request(6, 4, 4), 32)));
}

TEST(Engine, StepWithinACallbackDoesNothing) {
  TestEngine engine;
  bool stepped = false;
  const auto id = engine->submit(make_request(5, 3), [&](const TokenEvent&) { stepped = stepped || engine->step(); });
  ASSERT_TRUE(id);
  engine->run();
  EXPECT_FALSE(stepped);
}

TEST(Engine, StatsCountTokensAndTime) {
  TestEngine engine;
  const RequestStats stats = engine.run(make_request(17, 9)).stats;
  EXPECT_EQ(stats.prompt_tokens, 17);
  EXPECT_EQ(stats.generated_tokens, 9);
  EXPECT_GT(stats.time_to_first_token_s, 0);
  EXPECT_GE(stats.total_s, stats.time_to_first_token_s);
}

TEST(Engine, SamplingDefaultsOfTheFileGoOverTheCallers) {
  TestEngine engine({.sampling_defaults = {.temperature = 0.3F, .min_p = 0.1F}});
  const SamplingParams params =
      engine->text()->default_sampling({.temperature = 0.7F, .top_k = 40, .top_p = 0.9F, .seed = 5});
  EXPECT_EQ(params.temperature, 0.3F);
  EXPECT_EQ(params.top_k, 40);
  EXPECT_EQ(params.top_p, 0.9F);
  EXPECT_EQ(params.min_p, 0.1F);
  EXPECT_EQ(params.seed, 5U);
}

TEST(Engine, TextGoesThroughTheTokenizer) {
  TestEngine engine;
  const auto tokens = engine->text()->tokenize("AB", {});
  ASSERT_TRUE(tokens);
  EXPECT_THAT(*tokens, ElementsAre(test::kTinyA, test::kTinyA + 1));
  EXPECT_EQ(engine->text()->detokenize(*tokens), "AB");
  EXPECT_FALSE(engine->text()->apply_chat_template(std::vector<ChatMessage>{{"user", "A"}}, {}));
}

TEST(Engine, RequestsThatCannotBeServedAreRefusedWithTheNumbers) {
  TestEngine engine({.max_context = 50});
  const auto with = [](auto change) {
    Request request = make_request(10, 5);
    change(request);
    return request;
  };
  EXPECT_THAT(engine.refusal(with([](Request& r) { r.tokens.clear(); })), HasSubstr("tokens: found none"));
  EXPECT_THAT(engine.refusal(with([](Request& r) { r.tokens[3] = 32; })),
              AllOf(HasSubstr("tokens[3]"), HasSubstr("found 32"), HasSubstr("0 to 31")));
  EXPECT_THAT(engine.refusal(with([](Request& r) { r.tokens[0] = -1; })), HasSubstr("tokens[0]: found -1"));
  EXPECT_THAT(engine.refusal(with([](Request& r) { r.stop_tokens = {32}; })), HasSubstr("stop_tokens[0]: found 32"));
  EXPECT_THAT(engine.refusal(make_request(50, 0)), AllOf(HasSubstr("50 tokens"), HasSubstr("at most 49")));
  EXPECT_THAT(engine.refusal(make_request(30, 21)), AllOf(HasSubstr("max_tokens: found 21"), HasSubstr("prompt of 30"),
                                                          HasSubstr("0 to 20"), HasSubstr("50")));
  EXPECT_THAT(engine.refusal(make_request(30, -2)), HasSubstr("max_tokens: found -2"));
  EXPECT_THAT(engine.refusal(make_request(30, -1)), HasSubstr("without on_prompt_logits"));
  EXPECT_THAT(engine.refusal(make_request(30, std::numeric_limits<int>::max())), HasSubstr("0 to 20"));
  EXPECT_THAT(engine.refusal(with([](Request& r) { r.sampling.top_p = 2; })), HasSubstr("top_p: found 2"));
  EXPECT_FALSE(engine->step());
  EXPECT_EQ(engine.run(make_request(30, 20)).finish, FinishReason::kLength);
}

TEST(Engine, DetokenizesIdsBeyondTheVocabularyToNothing) {
  TestEngine engine;
  const std::vector<TokenId> some = {3, -1, 4, 32, 1 << 30, 5};
  EXPECT_EQ(engine->text()->detokenize(some), engine->text()->detokenize(std::vector<TokenId>{3, 4, 5}));
}

}  // namespace
}  // namespace octavo
