// Custom tools in chats: how they are shown to models as functions, and how their calls come back.
#include <gmock/gmock.h>

#include <map>

#include "api/answers/custom_input.h"
#include "api/call/custom_tools.h"
#include "api/call/tool_calling.h"
#include "api/openai_response.h"
#include "api/shown_request.h"

namespace octavo {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

const std::string kText = R"({"type": "custom", "custom": {"name": "patch", "description": "Changes files."}})";
const std::string kWord = R"({"type": "custom", "custom": {"name": "word", "format": {"type": "grammar", "grammar":
    {"syntax": "regex", "definition": "[a-z]+|"}}}})";
const std::string kLark = R"({"type": "custom", "custom": {"name": "sum", "format": {"type": "grammar", "grammar":
    {"syntax": "lark", "definition": "start: NUMBER"}}}})";
const std::string kFunction = R"({"type": "function", "function": {"name": "time"}})";

std::string tools(const std::string& list) { return R"(, "tools": [)" + list + "]"; }

class CustomTools : public OpenAiResponse {
 protected:
  void SetUp() override { words_.set_tool_format("hermes"); }

  ApiResult<CompletionCall> chat(const std::string& fields, const std::string& messages = "") {
    const std::string body = R"({"messages": [{"role": "user", "content": "hi"})" + messages + "]" + fields + "}";
    return compiled(parse_chat_completion(json::parse(body).as_object(), words_, kAnsweringModel), words_);
  }
  /// The tools as a template finds them.
  json::value functions(const std::string& list) {
    EXPECT_TRUE(chat(tools(list)).has_value());
    return json_of(words_.last_options.tools);
  }
};

TEST_F(CustomTools, AreFunctionsOfOneTextToTheModel) {
  EXPECT_EQ(functions(kFunction + "," + kText), json::parse("[" + kFunction + R"(,
      {"type": "function", "function": {"name": "patch", "description": "Changes files.", "parameters": {
        "type": "object", "properties": {"input": {"type": "string", "description": "The whole input of the tool."}},
        "required": ["input"], "additionalProperties": false}}}])"));
  const auto call = chat(tools(kFunction + "," + kText));
  ASSERT_TRUE(call.has_value()) << call.error().message;
  EXPECT_TRUE(call->tools->tools.has("patch"));
  EXPECT_THAT(call->warnings, IsEmpty());
  EXPECT_EQ(call->requests[0].constraint, nullptr);
  EXPECT_TRUE(words_.last_options.describe_tools);
}

TEST_F(CustomTools, ARegularExpressionIsEnforcedAndShown) {
  const json::value function = functions(kWord).at(0).at("function");
  EXPECT_EQ(function.at("strict"), true);
  EXPECT_EQ(function.at("parameters").at("properties").at("input").at("pattern"), "^(?:[a-z]+|)$");
  EXPECT_THAT(std::string(function.at("description").as_string()), HasSubstr("regular expression:\n[a-z]+|"));
  open_chat(tools(kWord));
  EXPECT_NE(call_.requests[0].constraint, nullptr);
  EXPECT_THAT(words_.compiled.schemas.at(words_.compiled.rules.at(0).schema), HasSubstr("^(?:[a-z]+|)$"));
  EXPECT_TRUE(words_.compiled.rules.at(0).is_strict);
}

TEST_F(CustomTools, AGrammarInLarkIsShownAndAWarningSaysThatItIsNotEnforced) {
  const auto call = chat(tools(kLark));
  ASSERT_TRUE(call.has_value()) << call.error().message;
  EXPECT_THAT(call->warnings, ElementsAre(HasSubstr("tools[0].custom.format: the grammar")));
  EXPECT_EQ(call->requests[0].constraint, nullptr);
  const json::value function = functions(kLark).at(0).at("function");
  EXPECT_THAT(std::string(function.at("description").as_string()), HasSubstr("start: NUMBER"));
}

TEST_F(CustomTools, OneMayHaveToBeCalled) {
  open_chat(tools(kFunction + "," + kText) + R"(, "tool_choice": {"type": "custom", "custom": {"name": "patch"}})");
  EXPECT_TRUE(call_.tools->is_single);
  EXPECT_THAT(words_.compiled.text, HasSubstr("patch"));
  EXPECT_THAT(words_.compiled.text, Not(HasSubstr("time")));
}

TEST_F(CustomTools, AnErrorInAGrammarIsNamedByWhereTheClientWroteIt) {
  const std::string must = R"(, "tool_choice": "required")";
  words_.compile_error = "tools[0].custom.format.grammar.definition: #/properties/input/pattern: found a group";
  const auto call = chat(tools(kWord) + must);
  ASSERT_FALSE(call.has_value());
  EXPECT_EQ(call.error().param, "tools[0].custom.format.grammar.definition");
  EXPECT_EQ(call.error().message, "tools[0].custom.format.grammar.definition: found a group");
}

TEST_F(CustomTools, AnErrorInASchemaIsNamedByWhereTheClientWroteIt) {
  const std::string must = R"(, "tool_choice": "required")";
  const std::string schema = "tools[0].function.parameters";
  const std::map<std::string, std::string> places = {{"#", ""},
                                                     {"#/properties/city/type", ".properties.city.type"},
                                                     {"#/anyOf/1/items/2/const", ".anyOf[1].items[2].const"},
                                                     {"#/$defs/a~1b~01/1/type", ".$defs.a/b~1.1.type"}};
  for (const auto& [pointer, place] : places) {
    words_.compile_error = schema + ": " + pointer + ": found nothing";
    const auto call =
        chat(tools(R"({"type": "function", "function": {"name": "time", "parameters": {"type": "object"}}})") + must);
    ASSERT_FALSE(call.has_value());
    EXPECT_EQ(call.error().param, schema + place);
    EXPECT_EQ(call.error().message, schema + place + ": found nothing");
  }
}

TEST_F(CustomTools, WrongOnesAreRefusedWithTheirPlace) {
  const std::map<std::string, std::string> params = {
      {R"({"type": "custom"})", "tools[0].custom"},
      {R"({"type": "custom", "function": {"name": "a"}})", "tools[0].type"},
      {R"({"type": "custom", "custom": 5})", "tools[0].custom"},
      {R"({"type": "custom", "custom": {}})", "tools[0].custom.name"},
      {R"({"type": "custom", "custom": {"name": "a b"}})", "tools[0].custom.name"},
      {R"({"type": "custom", "custom": {"name": "a", "description": 5}})", "tools[0].custom.description"},
      {R"({"type": "custom", "custom": {"name": "a", "format": 5}})", "tools[0].custom.format"},
      {R"({"type": "custom", "custom": {"name": "a", "format": {"type": "xml"}}})", "tools[0].custom.format.type"},
      {R"({"type": "custom", "custom": {"name": "a", "format": {"type": "grammar"}}})",
       "tools[0].custom.format.syntax"},
      {R"({"type": "custom", "custom": {"name": "a", "format": {"type": "grammar", "grammar": {"syntax": "gbnf",
        "definition": "x"}}}})",
       "tools[0].custom.format.grammar.syntax"},
      {kText + "," + kText, "tools"},
      {R"({"type": "function", "function": {"name": "patch"}},)" + kText, "tools"}};
  for (const auto& [list, param] : params) {
    const auto call = chat(tools(list));
    ASSERT_FALSE(call.has_value()) << list;
    EXPECT_EQ(call.error().param, param) << list << call.error().message;
  }
  const auto call = chat(tools(kText) + R"(, "tool_choice": {"type": "custom"})");
  ASSERT_FALSE(call.has_value());
  EXPECT_EQ(call.error().param, "tool_choice.custom");
}

TEST_F(CustomTools, EarlierCallsAreShownAsCallsOfTheFunction) {
  const auto ask = [&](const std::string& call) {
    return chat(tools(kText), R"(, {"role": "assistant", "tool_calls": [)" + call +
                                  R"(]}, {"role": "tool", "tool_call_id": "c1", "content": "done"})");
  };
  const auto call = ask(R"({"id": "c1", "type": "custom", "custom": {"name": "patch", "input": "a \"b\"\n"}})");
  ASSERT_TRUE(call.has_value()) << call.error().message;
  const ToolCall& shown = words_.last_messages.at(1).tool_calls.at(0);
  EXPECT_EQ(shown.id, "c1");
  EXPECT_EQ(shown.name, "patch");
  EXPECT_EQ(std::get<std::string>(shown.arguments), R"({"input": "a \"b\"\n"})");
  EXPECT_EQ(ask(R"({"id": "c1", "type": "custom"})").error().param, "messages[1].tool_calls[0].custom");
  EXPECT_EQ(ask(R"({"id": "c1", "type": "custom", "custom": {"name": "a", "input": 5}})").error().param,
            "messages[1].tool_calls[0].custom.input");
}

const std::string kCalls =
    "<tool_call>\n{\"name\": \"patch\", \"arguments\": {\"input\": \"+ \\\"a\\\"\\n\"}}\n</tool_call>\n"
    "<tool_call>\n{\"name\": \"time\", \"arguments\": {}}\n</tool_call>";

TEST_F(CustomTools, AMessageHasTheirInput) {
  open_chat(tools(kFunction + "," + kText));
  send(token('x', kCalls));
  send(last(FakeText::kEnd, "", FinishReason::kStop));
  const json::value calls = choice(body()).at("message").at("tool_calls");
  EXPECT_EQ(calls.at(0).at("type"), "custom");
  EXPECT_EQ(calls.at(0).at("custom"), json::parse(R"({"name": "patch", "input": "+ \"a\"\n"})"));
  EXPECT_EQ(calls.at(1).at("function"), json::parse(R"({"name": "time", "arguments": "{}"})"));
}

TEST_F(CustomTools, AStreamHasTheirInputInPieces) {
  open_chat(tools(kFunction + "," + kText) + R"(, "stream": true)");
  std::string input, arguments;
  json::array begun;
  for (const char c : kCalls) {
    for (const json::object& event : send(token(static_cast<unsigned char>(c), std::string(1, c)))) {
      const json::object delta = choice(event).at("delta").as_object();
      if (!delta.contains("tool_calls")) continue;
      for (const json::value& call : delta.at("tool_calls").as_array()) {
        if (call.as_object().contains("id")) begun.push_back(call);
        const bool is_custom = call.as_object().contains("custom");
        const json::value& part = call.at(is_custom ? "custom" : "function");
        (is_custom ? input : arguments) += part.at(is_custom ? "input" : "arguments").as_string();
      }
    }
  }
  ASSERT_EQ(begun.size(), 2U);
  EXPECT_EQ(begun[0].at("type"), "custom");
  EXPECT_EQ(begun[0].at("custom"), json::parse(R"({"name": "patch", "input": ""})"));
  EXPECT_EQ(begun[1].at("type"), "function");
  EXPECT_EQ(input, "+ \"a\"\n");
  EXPECT_EQ(arguments, "{}");
}

/// The input, with the arguments cut at each byte, where all cuts must give the same.
std::string input_of(const std::string& arguments) {
  CustomInput whole;
  std::string text = whole.push(arguments);
  text += whole.finish();
  for (std::size_t cut = 0; cut <= arguments.size(); ++cut) {
    CustomInput reader;
    std::string pieces = reader.push(std::string_view(arguments).substr(0, cut));
    pieces += reader.push(std::string_view(arguments).substr(cut));
    pieces += reader.finish();
    EXPECT_EQ(pieces, text) << arguments << " cut at " << cut;
  }
  return text;
}

TEST(CustomInput, IsTheTextOfTheString) {
  EXPECT_EQ(input_of(R"({"input": "a"})"), "a");
  EXPECT_EQ(input_of(R"({"input":""})"), "");
  EXPECT_EQ(input_of(" {\n \"input\" : \"a\\\\b\\\"c\\/\\n\\t\\u00e9\xC3\xA9\" } "), "a\\b\"c/\n\t\xC3\xA9\xC3\xA9");
  EXPECT_EQ(input_of(R"({"input": "\ud83d\ude00!"})"), "\xF0\x9F\x98\x80!");
  EXPECT_EQ(input_of(R"({"input": "a", "more": 1})"), "a");
}

TEST(CustomInput, HalfOfAPairIsAReplacementCharacter) {
  const std::string half = "\xEF\xBF\xBD";
  EXPECT_EQ(input_of(R"({"input": "\ud83dx"})"), half + "x");
  EXPECT_EQ(input_of(R"({"input": "\ud83d\n"})"), half + "\n");
  EXPECT_EQ(input_of(R"({"input": "\ud83d"})"), half);
  EXPECT_EQ(input_of(R"({"input": "\ude00"})"), half);
}

TEST(CustomInput, OfAnotherFormIsTheArgumentsAsTheyStand) {
  for (const std::string other : {R"({})", R"({"text": "a"})", R"({"inputs": "a"})", R"({"input": 5})", R"(["a"])",
                                  R"({"in put": "a"})", "{\"input\"", ""})
    EXPECT_EQ(input_of(other), other);
  const std::string far = "{" + std::string(100, ' ') + "\"input\": \"a\"}";
  EXPECT_EQ(input_of(far), far);
}

TEST(CustomInput, OfACutCallIsWhatWasWritten) {
  EXPECT_EQ(input_of(R"({"input": "ab)"), "ab");
  EXPECT_EQ(input_of("{\"input\": \"ab\\"), "ab");
  EXPECT_EQ(input_of(R"({"input": "ab\u00)"), "ab");
  EXPECT_EQ(input_of(R"({"input": "ab\ud83d\u)"), "ab\xEF\xBF\xBD");
  EXPECT_EQ(input_of(R"({"input": "ab\ud83d\ude0)"), "ab\xEF\xBF\xBD");
}

}  // namespace
}  // namespace octavo
