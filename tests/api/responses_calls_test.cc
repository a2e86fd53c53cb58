// What answers of OpenAI's Responses API have beside texts and functions: custom tools, namespaces, log-probabilities.
#include <gmock/gmock.h>

#include <map>
#include <utility>

#include "api/api_named.h"
#include "api/openai_response.h"
#include "api/responses/responses_request.h"
#include "api/shown_request.h"

namespace octavo {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StartsWith;

const std::string kTools = R"(, "tools": [{"type": "custom", "name": "patch", "format": {"type": "text"}},
    {"type": "namespace", "name": "files", "description": "About files.", "tools": [
      {"type": "function", "name": "read", "description": "Reads one.", "parameters": {"type": "object"}},
      {"type": "custom", "name": "write"}]},
    {"type": "function", "name": "read", "parameters": {"type": "object"}}, {"type": "web_search"}])";

json::object parsed(const std::string& text) { return json::parse(text).as_object(); }

/// A call in the form of Hermes.
std::string call_of(const std::string& name, const std::string& arguments) {
  return "<tool_call>\n{\"name\": \"" + name + R"(", "arguments": )" + arguments + "}\n</tool_call>\n";
}

class ResponsesCalls : public ::testing::Test {
 protected:
  void SetUp() override { words_.set_tool_format("hermes"); }

  void open(const std::string& fields, const std::string& input = "\"hi\"") {
    auto call =
        parse_call(api_named("responses"), parsed(R"({"max_output_tokens": 9, "input": )" + input + fields + "}"),
                   words_, kAnsweringModel, {.store = &store_, .owner = "one"});
    ASSERT_TRUE(call.has_value()) << call.error().message;
    call_ = std::move(*call);
    writer_ = new_writer(api_named("responses"), call_, words_);
  }
  ApiError error(const std::string& fields) {
    auto call = parse_call(api_named("responses"), parsed(R"({"input": "hi")" + fields + "}"), words_, kAnsweringModel,
                           {.store = &store_});
    EXPECT_FALSE(call.has_value()) << fields;
    return call ? ApiError{} : call.error();
  }
  ApiRequest request(const std::string& fields) {
    const OwnResponses own{.store = &store_};
    auto made = read_counted_response(parsed(R"({"input": "hi")" + fields + "}"),
                                      {.words = words_, .model = kAnsweringModel, .responses = &own});
    EXPECT_TRUE(made.has_value()) << made.error().message;
    return made ? std::move(*made) : ApiRequest{.prompt = Conversation()};
  }
  json::value shown_tools(const std::string& fields) {
    ApiRequest made = request(fields);
    return shown(conversation_of(made)).at("tools");
  }
  /// The data of the events that these events make.
  std::vector<json::object> send(const std::vector<RequestEvent>& events) {
    std::string bytes = call_.stream ? writer_->begin() : std::string();
    for (const RequestEvent& event : events) bytes += writer_->on_event(event);
    if (!call_.stream) return {parsed(writer_->finish())};
    bytes += writer_->finish();
    std::vector<json::object> data;
    for (std::size_t begin = bytes.find("data: "); begin != std::string::npos; begin = bytes.find("data: ", begin)) {
      begin += 6;
      data.push_back(parsed(bytes.substr(begin, bytes.find('\n', begin) - begin)));
    }
    return data;
  }
  static std::vector<RequestEvent> spelled(const std::string& text) {
    std::vector<RequestEvent> events;
    for (const char c : text) events.push_back(token(static_cast<unsigned char>(c), std::string(1, c)));
    events.push_back(last(FakeText::kEnd, "", FinishReason::kStop));
    return events;
  }

  FakeText words_;
  ResponseStore store_{{}};
  CompletionCall call_;
  std::unique_ptr<AnswerWriter> writer_;
};

TEST_F(ResponsesCalls, CustomToolsAndThoseOfNamespacesAreFunctionsOfTheChat) {
  const json::array shown = shown_tools(kTools).as_array();
  std::vector<std::string> names;
  for (const json::value& tool : shown) names.emplace_back(tool.at("function").at("name").as_string());
  EXPECT_THAT(names, ElementsAre("patch", "files__read", "files__write", "read"));
  EXPECT_EQ(shown[0].at("function").at("parameters").at("required"), json::parse(R"(["input"])"));
  EXPECT_EQ(shown[1].at("function").at("description"), "files: About files.\n\nReads one.");
  open(kTools);
  EXPECT_THAT(call_.warnings, ElementsAre(HasSubstr("tools[3]: a tool of type the string \"web_search\"")));
}

TEST_F(ResponsesCalls, ANameThatEndsInTheSeparatorIsNotSeparatedAgain) {
  const json::value tools = shown_tools(R"(, "tools": [{"type": "namespace", "name": "mcp__a__", "tools": [
      {"type": "function", "name": "b"}]}])");
  EXPECT_EQ(tools.at(0).at("function").at("name"), "mcp__a__b");
}

TEST_F(ResponsesCalls, AChoiceNamesToolsAsTheClientKnowsThem) {
  const auto chosen = [&](const std::string& choice) {
    return request(kTools + R"(, "tool_choice": )" + choice).tools;
  };
  EXPECT_EQ(chosen(R"({"type": "custom", "name": "write"})").choice.only, "files__write");
  EXPECT_EQ(chosen(R"({"type": "function", "name": "read"})").choice.only, "read");
  EXPECT_EQ(chosen(R"({"type": "custom", "name": "patch"})").choice.only, "patch");
  const auto allowed = [&](const std::string& name) {
    std::vector<std::string> names;
    const AskedTools left =
        chosen(R"({"type": "allowed_tools", "mode": "auto", "tools": [{"name": ")" + name + "\"}]}");
    for (const AskedTool& tool : left.tools) names.push_back(tool.name);
    return names;
  };
  EXPECT_THAT(allowed("write"), ElementsAre("files__write"));
  EXPECT_THAT(allowed("read"), ElementsAre("read"));
  EXPECT_THAT(allowed("files"), ElementsAre("files__read", "files__write"));
  EXPECT_THAT(allowed("patch"), ElementsAre("patch"));
}

TEST_F(ResponsesCalls, WrongToolsAreRefusedWithTheirPlace) {
  const std::map<std::string, std::string> params = {
      {R"({"type": "custom"})", "tools[0].name"},
      {R"({"type": "custom", "name": "a", "format": {"type": "grammar", "syntax": "x", "definition": "y"}})",
       "tools[0].format.syntax"},
      {R"({"type": "namespace", "tools": []})", "tools[0].name"},
      {R"({"type": "namespace", "name": "a"})", "tools[0].tools"},
      {R"({"type": "namespace", "name": "a", "tools": 5})", "tools[0].tools"},
      {R"({"type": "namespace", "name": "a", "tools": [{"type": "function"}]})", "tools[0].tools[0].name"},
      {R"({"type": "namespace", "name": "a b", "tools": [{"type": "function", "name": "c"}]})",
       "tools[0].tools[0].name"},
      {R"({"type": "custom", "name": "a"}, {"type": "function", "name": "a"})", "tools[1].name"},
      {R"({"type": "function", "name": "a__b"}, {"type": "namespace", "name": "a", "tools": [{"name": "b"}]})",
       "tools[1].tools[0].name"}};
  for (const auto& [tool, param] : params) EXPECT_EQ(error(R"(, "tools": [)" + tool + "]").param, param) << tool;
}

TEST_F(ResponsesCalls, ANamespaceInANamespaceIsLeftOut) {
  open(
      R"(, "tools": [{"type": "namespace", "name": "a", "tools": [{"type": "namespace", "name": "b", "tools": []}]}])");
  EXPECT_THAT(call_.warnings, ElementsAre(StartsWith("tools[0].tools[0]: a tool of type")));
}

TEST_F(ResponsesCalls, CallsComeBackAsTheClientKnowsTheTools) {
  open(kTools);
  const json::object response = send(spelled(call_of("patch", R"({"input": "+a\n"})") + call_of("files__read", "{}") +
                                             call_of("files__write", R"({"input": "b"})") + call_of("read", "{}")))[0];
  const json::array& output = response.at("output").as_array();
  ASSERT_EQ(output.size(), 4U);
  EXPECT_THAT(std::string(output[0].at("id").as_string()), StartsWith("ctc_"));
  EXPECT_EQ(output[0].at("type"), "custom_tool_call");
  EXPECT_EQ(output[0].at("name"), "patch");
  EXPECT_EQ(output[0].at("input"), "+a\n");
  EXPECT_FALSE(output[0].as_object().contains("namespace"));
  EXPECT_EQ(output[1].at("type"), "function_call");
  EXPECT_EQ(output[1].at("name"), "read");
  EXPECT_EQ(output[1].at("namespace"), "files");
  EXPECT_EQ(output[2].at("type"), "custom_tool_call");
  EXPECT_EQ(output[2].at("name"), "write");
  EXPECT_EQ(output[2].at("namespace"), "files");
  EXPECT_EQ(output[3].at("name"), "read");
  EXPECT_FALSE(output[3].as_object().contains("namespace"));
}

TEST_F(ResponsesCalls, AStreamHasTheInputOfACustomToolInPieces) {
  open(kTools + R"(, "stream": true)");
  std::string input;
  std::vector<std::string> names;
  for (const json::object& data : send(spelled(call_of("patch", R"({"input": "+a\n"})")))) {
    const std::string name(data.at("type").as_string());
    if (name == "response.custom_tool_call_input.delta") {
      input += data.at("delta").as_string();
      continue;
    }
    names.push_back(name.substr(9));
    if (name == "response.output_item.added") {
      EXPECT_EQ(data.at("item").at("input"), "");
    }
    if (name == "response.custom_tool_call_input.done") {
      EXPECT_EQ(data.at("input"), "+a\n");
    }
    if (name == "response.output_item.done") {
      EXPECT_EQ(data.at("item").at("input"), "+a\n");
    }
  }
  EXPECT_EQ(input, "+a\n");
  EXPECT_THAT(names, ElementsAre("created", "in_progress", "output_item.added", "custom_tool_call_input.done",
                                 "output_item.done", "completed"));
}

TEST_F(ResponsesCalls, EarlierCallsAndTheirOutputsAreReadBack) {
  open(kTools, R"([{"role": "user", "content": "hi"},
      {"type": "custom_tool_call", "call_id": "c1", "name": "patch", "input": "\"a\""},
      {"type": "custom_tool_call_output", "call_id": "c1", "output": "done"},
      {"type": "function_call", "call_id": "c2", "namespace": "files", "name": "read", "arguments": "{}"},
      {"type": "function_call_output", "call_id": "c2", "output": [{"type": "input_text", "text": "it"}]}])");
  ASSERT_EQ(words_.last_messages.size(), 5U);
  const ToolCall& first = words_.last_messages[1].tool_calls.at(0);
  EXPECT_EQ(first.name, "patch");
  EXPECT_EQ(std::get<std::string>(first.arguments), R"({"input": "\"a\""})");
  EXPECT_EQ(words_.last_messages[2].role, "tool");
  EXPECT_EQ(words_.last_messages[2].tool_call_id, "c1");
  EXPECT_EQ(words_.last_messages[3].tool_calls.at(0).name, "files__read");
  EXPECT_EQ(error(R"(, "input": [{"type": "custom_tool_call", "call_id": "c", "name": "a", "input": 5}])").param,
            "input[0].input");
}

TEST_F(ResponsesCalls, WhatIsKeptHasItsNamespace) {
  open(kTools);
  send(spelled(call_of("files__write", R"({"input": "b"})")));
  open(kTools + R"(, "previous_response_id": ")" + call_.response->id + "\"", R"([{"type": "custom_tool_call_output",
      "call_id": "c", "output": "done"}])");
  ASSERT_EQ(words_.last_messages.size(), 3U);
  EXPECT_EQ(words_.last_messages[1].tool_calls.at(0).name, "files__write");
}

json::array logprobs_of(const json::object& response, std::size_t item) {
  return response.at("output").at(item).at("content").at(0).at("logprobs").as_array();
}

std::string spelled_by(const json::array& logprobs) {
  std::string text;
  for (const json::value& token : logprobs) text += token.at("token").as_string();
  return text;
}

const std::string kInclude = R"(, "include": ["message.output_text.logprobs"])";

TEST_F(ResponsesCalls, LogprobsAreThoseOfTheTextsTokens) {
  open(kInclude + R"(, "top_logprobs": 2)");
  EXPECT_EQ(call_.requests[0].top_logprobs, 2);
  RequestEvent event = token(FakeText::kHello, "Hello");
  event.top_logprobs = {{.token = FakeText::kHello, .logprob = -0.5F}, {.token = 'x', .logprob = -2}};
  const json::object response = send({event, last(FakeText::kEnd, "", FinishReason::kStop)})[0];
  EXPECT_EQ(response.at("top_logprobs"), 2);
  EXPECT_EQ(json::serialize(logprobs_of(response, 0)),
            R"([{"token":"Hello","logprob":-5E-1,"bytes":[72,101,108,108,111],"top_logprobs":[)"
            R"({"token":"Hello","logprob":-5E-1,"bytes":[72,101,108,108,111]},)"
            R"({"token":"x","logprob":-2,"bytes":[120]}]}])");
}

TEST_F(ResponsesCalls, ANumberOfAlternativesAsksForLogprobsToo) {
  open(R"(, "top_logprobs": 1)");
  EXPECT_EQ(call_.num_logprobs, 1);
  open(kInclude);
  EXPECT_EQ(call_.num_logprobs, 0);
  open("");
  EXPECT_EQ(call_.num_logprobs, -1);
  EXPECT_EQ(error(R"(, "top_logprobs": 21)").param, "top_logprobs");
  EXPECT_EQ(error(R"(, "include": 5)").param, "include");
}

TEST_F(ResponsesCalls, LogprobsOfReasoningAndCallsAreNotTold) {
  open(kTools + kInclude);
  call_.reasoning.is_shown = true;
  RequestEvent thought = reasoning('t', "t");
  thought.is_reasoning = true;
  std::vector<RequestEvent> events = {thought};
  for (RequestEvent& event : spelled("<b>\n" + call_of("read", "{}"))) events.push_back(std::move(event));
  const json::object response = send(events)[0];
  ASSERT_EQ(response.at("output").as_array().size(), 3U);
  EXPECT_EQ(spelled_by(logprobs_of(response, 1)), "<b>");
}

TEST_F(ResponsesCalls, AStreamsDeltasHaveTheLogprobsOfTheirTokens) {
  open(kTools + kInclude + R"(, "stream": true)");
  std::string told;
  json::array done, whole;
  for (const json::object& data : send(spelled("a <tool> b"))) {
    if (data.at("type") == "response.output_text.delta") {
      const json::array tokens = data.at("logprobs").as_array();
      EXPECT_EQ(spelled_by(tokens), data.at("delta").as_string());
      told += spelled_by(tokens);
    }
    if (data.at("type") == "response.output_text.done") done = data.at("logprobs").as_array();
    if (data.at("type") == "response.completed") whole = logprobs_of(data.at("response").as_object(), 0);
  }
  EXPECT_EQ(told, "a <tool> b");
  EXPECT_EQ(spelled_by(done), told);
  EXPECT_EQ(whole, done);
}

TEST_F(ResponsesCalls, TokensWithoutTextAtTheEndAreToldWithTheText) {
  open(kInclude + R"(, "stream": true)");
  RequestEvent half = last(FakeText::kSmileBegin, "\xEF\xBF\xBD", FinishReason::kLength);
  half.text = "";
  half.bytes = "";
  std::size_t num_told = 0, num_done = 0;
  for (const json::object& data : send({token('a', "a"), half})) {
    if (data.at("type") == "response.output_text.delta") num_told += data.at("logprobs").as_array().size();
    if (data.at("type") == "response.output_text.done") num_done = data.at("logprobs").as_array().size();
  }
  EXPECT_EQ(num_told, 2U);
  EXPECT_EQ(num_done, 2U);
}

TEST_F(ResponsesCalls, LogprobsCountInWhatIsHeld) {
  open("");
  writer_->on_event(token('a', "a"));
  const std::size_t without = writer_->held_bytes();
  open(kInclude);
  writer_->on_event(token('a', "a"));
  EXPECT_GT(writer_->held_bytes(), without + 30);
}

}  // namespace
}  // namespace octavo
