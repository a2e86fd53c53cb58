#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>

#include "server/completion.h"
#include "server/openai_logprobs.h"
#include "server/prompt_logprobs.h"
#include "server/text_engine.h"

namespace octavo::server {
namespace {

namespace json = boost::json;
using test::TextEngine;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

const ServedModel kModel{.id = "text", .fingerprint = "fp_1", .created = 1};

/// The JSON of each event but [DONE], which must be the last if it is there.
std::vector<json::object> events_of(const std::string& bytes) {
  std::vector<json::object> events;
  std::size_t begin = 0;
  while (begin < bytes.size()) {
    const std::size_t end = bytes.find("\n\n", begin);
    EXPECT_NE(end, std::string::npos) << bytes;
    const std::string event = bytes.substr(begin, end - begin);
    EXPECT_EQ(event.substr(0, 6), "data: ");
    EXPECT_EQ(event.find('\n'), std::string::npos);
    begin = end + 2;
    if (event == "data: [DONE]") {
      EXPECT_EQ(begin, bytes.size());
    } else {
      events.push_back(json::parse(event.substr(6)).as_object());
    }
  }
  return events;
}

OwnedEvent token(TokenId id, const std::string& text, std::uint32_t choice = 0) {
  OwnedEvent event;
  event.choice = choice;
  event.token = id;
  event.logprob = -0.5F;
  event.text = text;
  event.bytes = text;
  event.is_text = id != TextEngine::kBos && id != TextEngine::kEnd;
  return event;
}

OwnedEvent last(TokenId id, const std::string& text, FinishReason finish, std::uint32_t choice = 0) {
  OwnedEvent event = token(id, text, choice);
  event.finish = finish;
  event.stats = {.prompt_tokens = 10, .cached_tokens = choice == 0 ? 4 : 10, .generated_tokens = 2};
  return event;
}

/// A call and its answer.
class OpenAiResponse : public ::testing::Test {
 protected:
  void open_chat(const std::string& fields) {
    const std::string body = R"({"messages": [{"role": "user", "content": "hi"}])" + fields + "}";
    open(parse_chat_completion(json::parse(body).as_object(), engine_, kModel), "chatcmpl-1");
  }
  void open_completion(const std::string& fields) {
    const std::string body = R"({"prompt": "ab")" + fields + "}";
    open(parse_completion(json::parse(body).as_object(), engine_, kModel), "cmpl-1");
  }
  void open(ApiResult<CompletionCall> call, const std::string& id) {
    ASSERT_TRUE(call.has_value()) << call.error().message;
    call_ = std::move(*call);
    response_ = std::make_unique<CompletionResponse>(call_, engine_, kModel, id, 1234);
  }
  std::vector<json::object> send(const OwnedEvent& event, std::size_t prompt = 0) {
    return events_of(response_->on_event(prompt, event));
  }
  json::object body() { return json::parse(response_->finish()).as_object(); }
  static json::object choice(const json::object& event) { return event.at("choices").at(0).as_object(); }

  TextEngine engine_;
  CompletionCall call_;
  std::unique_ptr<CompletionResponse> response_;
};

TEST_F(OpenAiResponse, AChatsBodyHasOpenAisShape) {
  open_chat("");
  EXPECT_EQ(response_->on_event(0, token('H', "H")), "");
  EXPECT_FALSE(response_->done());
  EXPECT_EQ(response_->on_event(0, last(TextEngine::kEnd, "", FinishReason::kStop)), "");
  EXPECT_TRUE(response_->done());
  EXPECT_EQ(
      json::serialize(body()),
      R"({"id":"chatcmpl-1","object":"chat.completion","created":1234,"model":"text","system_fingerprint":"fp_1","choices":[{"index":0,)"
      R"("message":{"role":"assistant","content":"H","refusal":null},"logprobs":null,"finish_reason":"stop"}],)"
      R"("usage":{"prompt_tokens":10,"completion_tokens":2,"total_tokens":12,)"
      R"("prompt_tokens_details":{"cached_tokens":4}}})");
}

TEST_F(OpenAiResponse, ACompletionsBodyHasOpenAisShape) {
  open_completion("");
  response_->on_event(0, token('H', "H"));
  response_->on_event(0, last('i', "i", FinishReason::kLength));
  EXPECT_EQ(
      json::serialize(body()),
      R"({"id":"cmpl-1","object":"text_completion","created":1234,"model":"text","system_fingerprint":"fp_1","choices":[{"index":0,)"
      R"("text":"Hi","logprobs":null,"finish_reason":"length"}],)"
      R"("usage":{"prompt_tokens":10,"completion_tokens":2,"total_tokens":12,)"
      R"("prompt_tokens_details":{"cached_tokens":4}}})");
}

TEST_F(OpenAiResponse, AChatsStreamBeginsWithTheRoleAndEndsWithAnEmptyDelta) {
  open_chat(R"(, "stream": true)");
  EXPECT_EQ(
      response_->on_event(0, token('H', "H")),
      R"(data: {"id":"chatcmpl-1","object":"chat.completion.chunk","created":1234,"model":"text","system_fingerprint":"fp_1","choices":)"
      R"([{"index":0,"delta":{"role":"assistant","content":""},"logprobs":null,"finish_reason":null}]})"
      "\n\n"
      R"(data: {"id":"chatcmpl-1","object":"chat.completion.chunk","created":1234,"model":"text","system_fingerprint":"fp_1","choices":)"
      R"([{"index":0,"delta":{"content":"H"},"logprobs":null,"finish_reason":null}]})"
      "\n\n");
  EXPECT_EQ(
      response_->on_event(0, last(TextEngine::kEnd, "", FinishReason::kStop)),
      R"(data: {"id":"chatcmpl-1","object":"chat.completion.chunk","created":1234,"model":"text","system_fingerprint":"fp_1","choices":)"
      R"([{"index":0,"delta":{},"logprobs":null,"finish_reason":"stop"}]})"
      "\n\n");
  EXPECT_TRUE(response_->done());
  EXPECT_EQ(response_->finish(), "data: [DONE]\n\n");
}

TEST_F(OpenAiResponse, ProgressIsAnEventOfAChoiceThatSaysNothing) {
  open_chat(R"(, "stream": true, "return_progress": true, "stream_options": {"include_usage": true}, "n": 2)");
  const PromptProgress progress = {
      .prompt_tokens = 7500, .cached_tokens = 1024, .computed_tokens = 4096, .seconds = 12.3456};
  EXPECT_EQ(
      response_->progress(0, progress),
      R"(data: {"id":"chatcmpl-1","object":"chat.completion.chunk","created":1234,"model":"text","system_fingerprint":"fp_1","choices":)"
      R"([{"index":0,"delta":{},"logprobs":null,"finish_reason":null}],"usage":null,)"
      R"("prompt_progress":{"total":7500,"cache":1024,"processed":4096,"time_ms":12346}})"
      "\n\n");
  const json::value two_prompts = json::parse(R"({"prompt": ["a", "b"], "n": 3, "stream": true})");
  open(parse_completion(two_prompts.as_object(), engine_, kModel), "cmpl-1");
  const json::object event = events_of(response_->progress(1, progress)).at(0);
  EXPECT_EQ(choice(event).at("index"), 3);
  EXPECT_EQ(choice(event).at("text"), "");
  response_->on_event(0, last(-1, "", FinishReason::kFailed));
  EXPECT_EQ(response_->progress(1, progress), "");  // nothing follows an error
}

TEST_F(OpenAiResponse, ACompletionsStreamHasTextAndEndsWithTheReason) {
  open_completion(R"(, "stream": true)");
  const auto first = send(token('H', "H"));
  ASSERT_EQ(first.size(), 1);
  EXPECT_EQ(first[0].at("object"), json::value("text_completion"));
  EXPECT_EQ(json::serialize(choice(first[0])), R"({"index":0,"text":"H","logprobs":null,"finish_reason":null})");
  const auto end = send(last('i', "i", FinishReason::kLength));
  ASSERT_EQ(end.size(), 1);
  EXPECT_EQ(json::serialize(choice(end[0])), R"({"index":0,"text":"i","logprobs":null,"finish_reason":"length"})");
}

TEST_F(OpenAiResponse, TheEndOfTheContextIsALength) {
  open_completion("");
  response_->on_event(0, last('i', "i", FinishReason::kContext));
  EXPECT_EQ(choice(body()).at("finish_reason"), json::value("length"));
}

TEST_F(OpenAiResponse, AnEventThatShowsNothingSendsNothing) {
  open_completion(R"(, "stream": true)");
  EXPECT_EQ(response_->on_event(0, token(TextEngine::kSmileBegin, "")), "");
  open_chat(R"(, "stream": true)");
  EXPECT_EQ(send(token(TextEngine::kSmileBegin, "")).size(), 1);  // the role
  EXPECT_EQ(response_->on_event(0, token(TextEngine::kSmileBegin, "")), "");
}

TEST_F(OpenAiResponse, UsageIsTheLastChunkIfAskedForAndNullBefore) {
  open_chat(R"(, "stream": true, "stream_options": {"include_usage": true})");
  for (const json::object& event : send(token('H', "H"))) EXPECT_TRUE(event.at("usage").is_null());
  for (const json::object& event : send(last('i', "i", FinishReason::kStop))) EXPECT_TRUE(event.at("usage").is_null());
  const auto end = events_of(response_->finish());
  ASSERT_EQ(end.size(), 1);
  EXPECT_TRUE(end[0].at("choices").as_array().empty());
  EXPECT_EQ(
      json::serialize(end[0].at("usage")),
      R"({"prompt_tokens":10,"completion_tokens":2,"total_tokens":12,"prompt_tokens_details":{"cached_tokens":4}})");
}

TEST_F(OpenAiResponse, ContinuousUsageCountsEachChoiceInEachChunk) {
  open_completion(R"(, "n": 2, "stream": true,
                   "stream_options": {"include_usage": true, "continuous_usage_stats": true})");
  const auto usage = [](const std::vector<json::object>& events) { return json::serialize(events.back().at("usage")); };
  EXPECT_EQ(usage(send(token('x', "x"))), R"({"prompt_tokens":2,"completion_tokens":1,"total_tokens":3})");
  EXPECT_EQ(usage(send(token('y', "y"))), R"({"prompt_tokens":2,"completion_tokens":2,"total_tokens":4})");
  EXPECT_EQ(usage(send(token('z', "z", 1))), R"({"prompt_tokens":2,"completion_tokens":1,"total_tokens":3})");
  open_chat(R"(, "stream": true, "stream_options": {"include_usage": true, "continuous_usage_stats": true})");
  const auto events = send(token('x', "x"));
  ASSERT_EQ(events.size(), 2U);
  EXPECT_EQ(events[1].at("usage").at("completion_tokens"), 1);
}

TEST_F(OpenAiResponse, WhatIsHeldOfABodyIsItsTextAndItsLogprobs) {
  open_completion(R"(, "n": 2)");
  send(token('x', "x"));
  send(token('y', "yes", 1));
  EXPECT_EQ(response_->held_bytes(), 4U);
  open_completion(R"(, "logprobs": 1)");
  send(token('x', "x"));
  send(last('y', "y", FinishReason::kLength));
  const std::size_t held = response_->held_bytes();
  const std::string logprobs = json::serialize(choice(body()).at("logprobs"));
  EXPECT_GT(held, 40U);
  EXPECT_LT(held, logprobs.size());
}

TEST_F(OpenAiResponse, WithoutTheOptionAStreamSaysNothingOfUsage) {
  open_chat(R"(, "stream": true)");
  for (const json::object& event : send(last('i', "i", FinishReason::kStop))) EXPECT_FALSE(event.contains("usage"));
}

TEST_F(OpenAiResponse, ChoicesOfSeveralPromptsCountOn) {
  open_completion(R"(, "prompt": ["a", "b"], "n": 2, "stream": true)");
  const auto index = [&](std::size_t prompt, std::uint32_t choice) {
    return send(token('x', "x", choice), prompt).at(0).at("choices").at(0).at("index").as_int64();
  };
  EXPECT_EQ(index(1, 1), 3);
  EXPECT_EQ(index(0, 0), 0);
  EXPECT_EQ(index(1, 0), 2);
  EXPECT_EQ(index(0, 1), 1);
  for (const std::size_t prompt : {0U, 1U}) {
    EXPECT_FALSE(response_->done());
    for (const std::uint32_t choice : {1U, 0U}) response_->on_event(prompt, last('y', "", FinishReason::kStop, choice));
  }
  EXPECT_TRUE(response_->done());
}

TEST_F(OpenAiResponse, UsageCountsAPromptOnceAndItsAnswersAll) {
  open_completion(R"(, "n": 3)");
  for (const std::uint32_t choice : {2U, 0U, 1U}) {
    response_->on_event(0, last('x', std::string(1, static_cast<char>('a' + choice)), FinishReason::kStop, choice));
  }
  const json::object answer = body();
  EXPECT_EQ(answer.at("usage").at("prompt_tokens"), json::value(10));
  EXPECT_EQ(answer.at("usage").at("completion_tokens"), json::value(6));
  EXPECT_EQ(answer.at("usage").at("prompt_tokens_details").at("cached_tokens"), json::value(4));
  ASSERT_EQ(answer.at("choices").as_array().size(), 3);
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(answer.at("choices").at(i).at("index"), json::value(i));
    EXPECT_EQ(answer.at("choices").at(i).at("text"), json::value(std::string(1, static_cast<char>('a' + i))));
  }
}

TEST_F(OpenAiResponse, TextIsEscapedForJson) {
  const std::string text = "\"\\\n\r\t\x01</script>\xC3\xA4\xF0\x9F\x98\x80";
  open_completion(R"(, "stream": true)");
  EXPECT_EQ(choice(send(token('x', text)).at(0)).at("text"), json::value(text));
}

TEST_F(OpenAiResponse, ADeadlineIsATimeoutAndEndsTheStream) {
  open_chat(R"(, "stream": true, "n": 2)");
  send(token('H', "H"));
  const auto events = send(last(-1, "", FinishReason::kDeadline));
  ASSERT_EQ(events.size(), 1);
  EXPECT_EQ(events[0].at("error").at("code"), json::value("deadline_exceeded"));
  ASSERT_NE(response_->error(), nullptr);
  EXPECT_EQ(response_->error()->status, 408);
  EXPECT_THAT(send(last(-1, "", FinishReason::kDeadline, 1)), IsEmpty());
  EXPECT_TRUE(response_->done());
}

TEST_F(OpenAiResponse, AFailureOfACallThatIsNotStreamedIsItsError) {
  open_chat("");
  EXPECT_EQ(response_->error(), nullptr);
  EXPECT_EQ(response_->on_event(0, last(-1, "", FinishReason::kFailed)), "");
  EXPECT_EQ(response_->error()->status, 500);
  open_chat("");
  response_->on_event(0, last(-1, "", FinishReason::kCancelled));
  EXPECT_EQ(response_->error()->status, 503);
}

TEST_F(OpenAiResponse, GivingUpIsAnErrorEvent) {
  open_chat(R"(, "stream": true)");
  const auto events = events_of(response_->fail({.status = 503, .message = "going down", .type = "server_error"}));
  ASSERT_EQ(events.size(), 1);
  EXPECT_EQ(events[0].at("error").at("message"), json::value("going down"));
}

TEST_F(OpenAiResponse, LogprobsOfAChatHaveBytesAndAlternatives) {
  open_chat(R"(, "logprobs": true, "top_logprobs": 2)");
  OwnedEvent event = token(TextEngine::kHello, "Hello");
  event.top_logprobs = {{.token = TextEngine::kHello, .logprob = -0.5F}, {.token = 'x', .logprob = -2}};
  response_->on_event(0, event);
  response_->on_event(0, last(TextEngine::kEnd, "", FinishReason::kStop));
  EXPECT_EQ(json::serialize(choice(body()).at("logprobs")),
            R"({"content":[{"token":"Hello","logprob":-5E-1,"bytes":[72,101,108,108,111],"top_logprobs":[)"
            R"({"token":"Hello","logprob":-5E-1,"bytes":[72,101,108,108,111]},)"
            R"({"token":"x","logprob":-2,"bytes":[120]}]}],"refusal":null})");
}

TEST_F(OpenAiResponse, PartsOfACharacterSurviveInLogprobs) {
  open_chat(R"(, "logprobs": true, "stream": true)");
  EXPECT_EQ(send(token(TextEngine::kSmileBegin, "")).size(), 1);  // the role alone: its text is still to come
  const auto events = send(token(TextEngine::kSmileEnd, "\xF0\x9F\x98\x80"));
  ASSERT_EQ(events.size(), 1);
  const json::array content = choice(events[0]).at("logprobs").at("content").as_array();
  ASSERT_EQ(content.size(), 2);
  EXPECT_EQ(content[0].at("token"), json::value("\\xf0\\x9f"));
  EXPECT_EQ(json::serialize(content[0].at("bytes")), "[240,159]");
  EXPECT_EQ(json::serialize(content[1].at("bytes")), "[152,128]");
}

TEST_F(OpenAiResponse, LogprobsOfACompletionAreFourArrays) {
  open_completion(R"(, "logprobs": 1)");
  OwnedEvent first = token(TextEngine::kGrin, "\xF0\x9F\x98\x80");
  first.top_logprobs = {{.token = TextEngine::kGrin, .logprob = -0.5F}};
  OwnedEvent second = last(TextEngine::kWorld, " world", FinishReason::kLength);
  second.top_logprobs = {{.token = TextEngine::kSmileBegin, .logprob = -0.25F}};
  response_->on_event(0, first);
  response_->on_event(0, second);
  EXPECT_EQ(json::serialize(choice(body()).at("logprobs")),
            R"({"text_offset":[0,1],"token_logprobs":[-5E-1,-5E-1],"tokens":["😀"," world"],)"
            R"("top_logprobs":[{"😀":-5E-1},{"bytes:\\xf0\\x9f":-2.5E-1," world":-5E-1}]})");
}

TEST_F(OpenAiResponse, TokensThatReadAlikeAreOneAlternative) {
  open_completion(R"(, "logprobs": 2)");
  OwnedEvent event = last(TextEngine::kAgain, "Hello", FinishReason::kLength);
  event.top_logprobs = {{.token = TextEngine::kHello, .logprob = -0.25F}, {.token = TextEngine::kAgain, .logprob = -3}};
  response_->on_event(0, event);
  EXPECT_EQ(json::serialize(choice(body()).at("logprobs").at("top_logprobs")), R"([{"Hello":-2.5E-1}])");
}

TEST_F(OpenAiResponse, WhatIsTooUnlikelyToSayIsMinus9999) {
  open_completion(R"(, "logprobs": 0)");
  OwnedEvent event = last('x', "x", FinishReason::kLength);
  event.logprob = -std::numeric_limits<float>::infinity();
  response_->on_event(0, event);
  EXPECT_EQ(json::serialize(choice(body()).at("logprobs").at("token_logprobs")), "[-9999]");
}

OwnedEvent reasoning(TokenId id, const std::string& text) {
  OwnedEvent event = token(id, "");
  event.reasoning = text;
  event.other_bytes = text.size();
  return event;
}

TEST_F(OpenAiResponse, ReasoningHasAFieldOfItsOwn) {
  engine_.set_reasoning("think");
  open_chat("");
  response_->on_event(0, reasoning('a', "a"));
  response_->on_event(0, token('H', "H"));
  OwnedEvent end = last(TextEngine::kEnd, "", FinishReason::kStop);
  end.stats.reasoning_tokens = 1;
  response_->on_event(0, end);
  EXPECT_EQ(response_->held_bytes(), 2U);
  const json::object whole = body();
  EXPECT_EQ(json::serialize(choice(whole).at("message")),
            R"({"role":"assistant","reasoning_content":"a","content":"H","refusal":null})");
  EXPECT_EQ(
      json::serialize(whole.at("usage")),
      R"({"prompt_tokens":10,"completion_tokens":2,"total_tokens":12,"prompt_tokens_details":{"cached_tokens":4},)"
      R"("completion_tokens_details":{"reasoning_tokens":1}})");
}

TEST_F(OpenAiResponse, AStreamsDeltasHaveReasoningOrContentOrBoth) {
  engine_.set_reasoning("think");
  open_chat(R"(, "stream": true)");
  const auto delta = [&](const OwnedEvent& event) {
    const auto events = send(event);
    return events.empty() ? "" : json::serialize(choice(events.back()).at("delta"));
  };
  EXPECT_EQ(delta(reasoning('a', "a")), R"({"reasoning_content":"a"})");
  EXPECT_EQ(delta(reasoning('a', "")), "");
  OwnedEvent both = reasoning('b', "b");
  both.text = both.bytes = "H";
  EXPECT_EQ(delta(both), R"({"reasoning_content":"b","content":"H"})");
  EXPECT_EQ(delta(token('i', "i")), R"({"content":"i"})");
}

TEST_F(OpenAiResponse, ReasoningIsNamedTwiceOrNotSentIfAskedFor) {
  engine_.set_reasoning("think");
  open_chat(R"(, "include_reasoning": true)");
  response_->on_event(0, reasoning('a', "a"));
  response_->on_event(0, last(TextEngine::kEnd, "", FinishReason::kLength));
  EXPECT_EQ(json::serialize(choice(body()).at("message")),
            R"({"role":"assistant","reasoning_content":"a","reasoning":"a","content":"","refusal":null})");
  open_chat(R"(, "include_reasoning": false, "stream": true)");
  EXPECT_EQ(send(reasoning('a', "a")).size(), 1);  // the role
  EXPECT_TRUE(send(reasoning('b', "b")).empty());
}

TEST_F(OpenAiResponse, LogprobsOfReasoningAreReportedWhenItIsShown) {
  engine_.set_reasoning("think");
  open_chat(R"(, "logprobs": true, "stream": true)");
  const auto names = [&](const OwnedEvent& event) {
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
  OwnedEvent mark = reasoning('/', "");
  mark.other_bytes = 2;  // with the space before it
  EXPECT_EQ(names(mark), " ;/;");
  EXPECT_EQ(names(token('H', "H")), "H;");
}

TEST_F(OpenAiResponse, TokensOfAStopTextAreNotReported) {
  open_chat(R"(, "logprobs": true, "stop": "END")");
  response_->on_event(0, token('a', "a"));
  response_->on_event(0, token('E', ""));  // may become the stop text
  response_->on_event(0, token('x', "Ex"));
  response_->on_event(0, token('E', ""));
  response_->on_event(0, token('N', ""));
  response_->on_event(0, last('D', "", FinishReason::kStop));
  const json::object answer = choice(body());
  EXPECT_EQ(answer.at("message").at("content"), json::value("aEx"));
  std::string tokens;
  for (const json::value& entry : answer.at("logprobs").at("content").as_array())
    tokens += entry.at("token").as_string();
  EXPECT_EQ(tokens, "aEx");
}

TEST_F(OpenAiResponse, TextThatAStopHeldBackIsReportedWhenTheLimitEndsTheAnswer) {
  open_chat(R"(, "logprobs": true, "stop": "END")");
  response_->on_event(0, token('E', ""));
  response_->on_event(0, last('N', "EN", FinishReason::kLength));
  EXPECT_EQ(choice(body()).at("logprobs").at("content").as_array().size(), 2);
}

TEST_F(OpenAiResponse, ControlTokensInAnAnswerAreReportedThoughTheyShowNothing) {
  open_chat(R"(, "logprobs": true, "ignore_eos": true)");
  response_->on_event(0, token('a', "a"));
  response_->on_event(0, token(TextEngine::kEnd, ""));
  response_->on_event(0, token('b', "b"));
  response_->on_event(0, last('c', "", FinishReason::kStop));  // a stop token
  const json::object answer = choice(body());
  std::string tokens;
  for (const json::value& entry : answer.at("logprobs").at("content").as_array()) {
    tokens += entry.at("token").as_string();
  }
  EXPECT_EQ(tokens, "a<end>b");
}

TEST_F(OpenAiResponse, EchoBeginsWithThePromptAndItsLogprobs) {
  engine_.adds_bos = true;
  open_completion(R"(, "echo": true, "logprobs": 1, "max_tokens": 1)");
  const auto width = static_cast<std::size_t>(engine_.info().vocab_size);
  std::vector<float> logits(3 * width, 0);
  logits['a'] = 20;          // behind BOS
  logits[width + 'x'] = 20;  // behind "a"
  call_.requests[0].on_prompt_logits(0, logits);
  OwnedEvent event = last('c', "c", FinishReason::kLength);
  event.top_logprobs = {{.token = 'c', .logprob = -0.5F}};
  response_->on_event(0, event);

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

TEST_F(OpenAiResponse, AnEchoedPartOfACharacterIsAReplacementAndInLogprobsItsBytes) {
  const std::string fields = R"({"prompt": [72, 260], "echo": true, "logprobs": 0, "max_tokens": 1})";
  open(parse_completion(json::parse(fields).as_object(), engine_, kModel), "cmpl-1");
  send(last('x', "x", FinishReason::kLength));
  const json::object answer = choice(body());
  EXPECT_EQ(answer.at("text"), "H\xEF\xBF\xBDx");
  EXPECT_EQ(json::serialize(answer.at("logprobs").at("tokens")), R"(["H","bytes:\\xf0\\x9f","x"])");
}

TEST_F(OpenAiResponse, OffsetsCountTheReplacementsOfWhatIsNoCharacter) {
  open_completion(R"(, "logprobs": 0)");
  const std::string replacement = "\xEF\xBF\xBD";
  response_->on_event(0, token(0x80, replacement));  // alone
  response_->on_event(0, token('a', "a"));
  response_->on_event(0, token(0xF0, ""));                // begins a character,
  response_->on_event(0, token(0x9F, ""));                // goes on,
  response_->on_event(0, token('b', replacement + "b"));  // and does not end it
  response_->on_event(0, token(TextEngine::kSmileBegin, ""));
  response_->on_event(0, token(TextEngine::kSmileEnd, "\xF0\x9F\x98\x80"));
  response_->on_event(0, last('c', "c", FinishReason::kLength));
  EXPECT_EQ(json::serialize(choice(body()).at("logprobs").at("text_offset")), "[0,1,2,3,3,4,5,5]");
}

TEST_F(OpenAiResponse, OffsetsOfAnEchoedPromptAreThoseOfItsText) {
  // Half a character, the other half; then a half that the answer's bytes cannot complete: they are decoded alone.
  const std::string fields = R"({"prompt": [260, 261, 72, 260], "echo": true, "logprobs": 0, "max_tokens": 2})";
  open(parse_completion(json::parse(fields).as_object(), engine_, kModel), "cmpl-1");
  const std::string replacement = "\xEF\xBF\xBD";
  response_->on_event(0, token(0x98, replacement));
  response_->on_event(0, last('x', "x", FinishReason::kLength));
  const json::object answer = choice(body());
  EXPECT_EQ(answer.at("text"), json::value("\xF0\x9F\x98\x80H" + replacement + replacement + "x"));
  EXPECT_EQ(json::serialize(answer.at("logprobs").at("text_offset")), "[0,1,1,2,3,4]");
}

TEST_F(OpenAiResponse, EchoWithoutAnAnswerIsThePrompt) {
  open_completion(R"(, "echo": true, "logprobs": 0, "max_tokens": 0)");
  call_.requests[0].on_prompt_logits(0, std::vector<float>(2 * static_cast<std::size_t>(engine_.info().vocab_size), 0));
  OwnedEvent event;
  event.finish = FinishReason::kLength;
  response_->on_event(0, event);
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

TEST_F(OpenAiResponse, TokenIdsAreReturnedIfAskedFor) {
  open_completion(R"(, "return_token_ids": true)");
  response_->on_event(0, token('c', "c"));
  response_->on_event(0, last(TextEngine::kEnd, "", FinishReason::kStop));
  const json::object answer = choice(body());
  EXPECT_EQ(json::serialize(answer.at("prompt_token_ids")), "[97,98]");
  EXPECT_EQ(json::serialize(answer.at("token_ids")), "[99,257]");
  open_chat(R"(, "return_token_ids": true)");
  response_->on_event(0, last(TextEngine::kEnd, "", FinishReason::kStop));
  EXPECT_EQ(body().at("prompt_token_ids").at(0), json::value(TextEngine::kBos));
}

TEST_F(OpenAiResponse, StreamedTokenIdsAreEachSentOnce) {
  open_chat(R"(, "return_token_ids": true, "stream": true)");
  std::vector<std::int64_t> ids;
  int with_prompt = 0;
  const auto collect = [&](const std::vector<json::object>& events) {
    for (const json::object& event : events) {
      with_prompt += event.contains("prompt_token_ids") ? 1 : 0;
      const json::object c = choice(event);
      if (!c.contains("token_ids")) continue;
      for (const json::value& id : c.at("token_ids").as_array()) ids.push_back(id.as_int64());
    }
  };
  collect(send(token(TextEngine::kSmileBegin, "")));
  collect(send(token(TextEngine::kSmileEnd, "\xF0\x9F\x98\x80")));
  collect(send(last(TextEngine::kEnd, "", FinishReason::kStop)));
  EXPECT_THAT(ids, ElementsAre(TextEngine::kSmileBegin, TextEngine::kSmileEnd, TextEngine::kEnd));
  EXPECT_EQ(with_prompt, 1);
}

TEST(TokenName, WritesBytesThatAreNoCharacterAsEscapes) {
  EXPECT_EQ(token_name("abc", true), "abc");
  EXPECT_EQ(token_name("\xC3\xA4", false), "\xC3\xA4");
  EXPECT_EQ(token_name(" \xF0\x9F", true), " \\xf0\\x9f");
  EXPECT_EQ(token_name(" \xF0\x9F", false), "bytes: \\xf0\\x9f");
  EXPECT_EQ(token_name("\x80", false), "bytes:\\x80");
}

}  // namespace
}  // namespace octavo::server
