// Answers in the shapes of /v1/chat/completions and /v1/completions, whole and streamed.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "api/openai_response.h"

namespace octavo {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

/// But for the timings, which llama.cpp's answers have.
std::string without_timings(json::object body) {
  EXPECT_TRUE(body.erase("timings") == 1);
  return json::serialize(body);
}

TEST_F(OpenAiResponse, AChatsBodyHasOpenAisShape) {
  open_chat("");
  EXPECT_EQ(response_->on_event(token('H', "H")), "");
  EXPECT_FALSE(response_->done());
  EXPECT_EQ(response_->on_event(last(FakeText::kEnd, "", FinishReason::kStop)), "");
  EXPECT_TRUE(response_->done());
  EXPECT_EQ(
      without_timings(body()),
      R"({"id":"chatcmpl-1","object":"chat.completion","created":1234,"model":"text","system_fingerprint":"fp_1","seed":7,"choices":[{"index":0,)"
      R"("message":{"role":"assistant","content":"H","refusal":null},"logprobs":null,"finish_reason":"stop"}],)"
      R"("usage":{"prompt_tokens":10,"completion_tokens":2,"total_tokens":12,)"
      R"("prompt_tokens_details":{"cached_tokens":4}}})");
}

TEST_F(OpenAiResponse, ACompletionsBodyHasOpenAisShape) {
  open_completion("");
  response_->on_event(token('H', "H"));
  response_->on_event(last('i', "i", FinishReason::kLength));
  EXPECT_EQ(
      without_timings(body()),
      R"({"id":"cmpl-1","object":"text_completion","created":1234,"model":"text","system_fingerprint":"fp_1","seed":7,"choices":[{"index":0,)"
      R"("text":"Hi","logprobs":null,"finish_reason":"length"}],)"
      R"("usage":{"prompt_tokens":10,"completion_tokens":2,"total_tokens":12,)"
      R"("prompt_tokens_details":{"cached_tokens":4}}})");
}

TEST_F(OpenAiResponse, AnAnswersEndHasLlamaCppsTimings) {
  const auto ended = [](std::uint32_t choice, double total_s) {
    RequestEvent event = last('i', "i", FinishReason::kStop, choice);
    event.stats.queued_s = 1;
    event.stats.time_to_first_token_s = 1.5;
    event.stats.total_s = total_s;
    return event;
  };
  open_completion(R"(, "n": 2)");
  response_->on_event(ended(0, 3.5));
  response_->on_event(ended(1, 2.5));
  const json::object whole = body().at("timings").as_object();
  EXPECT_EQ(whole.at("cache_n"), 4);
  EXPECT_EQ(whole.at("prompt_n"), 6);
  EXPECT_EQ(whole.at("prompt_ms"), 500.0) << "without the time in the queue";
  EXPECT_EQ(whole.at("prompt_per_second"), 12.0);
  EXPECT_EQ(whole.at("predicted_n"), 4) << "both choices";
  EXPECT_EQ(whole.at("predicted_ms"), 2000.0) << "side by side";
  EXPECT_EQ(whole.at("predicted_per_second"), 2.0);
  open_completion(R"(, "n": 2, "stream": true)");
  response_->on_event(ended(0, 3.5));
  const json::object second = events_of(response_->on_event(ended(1, 2.5))).back().at("timings").as_object();
  EXPECT_EQ(second.at("predicted_n"), 2) << "its own";
  EXPECT_EQ(second.at("predicted_ms"), 1000.0);
}

TEST_F(OpenAiResponse, WarningsOfASchemaStandInTheBodyOrOnceInAStream) {
  const std::string odd = R"(, "guided_json": {"odd": 1})", warnings = R"("warnings":["guided_json.odd: \"it\""])";
  open_chat(odd);
  response_->on_event(last(FakeText::kEnd, "", FinishReason::kStop));
  EXPECT_THAT(response_->finish(), HasSubstr(warnings));
  for (const bool is_chat : {true, false}) {
    const std::string fields = R"(, "stream": true, "n": 2)" + odd;
    if (is_chat) open_chat(fields);
    if (!is_chat) open_completion(fields);
    EXPECT_THAT(response_->on_event(token('H', "H")), HasSubstr(warnings));
    EXPECT_THAT(response_->on_event(token('i', "i")), Not(HasSubstr("warnings")));
    RequestEvent second = token('H', "H");
    second.choice = 1;
    EXPECT_THAT(response_->on_event(second), Not(HasSubstr("warnings")));
  }
}

TEST_F(OpenAiResponse, AChatsStreamBeginsWithTheRoleAndEndsWithAnEmptyDelta) {
  open_chat(R"(, "stream": true)");
  EXPECT_EQ(
      response_->on_event(token('H', "H")),
      R"(data: {"id":"chatcmpl-1","object":"chat.completion.chunk","created":1234,"model":"text","system_fingerprint":"fp_1","seed":7,"choices":)"
      R"([{"index":0,"delta":{"role":"assistant","content":""},"logprobs":null,"finish_reason":null}]})"
      "\n\n"
      R"(data: {"id":"chatcmpl-1","object":"chat.completion.chunk","created":1234,"model":"text","system_fingerprint":"fp_1","seed":7,"choices":)"
      R"([{"index":0,"delta":{"content":"H"},"logprobs":null,"finish_reason":null}]})"
      "\n\n");
  EXPECT_EQ(
      response_->on_event(last(FakeText::kEnd, "", FinishReason::kStop)),
      R"(data: {"id":"chatcmpl-1","object":"chat.completion.chunk","created":1234,"model":"text","system_fingerprint":"fp_1","seed":7,"choices":)"
      R"([{"index":0,"delta":{},"logprobs":null,"finish_reason":"stop"}],"timings":{"cache_n":4,"prompt_n":6,"prompt_ms":0.000,)"
      R"("prompt_per_token_ms":0.000,"prompt_per_second":0.000,"predicted_n":2,"predicted_ms":0.000,)"
      R"("predicted_per_token_ms":0.000,"predicted_per_second":0.000}})"
      "\n\n");
  EXPECT_TRUE(response_->done());
  EXPECT_EQ(response_->finish(), "data: [DONE]\n\n");
}

TEST_F(OpenAiResponse, TheStopTextThatAChoiceEndedAtIsTold) {
  RequestEvent end = last('i', "i", FinishReason::kStop);
  end.stats.stop_text = 1;
  open_chat(R"(, "stop": ["X", "Y"], "stream": true)");
  EXPECT_EQ(choice(send(end).back()).at("stop_reason"), "Y");
  open_completion(R"(, "stop": ["X", "Y"])");
  response_->on_event(end);
  EXPECT_EQ(choice(body()).at("stop_reason"), "Y");
  open_completion("");
  response_->on_event(last('i', "i", FinishReason::kStop));
  EXPECT_FALSE(choice(body()).contains("stop_reason"));
}

TEST_F(OpenAiResponse, ProgressIsAnEventOfAChoiceThatSaysNothing) {
  open_chat(R"(, "stream": true, "return_progress": true, "stream_options": {"include_usage": true}, "n": 2)");
  const PromptProgress progress = {
      .prompt_tokens = 7500, .cached_tokens = 1024, .computed_tokens = 4096, .seconds = 12.3456};
  EXPECT_EQ(
      response_->progress(0, progress),
      R"(data: {"id":"chatcmpl-1","object":"chat.completion.chunk","created":1234,"model":"text","system_fingerprint":"fp_1","seed":7,"choices":)"
      R"([{"index":0,"delta":{},"logprobs":null,"finish_reason":null}],"usage":null,)"
      R"("prompt_progress":{"total":7500,"cache":1024,"processed":4096,"time_ms":12346}})"
      "\n\n");
  const json::value two_prompts = json::parse(R"({"prompt": ["a", "b"], "n": 3, "stream": true})");
  open(parse_completion(two_prompts.as_object(), words_, kAnsweringModel), "cmpl-1");
  const json::object event = events_of(response_->progress(1, progress)).at(0);
  EXPECT_EQ(choice(event).at("index"), 3);
  EXPECT_EQ(choice(event).at("text"), "");
  response_->on_event(last(-1, "", FinishReason::kFailed));
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
  response_->on_event(last('i', "i", FinishReason::kContext));
  EXPECT_EQ(choice(body()).at("finish_reason"), json::value("length"));
}

TEST_F(OpenAiResponse, AnEventThatShowsNothingSendsNothing) {
  open_completion(R"(, "stream": true)");
  EXPECT_EQ(response_->on_event(token(FakeText::kSmileBegin, "")), "");
  open_chat(R"(, "stream": true)");
  EXPECT_EQ(send(token(FakeText::kSmileBegin, "")).size(), 1);  // the role
  EXPECT_EQ(response_->on_event(token(FakeText::kSmileBegin, "")), "");
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
    for (const std::uint32_t choice : {1U, 0U}) send(last('y', "", FinishReason::kStop, choice), prompt);
  }
  EXPECT_TRUE(response_->done());
}

TEST_F(OpenAiResponse, UsageCountsAPromptOnceAndItsAnswersAll) {
  open_completion(R"(, "n": 3)");
  for (const std::uint32_t choice : {2U, 0U, 1U}) {
    response_->on_event(last('x', std::string(1, static_cast<char>('a' + choice)), FinishReason::kStop, choice));
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

TEST_F(OpenAiResponse, NumbersThatAreNotFiniteAreAFailureOfTheirOwn) {
  open_chat("");
  EXPECT_EQ(response_->on_event(last(-1, "", FinishReason::kNotFinite)), "");
  EXPECT_EQ(response_->error()->status, 500);
  EXPECT_EQ(response_->error()->code, "not_finite");
  EXPECT_THAT(response_->error()->message, HasSubstr("not finite"));
}

TEST_F(OpenAiResponse, AFailureOfACallThatIsNotStreamedIsItsError) {
  open_chat("");
  EXPECT_EQ(response_->error(), nullptr);
  EXPECT_EQ(response_->on_event(last(-1, "", FinishReason::kFailed)), "");
  EXPECT_EQ(response_->error()->status, 500);
  open_chat("");
  response_->on_event(last(-1, "", FinishReason::kCancelled));
  EXPECT_EQ(response_->error()->status, 503);
}

TEST_F(OpenAiResponse, GivingUpIsAnErrorEvent) {
  open_chat(R"(, "stream": true)");
  const auto events = events_of(response_->fail({.status = 503, .message = "going down", .type = "server_error"}));
  ASSERT_EQ(events.size(), 1);
  EXPECT_EQ(events[0].at("error").at("message"), json::value("going down"));
}

TEST_F(OpenAiResponse, ReasoningHasAFieldOfItsOwn) {
  words_.set_reasoning("think");
  open_chat("");
  response_->on_event(reasoning('a', "a"));
  response_->on_event(token('H', "H"));
  RequestEvent end = last(FakeText::kEnd, "", FinishReason::kStop);
  end.stats.reasoning_tokens = 1;
  response_->on_event(end);
  EXPECT_EQ(response_->held_bytes(), 2U);
  const json::object whole = body();
  EXPECT_EQ(json::serialize(choice(whole).at("message")),
            R"({"role":"assistant","reasoning_content":"a","content":"H","refusal":null})");
  EXPECT_EQ(
      json::serialize(whole.at("usage")),
      R"({"prompt_tokens":10,"completion_tokens":2,"total_tokens":12,"prompt_tokens_details":{"cached_tokens":4},)"
      R"("completion_tokens_details":{"reasoning_tokens":1}})");
}

TEST_F(OpenAiResponse, UsageSaysHowMuchOfAPredictionWasRightAndTimingsWhatWasDrafted) {
  const auto drafted = [] {
    RequestEvent end = last('i', "i", FinishReason::kStop);
    end.stats.drafted_tokens = 9;
    end.stats.accepted_draft_tokens = 5;
    end.stats.drafted_prediction_tokens = 7;
    end.stats.accepted_prediction_tokens = 4;
    return end;
  };
  open_chat(R"(, "prediction": {"type": "content", "content": "Hi"})");
  response_->on_event(drafted());
  json::object whole = body();
  EXPECT_EQ(json::serialize(whole.at("usage").at("completion_tokens_details")),
            R"({"accepted_prediction_tokens":4,"rejected_prediction_tokens":3})");
  EXPECT_EQ(whole.at("timings").at("draft_n"), 9);
  EXPECT_EQ(whole.at("timings").at("draft_n_accepted"), 5);
  open_chat("");
  response_->on_event(drafted());
  whole = body();
  EXPECT_FALSE(whole.at("usage").as_object().contains("completion_tokens_details")) << "of a prediction alone";
  EXPECT_EQ(whole.at("timings").at("draft_n"), 9);
}

TEST_F(OpenAiResponse, AStreamsDeltasHaveReasoningOrContentOrBoth) {
  words_.set_reasoning("think");
  open_chat(R"(, "stream": true)");
  const auto delta = [&](const RequestEvent& event) {
    const auto events = send(event);
    return events.empty() ? "" : json::serialize(choice(events.back()).at("delta"));
  };
  EXPECT_EQ(delta(reasoning('a', "a")), R"({"reasoning_content":"a"})");
  EXPECT_EQ(delta(reasoning('a', "")), "");
  RequestEvent both = reasoning('b', "b");
  both.text = both.bytes = "H";
  EXPECT_EQ(delta(both), R"({"reasoning_content":"b","content":"H"})");
  EXPECT_EQ(delta(token('i', "i")), R"({"content":"i"})");
}

TEST_F(OpenAiResponse, ReasoningIsNamedTwiceOrNotSentIfAskedFor) {
  words_.set_reasoning("think");
  open_chat(R"(, "include_reasoning": true)");
  response_->on_event(reasoning('a', "a"));
  response_->on_event(last(FakeText::kEnd, "", FinishReason::kLength));
  EXPECT_EQ(json::serialize(choice(body()).at("message")),
            R"({"role":"assistant","reasoning_content":"a","reasoning":"a","content":"","refusal":null})");
  open_chat(R"(, "include_reasoning": false, "stream": true)");
  EXPECT_EQ(send(reasoning('a', "a")).size(), 1);  // the role
  EXPECT_TRUE(send(reasoning('b', "b")).empty());
}

TEST_F(OpenAiResponse, TokenIdsAreReturnedIfAskedFor) {
  open_completion(R"(, "return_token_ids": true)");
  response_->on_event(token('c', "c"));
  response_->on_event(last(FakeText::kEnd, "", FinishReason::kStop));
  const json::object answer = choice(body());
  EXPECT_EQ(json::serialize(answer.at("prompt_token_ids")), "[97,98]");
  EXPECT_EQ(json::serialize(answer.at("token_ids")), "[99,257]");
  open_chat(R"(, "return_token_ids": true)");
  response_->on_event(last(FakeText::kEnd, "", FinishReason::kStop));
  EXPECT_EQ(body().at("prompt_token_ids").at(0), json::value(FakeText::kBos));
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
  collect(send(token(FakeText::kSmileBegin, "")));
  collect(send(token(FakeText::kSmileEnd, "\xF0\x9F\x98\x80")));
  collect(send(last(FakeText::kEnd, "", FinishReason::kStop)));
  EXPECT_THAT(ids, ElementsAre(FakeText::kSmileBegin, FakeText::kSmileEnd, FakeText::kEnd));
  EXPECT_EQ(with_prompt, 1);
}

}  // namespace
}  // namespace octavo
