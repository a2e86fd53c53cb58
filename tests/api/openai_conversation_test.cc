// The conversation of a chat: messages, calls of tools, names for the template, reasoning.
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

TEST_F(OpenAiRequest, ReadsMessagesOfTextAndOfParts) {
  EXPECT_EQ(chat_prompt(R"([{"role": "user", "content": "hi"}])"), "<bos>user:hi;");
  EXPECT_EQ(chat_prompt(R"([{"role": "developer", "content": "be brief"}, {"role": "user", "content": [
                            {"type": "text", "text": "one"}, {"type": "text", "text": "two"}]}])"),
            "<bos>system:be brief;user:one\ntwo;");
  EXPECT_EQ(chat_prompt(R"([{"role": "user", "content": "a", "name": "x"}, {"role": "assistant", "content": "b",
                            "tool_calls": []}, {"role": "user", "content": []}])"),
            "<bos>user:a;assistant:b;user:;");
}

TEST_F(OpenAiRequest, AnAssistantMayHaveSaidNothing) {
  EXPECT_EQ(chat_prompt(R"([{"role": "assistant", "content": null, "refusal": null, "tool_calls": null}])"),
            "<bos>assistant:;");
  EXPECT_EQ(chat_prompt(R"([{"role": "assistant"}, {"role": "user", "content": "", "name": "me"}])"),
            "<bos>assistant:;user:;");
}

TEST_F(OpenAiRequest, ReadsCallsOfToolsAndTheirResults) {
  const auto call = chat(R"("messages": [{"role": "user", "content": "w?"}, {"role": "assistant", "content": null,
      "reasoning_content": "hm", "tool_calls": [
        {"id": "c1", "type": "function", "function": {"name": "f", "arguments": "{\"a\": 1}"}},
        {"id": "c2", "function": {"name": "g", "arguments": {"b": [true, null, 0.5]}}}, {"function": {"name": "h"}}]},
      {"role": "tool", "tool_call_id": "c1", "name": "f", "content": [{"type": "text", "text": "cold"}]},
      {"role": "function", "name": "g", "content": "x"}])");
  ASSERT_TRUE(call) << call.error().message;
  const std::vector<ChatMessage>& messages = words_.last_messages;
  ASSERT_EQ(messages.size(), 4U);
  EXPECT_EQ(messages[1].reasoning, "hm");
  ASSERT_EQ(messages[1].tool_calls.size(), 3U);
  EXPECT_EQ(messages[1].tool_calls[0].id, "c1");
  EXPECT_EQ(messages[1].tool_calls[0].name, "f");
  EXPECT_EQ(messages[1].tool_calls[0].arguments, TemplateValue(std::string(R"({"a": 1})")));
  const TemplateList list = {true, {}, 0.5};
  EXPECT_EQ(messages[1].tool_calls[1].arguments, TemplateValue(TemplateDict{{"b", list}}));
  EXPECT_EQ(messages[1].tool_calls[2].arguments, TemplateValue(std::string("{}")));
  EXPECT_EQ(messages[2].role, "tool");
  EXPECT_EQ(messages[2].tool_call_id, "c1");
  ASSERT_EQ(messages[2].parts.size(), 1U);
  EXPECT_EQ(messages[2].parts[0].kind, ContentPart::Kind::kText);
  EXPECT_EQ(messages[2].parts[0].text, "cold");
  EXPECT_EQ(messages[3].role, "tool");
  EXPECT_EQ(messages[3].name, "g");
}

TEST_F(OpenAiRequest, ReadsEarlierReasoningUnderItsTwoNames) {
  const auto reasoning = [&](const std::string& fields) {
    EXPECT_TRUE(chat(R"("messages": [{"role": "assistant", "content": "a", )" + fields + "}]")) << fields;
    return words_.last_messages.at(0).reasoning;
  };
  EXPECT_EQ(reasoning(R"("reasoning_content": "a")"), "a");
  EXPECT_EQ(reasoning(R"("reasoning": "b")"), "b");
  EXPECT_EQ(reasoning(R"("reasoning": "b", "reasoning_content": "a")"), "a");
  EXPECT_EQ(reasoning(R"("reasoning": null)"), "");
  EXPECT_EQ(chat_error(R"("messages": [{"role": "assistant", "reasoning": 5}])").param, "messages[0].reasoning");
}

TEST_F(OpenAiRequest, CallsThatItCannotReadAreRefused) {
  const auto param = [&](const std::string& calls) {
    return chat_error(R"("messages": [{"role": "assistant", "content": null, "tool_calls": )" + calls + "}]").param;
  };
  EXPECT_EQ(param("5"), "messages[0].tool_calls");
  EXPECT_EQ(param("[5]"), "messages[0].tool_calls[0]");
  EXPECT_EQ(param(R"([{"id": "1"}])"), "messages[0].tool_calls[0].function");
  EXPECT_EQ(param(R"([{"function": {"name": 5}}])"), "messages[0].tool_calls[0].function.name");
  EXPECT_EQ(param(R"([{"type": 5, "function": {"name": "f"}}])"), "messages[0].tool_calls[0].type");
  EXPECT_EQ(
      chat_error(R"("messages": [{"role": "user", "content": "", "tool_calls": [{"function": {"name": "f"}}]}])").param,
      "messages[0].tool_calls");
  EXPECT_EQ(chat_error(R"("messages": [{"role": "assistant", "content": null, "function_call": {"name": 5}}])").param,
            "messages[0].function_call.name");
  EXPECT_EQ(chat_error(R"("messages": [{"role": "user", "content": "", "function_call": {"name": "f"}}])").param,
            "messages[0].function_call");
}

TEST_F(OpenAiRequest, ThePromptMayEndWithTheLastMessage) {
  ASSERT_TRUE(chat(kUser));
  EXPECT_TRUE(words_.last_options.add_generation_prompt);
  EXPECT_FALSE(words_.last_options.continue_final_message);
  ASSERT_TRUE(chat(kUser + R"(, "add_generation_prompt": false, "continue_final_message": true)"));
  EXPECT_FALSE(words_.last_options.add_generation_prompt);
  EXPECT_TRUE(words_.last_options.continue_final_message);
  const ApiError both = chat_error(kUser + R"(, "continue_final_message": true)");
  EXPECT_EQ(both.param, "continue_final_message");
  EXPECT_THAT(both.message, HasSubstr("add_generation_prompt"));
  EXPECT_EQ(completion_error(R"("add_generation_prompt": false, "continue_final_message": true)").param,
            "continue_final_message");
}

TEST_F(OpenAiRequest, ToolsThatMayNotBeCalledAreShownToTheTemplateIfItHasAPlaceForThem) {
  ASSERT_TRUE(chat(kUser + R"(, "tools": [{"type": "function", "function": {"name": "f"}}], "tool_choice": "none")"));
  const TemplateDict function = {{"name", std::string("f")}};
  EXPECT_EQ(words_.last_options.tools,
            TemplateValue(TemplateList{TemplateDict{{"type", std::string("function")}, {"function", function}}}));
  EXPECT_FALSE(words_.last_options.describe_tools);
  EXPECT_EQ(chat_error(kUser + R"(, "tools": [5], "tool_choice": "none")").param, "tools[0]");
}

TEST_F(OpenAiRequest, RefusesMessagesThatItCannotRead) {
  const auto param = [&](const std::string& messages) { return chat_error(R"("messages": )" + messages).param; };
  EXPECT_EQ(param("null"), "messages");
  EXPECT_EQ(param("[]"), "messages");
  EXPECT_EQ(param("\"hi\""), "messages");
  EXPECT_EQ(param("[\"hi\"]"), "messages[0]");
  EXPECT_EQ(param(R"([{"content": "hi"}])"), "messages[0].role");
  EXPECT_EQ(param(R"([{"role": 5, "content": "hi"}])"), "messages[0].role");
  EXPECT_EQ(param(R"([{"role": "critic", "content": "hi"}])"), "messages[0].role");
  EXPECT_EQ(param(R"([{"role": "user"}])"), "messages[0].content");
  EXPECT_EQ(param(R"([{"role": "system", "content": 5}])"), "messages[0].content");
  EXPECT_EQ(param(R"([{"role": "user", "content": 5}])"), "messages[0].content");
  EXPECT_EQ(param(R"([{"role": "user", "content": ["hi"]}])"), "messages[0].content[0]");
  EXPECT_EQ(param(R"([{"role": "user", "content": [{"text": "hi"}]}])"), "messages[0].content[0].type");
  EXPECT_EQ(param(R"([{"role": "user", "content": [{"type": "text"}]}])"), "messages[0].content[0].text");
  EXPECT_EQ(param(R"([{"role": "user", "content": [{"type": "image_url", "image_url": {"url": "x"}}]}])"),
            "messages[0].content[0].type");
}

TEST_F(OpenAiRequest, NamesOfTheServerAreGivenToTheTemplateWhereARequestGivesNone) {
  ServedModel model = kAskedModel;
  model.policy.template_names = {{"enable_thinking", true}, {"reasoning_effort", std::string("high")}};
  const auto names_of = [&](const std::string& fields) {
    const auto call = parse_chat_completion(boost::json::parse("{" + kUser + fields + "}").as_object(), words_, model);
    EXPECT_TRUE(call.has_value()) << call.error().message;
    return words_.last_options.names;
  };
  EXPECT_EQ(names_of(""), model.policy.template_names);
  EXPECT_EQ(names_of(R"(, "reasoning_effort": "low")"),
            (TemplateDict{{"enable_thinking", true}, {"reasoning_effort", std::string("low")}}));
  EXPECT_EQ(names_of(R"(, "chat_template_kwargs": {"enable_thinking": false})"),
            (TemplateDict{{"reasoning_effort", std::string("high")}, {"enable_thinking", false}}));
}

TEST_F(OpenAiRequest, NamesForTheTemplateAreGivenToIt) {
  const auto plain = chat(kUser), named = chat(kUser + R"(, "chat_template_kwargs":
      {"enable_thinking": false, "effort": "high", "depth": 3, "share": 0.5, "none": null})");
  ASSERT_TRUE(plain && named) << named.error().message;
  const std::string_view names = "enable_thinking;effort;depth;share;none;";
  EXPECT_EQ(named->requests[0].tokens.size(), plain->requests[0].tokens.size() + names.size());
  ASSERT_TRUE(chat(kUser + R"(, "reasoning_effort": "low", "chat_template_kwargs": {"list": [1, {"a": "b"}]})"));
  const TemplateList list = {std::int64_t{1}, TemplateDict{{"a", std::string("b")}}};
  EXPECT_EQ(words_.last_options.names,
            (TemplateDict{{"reasoning_effort", std::string("low")}, {"enable_thinking", true}, {"list", list}}));
  for (const std::string wrong : {R"({"documents": []})", R"({"messages": "x"})", R"({"tools": null})"}) {
    const auto refused = chat(kUser + R"(, "chat_template_kwargs": )" + wrong);
    ASSERT_FALSE(refused) << wrong;
    EXPECT_EQ(refused.error().status, 400);
    EXPECT_THAT(refused.error().param, HasSubstr("chat_template_kwargs."));
  }
}

TEST_F(OpenAiRequest, AChatsReasoningIsSplitOffWhereTheModelHasMarks) {
  const auto plain = chat(kUser + R"(, "reasoning_budget": 5, "include_reasoning": true)");
  ASSERT_TRUE(plain);
  EXPECT_EQ(plain->requests[0].reasoning.mode, ReasoningMode::kPlain);
  EXPECT_EQ(plain->requests[0].reasoning.budget, -1);
  EXPECT_FALSE(plain->reasoning.is_counted);

  words_.set_reasoning("think");
  const auto split = chat(kUser);
  ASSERT_TRUE(split);
  EXPECT_EQ(split->requests[0].reasoning.mode, ReasoningMode::kSplit);
  EXPECT_TRUE(split->requests[0].reasoning.begins_inside);
  EXPECT_EQ(split->requests[0].reasoning.budget, kAskedModel.policy.reasoning_budget);
  EXPECT_TRUE(split->reasoning.is_counted && split->reasoning.is_shown && !split->reasoning.has_both_names);
  EXPECT_EQ(chat(kUser + R"(, "reasoning_format": "none")")->requests[0].reasoning.mode, ReasoningMode::kLeftIn);
  EXPECT_EQ(chat(kUser + R"(, "reasoning_format": "deepseek")")->requests[0].reasoning.mode, ReasoningMode::kSplit);
  EXPECT_FALSE(chat(kUser + R"(, "include_reasoning": false)")->reasoning.is_shown);
  EXPECT_TRUE(chat(kUser + R"(, "include_reasoning": true)")->reasoning.has_both_names);
  const auto raw = completion(R"("prompt": "a")");
  EXPECT_EQ(raw->requests[0].reasoning.mode, ReasoningMode::kPlain);
}

TEST_F(OpenAiRequest, ReasoningsBudgetHasSeveralNamesAndMinusOneIsAny) {
  words_.set_reasoning("think");
  for (const std::string name :
       {"reasoning_budget", "reasoning_budget_tokens", "thinking_budget_tokens", "thinking_token_budget"}) {
    EXPECT_EQ(chat(kUser + ", \"" + name + "\": 7")->requests[0].reasoning.budget, 7) << name;
    EXPECT_EQ(chat(kUser + ", \"" + name + "\": 0")->requests[0].reasoning.budget, 0) << name;
    EXPECT_EQ(chat(kUser + ", \"" + name + "\": -1")->requests[0].reasoning.budget, -1) << name;
    EXPECT_THAT(chat_error(kUser + ", \"" + name + "\": -2").param, name);
    EXPECT_THAT(completion_error("\"" + name + "\": 7").param, name);
    EXPECT_TRUE(completion(R"("prompt": "a", ")" + name + "\": null").has_value());
    EXPECT_TRUE(completion(R"("prompt": "a", ")" + name + "\": -1").has_value());
  }
  EXPECT_THAT(chat_error(kUser + R"(, "reasoning_budget": 5, "thinking_token_budget": 6)").message,
              HasSubstr("they are the same"));
  EXPECT_EQ(chat_error(kUser + R"(, "reasoning_format": "raw")").param, "reasoning_format");
}

}  // namespace
}  // namespace octavo
