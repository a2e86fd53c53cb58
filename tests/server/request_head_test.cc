// A request's head, without a server: the reasons to refuse it, and the fields of its answer.
#include "server/request_head.h"

#include <gmock/gmock.h>

namespace octavo::test {
namespace {

using namespace server;
using ::testing::AllOf;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Pair;

HttpRequest request(http::verb method, std::string_view target) {
  HttpRequest out(method, boost::beast::string_view(target.data(), target.size()), 11);
  out.set(http::field::host, "localhost:8080");
  if (method == http::verb::post) out.set(http::field::content_type, "application/json; charset=utf-8");
  return out;
}

int status_of(const HttpRequest& head, const Entrance& entrance, const ApiKeys& keys = {},
              const CorsOrigins& origins = {}) {
  const auto error = check_head(head, Routes(), entrance, keys, origins);
  return error ? error->status : 200;
}

TEST(RequestHead, ARouteIsRefusedForItsPathOrMethodAndForNoContentType) {
  EXPECT_EQ(status_of(request(http::verb::post, "/v1/completions"), {}), 200);
  EXPECT_EQ(status_of(request(http::verb::get, "/v1/models"), {}), 200);
  EXPECT_EQ(status_of(request(http::verb::get, "/v1/nothing"), {}), 404);
  EXPECT_EQ(status_of(request(http::verb::get, "/v1/completions"), {}), 405);
  for (const char* type : {"application/x-www-form-urlencoded", "text/plain", "multipart/form-data", "", "nonsense"})
    for (const char* path : {"/v1/chat/completions", "/v1/messages", "/api/chat", "/completion", "/tokenize"}) {
      HttpRequest call = request(http::verb::post, path);
      call.set(http::field::content_type, type);
      EXPECT_EQ(status_of(call, {}), 200) << type << path;
    }
  HttpRequest untyped = request(http::verb::post, "/v1/completions");
  untyped.erase(http::field::content_type);
  EXPECT_EQ(status_of(untyped, {}), 200);
}

TEST(RequestHead, APageOfAnotherSiteIsRefusedWhateverTypeItSends) {
  const ApiKeys keys = ApiKeys::parse("a-key-of-sixteen-letters\n", "keys").value();
  for (const char* type : {"application/json", "text/plain", "application/x-www-form-urlencoded"})
    for (const char* path : {"/v1/completions", "/v1/messages", "/api/generate", "/models/unload"}) {
      HttpRequest call = request(http::verb::post, path);
      call.set(http::field::content_type, type);
      call.set(http::field::origin, "https://page.example");
      const auto error = check_head(call, Routes(), {}, keys, {});
      ASSERT_TRUE(error) << type << path;
      EXPECT_EQ(error->status, 403);
      EXPECT_EQ(error->code, "origin_not_allowed");
      EXPECT_THAT(error->message, AllOf(HasSubstr("'https://page.example'"), HasSubstr("'localhost:8080'"),
                                        HasSubstr("--cors-origin")));
      EXPECT_EQ(status_of(call, {}, {}, {"https://page.example"}), 200);
      call.set(http::field::origin, "http://localhost:8080");
      EXPECT_EQ(status_of(call, {}), 200);
      call.erase(http::field::origin);
      call.set("Sec-Fetch-Site", "cross-site");
      EXPECT_EQ(status_of(call, {}), 403);
    }
  HttpRequest forget = request(http::verb::delete_, "/v1/responses/resp_1");
  forget.set(http::field::origin, "https://page.example");
  EXPECT_EQ(status_of(forget, {}), 403);
}

// Nothing that a GET does changes anything, and the browser shows no answer to a page that may not see it.
TEST(RequestHead, AGetIsAnsweredWhoeversPageAsks) {
  HttpRequest link = request(http::verb::get, "/health");
  link.set("Sec-Fetch-Site", "cross-site");
  EXPECT_EQ(status_of(link, {}), 200);
}

TEST(RequestHead, AHostThatIsNotTheServersIsRefusedFirstOfAll) {
  const std::vector<std::string> names = {"localhost"};
  Entrance entrance;
  entrance.hosts = HostList::of(names).value();
  EXPECT_EQ(status_of(request(http::verb::get, "/health"), entrance), 200);
  HttpRequest other = request(http::verb::get, "/v1/nothing");
  other.set(http::field::host, "attacker.example");
  const auto error = check_head(other, Routes(), entrance, {}, {});
  ASSERT_TRUE(error);
  EXPECT_EQ(error->status, 403);
  EXPECT_THAT(error->message, HasSubstr("'attacker.example'"));
}

TEST(RequestHead, AnEntranceForMetricsHasProbesBesideThemAndAsksForNoKey) {
  const ApiKeys keys = ApiKeys::parse("a-key-of-sixteen-letters\n", "keys").value();
  Entrance metrics_alone, main;
  metrics_alone.metrics_alone = true;
  main.has_metrics = false;
  EXPECT_EQ(status_of(request(http::verb::get, "/metrics"), metrics_alone, keys), 200);
  EXPECT_EQ(status_of(request(http::verb::get, "/ready"), metrics_alone, keys), 200);
  EXPECT_EQ(status_of(request(http::verb::get, "/v1/models"), metrics_alone, keys), 404);
  EXPECT_EQ(status_of(request(http::verb::get, "/metrics"), main, keys), 404);
}

TEST(RequestHead, AKeyIsAskedForBeforeTheBodyIsRead) {
  const ApiKeys keys = ApiKeys::parse("a-key-of-sixteen-letters\n", "keys").value();
  HttpRequest call = request(http::verb::post, "/v1/completions");
  EXPECT_EQ(status_of(call, {}, keys), 401);
  call.set(http::field::authorization, "Bearer another-key-of-letters");
  EXPECT_EQ(status_of(call, {}, keys), 401);
  call.set(http::field::authorization, "Bearer a-key-of-sixteen-letters");
  EXPECT_EQ(status_of(call, {}, keys), 200);
  EXPECT_EQ(key_revoked().status, 401);
}

TEST(RequestHead, ABrowserThatAsksFirstNeedsNoKey) {
  const ApiKeys keys = ApiKeys::parse("a-key-of-sixteen-letters\n", "keys").value();
  HttpRequest ask = request(http::verb::options, "/v1/completions");
  EXPECT_EQ(status_of(ask, {}, keys, {"https://page.example"}), 200);
  EXPECT_EQ(status_of(ask, {}, keys), 405);
  EXPECT_THAT(preflight(ask, Routes()).headers,
              Contains(Pair("Access-Control-Allow-Headers", HasSubstr("Authorization"))));
  ask.set(http::field::access_control_request_headers, "x-of-the-page");
  EXPECT_THAT(preflight(ask, Routes()).headers, Contains(Pair("Access-Control-Allow-Headers", "x-of-the-page")));
  EXPECT_EQ(preflight(ask, Routes()).status, 204);
}

TEST(RequestHead, AnAnswerHasTheRequestsIdAndTheOriginIfItMayCall) {
  const auto headers_for = [](const std::string& origin, const CorsOrigins& origins, int status = 200) {
    HttpRequest call = request(http::verb::get, "/v1/models");
    if (!origin.empty()) call.set(http::field::origin, origin);
    HttpResponse response{.status = status};
    add_headers(call, Routes(), "id-7", origins, response);
    return response.headers;
  };
  EXPECT_THAT(headers_for("https://page.example", {}), testing::ElementsAre(Pair("X-Request-Id", "id-7")));
  EXPECT_THAT(headers_for("https://page.example", {"https://other.example"}),
              testing::ElementsAre(Pair("X-Request-Id", "id-7")));
  EXPECT_THAT(headers_for("https://page.example", {"https://page.example"}),
              Contains(Pair("Access-Control-Allow-Origin", "https://page.example")));
  EXPECT_THAT(headers_for("https://page.example", {"*"}), Contains(Pair("Access-Control-Allow-Origin", "*")));
  EXPECT_THAT(headers_for("", {"*"}), testing::ElementsAre(Pair("X-Request-Id", "id-7")));
  EXPECT_THAT(headers_for("", {}, 405), Contains(Pair("Allow", "GET, HEAD")));
}

}  // namespace
}  // namespace octavo::test
