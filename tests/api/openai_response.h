// A call of OpenAI's API and its answer, for tests of what is written of an engine's events.
#pragma once

#include <gtest/gtest.h>

#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <memory>
#include <string>
#include <vector>

#include "api/api.h"
#include "api/call/completion.h"
#include "api/compiled_call.h"
#include "api/fake_text.h"
#include "api/openai/openai_chat.h"
#include "api/openai/openai_completion.h"

namespace octavo {

namespace json = boost::json;
using test::FakeText;

inline const ServedModel kAnsweringModel{.id = "text", .fingerprint = "fp_1", .created = 1, .policy = {.seed = 7}};

inline std::unique_ptr<AnswerWriter> new_writer(const Api& api, const CompletionCall& call, const ModelText& words) {
  return api.make_writer(
      {.call = call, .words = test::not_owned(words), .model = kAnsweringModel, .id = "0123", .created = 1});
}

/// The JSON of each event but [DONE], which must be the last if it is there.
inline std::vector<json::object> events_of(const std::string& bytes) {
  std::vector<json::object> events;
  std::size_t begin = 0;
  while (begin < bytes.size()) {
    const std::size_t end = bytes.find("\n\n", begin);
    EXPECT_NE(end, std::string::npos) << bytes;
    const std::string event = bytes.substr(begin, end - begin);
    EXPECT_EQ(event.substr(0, 6), "data: ");
    EXPECT_EQ(event.find('\n'), std::string::npos);
    begin = end + 2;
    if (event == "data: [DONE]") {
      EXPECT_EQ(begin, bytes.size());
    } else {
      events.push_back(json::parse(event.substr(6)).as_object());
    }
  }
  return events;
}

inline RequestEvent token(TokenId id, const std::string& text, std::uint32_t choice = 0) {
  RequestEvent event;
  event.choice = choice;
  event.token = id;
  event.logprob = -0.5F;
  event.text = text;
  event.bytes = text;
  event.is_text = id != FakeText::kBos && id != FakeText::kEnd;
  return event;
}

inline RequestEvent last(TokenId id, const std::string& text, FinishReason finish, std::uint32_t choice = 0) {
  RequestEvent event = token(id, text, choice);
  event.finish = finish;
  event.stats = {.prompt_tokens = 10, .cached_tokens = choice == 0 ? 4 : 10, .generated_tokens = 2};
  return event;
}

inline RequestEvent reasoning(TokenId id, const std::string& text) {
  RequestEvent event = token(id, "");
  event.reasoning = text;
  event.other_bytes = text.size();
  return event;
}

/// "I think", "Hello!" and a call of `time` in the form of Hermes, in pieces that end in the middle of its marks.
inline std::vector<RequestEvent> thought_text_and_call() {
  return {reasoning(1, "I "),
          reasoning(2, "think"),
          token(3, "\n"),
          token(4, "Hello"),
          token(5, "!\n<tool_"),
          token(6, "call>\n{\"name\": \"time\", \"arguments\": {\"a\""),
          token(7, ": 1}}\n</tool_call>"),
          last(8, "", FinishReason::kStop)};
}

/// A call and its answer.
class OpenAiResponse : public ::testing::Test {
 protected:
  void open_chat(const std::string& fields) {
    const std::string body = R"({"messages": [{"role": "user", "content": "hi"}])" + fields + "}";
    open(parse_chat_completion(json::parse(body).as_object(), words_, kAnsweringModel), "chatcmpl-1");
  }
  void open_completion(const std::string& fields) {
    const std::string body = R"({"prompt": "ab")" + fields + "}";
    open(parse_completion(json::parse(body).as_object(), words_, kAnsweringModel), "cmpl-1");
  }
  void open(ApiResult<CompletionCall> call, const std::string& id) {
    call = compiled(std::move(call), words_);
    ASSERT_TRUE(call.has_value()) << call.error().message;
    call_ = std::move(*call);
    response_ = std::make_unique<CompletionResponse>(call_, test::not_owned(words_), kAnsweringModel, id, 1234);
  }
  std::vector<json::object> send(RequestEvent event, std::size_t prompt = 0) {
    event.prompt_index = prompt;
    return events_of(response_->on_event(event));
  }
  json::object body() { return json::parse(response_->finish()).as_object(); }
  static json::object choice(const json::object& event) { return event.at("choices").at(0).as_object(); }

  FakeText words_;
  CompletionCall call_;
  std::unique_ptr<CompletionResponse> response_;
};

}  // namespace octavo
