// Bodies of OpenAI's API as calls, for tests of how they are read.
#pragma once

#include <gtest/gtest.h>

#include <boost/json/parse.hpp>
#include <string>

#include "api/call/completion.h"
#include "api/compiled_call.h"
#include "api/fake_text.h"
#include "api/openai/openai_chat.h"
#include "api/openai/openai_completion.h"

namespace octavo {

using test::FakeText;

inline const ServedModel kAskedModel{.id = "text",
                                     .aliases = {"Text.gguf"},
                                     .created = 1,
                                     .sampling_defaults = {.temperature = 0.5F, .top_k = 7},
                                     .policy = {.reasoning_budget = 100, .max_client_priority = 5}};

class OpenAiRequest : public ::testing::Test {
 protected:
  ApiResult<CompletionCall> completion(const std::string& fields) {
    return compiled(parse_completion(boost::json::parse("{" + fields + "}").as_object(), words_, kAskedModel), words_);
  }
  ApiResult<CompletionCall> chat(const std::string& fields) {
    return compiled(parse_chat_completion(boost::json::parse("{" + fields + "}").as_object(), words_, kAskedModel),
                    words_);
  }
  /// The one request of a completion with this prompt and these fields.
  Request request(const std::string& fields) {
    auto call = completion(R"("prompt": "ab")" + (fields.empty() ? "" : ", " + fields));
    EXPECT_TRUE(call.has_value()) << fields << ": " << call.error().message;
    return call ? call->requests.at(0) : Request{};
  }
  ApiError completion_error(const std::string& fields) {
    const auto call = completion(R"("prompt": "ab", )" + fields);
    EXPECT_FALSE(call.has_value()) << fields;
    return call ? ApiError{.status = 200} : call.error();
  }
  ApiError chat_error(const std::string& fields) {
    const auto call = chat(fields);
    EXPECT_FALSE(call.has_value()) << fields;
    return call ? ApiError{.status = 200} : call.error();
  }
  std::string chat_prompt(const std::string& messages) {
    const auto call = chat(R"("messages": )" + messages);
    EXPECT_TRUE(call.has_value()) << messages << ": " << call.error().message;
    return call ? words_.detokenize(call->requests.at(0).tokens) : "";
  }

  FakeText words_;
};

inline const std::string kUser = R"("messages": [{"role": "user", "content": "hi"}])";

}  // namespace octavo
