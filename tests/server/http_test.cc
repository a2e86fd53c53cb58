// HTTP: what is refused and how, limits and time-outs, connections that are used again.
#include <gmock/gmock.h>

#include "octavo/version.h"
#include "server/test_client.h"

namespace octavo::test {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

constexpr const char* kSmallCompletion = R"({"prompt": "a", "max_tokens": 2})";

using Http = ServerTest;

TEST_F(Http, AnUnknownPathIs404WithAnErrorObject) {
  start_ready();
  const std::string answer = ask(get("/nothing"));
  EXPECT_THAT(answer, StartsWith("HTTP/1.1 404 Not Found\r\n"));
  EXPECT_THAT(answer, HasSubstr(R"({"error":{"message":"there is no /nothing","type":"invalid_request_error")"));
}

TEST_F(Http, AWrongMethodIs405WithAllow) {
  start_ready();
  const std::string answer = ask(get("/v1/completions"));
  EXPECT_THAT(answer, StartsWith("HTTP/1.1 405"));
  EXPECT_THAT(answer, HasSubstr("\r\nAllow: POST\r\n"));
  EXPECT_THAT(ask("DELETE /v1/models HTTP/1.1\r\nHost: x\r\n\r\n"), HasSubstr("\r\nAllow: GET, HEAD\r\n"));
}

TEST_F(Http, ABodyIsReadAsJsonWhateverItsType) {
  start_ready();
  for (const std::string type :
       {"", "Content-Type: text/plain\r\n", "Content-Type: application/x-www-form-urlencoded\r\n"}) {
    EXPECT_THAT(ask(fmt::format("POST /v1/completions HTTP/1.1\r\nHost: x\r\n{}Content-Length: {}\r\n\r\n{}", type,
                                std::string_view(kSmallCompletion).size(), kSmallCompletion)),
                StartsWith("HTTP/1.1 200"))
        << type;
  }
}

TEST_F(Http, APageOfAnotherSiteComputesNothing) {
  start_ready();
  const std::string answer = ask(post("/v1/completions", kSmallCompletion, "Origin: http://a.example\r\n"));
  EXPECT_THAT(answer, AllOf(StartsWith("HTTP/1.1 403"), HasSubstr("origin_not_allowed")));
  EXPECT_EQ(script_.num_submitted, 0);
}

TEST_F(Http, AHeadIsAGetWithoutABody) {
  start_ready();
  TestClient client(port_);
  client.send("HEAD /health HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
  const std::string answer = client.read_to_end();
  EXPECT_THAT(answer, StartsWith("HTTP/1.1 200 OK\r\n"));
  EXPECT_TRUE(answer.ends_with("\r\n\r\n"));
}

TEST_F(Http, AConnectionIsUsedForManyRequestsAlsoPipelinedOnes) {
  start_ready();
  TestClient client(port_);
  client.send(get("/health") + post("/v1/completions", kSmallCompletion) + get("/version"));
  EXPECT_THAT(client.read_answer(), HasSubstr(R"({"status":"ok"})"));
  EXPECT_THAT(client.read_answer(), HasSubstr("word word "));
  EXPECT_THAT(client.read_answer(), HasSubstr(R"({"version":")" OCTAVO_VERSION_STRING "\"}"));
  client.send(get("/health"));
  EXPECT_THAT(client.read_answer(), StartsWith("HTTP/1.1 200"));
}

TEST_F(Http, AConnectionEndsAfterItsRequests) {
  options_.http.max_requests = 2;
  start_ready();
  TestClient client(port_);
  client.send(get("/health"));
  EXPECT_THAT(client.read_answer(), Not(HasSubstr("Connection: close")));
  client.send(get("/health"));
  EXPECT_THAT(client.read_answer(), HasSubstr("Connection: close"));
  EXPECT_TRUE(client.at_end());
}

TEST_F(Http, AClientOfHttp10GetsItsStreamUnframedAndTheEndOfTheConnection) {
  start_ready();
  TestClient client(port_);
  const std::string body = R"({"prompt": "a", "max_tokens": 2, "stream": true})";
  client.send(
      fmt::format("POST /v1/completions HTTP/1.0\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n{}",
                  body.size(), body));
  const std::string answer = client.read_to_end();
  EXPECT_THAT(answer, StartsWith("HTTP/1.0 200 OK\r\n"));
  EXPECT_THAT(answer, Not(HasSubstr("chunked")));
  EXPECT_TRUE(answer.ends_with("data: [DONE]\n\n"));
}

TEST_F(Http, ARequestMayComeAfterEmptyLines) {
  start_ready();
  TestClient client(port_);
  client.send("\r\n" + post("/v1/completions", kSmallCompletion) + "\r\n" + get("/health"));
  EXPECT_THAT(client.read_answer(), StartsWith("HTTP/1.1 200"));
  EXPECT_THAT(client.read_answer(), HasSubstr(R"({"status":"ok"})"));
}

TEST_F(Http, ARequestThatServersMayReadDifferentlyIsRefused) {
  start_ready();
  const auto refusal = [this](const std::string& head) {
    TestClient client(port_);
    client.send(head + "\r\n" + get("/version"));
    const std::string answer = client.read_to_end();
    EXPECT_THAT(answer, Not(HasSubstr("\"version\""))) << head;  // the next bytes are not taken for a request
    return answer.substr(0, 12);
  };
  const std::string tokenize = "POST /tokenize HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n";
  EXPECT_EQ(refusal("GET /health HTTP/1.1\r\n"), "HTTP/1.1 400");
  EXPECT_EQ(refusal("GET /health HTTP/1.1\r\nHost: x\r\nHost: y\r\n"), "HTTP/1.1 400");
  EXPECT_EQ(refusal(tokenize + "Transfer-Encoding: identity\r\n"), "HTTP/1.1 501");
  EXPECT_EQ(refusal(tokenize + "Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n"), "HTTP/1.1 501");
  EXPECT_EQ(refusal(tokenize + "Transfer-Encoding: chunked\r\nContent-Length: 2\r\n"), "HTTP/1.1 400");
  EXPECT_EQ(refusal(tokenize + "Content-Length: 2\r\nContent-Length: 3\r\n"), "HTTP/1.1 400");
  EXPECT_THAT(ask("GET /health HTTP/1.0\r\n\r\n"), StartsWith("HTTP/1.0 200"));
}

TEST_F(Http, AChunkedBodyOfHttp10IsRefused) {
  start_ready();
  TestClient client(port_);
  client.send(
      "POST /tokenize HTTP/1.0\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n"
      "Connection: keep-alive\r\n\r\n11\r\n{\"prompt\": \"abc\"}\r\n0\r\n\r\n" +
      get("/version"));
  const std::string answer = client.read_to_end();
  EXPECT_THAT(answer, StartsWith("HTTP/1.0 400"));
  EXPECT_THAT(answer, HasSubstr("found a transfer coding in a request of HTTP/1.0"));
  EXPECT_THAT(answer, Not(HasSubstr("\"version\"")));
}

TEST_F(Http, AClientThatSendsNoMoreGetsItsAnswerUnlessItIsGenerated) {
  start_ready();
  const auto answer = [this](const std::string& request) {
    TestClient client(port_);
    client.send(request);
    client.end_sending();
    return client.read_to_end();
  };
  EXPECT_THAT(answer(get("/health")), HasSubstr(R"({"status":"ok"})"));
  EXPECT_THAT(answer(post("/tokenize", "{}")), StartsWith("HTTP/1.1 400"));
  script_.held = true;
  EXPECT_EQ(answer(post("/v1/completions", kSmallCompletion)), "");
}

TEST_F(Http, ABodyMayComeInChunks) {
  start_ready();
  TestClient client(port_);
  client.send(
      "POST /v1/completions HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
      "Transfer-Encoding: chunked\r\n\r\n11\r\n{\"prompt\": \"a\", \"\r\n");
  client.send("10\r\nmax_tokens\": 2 }\r\n0\r\n\r\n");
  EXPECT_THAT(client.read_answer(), StartsWith("HTTP/1.1 200"));
}

TEST_F(Http, AClientThatWaitsForTheGoAheadGetsIt) {
  start_ready();
  TestClient client(port_);
  client.send(
      "POST /v1/completions HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nExpect: 100-continue\r\n"
      "Content-Length: 32\r\n\r\n");
  EXPECT_EQ(client.read_until("\r\n\r\n"), "HTTP/1.1 100 Continue\r\n\r\n");
  client.send(kSmallCompletion);
  EXPECT_THAT(client.read_answer(), StartsWith("HTTP/1.1 200"));
}

TEST_F(Http, ALongBodyIsRefusedBeforeItIsRead) {
  options_.http.max_body_bytes = 1000;
  start_ready();
  TestClient client(port_);
  client.send(
      "POST /v1/completions HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 1001\r\n\r\n{");
  EXPECT_THAT(client.read_answer(), StartsWith("HTTP/1.1 413"));
  EXPECT_TRUE(client.at_end());
}

TEST_F(Http, ALongBodyInChunksIsRefused) {
  options_.http.max_body_bytes = 1000;
  start_ready();
  TestClient client(port_);
  client.send(
      "POST /v1/completions HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
      "Transfer-Encoding: chunked\r\n\r\n3e9\r\n" +
      std::string(1001, ' '));
  EXPECT_THAT(client.read_answer(), StartsWith("HTTP/1.1 413"));
}

TEST_F(Http, AChunkWithALongExtensionOrTrailerIsRefusedAtOnce) {
  options_.http.max_header_bytes = 1000;
  start_ready();
  const std::string head =
      "POST /v1/completions HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
      "Transfer-Encoding: chunked\r\n\r\n";
  const std::string many(50'000, 'x');
  for (const std::string& body : {"1;" + many + "\r\n{\r\n", "0\r\nX: " + many + "\r\n\r\n"}) {
    TestClient client(port_);
    client.send(head + body);
    const std::string answer = client.read_answer();
    EXPECT_THAT(answer, StartsWith("HTTP/1.1 400"));
    EXPECT_THAT(answer, HasSubstr("longer than 1000 bytes"));
    EXPECT_THAT(answer, HasSubstr("Connection: close"));
    EXPECT_TRUE(client.at_end());
  }
}

TEST_F(Http, ALongHeaderIs431) {
  options_.http.max_header_bytes = 1000;
  start_ready();
  EXPECT_THAT(ask("GET /health HTTP/1.1\r\nX: " + std::string(2000, 'x')), StartsWith("HTTP/1.1 431"));
  // The fields count, and not the line before them.
  const std::string fields = "Host: localhost\r\nX: ", end = "\r\n\r\n";
  const std::string longest = "GET /health HTTP/1.1\r\n" + fields + std::string(1000 - fields.size() - end.size(), 'x');
  EXPECT_THAT(ask(longest + end), StartsWith("HTTP/1.1 200"));
  EXPECT_THAT(ask(longest + "x" + end), StartsWith("HTTP/1.1 431"));
}

TEST_F(Http, GarbageIs400AndTheEndOfTheConnection) {
  start_ready();
  TestClient client(port_);
  client.send("\x16\x03\x01 hello\r\n\r\n");
  EXPECT_THAT(client.read_to_end(), StartsWith("HTTP/1.1 400"));
}

TEST_F(Http, ASlowSenderIs408) {
  options_.http.read_timeout = 200ms;
  start_ready();
  TestClient client(port_);
  client.send(
      "POST /v1/completions HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 9\r\n\r\n{");
  EXPECT_THAT(client.read_to_end(), StartsWith("HTTP/1.1 408"));
}

TEST_F(Http, AnIdleConnectionIsClosed) {
  options_.http.idle_timeout = 200ms;
  start_ready();
  TestClient fresh(port_);
  EXPECT_TRUE(fresh.at_end());
  TestClient used(port_);
  used.send(get("/health"));
  used.read_answer();
  EXPECT_TRUE(used.at_end());
}

TEST_F(Http, MoreConnectionsThanAllowedAreToldSo) {
  options_.listen.connections.all = 2;
  script_.held = true;
  start_ready();
  TestClient one(port_), two(port_);
  for (TestClient* client : {&one, &two}) client->send(completion(9, false));
  ASSERT_TRUE(eventually([this] { return script_.num_running == 2; }));
  TestClient three(port_);
  const std::string answer = three.read_to_end();
  EXPECT_THAT(answer, StartsWith("HTTP/1.1 503"));
  const std::size_t body = answer.find("\r\n\r\n") + 4;
  EXPECT_THAT(answer, HasSubstr(fmt::format("Content-Length: {}\r\n", answer.size() - body)));
  two.close();
  EXPECT_TRUE(eventually([this] { return ask(get("/health")).starts_with("HTTP/1.1 200"); }));
}

TEST_F(Http, DeepJsonIsRefused) {
  options_.bodies.max_json_depth = 5;
  start_ready();
  const std::string answer = ask(post("/v1/completions", R"({"prompt": [[[[[[1]]]]]]})"));
  EXPECT_THAT(answer, StartsWith("HTTP/1.1 400"));
  EXPECT_THAT(answer, HasSubstr("deeper than 5"));
}

TEST_F(Http, BrokenJsonIsRefusedWithThePlace) {
  start_ready();
  const std::string answer = ask(post("/v1/completions", R"({"prompt": "a", )"));
  EXPECT_THAT(answer, StartsWith("HTTP/1.1 400"));
  EXPECT_THAT(answer, HasSubstr("byte"));
  EXPECT_THAT(ask(post("/v1/completions", "[1]")), HasSubstr("no JSON object"));
}

TEST_F(Http, OtherOriginsAreLetInOnlyWhereConfigured) {
  start_ready();
  EXPECT_THAT(ask(get("/health", "Origin: http://a.example\r\n")), Not(HasSubstr("Access-Control")));
  EXPECT_THAT(ask("OPTIONS /v1/models HTTP/1.1\r\nHost: x\r\nOrigin: http://a.example\r\n\r\n"),
              StartsWith("HTTP/1.1 405"));
}

TEST_F(Http, AConfiguredOriginIsLetIn) {
  options_.access.cors_origins = {"http://a.example"};
  start_ready();
  EXPECT_THAT(ask(get("/health", "Origin: http://a.example\r\n")),
              HasSubstr("\r\nAccess-Control-Allow-Origin: http://a.example\r\n"));
  EXPECT_THAT(ask(get("/health", "Origin: http://b.example\r\n")), Not(HasSubstr("Access-Control-Allow-Origin")));
  const std::string preflight = ask(
      "OPTIONS /v1/models HTTP/1.1\r\nHost: x\r\nOrigin: http://a.example\r\n"
      "Access-Control-Request-Method: POST\r\nAccess-Control-Request-Headers: authorization,x-stainless-lang\r\n\r\n");
  EXPECT_THAT(preflight, StartsWith("HTTP/1.1 204"));
  EXPECT_THAT(preflight, HasSubstr("\r\nAccess-Control-Allow-Headers: authorization,x-stainless-lang\r\n"));
}

}  // namespace
}  // namespace octavo::test
