// Entrances of the server's addresses: hosts, keys, metrics, numbers of connections.
#include <gmock/gmock.h>

#include "server/test_client.h"

namespace octavo::test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

constexpr const char* kKey = "Authorization: Bearer secret-secret-secret\r\n";

class Entrance : public ServerTest {
 protected:
  Entrance() { options_.allowed_hosts.clear(); }

  void use_keys() { options_.service.keys = *server::ApiKeys::parse("secret-secret-secret\n", "keys"); }
  std::string ask_as(const std::string& host, const std::string& path = "/health") { return ask(get(path, "", host)); }
  /// At the address that metrics have of their own.
  std::string ask_metrics(const std::string& path, const std::string& host = "localhost") {
    return ask(get(path, "", host), port_of(server_->metrics_url()));
  }
};

TEST_F(Entrance, APageThatCameByAnotherNameCannotCallAServerOfThisMachine) {
  start_ready();
  for (const std::string host : {"localhost", "127.0.0.1", "[::1]", "LOCALHOST.", "localhost:1234"})
    EXPECT_THAT(ask_as(host), StartsWith("HTTP/1.1 200")) << host;
  for (const std::string host : {"evil.example", "evil.example:8080", "localhost.evil.example", "", "192.168.1.1"})
    for (const std::string path : {"/", "/health", "/metrics", "/v1/models", "/nothing"}) {
      const std::string answer = ask_as(host, path);
      EXPECT_THAT(answer, StartsWith("HTTP/1.1 403 Forbidden\r\n")) << host << path;
      EXPECT_THAT(answer,
                  AllOf(HasSubstr("host_not_allowed"), HasSubstr("--allowed-host"), HasSubstr("'" + host + "'")));
    }
  const std::string body = R"({"prompt": "a", "max_tokens": 2})";
  EXPECT_THAT(ask("POST /v1/completions HTTP/1.1\r\nHost: evil.example\r\nContent-Type: application/json\r\n"
                  "Content-Length: 32\r\n\r\n" +
                  body),
              StartsWith("HTTP/1.1 403"));
  EXPECT_THAT(ask("OPTIONS /v1/models HTTP/1.1\r\nHost: evil.example\r\n\r\n"), StartsWith("HTTP/1.1 403"));
  EXPECT_THAT(ask("GET http://evil.example/health HTTP/1.1\r\nHost: localhost\r\n\r\n"), StartsWith("HTTP/1.1 403"));
  EXPECT_THAT(ask("GET http://localhost/health HTTP/1.1\r\nHost: localhost\r\n\r\n"), StartsWith("HTTP/1.1 200"));
  EXPECT_THAT(ask("GET /health HTTP/1.0\r\n\r\n"), StartsWith("HTTP/1.0 200"));
  EXPECT_EQ(script_.num_submitted, 0);
}

TEST_F(Entrance, ALongHostIsShownInPart) {
  start_ready();
  const std::string answer = ask_as(std::string(10'000, 'a'));
  EXPECT_THAT(answer, StartsWith("HTTP/1.1 403"));
  EXPECT_LT(answer.size(), 1000U);
}

TEST_F(Entrance, AConfiguredHostIsLetInBesideThisMachinesOwn) {
  options_.allowed_hosts = {"chat.example"};
  start_ready();
  EXPECT_THAT(ask_as("chat.example"), StartsWith("HTTP/1.1 200"));
  EXPECT_THAT(ask_as("Chat.Example:443"), StartsWith("HTTP/1.1 200"));
  EXPECT_THAT(ask_as("localhost"), StartsWith("HTTP/1.1 200"));
  EXPECT_THAT(ask_as("evil.example"), StartsWith("HTTP/1.1 403"));
}

TEST_F(Entrance, WithAStarEveryHostIsLetIn) {
  options_.allowed_hosts = {"*"};
  start_ready();
  EXPECT_THAT(ask_as("evil.example"), StartsWith("HTTP/1.1 200"));
}

TEST_F(Entrance, TheAddressToListenAtIsAHostAsWell) {
  options_.host = "127.0.0.2";
  auto server = server::Server::create(options_, {});
  ASSERT_TRUE(server) << server.error().message;
  options_.host = "127.0.0.1";
  options_.allowed_hosts = {"127.0.0.2"};
  start_ready();
  EXPECT_THAT(ask_as("127.0.0.2"), StartsWith("HTTP/1.1 200"));
  EXPECT_THAT(ask_as("127.0.0.3"), StartsWith("HTTP/1.1 403"));
}

TEST_F(Entrance, WithKeysOrBeyondThisMachineEveryHostIsLetInUnlessSomeAreNamed) {
  options_.host = "0.0.0.0";
  start_ready();
  EXPECT_THAT(ask_as("any.example"), StartsWith("HTTP/1.1 200"));
  EXPECT_TRUE(server_->is_open_to_all());
}

TEST_F(Entrance, WithKeysEveryHostIsLetIn) {
  use_keys();
  start_ready();
  EXPECT_THAT(ask_as("any.example"), StartsWith("HTTP/1.1 200"));
  EXPECT_FALSE(server_->is_open_to_all());
}

TEST_F(Entrance, NamedHostsCountBeyondThisMachineAndWithKeysToo) {
  options_.host = "0.0.0.0";
  options_.allowed_hosts = {"chat.example"};
  use_keys();
  start_ready();
  EXPECT_THAT(ask_as("chat.example"), StartsWith("HTTP/1.1 200"));
  EXPECT_THAT(ask_as("other.example"), StartsWith("HTTP/1.1 403"));
  EXPECT_FALSE(server_->is_open_to_all());
}

TEST_F(Entrance, AServerOfThisMachineAloneIsNotOpenToAll) {
  start_ready();
  EXPECT_FALSE(server_->is_open_to_all());
}

TEST_F(Entrance, MetricsTellNoTenantAboutTheOthers) {
  use_keys();
  start_ready();
  EXPECT_THAT(ask(get("/metrics")), AllOf(StartsWith("HTTP/1.1 401"), Not(HasSubstr("octavo:num_requests"))));
  EXPECT_THAT(ask(get("/metrics", "Authorization: Bearer wrong-wrong-wrong-wrong\r\n")), StartsWith("HTTP/1.1 401"));
  EXPECT_THAT(ask(get("/metrics", kKey)), AllOf(StartsWith("HTTP/1.1 200"), HasSubstr("octavo:num_requests_running")));
  for (const char* open : {"/health", "/ready", "/version", "/"})
    EXPECT_THAT(ask(get(open)), StartsWith("HTTP/1.1 200")) << open;
}

TEST_F(Entrance, MetricsMayHaveAnAddressOfTheirOwnWhereNobodyNeedsAKey) {
  use_keys();
  options_.metrics = {.host = "127.0.0.1", .port = 0};
  start_ready();
  EXPECT_THAT(ask_metrics("/metrics"), AllOf(StartsWith("HTTP/1.1 200"), HasSubstr("octavo:num_requests_running")));
  EXPECT_THAT(ask_metrics("/health"), StartsWith("HTTP/1.1 200"));
  EXPECT_THAT(ask_metrics("/ready"), StartsWith("HTTP/1.1 200"));
  for (const char* absent : {"/", "/version", "/v1/models", "/nothing"})
    EXPECT_THAT(ask_metrics(absent), StartsWith("HTTP/1.1 404")) << absent;
  EXPECT_THAT(ask(post("/v1/completions", R"({"prompt": "a"})", kKey), port_of(server_->metrics_url())),
              AnyOf(StartsWith("HTTP/1.1 404"), StartsWith("HTTP/1.1 403")));
  EXPECT_THAT(ask(get("/metrics", kKey)), AllOf(StartsWith("HTTP/1.1 404"), HasSubstr("--metrics-listen")));
  EXPECT_THAT(ask_metrics("/metrics", "evil.example"), StartsWith("HTTP/1.1 403"));
  EXPECT_EQ(script_.num_submitted, 0);
}

TEST_F(Entrance, AFullServerCanStillBeLookedAt) {
  options_.max_connections = 1;
  options_.metrics = {.host = "127.0.0.1", .port = 0};
  start_ready();
  TestClient one(port_);
  one.send(get("/health", "", "localhost"));
  ASSERT_THAT(one.read_answer(), StartsWith("HTTP/1.1 200"));
  EXPECT_THAT(ask_as("localhost"), StartsWith("HTTP/1.1 503"));
  EXPECT_THAT(ask_metrics("/metrics"), StartsWith("HTTP/1.1 200"));
}

TEST_F(Entrance, ADrainClosesTheAddressOfMetricsAsWell) {
  options_.metrics = {.host = "127.0.0.1", .port = 0};
  start_ready();
  TestClient idle(port_of(server_->metrics_url()));
  idle.send(get("/health", "", "localhost"));
  idle.read_answer();
  EXPECT_TRUE(stop());
}

TEST_F(Entrance, OneAddressHasAShareOfTheConnections) {
  options_.max_connections_per_client = 2;
  start_ready();
  {
    TestClient one(port_), two(port_);
    for (TestClient* client : {&one, &two}) {
      client->send(get("/health", "", "localhost"));
      ASSERT_THAT(client->read_answer(), StartsWith("HTTP/1.1 200"));
    }
    TestClient three(port_);
    EXPECT_THAT(three.read_to_end(), AllOf(StartsWith("HTTP/1.1 503"), HasSubstr("from this address")));
  }
  EXPECT_TRUE(eventually([this] { return ask_as("localhost").starts_with("HTTP/1.1 200"); }));
}

TEST_F(Entrance, ATrustedProxyIsNotOneAddress) {
  options_.max_connections_per_client = 1;
  options_.service.proxies = server::TrustedProxies::parse(std::vector<std::string>{"127.0.0.1"}).value();
  start_ready();
  TestClient one(port_), two(port_);
  for (TestClient* client : {&one, &two}) {
    client->send(get("/health", "", "localhost"));
    EXPECT_THAT(client->read_answer(), StartsWith("HTTP/1.1 200"));
  }
}

}  // namespace
}  // namespace octavo::test
