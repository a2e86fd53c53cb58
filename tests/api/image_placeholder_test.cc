// Images of requests, which a server that is told to answers with a text in their place.
#include "api/fields/image_placeholder.h"

#include <gmock/gmock.h>

#include <map>

#include "api/api_named.h"
#include "api/openai_response.h"

namespace octavo {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

json::object parsed(const std::string& text) { return json::parse(text).as_object(); }

const ServedModel kBlind{.id = "text", .policy = {.image_placeholder = "[image]"}};

/// A question with two images by each API.
const std::map<std::string_view, std::string> kBodies = {
    {"openai_chat", R"({"messages": [{"role": "user", "content": [{"type": "text", "text": "a"},
      {"type": "image_url", "image_url": {"url": "data:,"}}, {"type": "image_url", "image_url": {"url": "data:,"}}]}]})"},
    {"messages", R"({"max_tokens": 5, "messages": [{"role": "user", "content": [{"type": "text", "text": "a"},
      {"type": "image", "source": {"type": "url", "url": "x"}}, {"type": "image", "source": {}}]}]})"},
    {"responses", R"({"input": [{"role": "user", "content": [{"type": "input_text", "text": "a"},
      {"type": "input_image", "image_url": "data:,"}, {"type": "input_image", "file_id": "x"}]}]})"},
    {"ollama_chat", R"({"messages": [{"role": "user", "content": "a", "images": ["eA==", "eA=="]}]})"},
    {"ollama_generate", R"({"prompt": "a", "images": ["eA==", "eA=="]})"}};

TEST(ImagePlaceholder, StandsForTheImagesOfEveryApiAndTheAnswerSaysSo) {
  ResponseStore store({});
  for (const auto& [api, body] : kBodies) {
    const FakeText words;
    const auto call = parse_call(api_named(api), parsed(body), words, kBlind, {.store = &store});
    ASSERT_TRUE(call.has_value()) << call.error().message;
    EXPECT_EQ(words.detokenize(call->requests[0].tokens), "<bos>user:a\n[image]\n[image];");
    EXPECT_THAT(call->warnings, ElementsAre(HasSubstr("2 of the request's images are replaced by the text '[image]'")));
  }
}

TEST(ImagePlaceholder, WithoutOneARequestWithAnImageIsRefused) {
  ResponseStore store({});
  for (const auto& [api, body] : kBodies) {
    const FakeText words;
    const auto call = parse_call(api_named(api), parsed(body), words, kAnsweringModel, {.store = &store});
    ASSERT_FALSE(call.has_value()) << body;
    EXPECT_EQ(call.error().status, 400);
    EXPECT_THAT(call.error().message, HasSubstr("reads text"));
  }
}

TEST(ImagePlaceholder, StandsInResultsOfToolsTooAndNowhereElse) {
  json::object body = parsed(R"({"messages": [{"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t",
      "content": [{"type": "image", "source": {}}]}]}], "tools": [{"input_schema": {"type": "image"}}],
      "metadata": {"content": [{"type": "image"}]}})");
  json::object expected = body;
  EXPECT_EQ(replace_images(body, "x"), 1U);
  expected["messages"].at(0).at("content").at(0).at("content").at(0) = {{"type", "text"}, {"text", "x"}};
  EXPECT_EQ(body, expected);
  EXPECT_EQ(replace_images(body, "x"), 0U);
  json::object odd = parsed(R"({"messages": [5, [], {"content": 5, "images": 5}, {"content": {"type": "image"}}]})");
  const json::object before = odd;
  EXPECT_EQ(replace_images(odd, "x"), 0U);
  EXPECT_EQ(odd, before);
}

}  // namespace
}  // namespace octavo
