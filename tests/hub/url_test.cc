#include "hub/url.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace octavo::hub {
namespace {

using testing::HasSubstr;

TEST(Url, AnOriginIsSchemeHostAndPort) {
  EXPECT_EQ(origin_of("https://huggingface.co/a/b?c"), "https://huggingface.co:443");
  EXPECT_EQ(origin_of("https://huggingface.co:443"), "https://huggingface.co:443");
  EXPECT_NE(origin_of("http://127.0.0.1:8080/").value(), origin_of("http://127.0.0.1:8081/").value());
  EXPECT_NE(origin_of("http://localhost/").value(), origin_of("https://localhost/").value());
  EXPECT_EQ(origin_of("https://huggingface.co@evil.example/"), "https://evil.example:443");
  for (const char* url : {"", "ftp://host/", "file:///etc/passwd", "huggingface", "http://"})
    EXPECT_FALSE(origin_of(url)) << url;
}

TEST(Url, ARedirectIsAbsoluteOrRelativeAndNeverLessSafe) {
  EXPECT_EQ(redirected("https://a.example/x/y", "/z?q=1"), "https://a.example/z?q=1");
  EXPECT_EQ(redirected("https://a.example/x/y", "https://b.example/z"), "https://b.example/z");
  EXPECT_EQ(redirected("http://a.example/", "https://a.example/"), "https://a.example/");
  EXPECT_THAT(redirected("https://a.example/", "http://a.example/").error().message, HasSubstr("expected https"));
  EXPECT_FALSE(redirected("https://a.example/", "file:///etc/passwd"));
  EXPECT_FALSE(redirected("https://a.example/", "ftp://a.example/"));
}

TEST(Url, PathsAreWrittenSafely) {
  EXPECT_EQ(url_path("folder/a-b_c.~1"), "folder/a-b_c.~1");
  EXPECT_EQ(url_path("a b?#%\xC3\xA4"), "a%20b%3F%23%25%C3%A4");
}

TEST(Url, AFileNameIsTheLastPart) {
  EXPECT_EQ(file_name_of("https://a.example/x/m%20n.gguf?download=true"), "m n.gguf");
  EXPECT_EQ(file_name_of("https://a.example/x/..%2Fm"), "m");
  EXPECT_EQ(file_name_of("https://a.example"), "");
}

}  // namespace
}  // namespace octavo::hub
