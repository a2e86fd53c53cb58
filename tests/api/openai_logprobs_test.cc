// Log-probabilities of answers and of echoed prompts.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "api/answers/openai_logprobs.h"

#include "api/call/prompt_logprobs.h"
#include "api/openai_response.h"

namespace octavo {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

TEST_F(OpenAiResponse, LogprobsOfAChatHaveBytesAndAlternatives) {
  open_chat(R"(, "logprobs": true, "top_logprobs": 2)");
  RequestEvent event = token(FakeText::kHello, "Hello");
  event.top_logprobs = {{.token = FakeText::kHello, .logprob = -0.5F}, {.token = 'x', .logprob = -2}};
  response_->on_event(event);
  response_->on_event(last(FakeText::kEnd, "", FinishReason::kStop));
  EXPECT_EQ(json::serialize(choice(body()).at("logprobs")),
            R"({"content":[{"token":"Hello","logprob":-5E-1,"bytes":[72,101,108,108,111],"top_logprobs":[)"
            R"({"token":"Hello","logprob":-5E-1,"bytes":[72,101,108,108,111]},)"
            R"({"token":"x","logprob":-2,"bytes":[120]}]}],"refusal":null})");
}

TEST_F(OpenAiResponse, PartsOfACharacterSurviveInLogprobs) {
  open_chat(R"(, "logprobs": true, "stream": true)");
  EXPECT_EQ(send(token(FakeText::kSmileBegin, "")).size(), 1);  // the role alone: its text is still to come
  const auto events = send(token(FakeText::kSmileEnd, "\xF0\x9F\x98\x80"));
  ASSERT_EQ(events.size(), 1);
  const json::array content = choice(events[0]).at("logprobs").at("content").as_array();
  ASSERT_EQ(content.size(), 2);
  EXPECT_EQ(content[0].at("token"), json::value("\\xf0\\x9f"));
  EXPECT_EQ(json::serialize(content[0].at("bytes")), "[240,159]");
  EXPECT_EQ(json::serialize(content[1].at("bytes")), "[152,128]");
}

TEST_F(OpenAiResponse, LogprobsOfACompletionAreFourArrays) {
  open_completion(R"(, "logprobs": 1)");
  RequestEvent first = token(FakeText::kGrin, "\xF0\x9F\x98\x80");
  first.top_logprobs = {{.token = FakeText::kGrin, .logprob = -0.5F}};
  RequestEvent second = last(FakeText::kWorld, " world", FinishReason::kLength);
  second.top_logprobs = {{.token = FakeText::kSmileBegin, .logprob = -0.25F}};
  response_->on_event(first);
  response_->on_event(second);
  EXPECT_EQ(json::serialize(choice(body()).at("logprobs")),
            R"({"text_offset":[0,1],"token_logprobs":[-5E-1,-5E-1],"tokens":["😀"," world"],)"
            R"("top_logprobs":[{"😀":-5E-1},{"bytes:\\xf0\\x9f":-2.5E-1," world":-5E-1}]})");
}

TEST_F(OpenAiResponse, TokensThatReadAlikeAreOneAlternative) {
  open_completion(R"(, "logprobs": 2)");
  RequestEvent event = last(FakeText::kAgain, "Hello", FinishReason::kLength);
  event.top_logprobs = {{.token = FakeText::kHello, .logprob = -0.25F}, {.token = FakeText::kAgain, .logprob = -3}};
  response_->on_event(event);
  EXPECT_EQ(json::serialize(choice(body()).at("logprobs").at("top_logprobs")), R"([{"Hello":-2.5E-1}])");
}

TEST_F(OpenAiResponse, IdsStandForTokensIfAskedFor) {
  open_completion(R"(, "logprobs": 2, "return_tokens_as_token_ids": true)");
  RequestEvent event = last(FakeText::kAgain, "Hello", FinishReason::kLength);
  event.top_logprobs = {{.token = FakeText::kHello, .logprob = -0.25F}, {.token = FakeText::kAgain, .logprob = -3}};
  response_->on_event(event);
  const json::object logprobs = choice(body()).at("logprobs").as_object();
  const std::string again = fmt::format("token_id:{}", static_cast<int>(FakeText::kAgain));
  EXPECT_EQ(logprobs.at("tokens").at(0), json::value(again));
  EXPECT_EQ(json::serialize(logprobs.at("top_logprobs")),
            fmt::format(R"([{{"token_id:{}":-2.5E-1,"{}":-3}}])", static_cast<int>(FakeText::kHello), again));
  open_chat(R"(, "top_logprobs": 1, "return_tokens_as_token_ids": true)");
  event.top_logprobs.pop_back();
  response_->on_event(event);
  EXPECT_EQ(json::serialize(choice(body()).at("logprobs").at("content").at(0)),
            fmt::format(R"({{"token":"{}","logprob":-5E-1,"bytes":[72,101,108,108,111],"top_logprobs":[)"
                        R"({{"token":"token_id:{}","logprob":-2.5E-1,"bytes":[72,101,108,108,111]}}]}})",
                        again, static_cast<int>(FakeText::kHello)));
}

TEST_F(OpenAiResponse, WhatIsTooUnlikelyToSayIsMinus9999) {
  open_completion(R"(, "logprobs": 0)");
  RequestEvent event = last('x', "x", FinishReason::kLength);
  event.logprob = -std::numeric_limits<float>::infinity();
  response_->on_event(event);
  EXPECT_EQ(json::serialize(choice(body()).at("logprobs").at("token_logprobs")), "[-9999]");
}

TEST_F(OpenAiResponse, LogprobsOfReasoningAreReportedWhenItIsShown) {
  words_.set_reasoning("think");
  open_chat(R"(, "logprobs": true, "stream": true)");
  const auto names = [&](const RequestEvent& event) {
    std::string all;
    for (const json::object& chunk : send(event)) {
      const json::object first = choice(chunk);
      if (const auto* logprobs = first.at("logprobs").if_object())
        for (const json::value& entry : logprobs->at("content").as_array())
          all += std::string(entry.at("token").as_string()) + ";";
    }
    return all;
  };
  EXPECT_EQ(names(reasoning('a', "a")), "a;");
  EXPECT_EQ(names(reasoning(' ', "")), "");  // held back
  RequestEvent mark = reasoning('/', "");
  mark.other_bytes = 2;  // with the space before it
  EXPECT_EQ(names(mark), " ;/;");
  EXPECT_EQ(names(token('H', "H")), "H;");
}

TEST_F(OpenAiResponse, TokensOfAStopTextAreNotReported) {
  open_chat(R"(, "logprobs": true, "stop": "END")");
  response_->on_event(token('a', "a"));
  response_->on_event(token('E', ""));  // may become the stop text
  response_->on_event(token('x', "Ex"));
  response_->on_event(token('E', ""));
  response_->on_event(token('N', ""));
  response_->on_event(last('D', "", FinishReason::kStop));
  const json::object answer = choice(body());
  EXPECT_EQ(answer.at("message").at("content"), json::value("aEx"));
  std::string tokens;
  for (const json::value& entry : answer.at("logprobs").at("content").as_array())
    tokens += entry.at("token").as_string();
  EXPECT_EQ(tokens, "aEx");
}

TEST_F(OpenAiResponse, TextThatAStopHeldBackIsReportedWhenTheLimitEndsTheAnswer) {
  open_chat(R"(, "logprobs": true, "stop": "END")");
  response_->on_event(token('E', ""));
  response_->on_event(last('N', "EN", FinishReason::kLength));
  EXPECT_EQ(choice(body()).at("logprobs").at("content").as_array().size(), 2);
}

TEST_F(OpenAiResponse, ControlTokensInAnAnswerAreReportedThoughTheyShowNothing) {
  open_chat(R"(, "logprobs": true, "ignore_eos": true)");
  response_->on_event(token('a', "a"));
  response_->on_event(token(FakeText::kEnd, ""));
  response_->on_event(token('b', "b"));
  response_->on_event(last('c', "", FinishReason::kStop));  // a stop token
  const json::object answer = choice(body());
  std::string tokens;
  for (const json::value& entry : answer.at("logprobs").at("content").as_array()) {
    tokens += entry.at("token").as_string();
  }
  EXPECT_EQ(tokens, "a<end>b");
}

TEST_F(OpenAiResponse, EchoBeginsWithThePromptAndItsLogprobs) {
  words_.adds_bos = true;
  open_completion(R"(, "echo": true, "logprobs": 1, "max_tokens": 1)");
  const auto width = static_cast<std::size_t>(words_.info().vocab_size);
  std::vector<float> logits(3 * width, 0);
  logits['a'] = 20;          // behind BOS
  logits[width + 'x'] = 20;  // behind "a"
  call_.requests[0].on_prompt_logits(0, logits);
  RequestEvent event = last('c', "c", FinishReason::kLength);
  event.top_logprobs = {{.token = 'c', .logprob = -0.5F}};
  response_->on_event(event);

  const json::object answer = choice(body());
  EXPECT_EQ(answer.at("text"), json::value("abc"));
  const json::object logprobs = answer.at("logprobs").as_object();
  EXPECT_EQ(json::serialize(logprobs.at("tokens")), R"(["<bos>","a","b","c"])");
  EXPECT_EQ(json::serialize(logprobs.at("text_offset")), "[0,0,1,2]");
  EXPECT_TRUE(logprobs.at("token_logprobs").at(0).is_null());
  EXPECT_TRUE(logprobs.at("top_logprobs").at(0).is_null());
  const auto value = [&](std::size_t i) { return logprobs.at("token_logprobs").at(i).to_number<double>(); };
  EXPECT_NEAR(value(1), 0, 1e-5);
  EXPECT_NEAR(value(2), -20, 1e-4);
  EXPECT_EQ(value(3), -0.5);
  EXPECT_EQ(logprobs.at("top_logprobs").at(1).as_object().size(), 1);
  EXPECT_EQ(logprobs.at("top_logprobs").at(2).as_object().size(), 2);  // the likeliest and the one that stands there
}

TEST_F(OpenAiResponse, TheFirstEventBehindALongPromptWhoseLogprobsAreToldIsLong) {
  const std::vector<TokenId> many(kMostNumbersHere / 2 + 1, 'a');
  for (const char* const more : {R"(, "echo": true, "logprobs": 1)", R"(, "prompt_logprobs": 1)"}) {
    open_completion(std::string(more) + R"(, "max_tokens": 2)");
    const std::vector<TokenId> few = call_.prompts[0].tokens;
    const std::vector<float> logits(few.size() * static_cast<std::size_t>(words_.info().vocab_size), 0);
    call_.requests[0].on_prompt_logits(0, logits);
    EXPECT_FALSE(response_->is_long(token('c', "c"))) << more;
    call_.prompts[0].tokens = many;
    EXPECT_TRUE(response_->is_long(token('c', "c"))) << more;
    call_.prompts[0].tokens = few;
    response_->on_event(token('c', "c"));
    call_.prompts[0].tokens = many;
    EXPECT_FALSE(response_->is_long(token('c', "c"))) << more << ": they are written";
  }
  open_completion(R"(, "echo": true, "max_tokens": 2)");
  call_.prompts[0].tokens = many;
  EXPECT_FALSE(response_->is_long(token('c', "c"))) << "a text alone";
}

TEST_F(OpenAiResponse, APromptsLogProbabilitiesAreVllmsBesideEachChoice) {
  words_.adds_bos = true;
  open_completion(R"(, "prompt_logprobs": 1, "max_tokens": 1, "n": 2)");
  const auto width = static_cast<std::size_t>(words_.info().vocab_size);
  std::vector<float> logits(3 * width, 0);
  logits['a'] = 20;          // behind BOS
  logits[width + 'x'] = 20;  // behind "a"
  logits[width + 'b'] = 10;
  call_.requests[0].on_prompt_logits(0, logits);
  for (const std::uint32_t index : {1U, 0U}) {
    RequestEvent event = last('c', "c", FinishReason::kLength);
    event.choice = index;
    response_->on_event(event);
  }
  const json::object answer = body();
  for (const json::value& choice : answer.at("choices").as_array()) {
    const json::array& prompt = choice.at("prompt_logprobs").as_array();
    ASSERT_EQ(prompt.size(), 3U);
    EXPECT_TRUE(prompt[0].is_null());
    EXPECT_EQ(prompt[1].as_object().size(), 1U);
    EXPECT_EQ(prompt[1].at("97").at("rank"), 1);
    EXPECT_EQ(prompt[1].at("97").at("decoded_token"), "a");
    EXPECT_NEAR(prompt[2].at("98").at("logprob").to_number<double>(), -10, 1e-3);
    EXPECT_EQ(prompt[2].at("98").at("rank"), 2);
    EXPECT_EQ(prompt[2].at("120").at("rank"), 1);
  }
  EXPECT_GT(response_->held_bytes(), 2 * std::string_view(R"([null,{"97":{"logprob":0,"rank":1)").size());
}

TEST_F(OpenAiResponse, AnEchoedPartOfACharacterIsAReplacementAndInLogprobsItsBytes) {
  const std::string fields = R"({"prompt": [72, 260], "echo": true, "logprobs": 0, "max_tokens": 1})";
  open(parse_completion(json::parse(fields).as_object(), words_, kAnsweringModel), "cmpl-1");
  send(last('x', "x", FinishReason::kLength));
  const json::object answer = choice(body());
  EXPECT_EQ(answer.at("text"), "H\xEF\xBF\xBDx");
  EXPECT_EQ(json::serialize(answer.at("logprobs").at("tokens")), R"(["H","bytes:\\xf0\\x9f","x"])");
}

TEST_F(OpenAiResponse, OffsetsCountTheReplacementsOfWhatIsNoCharacter) {
  open_completion(R"(, "logprobs": 0)");
  const std::string replacement = "\xEF\xBF\xBD";
  response_->on_event(token(0x80, replacement));  // alone
  response_->on_event(token('a', "a"));
  response_->on_event(token(0xF0, ""));                // begins a character,
  response_->on_event(token(0x9F, ""));                // goes on,
  response_->on_event(token('b', replacement + "b"));  // and does not end it
  response_->on_event(token(FakeText::kSmileBegin, ""));
  response_->on_event(token(FakeText::kSmileEnd, "\xF0\x9F\x98\x80"));
  response_->on_event(last('c', "c", FinishReason::kLength));
  EXPECT_EQ(json::serialize(choice(body()).at("logprobs").at("text_offset")), "[0,1,2,3,3,4,5,5]");
}

TEST_F(OpenAiResponse, OffsetsOfAnEchoedPromptAreThoseOfItsText) {
  // Half a character, the other half; then a half that the answer's bytes cannot complete: they are decoded alone.
  const std::string fields = R"({"prompt": [260, 261, 72, 260], "echo": true, "logprobs": 0, "max_tokens": 2})";
  open(parse_completion(json::parse(fields).as_object(), words_, kAnsweringModel), "cmpl-1");
  const std::string replacement = "\xEF\xBF\xBD";
  response_->on_event(token(0x98, replacement));
  response_->on_event(last('x', "x", FinishReason::kLength));
  const json::object answer = choice(body());
  EXPECT_EQ(answer.at("text"), json::value("\xF0\x9F\x98\x80H" + replacement + replacement + "x"));
  EXPECT_EQ(json::serialize(answer.at("logprobs").at("text_offset")), "[0,1,1,2,3,4]");
}

TEST_F(OpenAiResponse, EchoWithoutAnAnswerIsThePrompt) {
  open_completion(R"(, "echo": true, "logprobs": 0, "max_tokens": 0)");
  call_.requests[0].on_prompt_logits(0, std::vector<float>(2 * static_cast<std::size_t>(words_.info().vocab_size), 0));
  RequestEvent event;
  event.finish = FinishReason::kLength;
  response_->on_event(event);
  const json::object answer = choice(body());
  EXPECT_EQ(answer.at("text"), json::value("ab"));
  EXPECT_EQ(answer.at("finish_reason"), json::value("length"));
  EXPECT_EQ(answer.at("logprobs").at("tokens").as_array().size(), 2);
}

TEST_F(OpenAiResponse, EchoIsTheFirstChunkOfAStream) {
  open_completion(R"(, "echo": true, "stream": true)");
  const auto events = send(token('c', "c"));
  ASSERT_EQ(events.size(), 2);
  EXPECT_EQ(choice(events[0]).at("text"), json::value("ab"));
  EXPECT_EQ(choice(events[1]).at("text"), json::value("c"));
}

TEST(TokenName, WritesBytesThatAreNoCharacterAsEscapes) {
  EXPECT_EQ(token_name("abc", true), "abc");
  EXPECT_EQ(token_name("\xC3\xA4", false), "\xC3\xA4");
  EXPECT_EQ(token_name(" \xF0\x9F", true), " \\xf0\\x9f");
  EXPECT_EQ(token_name(" \xF0\x9F", false), "bytes: \\xf0\\x9f");
  EXPECT_EQ(token_name("\x80", false), "bytes:\\x80");
}

}  // namespace
}  // namespace octavo
