#include "cli/batch/batch_line.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json.hpp>

#include "api/fake_text.h"

namespace octavo::cli {
namespace {

using testing::HasSubstr;

const test::FakeText kWords;
const ServedModel kModel{.id = "text"};

BatchCall parse(std::string_view text, const BatchDefaults& defaults = {}, std::uint64_t line = 7) {
  return parse_batch_line(text, line, defaults, kWords, kModel);
}

std::string error_of(std::string_view text) {
  const BatchCall call = parse(text);
  return call.call ? "" : call.call.error().message;
}

TEST(BatchLine, OpenAIsFormIsACallOfTheServer) {
  const BatchCall chat = parse(
      R"({"custom_id":"a","method":"POST","url":"/v1/chat/completions","body":{"messages":[{"role":"user","content":"hi"}],"temperature":0.5}})");
  ASSERT_TRUE(chat.call) << chat.call.error().message;
  EXPECT_EQ(chat.custom_id, "a");
  EXPECT_TRUE(chat.call->is_chat);
  EXPECT_EQ(chat.call->requests[0].sampling.temperature, 0.5F);
  const BatchCall text = parse(R"({"custom_id":"b","url":"/v1/completions","body":{"prompt":"hi"}})");
  ASSERT_TRUE(text.call);
  EXPECT_FALSE(text.call->is_chat);
}

TEST(BatchLine, ABodyAloneIsACallByWhatItHas) {
  const BatchCall chat = parse(R"({"messages":[{"role":"user","content":"hi"}]})");
  ASSERT_TRUE(chat.call);
  EXPECT_TRUE(chat.call->is_chat);
  EXPECT_FALSE(chat.custom_id);
  const BatchCall text = parse(R"({"custom_id":"b","prompt":"hi","max_tokens":3})");
  ASSERT_TRUE(text.call);
  EXPECT_EQ(text.custom_id, "b");
  EXPECT_EQ(text.call->requests[0].max_tokens, 3);
}

TEST(BatchLine, DefaultsAreForWhatALineDoesNotSay) {
  const BatchDefaults defaults{.max_tokens = 5, .seed = 100};
  const BatchCall text = parse(R"({"prompt":"hi"})", defaults);
  EXPECT_EQ(text.call->requests[0].max_tokens, 5);
  EXPECT_EQ(text.call->requests[0].sampling.seed, 107U);
  const BatchCall said =
      parse(R"({"messages":[{"role":"user","content":"hi"}],"max_completion_tokens":2,"seed":1})", defaults);
  EXPECT_EQ(said.call->requests[0].max_tokens, 2);
  EXPECT_EQ(said.call->requests[0].sampling.seed, 1U);
}

TEST(BatchLine, ErrorsSayWhatWasFound) {
  EXPECT_THAT(error_of("{"), HasSubstr("no JSON"));
  EXPECT_THAT(error_of("[]"), HasSubstr("no JSON object"));
  EXPECT_THAT(error_of(R"({"custom_id":3,"prompt":"a"})"), HasSubstr("custom_id: found the number 3"));
  EXPECT_THAT(error_of(R"({"custom_id":")" + std::string(513, 'a') + R"(","prompt":"a"})"),
              HasSubstr("custom_id: found 513 bytes"));
  EXPECT_THAT(error_of("{}"), HasSubstr("neither messages nor a prompt"));
  EXPECT_THAT(error_of(R"({"url":"/v1/embeddings","body":{}})"), HasSubstr("url: found the string \"/v1/embeddings\""));
  EXPECT_THAT(error_of(R"({"body":{"prompt":"a"}})"), HasSubstr("url: found none"));
  EXPECT_THAT(error_of(R"({"url":"/v1/completions"})"), HasSubstr("body: found none"));
  EXPECT_THAT(error_of(R"({"url":"/v1/completions","body":[]})"), HasSubstr("body: found an array"));
  EXPECT_THAT(error_of(R"({"method":"GET","url":"/v1/completions","body":{"prompt":"a"}})"),
              HasSubstr("method: found the string \"GET\""));
  EXPECT_THAT(error_of(R"({"prompt":"a","stream":true})"), HasSubstr("answers come whole"));
  EXPECT_THAT(error_of(R"({"prompt":"a","temperature":"hot"})"), HasSubstr("temperature"));
  EXPECT_THAT(error_of(R"({"prompt":"a","model":"gpt-4"})"), HasSubstr("no other model"));
}

TEST(BatchLine, TheIdStaysWithAWrongBody) {
  EXPECT_EQ(parse(R"({"custom_id":"a","url":"/v1/completions","body":{"prompt":3}})").custom_id, "a");
}

TEST(BatchLine, AnswersAreLinesOfJsonWithTheIdAndTheLine) {
  const std::string answer = batch_answer(7, "a\"\n", R"({"x":1})");
  EXPECT_EQ(answer.find('\n'), answer.size() - 1);
  const boost::json::value value = boost::json::parse(answer);
  EXPECT_EQ(value.at("custom_id"), "a\"\n");
  EXPECT_EQ(value.at("line"), 7);
  EXPECT_EQ(value.at("response").at("status_code"), 200);
  EXPECT_EQ(value.at("response").at("body").at("x"), 1);
  EXPECT_TRUE(value.at("error").is_null());
  EXPECT_EQ(line_of_answer(answer.substr(0, answer.size() - 1)), 7U);
}

TEST(BatchLine, AnErrorNamesItsLine) {
  const boost::json::value value =
      boost::json::parse(batch_error(7, std::nullopt, {.status = 400, .message = "wrong", .code = "bad"}));
  EXPECT_TRUE(value.at("custom_id").is_null());
  EXPECT_EQ(value.at("line"), 7);
  EXPECT_EQ(value.at("error").at("code"), "bad");
  EXPECT_EQ(value.at("error").at("message"), "line 7: wrong");
  EXPECT_EQ(value.at("response").at("status_code"), 400);
  EXPECT_EQ(value.at("response").at("body").at("error").at("message"), "wrong");
}

TEST(BatchLine, WhatIsNoAnswerHasNoLine) {
  for (const std::string_view text : {"", "{", "{}", R"({"line":7})", R"({"line":0,"response":{}})"})
    EXPECT_FALSE(line_of_answer(text)) << text;
}

}  // namespace
}  // namespace octavo::cli
