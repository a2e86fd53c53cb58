// Pages that may have a browser send requests, by what browsers say of them.
#include "http/origin_check.h"

#include <gtest/gtest.h>

#include <vector>

namespace octavo::test {
namespace {

constexpr const char* kHost = "localhost:8080";

bool may_send_from(const char* origin, std::string_view host = kHost) {
  return may_send({.host = host, .origin = origin}, {});
}

TEST(OriginCheck, APageOfTheServersOwnMaySend) {
  EXPECT_TRUE(may_send_from("http://localhost:8080"));
  EXPECT_TRUE(may_send_from("http://LOCALHOST:8080"));
  EXPECT_TRUE(may_send_from("http://[::1]:8080", "[0::1]:8080"));
  EXPECT_TRUE(may_send_from("https://chat.example", "chat.example"));
  EXPECT_TRUE(may_send_from("https://chat.example", "chat.example:443"));
  EXPECT_TRUE(may_send_from("http://chat.example", "chat.example:80"));
  EXPECT_TRUE(may_send_from("https://chat.example:8443", "chat.example")) << "a proxy cut the port off";
}

TEST(OriginCheck, APageOfAnotherHostOrPortMayNot) {
  for (const char* origin : {"http://localhost:3000", "http://localhost", "https://localhost", "http://127.0.0.1:8080",
                             "https://evil.example", "http://localhost.evil.example:8080",
                             "http://localhost:8080.evil.example", "http://evil.example/localhost:8080",
                             "chrome-extension://localhost:8080", "localhost:8080", "nonsense", "://", "http://"})
    EXPECT_FALSE(may_send_from(origin)) << origin;
  EXPECT_FALSE(may_send_from("http://[::1]:8081", "[::1]:8080"));
  EXPECT_FALSE(may_send_from("http://localhost:8080", ""));
}

TEST(OriginCheck, AProgramThatIsNoBrowserMaySend) {
  EXPECT_TRUE(may_send({.host = kHost}, {}));
  EXPECT_TRUE(may_send({.host = kHost, .site = "none"}, {}));
  EXPECT_FALSE(may_send({.host = kHost, .site = "cross-site"}, {}));
}

TEST(OriginCheck, AllowedOriginsMaySendFromAnySite) {
  const std::vector<std::string> one = {"https://page.example"}, all = {"*"};
  const PageFields page{.host = kHost, .origin = "https://page.example", .site = "cross-site"};
  const PageFields other{.host = kHost, .origin = "https://other.example", .site = "cross-site"};
  EXPECT_TRUE(may_send(page, one));
  EXPECT_FALSE(may_send(other, one));
  EXPECT_TRUE(may_send(other, all));
  EXPECT_FALSE(may_send({.host = kHost, .origin = "http://localhost:8080", .site = "cross-site"}, one));
}

// Any page has it that puts itself into a frame with a sandbox.
TEST(OriginCheck, TheOriginNullIsNeverLetIn) {
  const std::vector<std::string> named = {"null"}, all = {"*"};
  const PageFields fields{.host = kHost, .origin = "null", .site = "same-origin", .has_custom_field = true};
  EXPECT_FALSE(may_send(fields, {}));
  EXPECT_FALSE(may_send(fields, named));
  EXPECT_FALSE(may_send(fields, all));
}

// nginx puts its own name for the server in the place of the Host that the browser has sent.
TEST(OriginCheck, BehindAProxyThatChangesTheHostTheBrowserOrThePageItselfTells) {
  const PageFields silent{.host = "127.0.0.1:8080", .origin = "http://chat.example"};
  EXPECT_FALSE(may_send(silent, {}));
  PageFields by_browser = silent, by_page = silent, forged = silent;
  by_browser.site = "same-origin";
  by_page.has_custom_field = forged.has_custom_field = true;
  forged.site = "cross-site";
  EXPECT_TRUE(may_send(by_browser, {}));
  EXPECT_TRUE(may_send(by_page, {}));
  EXPECT_FALSE(may_send(forged, {}));
  by_browser.site = "same-site";
  EXPECT_FALSE(may_send(by_browser, {}));
}

TEST(OriginCheck, AnOriginThatIsNoneIsAnError) {
  for (const char* origin : {"*", "https://page.example", "http://localhost:3000", "app://obsidian.md", "file://"})
    EXPECT_TRUE(check_origin(origin)) << origin;
  for (const char* wrong : {"null", "page.example", "https://page.example/", "https://page.example/chat", "", "://a"})
    EXPECT_FALSE(check_origin(wrong)) << wrong;
}

}  // namespace
}  // namespace octavo::test
