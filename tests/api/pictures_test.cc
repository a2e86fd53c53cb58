// Pictures of requests for a model that sees, by each API: their bytes, order, tokens and errors.
#include <gmock/gmock.h>

#include <boost/json.hpp>
#include <map>
#include <string>
#include <vector>

#include "api/api_named.h"
#include "api/llama/llama_props.h"
#include "api/openai_response.h"
#include "api/tokenize_handler.h"

namespace octavo {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// Base64 of "one", "two", "bad" and "huge".
constexpr std::string_view kOne = "b25l", kTwo = "dHdv", kBad = "YmFk", kHuge = "aHVnZQ==";

class Pictures : public ::testing::Test {
 protected:
  Pictures() {
    words_.set_vision();
    words_.set_context(1000);
  }

  ApiResult<CompletionCall> call(std::string_view api, const std::string& body) {
    return parse_call(api_named(api), json::parse(body).as_object(), words_, model_, {.store = &store_});
  }
  ApiResult<CompletionCall> chat(const std::string& parts, const std::string& more = "") {
    return call("openai_chat", R"({"messages": [{"role": "user", "content": [)" + parts + "]}]" + more + "}");
  }
  /// The error's message; empty: there is none.
  static std::string message(const ApiResult<CompletionCall>& made) { return made ? "" : made.error().message; }

  /// "role:TEXT[PICTURE]" of the messages that the template was given.
  std::string said() const {
    std::string out;
    for (const ChatMessage& message : words_.last_messages) {
      out += message.role + ":" + message.content;
      for (const ContentPart& part : message.parts)
        out += part.kind == ContentPart::Kind::kPicture ? "[" + *part.picture.bytes + "]" : part.text;
      out += ';';
    }
    return out;
  }
  std::vector<PictureInput> given() const {
    std::vector<PictureInput> pictures;
    for (const ChatMessage& message : words_.last_messages)
      for (const ContentPart& part : message.parts)
        if (part.kind == ContentPart::Kind::kPicture) pictures.push_back(part.picture);
    return pictures;
  }

  FakeText words_;
  ResponseStore store_{{}};
  ServedModel model_ = kAnsweringModel;
};

std::string image_url(std::string_view data) {
  return R"({"type": "image_url", "image_url": {"url": "data:image/png;base64,)" + std::string(data) + "\"}}";
}

TEST_F(Pictures, EachApiHasThemInTheClientsOrder) {
  const std::map<std::string_view, std::string> bodies = {
      {"openai_chat", R"({"messages": [{"role": "user", "content": [)" + image_url(kOne) +
                          R"(, {"type": "text", "text": "a"}, )" + image_url(kTwo) + "]}]}"},
      {"messages", R"({"max_tokens": 5, "messages": [{"role": "user", "content": [
          {"type": "image", "source": {"type": "base64", "media_type": "image/jpeg", "data": "b25l"}},
          {"type": "text", "text": "a"},
          {"type": "image", "source": {"type": "base64", "media_type": "text/html", "data": "dHdv"}}]}]})"},
      {"responses", R"({"input": [{"role": "user", "content": [
          {"type": "input_image", "image_url": "data:image/png;base64,b25l", "detail": "auto"},
          {"type": "input_text", "text": "a"}, {"type": "input_image", "image_url": {"url": "dHdv"}}]}]})"}};
  for (const auto& [api, body] : bodies) {
    const auto made = call(api, body);
    ASSERT_TRUE(made) << made.error().message;
    EXPECT_EQ(said(), "user:[one]a[two];") << api;
    EXPECT_TRUE(words_.last_options.decodes_pictures);
    ASSERT_EQ(made->requests.front().pictures.size(), 2U);
    EXPECT_EQ(made->requests.front().pictures[0].count, 3);
    EXPECT_EQ(made->prompts.front().num_image_tokens, 6);
    EXPECT_THAT(made->warnings, IsEmpty());
  }
}

TEST_F(Pictures, OllamasStandBeforeTheText) {
  ASSERT_TRUE(call("ollama_chat", R"({"messages": [{"role": "user", "content": "a", "images": ["b25l"]},
      {"role": "assistant", "content": "b"}, {"role": "user", "content": "c", "images": ["dHdv", "b25l"]}]})"));
  EXPECT_EQ(said(), "user:[one]a;assistant:b;user:[two][one]c;");
  const auto made = call("ollama_generate", R"({"prompt": "a", "system": "s", "images": ["b25l", "dHdv"]})");
  ASSERT_TRUE(made) << made.error().message;
  EXPECT_EQ(said(), "system:s;user:[one][two]a;");
  EXPECT_EQ(given()[1].place, "images[1]");
  EXPECT_THAT(message(call("ollama_generate", R"({"prompt": "a", "raw": true, "images": ["b25l"]})")),
              HasSubstr("images: found images (1) beside raw or suffix, expected none"));
  EXPECT_THAT(message(call("ollama_chat", R"({"messages": [{"role": "user", "content": "a", "images": [5]}]})")),
              HasSubstr("messages[0].images[0]: found the number 5"));
}

TEST_F(Pictures, AChatTakesEachFormOfOne) {
  for (const std::string part :
       {R"({"type": "image_url", "image_url": "data:image/png;base64,b25l"})",
        R"({"type": "image_url", "image_url": {"url": "b25l"}})", R"({"type": "image_url", "image_url": "b25l"})",
        R"({"type": "image", "image": "data:image/png;base64,b25l"})", R"({"type": "image", "image": "b25l"})",
        R"({"type": "image_url", "image_url": {"url": "DATA:image/png;charset=x;BASE64,b25l"}})",
        R"({"type": "input_image", "image_url": "data:;base64,b25\n l"})"}) {
    EXPECT_EQ(message(chat(part)), "") << part;
    EXPECT_EQ(said(), "user:[one];") << part;
  }
  EXPECT_EQ(message(chat(image_url("aHVnZQ"))), "messages[0].content[0].image_url.url: found too much");  // no padding
}

TEST_F(Pictures, ThoseOfAHistoryAreSeenToo) {
  const std::string body = R"({"messages": [{"role": "user", "content": [)" + image_url(kOne) +
                           R"(]}, {"role": "assistant", "content": "b"}, {"role": "user", "content": "c"}]})";
  ASSERT_TRUE(call("openai_chat", body));
  EXPECT_EQ(said(), "user:[one];assistant:b;user:c;");
}

TEST_F(Pictures, ResultsOfToolsHaveThem) {
  const std::string source = R"({"type": "image", "source": {"type": "base64", "data": "b25l"}})";
  ASSERT_TRUE(call("messages", R"({"max_tokens": 5, "messages": [{"role": "user", "content": "go"},
      {"role": "assistant", "content": [{"type": "tool_use", "id": "t", "name": "f", "input": {}}]},
      {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t", "content": [
        {"type": "text", "text": "r"}, )" +
                                   source + "]}]}]}"));
  EXPECT_EQ(said(), "user:go;assistant:;tool:r[one];");
  EXPECT_EQ(given()[0].place, "messages[2].content[0].content[1].image.source.data");
  ASSERT_TRUE(call("responses", R"({"input": [{"role": "user", "content": "go"},
      {"type": "function_call", "call_id": "c", "name": "f", "arguments": "{}"},
      {"type": "function_call_output", "call_id": "c", "output": [
        {"type": "input_image", "image_url": "data:image/png;base64,b25l"}]}]})"));
  EXPECT_EQ(said(), "user:go;assistant:;tool:[one];");
  EXPECT_EQ(given()[0].place, "input[2].output[0].image_url");
  ASSERT_TRUE(call("openai_chat", R"({"messages": [{"role": "user", "content": "go"},
      {"role": "tool", "tool_call_id": "c", "content": [)" +
                                      image_url(kOne) + "]}]}"));
  EXPECT_EQ(said(), "user:go;tool:[one];");
}

TEST_F(Pictures, DetailSaysTheMostTokensAndTheRequestsOwnNumbersGoBeforeIt) {
  const auto tokens = [this](const std::string& detail, const std::string& more = "") {
    const auto made = chat(R"({"type": "image_url", "image_url": {"url": "b25l", "detail": ")" + detail + "\"}}", more);
    EXPECT_TRUE(made) << made.error().message;
    const PictureInput picture = given().at(0);
    return std::pair(picture.min_tokens, picture.max_tokens);
  };
  EXPECT_EQ(tokens("auto"), std::pair(0, 0));
  EXPECT_EQ(tokens("low"), std::pair(0, 256));
  EXPECT_EQ(tokens("high"), std::pair(0, 2048));
  EXPECT_EQ(tokens("low", R"(, "image_max_tokens": 100)"), std::pair(0, 100));
  EXPECT_EQ(tokens("high", R"(, "image_min_tokens": 50, "image_max_tokens": 5000)"), std::pair(50, 2048));
  EXPECT_EQ(tokens("auto", R"(, "image_min_tokens": 600)"), std::pair(600, 600));
  EXPECT_THAT(message(chat(image_url(kOne), R"(, "image_min_tokens": 9, "image_max_tokens": 8)")),
              HasSubstr("image_max_tokens: found 8, expected at least image_min_tokens, 9"));
  EXPECT_THAT(message(chat(image_url(kOne), R"(, "image_min_tokens": 0)")), HasSubstr("image_min_tokens: found"));
  EXPECT_THAT(message(chat(R"({"type": "image_url", "image_url": {"url": "b25l", "detail": "much"}})")),
              HasSubstr("messages[0].content[0].image_url.detail: found the string \"much\", expected auto"));
}

TEST_F(Pictures, OneThatIsNoneIsAnErrorWithItsPlace) {
  struct Case {
    std::string part, message, code, param = "messages[0].content[0].image_url.url";
  };
  for (const Case& wrong : std::vector<Case>{
           {image_url(kBad), "found no picture", "invalid_image"},
           {image_url(kHuge), "found too much", "image_too_large"},
           {image_url("a%b="), "found a text that is no base64", "invalid_image"},
           {image_url(""), "found nothing", "invalid_image"},
           {R"({"type": "image_url", "image_url": {"url": "data:image/svg+xml,<svg/>"}})", "without ;base64",
            "invalid_image"},
           {R"({"type": "image_url", "image_url": {"url": "https://example.com/a.png"}})",
            "found the address 'https://example.com/a.png', expected a data URL", "unsupported_parameter"},
           {R"({"type": "image_url", "image_url": {"url": "file:///etc/passwd"}})",
            "found the address 'file:", "unsupported_parameter"},
           {R"({"type": "input_image", "file_id": "f"})", "found the name of a file", "unsupported_parameter",
            "messages[0].content[0].file_id"},
           {R"({"type": "image_url", "image_url": {"url": 5}})", "found the number 5", "invalid_type"}}) {
    const auto made = chat(wrong.part);
    ASSERT_FALSE(made) << wrong.part;
    EXPECT_EQ(made.error().status, 400);
    EXPECT_THAT(made.error().message, AllOf(HasSubstr(wrong.param + ": "), HasSubstr(wrong.message)));
    EXPECT_EQ(made.error().code, wrong.code) << wrong.part;
    EXPECT_EQ(made.error().param, wrong.param) << wrong.part;
  }
}

TEST_F(Pictures, OneAtAnAddressInAHistoryIsANoteAndAWarning) {
  const std::string body = R"({"messages": [{"role": "user", "content": [
      {"type": "image_url", "image_url": {"url": "https://example.com/a.png"}}, {"type": "image_url"},
      {"type": "input_image", "file_id": "f"}]},
      {"role": "assistant", "content": "b"}, {"role": "user", "content": "c"}]})";
  const auto made = call("openai_chat", body);
  ASSERT_TRUE(made);
  EXPECT_EQ(said(),
            "user:[an image that this model cannot see][an image that this model cannot see][an image that this model "
            "cannot see];assistant:b;user:c;");
  EXPECT_THAT(made->warnings,
              ElementsAre(AllOf(HasSubstr("messages[0].content[0].image_url.url: found the address"),
                                HasSubstr("but from hosts of --image-urls: the model is told of an image that it "
                                          "cannot see; there are 2 such pictures"))));
}

TEST_F(Pictures, OneThatWasNotFetchedIsAnErrorOrAWarningByTheReason) {
  const std::string image = R"({"type": "image_url", "image_url": {"url": "http://a/b.png"}})";
  const UnfetchedPictures gone = {{"http://a/b.png", Error{"found the status 404, expected 200"}}};
  const auto ask = [&](const std::string& messages, const UnfetchedPictures& unfetched) {
    return parse_call(api_named("openai_chat"), json::parse(R"({"messages": [)" + messages + "]}").as_object(), words_,
                      model_, {.store = &store_}, {}, {}, &unfetched);
  };
  const std::string said = R"({"role": "user", "content": [)" + image + "]}";
  const auto refused = ask(said, gone);
  EXPECT_EQ(message(refused), "messages[0].content[0].image_url.url: found the status 404, expected 200");
  EXPECT_EQ(refused.error().param, "messages[0].content[0].image_url.url");
  EXPECT_EQ(refused.error().code, "invalid_image_url");
  const auto code = [&](ErrorKind kind) {
    return ask(said, {{"http://a/b.png", Error{.message = "found x", .kind = kind}}}).error().code;
  };
  EXPECT_EQ(code(ErrorKind::kInvalidPicture), "invalid_image");
  EXPECT_EQ(code(ErrorKind::kPictureTooLarge), "image_too_large");
  const auto later = ask(said + R"(, {"role": "assistant", "content": "b"}, {"role": "user", "content": "c"})", gone);
  ASSERT_TRUE(later) << later.error().message;
  EXPECT_THAT(later->warnings, ElementsAre(HasSubstr("found the status 404, expected 200: the model is told of")));
}

TEST_F(Pictures, MoreOrLargerOnesThanTheBoundsAreRefusedByBothNumbers) {
  model_.policy.picture_bounds = {.bytes = 30, .pictures = 2};
  EXPECT_THAT(message(chat(image_url(kOne) + ", " + image_url(kOne) + ", " + image_url(kOne))),
              HasSubstr("messages[0].content[2].image_url.url: found picture 3 of the request, expected at most 2"));
  const auto made = chat(image_url(std::string(80, 'A')));
  EXPECT_THAT(message(made), HasSubstr("found a picture of about 60 bytes, expected at most 30"));
  EXPECT_EQ(made.error().code, "image_too_large");
}

TEST_F(Pictures, WhatWasMadeSmallerIsAWarning) {
  words_.picture_warnings = {"messages[0].content[0]: the picture is shrunk"};
  const auto made = chat(image_url(kOne));
  ASSERT_TRUE(made);
  EXPECT_THAT(made->warnings, ElementsAre("messages[0].content[0]: the picture is shrunk"));
}

TEST_F(Pictures, UsageCountsTheirTokens) {
  auto made = chat(image_url(kOne) + ", " + image_url(kTwo));
  ASSERT_TRUE(made);
  const auto writer = new_writer(api_named("openai_chat"), *made, words_);
  RequestEvent end = token(FakeText::kEnd, "");
  end.finish = FinishReason::kStop;
  end.stats.prompt_tokens = 20;
  writer->on_event(end);
  const json::value answer = json::parse(writer->finish());
  EXPECT_EQ(answer.at_pointer("/usage/prompt_tokens_details/image_tokens"), 6);
}

TEST_F(Pictures, AResponseKeepsThemForTheNextOne) {
  auto made = call("responses", R"({"input": [{"role": "user", "content": [
      {"type": "input_image", "image_url": "data:image/png;base64,b25l"}]}]})");
  ASSERT_TRUE(made);
  const auto writer = new_writer(api_named("responses"), *made, words_);
  RequestEvent end = token(FakeText::kEnd, "");
  end.finish = FinishReason::kStop;
  writer->on_event(end);
  const json::value answer = json::parse(writer->finish());
  const std::string id(answer.at("id").as_string());
  const auto next = call("responses", R"({"input": "and?", "previous_response_id": ")" + id + "\"}");
  ASSERT_TRUE(next) << next.error().message;
  EXPECT_THAT(said(), HasSubstr("user:[one];"));
  const FakeText blind;
  const auto unseen = parse_call(api_named("responses"), {{"input", "and?"}, {"previous_response_id", id}}, blind,
                                 model_, {.store = &store_});
  ASSERT_TRUE(unseen) << unseen.error().message;
  EXPECT_THAT(blind.detokenize(unseen->requests.front().tokens), HasSubstr("[an image that this model cannot see]"));
}

TEST_F(Pictures, CountingDecodesNone) {
  BufferedAnswer held;
  const TokenizeCall counted{.answer = answer_count,
                             .body = json::parse(R"({"messages": [{"role": "user", "content": [
      {"type": "image", "source": {"type": "base64", "data": "b25l"}}]}]})")
                                         .as_object(),
                             .api = &api_named("messages")};
  const auto answer = answer_by(counted, words_, model_, held, {});
  ASSERT_TRUE(answer) << answer.error().message;
  EXPECT_FALSE(words_.last_options.decodes_pictures);
  EXPECT_EQ(said(), "user:[one];");
}

TEST_F(Pictures, WhatIsNeitherTextNorAPictureIsRefusedAsBefore) {
  EXPECT_THAT(message(chat(R"({"type": "input_audio", "input_audio": {"data": "b25l", "format": "wav"}})")),
              HasSubstr("a recording, expected text or a picture: this server reads no more"));
}

TEST_F(Pictures, AScreenshotOfAComputerIsThePictureOfItsCall) {
  const std::string said = R"({"role": "user", "content": "go"},
      {"type": "computer_call", "call_id": "c", "action": {"type": "screenshot"}},
      {"type": "computer_call_output", "call_id": "c", "output": {"type": "computer_screenshot", "image_url": ")";
  ASSERT_TRUE(call("responses", R"({"input": [)" + said + R"(data:image/png;base64,b25l"}}]})"));
  EXPECT_EQ(this->said(), "user:go;assistant:;tool:[one];");
  ASSERT_TRUE(call("responses", R"({"input": [)" + said + R"(https://example.com/a.png"}}]})"));
  EXPECT_THAT(this->said(), HasSubstr("tool:[an image that this model cannot see];"));
}

TEST_F(Pictures, APlaceholderIsForModelsThatSeeNone) {
  model_.policy.image_placeholder = "[image]";
  ASSERT_TRUE(chat(image_url(kOne)));
  EXPECT_EQ(said(), "user:[one];");
}

TEST_F(Pictures, ARawPromptHasThemByMarks) {
  const auto made = call("llama_completion", R"({"prompt": {"prompt_string": "a<__media__>b<__media__>",
      "multimodal_data": ["b25l", "data:image/png;base64,dHdv"]}})");
  ASSERT_TRUE(made) << made.error().message;
  EXPECT_EQ(said(), ":a[one]b[two];");
  EXPECT_EQ(given()[1].place, "prompt.multimodal_data[1]");
  EXPECT_EQ(made->requests.front().pictures.size(), 2U);
  EXPECT_EQ(made->prompts.front().num_image_tokens, 6);
  const auto several = call("openai_completion", R"({"prompt": ["a", {"prompt_string": "<__media__>",
      "multimodal_data": ["b25l"]}, {"prompt_string": "b"}]})");
  ASSERT_TRUE(several) << several.error().message;
  EXPECT_EQ(several->requests[0].pictures.size(), 0U);
  EXPECT_EQ(several->requests[1].pictures.size(), 1U);
  EXPECT_EQ(several->requests[2].pictures.size(), 0U);
}

TEST_F(Pictures, ARawPromptHasThemByNumbers) {
  const auto made = call("llama_completion", R"({"prompt": "a[img-12]b[img-3][img-x]c[img-12]",
      "image_data": [{"data": "b25l", "id": 3}, {"data": "dHdv", "id": 12}]})");
  ASSERT_TRUE(made) << made.error().message;
  EXPECT_EQ(said(), ":a[two]b[one][img-x]c[two];");
  EXPECT_EQ(given()[1].place, "image_data[0].data");
  ASSERT_TRUE(call("llama_completion", R"({"prompt": "a[img-12]", "image_data": []})"));
}

TEST_F(Pictures, MarksWithoutPicturesAreRefused) {
  const auto raw = [this](const std::string& fields) { return message(call("llama_completion", "{" + fields + "}")); };
  EXPECT_EQ(raw(R"("prompt": {"prompt_string": "<__media__>", "multimodal_data": ["b25l", "b25l"]})"),
            "prompt.prompt_string: found 1 of <__media__>, expected 2: one for each of multimodal_data");
  EXPECT_EQ(raw(R"("prompt": {"prompt_string": "a", "multimodal_data": [5]})"),
            "prompt.prompt_string: found 0 of <__media__>, expected 1: one for each of multimodal_data");
  EXPECT_THAT(raw(R"("prompt": {"prompt_string": "<__media__>", "multimodal_data": [5]})"),
              HasSubstr("prompt.multimodal_data[0]: found the number 5"));
  EXPECT_THAT(raw(R"("prompt": {"multimodal_data": []})"), HasSubstr("prompt.prompt_string: found none"));
  EXPECT_THAT(raw(R"("prompt": "[img-1]", "image_data": [{"data": "b25l", "id": 2}])"),
              HasSubstr("image_data: found no picture with the id 1"));
  EXPECT_THAT(raw(R"("prompt": "a", "image_data": [{"data": "b25l", "id": 2}])"),
              HasSubstr("image_data: found a picture with the id 2, expected [img-2] in the prompt"));
  EXPECT_THAT(raw(R"("prompt": "[img-2]", "image_data": [{"data": "b25l", "id": 2}, {"data": "b25l", "id": 2}])"),
              HasSubstr("image_data[1].id: found 2 a second time"));
  EXPECT_THAT(raw(R"("prompt": [1, 2], "image_data": [{"data": "b25l", "id": 2}])"),
              HasSubstr("image_data: found pictures beside a prompt that is no single text"));
  model_.policy.picture_bounds.pictures = 2;
  EXPECT_THAT(raw(R"("prompt": "[img-2][img-2][img-2]", "image_data": [{"data": "b25l", "id": 2}])"),
              HasSubstr("image_data: found more than 2 places"));
}

TEST_F(Pictures, ARawPromptWithThemIsNotEchoed) {
  EXPECT_THAT(message(call("openai_completion", R"({"echo": true, "prompt": {"prompt_string": "<__media__>",
                  "multimodal_data": ["b25l"]}})")),
              HasSubstr("echo: a prompt with pictures is not repeated"));
}

TEST_F(Pictures, AGapAndAChatHaveNoneBesideThem) {
  const std::string images = R"("image_data": [{"data": "b25l", "id": 1}])";
  EXPECT_THAT(message(call("llama_infill", R"({"input_prefix": "a", "input_suffix": "b", )" + images + "}")),
              HasSubstr("image_data: a gap has no pictures"));
  EXPECT_THAT(message(call("openai_chat", R"({"messages": [{"role": "user", "content": "a"}], )" + images + "}")),
              HasSubstr("image_data: pictures stand in the messages of a chat"));
}

TEST_F(Pictures, VectorsAreMadeOfThem) {
  words_.embedding() = {.pooling = Pooling::kMean, .width = 4, .names_pooling = true};
  const auto made = call("openai_embedding",
                         R"({"input": ["a", {"content": [{"type": "text", "text": "b"}, )" + image_url(kOne) + "]}]}");
  ASSERT_TRUE(made) << made.error().message;
  EXPECT_EQ(said(), ":b[one];");
  EXPECT_EQ(made->requests[0].pictures.size(), 0U);
  EXPECT_EQ(made->requests[1].pictures.size(), 1U);
  ASSERT_TRUE(
      call("llama_embedding", R"({"content": {"prompt_string": "b<__media__>", "multimodal_data": ["dHdv"]}})"));
  EXPECT_EQ(said(), ":b[two];");
  words_.set_context(4);
  EXPECT_THAT(message(call("llama_embedding", R"({"truncate": true, "content": {"prompt_string": "bbb<__media__>",
                  "multimodal_data": ["dHdv"]}})")),
              HasSubstr("your content resulted in 7 tokens"));
}

TEST_F(Pictures, PropsSayThatTheModelSees) {
  EXPECT_EQ(llama_props(model_, words_.info()).at("modalities").at("vision"), true);
  EXPECT_EQ(llama_props(model_, words_.info()).at("media_marker"), "<__media__>");
  EXPECT_EQ(llama_props(model_, FakeText().info()).at("modalities").at("vision"), false);
}

TEST_F(Pictures, AModelThatReadsTextsNamesTheMissingOption) {
  const FakeText blind;
  const auto made =
      parse_call(api_named("openai_chat"),
                 json::parse(R"({"messages": [{"role": "user", "content": [)" + image_url(kOne) + "]}]}").as_object(),
                 blind, model_, {.store = &store_});
  EXPECT_THAT(message(made), HasSubstr("--mmproj"));
}

}  // namespace
}  // namespace octavo
