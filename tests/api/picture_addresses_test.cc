// Addresses of pictures in the bodies of requests: each API's forms, and what is put in their places.
#include "api/call/picture_addresses.h"

#include <gmock/gmock.h>

#include <boost/json.hpp>

#include "base/error.h"

namespace octavo {
namespace {

namespace json = boost::json;
using ::testing::ElementsAre;

json::object parsed(const std::string& text) { return json::parse(text).as_object(); }

std::vector<std::string> found_in(const std::string& text) {
  json::object body = parsed(text);
  std::vector<std::string> shown;
  for (const PictureAddress& found : find_pictures(body).addresses)
    shown.push_back(found.address + " " + std::to_string(found.count));
  return shown;
}

TEST(PictureAddresses, AreFoundInEachFormOfAPart) {
  for (const std::string part :
       {R"({"type": "image_url", "image_url": {"url": "http://a"}})",
        R"({"type": "image_url", "image_url": "http://a"})", R"({"type": "image", "image": "http://a"})",
        R"({"type": "input_image", "image_url": "http://a"})",
        R"({"type": "image", "source": {"type": "url", "url": "http://a"}})",
        R"({"type": "image", "source": "http://a"})"}) {
    for (const std::string& body :
         {R"({"messages": [{"role": "user", "content": [)" + part + "]}]}",
          R"({"messages": [{"role": "user", "content": [{"type": "tool_result", "content": [)" + part + "]}]}]}",
          R"({"input": [{"role": "user", "content": [)" + part + "]}]}",
          R"({"input": [{"type": "function_call_output", "output": [)" + part + "]}]}", R"({"system": [)" + part + "]}",
          R"({"prompt": {"content": [)" + part + "]}}", R"({"prompt": ["a", {"content": [)" + part + "]}]}",
          R"({"content": {"content": [)" + part + "]}}"})
      EXPECT_THAT(found_in(body), ElementsAre("http://a 1")) << body;
  }
  EXPECT_THAT(found_in(R"({"input": [{"type": "computer_call_output", "output":
      {"type": "computer_screenshot", "image_url": "https://a"}}]})"),
              ElementsAre("https://a 1"));
}

TEST(PictureAddresses, AreThoseOfTheWebAndOfFilesEachOnce) {
  std::string parts;
  for (const char* text : {"http://b", "HTTPS://a", "file:c", "http://b", "data:image/png;base64,AAAA", "ftp://d",
                           "AAAA", "", "http", "javascript:x", "http://b"})
    parts += std::string(parts.empty() ? "" : ",") + R"({"type": "image_url", "image_url": ")" + text + "\"}";
  EXPECT_THAT(found_in(R"({"messages": [{"content": [)" + parts + "]}]}"),
              ElementsAre("http://b 3", "HTTPS://a 1", "file:c 1"));
}

TEST(PictureAddresses, OfOtherFormsAreNone) {
  for (const char* body :
       {R"({})", R"({"messages": 5})", R"({"messages": [5, null, "http://a", {"content": "http://a"}, []]})",
        R"({"messages": [{"content": [{"type": "text", "text": "http://a"}]}]})",
        R"({"messages": [{"content": [{"type": 5, "image_url": "http://a"}]}]})",
        R"({"messages": [{"content": [{"type": "image_url", "image_url": {"url": 5}}]}]})",
        R"({"messages": [{"content": [{"type": "image_url", "image_url": null}]}]})",
        R"({"messages": [{"content": [{"type": "image", "source": {"type": "base64", "data": "http://a"}}]}]})",
        R"({"prompt": "http://a"})"})
    EXPECT_THAT(found_in(body), ElementsAre()) << body;
}

TEST(PictureAddresses, ABodyHasPicturesAlsoAsDataOrBesideItsText) {
  const auto has_any = [](const std::string& text) {
    json::object body = parsed(text);
    return find_pictures(body).has_any;
  };
  for (const char* body : {R"({"messages": [{"content": [{"type": "image_url", "image_url": "data:;base64,AAAA"}]}]})",
                           R"({"messages": [{"content": "a"}, {"content": "a", "images": ["AAAA"]}]})",
                           R"({"messages": [{"content": [{"type": "image", "source": {"data": "AAAA"}}]}]})",
                           R"({"prompt": "a", "images": ["AAAA"]})", R"({"prompt": "a", "image_data": [{}]})",
                           R"({"prompt": {"prompt_string": "<__media__>", "multimodal_data": ["AAAA"]}})",
                           R"({"input": ["a", {"prompt_string": "<__media__>", "multimodal_data": ["AAAA"]}]})",
                           R"({"input": [{"output": [{"type": "input_image", "image_url": "http://a"}]}]})"})
    EXPECT_TRUE(has_any(body)) << body;
  for (const char* body : {R"({"messages": [{"content": "a"}, 5, {"content": [{"type": "text", "text": "a"}]}]})",
                           R"({"prompt": "a", "images": []})", R"({"messages": 5, "images": null})"})
    EXPECT_FALSE(has_any(body)) << body;
}

TEST(PictureAddresses, APictureStandsInThePlaceOfItsAddressAndOthersAreTold) {
  json::object body = parsed(R"({"messages": [{"content": [
      {"type": "image_url", "image_url": {"url": "http://a", "detail": "low"}},
      {"type": "image", "source": {"type": "url", "url": "http://b"}}, {"type": "image", "image": "http://a"}]}]})");
  FetchedPictures fetched;
  fetched.emplace("http://a", FetchedPicture{.bytes = "one", .media_type = "image/gif"});
  fetched.emplace("http://b", fail("gone"));
  const UnfetchedPictures unfetched = put_pictures(body, fetched);
  EXPECT_EQ(body, parsed(R"({"messages": [{"content": [
      {"type": "image_url", "image_url": {"url": "data:image/gif;base64,b25l", "detail": "low"}},
      {"type": "image", "source": {"type": "url", "url": "http://b"}},
      {"type": "image", "image": "data:image/gif;base64,b25l"}]}]})"));
  ASSERT_EQ(unfetched.size(), 1U);
  EXPECT_EQ(unfetched.at("http://b").message, "gone");
}

}  // namespace
}  // namespace octavo
