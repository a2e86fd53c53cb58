// Histories as agents send them: no part of one ends its conversation, by whichever API it comes. Only what the user
// gives in the newest message is refused for its kind.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include <boost/json.hpp>
#include <list>
#include <string>
#include <vector>

#include "api/call/history_parts.h"
#include "api/fake_text.h"
#include "api/messages/messages_request.h"
#include "api/ollama/ollama_request.h"
#include "api/openai/openai_chat.h"
#include "api/openai_response.h"
#include "api/prepare/prepare.h"
#include "api/responses/responses_request.h"
#include "api/shown_request.h"

namespace octavo {
namespace {

using test::FakeText;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

/// Reads bodies of the four APIs up to the prompt.
class History : public ::testing::Test {
 protected:
  using Read = ApiResult<ApiRequest> (History::*)(const std::string&);

  ApiContext context() { return {.words = words_, .model = kAnsweringModel, .responses = &own_}; }
  ApiResult<ApiRequest> messages(const std::string& said) {
    return read_messages(body(R"({"max_tokens": 9, "messages": [)" + said + "]}"), context());
  }
  ApiResult<ApiRequest> chat(const std::string& said) {
    return read_openai_chat(body(R"({"messages": [)" + said + "]}"), context());
  }
  ApiResult<ApiRequest> ollama(const std::string& said) {
    return read_ollama_chat(body(R"({"messages": [)" + said + "]}"), context());
  }
  ApiResult<ApiRequest> responses(const std::string& said) {
    return read_counted_response(body(R"({"input": [)" + said + "]}"), context());
  }
  ApiResult<ApiRequest> response(const std::string& fields) {
    return read_counted_response(body("{" + fields + "}"), context());
  }

  /// The messages of the chat, or the error.
  static json::value shown_messages(ApiResult<ApiRequest> read) {
    EXPECT_TRUE(read.has_value()) << read.error().message;
    return read ? shown(conversation_of(*read)).at("messages") : json::value();
  }
  /// All that the model is told, with what it is told about it beside.
  static std::string text_of(ApiResult<ApiRequest> read) { return json::serialize(shown_messages(std::move(read))); }

  static constexpr Read kReaders[] = {&History::messages, &History::chat, &History::ollama, &History::responses};

  const json::object& body(const std::string& text) { return bodies_.emplace_back(json::parse(text).as_object()); }

  FakeText words_;
  ResponseStore store_{{}};
  OwnResponses own_{.store = &store_, .owner = "one"};
  std::list<json::object> bodies_ = {};
};

const std::string kAnswer = R"({"role": "assistant", "content": "ok"}, {"role": "user", "content": "go on"})";

std::string user_of(const std::string& part) { return R"({"role": "user", "content": [)" + part + "]}"; }

/// A part that a model that reads text cannot see, and the words for it.
struct Unseen {
  std::string part;
  std::string what;
  std::string member = "type";  // of the part, which an error names
};

const std::vector<Unseen> kUnseen = {
    {R"({"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "iVBO"}})", "an image",
     "image"},
    {R"({"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBO"}})", "an image"},
    {R"({"type": "input_image", "image_url": "http://localhost/a.png", "detail": "auto"})", "an image"},
    {R"({"type": "input_audio", "input_audio": {"data": "iVBO", "format": "wav"}})", "a recording"},
    {R"({"type": "video_url", "video_url": {"url": "http://localhost/a.mp4"}})", "a video"},
    {R"({"type": "document", "source": {"type": "base64", "media_type": "application/pdf", "data": "iVBO"}})",
     "a document", "document"},
    {R"({"type": "document", "title": "Plan", "source": {"type": "file", "file_id": "f"}})", "a document", "document"},
    {R"({"type": "file", "file": {"filename": "a.pdf", "file_data": "data:application/pdf;base64,iVBO"}})", "a file"},
    {R"({"type": "input_file", "file_id": "f"})", "a file"},
    {R"({"type": "container_upload", "file_id": "f"})", "a file"}};

TEST_F(History, WhatTheModelCannotSeeIsANoteInEachApi) {
  for (const Unseen& unseen : kUnseen) {
    const std::string said = user_of(unseen.part) + ", " + kAnswer;
    for (const Read read : kReaders) {
      const ApiResult<ApiRequest> request = (this->*read)(said);
      ASSERT_TRUE(request.has_value()) << unseen.part << ": " << request.error().message;
      EXPECT_THAT(request->warnings, IsEmpty());
      EXPECT_THAT(text_of(request), HasSubstr("[" + unseen.what + " that this model cannot see")) << unseen.part;
    }
  }
}

TEST_F(History, WhatTheUserGivesInTheNewestMessageIsRefusedByItsKind) {
  for (const Unseen& unseen : kUnseen) {
    const std::string said = kAnswer + ", " + kAnswer + ", " + user_of(unseen.part);
    for (const Read read : kReaders) {
      const ApiResult<ApiRequest> request = (this->*read)(said);
      ASSERT_FALSE(request.has_value()) << unseen.part;
      EXPECT_EQ(request.error().status, 400);
      EXPECT_THAT(request.error().param, HasSubstr("[4].content[0]." + unseen.member)) << unseen.part;
      EXPECT_THAT(request.error().message, AllOf(HasSubstr(unseen.what), HasSubstr("this server reads text only")));
    }
  }
  EXPECT_THAT(chat(user_of(R"({"type": "hologram"})")).error().message, HasSubstr("found the string \"hologram\""));
  EXPECT_FALSE(messages(user_of(kUnseen[0].part) + R"(, {"role": "system", "content": "behind it"})").has_value());
}

TEST_F(History, APictureThatATaskGaveUpOnDoesNotEndTheConversation) {
  EXPECT_TRUE(messages(user_of(kUnseen[0].part) + R"(, {"role": "user", "content": "never mind"})").has_value());
}

TEST_F(History, AnUnknownKindIsANoteAndOneWarning) {
  const std::string part = R"({"type": "hologram", "data": "x"})";
  const std::string said = user_of(part + ", " + part) + ", " + kAnswer;
  for (const Read read : kReaders) {
    const ApiResult<ApiRequest> request = (this->*read)(said);
    ASSERT_TRUE(request.has_value()) << request.error().message;
    EXPECT_THAT(request->warnings, ElementsAre(AllOf(HasSubstr("[0].content[0].type: found the string \"hologram\""),
                                                     HasSubstr("there are 2 such parts"))));
    EXPECT_THAT(text_of(request), AllOf(HasSubstr("[something that this model cannot see]"), Not(HasSubstr("holo"))));
  }
}

TEST_F(History, ABlockOfMessagesHasATypeWhereverItStandsAlsoWhereTokensAreCounted) {
  const std::string block = R"({"text": "x"})";
  const auto counted = [this](const std::string& said) {
    return read_counted_messages(body(R"({"messages": [)" + said + "]}"), context());
  };
  const std::string result = R"({"type": "tool_result", "tool_use_id": "t", "content": [)" + block + "]}";
  for (const std::string& said : {user_of(block), user_of(block) + ", " + kAnswer, user_of(result)})
    for (const ApiResult<ApiRequest>& request : {messages(said), counted(said)}) {
      ASSERT_FALSE(request.has_value()) << said;
      EXPECT_EQ(request.error().status, 400);
      EXPECT_THAT(request.error().message, HasSubstr(".type: found none, expected "));
    }
}

TEST_F(History, ADocumentOfTextIsItsTextEvenInTheNewestMessage) {
  for (const std::string document :
       {R"({"type": "document", "title": "T", "source": {"type": "text", "media_type": "text/plain", "data": "word"}})",
        R"({"type": "document", "source": {"type": "content", "content": [{"type": "text", "text": "word"}]}})",
        R"({"type": "document", "source": {"type": "content", "content": "word"}})",
        R"({"type": "document", "source": {"type": "base64", "media_type": "text/plain", "data": "d29yZA=="}})",
        R"({"type": "file", "file": {"filename": "T", "file_data": "data:text/markdown;base64,d29yZA=="}})",
        R"({"type": "input_file", "filename": "T", "file_data": "data:application/json;base64,d29yZA=="})"})
    for (const Read read : kReaders)
      EXPECT_THAT(text_of((this->*read)(user_of(document))), HasSubstr("word")) << document;
}

/// A call of Anthropic's and its result.
std::string used(const std::string& result, const std::string& beside = "") {
  return R"({"role": "user", "content": "go"}, {"role": "assistant", "content": [
      {"type": "tool_use", "id": "t", "name": "Read", "input": {}}]}, {"role": "user", "content": [
      {"type": "tool_result", "tool_use_id": "t", "content": )" +
         result + "}" + beside + "]}";
}

TEST_F(History, AToolsResultMayHaveWhatTheModelCannotSeeAndSoMayItsNeighbours) {
  for (const Unseen& unseen : kUnseen) {
    EXPECT_THAT(text_of(messages(used("[" + unseen.part + "]"))), HasSubstr(unseen.what));
    EXPECT_THAT(text_of(messages(used("\"read\"", ", " + unseen.part))), HasSubstr(unseen.what));
    const std::string call = R"({"type": "function_call", "call_id": "c", "name": "f", "arguments": "{}"}, )";
    for (const std::string type : {"function", "custom_tool"})
      EXPECT_THAT(text_of(responses(call + R"({"type": ")" + type + R"(_call_output", "call_id": "c", "output": [)" +
                                    unseen.part + "]}")),
                  HasSubstr(unseen.what));
    EXPECT_THAT(text_of(chat(R"({"role": "tool", "tool_call_id": "c", "content": [)" + unseen.part + "]}")),
                HasSubstr(unseen.what));
    // Clients whose API has no room for a picture in a tool's message send it in a user's.
    EXPECT_THAT(text_of(chat(R"({"role": "tool", "tool_call_id": "c", "content": "see"}, )" + user_of(unseen.part))),
                HasSubstr(unseen.what));
  }
}

TEST_F(History, ADeferredToolIsShownOnceAReferenceNamesIt) {
  const std::string tools = R"(], "tools": [{"name": "Read", "input_schema": {"type": "object"}},
      {"type": "tool_search_tool_regex_20251119", "name": "tool_search_tool_regex"},
      {"name": "mcp__list", "input_schema": {"type": "object"}, "defer_loading": true},
      {"name": "placeholder", "input_schema": {"type": "object"}, "defer_loading": true}], "x": [1)";
  const auto names = [&](const std::string& said, const std::string& more = "") {
    auto request = messages(said + tools + "]" + more + R"(, "y": [1)");
    EXPECT_TRUE(request.has_value()) << request.error().message;
    std::vector<std::string> found;
    for (const AskedTool& tool : request->tools.tools) found.push_back(tool.name);
    return found;
  };
  EXPECT_THAT(names(R"({"role": "user", "content": "go"})"), ElementsAre("Read"));
  const std::string named = used(R"([{"type": "tool_reference", "tool_name": "mcp__list"}])");
  EXPECT_THAT(names(named), ElementsAre("Read", "mcp__list"));
  EXPECT_THAT(names(named + ", " + kAnswer), ElementsAre("Read", "mcp__list"));
  EXPECT_EQ(
      shown_messages(messages(named + tools)).at(2),
      json::parse(R"({"role": "tool", "tool_call_id": "t", "content": [{"type": "text", "text": "mcp__list"}]})"));
  EXPECT_THAT(names(R"({"role": "user", "content": "go"}, {"role": "assistant", "content": [
      {"type": "server_tool_use", "id": "s", "name": "tool_search_tool_regex", "input": {"query": "list"}},
      {"type": "tool_search_tool_result", "tool_use_id": "s", "content": {"type": "tool_search_tool_search_result",
        "tool_references": [{"type": "tool_reference", "tool_name": "mcp__list"}]}}]}, {"role": "user", "content": "x"})"),
              ElementsAre("Read", "mcp__list"));
  EXPECT_THAT(
      names(R"({"role": "user", "content": "go"})", R"(, "tool_choice": {"type": "tool", "name": "mcp__list"})"),
      ElementsAre("Read", "mcp__list"));
}

TEST_F(History, WhatAnthropicsServersRanIsToldAsText) {
  const std::string said = R"({"role": "user", "content": "go"}, {"role": "assistant", "content": [
      {"type": "thinking", "signature": "x"},
      {"type": "server_tool_use", "id": "s", "name": "web_search", "input": {"query": "red"}},
      {"type": "web_search_tool_result", "tool_use_id": "s", "content": [
        {"type": "web_search_result", "title": "Red", "url": "http://localhost", "encrypted_content": "hidden"}]},
      {"type": "mcp_tool_use", "id": "m", "name": "echo", "server_name": "e", "input": {"a": 1}},
      {"type": "mcp_tool_result", "tool_use_id": "m", "is_error": false, "content": [{"type": "text", "text": "echoed"}]},
      {"type": "code_execution_tool_result", "tool_use_id": "c", "content": {"type": "code_execution_result",
        "stdout": "out", "stderr": "", "return_code": 0, "content": []}},
      {"type": "web_search_tool_result", "tool_use_id": "s", "content": []},
      {"type": "search_result", "source": "http://localhost/b", "title": "B", "content": [{"type": "text", "text": "b"}]},
      {"type": "compaction", "content": "what was said"}, {"type": "redacted_thinking", "data": "?"}]},
      {"role": "user", "content": "go on"})";
  EXPECT_EQ(shown_messages(messages(said)).at(1).at("content"), json::parse(R"([
      {"type": "text", "text": "[a call of web_search that another server ran: {\"query\":\"red\"}]"},
      {"type": "text", "text": "Red\nhttp://localhost"},
      {"type": "text", "text": "[a call of echo that another server ran: {\"a\":1}]"},
      {"type": "text", "text": "echoed"},
      {"type": "text", "text": "out"},
      {"type": "text", "text": "[the results of a search of the web that this model cannot see]"},
      {"type": "text", "text": "B\nhttp://localhost/b\nb"},
      {"type": "text", "text": "what was said"}])"));
}

TEST_F(History, ItemsOfOtherKindsAreCallsOutputsOrNotes) {
  const json::value said = shown_messages(responses(R"({"role": "user", "content": "go"},
      {"type": "local_shell_call", "id": "l", "call_id": "c", "status": "completed",
       "action": {"type": "exec", "command": ["ls"]}},
      {"type": "local_shell_call_output", "id": "o", "call_id": "c", "output": "a.txt"},
      {"type": "computer_call", "id": "l2", "call_id": "c2", "action": {"type": "screenshot"}},
      {"type": "computer_call_output", "call_id": "c2", "output": {"type": "computer_screenshot", "image_url": "x"}},
      {"type": "shell_call_output", "call_id": "c3", "output": [{"stdout": "out", "stderr": "", "outcome": {}}]},
      {"type": "web_search_call", "id": "w", "status": "completed", "action": {"type": "search", "query": "red"}},
      {"type": "mcp_call", "id": "m", "name": "echo", "server_label": "e", "arguments": "{}", "output": "echoed"},
      {"type": "image_generation_call", "id": "i", "status": "completed", "result": "iVBO"},
      {"type": "compaction", "id": "k", "encrypted_content": "?"}, {"type": "mcp_list_tools", "id": "t", "tools": []},
      {"role": "user", "content": "go on"})"));
  EXPECT_EQ(said.at(1).at("tool_calls"), json::parse(R"([{"id": "c", "type": "function", "function": {
      "name": "local_shell", "arguments": "{\"type\":\"exec\",\"command\":[\"ls\"]}"}}])"));
  EXPECT_EQ(said.at(2), json::parse(R"({"role": "tool", "tool_call_id": "c", "content": "a.txt"})"));
  EXPECT_EQ(said.at(4).at("content"), "[an image that this model cannot see]");
  EXPECT_EQ(said.at(5).at("content"), "out");
  EXPECT_EQ(said.at(said.as_array().size() - 2).at("role"), "user");  // what was compacted
  const std::string text = json::serialize(said);
  for (const std::string_view note : {"[a search of the web that another server ran]", "[a tool echo that another",
                                      "echoed", "[an earlier part of the conversation that this model cannot see]"})
    EXPECT_THAT(text, HasSubstr(note));
  const auto unknown = responses(R"({"role": "user", "content": "go"}, {"type": "hologram_call"})");
  ASSERT_TRUE(unknown.has_value()) << unknown.error().message;
  EXPECT_THAT(unknown->warnings, ElementsAre(HasSubstr("input[1].type: found the string \"hologram_call\"")));
}

TEST_F(History, WhatAnotherAgentSaysIsAUsersText) {
  const auto request = responses(R"({"type": "agent_message", "id": "a", "author": "/main", "recipient": "/main/sub",
      "content": [{"type": "input_text", "text": "Task:"}, {"type": "encrypted_content", "encrypted_content": "Say hi"}]})");
  EXPECT_EQ(shown_messages(request).at(0),
            json::parse(R"({"role": "user", "content": [{"type": "text", "text": "Task:\nSay hi"}]})"));
  EXPECT_TRUE(request->warnings.empty());
}

const std::string kMoreTools = R"({"type": "additional_tools", "role": "developer", "tools": [
    {"type": "namespace", "name": "functions", "description": "local", "tools": [
      {"type": "custom", "name": "exec", "format": {"type": "text"}},
      {"type": "function", "name": "wait", "parameters": {"type": "object"}}]},
    {"type": "function", "name": "look"}]})";

TEST_F(History, ToolsOfAnItemAreToolsOfTheRequestHoweverOftenItComes) {
  const std::string input =
      R"("input": [)" + kMoreTools + R"(, {"role": "user", "content": "go"}, )" + kMoreTools + "]";
  const auto request =
      response(input + R"(, "tool_choice": "required", "tools": [{"type": "function", "name": "look"}])");
  ASSERT_TRUE(request.has_value()) << request.error().message;
  std::vector<std::string> names;
  for (const AskedTool& tool : request->tools.tools) names.push_back(tool.name);
  EXPECT_THAT(names, ElementsAre("look", "functions__exec", "functions__wait"));
  EXPECT_EQ(json_of(request->tools.tools[1].described).at("function").at("description"), "functions: local");
  EXPECT_EQ(request->tools.choice.mode, ToolChoice::Mode::kRequired);
  EXPECT_TRUE(request->tools.client_tools.at("functions__exec").is_custom);
  EXPECT_EQ(response(input)->tools.choice.mode, ToolChoice::Mode::kAuto);
  EXPECT_EQ(shown_messages(response(input)).as_array().size(), 1U);
  const auto chosen = response(input + R"(, "tool_choice": {"type": "custom", "name": "exec"})");
  EXPECT_EQ(chosen->tools.choice.only, "functions__exec");
}

TEST_F(History, AToolOfAnItemThatCannotBeReadIsLeftOutWithAWarning) {
  const auto request = response(R"("input": [{"type": "additional_tools", "tools": [{"type": "function", "name": "a b"},
      5, {"type": "function", "name": "look"}]}, {"role": "user", "content": "go"}])");
  ASSERT_TRUE(request.has_value()) << request.error().message;
  ASSERT_EQ(request->tools.tools.size(), 1U);
  EXPECT_THAT(request->warnings,
              ElementsAre(AllOf(HasSubstr("additional_tools.tools[0].name: found"), HasSubstr("left out: 2"))));
}

TEST_F(History, AResponseThatIsGoneOnWithKeepsItsTools) {
  words_.set_tool_format("hermes");
  const auto call = [&](const std::string& fields) { return parse_response_call(body("{" + fields + "}"), context()); };
  const auto first = call(R"("input": [)" + kMoreTools + R"(, {"role": "user", "content": "go"}])");
  ASSERT_TRUE(first.has_value()) << first.error().message;
  store_.put("one", {.id = first->response->id, .input = first->response->input});
  const auto next =
      call(R"("input": "go on", "tool_choice": "required", "previous_response_id": ")" + first->response->id + "\"");
  ASSERT_TRUE(next.has_value()) << next.error().message;
  EXPECT_TRUE(next->tools->tools.has("functions__exec"));
}

TEST_F(History, ToolsThatASearchHasFoundAreShown) {
  const auto request = response(R"("input": [{"role": "user", "content": "go"},
      {"type": "tool_search_call", "call_id": "c", "execution": "client", "arguments": {"query": "list"}},
      {"type": "tool_search_output", "call_id": "c", "execution": "client", "tools": [
        {"type": "function", "name": "list", "defer_loading": true, "parameters": {"type": "object"}}]}])");
  ASSERT_TRUE(request.has_value()) << request.error().message;
  ASSERT_EQ(request->tools.tools.size(), 1U);
  EXPECT_THAT(text_of(request), AllOf(HasSubstr(R"("tool_search")"), HasSubstr(R"("content":"list")")));
}

TEST_F(History, ArgumentsThatAreNoObjectAreText) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {R"("{\"city\": \"Par")", R"({"city": "Par)"}, {"[1, 2]", "[1,2]"}, {"\"\"", ""}, {"5", "5"}};
  for (const auto& [given, text] : cases) {
    const auto arguments_in = [](const json::value& said, std::size_t at) -> std::string {
      return json::value_to<std::string>(said.at(at).at("tool_calls").at(0).at("function").at("arguments"));
    };
    const std::string function = R"({"name": "f", "arguments": )" + given + "}";
    const std::string called = R"({"role": "assistant", "tool_calls": [{"id": "c", "function": )" + function + "}]}";
    EXPECT_EQ(arguments_in(shown_messages(chat(called)), 0), text);
    EXPECT_EQ(arguments_in(shown_messages(ollama(called)), 0), text);
    EXPECT_EQ(arguments_in(shown_messages(chat(R"({"role": "assistant", "function_call": )" + function + "}")), 0),
              text);
    EXPECT_EQ(arguments_in(shown_messages(messages(R"({"role": "assistant", "content": [
                  {"type": "tool_use", "id": "t", "name": "f", "input": )" +
                                                   given + "}]}")),
                           0),
              text);
    EXPECT_EQ(arguments_in(shown_messages(responses(R"({"type": "function_call", "call_id": "c", "name": "f",
                  "arguments": )" + given + "}")),
                           0),
              text);
  }
  EXPECT_TRUE(chat(R"({"role": "assistant", "tool_calls": [{"function": {"name": "f", "arguments": null}}]})"));
}

TEST_F(History, NoContentIsAnEmptyText) {
  for (const std::string content : {"", R"(, "content": null)", R"(, "content": [])", R"(, "content": "")"}) {
    for (const std::string role : {"tool", "assistant", "system", "user"}) {
      const std::string said = R"({"role": ")" + role + "\"" + content + "}, " + kAnswer;
      EXPECT_TRUE(chat(said).has_value()) << said;
      EXPECT_TRUE(ollama(said).has_value()) << said;
      if (role == "tool") continue;
      EXPECT_TRUE(messages(said).has_value()) << said;
      EXPECT_TRUE(responses(said).has_value()) << said;
    }
    EXPECT_EQ(text_of(messages(R"({"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t")" + content +
                               "}]}")),
              R"([{"role":"tool","tool_call_id":"t"}])");
  }
  EXPECT_EQ(text_of(responses(R"({"type": "function_call_output", "call_id": "c"})")),
            R"([{"role":"tool","tool_call_id":"c"}])");
  EXPECT_EQ(text_of(messages(R"({"role": "user", "content": [{"type": "text"}, null, "b"]}, )" + kAnswer)),
            R"([{"role":"user","content":[{"type":"text","text":""},{"type":"text","text":"b"}]},)" +
                text_of(messages(kAnswer)).substr(1));
}

TEST_F(History, ReasoningItemsInARowAreAllKept) {
  const auto thought = [](const std::string& text) {
    return R"({"type": "reasoning", "summary": [], "content": [{"type": "reasoning_text", "text": ")" + text +
           R"("}]}, )";
  };
  EXPECT_EQ(shown_messages(responses(R"({"role": "user", "content": "go"}, )" + thought("one") + thought("two") +
                                     R"({"role": "assistant", "content": "ok"})"))
                .at(1)
                .at("reasoning_content"),
            "one\n\ntwo");
}

TEST_F(History, AnAssistantsOtherFormsOfContentAreItsWords) {
  EXPECT_EQ(shown_messages(chat(R"({"role": "assistant", "content": null, "refusal": "no"})")).at(0).at("content"),
            "no");
  EXPECT_THAT(text_of(chat(R"({"role": "assistant", "audio": {"id": "a"}})")), HasSubstr("a recording"));
  EXPECT_EQ(shown_messages(chat(R"({"role": "assistant", "content": [{"type": "thinking", "thinking": [
                {"type": "text", "text": "hm"}]}, {"type": "text", "text": "ok"}]})"))
                .at(0),
            json::parse(R"({"role": "assistant", "content": [{"type": "text", "text": "ok"}],
                            "reasoning_content": "hm"})"));
}

TEST_F(History, CallsOfOtherTypesOrWithoutANameAndResultsOfNoCallAreTaken) {
  const json::value said = shown_messages(chat(R"({"role": "assistant", "tool_calls": [
      {"id": "a", "type": "builtin_function", "function": {"name": "search", "arguments": "{}"}},
      {"id": "b", "type": "", "function": {"name": "", "arguments": "{}"}}, {"id": "c", "type": "web_search", "q": "a"}]},
      {"role": "tool", "tool_call_id": "elsewhere", "content": {"found": 1}}, {"role": "tool", "content": "x"})"));
  EXPECT_EQ(said.at(0).at("tool_calls").at(0).at("function").at("name"), "search");
  EXPECT_EQ(said.at(0).at("tool_calls").at(1).at("function").at("name"), json::value(kUnknownTool));
  EXPECT_EQ(said.at(0).at("tool_calls").at(2).at("function"), json::parse(R"({"name": "web_search",
      "arguments": "{\"id\":\"c\",\"type\":\"web_search\",\"q\":\"a\"}"})"));
  EXPECT_EQ(said.at(1).at("content"), R"({"found":1})");
  EXPECT_TRUE(messages(R"({"role": "user", "content": [{"type": "tool_result", "content": "x"}]})").has_value());
}

TEST_F(History, ImagesBesideAnEarlierTextOfOllamasAreANote) {
  EXPECT_EQ(shown_messages(ollama(R"({"role": "user", "content": "see", "images": ["a", "b"]}, )" + kAnswer))
                .at(0)
                .at("content"),
            json::parse(R"([{"type": "text", "text": "see"},
                            {"type": "text", "text": "[2 images that this model cannot see]"}])"));
  EXPECT_TRUE(ollama(R"({"role": "tool", "content": "see", "images": ["a"]})").has_value());
  const auto newest = ollama(R"({"role": "user", "content": "see", "images": ["a"]})");
  ASSERT_FALSE(newest.has_value());
  EXPECT_EQ(newest.error().param, "messages[0].images");
}

TEST_F(History, PartsWithinPartsAreToldToABoundedDepth) {
  std::string part = R"({"type": "text", "text": "deep"})";
  for (int i = 0; i < 7; ++i)
    part = R"({"type": "document", "source": {"type": "content", "content": [)" + part + "]}}";
  EXPECT_THAT(text_of(messages(used("[" + part + "]"))),
              AllOf(HasSubstr("[something that this model cannot see]"), Not(HasSubstr("deep"))));
}

}  // namespace
}  // namespace octavo
