// OpenAI's first form of tools: how a body with functions is read, and how its answer is written.

#include <gmock/gmock.h>

#include <map>

#include "api/call/tool_calling.h"
#include "api/openai_response.h"

namespace octavo {
namespace {

using ::testing::HasSubstr;

const std::string kFunctions = R"(, "functions": [{"name": "weather", "parameters": {"type": "object",
    "properties": {"city": {"type": "string"}}}}, {"name": "time"}])";
const std::string kCall = "<tool_call>\n{\"name\": \"weather\", \"arguments\": {\"city\": \"Rome\"}}\n</tool_call>";

class OldFunctions : public OpenAiResponse {
 protected:
  void SetUp() override { words_.set_tool_format("hermes"); }

  ApiResult<CompletionCall> chat(const std::string& fields) {
    const std::string body = R"({"messages": [{"role": "user", "content": "hi"}])" + fields + "}";
    return compiled(parse_chat_completion(json::parse(body).as_object(), words_, kAnsweringModel), words_);
  }
  /// The text as one token a byte, ended by an end token.
  std::vector<json::object> send_text(const std::string& text) {
    std::vector<json::object> all;
    for (const char c : text)
      for (json::object& event : send(token(static_cast<unsigned char>(c), std::string(1, c))))
        all.push_back(std::move(event));
    for (json::object& event : send(last(FakeText::kEnd, "", FinishReason::kStop))) all.push_back(std::move(event));
    return all;
  }
};

TEST_F(OldFunctions, AreToolsOfWhichAnAnswerCallsOneAtMost) {
  const auto call = chat(kFunctions);
  ASSERT_TRUE(call.has_value()) << call.error().message;
  ASSERT_NE(call->tools, nullptr);
  EXPECT_TRUE(call->calls_are_functions);
  EXPECT_TRUE(call->tools->is_single);
  const auto& tools = std::get<TemplateList>(words_.last_options.tools);
  EXPECT_EQ(tools.size(), 2U) << "the template shows them as tools";
  EXPECT_EQ(chat(kFunctions + R"(, "function_call": "none")")->tools, nullptr);
  EXPECT_NE(chat(kFunctions + R"(, "function_call": "auto")")->tools, nullptr);
  EXPECT_TRUE(chat(kFunctions + R"(, "function_call": {"name": "time"})")->requests[0].constraint);
  EXPECT_EQ(chat(R"(, "functions": [], "function_call": null)")->tools, nullptr);
  EXPECT_FALSE(chat("")->calls_are_functions);
}

TEST_F(OldFunctions, AMessageHasOneFunctionCall) {
  open_chat(kFunctions);
  EXPECT_TRUE(send_text(kCall).empty());
  const json::object found = choice(body());
  EXPECT_EQ(found.at("finish_reason"), "function_call");
  EXPECT_EQ(found.at("message").at("function_call"),
            json::parse(R"({"name": "weather", "arguments": "{\"city\": \"Rome\"}"})"));
  EXPECT_TRUE(found.at("message").at("content").is_null());
  EXPECT_FALSE(found.at("message").as_object().contains("tool_calls"));
}

TEST_F(OldFunctions, AMessageThatCallsNothingIsAsAnyOther) {
  open_chat(kFunctions);
  send_text("No.");
  const json::object found = choice(body());
  EXPECT_EQ(found.at("finish_reason"), "stop");
  EXPECT_EQ(found.at("message").at("content"), "No.");
  EXPECT_FALSE(found.at("message").as_object().contains("function_call"));
}

TEST_F(OldFunctions, AStreamHasTheCallInDeltas) {
  open_chat(kFunctions + R"(, "stream": true)");
  std::string name, arguments, finish;
  for (const json::object& event : send_text("I look.\n" + kCall)) {
    const json::object one = choice(event);
    if (one.at("finish_reason").is_string()) finish = one.at("finish_reason").as_string();
    const json::object& delta = one.at("delta").as_object();
    EXPECT_FALSE(delta.contains("tool_calls"));
    if (!delta.contains("function_call")) continue;
    const json::object& call = delta.at("function_call").as_object();
    if (call.contains("name")) name += call.at("name").as_string();
    if (call.contains("arguments")) arguments += call.at("arguments").as_string();
  }
  EXPECT_EQ(name, "weather");
  EXPECT_EQ(arguments, R"({"city": "Rome"})");
  EXPECT_EQ(finish, "function_call");
}

// As where a stop text held the tokens back, or the whole answer is one piece.
TEST_F(OldFunctions, ACallThatComesInOneEventIsOneDelta) {
  open_chat(kFunctions + R"(, "stream": true)");
  std::vector<json::object> deltas;
  for (const json::object& event : send(token(1, kCall)))
    if (choice(event).at("delta").as_object().contains("function_call"))
      deltas.push_back(choice(event).at("delta").at("function_call").as_object());
  ASSERT_EQ(deltas.size(), 1U);
  EXPECT_EQ(deltas[0].at("name"), "weather");
  EXPECT_EQ(deltas[0].at("arguments"), R"({"city": "Rome"})");
}

// The limit has cut the call: what might have been a mark is given behind what was sure to be its arguments.
TEST_F(OldFunctions, ArgumentsThatACutEndsAreOneText) {
  const std::string cut = "<tool_call>\n<function=weather>\n<parameter=city>\nRo</para";
  words_.set_tool_format("qwen");
  const auto arguments_in = [&](std::size_t piece) {
    response_.reset();  // before the call that it refers to
    open_chat(kFunctions + R"(, "stream": true)");
    std::string arguments;
    for (std::size_t at = 0; at < cut.size(); at += piece) {
      const bool is_last = at + piece >= cut.size();
      const std::string text = cut.substr(at, piece);
      for (const json::object& event : send(is_last ? last(1, text, FinishReason::kLength) : token(1, text))) {
        const json::object one = choice(event);
        const json::value* call = one.at("delta").as_object().if_contains("function_call");
        const json::value* more = call == nullptr ? nullptr : call->as_object().if_contains("arguments");
        if (more != nullptr) arguments += more->as_string();
      }
    }
    return arguments;
  };
  EXPECT_EQ(arguments_in(cut.size()), arguments_in(1));
  EXPECT_EQ(arguments_in(cut.size()), R"({"city": "Ro</para)");
}

TEST_F(OldFunctions, EarlierCallsAndTheirResultsAreRead) {
  const auto call = parse_chat_completion(json::parse(R"({"messages": [{"role": "user", "content": "hi"},
      {"role": "assistant", "content": null, "function_call": {"name": "time", "arguments": "{\"zone\": 1}"}},
      {"role": "function", "name": "time", "content": "noon"}]})")
                                              .as_object(),
                                          words_, kAnsweringModel);
  ASSERT_TRUE(call.has_value()) << call.error().message;
  const std::vector<ChatMessage>& messages = words_.last_messages;
  ASSERT_EQ(messages.size(), 3U);
  ASSERT_EQ(messages[1].tool_calls.size(), 1U);
  EXPECT_EQ(messages[1].tool_calls[0].name, "time");
  EXPECT_EQ(std::get<std::string>(messages[1].tool_calls[0].arguments), R"({"zone": 1})");
  EXPECT_EQ(messages[2].role, "tool");
  EXPECT_EQ(messages[2].name, "time");
}

TEST_F(OldFunctions, WhatIsWrongIsRefusedByTheNamesThatTheClientUsed) {
  const std::map<std::string, std::string> params = {
      {R"(, "functions": 5)", "functions"},
      {R"(, "functions": [5])", "functions[0]"},
      {R"(, "functions": [{}])", "functions[0].name"},
      {R"(, "functions": [{"name": "f", "parameters": 5}])", "functions[0].parameters"},
      {kFunctions + R"(, "function_call": "maybe")", "function_call"},
      {kFunctions + R"(, "function_call": {})", "function_call.name"},
      {kFunctions + R"(, "function_call": {"name": "other"})", "function_call.name"},
      {R"(, "function_call": {"name": "f"})", "function_call.name"},
      {kFunctions + R"(, "function_call": {"name": "time"}, "guided_regex": "a")", "function_call"},
      {kFunctions + R"(, "tools": [{"type": "function", "function": {"name": "f"}}])", "functions"},
      {R"(, "function_call": "auto", "tools": [{"type": "function", "function": {"name": "f"}}])", "function_call"}};
  for (const auto& [fields, param] : params) {
    const auto call = chat(fields);
    ASSERT_FALSE(call.has_value()) << fields;
    EXPECT_EQ(call.error().param, param) << fields << call.error().message;
    EXPECT_EQ(call.error().status, 400);
  }
}

}  // namespace
}  // namespace octavo
