// Answers whose tokens are guessed and verified several in a step: they are the same as without, whatever the guesses
// and whatever a draw depends on.
#include <gtest/gtest.h>

#include <cmath>

#include "engine/test_engine.h"

namespace octavo {
namespace {

using test::make_request;
using test::TestEngine;
using test::TestEngineOptions;

enum class Script : std::uint8_t { kRight, kWrong, kMixed };
constexpr Script kScripts[] = {Script::kRight, Script::kWrong, Script::kMixed};

/// A request's prediction of an answer that is known.
std::vector<TokenId> scripted(std::span<const TokenId> answer, Script script) {
  std::vector<TokenId> text(answer.begin(), answer.end());
  if (script == Script::kMixed)
    for (std::size_t i = 5; i < text.size(); i += 6) text[i] = (text[i] + 1) % 32;
  if (script != Script::kWrong) return text;
  text.clear();
  for (std::size_t i = 1; i + 1 < answer.size(); ++i)
    if (text.size() < 190) text.insert(text.end(), {answer[i - 1], answer[i], (answer[i + 1] + 1) % 32});
  return text;
}

struct Drafted {
  std::vector<test::Answer> answers;
  EngineStats stats;
};

/// The answers to requests that run together.
Drafted run(const std::function<TestEngineOptions()>& options, DraftMode mode,
            const std::function<std::vector<Request>(TestEngine&)>& requests,
            const std::function<void(std::size_t, Request&)>& edit = {}) {
  TestEngineOptions made = options();
  made.draft.mode = mode;
  TestEngine engine(std::move(made));
  std::vector<RequestId> ids;
  std::vector<Request> all = requests(engine);
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (edit) edit(i, all[i]);
    ids.push_back(engine.submit(std::move(all[i])));
  }
  while (engine->step()) EXPECT_TRUE(engine->check_integrity());
  EXPECT_TRUE(engine.all_blocks_free());
  Drafted drafted{.answers = {}, .stats = engine->stats()};
  for (const RequestId id : ids) drafted.answers.push_back(engine.answer(id));
  return drafted;
}

/// Logprobs of tokens without a draw are NaN.
bool same_logprobs(std::span<const float> a, std::span<const float> b) {
  return std::ranges::equal(a, b, [](float x, float y) { return x == y || (std::isnan(x) && std::isnan(y)); });
}

/// Runs the requests without drafts, then with each script; gives the counts of the drafted tokens by script.
std::vector<EngineStats> expect_same(const std::function<TestEngineOptions()>& options,
                                     const std::function<std::vector<Request>(TestEngine&)>& requests) {
  const Drafted plain = run(options, DraftMode::kOff, requests);
  EXPECT_EQ(plain.stats.drafted_tokens, 0U);
  std::vector<EngineStats> stats;
  for (const Script script : kScripts) {
    const Drafted drafted = run(options, DraftMode::kNgram, requests, [&](std::size_t i, Request& request) {
      request.prediction = scripted(plain.answers[i].tokens, script);
    });
    for (std::size_t i = 0; i < plain.answers.size(); ++i) {
      const test::Answer &a = drafted.answers[i], &b = plain.answers[i];
      EXPECT_EQ(a.tokens, b.tokens) << i << ' ' << static_cast<int>(script);
      EXPECT_TRUE(same_logprobs(a.logprobs, b.logprobs)) << i;
      EXPECT_EQ(a.text, b.text) << i;
      EXPECT_EQ(a.reasoning, b.reasoning) << i;
      EXPECT_EQ(a.finish, b.finish) << i;
      EXPECT_EQ(a.stats.reasoning_tokens, b.stats.reasoning_tokens);
      EXPECT_EQ(a.stats.stop_text, b.stats.stop_text);
      EXPECT_EQ(a.stats.error, b.stats.error);
      EXPECT_EQ(a.num_last_events, 1);
    }
    stats.push_back(drafted.stats);
  }
  return stats;
}

TestEngineOptions ordinary() { return {}; }

TEST(Draft, GuessesThatAreRightCountAndTheOthersChangeNothing) {
  for (const std::vector<int>& windows : {std::vector{0}, std::vector{0, 6}, std::vector{9},
                                          std::vector{test::kRecurrent, 0}, std::vector{0, test::chunks_of(8)}}) {
    const auto options = [&] { return TestEngineOptions{.runner = {.windows = windows}}; };
    const std::vector<EngineStats> stats = expect_same(options, [](TestEngine&) {
      Request greedy = make_request(9, 60, 5);
      greedy.sampling.temperature = 0;
      return std::vector{make_request(6, 50, 1), make_request(17, 70, 2), greedy};
    });
    const auto num_steps = [&](Script script) { return stats[static_cast<std::size_t>(script)].steps; };
    EXPECT_LT(num_steps(Script::kRight), 40U) << "the longest answer has 70 tokens";
    EXPECT_GT(num_steps(Script::kWrong), 60U);
    EXPECT_LT(num_steps(Script::kMixed), num_steps(Script::kWrong));
    const EngineStats& right = stats[0];
    EXPECT_EQ(right.drafted_tokens, right.accepted_draft_tokens);
    EXPECT_GT(right.accepted_draft_tokens, 80U);
    EXPECT_EQ(right.accepted_drafts_at[0], right.drafts);
    EXPECT_GE(right.accepted_drafts_at[0], right.accepted_drafts_at[1]);
    EXPECT_GT(stats[1].drafted_tokens, 3 * stats[1].accepted_draft_tokens);
  }
}

TEST(Draft, WhateverADrawDependsOnIsAsFarAsTheAnswer) {
  expect_same(ordinary, [](TestEngine&) {
    std::vector<Request> requests;
    for (std::uint64_t seed = 1; seed <= 6; ++seed) {
      Request request = make_request(8, 60, seed);
      SamplingParams& sampling = request.sampling;
      if (seed == 1) sampling.repetition_penalty = 1.3F, sampling.presence_penalty = 0.4F;
      if (seed == 2) sampling.mirostat = {.version = 2, .tau = 3, .eta = 0.3F};
      if (seed == 3) sampling.dry = {.multiplier = 0.8F, .base = 1.75F, .allowed_length = 1};
      if (seed == 4) request.min_tokens = 30, request.ignore_eos = false;
      if (seed == 5) request.top_logprobs = 5, request.stop = {"never in it"};
      if (seed == 6) sampling.top_k = 3, sampling.logit_bias = {{7, 2.0F}};
      requests.push_back(std::move(request));
    }
    return requests;
  });
}

TEST(Draft, AnAnswerEndsAtTheTokenAtWhichItWouldEndAlone) {
  expect_same(ordinary, [](TestEngine&) {
    std::vector<Request> requests;
    for (std::uint64_t seed = 1; seed <= 12; ++seed) {
      Request request = make_request(5, 60, seed);
      request.ignore_eos = seed % 3 == 0;
      if (seed % 3 == 1) request.stop = {"A", "BC"};
      if (seed % 3 == 2) request.stop_tokens = {9};
      requests.push_back(std::move(request));
    }
    return requests;
  });
}

TEST(Draft, AConstraintsAutomatonIsAsFarAsTheAnswer) {
  for (const bool logprobs : {true, false}) {
    const std::vector<EngineStats> stats = expect_same(ordinary, [&](TestEngine& engine) {
      std::vector<Request> requests;
      for (std::uint64_t seed = 1; seed <= 12; ++seed) {
        Request request = make_request(6, 60, seed);
        request.ignore_eos = false;
        request.constraint = engine->text()
                                 ->compile_constraint({.kind = ConstraintKind::kRegex,
                                                       .text = seed % 2 == 0 ? "([A-C]{2,5}\u20AC)+D?"
                                                                             : "([AB]CDEFGHIJ[KL]MNO){2}P[QR]"})
                                 .value();
        request.logprobs = logprobs;
        request.logprobs_after_mask = seed % 3 == 0;
        requests.push_back(std::move(request));
      }
      return requests;
    });
    EXPECT_GT(stats[0].accepted_draft_tokens, 10U);
  }
}

TEST(Draft, ATokenThatTheConstraintForbidsCostsNoRow) {
  TestEngine engine({.draft = {.mode = DraftMode::kNgram}});
  Request request = make_request(6, 60, 3);
  request.ignore_eos = false;
  request.constraint = engine->text()->compile_constraint({.kind = ConstraintKind::kRegex, .text = "A{20}"}).value();
  request.prediction.assign(30, test::kTinyA + 1);
  request.logprobs = true;
  const test::Answer answer = engine.run(std::move(request));
  EXPECT_EQ(answer.text, std::string(20, 'A'));
  EXPECT_EQ(answer.stats.drafted_prediction_tokens, 0);
}

TEST(Draft, TheBudgetOfReasoningIsSpentTokenByToken) {
  const auto options = [] { return TestEngineOptions{.tokenizer = test::reasoning_tokenizer}; };
  for (const bool is_constrained : {false, true}) {
    expect_same(options, [&](TestEngine& engine) {
      std::vector<Request> requests;
      for (std::uint64_t seed = 1; seed <= 12; ++seed) {
        Request request = make_request(6, 50, seed);
        request.ignore_eos = !is_constrained;
        request.reasoning = {
            .mode = ReasoningMode::kSplit, .begins_inside = seed % 2 == 0, .budget = static_cast<int>(seed % 5) * 3};
        if (is_constrained)
          request.constraint =
              engine->text()->compile_constraint({.kind = ConstraintKind::kRegex, .text = "([AB]CDEF){3}"}).value();
        requests.push_back(std::move(request));
      }
      return requests;
    });
  }
}

TEST(Draft, RequestsSayHowManyTokensAreGuessed) {
  TestEngine plain;
  const test::Answer expected = plain.run(make_request(6, 40, 1));
  for (const int max_drafts : {0, 2, 16}) {
    TestEngine engine({.draft = {.mode = DraftMode::kNgram}});
    Request request = make_request(6, 40, 1);
    request.max_drafts = max_drafts;
    request.prediction = expected.tokens;
    const test::Answer answer = engine.run(std::move(request));
    EXPECT_TRUE(answer.same_tokens(expected));
    if (max_drafts == 0) {
      EXPECT_EQ(answer.stats.drafted_tokens, 0);
    } else {
      EXPECT_GT(answer.stats.accepted_prediction_tokens, 0);
    }
    if (max_drafts == 2) {
      EXPECT_EQ(engine->stats().accepted_drafts_at[2], 0U);
    }
  }
}

TEST(Draft, EarlierAnswersOfTheSameCacheDomainAreDraftedFrom) {
  for (const DraftMode mode : {DraftMode::kNgram, DraftMode::kSuffix, DraftMode::kAuto}) {
    TestEngine engine({.draft = {.mode = mode}});
    Request request = make_request(6, 60, 1);
    request.cache_domain = "mine";
    const test::Answer first = engine.run(request), second = engine.run(request);
    request.cache_domain = "another's";
    const test::Answer other = engine.run(request);
    EXPECT_TRUE(second.same_tokens(first));
    EXPECT_TRUE(other.same_tokens(first));
    EXPECT_EQ(other.stats.drafted_tokens, first.stats.drafted_tokens) << "nothing is known of them";
    if (mode == DraftMode::kNgram) {
      EXPECT_EQ(second.stats.drafted_tokens, first.stats.drafted_tokens);
    } else {
      EXPECT_GT(second.stats.accepted_draft_tokens, 40);
    }
  }
}

TEST(Draft, ForksDraftEachOnItsOwn) {
  TestEngine plain;
  Request request = make_request(10, 40, 4);
  request.num_choices = 4;
  const RequestId id = plain.submit(request);
  plain->run();
  TestEngine engine({.draft = {.mode = DraftMode::kNgram}});
  for (int i = 0; i < 4; ++i)
    request.prediction.insert(request.prediction.end(), plain.answer(id, i).tokens.begin(),
                              plain.answer(id, i).tokens.end());
  const RequestId drafted = engine.submit(request);
  engine->run();
  for (int i = 0; i < 4; ++i) EXPECT_TRUE(engine.answer(drafted, i).same_tokens(plain.answer(id, i))) << i;
  EXPECT_GT(engine->stats().accepted_draft_tokens, 20U);
}

TEST(Draft, ACallbackMayCancelWhileItsDraftIsVerified) {
  TestEngine plain;
  const test::Answer expected = plain.run(make_request(6, 40, 1));
  TestEngine engine({.draft = {.mode = DraftMode::kNgram}});
  for (const int at : {3, 9, 17}) {
    std::vector<TokenId> tokens;
    int num_ends = 0;
    Request request = make_request(6, 40, 1);
    request.prediction = expected.tokens;
    const auto id = engine->submit(std::move(request), [&](const TokenEvent& event) {
      if (event.token >= 0) tokens.push_back(event.token);
      if (event.finish != FinishReason::kNone) ++num_ends;
      if (static_cast<int>(tokens.size()) == at && num_ends == 0) engine->cancel(event.request);
    });
    ASSERT_TRUE(id);
    while (engine->step()) EXPECT_TRUE(engine->check_integrity());
    EXPECT_EQ(num_ends, 1);
    EXPECT_TRUE(std::ranges::equal(tokens, std::span(expected.tokens).first(static_cast<std::size_t>(at))));
    EXPECT_TRUE(engine.all_blocks_free());
  }
}

/// Greedy requests, whose answers a head that is always right knows.
std::vector<Request> greedy_requests(TestEngine&) {
  std::vector<Request> requests = {make_request(6, 50, 1), make_request(17, 70, 2), make_request(9, 60, 5)};
  for (Request& request : requests) request.sampling.temperature = 0;
  return requests;
}

TEST(Draft, GuessesOfADraftHeadAreVerifiedAsAnyOthers) {
  for (const std::vector<int>& windows : {std::vector{0}, std::vector{0, 6}, std::vector{test::kRecurrent, 0}})
    for (const int wrong : {0, 1, 5})
      for (const DraftMode mode : {DraftMode::kMtp, DraftMode::kAuto}) {
        const auto options = [&] {
          return TestEngineOptions{.runner = {.windows = windows, .has_draft_head = true, .guess_wrong = wrong}};
        };
        const Drafted plain = run(options, DraftMode::kOff, greedy_requests);
        const Drafted drafted = run(options, mode, greedy_requests);
        for (std::size_t i = 0; i < plain.answers.size(); ++i)
          EXPECT_TRUE(drafted.answers[i].same_tokens(plain.answers[i])) << i << ' ' << wrong;
        if (wrong == 0) {
          EXPECT_LT(drafted.stats.steps, 20U) << "the longest answer has 70 tokens";
          EXPECT_EQ(drafted.stats.accepted_draft_tokens, drafted.stats.drafted_tokens);
        } else if (wrong > 1) {
          EXPECT_GT(drafted.stats.accepted_draft_tokens, 60U);
        } else if (mode == DraftMode::kMtp) {
          EXPECT_LT(drafted.stats.accepted_draft_tokens, 10U);
        }
      }
}

// With the seeds, choices, positions and settings of the requests.
TEST(Draft, ADraftHeadDrawsWithTheNumbersThatTokensAreDrawnWith) {
  const auto options = [] { return TestEngineOptions{.runner = {.has_draft_head = true}}; };
  const auto requests = [](TestEngine&) {
    std::vector<Request> all = {make_request(6, 50, 1), make_request(17, 40, 2), make_request(9, 60, 5),
                                make_request(5, 40, 6), make_request(7, 40, std::uint64_t{1} << 50)};
    all[0].sampling.top_k = 5;
    all[0].num_choices = 3;
    all[1].sampling.top_p = 0.7F;
    all[1].first_choice = 4;
    all[2].sampling.min_p = 0.3F;
    all[2].sampling.temperature = 1.6F;
    all[3].sampling.order = {SamplerStep::kTopK, SamplerStep::kTemperature};
    all[3].sampling.top_p = 0.1F;  // that the order leaves out
    return all;
  };
  const Drafted plain = run(options, DraftMode::kOff, requests), drafted = run(options, DraftMode::kMtp, requests);
  for (std::size_t i = 0; i < plain.answers.size(); ++i)
    EXPECT_TRUE(drafted.answers[i].same_tokens(plain.answers[i])) << i;
  EXPECT_EQ(drafted.stats.accepted_draft_tokens, drafted.stats.drafted_tokens);
  EXPECT_GT(drafted.stats.accepted_draft_tokens, 150U);
}

TEST(Draft, ADraftHeadIsAskedWhereItMayBeLikelierThanTexts) {
  const auto num_guesses = [](DraftMode mode, bool has_head, bool repeats) {
    TestEngine engine({.runner = {.has_draft_head = has_head, .guess_wrong = 1}, .draft = {.mode = mode}});
    Request request = make_request(6, 60, 1);
    if (repeats) {
      TestEngine plain;
      request.prediction = plain.run(request).tokens;
    }
    engine.run(std::move(request));
    return engine.runner().num_guesses();
  };
  for (const DraftMode mode : {DraftMode::kOff, DraftMode::kNgram, DraftMode::kSuffix})
    EXPECT_EQ(num_guesses(mode, true, false), 0);
  EXPECT_EQ(num_guesses(DraftMode::kAuto, false, false), 0);
  EXPECT_GT(num_guesses(DraftMode::kMtp, true, true), 0);
  EXPECT_GT(num_guesses(DraftMode::kAuto, true, false), 0);
  EXPECT_EQ(num_guesses(DraftMode::kAuto, true, true), 0) << "the prediction is right all along";
}

TEST(Draft, AHeadGuessesForForksAndForWhatConstraintsAllow) {
  const auto options = [] { return TestEngineOptions{.runner = {.has_draft_head = true}}; };
  const auto requests = [](TestEngine& engine) {
    std::vector<Request> all = greedy_requests(engine);
    all[0].num_choices = 3;
    all[1].ignore_eos = false;
    all[1].constraint =
        engine->text()
            ->compile_constraint({.kind = ConstraintKind::kRegex, .text = "([AB]CDEFGHIJ[KL]MNO){2}P[QR]"})
            .value();
    return all;
  };
  const Drafted plain = run(options, DraftMode::kOff, requests), drafted = run(options, DraftMode::kMtp, requests);
  for (std::size_t i = 0; i < plain.answers.size(); ++i)
    EXPECT_EQ(drafted.answers[i].tokens, plain.answers[i].tokens) << i;
  EXPECT_LT(drafted.stats.steps, plain.stats.steps);
}

// Guesses take free blocks for as long as they are made.
TEST(Draft, AHeadGuessesNothingWhereNoBlockIsFree) {
  for (const int num_blocks : {5, 14}) {
    TestEngine engine({.runner = {.block_size = 4, .num_blocks = num_blocks, .has_draft_head = true},
                       .max_context = 20,
                       .draft = {.mode = DraftMode::kMtp}});
    Request request = make_request(16, 4, 3);
    request.sampling.temperature = 0;
    const test::Answer answer = engine.run(request);
    EXPECT_TRUE(answer.same_tokens(test::reference_answer(request, 32)));
    EXPECT_GT(engine.runner().num_guesses(), 0);
    EXPECT_EQ(engine->stats().preemptions, 0U);
  }
}

TEST(Draft, WhereNoMemoryIsForGuessesTheirRequestsEndAndOthersGoOn) {
  int num_batches = 0;
  TestEngineOptions options{.runner = {.has_draft_head = true}, .draft = {.mode = DraftMode::kMtp}};
  options.runner.before_forward = [&] {
    if (++num_batches == 2) throw std::bad_alloc();  // the first one reads the prompt
  };
  TestEngine engine(std::move(options));
  const test::Answer answer = engine.run(make_request(6, 40, 1));
  EXPECT_EQ(answer.finish, FinishReason::kFailed);
  EXPECT_TRUE(engine.all_blocks_free());
  EXPECT_EQ(engine.run(make_request(6, 40, 2)).finish, FinishReason::kLength);
}

TEST(Draft, APredictionCountsInTheQueueAsAPromptDoes) {
  TestEngine engine({.max_queued_tokens = 100});
  Request request = make_request(10, 5);
  request.prediction.assign(91, 5);
  EXPECT_NE(engine.refusal(request), "accepted");
  request.prediction.resize(90);
  EXPECT_EQ(engine.refusal(request), "accepted");
}

TEST(Draft, WrongNumbersAndTokensAreRefused) {
  TestEngine engine;
  Request request = make_request(6, 40, 1);
  request.max_drafts = 17;
  EXPECT_EQ(engine.refusal(request), "max_drafts: found 17, expected 0 to 16");
  request.max_drafts = 1;
  request.prediction = {5, 99};
  EXPECT_EQ(engine.refusal(request), "prediction[1]: found 99, expected a token id from 0 to 31");
  request.prediction.assign(201, 5);
  EXPECT_EQ(engine.refusal(request), "prediction: found 201 tokens, expected at most 200: the context holds no more");
}

}  // namespace
}  // namespace octavo
