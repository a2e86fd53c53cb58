// Entrances of the server's addresses: hosts, keys, metrics, numbers of connections.
#include <gmock/gmock.h>

#include <deque>

#include "server/test_client.h"

namespace octavo::test {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

constexpr const char* kKey = "Authorization: Bearer secret-secret-secret\r\n";

class Entrance : public ServerTest {
 protected:
  Entrance() { options_.listen.allowed_hosts.clear(); }

  void use_keys() { files_.keys = *server::ApiKeys::parse("secret-secret-secret\n", "keys"); }
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

TEST_F(Entrance, TheChatPageHasAStrictPolicyAndNoFrame) {
  start_ready();
  const std::string answer = ask_as("localhost", "/");
  EXPECT_THAT(answer, HasSubstr("\r\nContent-Security-Policy: default-src 'none'; script-src 'sha256-"));
  EXPECT_THAT(answer, HasSubstr("frame-ancestors 'none'"));
  EXPECT_THAT(answer, Not(HasSubstr("unsafe-")));
  for (const char* header :
       {"X-Frame-Options: DENY", "X-Content-Type-Options: nosniff", "Referrer-Policy: no-referrer"})
    EXPECT_THAT(answer, HasSubstr(std::string("\r\n") + header + "\r\n"));
}

TEST_F(Entrance, ALongHostIsShownInPart) {
  start_ready();
  const std::string answer = ask_as(std::string(10'000, 'a'));
  EXPECT_THAT(answer, StartsWith("HTTP/1.1 403"));
  EXPECT_LT(answer.size(), 1000U);
}

TEST_F(Entrance, AConfiguredHostIsLetInBesideThisMachinesOwn) {
  options_.listen.allowed_hosts = {"chat.example"};
  start_ready();
  EXPECT_THAT(ask_as("chat.example"), StartsWith("HTTP/1.1 200"));
  EXPECT_THAT(ask_as("Chat.Example:443"), StartsWith("HTTP/1.1 200"));
  EXPECT_THAT(ask_as("localhost"), StartsWith("HTTP/1.1 200"));
  EXPECT_THAT(ask_as("evil.example"), StartsWith("HTTP/1.1 403"));
}

TEST_F(Entrance, WithAStarEveryHostIsLetIn) {
  options_.listen.allowed_hosts = {"*"};
  start_ready();
  EXPECT_THAT(ask_as("evil.example"), StartsWith("HTTP/1.1 200"));
}

TEST_F(Entrance, TheAddressToListenAtIsAHostAsWell) {
  options_.listen.host = "127.0.0.2";
  auto server = server::Server::create(options_, files_, {});
  ASSERT_TRUE(server) << server.error().message;
  options_.listen.host = "127.0.0.1";
  options_.listen.allowed_hosts = {"127.0.0.2"};
  start_ready();
  EXPECT_THAT(ask_as("127.0.0.2"), StartsWith("HTTP/1.1 200"));
  EXPECT_THAT(ask_as("127.0.0.3"), StartsWith("HTTP/1.1 403"));
}

TEST_F(Entrance, WithKeysOrBeyondThisMachineEveryHostIsLetInUnlessSomeAreNamed) {
  options_.listen.host = "0.0.0.0";
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
  options_.listen.host = "0.0.0.0";
  options_.listen.allowed_hosts = {"chat.example"};
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
  EXPECT_THAT(ask(get("/slots")), StartsWith("HTTP/1.1 401"));
  EXPECT_THAT(ask(get("/slots", kKey)), StartsWith("HTTP/1.1 200"));
  EXPECT_THAT(ask(get("/metrics")), AllOf(StartsWith("HTTP/1.1 401"), Not(HasSubstr("octavo:num_requests"))));
  EXPECT_THAT(ask(get("/metrics", "Authorization: Bearer wrong-wrong-wrong-wrong\r\n")), StartsWith("HTTP/1.1 401"));
  EXPECT_THAT(ask(get("/metrics", kKey)), AllOf(StartsWith("HTTP/1.1 200"), HasSubstr("octavo:num_requests_running")));
  for (const char* open : {"/health", "/ready", "/version", "/"})
    EXPECT_THAT(ask(get(open)), StartsWith("HTTP/1.1 200")) << open;
}

TEST_F(Entrance, MetricsMayHaveAnAddressOfTheirOwnWhereNobodyNeedsAKey) {
  use_keys();
  options_.listen.metrics = {.host = "127.0.0.1", .port = 0};
  start_ready();
  EXPECT_THAT(ask_metrics("/metrics"), AllOf(StartsWith("HTTP/1.1 200"), HasSubstr("octavo:num_requests_running")));
  EXPECT_THAT(ask_metrics("/slots"), StartsWith("HTTP/1.1 200"));
  EXPECT_THAT(ask(get("/slots", kKey)), AllOf(StartsWith("HTTP/1.1 404"), HasSubstr("--metrics-listen")));
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
  options_.listen.connections.all = 1;
  options_.listen.metrics = {.host = "127.0.0.1", .port = 0};
  options_.listen.allowed_hosts = {"x"};
  script_.held = true;
  start_ready();
  TestClient one(port_);
  one.send(completion(9, false));
  ASSERT_TRUE(eventually([this] { return script_.num_running == 1; }));
  EXPECT_THAT(ask_as("localhost"), StartsWith("HTTP/1.1 503"));
  EXPECT_THAT(ask_metrics("/metrics"), StartsWith("HTTP/1.1 200"));
}

TEST_F(Entrance, ADrainClosesTheAddressOfMetricsAsWell) {
  options_.listen.metrics = {.host = "127.0.0.1", .port = 0};
  start_ready();
  TestClient idle(port_of(server_->metrics_url()));
  idle.send(get("/health", "", "localhost"));
  idle.read_answer();
  EXPECT_TRUE(stop());
}

TEST_F(Entrance, OneAddressHasAShareOfTheConnections) {
  options_.listen.connections.per_client = 2;
  options_.listen.allowed_hosts = {"x"};
  script_.held = true;
  start_ready();
  {
    TestClient one(port_), two(port_);
    for (TestClient* client : {&one, &two}) client->send(completion(9, false));
    ASSERT_TRUE(eventually([this] { return script_.num_running == 2; }));
    TestClient three(port_);
    EXPECT_THAT(three.read_to_end(), AllOf(StartsWith("HTTP/1.1 503"), HasSubstr("from this address")));
  }
  EXPECT_TRUE(eventually([this] { return ask_as("localhost").starts_with("HTTP/1.1 200"); }));
}

TEST_F(Entrance, ATrustedProxyIsNotOneAddress) {
  options_.listen.connections.per_client = 1;
  options_.listen.proxies.add(*Network::parse("127.0.0.1"));
  options_.listen.allowed_hosts = {"x"};
  script_.held = true;
  start_ready();
  TestClient one(port_), two(port_);
  for (TestClient* client : {&one, &two}) client->send(completion(9, false));
  EXPECT_TRUE(eventually([this] { return script_.num_running == 2; }));
}

TEST_F(Entrance, TheLongestSilentConnectionGoesWhereTheyRunOut) {
  options_.listen.connections.all = 3;
  start_ready();
  TestClient mute(port_), between(port_), last(port_);
  for (TestClient* client : {&between, &last}) {
    client->send(get("/health", "", "localhost"));
    ASSERT_THAT(client->read_answer(), StartsWith("HTTP/1.1 200"));
  }
  TestClient asks(port_);
  asks.send(get("/health", "", "localhost"));
  EXPECT_THAT(asks.read_answer(), StartsWith("HTTP/1.1 200"));
  EXPECT_TRUE(mute.at_end());
  EXPECT_THAT(ask_as("localhost"), StartsWith("HTTP/1.1 200"));
  EXPECT_TRUE(between.at_end());
  last.send(get("/health", "", "localhost"));
  EXPECT_THAT(last.read_answer(), StartsWith("HTTP/1.1 200"));
}

TEST_F(Entrance, ARequestThatIsReadOrAnsweredKeepsItsConnection) {
  options_.listen.connections.all = 3;
  options_.listen.proxies.add(*Network::parse("127.0.0.1"));  // else one address would have more than half
  options_.listen.allowed_hosts = {"x"};
  options_.http.stall_time = 1h;
  script_.held = true;
  start_ready();
  TestClient read(port_), answered(port_), silent(port_);
  answered.send(completion(2, false));
  const std::string whole = completion(1, false);
  read.send(whole.substr(0, whole.size() - 1));
  ASSERT_TRUE(eventually([this] { return script_.num_running == 1; }));
  for (int i = 0; i < 10; ++i) EXPECT_THAT(ask_as("localhost"), StartsWith("HTTP/1.1 200"));
  EXPECT_TRUE(silent.at_end());
  script_.held = false;
  EXPECT_THAT(answered.read_answer(), StartsWith("HTTP/1.1 200"));
  read.send(whole.substr(whole.size() - 1));
  EXPECT_THAT(read.read_answer(), StartsWith("HTTP/1.1 200"));
}

TEST(SilentConnection, IsNoneWhoseBytesWaitToBeRead) {
  boost::asio::io_context io;
  Tcp::acceptor acceptor(io, {boost::asio::ip::address_v4::loopback(), 0});
  const HttpLimits limits;
  ReceivedBytes received(1 << 20);
  for (const bool has_sent : {true, false}) {
    TestClient client(acceptor.local_endpoint().port());
    Tcp::socket socket = acceptor.accept();
    if (has_sent) client.send("G");
    ASSERT_TRUE(eventually([&] { return socket.available() == (has_sent ? 1U : 0U); }));
    HttpConnection connection(make_plain_transport(std::move(socket)), limits, received, io.get_executor());
    EXPECT_EQ(connection.give_up_place(ConnectionStanding::kSilent), !has_sent);
    EXPECT_EQ(connection.closed(), !has_sent);
  }
}

TEST_F(Entrance, AHeadThatHasBegunKeepsItsConnection) {
  options_.listen.connections.all = 2;
  options_.listen.proxies.add(*Network::parse("127.0.0.1"));
  options_.http.stall_time = 1h;
  start_ready();
  TestClient one(port_), two(port_);
  for (TestClient* client : {&one, &two}) client->send("GET /hea");
  ASSERT_TRUE(eventually([this] { return ask_as("localhost").starts_with("HTTP/1.1 503"); }));
  EXPECT_THAT(ask_as("localhost"), StartsWith("HTTP/1.1 503")) << "they have begun";
  one.send("lth HTTP/1.1\r\nHost: localhost\r\n\r\n");
  EXPECT_THAT(one.read_answer(), StartsWith("HTTP/1.1 200"));
}

TEST_F(Entrance, AHeadThatComesTooLateKeepsNoConnection) {
  options_.listen.connections.all = 1;
  options_.listen.proxies.add(*Network::parse("127.0.0.1"));
  options_.http.stall_time = 1ms;
  start_ready();
  TestClient late(port_);
  late.send("GET /hea");
  EXPECT_TRUE(eventually([this] { return ask_as("localhost").starts_with("HTTP/1.1 200"); }));
  EXPECT_TRUE(late.at_end());
}

/// A request of which the last byte does not come.
const std::string kNotWhole = get("/health", "Content-Length: 2\r\n", "localhost") + "1";

TEST_F(Entrance, ABodyThatStaysAwayKeepsNoConnection) {
  options_.listen.connections.all = 1;
  options_.listen.proxies.add(*Network::parse("127.0.0.1"));
  options_.http.stall_time = 1ms;
  start_ready();
  TestClient late(port_);
  late.send(kNotWhole);
  EXPECT_TRUE(eventually([this] { return ask_as("localhost").starts_with("HTTP/1.1 200"); }));
  EXPECT_TRUE(late.at_end());
}

TEST_F(Entrance, RequestsThatAreNotWholeShutNobodyOutAndNoStreamIsLostForThem) {
  options_.listen.connections.all = 8;
  options_.listen.allowed_hosts = {"x"};
  options_.http.stall_time = 1h;
  script_.step_time = 1ms;
  start_ready();
  TestClient stream(port_);
  stream.send(completion(2000, true));
  stream.read_until("word");
  std::deque<TestClient> never_whole;
  for (int i = 0; i < 30; ++i) {
    never_whole.emplace_back(port_).send(kNotWhole);
    EXPECT_THAT(ask_as("localhost"), StartsWith("HTTP/1.1 200")) << i;
  }
  EXPECT_TRUE(never_whole.front().at_end());
  EXPECT_EQ(script_.num_cancelled, 0);
  EXPECT_THAT(stream.read_until("0\r\n\r\n"), HasSubstr("[DONE]"));
}

/// Places of connections that are no more than numbers.
class Places : public ::testing::Test {
 protected:
  struct Connection {
    std::string peer;
    bool has_sent = false;  // something that nobody has read yet
    std::unique_ptr<ConnectionPlaces::Place> place = {};
    bool is_closed = false;
  };

  static Address address(const std::string& text) { return parse_address(text).value(); }
  /// Null: there was no room.
  Connection* open(const std::string& peer) {
    if (places_.make_room(address(peer))) return nullptr;
    Connection& connection = connections_.emplace_back(peer);
    connection.place =
        std::make_unique<ConnectionPlaces::Place>(places_, address(peer), [&](ConnectionStanding standing) {
          ++num_looks_;
          connection.is_closed = standing != ConnectionStanding::kSilent || !connection.has_sent;
          return connection.is_closed;
        });
    return &connection;
  }
  /// Those that are closed, by their number.
  std::vector<std::size_t> closed() const {
    std::vector<std::size_t> found;
    for (std::size_t i = 0; i < connections_.size(); ++i)
      if (connections_[i].is_closed) found.push_back(i);
    return found;
  }

  const TrustedProxies nobody_;
  const ConnectionLimits limits_{.all = 4};
  ConnectionPlaces places_{limits_, nobody_};
  std::deque<Connection> connections_;
  int num_looks_ = 0;
};

TEST_F(Places, TheAddressThatHasMostGivesUpTheOneThatIsSilentLongest) {
  for (const char* peer : {"192.0.2.1", "192.0.2.2", "192.0.2.2", "192.0.2.2"}) open(peer);
  connections_[1].place->set_standing(ConnectionStanding::kBusy);
  EXPECT_NE(open("192.0.2.3"), nullptr);
  EXPECT_THAT(closed(), ElementsAre(2));
  connections_[1].place->set_standing(ConnectionStanding::kSilent);
  EXPECT_NE(open("192.0.2.3"), nullptr);
  EXPECT_THAT(closed(), ElementsAre(2, 3)) << "two of two addresses: the longest silent one of both";
  EXPECT_NE(open("192.0.2.3"), nullptr);
  EXPECT_THAT(closed(), ElementsAre(2, 3, 4)) << "its own";
}

TEST_F(Places, NobodyWhoseRequestIsReadOrAnsweredGivesUpAnything) {
  for (int i = 0; i < 4; ++i) open("192.0.2.1")->place->set_standing(ConnectionStanding::kBusy);
  EXPECT_EQ(open("192.0.2.2"), nullptr);
  connections_[2].place->set_standing(ConnectionStanding::kSilent);
  EXPECT_NE(open("192.0.2.2"), nullptr);
  EXPECT_THAT(closed(), ElementsAre(2));
  connections_[2].place->set_standing(ConnectionStanding::kBusy);  // what happens to a closed one changes nothing
  connections_[3].place.reset();
  EXPECT_NE(open("192.0.2.2"), nullptr) << "there is room";
  EXPECT_THAT(closed(), ElementsAre(2));
}

TEST_F(Places, WhoHasMoreThanHalfLosesTheOldestRequestThatIsNotWhole) {
  for (const char* peer : {"192.0.2.2", "192.0.2.1", "192.0.2.1", "192.0.2.1"}) open(peer);
  connections_[1].place->set_standing(ConnectionStanding::kBusy);
  connections_[3].place->set_standing(ConnectionStanding::kUnfinished);
  connections_[2].place->set_standing(ConnectionStanding::kUnfinished);
  EXPECT_NE(open("192.0.2.3"), nullptr);
  EXPECT_THAT(closed(), ElementsAre(3)) << "and not the silent one of who has one place";
  EXPECT_NE(open("192.0.2.3"), nullptr);
  EXPECT_THAT(closed(), ElementsAre(0, 3)) << "now nobody has more than half";
  EXPECT_NE(open("192.0.2.2"), nullptr);
  EXPECT_THAT(closed(), ElementsAre(0, 3, 4));
}

TEST_F(Places, WhoHasMoreThanHalfGivesUpTheOldestThatIsSilentOrNotWholeAndNoneThatIsAnswered) {
  for (int i = 0; i < 4; ++i) open("192.0.2.1");
  for (const int i : {0, 1, 2}) connections_[i].place->set_standing(ConnectionStanding::kUnfinished);
  EXPECT_NE(open("192.0.2.2"), nullptr);
  EXPECT_THAT(closed(), ElementsAre(3));
  connections_[4].place->set_standing(ConnectionStanding::kBusy);
  for (const int i : {0, 1, 2}) connections_[i].place->set_standing(ConnectionStanding::kBusy);
  EXPECT_EQ(open("192.0.2.2"), nullptr);
  connections_[1].place->set_standing(ConnectionStanding::kUnfinished);
  EXPECT_NE(open("192.0.2.2"), nullptr);
  EXPECT_THAT(closed(), ElementsAre(1, 3));
}

TEST_F(Places, ATrustedProxyLosesNoRequestThatIsNotWhole) {
  TrustedProxies proxies;
  proxies.add(*Network::parse("192.0.2.1"));
  ConnectionPlaces places(limits_, proxies);
  std::deque<ConnectionPlaces::Place> taken;
  for (int i = 0; i < 4; ++i)
    taken.emplace_back(places, address("192.0.2.1"), [](ConnectionStanding) { return true; })
        .set_standing(ConnectionStanding::kUnfinished);
  EXPECT_TRUE(places.make_room(address("192.0.2.2")));
}

TEST_F(Places, OneThatHasSentSomethingIsPassedOver) {
  for (int i = 0; i < 4; ++i) open("192.0.2.1");
  connections_[0].has_sent = connections_[1].has_sent = true;
  EXPECT_NE(open("192.0.2.2"), nullptr);
  EXPECT_THAT(closed(), ElementsAre(2));
  connections_[0].has_sent = connections_[1].has_sent = false;
  EXPECT_NE(open("192.0.2.2"), nullptr);
  EXPECT_THAT(closed(), ElementsAre(2, 3)) << "they were silent until then";
}

TEST_F(Places, AnAddressThatHasItsShareGivesUpOneOfItsOwn) {
  const ConnectionLimits limits{.all = 100, .per_client = 2};
  ConnectionPlaces shares(limits, nobody_);
  const Address one = address("192.0.2.1");
  int num_closed = 0;
  const auto close = [&](ConnectionStanding) { return ++num_closed > 0; };
  ConnectionPlaces::Place other(shares, address("192.0.2.2"), close);
  ConnectionPlaces::Place first(shares, one, close), second(shares, one, [](ConnectionStanding) { return false; });
  EXPECT_FALSE(shares.make_room(one));
  EXPECT_EQ(num_closed, 1);
  ConnectionPlaces::Place third(shares, one, close);
  third.set_standing(ConnectionStanding::kBusy);
  const auto error = shares.make_room(one);
  ASSERT_TRUE(error);
  EXPECT_EQ(error->message, "too many connections from this address");
  EXPECT_EQ(num_closed, 1);
}

TEST_F(Places, RoomCostsAFewLooksHoweverManyConnectionsThereAre) {
  constexpr int kMany = 4096;
  const ConnectionLimits limits{.all = kMany};
  ConnectionPlaces many(limits, nobody_);
  std::deque<ConnectionPlaces::Place> places;
  bool is_silent = true;
  const auto look = [&](ConnectionStanding) {
    ++num_looks_;
    return is_silent;
  };
  for (int i = 0; i < 3 * kMany; ++i) {
    const Address peer = address(fmt::format("192.0.{}.{}", i % 7, i % 11));
    ASSERT_FALSE(many.make_room(peer));
    places.emplace_back(many, peer, look);
  }
  EXPECT_EQ(num_looks_, 2 * kMany);
  is_silent = false;
  num_looks_ = 0;
  for (int i = 0; i < 100; ++i) EXPECT_TRUE(many.make_room(address("192.0.2.1")));
  EXPECT_LE(num_looks_, 1600);
}

}  // namespace
}  // namespace octavo::test
