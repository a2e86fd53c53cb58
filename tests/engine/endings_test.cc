// Ends of answers before their limits, and text that is held back until then: stop texts and min_tokens. And what
// beside the logits decides the next token: penalties and biases look at the sequence's own tokens, whatever runs
// beside it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "engine/stop_reference.h"
#include "engine/test_engine.h"

namespace octavo {
namespace {

using test::Answer;
using test::cut_before_stop;
using test::make_request;
using test::reference_answer;
using test::TestEngine;
using ::testing::AllOf;
using ::testing::HasSubstr;

/// The same without the parts of the euro sign: an answer whose every token is a letter.
Request make_ascii_request(int prompt_tokens, int max_tokens, std::uint64_t seed) {
  Request request = make_request(prompt_tokens, max_tokens, seed);
  for (const TokenId token : test::kTinyEuro) request.sampling.logit_bias.emplace_back(token, -100.0F);
  return request;
}

Answer answer_of(const Request& request) {
  TestEngine engine;
  return engine.run(request);
}

TEST(Endings, AStopTextEndsTheAnswerBeforeItWhereverTokensMeet) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    Request request = make_ascii_request(5, 60, seed);
    const Answer whole = answer_of(request);
    ASSERT_GE(whole.text.size(), 12U);
    for (const std::size_t at : {0U, 3U, 9U}) {
      request.stop = {whole.text.substr(at, 3), "not in it"};
      const Answer cut = answer_of(request);
      EXPECT_EQ(cut.text, cut_before_stop(whole.text, request.stop));
      EXPECT_EQ(cut.finish, FinishReason::kStop);
      EXPECT_LT(cut.tokens.size(), whole.tokens.size());
      EXPECT_TRUE(std::equal(cut.tokens.begin(), cut.tokens.end(), whole.tokens.begin()));
      EXPECT_EQ(cut.stats.generated_tokens, static_cast<int>(cut.tokens.size()));
    }
  }
}

TEST(Endings, WhatMayBecomeAStopTextIsHeldBackUntilItCannot) {
  Request request = make_ascii_request(5, 30, 3);
  const Answer whole = answer_of(request);
  // The first two characters, then one that does not follow.
  const std::string front = whole.text.substr(0, 2);
  request.stop = {front + (whole.text[2] == 'A' ? "B" : "A")};
  TestEngine engine;
  std::string text;
  const auto id = engine->submit(request, [&](const TokenEvent& event) {
    text += event.text;
    EXPECT_TRUE(text.empty() || text.size() > 2) << text;
    EXPECT_EQ(event.text, event.bytes);
  });
  ASSERT_TRUE(id);
  engine->run();
  EXPECT_EQ(text, whole.text);
}

TEST(Endings, HeldBackTextIsShownAtTheLimitAndOnCancel) {
  Request request = make_ascii_request(5, 20, 4);
  const Answer whole = answer_of(request);
  request.stop = {whole.text + "and more"};
  const Answer limited = answer_of(request);
  EXPECT_EQ(limited.text, whole.text);
  EXPECT_EQ(limited.finish, FinishReason::kLength);

  TestEngine engine;
  const RequestId id = engine.submit(request);
  for (int i = 0; i < 10; ++i) engine->step();
  EXPECT_EQ(engine.answer(id).text, "");
  engine->cancel(id);
  EXPECT_EQ(engine.answer(id).finish, FinishReason::kCancelled);
  EXPECT_FALSE(engine.answer(id).text.empty());
  EXPECT_TRUE(whole.text.starts_with(engine.answer(id).text));
  EXPECT_TRUE(engine.all_blocks_free());
}

TEST(Endings, EachChoiceHasItsOwnStop) {
  Request request = make_request(6, 40, 5);
  request.num_choices = 6;
  request.stop = {"A", "K", "QR"};
  TestEngine together;
  const RequestId id = together.submit(request);
  together->run();
  request.num_choices = 1;
  for (int choice = 0; choice < 6; ++choice) {
    request.first_choice = static_cast<std::uint32_t>(choice);
    const Answer alone = answer_of(request);
    EXPECT_EQ(together.answer(id, choice).text, alone.text);
    EXPECT_EQ(together.answer(id, choice).finish, alone.finish);
    EXPECT_TRUE(together.answer(id, choice).same_tokens(alone));
  }
}

TEST(Endings, BeforeMinTokensNeitherAnEndTokenNorAStopTokenIsDrawnAndNoStopTextCounts) {
  int ended_early = 0;
  for (std::uint64_t seed = 1; seed <= 30; ++seed) {
    Request request = make_request(5, 60, seed);
    request.ignore_eos = false;
    request.stop_tokens = {7, 9};
    request.stop = {"J"};
    ended_early += answer_of(request).tokens.size() < 25;
    request.min_tokens = 25;
    const Answer answer = answer_of(request);
    EXPECT_GE(answer.tokens.size(), 25U);
    for (std::size_t i = 0; i < 25; ++i) {
      EXPECT_THAT(answer.tokens[i],
                  ::testing::AllOf(::testing::Ne(test::kTinyEos), ::testing::Ne(7), ::testing::Ne(9)));
    }
  }
  EXPECT_GT(ended_early, 20);
}

// The last of them may leave a part of a character: what it shows at the end is no stop text either.
TEST(Endings, NorDoesOneInWhatTheFirstMinTokensTokensLeaveBehind) {
  Request request = make_request(3, 1);
  request.sampling = {.temperature = 0, .logit_bias = {{test::kTinyEuro[0], 100.0F}}};
  request.stop = {"\uFFFD"};
  EXPECT_EQ(answer_of(request).finish, FinishReason::kStop);
  request.min_tokens = 1;
  const Answer shown = answer_of(request);
  EXPECT_EQ(shown.finish, FinishReason::kLength);
  EXPECT_EQ(shown.text, "\uFFFD");
}

TEST(Endings, PenaltiesAndBiasesGiveTheReferencesAnswerInCompanyAndThroughPreemption) {
  TestEngine engine({.runner = {.num_blocks = 16}, .max_context = 64, .limits = {.max_step_tokens = 8}});
  std::vector<Request> requests;
  std::vector<RequestId> ids;
  for (std::uint64_t seed = 1; seed <= 12; ++seed) {
    Request request = make_request(4 + static_cast<int>(seed), 30, seed);
    request.num_choices = 1 + static_cast<int>(seed % 2);
    SamplingParams& sampling = request.sampling;
    if (seed % 3 == 0) sampling.temperature = 0;
    sampling.repetition_penalty = 1 + static_cast<float>(seed % 4) / 4;
    sampling.frequency_penalty = static_cast<float>(seed % 5) / 2 - 1;
    sampling.presence_penalty = static_cast<float>(seed % 7) / 4;
    sampling.logit_bias = {{static_cast<TokenId>(seed), -100.0F}, {static_cast<TokenId>(seed + 1), 1.5F}};
    ids.push_back(engine.submit(request));
    requests.push_back(std::move(request));
  }
  engine->run();
  EXPECT_GT(engine->stats().preemptions, 0U);
  int changed = 0;
  for (std::size_t i = 0; i < requests.size(); ++i) {
    for (int choice = 0; choice < requests[i].num_choices; ++choice) {
      const Answer expected = reference_answer(requests[i], 32, {}, choice);
      EXPECT_TRUE(engine.answer(ids[i], choice).same_tokens(expected)) << i;
      Request plain = requests[i];
      plain.sampling = {.temperature = plain.sampling.temperature, .seed = plain.sampling.seed};
      changed += reference_answer(plain, 32, {}, choice).tokens != expected.tokens;
    }
  }
  EXPECT_GT(changed, 12);
}

TEST(Endings, TopLogprobsComeWithEachTokenLikeliestFirst) {
  Request request = make_request(5, 20, 6);
  request.top_logprobs = 4;
  request.num_choices = 2;
  TestEngine engine;
  int num_events = 0, drawn_in_list = 0;
  ASSERT_TRUE(engine->submit(request, [&](const TokenEvent& event) {
    ++num_events;
    ASSERT_EQ(event.top_logprobs.size(), 4U);
    for (std::size_t i = 0; i < 4; ++i) {
      const TokenLogprob& entry = event.top_logprobs[i];
      EXPECT_GE(event.top_logprobs[i == 0 ? 0 : i - 1].logprob, entry.logprob);
      if (entry.token != event.token) continue;
      ++drawn_in_list;
      EXPECT_EQ(entry.logprob, event.logprob);
    }
  }));
  engine->run();
  EXPECT_EQ(num_events, 40);
  EXPECT_GT(drawn_in_list, 5);
}

TEST(Endings, ValuesOutOfRangeAreRefusedByName) {
  TestEngine engine;
  const auto refusal = [&](auto change) {
    Request request = make_request(5, 10);
    change(request);
    return engine.refusal(std::move(request));
  };
  EXPECT_THAT(refusal([](Request& r) { r.stop = {"x", ""}; }), HasSubstr("stop[1]: found 0 bytes"));
  EXPECT_EQ(refusal([](Request& r) { r.min_tokens = 11; }),
            "min_tokens: found 11, expected 0 to 10: the answer ends there");
  EXPECT_THAT(refusal([](Request& r) { r.min_tokens = -1; }), HasSubstr("min_tokens: found -1"));
  EXPECT_EQ(refusal([](Request& r) { r.top_logprobs = 21; }), "top_logprobs: found 21, expected 0 to 20");
  EXPECT_THAT(refusal([](Request& r) { r.top_logprobs = -1; }), HasSubstr("top_logprobs: found -1"));
  EXPECT_EQ(refusal([](Request& r) { r.sampling.logit_bias = {{0, 1.0F}, {32, 1.0F}}; }),
            "logit_bias: found token 32, expected a token id from 0 to 31");
  EXPECT_THAT(refusal([](Request& r) { r.sampling.logit_bias = {{-1, 1.0F}}; }),
              HasSubstr("logit_bias: found token -1"));
  EXPECT_THAT(refusal([](Request& r) { r.sampling.logit_bias.assign(33, {0, 1.0F}); }),
              HasSubstr("logit_bias: found 33 entries"));
  EXPECT_THAT(refusal([](Request& r) { r.sampling.logit_bias = {{3, 101.0F}}; }),
              HasSubstr("logit_bias[3]: found 101"));
  EXPECT_THAT(refusal([](Request& r) { r.sampling.repetition_penalty = 0; }), HasSubstr("repetition_penalty: found 0"));
  EXPECT_EQ(refusal([](Request& r) { r.min_tokens = 10; }), "accepted");
}

RC_GTEST_PROP(Endings, StopTextsEqualAFindInTheWholeAnswer, ()) {
  Request request =
      make_request(*rc::gen::inRange(1, 20), *rc::gen::inRange(1, 60), *rc::gen::inRange<std::uint64_t>(1, 500));
  // Characters of the euro sign broken across tokens are part of these answers.
  const Answer whole = answer_of(request);
  const int num_stops = *rc::gen::inRange(1, 4);
  for (int i = 0; i < num_stops; ++i) {
    const auto from = static_cast<std::size_t>(*rc::gen::inRange(0, 60));
    std::string text =
        from < whole.text.size() ? whole.text.substr(from, static_cast<std::size_t>(*rc::gen::inRange(1, 5))) : "ZZ";
    if (StopTexts::check("stop", std::vector{text})) request.stop.push_back(text);
  }
  const Answer cut = answer_of(request);
  RC_ASSERT(cut.text == cut_before_stop(whole.text, request.stop));
  RC_ASSERT((cut.finish == FinishReason::kStop) == (cut.text != whole.text));
}

}  // namespace
}  // namespace octavo
