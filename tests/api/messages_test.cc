// Anthropic's Messages API: what its bodies ask for, and how its answers are written.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include <map>
#include <utility>

#include "api/api_named.h"
#include "api/messages/messages_answer.h"
#include "api/messages/messages_request.h"
#include "api/openai_response.h"
#include "api/prepare/prepare.h"
#include "api/shown_request.h"
#include "server/routes.h"

namespace octavo {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StartsWith;

json::object parsed(const std::string& text) { return json::parse(text).as_object(); }

ApiResult<ApiRequest> read(const std::string& fields) {
  static const FakeText words;
  return read_messages(parsed("{" + fields + "}"), {.words = words, .model = kAnsweringModel});
}

ApiRequest request_for(const std::string& messages, const std::string& fields = "") {
  auto request = read(R"("model": "text", "max_tokens": 9, "messages": )" + messages + fields);
  EXPECT_TRUE(request.has_value()) << request.error().message;
  return request ? std::move(*request) : ApiRequest{.prompt = Conversation()};
}

/// The conversation that a body is about.
json::object chat_of(const std::string& messages, const std::string& fields = "") {
  ApiRequest request = request_for(messages, fields);
  return shown(conversation_of(request));
}

TEST(MessagesRequest, TextsAndBlocksBecomeMessagesOfAChat) {
  ApiRequest request = request_for(R"([{"role": "user", "content": "hi"}, {"role": "assistant", "content": [
      {"type": "thinking", "thinking": "a greeting", "signature": "x"}, {"type": "redacted_thinking", "data": "?"},
      {"type": "text", "text": "Hello", "citations": null}]}, {"role": "user", "content": [
      {"type": "text", "text": "a", "cache_control": {"type": "ephemeral"}}, {"type": "text", "text": "b"}]}])",
                                   R"(, "system": "Be kind.", "stop_sequences": ["X"], "top_k": 3)");
  const Conversation conversation = conversation_of(request);
  const json::object chat = shown(conversation);
  EXPECT_EQ(chat.at("messages"), json::parse(R"([{"role": "system", "content": "Be kind."},
      {"role": "user", "content": "hi"},
      {"role": "assistant", "content": [{"type": "text", "text": "Hello"}], "reasoning_content": "a greeting"},
      {"role": "user", "content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]}])"));
  EXPECT_THAT(request.settings.stop, ElementsAre("X"));
  EXPECT_EQ(request.length.asked, 9);
  EXPECT_EQ(request.settings.sampling.top_k, 3);
  EXPECT_FALSE(conversation.options.continue_final_message);
}

TEST(MessagesRequest, CallsAndTheirResultsBecomeMessagesOfTheirOwn) {
  const json::object chat = chat_of(R"([{"role": "user", "content": "hi"}, {"role": "assistant", "content": [
      {"type": "tool_use", "id": "call_1", "name": "time", "input": {"zone": "CET"}}]}, {"role": "user", "content": [
      {"type": "tool_result", "tool_use_id": "call_1", "content": [{"type": "text", "text": "noon"}]},
      {"type": "text", "text": "and now?"}]}])");
  EXPECT_EQ(chat.at("messages"), json::parse(R"([{"role": "user", "content": "hi"},
      {"role": "assistant", "tool_calls": [{"id": "call_1", "type": "function",
        "function": {"name": "time", "arguments": {"zone": "CET"}}}]},
      {"role": "tool", "tool_call_id": "call_1", "content": [{"type": "text", "text": "noon"}]},
      {"role": "user", "content": [{"type": "text", "text": "and now?"}]}])"));
}

// With the checksum that coding agents put there, no two requests would have a beginning in common.
TEST(MessagesRequest, ALeadingBlockForBillingIsLeftOutAndTheOthersStayWhereTheyAre) {
  const std::string hi = R"([{"role": "user", "content": "hi"}])";
  const json::object chat = chat_of(hi, R"(, "system": [{"type": "text", "text": "x-anthropic-billing-header: cch=1"},
      {"type": "text", "text": "You are an agent."}, {"type": "text", "text": "x-anthropic-billing-header: kept"}])");
  EXPECT_EQ(chat.at("messages").at(0).at("content"), json::parse(R"([{"type": "text", "text": "You are an agent."},
                            {"type": "text", "text": "x-anthropic-billing-header: kept"}])"));
  const json::object alone =
      chat_of(hi, R"(, "system": [{"type": "text", "text": "x-anthropic-billing-header: cch=1"}])");
  EXPECT_EQ(alone.at("messages").as_array().size(), 1);
}

TEST(MessagesRequest, ASystemMessageStaysWhereItIs) {
  const json::object chat = chat_of(R"([{"role": "user", "content": "hi"}, {"role": "system", "content": "a"},
      {"role": "system", "content": [{"type": "text", "text": "b"}]}, {"role": "user", "content": "more"}])");
  EXPECT_EQ(chat.at("messages").at(1), json::parse(R"({"role": "system", "content": "a"})"));
  EXPECT_EQ(chat.at("messages").at(2),
            json::parse(R"({"role": "system", "content": [{"type": "text", "text": "b"}]})"));
}

TEST(MessagesRequest, TheEffortIsTheTemplates) {
  EXPECT_EQ(chat_of(R"([{"role": "user", "content": "hi"}])", R"(, "output_config": {"effort": "high"})")
                .at("names")
                .at("reasoning_effort"),
            "high");
}

TEST(MessagesRequest, SpeculationBoundsTheTokensThatAreGuessed) {
  const std::string hi = R"([{"role": "user", "content": "hi"}])";
  EXPECT_EQ(request_for(hi).settings.max_drafts, kMaxDraftTokens);
  EXPECT_EQ(request_for(hi, R"(, "speculation": false)").settings.max_drafts, 0);
  EXPECT_EQ(request_for(hi, R"(, "speculation": {"max": 3})").settings.max_drafts, 3);
}

TEST(MessagesRequest, AFormThatCannotBeCompiledIsNamedAsTheClientKnowsIt) {
  const FakeText words;
  auto call =
      parse_call(api_named("messages"), parsed(R"({"max_tokens": 1, "messages": [{"role": "user", "content": "hi"}],
                                    "output_config": {"format": {"type": "json_schema", "schema": {}}}})"),
                 words, kAnsweringModel, {});
  ASSERT_TRUE(call.has_value()) << call.error().message;
  call->constraint->source.text = "wrong";
  const auto refused = compile_constraint(*call, words, {});
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().param, "output_config.format.schema");
  EXPECT_EQ(refused.error().message, "output_config.format.schema: found nonsense");
}

// max_tokens must be there, and agents send the largest that a model could have.
TEST(MessagesRequest, ALimitBeyondTheContextIsUntilItsEnd) {
  const FakeText words;
  const auto call = [&](const std::string& text, int max_tokens) {
    return parse_call(api_named("messages"),
                      parsed(fmt::format(R"({{"max_tokens": {}, "messages": [{{"role": "user", "content": "{}"}}]}})",
                                         max_tokens, text)),
                      words, kAnsweringModel, {});
  };
  const auto cut = call("hi", 32000);
  ASSERT_TRUE(cut.has_value()) << cut.error().message;
  EXPECT_EQ(static_cast<std::size_t>(cut->requests[0].max_tokens) + cut->prompts[0].num_tokens, 100U);
  EXPECT_THAT(cut->warnings, ElementsAre(StartsWith("max_tokens: found 32000, cut to ")));
  EXPECT_EQ(call("hi", 5)->requests[0].max_tokens, 5);
  EXPECT_EQ(call("hi", -1)->requests[0].max_tokens, 0);
  EXPECT_EQ(call("hi", 0).error().param, "max_tokens");
  EXPECT_EQ(call(std::string(100, 'x'), 5).error().code, "context_length_exceeded");
}

TEST(MessagesRequest, AnAnswerThatHasBegunIsGoneOnWith) {
  ApiRequest request = request_for(R"([{"role": "user", "content": "hi"}, {"role": "assistant", "content": "{"}])");
  const ChatTemplateOptions options = conversation_of(request).options;
  EXPECT_TRUE(options.continue_final_message);
  EXPECT_FALSE(options.add_generation_prompt);
}

TEST(MessagesRequest, ToolsAndTheirChoice) {
  const std::string hi = R"([{"role": "user", "content": "hi"}])";
  const std::string tools = R"(, "tools": [{"name": "time", "description": "the time", "strict": true,
      "input_schema": {"type": "object"}, "cache_control": {"type": "ephemeral"}}])";
  const auto chosen = [&](const std::string& choice) {
    return request_for(hi, tools + R"(, "tool_choice": )" + choice);
  };
  EXPECT_EQ(chat_of(hi, tools).at("tools"), json::parse(R"([{"type": "function", "function": {"name": "time",
      "description": "the time", "parameters": {"type": "object"}, "strict": true}}])"));
  const AskedTools any = chosen(R"({"type": "any", "disable_parallel_tool_use": true})").tools;
  EXPECT_EQ(any.choice.mode, ToolChoice::Mode::kRequired);
  EXPECT_TRUE(any.is_single);
  EXPECT_TRUE(any.tools.at(0).is_strict);
  EXPECT_EQ(chosen(R"({"type": "auto"})").tools.choice.mode, ToolChoice::Mode::kAuto);
  ApiRequest none = chosen(R"({"type": "none"})");
  EXPECT_EQ(none.tools.choice.mode, ToolChoice::Mode::kNone);
  EXPECT_FALSE(conversation_of(none).options.describe_tools);
  EXPECT_EQ(chosen(R"({"type": "tool", "name": "time"})").tools.choice.only, "time");
}

TEST(MessagesRequest, ThinkingIsBoundedWhereTheModelDoesSo) {
  const std::string hi = R"([{"role": "user", "content": "hi"}])";
  const std::string on = R"(, "thinking": {"type": "enabled", "budget_tokens": 5})";
  EXPECT_EQ(request_for(hi, on).reasoning_budget.tokens, 5);
  EXPECT_EQ(chat_of(hi, on).at("names").at("enable_thinking"), true);
  EXPECT_EQ(chat_of(hi, R"(, "thinking": {"type": "disabled"})").at("names").at("enable_thinking"), false);
  const FakeText words;  // its answers have no reasoning
  EXPECT_EQ(prepare(request_for(hi, on), words, kAnsweringModel)->requests.at(0).reasoning.budget, -1);
}

TEST(MessagesRequest, ToolsOfTheServersOwnAreLeftOutWithAWarning) {
  const ApiRequest request = request_for(R"([{"role": "user", "content": "hi"}])", R"(, "tools": [
      {"type": "web_search_20250305", "name": "web_search"}, {"name": "time", "input_schema": {"type": "object"}},
      {"type": "bash_20250124", "name": "bash"}])");
  ASSERT_EQ(request.tools.tools.size(), 1U);
  EXPECT_EQ(request.tools.tools[0].name, "time");
  EXPECT_THAT(request.warnings,
              ElementsAre(HasSubstr("tools[0]: a tool of the type the string \"web_search_20250305\""),
                          HasSubstr("tools[2]: ")));
}

TEST(MessagesRequest, WhatIsWrongIsRefusedWithItsPlace) {
  const std::string hi = R"([{"role": "user", "content": "hi"}])";
  const std::map<std::string, std::string> params = {
      {R"("messages": [])", "messages"},
      {R"("messages": [5])", "messages[0]"},
      {R"("messages": [{"role": "user", "content": []}])", "messages"},
      {R"("messages": [{"role": "tool", "content": "x"}])", "messages[0].role"},
      {R"("messages": [{"role": "user"}])", "messages[0].content"},
      {R"("messages": [{"role": "user", "content": [{"type": "image", "source": {}}]}])",
       "messages[0].content[0].image"},
      {R"("messages": [{"role": "user", "content": [{"type": "text"}]}])", "messages[0].content[0].text"},
      {R"("messages": [{"role": "user", "content": [{"type": "tool_result", "tool_use_id": 5}]}])",
       "messages[0].content[0].tool_use_id"},
      {R"("messages": )" + hi + R"(, "system": 5)", "system"},
      {R"("messages": )" + hi + R"(, "tool_choice": {"type": "maybe"})", "tool_choice.type"},
      {R"("messages": )" + hi + R"(, "thinking": {"type": "maybe"})", "thinking.type"},
      {R"("messages": )" + hi + R"(, "output_config": {"format": {"type": "xml"}})", "output_config.format.type"}};
  for (const auto& [fields, param] : params) {
    const auto chat = read(R"("max_tokens": 1, )" + fields);
    ASSERT_FALSE(chat.has_value()) << fields;
    EXPECT_EQ(chat.error().param, param) << fields << chat.error().message;
    EXPECT_EQ(chat.error().status, 400);
  }
  EXPECT_EQ(read(R"("messages": )" + hi).error().param, "max_tokens");
  const FakeText words;
  EXPECT_TRUE(read_counted_messages(parsed(R"({"messages": )" + hi + "}"), {.words = words, .model = kAnsweringModel})
                  .has_value());
}

/// The name and the data of each event.
std::vector<std::pair<std::string, json::object>> named_events(const std::string& bytes) {
  std::vector<std::pair<std::string, json::object>> events;
  for (std::size_t begin = 0; begin < bytes.size();) {
    const std::size_t end = bytes.find("\n\n", begin), line = bytes.find('\n', begin);
    EXPECT_EQ(bytes.substr(begin, 7), "event: ");
    EXPECT_EQ(bytes.substr(line + 1, 6), "data: ");
    events.emplace_back(bytes.substr(begin + 7, line - begin - 7), parsed(bytes.substr(line + 7, end - line - 7)));
    EXPECT_EQ(events.back().first, events.back().second.at("type").as_string());
    begin = end + 2;
  }
  return events;
}

/// An answer of reasoning, text and a call, however the events are cut.
class MessagesAnswers : public ::testing::Test {
 protected:
  void open(const std::string& fields) {
    words_.set_tool_format("hermes");
    auto call = parse_call(api_named("messages"),
                           parsed(R"({"max_tokens": 9, "messages": [{"role": "user", "content": "hi"}],
                                      "tools": [{"name": "time", "input_schema": {"type": "object"}}])" +
                                  fields + "}"),
                           words_, kAnsweringModel, {});
    ASSERT_TRUE(call.has_value()) << call.error().message;
    call_ = std::move(*call);
    call_.reasoning.is_shown = true;
    writer_ = new_writer(api_named("messages"), call_, words_);
  }
  std::string send() {
    std::string out = call_.stream ? writer_->begin() : std::string();
    for (const RequestEvent& event : thought_text_and_call()) out += writer_->on_event(event);
    return out;
  }

  FakeText words_;
  CompletionCall call_;
  std::unique_ptr<AnswerWriter> writer_;
};

TEST_F(MessagesAnswers, AWholeOneIsAMessageOfBlocks) {
  open("");
  EXPECT_EQ(send(), "");
  ASSERT_TRUE(writer_->done());
  const json::object message = parsed(writer_->finish());
  EXPECT_EQ(message.at("content").at(0),
            json::parse(R"({"type": "thinking", "thinking": "I think", "signature": ""})"));
  EXPECT_EQ(message.at("content").at(1).at("text"), "Hello!");
  EXPECT_EQ(message.at("content").at(2).at("type"), "tool_use");
  EXPECT_EQ(message.at("content").at(2).at("name"), "time");
  EXPECT_EQ(message.at("content").at(2).at("input"), json::parse(R"({"a": 1})"));
  EXPECT_EQ(message.at("id"), "msg_0123");
  EXPECT_EQ(message.at("type"), "message");
  EXPECT_EQ(message.at("role"), "assistant");
  EXPECT_EQ(message.at("stop_reason"), "tool_use");
  EXPECT_EQ(message.at("usage"), json::parse(R"({"input_tokens": 6, "cache_creation_input_tokens": 0,
                                                 "cache_read_input_tokens": 4, "output_tokens": 2})"));
}

TEST_F(MessagesAnswers, AStreamBuildsTheSame) {
  open(R"(, "stream": true)");
  std::string bytes = send();
  bytes += writer_->finish();
  const auto events = named_events(bytes);
  std::vector<std::string> names;
  std::vector<std::string> texts;
  for (const auto& [name, data] : events) {
    if (name != "content_block_delta") {
      names.push_back(name);
      if (name == "content_block_start") texts.emplace_back();
      continue;
    }
    EXPECT_EQ(data.at("index"), texts.size() - 1);
    for (const char* field : {"text", "thinking", "partial_json"})
      if (const json::value* text = data.at("delta").as_object().if_contains(field)) texts.back() += text->as_string();
  }
  EXPECT_THAT(names, ElementsAre("message_start", "content_block_start", "content_block_stop", "content_block_start",
                                 "content_block_stop", "content_block_start", "content_block_stop", "message_delta",
                                 "message_stop"));
  EXPECT_THAT(json::serialize(events.front().second.at("message").at("usage")),
              HasSubstr(R"("cache_creation_input_tokens":0,"cache_read_input_tokens":0,"output_tokens":0)"));
  ASSERT_EQ(texts.size(), 3);
  EXPECT_EQ(texts[0], "I think");
  EXPECT_EQ(texts[1], "Hello!");
  EXPECT_EQ(json::parse(texts[2]), json::parse(R"({"a": 1})"));
  EXPECT_EQ(events[events.size() - 2].second.at("delta").at("stop_reason"), "tool_use");
  EXPECT_EQ(writer_->heartbeat("x"), "event: ping\ndata: {\"type\":\"ping\"}\n\n");
}

TEST_F(MessagesAnswers, AnAnswerThatIsCutSaysSo) {
  open("");
  writer_->on_event(token(6, "<tool_call>\n{\"name\": \"time\", \"arguments\": {\"a\""));
  writer_->on_event(last(7, "", FinishReason::kLength));
  const json::object message = parsed(writer_->finish());
  EXPECT_EQ(message.at("stop_reason"), "max_tokens");
  EXPECT_EQ(message.at("content").at(0).at("input"), json::object());  // half an object is none
}

TEST_F(MessagesAnswers, TheStopSequenceThatTheAnswerEndedAtIsToldAndWarningsAreToo) {
  open(R"(, "stop_sequences": ["X", "Y"])");
  call_.warnings = {"careful"};
  RequestEvent end = last(7, "Hello", FinishReason::kStop);
  end.stats.stop_text = 1;
  writer_->on_event(end);
  const json::object message = parsed(writer_->finish());
  EXPECT_EQ(message.at("stop_reason"), "stop_sequence");
  EXPECT_EQ(message.at("stop_sequence"), "Y");
  EXPECT_EQ(message.at("warnings"), json::parse(R"(["careful"])"));
}

TEST_F(MessagesAnswers, ErrorsHaveTheirForm) {
  open(R"(, "stream": true)");
  const auto events = named_events(writer_->on_event(last(7, "", FinishReason::kFailed)));
  ASSERT_EQ(events.size(), 1);
  EXPECT_EQ(events[0].first, "error");
  EXPECT_EQ(events[0].second.at("error").at("type"), "api_error");
  const json::object body =
      parsed(server::Routes().error_body("/v1/messages?beta=true", {.status = 401, .message = "no key"}));
  EXPECT_EQ(body, parsed(R"({"type": "error", "error": {"type": "authentication_error", "message": "no key"}})"));
}

}  // namespace
}  // namespace octavo
