// Prompts, limits, choices and streams, as a request says them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fmt/format.h>

#include "api/openai_bodies.h"

namespace octavo {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pair;
using ::testing::StartsWith;

TEST_F(OpenAiRequest, TakesAPromptInEachOfItsForms) {
  const auto tokens = [&](const std::string& prompt) {
    std::vector<std::vector<TokenId>> all;
    const auto call = completion(R"("prompt": )" + prompt);
    EXPECT_TRUE(call.has_value()) << prompt;
    if (call) {
      for (const Request& request : call->requests) all.push_back(request.tokens);
    }
    return all;
  };
  EXPECT_THAT(tokens(R"("ab")"), ElementsAre(ElementsAre('a', 'b')));
  EXPECT_THAT(tokens(R"(["ab", "c"])"), ElementsAre(ElementsAre('a', 'b'), ElementsAre('c')));
  EXPECT_THAT(tokens("[5, 6]"), ElementsAre(ElementsAre(5, 6)));
  EXPECT_THAT(tokens("[[5, 6], [7]]"), ElementsAre(ElementsAre(5, 6), ElementsAre(7)));
  EXPECT_THAT(tokens(R"("a<end>")"), ElementsAre(ElementsAre('a', FakeText::kEnd)));
}

TEST_F(OpenAiRequest, AddsBosToTextButNotToIds) {
  words_.adds_bos = true;
  EXPECT_THAT(completion(R"("prompt": "a")")->requests[0].tokens, ElementsAre(FakeText::kBos, 'a'));
  EXPECT_THAT(completion(R"("prompt": [97])")->requests[0].tokens, ElementsAre(97));
}

TEST_F(OpenAiRequest, RefusesPromptsThatAreNone) {
  for (const std::string prompt :
       {"5", "true", "{}", "[]", R"("")", "[[]]", "[5, \"a\"]", "[\"a\", 5]", "[[5], [true]]", "[-1]", "[1.5]", "[264]",
        "[99999999999999999999]", "[null]", "[\"a\", \"\"]"}) {
    const auto call = completion(R"("prompt": )" + prompt);
    ASSERT_FALSE(call.has_value()) << prompt;
    EXPECT_EQ(call.error().status, 400) << prompt;
    EXPECT_THAT(call.error().param, HasSubstr("prompt")) << prompt;
    EXPECT_THAT(call.error().message, HasSubstr("expected")) << prompt;
  }
  const ApiError missing = completion(R"("n": 1)").error();
  EXPECT_EQ(missing.code, "missing_required_parameter");
  EXPECT_EQ(missing.param, "prompt");
}

TEST_F(OpenAiRequest, AnotherModelIsNotFound) {
  const ApiError error = completion_error(R"("model": "gpt-4")");
  EXPECT_EQ(error.status, 404);
  EXPECT_EQ(error.code, "model_not_found");
  EXPECT_THAT(error.message, AllOf(HasSubstr("gpt-4"), HasSubstr("text")));
  EXPECT_TRUE(completion(R"("prompt": "a", "model": "text")").has_value());
}

TEST_F(OpenAiRequest, TheModelAnswersToItsOtherNamesAsWell) {
  EXPECT_TRUE(completion(R"("prompt": "a", "model": "text")"));
  EXPECT_TRUE(completion(R"("prompt": "a", "model": "Text.gguf")"));
  EXPECT_TRUE(chat(kUser + R"(, "model": "Text.gguf")"));
  EXPECT_TRUE(completion(R"("prompt": "a", "model": "")")) << "no name is the one model's";
  EXPECT_TRUE(completion(R"("prompt": "a", "model": null)"));
  EXPECT_EQ(completion_error(R"("model": "Text")").code, "model_not_found");
}

TEST_F(OpenAiRequest, ACompletionHasSixteenTokensUnlessToldAndAChatTheContext) {
  EXPECT_EQ(request("").max_tokens, 16);
  EXPECT_EQ(request(R"("max_tokens": 5)").max_tokens, 5);
  EXPECT_EQ(chat(kUser)->requests[0].max_tokens, 0);
  EXPECT_EQ(chat(kUser + R"(, "max_tokens": 5)")->requests[0].max_tokens, 5);
  EXPECT_EQ(chat(kUser + R"(, "max_completion_tokens": 6)")->requests[0].max_tokens, 6);
  EXPECT_EQ(chat(kUser + R"(, "n_predict": 7)")->requests[0].max_tokens, 7);
  EXPECT_EQ(request(R"("n_predict": 7)").max_tokens, 7);
}

TEST_F(OpenAiRequest, OfSeveralLimitsTheSmallestHolds) {
  EXPECT_EQ(chat(kUser + R"(, "max_tokens": 5, "max_completion_tokens": 6)")->requests[0].max_tokens, 5);
  EXPECT_EQ(chat(kUser + R"(, "max_tokens": 6, "max_completion_tokens": 5)")->requests[0].max_tokens, 5);
  EXPECT_EQ(chat(kUser + R"(, "max_tokens": -1, "max_completion_tokens": 5)")->requests[0].max_tokens, 5);
}

TEST_F(OpenAiRequest, MinusOneAndMinusTwoAreNoLimit) {
  for (const char* limit : {"-1", "-2", "-1.0"})
    for (const char* name : {"max_tokens", "max_completion_tokens", "n_predict"}) {
      const std::string field = fmt::format(R"("{}": {})", name, limit);
      EXPECT_EQ(request(field).max_tokens, 0) << field;
      EXPECT_EQ(chat(kUser + ", " + field)->requests[0].max_tokens, 0) << field;
    }
  EXPECT_EQ(completion_error(R"("max_tokens": -3)").param, "max_tokens");
}

TEST_F(OpenAiRequest, AChatOfNoTokensIsRefusedInTheNameThatTheClientUsed) {
  for (const char* name : {"max_tokens", "max_completion_tokens", "n_predict"}) {
    const ApiError error = chat_error(fmt::format("{}, \"{}\": 0", kUser, name));
    EXPECT_EQ(error.param, name);
    EXPECT_THAT(error.message, HasSubstr("expected at least 1"));
  }
}

// Agents send the same limit to every model.
TEST_F(OpenAiRequest, ALimitBeyondTheContextIsCutToItsRoomAndSaid) {
  for (const char* limit : {"99", "100000", "2147483648", "9223372036854775807", "18446744073709551615", "1e300"}) {
    const auto cut = completion(fmt::format(R"("prompt": "ab", "max_tokens": {})", limit));
    ASSERT_TRUE(cut.has_value()) << limit << cut.error().message;
    EXPECT_EQ(cut->requests[0].max_tokens, 98);
    EXPECT_THAT(cut->warnings, ElementsAre(AllOf(StartsWith("max_tokens: found "), HasSubstr("cut to 98"))));
  }
  const auto whole = completion(R"("prompt": "ab", "max_tokens": 98)");
  EXPECT_EQ(whole->requests[0].max_tokens, 98);
  EXPECT_THAT(whole->warnings, IsEmpty());
  EXPECT_THAT(completion(R"("prompt": "ab")")->warnings, IsEmpty());
  const auto talk = chat(kUser + R"(, "max_completion_tokens": 1000)");
  EXPECT_EQ(talk->requests[0].max_tokens + static_cast<int>(talk->prompts[0].num_tokens), 100);
  EXPECT_THAT(talk->warnings, ElementsAre(StartsWith("max_completion_tokens: found 1000, cut to ")));
  const auto several = completion(R"("prompt": ["abcd", "a"], "max_tokens": 1000)");
  EXPECT_EQ(several->requests[1].max_tokens, 99);
  EXPECT_THAT(several->warnings, ElementsAre(HasSubstr("cut to 96")));
}

TEST_F(OpenAiRequest, WhatCanNeverFitIsStillRefusedBesideALimitThatIsCut) {
  EXPECT_EQ(completion_error(R"("max_tokens": 1000, "min_tokens": 99)").param, "min_tokens");
  EXPECT_EQ(request(R"("max_tokens": 1000, "min_tokens": 98)").min_tokens, 98);
  EXPECT_EQ(completion_error(R"("max_tokens": 0, "n": 2)").param, "n");
}

TEST_F(OpenAiRequest, AnImplicitLimitIsClampedToTheContext) {
  const auto call = completion(R"("prompt": ")" + std::string(95, 'a') + R"(")");
  EXPECT_EQ(call->requests.at(0).max_tokens, 5);
}

TEST_F(OpenAiRequest, OverflowOfTheContextNamesBothNumbers) {
  const auto too_long = completion(R"("prompt": ")" + std::string(100, 'a') + R"(")");
  ASSERT_FALSE(too_long.has_value());
  EXPECT_EQ(too_long.error().code, "context_length_exceeded");
  EXPECT_EQ(too_long.error().param, "prompt");
  EXPECT_THAT(too_long.error().message, AllOf(HasSubstr("maximum context length is 100"), HasSubstr("100 tokens")));
}

TEST_F(OpenAiRequest, MaxTokensZeroGeneratesNothing) {
  const Request found = request(R"("max_tokens": 0)");
  EXPECT_EQ(found.max_tokens, -1);
  EXPECT_TRUE(found.on_prompt_logits);  // without which the engine takes no such request
  EXPECT_THAT(completion(R"("prompt": "a", "max_tokens": 0)")->warnings, IsEmpty()) << "nothing is cut";
  EXPECT_TRUE(completion(R"("max_tokens": 0, "prompt": ")" + std::string(100, 'a') + R"(")").has_value());
}

TEST_F(OpenAiRequest, LogprobsHaveTheirShapesOwnFields) {
  EXPECT_EQ(completion(R"("prompt": "a")")->num_logprobs, -1);
  EXPECT_EQ(completion(R"("prompt": "a", "logprobs": 0)")->num_logprobs, 0);
  EXPECT_TRUE(request(R"("logprobs": 0)").logprobs);
  EXPECT_FALSE(request("").logprobs) << "nobody asks, and no row is weighed for one";
  EXPECT_EQ(request(R"("logprobs": 5)").top_logprobs, 5);
  EXPECT_EQ(chat(kUser)->num_logprobs, -1);
  EXPECT_EQ(chat(kUser + R"(, "logprobs": false)")->num_logprobs, -1);
  EXPECT_EQ(chat(kUser + R"(, "logprobs": true)")->num_logprobs, 0);
  EXPECT_EQ(chat(kUser + R"(, "logprobs": true, "top_logprobs": 20)")->requests[0].top_logprobs, 20);
  EXPECT_EQ(chat(kUser + R"(, "top_logprobs": 3)")->num_logprobs, 3) << "a number alone asks for them";
  EXPECT_EQ(chat(kUser + R"(, "top_logprobs": 0)")->num_logprobs, -1);
  EXPECT_EQ(completion(R"("prompt": "a", "logprobs": false)")->num_logprobs, -1);
  EXPECT_EQ(chat_error(kUser + R"(, "logprobs": true, "top_logprobs": 21)").param, "top_logprobs");
  EXPECT_EQ(chat_error(kUser + R"(, "logprobs": 3)").param, "logprobs");
}

TEST_F(OpenAiRequest, PromptLogitsAreWantedForEchoWithLogprobsOnly) {
  EXPECT_FALSE(request(R"("echo": true)").on_prompt_logits);
  EXPECT_FALSE(request(R"("logprobs": 1)").on_prompt_logits);
  EXPECT_TRUE(request(R"("echo": true, "logprobs": 1)").on_prompt_logits);
  EXPECT_TRUE(completion(R"("prompt": "a", "echo": true, "logprobs": 0)")->prompts[0].logprobs != nullptr);
}

TEST_F(OpenAiRequest, AnEchoedPromptIsTheTextThatWasSent) {
  words_.adds_bos = true;
  EXPECT_EQ(completion(R"("prompt": "a<end>b", "echo": true)")->prompts[0].text, "a<end>b");
  EXPECT_EQ(completion(R"("prompt": [97, 258], "echo": true)")->prompts[0].text, "aHello");
  EXPECT_EQ(completion(R"("prompt": "a")")->prompts[0].text, "");
}

TEST_F(OpenAiRequest, TheAnswersOfOneCallAreBounded) {
  std::string many = R"("prompt": ["a")";
  for (int i = 1; i < 9; ++i) many += R"(, "a")";
  EXPECT_EQ(completion(many + R"(], "n": 128)").error().param, "prompt");
  EXPECT_TRUE(completion(R"("prompt": ["a", "a", "a", "a", "a", "a", "a", "a"], "n": 128)").has_value());
}

TEST_F(OpenAiRequest, EveryFieldMayBeNull) {
  EXPECT_TRUE(chat(kUser + R"(, "model": null, "audio": null, "frequency_penalty": null, "function_call": null,
      "functions": null, "logit_bias": null, "logprobs": null, "max_completion_tokens": null, "max_tokens": null,
      "metadata": null, "modalities": null, "n": null, "parallel_tool_calls": null, "prediction": null,
      "presence_penalty": null, "reasoning_effort": null, "response_format": null, "seed": null, "service_tier": null,
      "stop": null, "store": null, "stream": null, "stream_options": null, "temperature": null, "tool_choice": null,
      "tools": null, "top_logprobs": null, "top_p": null, "user": null, "web_search_options": null)"));
  EXPECT_TRUE(completion(R"("prompt": "a", "model": null, "best_of": null, "echo": null, "frequency_penalty": null,
      "logit_bias": null, "logprobs": null, "max_tokens": null, "n": null, "presence_penalty": null, "seed": null,
      "stop": null, "stream": null, "stream_options": null, "suffix": null, "temperature": null, "top_p": null,
      "user": null)"));
}

TEST_F(OpenAiRequest, AnAnswerTooLargeToHoldIsRefusedBeforeItIsMade) {
  ServedModel model = kAskedModel;
  model.policy.max_answer_bytes = 60'000;
  const auto parse = [&](const std::string& fields, bool is_chat) {
    const auto body = boost::json::parse("{" + fields + "}").as_object();
    return is_chat ? parse_chat_completion(body, words_, model) : parse_completion(body, words_, model);
  };
  const std::string many = R"(, "n": 128, "max_tokens": 50, "logprobs": )";
  const auto refused = parse(R"("prompt": "a")" + many + "20", false);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().status, 400);
  EXPECT_EQ(refused.error().code, "answer_too_large");
  EXPECT_THAT(refused.error().message, AllOf(HasSubstr("about 2912000 bytes"), HasSubstr("at most 60000")));
  EXPECT_EQ(parse(kUser + many + R"(true, "top_logprobs": 1)", true).error().code, "answer_too_large");
  EXPECT_TRUE(parse(kUser + many + R"(true, "top_logprobs": 1, "stream": true)", true));
  EXPECT_TRUE(parse(R"("prompt": "a", "n": 128, "max_tokens": 50)", false));
  EXPECT_TRUE(parse(kUser + R"(, "n": 128, "logprobs": true)", true));  // no limit asked for: watched as it grows
}

TEST_F(OpenAiRequest, ChoicesAreAsManyAsCanAdvanceTogether) {
  ServedModel model = kAskedModel;
  model.policy.max_choices = 4;
  const auto parse = [&](int n) {
    return parse_completion(boost::json::parse(fmt::format(R"({{"prompt": "a", "n": {}}})", n)).as_object(), words_,
                            model);
  };
  EXPECT_TRUE(parse(4));
  EXPECT_EQ(parse(5).error().param, "n");
  EXPECT_THAT(parse(5).error().message, HasSubstr("from 1 to 4"));
}

TEST_F(OpenAiRequest, EchoedPromptsCountAlsoInAStream) {
  ServedModel model = kAskedModel;
  model.policy.max_answer_bytes = 60'000;
  const std::string prompt(80, 'a');
  const auto parse = [&](int num_prompts) {
    std::string fields = R"({"echo": true, "logprobs": 20, "max_tokens": 1, "stream": true, "prompt": [")" + prompt;
    for (int i = 1; i < num_prompts; ++i) fields += R"(", ")" + prompt;
    return parse_completion(boost::json::parse(fields + "\"]}").as_object(), words_, model);
  };
  EXPECT_TRUE(parse(1));
  EXPECT_EQ(parse(2).error().code, "answer_too_large");
}

TEST_F(OpenAiRequest, AnEchoCountsTheBytesThatItIsWrittenIn) {
  ServedModel model = kAskedModel;
  model.policy.max_answer_bytes = 50'000;
  const auto parse = [&](const std::string& prompt, const std::string& more) {
    return parse_completion(
        boost::json::parse(R"({"echo": true, "max_tokens": 1, "n": 100, "prompt": )" + prompt + more + "}").as_object(),
        words_, model);
  };
  std::string escapes, ids = "[258", plain(90, 'a');
  for (int i = 0; i < 90; ++i) escapes += "\\u0001";  // one byte, which JSON writes as six
  for (int i = 1; i < 90; ++i) ids += ", 258";        // "Hello"
  EXPECT_TRUE(parse('"' + plain + '"', ""));
  EXPECT_TRUE(parse(ids + "]", R"(, "stream": true)"));
  for (const std::string stream : {"", R"(, "stream": true)"}) {
    EXPECT_EQ(parse('"' + escapes + '"', stream).error().code, "answer_too_large") << stream;
    // Each token is spelled in its list and among its alternatives as well.
    EXPECT_EQ(parse('"' + plain + '"', R"(, "logprobs": 0)" + stream).error().code, "answer_too_large") << stream;
  }
  // Ids are in the answer as often as it has choices.
  EXPECT_EQ(parse('"' + plain + '"', R"(, "return_token_ids": true)").error().code, "answer_too_large");
}

TEST_F(OpenAiRequest, StreamingAndItsOptions) {
  EXPECT_FALSE(completion(R"("prompt": "a")")->stream);
  EXPECT_TRUE(completion(R"("prompt": "a", "stream": true)")->stream);
  EXPECT_FALSE(completion(R"("prompt": "a", "stream": true)")->include_usage);
  EXPECT_TRUE(completion(R"("prompt": "a", "stream": true, "stream_options": {"include_usage": true})")->include_usage);
  const auto continuous = [&](const std::string& options) {
    return completion(R"("prompt": "a", "stream": true, "stream_options": )" + options)->continuous_usage;
  };
  EXPECT_TRUE(continuous(R"({"include_usage": true, "continuous_usage_stats": true})"));
  EXPECT_FALSE(continuous(R"({"include_usage": true})"));
  EXPECT_FALSE(continuous(R"({"continuous_usage_stats": true})"));
  EXPECT_FALSE(completion(R"("prompt": "a", "stream": true)")->return_progress);
  EXPECT_TRUE(completion(R"("prompt": "a", "stream": true, "return_progress": true)")->return_progress);
  EXPECT_FALSE(completion(R"("prompt": "a", "return_progress": true)")->return_progress);  // of streams alone
}

TEST_F(OpenAiRequest, ASaltIsHandedOn) {
  EXPECT_EQ(completion(R"("prompt": "a", "cache_salt": "s")")->user_cache_salt, "s");
  EXPECT_THAT(completion(R"("prompt": "a")")->user_cache_salt, IsEmpty());
}

TEST_F(OpenAiRequest, ASaltHasABound) {
  const auto salt = [](std::size_t size) { return R"("cache_salt": ")" + std::string(size, 's') + '"'; };
  EXPECT_TRUE(completion(R"("prompt": "a", )" + salt(1024)));
  const ApiError error = completion_error(salt(1025));
  EXPECT_EQ(error.status, 400);
  EXPECT_EQ(error.code, "invalid_value");
  EXPECT_EQ(error.param, "cache_salt");
  EXPECT_THAT(error.message, HasSubstr("found 1025 bytes, expected at most 1024"));
}

TEST_F(OpenAiRequest, SettingsCountForEachPrompt) {
  std::string ids = "97";
  for (int i = 1; i < 65'536; ++i) ids += ",97";
  const auto with_prompts = [&](int count) {
    std::string prompts = R"("a")";
    for (int i = 1; i < count; ++i) prompts += R"(, "a")";
    return completion(R"("prompt": [)" + prompts + R"(], "allowed_token_ids": [)" + ids + "]");
  };
  EXPECT_TRUE(with_prompts(64));
  const auto refused = with_prompts(65);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().param, "prompt");
  EXPECT_THAT(refused.error().message, HasSubstr("found 65 prompts, with 262144 bytes"));
  EXPECT_THAT(refused.error().message, HasSubstr("at most 16777216 bytes"));
}

TEST_F(OpenAiRequest, APredictionIsATextToDraftFrom) {
  const auto call = chat(kUser + R"(, "prediction": {"type": "content", "content": "abc"})");
  ASSERT_TRUE(call.has_value()) << call.error().message;
  EXPECT_EQ(words_.detokenize(call->requests.at(0).prediction), "abc");
  EXPECT_TRUE(call->counts_prediction);
  const auto parts = chat(kUser + R"(, "prediction": {"type": "content", "content": [{"type": "text", "text": "a"},
      {"type": "text", "text": "b"}]})");
  ASSERT_TRUE(parts.has_value()) << parts.error().message;
  EXPECT_EQ(words_.detokenize(parts->requests.at(0).prediction), "ab");
  EXPECT_EQ(words_.detokenize(request(R"("prediction": {"type": "content", "content": "abc"})").prediction), "abc");
  EXPECT_FALSE(chat(kUser)->counts_prediction);
}

TEST_F(OpenAiRequest, APredictionOfTheWrongKindIsAnError) {
  EXPECT_EQ(chat_error(kUser + R"(, "prediction": "abc")").param, "prediction");
  EXPECT_EQ(chat_error(kUser + R"(, "prediction": {"type": "tokens", "content": "a"})").param, "prediction.type");
  EXPECT_EQ(chat_error(kUser + R"(, "prediction": {"content": "a"})").param, "prediction.type");
  EXPECT_EQ(chat_error(kUser + R"(, "prediction": {"type": "content", "content": 3})").param, "prediction.content");
}

TEST_F(OpenAiRequest, APredictionBeyondTheContextIsLeftAlone) {
  const std::string text(static_cast<std::size_t>(words_.info().max_context) + 1, 'a');
  const auto call = chat(kUser + R"(, "prediction": {"type": "content", "content": ")" + text + "\"}");
  ASSERT_TRUE(call.has_value()) << call.error().message;
  EXPECT_TRUE(call->requests.at(0).prediction.empty());
  EXPECT_THAT(call->warnings, ElementsAre(HasSubstr("prediction: found a text of more than")));
}

TEST_F(OpenAiRequest, SpeculationBoundsTheTokensThatAreGuessed) {
  EXPECT_EQ(request("").max_drafts, kMaxDraftTokens);
  EXPECT_EQ(request(R"("speculation": true)").max_drafts, kMaxDraftTokens);
  EXPECT_EQ(request(R"("speculation": false)").max_drafts, 0);
  EXPECT_EQ(request(R"("speculation": {"max": 3})").max_drafts, 3);
  EXPECT_EQ(request(R"("speculation": {})").max_drafts, kMaxDraftTokens);
  EXPECT_EQ(completion_error(R"("speculation": 3)").param, "speculation");
  EXPECT_EQ(completion_error(R"("speculation": {"foo": 1})").message,
            "speculation.foo: found a member of that name, expected max alone");
  EXPECT_EQ(completion_error(R"("speculation": {"max": 17})").param, "speculation.max");
}

}  // namespace
}  // namespace octavo
