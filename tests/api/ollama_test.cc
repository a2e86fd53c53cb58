// ollama's API: what its bodies ask for, and how its answers are written.
#include <gmock/gmock.h>

#include <map>

#include "api/api_named.h"
#include "api/fields/keep_alive.h"
#include "api/ollama/ollama_request.h"
#include "api/openai_response.h"
#include "api/shown_request.h"
#include "server/ollama_models.h"
#include "server/routes.h"

namespace octavo {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::StartsWith;

const std::string kHi = R"("messages": [{"role": "user", "content": "hi"}])";

json::object parsed(const std::string& text) { return json::parse(text).as_object(); }

ApiResult<ApiRequest> read_chat(const std::string& fields) {
  static const FakeText words;
  return read_ollama_chat(parsed("{" + fields + "}"), {.words = words, .model = kAnsweringModel});
}
ApiResult<ApiRequest> read_generate(const std::string& fields) {
  static const FakeText words;
  return read_ollama_generate(parsed("{" + fields + "}"), {.words = words, .model = kAnsweringModel});
}

ApiRequest request_of_chat(const std::string& fields) {
  auto request = read_chat(fields);
  EXPECT_TRUE(request.has_value()) << request.error().message;
  return request ? std::move(*request) : ApiRequest{.prompt = Conversation()};
}
json::object chat_of(const std::string& fields) {
  ApiRequest request = request_of_chat(fields);
  return shown(conversation_of(request));
}

TEST(OllamaRequest, OptionsHaveTheirNamesHere) {
  const std::string fields = kHi + R"(, "model": "text:latest", "options": {"temperature": 0.5, "top_k": 3,
      "repeat_penalty": 1.1, "num_predict": 7, "num_ctx": 100, "stop": ["X"], "num_thread": 4}, "think": false)";
  const ApiRequest request = request_of_chat(fields);
  EXPECT_TRUE(request.form.stream);  // unless it says otherwise
  EXPECT_EQ(request.settings.sampling.temperature, 0.5F);
  EXPECT_EQ(request.settings.sampling.top_k, 3);
  EXPECT_EQ(request.settings.sampling.repetition_penalty, 1.1F);
  EXPECT_EQ(request.length.asked, 7);
  EXPECT_THAT(request.settings.stop, ElementsAre("X"));
  EXPECT_EQ(chat_of(fields).at("names").at("enable_thinking"), false);
  EXPECT_EQ(request_of_chat(kHi + R"(, "options": {"num_predict": -1})").length.asked, std::nullopt);
  EXPECT_EQ(chat_of(kHi + R"(, "think": "high")").at("names").at("reasoning_effort"), "high");
}

TEST(OllamaRequest, GuessesAreBoundedByOllamasOptionAndByTheFieldOfEveryApi) {
  const auto max_drafts = [](const std::string& fields) {
    EXPECT_EQ(read_generate(R"("prompt": "hi", )" + fields)->settings.max_drafts,
              request_of_chat(kHi + ", " + fields).settings.max_drafts);
    return request_of_chat(kHi + ", " + fields).settings.max_drafts;
  };
  EXPECT_EQ(max_drafts(R"("options": {})"), kMaxDraftTokens);
  EXPECT_EQ(max_drafts(R"("options": {"draft_num_predict": 4})"), 4);
  EXPECT_EQ(max_drafts(R"("options": {"draft_num_predict": 0})"), 0);
  EXPECT_EQ(max_drafts(R"("options": {"draft_num_predict": 100})"), kMaxDraftTokens);
  EXPECT_EQ(max_drafts(R"("speculation": false)"), 0);
  EXPECT_EQ(max_drafts(R"("speculation": {"max": 3}, "options": {"draft_num_predict": 4})"), 3);
  EXPECT_EQ(max_drafts(R"("speculation": {"max": 3}, "options": {"draft_num_predict": 2})"), 2);
  EXPECT_EQ(read_chat(kHi + R"(, "options": {"draft_num_predict": -1})").error().param, "options.draft_num_predict");
}

// 0 is no limit in ollama; a context of another size changes no prompt that fits this one.
TEST(OllamaRequest, LimitsBeyondTheContextAreCutAndSaid) {
  const FakeText words;
  const auto call_of = [&](const Api& api, const std::string& options) {
    return parse_call(api, parsed("{" + kHi + R"(, "prompt": "hi", "options": )" + options + "}"), words,
                      kAnsweringModel, {});
  };
  for (const std::string_view name : {"ollama_chat", "ollama_generate"}) {
    const Api& api = api_named(name);
    const auto cut = call_of(api, R"({"num_predict": 100000, "num_ctx": 131072})");
    ASSERT_TRUE(cut.has_value()) << cut.error().message;
    EXPECT_EQ(static_cast<std::size_t>(cut->requests[0].max_tokens) + cut->prompts[0].num_tokens, 100U);
    EXPECT_THAT(cut->warnings, ElementsAre(StartsWith("options.num_predict: found 100000, cut to "),
                                           StartsWith("options.num_ctx: found 131072")));
    for (const char* none : {R"({"num_predict": 0})", R"({"num_predict": -1})", R"({"num_predict": -2})"}) {
      const auto unlimited = call_of(api, none);
      EXPECT_EQ(unlimited->requests[0].max_tokens, 0) << none;
      EXPECT_THAT(unlimited->warnings, IsEmpty());
    }
  }
}

TEST(OllamaRequest, SamplersOfOldAreReadOrSaidToBeLeftOut) {
  const FakeText words;
  const auto call = parse_call(api_named("ollama_chat"),
                               parsed("{" + kHi + R"(, "options": {"mirostat": 2, "mirostat_tau": 3, "tfs_z": 0.5}})"),
                               words, kAnsweringModel, {});
  ASSERT_TRUE(call.has_value()) << call.error().message;
  EXPECT_EQ(call->requests[0].sampling.mirostat.version, 2);
  EXPECT_EQ(call->requests[0].sampling.mirostat.tau, 3);
  EXPECT_THAT(call->warnings, ElementsAre(StartsWith("options.tfs_z: it is ignored")));
}

TEST(OllamaRequest, FormatsAreConstraints) {
  EXPECT_EQ(request_of_chat(kHi + R"(, "format": "json")").constraint->source.kind, ConstraintKind::kJsonObject);
  const AskedConstraint schema = *request_of_chat(kHi + R"(, "format": {"type": "object"})").constraint;
  EXPECT_EQ(schema.source.kind, ConstraintKind::kJsonSchema);
  EXPECT_EQ(schema.source.text, R"({"type":"object"})");
  EXPECT_EQ(schema.field, "format");
  EXPECT_FALSE(request_of_chat(kHi + R"(, "format": "")").constraint.has_value());
}

TEST(OllamaRequest, MessagesKeepTheirThoughtsAndCalls) {
  const json::object chat = chat_of(R"("messages": [{"role": "user", "content": "hi", "images": []},
      {"role": "assistant", "content": "", "thinking": "well", "tool_calls": [
        {"function": {"name": "time", "arguments": {"zone": "CET"}}}]},
      {"role": "tool", "tool_name": "time", "content": "noon"}])");
  EXPECT_EQ(chat.at("messages"), json::parse(R"([{"role": "user", "content": "hi"},
      {"role": "assistant", "reasoning_content": "well", "tool_calls": [{"id": "call_0",
        "type": "function", "function": {"name": "time", "arguments": {"zone": "CET"}}}]},
      {"role": "tool", "content": "noon", "name": "time"}])"));
}

TEST(OllamaRequest, APromptIsAUsersMessageUnlessItIsRaw) {
  auto chat = read_generate(R"("prompt": "hi", "system": "Be kind.")");
  EXPECT_EQ(shown(conversation_of(*chat)).at("messages"),
            json::parse(R"([{"role": "system", "content": "Be kind."}, {"role": "user", "content": "hi"}])"));
  const auto raw = read_generate(R"("prompt": "hi", "raw": true)");
  EXPECT_EQ(std::get<std::string_view>(std::get<TextPrompts>(raw->prompt).prompts.at(0)), "hi");
  EXPECT_EQ(std::get<Gap>(read_generate(R"("prompt": "a", "suffix": "b")")->prompt).text.suffix, "b");
  EXPECT_TRUE(std::holds_alternative<NoPrompt>(read_generate(R"("model": "text")")->prompt));
}

TEST(OllamaRequest, WhatIsWrongIsRefusedWithItsPlace) {
  const std::map<std::string, std::string> params = {
      {kHi + R"(, "options": {"num_predict": -3})", "options.num_predict"},
      {kHi + R"(, "options": {"num_predict": "all"})", "options.num_predict"},
      {kHi + R"(, "options": 5)", "options"},
      {kHi + R"(, "format": 5)", "format"},
      {kHi + R"(, "think": 5)", "think"},
      {R"("messages": 5)", "messages"},
      {R"("messages": [5])", "messages[0]"},
      {R"("messages": [{"role": "user", "content": "hi", "images": ["AAAA"]}])", "messages[0].images"},
      {R"("messages": [{"role": "assistant", "tool_calls": [{}]}])", "messages[0].tool_calls[0].function"}};
  for (const auto& [fields, param] : params) {
    const auto chat = read_chat(fields);
    ASSERT_FALSE(chat.has_value()) << fields;
    EXPECT_EQ(chat.error().param, param) << fields;
    EXPECT_EQ(chat.error().status, 400);
  }
  EXPECT_EQ(read_generate(R"("prompt": "a", "template": "b")").error().param, "template");
  EXPECT_EQ(read_generate(R"("prompt": "a", "context": [1])").error().param, "context");
}

TEST(OllamaRequest, AChatWithoutMessagesAsksForNothing) {
  for (const char* fields : {R"("model": "text")", R"("messages": null)", R"("messages": [])"})
    EXPECT_TRUE(std::holds_alternative<NoPrompt>(read_chat(fields)->prompt)) << fields;
}

TEST(KeepAlive, IsSecondsOrADuration) {
  using namespace std::chrono_literals;
  const std::map<std::string, std::chrono::milliseconds> times = {{"0", 0s},
                                                                  {"1.5", 1500ms},
                                                                  {"300", 300s},
                                                                  {"-1", kKeptForever},
                                                                  {"1e300", kKeptForever},
                                                                  {R"("0")", 0s},
                                                                  {R"("5m")", 300s},
                                                                  {R"("1h30m10s")", 5410s},
                                                                  {R"("1.5h")", 90min},
                                                                  {R"("250ms")", 250ms},
                                                                  {R"("+2s")", 2s},
                                                                  {R"("3000us")", 3ms},
                                                                  {R"("3000µs")", 3ms},
                                                                  {R"("9ns")", 0ms},
                                                                  {R"("-1m")", kKeptForever},
                                                                  {R"("-1s")", kKeptForever},
                                                                  {R"("9999999h")", kKeptForever}};
  for (const auto& [text, time] : times) {
    const auto kept = keep_alive_of(parsed(R"({"keep_alive": )" + text + "}"));
    ASSERT_TRUE(kept.has_value()) << text << ": " << kept.error().message;
    EXPECT_EQ(*kept, time) << text;
  }
  EXPECT_EQ(keep_alive_of(parsed("{}")).value(), std::nullopt);
  EXPECT_EQ(keep_alive_of(parsed(R"({"keep_alive": null})")).value(), std::nullopt);
  for (const char* wrong : {"true", "[]", R"("")", R"("-")", R"("5")", R"("m")", R"("5 m")", R"("5m ")", R"("1h-5m")",
                            R"("5x")", R"("infs")", R"("nans")", R"("1e3s")", R"("--1s")"}) {
    const auto kept = keep_alive_of(parsed(R"({"keep_alive": )" + std::string(wrong) + "}"));
    ASSERT_FALSE(kept.has_value()) << wrong;
    EXPECT_EQ(kept.error().param, "keep_alive");
    EXPECT_EQ(kept.error().status, 400);
  }
  const std::string long_text(100, '1');
  EXPECT_FALSE(keep_alive_of(parsed(R"({"keep_alive": ")" + long_text + "s\"}")).has_value());
}

TEST(KeepAlive, OfNothingWithoutAPromptUnloads) {
  for (const char* body : {R"({"keep_alive": 0})", R"({"keep_alive": "0s", "prompt": "", "messages": null})",
                           R"({"keep_alive": 0.0, "messages": []})"})
    EXPECT_TRUE(asks_to_unload(parsed(body))) << body;
  for (const char* body : {"{}", R"({"keep_alive": 5})", R"({"keep_alive": -1})", R"({"keep_alive": "x"})",
                           R"({"keep_alive": 0, "prompt": "x"})", R"({"keep_alive": 0, "messages": [{}]})"})
    EXPECT_FALSE(asks_to_unload(parsed(body))) << body;
}

class OllamaAnswers : public ::testing::Test {
 protected:
  void open(const Api& api, const std::string& fields) {
    words_.set_tool_format("hermes");
    auto call = parse_call(api, parsed("{" + fields + "}"), words_, kAnsweringModel, {});
    ASSERT_TRUE(call.has_value()) << call.error().message;
    call_ = std::move(*call);
    call_.reasoning.is_shown = true;
    writer_ = new_writer(api, call_, words_);
  }
  std::vector<json::object> lines(const std::string& bytes) {
    std::vector<json::object> all;
    for (std::size_t begin = 0; begin < bytes.size();) {
      const std::size_t end = bytes.find('\n', begin);
      all.push_back(parsed(bytes.substr(begin, end - begin)));
      EXPECT_EQ(all.back().at("model"), "text");
      EXPECT_TRUE(all.back().at("created_at").is_string());
      begin = end + 1;
    }
    return all;
  }

  FakeText words_;
  CompletionCall call_;
  std::unique_ptr<AnswerWriter> writer_;
};

const std::string kTools =
    R"(, "tools": [{"type": "function", "function": {"name": "time", "parameters": {"type": "object"}}}])";

TEST_F(OllamaAnswers, AModelThatIsOnlyLoadedHasWarningsAndNoLogprobs) {
  const std::string fields = R"("logprobs": true, "top_logprobs": 2, "options": {"tfs_z": 0.5}, "stream": false)";
  for (const char* api : {"ollama_chat", "ollama_generate"}) {
    open(api_named(api), fields);
    EXPECT_TRUE(call_.requests.empty());
    const json::object answer = parsed(writer_->finish());
    EXPECT_EQ(answer.at("done_reason"), "load");
    EXPECT_FALSE(answer.contains("logprobs"));
    EXPECT_THAT(call_.warnings, ElementsAre(StartsWith("options.tfs_z: ")));
    EXPECT_EQ(answer.at("warnings").as_array().size(), 1);
  }
}

TEST_F(OllamaAnswers, AChatIsALineForEachPieceAndOneForItsEnd) {
  open(api_named("ollama_chat"), kHi + kTools);
  std::string bytes = writer_->begin();
  for (const RequestEvent& event :
       {reasoning(1, "hm"), token(2, "Hello"), token(3, "<tool_call>\n{\"name\": \"time\", \"argu"),
        token(4, "ments\": {\"a\": 1}}\n</tool_call>"), last(5, "", FinishReason::kStop)})
    bytes += writer_->on_event(event);
  bytes += writer_->heartbeat("x");
  bytes += writer_->finish();
  const auto all = lines(bytes);
  ASSERT_EQ(all.size(), 5);
  EXPECT_EQ(all[0].at("message"), parsed(R"({"role": "assistant", "content": "", "thinking": "hm"})"));
  EXPECT_EQ(all[1].at("message"), parsed(R"({"role": "assistant", "content": "Hello"})"));
  EXPECT_EQ(all[2].at("message").at("tool_calls"),
            json::parse(R"([{"function": {"name": "time", "arguments": {"a": 1}}}])"));
  EXPECT_EQ(all[3].at("message").at("content"), "");
  EXPECT_EQ(all[3].at("done"), false);
  EXPECT_EQ(all[4].at("done"), true);
  EXPECT_EQ(all[4].at("done_reason"), "stop");
  EXPECT_EQ(all[4].at("prompt_eval_count"), 10);
  EXPECT_EQ(all[4].at("eval_count"), 2);
}

TEST_F(OllamaAnswers, LogprobsStandBesideThePieceOfTheirTokens) {
  const std::string asks = R"(, "logprobs": true, "top_logprobs": 2)";
  for (const auto& [name, fields] : std::vector<std::pair<std::string_view, std::string>>{
           {"ollama_chat", kHi + asks},
           {"ollama_generate", R"("prompt": "hi")" + asks},
           {"ollama_generate", R"("raw": true, "prompt": "hi")" + asks}}) {
    RequestEvent hello = token(FakeText::kHello, "Hello");
    hello.top_logprobs = {{.token = FakeText::kHello, .logprob = -0.5F}, {.token = 'x', .logprob = -2}};
    const std::vector<RequestEvent> events = {hello, token(FakeText::kWorld, " world"),
                                              last(FakeText::kEnd, "", FinishReason::kStop)};
    open(api_named(name), fields + R"(, "stream": false)");
    EXPECT_EQ(call_.requests[0].top_logprobs, 2);
    for (const RequestEvent& event : events) writer_->on_event(event);
    const json::object whole = parsed(writer_->finish());
    ASSERT_EQ(whole.at("logprobs").as_array().size(), 2U);
    EXPECT_EQ(json::serialize(whole.at("logprobs").at(0)),
              R"({"token":"Hello","logprob":-5E-1,"bytes":[72,101,108,108,111],"top_logprobs":[)"
              R"({"token":"Hello","logprob":-5E-1,"bytes":[72,101,108,108,111]},)"
              R"({"token":"x","logprob":-2,"bytes":[120]}]})");
    open(api_named(name), fields);
    std::string bytes = writer_->begin();
    for (const RequestEvent& event : events) bytes += writer_->on_event(event);
    const auto all = lines(bytes + writer_->finish());
    ASSERT_EQ(all.size(), 3);
    EXPECT_EQ(all[1].at("logprobs").at(0).at("token"), " world");
    EXPECT_FALSE(all[2].contains("logprobs"));
  }
}

TEST_F(OllamaAnswers, AWholeOneIsOneObject) {
  open(api_named("ollama_generate"), R"("prompt": "hi", "stream": false)");
  writer_->on_event(reasoning(1, "hm"));
  writer_->on_event(token(2, "Hello"));
  writer_->on_event(last(3, "!", FinishReason::kLength));
  const json::object body = parsed(writer_->finish());
  EXPECT_EQ(body.at("response"), "Hello!");
  EXPECT_EQ(body.at("thinking"), "hm");
  EXPECT_EQ(body.at("done_reason"), "length");
}

TEST_F(OllamaAnswers, WithoutAPromptTheModelIsThere) {
  open(api_named("ollama_generate"), R"("model": "text")");
  ASSERT_TRUE(writer_->done());
  EXPECT_TRUE(call_.requests.empty());
  const auto all = lines(writer_->finish());
  ASSERT_EQ(all.size(), 1);
  EXPECT_EQ(all[0].at("done_reason"), "load");
}

TEST_F(OllamaAnswers, AChatWithoutMessagesSaysThatTheModelIsThere) {
  open(api_named("ollama_chat"), R"("model": "text", "keep_alive": "5m")");
  ASSERT_TRUE(writer_->done());
  EXPECT_EQ(call_.keep_alive, std::chrono::minutes(5));
  const auto all = lines(writer_->finish());
  ASSERT_EQ(all.size(), 1);
  EXPECT_EQ(all[0].at("done_reason"), "load");
  EXPECT_EQ(all[0].at("message").at("content"), "");
}

TEST_F(OllamaAnswers, ErrorsAreTexts) {
  open(api_named("ollama_chat"), kHi);
  EXPECT_TRUE(parsed(writer_->on_event(last(5, "", FinishReason::kFailed))).at("error").is_string());
  EXPECT_EQ(server::Routes().error_body("/api/chat", {.message = "no"}), R"({"error":"no"})");
  EXPECT_NE(server::Routes().error_body("/v1/chat/completions", {.message = "no"}), R"({"error":"no"})");
}

TEST(OllamaModels, TheServedOneIsShown) {
  ModelInfo info;
  info.architecture = "qwen3";
  info.max_context = 100;
  info.tool_format = "hermes";
  const ServedModel model{.id = "text", .created = 0};
  info.fills_gaps = true;
  info.chat_template = "{{ x }}";
  for (const char* body : {R"({"model": "text:latest"})", R"({"name": "text", "verbose": true})", "{}"}) {
    const auto shown = server::ollama_show(json::parse(body).as_object(), model, info);
    ASSERT_TRUE(shown.has_value()) << shown.error().message;
    EXPECT_EQ(shown->at("model_info").at("qwen3.context_length"), 100);
    EXPECT_EQ(shown->at("template"), "{{ x }}");
    EXPECT_EQ(shown->at("capabilities"), json::parse(R"(["completion", "insert", "tools"])"));
  }
}

TEST(OllamaModels, AnotherModelIsNotShown) {
  const ServedModel model{.id = "text", .created = 0};
  const auto error = [&](const std::string& body) {
    return server::ollama_show(json::parse(body).as_object(), model, {}).error();
  };
  EXPECT_EQ(error(R"({"model": "another"})").status, 404);
  EXPECT_EQ(error(R"({"model": 5})").status, 400);
}

}  // namespace
}  // namespace octavo
