// A prompt without room, as each API's programs look for it.
#include "api/call/context_full.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <boost/json.hpp>
#include <map>

#include "api/api_named.h"
#include "api/fake_text.h"
#include "api/openai_response.h"
#include "api/responses/responses_answer.h"
#include "api/tokenize_handler.h"

namespace octavo {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;

constexpr std::string_view kSaidByOpenAi =
    "This model's maximum context length is 100 tokens. However, your prompt resulted in 150 tokens. Please reduce the "
    "length of the prompt. The request (150 tokens) exceeds the available context size (100 tokens).";

class ContextFullTest : public ::testing::Test {
 protected:
  ContextFullTest() { words_.set_fills_gaps(); }

  /// The error of a body, in the form of its API.
  json::object refused(std::string_view api, const std::string& body) {
    const auto call = parse_call(api_named(api), json::parse(body).as_object(), words_, kAnsweringModel, {});
    EXPECT_FALSE(call.has_value()) << body;
    if (call) return {};
    EXPECT_EQ(call.error().status, 400);
    EXPECT_EQ(call.error().code, "context_length_exceeded");
    return json::parse(api_named(api).error_body(call.error())).as_object();
  }
  static std::string text_of(std::size_t num_tokens) { return std::string(num_tokens, 'x'); }
  static std::string chat(std::size_t num_tokens, const std::string& more = "") {
    return R"({"messages": [{"role": "user", "content": ")" + text_of(num_tokens) + "\"}]" + more + "}";
  }
  /// The prompt of chat() has BOS, "user:" and ";" around the text.
  static constexpr std::int64_t kAround = 7;

  FakeText words_;
};

TEST_F(ContextFullTest, ProgramsOfOpenAiAndOfLlamaCppFindWhatTheyLookForInOneObject) {
  const std::string gap = R"({"input_prefix": "", "input_suffix": ")" + text_of(147) + "\"}";
  for (const auto& [api, body] :
       std::map<std::string_view, std::string>{{"openai_completion", R"({"prompt": ")" + text_of(150) + "\"}"},
                                               {"llama_completion", R"({"prompt": ")" + text_of(150) + "\"}"},
                                               {"llama_infill", gap},
                                               {"openai_chat", chat(150 - kAround)},
                                               {"responses", R"({"input": ")" + text_of(150 - kAround) + "\"}"}}) {
    const json::object error = refused(api, body).at("error").as_object();
    EXPECT_EQ(error.at("code"), "context_length_exceeded") << api;
    EXPECT_EQ(error.at("type"), "exceed_context_size_error") << api;
    EXPECT_EQ(error.at("n_prompt_tokens"), 150) << api;
    EXPECT_EQ(error.at("n_ctx"), 100) << api;
    EXPECT_THAT(std::string(error.at("message").as_string()),
                AllOf(StartsWith("This model's maximum context length is 100 tokens. However, your "),
                      HasSubstr("resulted in 150 tokens. Please reduce the length of the "),
                      HasSubstr("request (150 tokens) exceeds the available context size (100 tokens)")))
        << api;
  }
  EXPECT_EQ(refused("openai_completion", R"({"prompt": ")" + text_of(150) + "\"}").at("error").at("message"),
            json::string(kSaidByOpenAi));
  EXPECT_FALSE(json::parse(error_body(invalid_value("x", "y"))).at("error").as_object().contains("n_ctx"));
}

TEST_F(ContextFullTest, AnthropicsCompactWhenTheyReadThatThePromptIsTooLong) {
  const json::object body = refused("messages", chat(150 - kAround, R"(, "max_tokens": 5)"));
  EXPECT_EQ(body.at("error").at("type"), "invalid_request_error");
  EXPECT_EQ(body.at("error").at("message"), "prompt is too long: 150 tokens > 100 maximum");
  const json::object just = refused("messages", chat(100 - kAround, R"(, "max_tokens": 5)"));
  EXPECT_EQ(just.at("error").at("message"), "prompt is too long: 100 tokens > 99 maximum") << "an answer needs one";
}

TEST_F(ContextFullTest, OllamasSentenceHasBothNumbers) {
  for (const auto& [api, body] : std::map<std::string_view, std::string>{
           {"ollama_chat", chat(150 - kAround)},
           {"ollama_generate", R"({"raw": true, "prompt": ")" + text_of(150) + "\"}"}})
    EXPECT_EQ(refused(api, body).at("error"),
              "the input length exceeds the context length: prompt too long; exceeded max context length by 50 tokens "
              "(150 of 100).")
        << api;
}

TEST_F(ContextFullTest, TextsForVectorsAreToldTheSameWay) {
  words_.embedding() = {.generates = false, .pooling = Pooling::kMean, .width = 2};
  const std::string text = text_of(149);  // the end token is behind it
  const json::object error = refused("openai_embedding", R"({"input": ")" + text + "\"}").at("error").as_object();
  EXPECT_EQ(error.at("type"), "exceed_context_size_error");
  EXPECT_EQ(error.at("n_prompt_tokens"), 150);
  EXPECT_EQ(refused("llama_embedding", R"({"content": ")" + text + "\"}").at("error").at("n_ctx"), 100);
  const std::string embed = R"({"truncate": false, "input": ")" + text + "\"}";
  EXPECT_THAT(std::string(refused("ollama_embed", embed).at("error").as_string()),
              StartsWith("the input length exceeds the context length"));
  EXPECT_EQ(refused("tei_embed", R"({"inputs": ")" + text + "\"}").at("error"),
            "Input validation error: `inputs` must have less than 101 tokens. Given: 150.");
  const std::string cohere =
      R"({"input_type": "search_query", "embedding_types": ["float"], "truncate": "NONE", "texts": [")";
  EXPECT_EQ(refused("cohere_embed", cohere + text + "\"]}").at("message"),
            "too many tokens: size limit exceeded by 50 tokens. Found 150 in texts[0], expected at most 100.");
}

TEST_F(ContextFullTest, TokensAreCountedUpToABound) {
  const auto number = [this](std::size_t num_tokens) {
    return refused("openai_completion", R"({"prompt": ")" + text_of(num_tokens) + "\"}").at("error").as_object();
  };
  EXPECT_EQ(number(kMaxCountedTokens).at("n_prompt_tokens"), kMaxCountedTokens);
  const json::object beyond = number(kMaxCountedTokens + 500);
  EXPECT_EQ(beyond.at("n_prompt_tokens"), kMaxCountedTokens + 1);
  EXPECT_THAT(std::string(beyond.at("message").as_string()), HasSubstr("There may be more tokens"));
}

TEST_F(ContextFullTest, ACountBeyondThatIsToldInTheWordsOfItsApi) {
  const Api& messages = api_named("messages");
  BufferedAnswer held;
  const auto counted =
      answer_by({.answer = answer_count, .body = json::parse(chat(kMaxCountedTokens)).as_object(), .api = &messages},
                words_, kAnsweringModel, held);
  ASSERT_FALSE(counted.has_value());
  EXPECT_THAT(messages.error_body(counted.error()), HasSubstr("prompt is too long: 262145 tokens > 100 maximum"));
}

TEST_F(ContextFullTest, AStreamEndsWithIt) {
  const ApiError error = context_overflow({.prompt_tokens = 150, .context = 100}, "input");
  const auto call = parse_call(api_named("openai_chat"), json::parse(chat(3)).as_object(), words_, kAnsweringModel, {});
  ASSERT_TRUE(call.has_value());
  EXPECT_THAT(new_writer(api_named("openai_chat"), *call, words_)->fail(error), HasSubstr(R"("n_prompt_tokens":150)"));
  EXPECT_THAT(new_writer(api_named("messages"), *call, words_)->fail(error), HasSubstr("prompt is too long: 150"));
  EXPECT_THAT(new_writer(api_named("ollama_chat"), *call, words_)->fail(error), HasSubstr("the input length exceeds"));
}

TEST_F(ContextFullTest, AResponseThatIsRefusedInItsStreamHasTheCodeThatCodexReads) {
  const ApiError error = context_overflow({.prompt_tokens = 150, .context = 100}, "input");
  std::vector<json::object> events;
  const std::string bytes = refused_response_stream(error, "m", "0123", 7);
  for (std::size_t at = 0; (at = bytes.find("\ndata: ", at)) != std::string::npos;) {
    at += std::string_view("\ndata: ").size();
    events.push_back(json::parse(bytes.substr(at, bytes.find("\n\n", at) - at)).as_object());
  }
  ASSERT_EQ(events.size(), 3U);
  EXPECT_THAT(bytes, StartsWith("event: response.created\ndata: "));
  EXPECT_EQ(events[0].at("type"), "response.created");
  EXPECT_EQ(events[0].at("response").at("status"), "in_progress");
  EXPECT_EQ(events[1].at("sequence_number"), 1);
  EXPECT_EQ(events[2].at("type"), "response.failed");
  const json::object response = events[2].at("response").as_object();
  EXPECT_EQ(response.at("id"), "resp_0123");
  EXPECT_EQ(response.at("status"), "failed");
  EXPECT_EQ(response.at("error").at("code"), "context_length_exceeded");
  EXPECT_THAT(std::string(response.at("error").at("message").as_string()), HasSubstr("resulted in 150 tokens"));
}

}  // namespace
}  // namespace octavo
