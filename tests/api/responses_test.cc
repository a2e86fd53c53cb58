// OpenAI's Responses API: what its bodies ask for, and how its answers are written and kept.
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
using ::testing::MatchesRegex;

json::object parsed(const std::string& text) { return json::parse(text).as_object(); }

class ResponsesRequest : public ::testing::Test {
 protected:
  ApiResult<CompletionCall> call(const std::string& fields) {
    const OwnResponses own{.store = &store_, .owner = "one"};
    return parse_response_call(parsed("{" + fields + "}"),
                               {.words = words_, .model = kAnsweringModel, .responses = &own});
  }
  /// The request, as far as its prompt goes.
  ApiResult<ApiRequest> read(const std::string& fields) {
    const OwnResponses own{.store = &store_, .owner = "one"};
    return read_counted_response(parsed("{" + fields + "}"),
                                 {.words = words_, .model = kAnsweringModel, .responses = &own});
  }
  json::object chat_of(const std::string& fields) {
    auto request = read(fields);
    EXPECT_TRUE(request.has_value()) << request.error().message;
    return request ? shown(conversation_of(*request)) : json::object();
  }
  json::value messages(const std::string& fields) { return chat_of(fields).at("messages"); }

  FakeText words_;
  ResponseStore store_{{}};
};

TEST_F(ResponsesRequest, ATextIsAUsersMessageBehindTheInstructions) {
  EXPECT_EQ(messages(R"("input": "hi", "instructions": "Be kind.")"),
            json::parse(R"([{"role": "system", "content": "Be kind."},
                            {"role": "user", "content": [{"type": "text", "text": "hi"}]}])"));
}

TEST_F(ResponsesRequest, ItemsBecomeMessagesWithOrWithoutAType) {
  EXPECT_EQ(messages(R"("input": [
      {"role": "user", "content": "hi"},
      {"type": "reasoning", "id": "rs_1", "summary": [], "content": [{"type": "reasoning_text", "text": "a greeting"}]},
      {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "Hello", "annotations": []}]},
      {"type": "function_call", "call_id": "c1", "name": "time", "arguments": "{}"},
      {"type": "function_call", "call_id": "c2", "name": "date", "arguments": "{\"a\": 1}"},
      {"type": "function_call_output", "call_id": "c1", "output": "noon"},
      {"type": "function_call_output", "call_id": "c2", "output": [{"type": "input_text", "text": "today"}]},
      {"role": "assistant", "content": [{"type": "refusal", "refusal": "no"}]}])"),
            json::parse(R"([
      {"role": "user", "content": [{"type": "text", "text": "hi"}]},
      {"role": "assistant", "reasoning_content": "a greeting", "content": [{"type": "text", "text": "Hello"}],
       "tool_calls": [{"id": "c1", "type": "function", "function": {"name": "time", "arguments": "{}"}},
                      {"id": "c2", "type": "function", "function": {"name": "date", "arguments": "{\"a\": 1}"}}]},
      {"role": "tool", "tool_call_id": "c1", "content": "noon"},
      {"role": "tool", "tool_call_id": "c2", "content": [{"type": "text", "text": "today"}]},
      {"role": "assistant", "content": [{"type": "text", "text": "no"}]}])"));
}

// The chat template's caps decide what becomes of them.
TEST_F(ResponsesRequest, SystemMessagesStayWhereTheyAreBehindTheInstructions) {
  const json::value found = messages(R"("instructions": "A", "input": [{"role": "developer", "content": "B"},
      {"role": "user", "content": "hi"}, {"role": "system", "content": "C"}])");
  ASSERT_EQ(found.as_array().size(), 4U);
  EXPECT_EQ(found.at(0), json::parse(R"({"role": "system", "content": "A"})"));
  EXPECT_EQ(found.at(1).at("role"), "system");
  EXPECT_EQ(found.at(3).at("role"), "system");
}

TEST_F(ResponsesRequest, ReasoningThatIsEncryptedIsLeftOutAndASummaryStandsForMissingContent) {
  EXPECT_EQ(messages(R"("input": [{"role": "user", "content": "hi"},
      {"type": "reasoning", "summary": [], "encrypted_content": "x", "content": null},
      {"role": "assistant", "content": "a"}, {"role": "user", "content": "b"},
      {"type": "reasoning", "summary": [{"type": "summary_text", "text": "s"}]}, {"role": "assistant", "content": "c"}])"),
            json::parse(R"([{"role": "user", "content": [{"type": "text", "text": "hi"}]},
      {"role": "assistant", "content": [{"type": "text", "text": "a"}]},
      {"role": "user", "content": [{"type": "text", "text": "b"}]},
      {"role": "assistant", "reasoning_content": "s", "content": [{"type": "text", "text": "c"}]}])"));
}

TEST_F(ResponsesRequest, ToolsLieOneLevelDeeperAndOtherKindsAreLeftOutWithAWarning) {
  const std::string tool = R"({"type": "function", "name": "time", "parameters": {"type": "object"}, "strict": true})";
  const std::string fields = R"("input": "hi", "tools": [{"type": "web_search"}, )" + tool + R"(],
      "tool_choice": {"type": "function", "name": "time"})";
  EXPECT_EQ(chat_of(fields).at("tools"), json::parse(R"([{"type": "function", "function": {"name": "time",
      "parameters": {"type": "object"}, "strict": true}}])"));
  EXPECT_EQ(read(fields)->tools.choice.only, "time");
  EXPECT_THAT(read(fields)->warnings, ElementsAre(HasSubstr("tools[0]: a tool of type")));
  const auto allowed = read(R"("input": "hi", "tools": [)" + tool + R"(, {"type": "function", "name": "date"}],
      "tool_choice": {"type": "allowed_tools", "mode": "required", "tools": [{"type": "function", "name": "date"}]})");
  ASSERT_EQ(allowed->tools.tools.size(), 1U);
  EXPECT_EQ(allowed->tools.tools[0].name, "date");
  EXPECT_EQ(allowed->tools.choice.mode, ToolChoice::Mode::kRequired);
  EXPECT_EQ(allowed->tools.choice.only, "");
}

TEST_F(ResponsesRequest, TheRestIsRead) {
  const auto read_call = call(R"("input": "hi", "max_output_tokens": 9, "temperature": 0.25, "stop": ["x"],
      "text": {"format": {"type": "json_schema", "name": "n", "strict": true, "schema": {"type": "object"}}})");
  ASSERT_TRUE(read_call.has_value()) << read_call.error().message;
  EXPECT_EQ(read_call->requests.at(0).max_tokens, 9);
  EXPECT_EQ(read_call->requests.at(0).sampling.temperature, 0.25F);
  EXPECT_THAT(read_call->stop, ElementsAre("x"));
  EXPECT_TRUE(read_call->constraint->source.is_strict);
  EXPECT_EQ(read_call->constraint->source.text, R"({"type":"object"})");
  EXPECT_EQ(chat_of(R"("input": "hi", "reasoning": {"effort": "low", "summary": "auto"},
                       "chat_template_kwargs": {"a": 1})")
                .at("names"),
            json::parse(R"({"a": 1, "reasoning_effort": "low", "enable_thinking": true})"));
  EXPECT_EQ(chat_of(R"("input": "hi", "reasoning": {"effort": "none"})").at("names").at("enable_thinking"), false);
}

TEST_F(ResponsesRequest, SpeculationBoundsTheTokensThatAreGuessed) {
  const auto max_drafts = [this](const std::string& field) {
    return call(R"("input": "hi")" + field)->requests.at(0).max_drafts;
  };
  EXPECT_EQ(max_drafts(""), kMaxDraftTokens);
  EXPECT_EQ(max_drafts(R"(, "speculation": false)"), 0);
  EXPECT_EQ(max_drafts(R"(, "speculation": {"max": 3})"), 3);
}

TEST_F(ResponsesRequest, WhatIsWrongIsRefusedWithItsPlace) {
  const std::map<std::string, std::string> params = {
      {R"("model": "text")", "input"},
      {R"("input": 5)", "input"},
      {R"("input": [])", "input"},
      {R"("input": [5])", "input[0]"},
      {R"("input": [{"role": "tool", "content": "x"}])", "input[0].role"},
      {R"("input": [{"role": "user"}])", "input[0].content"},
      {R"("input": [{"role": "user", "content": [{"type": "input_image", "image_url": "x"}]}])",
       "input[0].content[0].type"},
      {R"("input": [{"role": "user", "content": [{"type": "input_text"}]}])", "input[0].content[0].text"},
      {R"("input": [{"type": "compaction_trigger"}])", "input"},
      {R"("input": [{"type": "function_call", "call_id": 5, "name": "x"}])", "input[0].call_id"},
      {R"("input": [{"type": "function_call_output", "call_id": "x", "output": [{"type": 5}]}])",
       "input[0].output[0].type"},
      {R"("input": [{"type": "item_reference", "id": "msg_1_0"}])", "input[0].id"},
      {R"("input": "x", "previous_response_id": "resp_1")", "previous_response_id"},
      {R"("input": "x", "background": true)", "background"},
      {R"("input": "x", "conversation": {"id": "y"})", "conversation"},
      {R"("input": "x", "include": 5)", "include"},
      {R"("input": "x", "metadata": {"a": 1})", "metadata"},
      {R"("input": "x", "text": {"format": {"type": "xml"}})", "text.format.type"},
      {R"("input": "x", "text": {"format": {"type": "json_schema"}})", "text.format.schema"},
      {R"("input": "x", "tools": [{"type": "function", "name": "a b"}])", "tools[0].name"},
      {R"("input": "x", "tools": [{"type": "function", "name": "a", "parameters": 5}])", "tools[0].parameters"},
      {R"("input": "x", "tool_choice": {"type": "web_search"})", "tool_choice.type"},
      {R"("input": "x", "reasoning": {"effort": 5})", "reasoning.effort"}};
  for (const auto& [fields, param] : params) {
    const auto chat = call(fields);
    ASSERT_FALSE(chat.has_value()) << fields;
    EXPECT_EQ(chat.error().param, param) << fields << chat.error().message;
    EXPECT_EQ(chat.error().status, chat.error().code == "response_not_found" ? 404 : 400);
  }
}

TEST_F(ResponsesRequest, AnErrorNamesTheFieldThatWasSent) {
  const auto error = [&](const std::string& fields) { return call(R"("input": "hi", )" + fields).error(); };
  EXPECT_EQ(error(R"("max_output_tokens": 0)").param, "max_output_tokens");
  EXPECT_THAT(error(R"("max_output_tokens": 0)").message, HasSubstr("max_output_tokens: found"));
  EXPECT_EQ(error(R"("temperature": "hot")").param, "temperature");
  EXPECT_EQ(error(R"("model": "another")").status, 404);
}

TEST_F(ResponsesRequest, AskingForShorterConversationsIsAWarning) {
  const auto made = call(R"("input": "hi", "context_management": [{"type": "compaction"}])");
  ASSERT_TRUE(made.has_value()) << made.error().message;
  EXPECT_THAT(made->warnings, ElementsAre(HasSubstr("context_management: it is ignored")));
}

TEST_F(ResponsesRequest, ALimitBeyondTheContextIsSaidByItsOwnName) {
  const auto limited = [&](const std::string& limit) {
    return call(R"("input": "hi", "max_output_tokens": )" + limit);
  };
  const auto cut = limited("1000");
  ASSERT_TRUE(cut.has_value()) << cut.error().message;
  EXPECT_THAT(cut->warnings, ElementsAre(HasSubstr("max_output_tokens: found 1000, cut to ")));
  EXPECT_EQ(limited("-1")->requests[0].max_tokens, 0);
}

/// An answer of reasoning, text and a call, however the events are cut.
class ResponsesAnswers : public ::testing::Test {
 protected:
  void open(const std::string& fields, const std::string& input = "\"hi\"") {
    words_.set_tool_format("hermes");
    auto call = parse_call(api_named("responses"),
                           parsed(R"({"max_output_tokens": 9, "tools": [{"type": "function", "name": "time",
                                      "parameters": {"type": "object"}}], "input": )" +
                                  input + fields + "}"),
                           words_, kAnsweringModel, {.store = &store_, .owner = "one"});
    ASSERT_TRUE(call.has_value()) << call.error().message;
    call_ = std::move(*call);
    call_.reasoning.is_shown = true;
    writer_ = new_writer(api_named("responses"), call_, words_);
  }
  std::string send() {
    std::string out = call_.stream ? writer_->begin() : std::string();
    for (const RequestEvent& event : thought_text_and_call()) out += writer_->on_event(event);
    return out;
  }
  ResponseStore::Response kept() { return store_.find("one", call_.response->id); }

  FakeText words_;
  ResponseStore store_{{.max_request_bytes = std::uint64_t{8} << 20}};
  CompletionCall call_;
  std::unique_ptr<AnswerWriter> writer_;
};

TEST_F(ResponsesAnswers, AWholeOneIsAResponseOfItems) {
  open(R"(, "instructions": "Be kind.", "metadata": {"a": "b"}, "temperature": 0.5)");
  EXPECT_EQ(send(), "");
  ASSERT_TRUE(writer_->done());
  const json::object response = parsed(writer_->finish());
  const std::string digits(std::string_view(call_.response->id).substr(5));
  EXPECT_THAT(call_.response->id, MatchesRegex("resp_[0-9a-f]{32}"));
  EXPECT_EQ(response.at("id").as_string(), call_.response->id);
  EXPECT_EQ(response.at("object"), "response");
  EXPECT_EQ(response.at("created_at"), 1);
  EXPECT_EQ(response.at("status"), "completed");
  EXPECT_EQ(response.at("error"), nullptr);
  EXPECT_EQ(response.at("instructions"), "Be kind.");
  EXPECT_EQ(response.at("metadata"), parsed(R"({"a": "b"})"));
  EXPECT_EQ(response.at("temperature"), 0.5);
  EXPECT_EQ(response.at("store"), true);
  EXPECT_EQ(response.at("tools").at(0).at("name"), "time");
  const json::array& output = response.at("output").as_array();
  ASSERT_EQ(output.size(), 3U);
  EXPECT_EQ(output[0], json::parse(R"({"id": "rs_)" + digits + R"(_0", "status": "completed", "type": "reasoning",
      "summary": [], "encrypted_content": null, "content": [{"type": "reasoning_text", "text": "I think"}]})"));
  EXPECT_EQ(output[1], json::parse(R"({"id": "msg_)" + digits + R"(_1", "status": "completed", "type": "message",
      "role": "assistant", "content": [{"type": "output_text", "text": "Hello!", "annotations": [], "logprobs": []}]})"));
  EXPECT_EQ(output[2].at("type"), "function_call");
  EXPECT_EQ(output[2].at("name"), "time");
  EXPECT_EQ(json::parse(output[2].at("arguments").as_string()), json::parse(R"({"a": 1})"));
  EXPECT_THAT(std::string(output[2].at("call_id").as_string()), MatchesRegex("call_[0-9a-f]{24}"));
  EXPECT_EQ(response.at("usage"), json::parse(R"({"input_tokens": 10, "input_tokens_details": {"cached_tokens": 4},
      "output_tokens": 2, "output_tokens_details": {"reasoning_tokens": 0}, "total_tokens": 12})"));
}

TEST_F(ResponsesAnswers, AStreamBuildsTheSameAndItsEventsAreNumbered) {
  open(R"(, "stream": true)");
  std::string bytes = send();
  bytes += writer_->finish();
  std::vector<std::string> names;
  std::vector<std::string> texts(3);
  json::object done, items;
  std::int64_t number = 0;
  for (std::size_t begin = 0; begin < bytes.size();) {
    const std::size_t end = bytes.find("\n\n", begin), line = bytes.find('\n', begin);
    const std::string name = bytes.substr(begin + 7, line - begin - 7);
    const json::object data = parsed(bytes.substr(line + 7, end - line - 7));
    EXPECT_EQ(name, data.at("type").as_string());
    EXPECT_EQ(data.at("sequence_number"), number++);
    if (data.contains("delta")) {
      texts.at(data.at("output_index").to_number<std::size_t>()) += data.at("delta").as_string();
    } else {
      names.push_back(name.substr(9));
    }
    if (name == "response.output_item.done")
      items[std::to_string(data.at("output_index").as_int64())] = data.at("item");
    if (name == "response.completed") done = data.at("response").as_object();
    begin = end + 2;
  }
  EXPECT_THAT(names, ElementsAre("created", "in_progress",                                                 //
                                 "output_item.added", "content_part.added", "reasoning_text.done",         //
                                 "content_part.done", "output_item.done",                                  //
                                 "output_item.added", "content_part.added", "output_text.done",            //
                                 "content_part.done", "output_item.done",                                  //
                                 "output_item.added", "function_call_arguments.done", "output_item.done",  //
                                 "completed"));
  EXPECT_EQ(texts[0], "I think");
  EXPECT_EQ(texts[1], "Hello!");
  EXPECT_EQ(json::parse(texts[2]), json::parse(R"({"a": 1})"));
  for (std::size_t i = 0; i < 3; ++i) EXPECT_EQ(done.at("output").at(i), items.at(std::to_string(i)));
  ASSERT_NE(kept(), nullptr);
  EXPECT_EQ(parsed(kept()->body()), done);
}

TEST_F(ResponsesAnswers, AnAnswerThatIsCutIsIncomplete) {
  open("");
  writer_->on_event(token(5, "Hello <tool_call>\n{\"name\": \"time\", \"arguments\": {\"a\""));
  writer_->on_event(last(7, "", FinishReason::kLength));
  const json::object response = parsed(writer_->finish());
  EXPECT_EQ(response.at("status"), "incomplete");
  EXPECT_EQ(response.at("incomplete_details"), parsed(R"({"reason": "max_output_tokens"})"));
  EXPECT_EQ(response.at("output").at(0).at("status"), "completed");
  EXPECT_EQ(response.at("output").at(1).at("status"), "incomplete");
  EXPECT_EQ(response.at("output").at(1).at("arguments"), "{\"a\"");
}

TEST_F(ResponsesAnswers, AnErrorInAStreamIsAResponseThatFailed) {
  open(R"(, "stream": true)");
  const std::string bytes = writer_->on_event(last(7, "", FinishReason::kFailed));
  EXPECT_THAT(bytes, HasSubstr("event: response.failed\n"));
  const json::object data = parsed(bytes.substr(bytes.find("data: ") + 6));
  EXPECT_EQ(data.at("response").at("status"), "failed");
  EXPECT_EQ(data.at("response").at("error").at("code"), "server_error");
  EXPECT_EQ(kept(), nullptr);
}

TEST_F(ResponsesAnswers, ALaterRequestGoesOnWithWhatIsKept) {
  open(R"(, "instructions": "Be kind.")");
  send();
  writer_->finish();
  const std::string first = call_.response->id;
  const std::string call_id = *kept()->output[2].json;
  open(R"(, "previous_response_id": ")" + first + "\"",
       R"([{"type": "function_call_output", "call_id": "c", "output": "noon"}])");
  std::vector<std::string> said;
  for (const ChatMessage& message : words_.last_messages) {
    std::string text = message.role + ":" + message.content;
    for (const ContentPart& part : message.parts) text += part.text;
    if (!message.tool_calls.empty()) text += "+" + message.tool_calls[0].name;
    said.push_back(text);
  }
  EXPECT_THAT(said, ElementsAre("user:hi", "assistant:Hello!+time", "tool:noon"));  // the instructions were that one's
  EXPECT_EQ(words_.last_messages[1].reasoning, "I think");
  send();
  EXPECT_EQ(parsed(writer_->finish()).at("previous_response_id").as_string(), first);
  ASSERT_NE(kept(), nullptr);
  EXPECT_EQ(kept()->previous_id, first);
  ASSERT_EQ(kept()->input.size(), 1U);
}

TEST_F(ResponsesAnswers, AnItemIsFoundByItsName) {
  open("");
  send();
  writer_->finish();
  const std::string message = kept()->output[1].id;
  open("", R"([{"type": "item_reference", "id": ")" + message + R"("}, {"role": "user", "content": "more"}])");
  ASSERT_EQ(words_.last_messages.size(), 2U);
  ASSERT_EQ(words_.last_messages[0].parts.size(), 1U);
  EXPECT_EQ(words_.last_messages[0].parts[0].text, "Hello!");
}

TEST_F(ResponsesAnswers, WhatARequestRefersToCountsLikeWhatItSendsAndIsSharedInTheStore) {
  open("", R"([{"type": "reasoning", "summary": [], "content": [{"type": "reasoning_text", "text": ")" +
               std::string(1'000'000, 'x') + R"("}]}, {"role": "user", "content": "hi"}])");
  send();
  writer_->finish();
  const ResponseItem thought = kept()->input.at(0);
  const auto refer = [&](int count) {
    std::string input;
    for (int i = 0; i < count; ++i)
      input += fmt::format(R"({}{{"type": "item_reference", "id": "{}"}})", i > 0 ? "," : "", thought.id);
    return "[" + input + R"(, {"role": "user", "content": "go on"}])";
  };
  open("", refer(5));
  send();
  writer_->finish();
  ASSERT_EQ(kept()->input.size(), 6U);
  for (std::size_t i = 0; i < 5; ++i) EXPECT_EQ(kept()->input[i].json, thought.json) << i;
  const auto call = parse_call(api_named("responses"), parsed(R"({"input": )" + refer(9) + "}"), words_,
                               kAnsweringModel, {.store = &store_, .owner = "one", .body_bytes = 2000});
  ASSERT_FALSE(call.has_value());
  EXPECT_EQ(call.error().status, 400);
  EXPECT_EQ(call.error().param, "input[8].id");
  const std::uint64_t found = 2000 + 9 * num_bytes_of(thought), most = std::uint64_t{8} << 20;
  EXPECT_THAT(call.error().message, HasSubstr(fmt::format("input[8].id: found {} bytes", found)));
  EXPECT_THAT(call.error().message, HasSubstr(fmt::format("at most {}", most)));
}

TEST_F(ResponsesAnswers, OneThatIsNotToBeKeptIsNot) {
  open(R"(, "store": false)");
  send();
  EXPECT_EQ(parsed(writer_->finish()).at("store"), false);
  EXPECT_EQ(kept(), nullptr);
}

TEST_F(ResponsesAnswers, ToolsThatAreLeftOutAreTold) {
  words_.set_tool_format("hermes");
  auto call = parse_call(api_named("responses"), parsed(R"({"input": "hi", "tools": [{"type": "web_search"}]})"),
                         words_, kAnsweringModel, {.store = &store_});
  ASSERT_TRUE(call.has_value()) << call.error().message;
  EXPECT_THAT(call->warnings, ElementsAre(HasSubstr("tools[0]: a tool of type the string \"web_search\"")));
  EXPECT_EQ(call->tools, nullptr);
}

}  // namespace
}  // namespace octavo
