// Tools that may be called: how they are asked for, and calls in answers, whole and streamed.
#include <gmock/gmock.h>

#include <map>

#include "api/answers/answer_tool_calls.h"
#include "api/openai_response.h"

namespace octavo {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

const std::string kTools =
    R"(, "tools": [{"type": "function", "function": {"name": "weather", "parameters": {"type": "object",
       "properties": {"city": {"type": "string"}, "days": {"type": "integer"}}}}},
       {"type": "function", "function": {"name": "time"}}])";

class OpenAiTools : public OpenAiResponse {
 protected:
  void SetUp() override { words_.set_tool_format("hermes"); }

  ApiResult<CompletionCall> chat(const std::string& fields) {
    const std::string body = R"({"messages": [{"role": "user", "content": "hi"}])" + fields + "}";
    return compiled(parse_chat_completion(json::parse(body).as_object(), words_, kAnsweringModel), words_);
  }
  ApiError chat_error(const std::string& fields) {
    const auto call = chat(fields);
    EXPECT_FALSE(call.has_value()) << fields;
    return call ? ApiError{} : call.error();
  }
  /// The text as one token a byte, ended by an end token.
  std::vector<json::object> send_text(const std::string& text, FinishReason finish = FinishReason::kStop) {
    std::vector<json::object> all;
    for (const char c : text)
      for (json::object& event : send(token(static_cast<unsigned char>(c), std::string(1, c))))
        all.push_back(std::move(event));
    for (json::object& event : send(last(FakeText::kEnd, "", finish))) all.push_back(std::move(event));
    return all;
  }
  json::object message() {
    const json::object choice_of_body = choice(body());
    finish_ = std::string(choice_of_body.at("finish_reason").as_string());
    return choice_of_body.at("message").as_object();
  }

  std::string finish_;
};

const std::string kCall = "<tool_call>\n{\"name\": \"weather\", \"arguments\": {\"city\": \"Rome\"}}\n</tool_call>";

TEST_F(OpenAiTools, ToolsMayBeCalledUnlessTheChoiceIsNone) {
  EXPECT_NE(chat(kTools)->tools, nullptr);
  EXPECT_TRUE(words_.last_options.describe_tools);
  EXPECT_NE(chat(kTools + R"(, "tool_choice": "auto")")->tools, nullptr);
  EXPECT_EQ(chat(kTools + R"(, "tool_choice": "none")")->tools, nullptr);
  EXPECT_EQ(chat(R"(, "tools": [])")->tools, nullptr);
  EXPECT_EQ(chat("")->tools, nullptr);
  EXPECT_FALSE(chat(kTools)->tools->is_single);
  EXPECT_TRUE(chat(kTools + R"(, "parallel_tool_calls": false)")->tools->is_single);
}

TEST_F(OpenAiTools, WrongToolsAreRefusedWithTheirPlace) {
  const std::map<std::string, std::string> params = {
      {R"(5)", "tools"},
      {R"([5])", "tools[0]"},
      {R"([{"type": "web_search"}])", "tools[0].type"},
      {R"([{"type": "function"}])", "tools[0].function"},
      {R"([{"function": {"name": "a"}}, {"function": {}}])", "tools[1].function.name"},
      {R"([{"function": {"name": ""}}])", "tools[0].function.name"},
      {R"([{"function": {"name": "a b"}}])", "tools[0].function.name"},
      {R"([{"function": {"name": "a", "parameters": 5}}])", "tools[0].function.parameters"},
      {R"([{"function": {"name": "a", "strict": 5}}])", "tools[0].function.strict"}};
  for (const auto& [tools, param] : params) EXPECT_EQ(chat_error(R"(, "tools": )" + tools).param, param) << tools;
}

TEST_F(OpenAiTools, AModelWithoutAChatTemplateSaysSo) {
  words_.set_tool_format("");
  const ApiError error = chat_error(kTools);
  EXPECT_EQ(error.status, 400);
  EXPECT_EQ(error.param, "tools");
  EXPECT_THAT(error.message, HasSubstr("no chat template"));
}

TEST_F(OpenAiTools, AnAnswerThatMustCallIsHeldToTheSchemas) {
  open_chat(kTools + R"(, "tool_choice": "required")");
  EXPECT_NE(call_.requests[0].constraint, nullptr);
  const ConstraintSource& held = words_.compiled;
  EXPECT_EQ(held.kind, ConstraintKind::kGrammar);
  EXPECT_THAT(held.text, HasSubstr("root ::= calls\n"));
  ASSERT_EQ(held.rules.size(), 2U);
  EXPECT_THAT(held.schemas.at(held.rules[0].schema), HasSubstr("\"days\""));
  EXPECT_FALSE(held.rules[0].is_strict);
}

TEST_F(OpenAiTools, ParametersAreClosedUnlessTheRequestSaysAsWritten) {
  open_chat(kTools + R"(, "tool_choice": "required")");
  EXPECT_TRUE(words_.compiled.closes_objects);
  open_chat(kTools + R"(, "tool_choice": "required", "additional_properties": "as_written")");
  EXPECT_FALSE(words_.compiled.closes_objects);
}

TEST_F(OpenAiTools, TheToolThatIsNamedIsTheOnlyOne) {
  const std::string named = R"(, "tool_choice": {"type": "function", "function": {"name": "time"}})";
  open_chat(kTools + named);
  EXPECT_EQ(words_.compiled.rules.size(), 1U);
  EXPECT_THAT(words_.compiled.text, HasSubstr("time"));
  EXPECT_THAT(words_.compiled.text, ::testing::Not(HasSubstr("weather")));
  EXPECT_TRUE(call_.tools->is_single);
  const std::map<std::string, std::string> params = {
      {R"("must")", "tool_choice"},
      {"5", "tool_choice"},
      {R"({"type": "function", "function": {"name": "nobody"}})", "tool_choice.function.name"},
      {R"({"type": "web_search"})", "tool_choice.type"},
      {"{}", "tool_choice.function"}};
  for (const auto& [wrong, param] : params)
    EXPECT_EQ(chat_error(kTools + R"(, "tool_choice": )" + wrong).param, param) << wrong;
  EXPECT_EQ(chat_error(R"(, "tool_choice": "required")").param, "tool_choice");
}

TEST_F(OpenAiTools, CallsOfStrictToolsAreHeldWhereTheyAreMade) {
  open_chat(kTools);
  EXPECT_EQ(call_.requests[0].constraint, nullptr);
  open_chat(R"(, "tools": [{"function": {"name": "a", "strict": true, "parameters": {"type": "object", "x-mine": 1}}},
                           {"function": {"name": "b", "parameters": {"type": "object", "x-its": 1}}}])");
  EXPECT_NE(call_.requests[0].constraint, nullptr);
  const ConstraintSource& held = words_.compiled;
  EXPECT_THAT(held.text, HasSubstr("root ::= free calls?\n"));
  ASSERT_EQ(held.rules.size(), 3U);
  EXPECT_TRUE(held.rules[0].is_strict);
  EXPECT_THAT(held.schemas.at(held.rules[0].schema), HasSubstr("x-mine"));
  EXPECT_THAT(held.schemas.at(held.rules[1].schema), ::testing::Not(HasSubstr("x-its")));  // any object
}

TEST_F(OpenAiTools, CallsOfToolsThatAreDescribedAreHeldWhereTheyAreMade) {
  words_.set_tool_format("described");
  open_chat(kTools);
  EXPECT_NE(call_.requests[0].constraint, nullptr);
  const ConstraintSource& held = words_.compiled;
  EXPECT_THAT(held.text, HasSubstr("root ::= free calls?\n"));
  EXPECT_THAT(held.text, ::testing::Not(HasSubstr("*")));  // one call
  ASSERT_EQ(held.rules.size(), 3U);
  EXPECT_THAT(held.schemas.at(held.rules[0].schema), HasSubstr("\"days\""));
  EXPECT_FALSE(held.rules[0].is_strict);
  const auto both = chat(kTools + R"(, "guided_regex": "a")");  // nobody has asked for the form of the calls
  ASSERT_TRUE(both) << both.error().message;
  EXPECT_EQ(words_.compiled.text, "a");
  EXPECT_EQ(chat(kTools + R"(, "tool_choice": "none")")->requests[0].constraint, nullptr);
}

TEST_F(OpenAiTools, ContentMayHaveAFormBesideCalls) {
  open_chat(kTools + R"(, "response_format": {"type": "json_object"})");
  EXPECT_THAT(words_.compiled.text, HasSubstr("root ::= content | calls\n"));
  EXPECT_EQ(words_.num_compiled, 1) << "the form of the content alone is asked of nobody";
}

TEST_F(OpenAiTools, AConversationThatCannotFitIsRefusedBeforeItsCallsAreCompiled) {
  const std::string messages = R"({"messages": [{"role": "user", "content": ")" + std::string(1000, 'x') + "\"}]";
  const std::string body = messages + kTools + R"(, "tool_choice": "required"})";
  const auto call = parse_chat_completion(json::parse(body).as_object(), words_, kAnsweringModel);
  ASSERT_FALSE(call.has_value());
  EXPECT_EQ(call.error().code, "context_length_exceeded");
  EXPECT_EQ(words_.num_compiled, 0);
}

TEST_F(OpenAiTools, ParametersArePartsOfTheSchemaOfTheirTool) {
  words_.set_tool_format("lfm");
  const auto parameters_of = [this](const std::string& schema) {
    open_chat(R"(, "tools": [{"function": {"name": "a", "strict": true, "parameters": )" + schema + "}}]");
    return words_.compiled;
  };
  const std::string shared =
      R"({"properties":{"a/b~":{"$ref":"#/$defs/x"},"c":{"$defs":{"y":{}}}},"$defs":{"x":{"type":"null"}}})";
  const ConstraintSource held = parameters_of(shared);
  EXPECT_THAT(held.schemas, ::testing::ElementsAre(shared));
  EXPECT_EQ(held.rules.at(0).place, "/properties/a~1b~0");
  EXPECT_EQ(held.rules.at(1).place, "/properties/c");
  const ConstraintSource own = parameters_of(R"({"properties":{"c":{"$ref":"#/$defs/y","$defs":{"y":{}}}}})");
  EXPECT_EQ(own.schemas.at(own.rules.at(0).schema), R"({"$ref":"#/$defs/y","$defs":{"y":{}}})");
  EXPECT_EQ(own.rules.at(0).place, "");
  std::string properties;
  for (int i = 0; i < 800; ++i) properties += fmt::format(R"({}"p{}":{{}})", i > 0 ? "," : "", i);
  const std::string large =
      R"({"properties":{)" + properties + R"(},"$defs":{"d":{"const":")" + std::string(1'000'000, 'x') + R"("}}})";
  const ConstraintSource many = parameters_of(large);
  EXPECT_THAT(many.schemas, ::testing::ElementsAre(large)) << "once for 800 parameters";
}

TEST_F(OpenAiTools, TwoFormsOfAnAnswerAreRefused) {
  EXPECT_EQ(chat_error(kTools + R"(, "tool_choice": "required", "guided_regex": "a")").param, "tool_choice");
  EXPECT_TRUE(chat(kTools + R"(, "guided_regex": "a")").has_value());  // of what is written, calls included
}

TEST_F(OpenAiTools, AnswersAreHeldToTheNotationOfTheModelsCalls) {
  const std::string body = kTools + R"(, "tool_choice": "required")";
  words_.set_tool_format("gemma");
  open_chat(body);
  EXPECT_EQ(words_.compiled.rules.at(0).notation, ValueNotation::kMarked);
  EXPECT_EQ(words_.compiled.rules.at(0).texts.at(0), "<|\"|>");
  words_.set_tool_format("lfm");
  open_chat(body);
  EXPECT_EQ(words_.compiled.rules.at(0).notation, ValueNotation::kPython);
}

TEST_F(OpenAiTools, AMessageHasItsCalls) {
  open_chat(kTools);
  EXPECT_TRUE(send_text("I look.\n" + kCall + "\n" + kCall).empty());
  const json::object found = message();
  EXPECT_EQ(finish_, "tool_calls");
  EXPECT_EQ(found.at("content"), "I look.");
  const json::array& calls = found.at("tool_calls").as_array();
  ASSERT_EQ(calls.size(), 2U);
  const json::object& call = calls[0].as_object();
  EXPECT_EQ(call.at("type"), "function");
  EXPECT_EQ(call.at("function").at("name"), "weather");
  EXPECT_EQ(call.at("function").at("arguments"), R"({"city": "Rome"})");
  EXPECT_THAT(std::string(call.at("id").as_string()), StartsWith("call_"));
  EXPECT_NE(call.at("id"), calls[1].at("id"));
}

TEST_F(OpenAiTools, AMessageThatOnlyCallsHasNoContent) {
  open_chat(kTools);
  send_text(kCall);
  const json::object found = message();
  EXPECT_TRUE(found.at("content").is_null());
  EXPECT_EQ(found.at("tool_calls").as_array().size(), 1U);
}

TEST_F(OpenAiTools, AMessageWithoutCallsIsAsItWouldBeWithoutTools) {
  const std::string text = " a <tool_call>\nnothing</tool_call> {\"name\": 1} \n";
  open_chat(kTools);
  send_text(text);
  const json::object found = message();
  EXPECT_EQ(found.at("content").as_string(), text);
  EXPECT_FALSE(found.contains("tool_calls"));
  EXPECT_EQ(finish_, "stop");
}

TEST_F(OpenAiTools, ACutAnswerEndsAsLength) {
  open_chat(kTools);
  send_text(kCall.substr(0, kCall.size() - 20), FinishReason::kLength);
  EXPECT_EQ(message().at("tool_calls").as_array().size(), 1U);
  EXPECT_EQ(finish_, "length");
}

TEST_F(OpenAiTools, OfACallThatIsCutInFrontOfItsNameNothingIsContent) {
  const std::string cut = "<tool_call>\n{\"name";
  open_chat(kTools + R"(, "tool_choice": "required")");
  send_text(cut, FinishReason::kLength);
  const json::object found = message();
  EXPECT_TRUE(found.at("content").is_null() || found.at("content").as_string().empty());
  EXPECT_EQ(finish_, "length");
  open_chat(kTools);
  send_text(cut, FinishReason::kLength);
  EXPECT_EQ(message().at("content").as_string(), cut);  // it may be text
}

/// What a client puts together of a stream.
struct Streamed {
  std::string content, finish;
  struct Call {
    std::string id, name, arguments;
  };
  std::vector<Call> calls;
  int num_parts = 0;  // of arguments
};

Streamed put_together(const std::vector<json::object>& events) {
  Streamed all;
  for (const json::object& event : events) {
    const json::object& choice = event.at("choices").at(0).as_object();
    if (choice.at("finish_reason").is_string()) all.finish = choice.at("finish_reason").as_string();
    const json::object& delta = choice.at("delta").as_object();
    if (delta.contains("content")) all.content += delta.at("content").as_string();
    if (!delta.contains("tool_calls")) continue;
    for (const json::value& part : delta.at("tool_calls").as_array()) {
      const auto index = static_cast<std::size_t>(part.at("index").as_int64());
      const json::object& function = part.at("function").as_object();
      if (index == all.calls.size()) {
        EXPECT_EQ(part.at("type"), "function");
        all.calls.push_back({.id = std::string(part.at("id").as_string()),
                             .name = std::string(function.at("name").as_string()),
                             .arguments = {}});
      } else {
        EXPECT_EQ(index + 1, all.calls.size());
        EXPECT_FALSE(part.as_object().contains("id"));
      }
      all.calls.at(index).arguments += function.at("arguments").as_string();
      ++all.num_parts;
    }
  }
  return all;
}

TEST_F(OpenAiTools, AStreamHasCallsAsDeltas) {
  open_chat(kTools + R"(, "stream": true)");
  const Streamed streamed = put_together(send_text("I look.\n" + kCall + "\n" + kCall));
  EXPECT_EQ(streamed.content, "I look.");
  EXPECT_EQ(streamed.finish, "tool_calls");
  ASSERT_EQ(streamed.calls.size(), 2U);
  for (const Streamed::Call& call : streamed.calls) {
    EXPECT_EQ(call.name, "weather");
    EXPECT_EQ(call.arguments, R"({"city": "Rome"})");
  }
  EXPECT_GT(streamed.num_parts, 20);  // they come as they are made
  EXPECT_NE(streamed.calls[0].id, streamed.calls[1].id);
}

TEST_F(OpenAiTools, ACallMayComeAtOnce) {
  open_chat(kTools + R"(, "stream": true)");
  const auto events = send(last('x', kCall + kCall, FinishReason::kStop));
  ASSERT_EQ(events.size(), 3U);  // the role, the calls, the end
  const Streamed streamed = put_together(events);
  ASSERT_EQ(streamed.calls.size(), 2U);
  EXPECT_EQ(streamed.calls[1].arguments, R"({"city": "Rome"})");
  EXPECT_FALSE(choice(events[1]).at("delta").as_object().contains("content"));
}

TEST_F(OpenAiTools, OneCallIsEnoughWithoutParallelOnes) {
  open_chat(kTools + R"(, "parallel_tool_calls": false)");
  send_text(kCall + "\n" + kCall + " and more");
  const json::object found = message();
  EXPECT_EQ(found.at("tool_calls").as_array().size(), 1U);
  EXPECT_TRUE(found.at("content").is_null());
}

TEST_F(OpenAiTools, ReasoningStandsBesideCalls) {
  words_.set_reasoning("think");
  open_chat(kTools);
  send(reasoning('x', "I need the weather."));
  send_text(kCall);
  const json::object found = message();
  EXPECT_EQ(found.at("reasoning_content"), "I need the weather.");
  EXPECT_EQ(found.at("tool_calls").as_array().size(), 1U);
}

TEST_F(OpenAiTools, ACallMayEndTheReasoning) {
  words_.set_tool_format("qwen");
  words_.set_reasoning("think");
  open_chat(kTools);
  send(reasoning(
      'x', "Now.\n<tool_call>\n<function=weather>\n<parameter=days>\n2\n</parameter>\n</function>\n</tool_call>"));
  send(last(FakeText::kEnd, "", FinishReason::kStop));
  const json::object found = message();
  EXPECT_EQ(found.at("reasoning_content"), "Now.");
  ASSERT_EQ(found.at("tool_calls").as_array().size(), 1U);
  EXPECT_EQ(found.at("tool_calls").at(0).at("function").at("arguments"), R"({"days": 2})");
  EXPECT_EQ(finish_, "tool_calls");
}

TEST_F(OpenAiTools, ChoicesHaveCallsOfTheirOwn) {
  open_chat(kTools + R"(, "n": 2)");
  send(last('x', kCall, FinishReason::kStop, 0));
  send(last('x', kCall, FinishReason::kStop, 1));
  const json::object found = body();
  const json::array& choices = found.at("choices").as_array();
  const auto id = [&](std::size_t i) { return choices.at(i).at("message").at("tool_calls").at(0).at("id"); };
  EXPECT_NE(id(0), id(1));
}

TEST_F(OpenAiTools, TheModelsOwnIdIsKept) {
  words_.set_tool_format("mistral");
  open_chat(kTools);
  send_text("[TOOL_CALLS]time[CALL_ID]abcdefgh1[ARGS]{}");
  EXPECT_EQ(message().at("tool_calls").at(0).at("id"), "abcdefgh1");
}

TEST_F(OpenAiTools, CallsCountInWhatIsHeld) {
  open_chat(kTools);
  send_text("<tool_call>{\"name\": \"time\", \"arguments\": {\"a\": \"" + std::string(1000, 'x'),
            FinishReason::kLength);
  EXPECT_GT(response_->held_bytes(), 1000U);
}

TEST_F(OpenAiTools, ASchemaIsNamedByItsPlaceInWhatIsHeld) {
  open_chat(kTools + R"(, "tool_choice": "required")");
  ASSERT_FALSE(words_.compiled.rules.empty());
  EXPECT_EQ(words_.compiled.rules[0].origin, "tools[0].function.parameters");
}

}  // namespace
}  // namespace octavo
