// The compiling of constraints: that it holds up nothing else, who goes first, and what ends it. A gate of the engine
// keeps a constraint open for as long as a test wants.
#include <gmock/gmock.h>

#include "server/test_client.h"

namespace octavo::test {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::Gt;
using ::testing::HasSubstr;
using ::testing::Le;
using ::testing::StartsWith;

std::string constrained(const std::string& regex, const std::string& headers = "") {
  return post("/v1/completions", fmt::format(R"({{"prompt": "abc", "max_tokens": 2, "guided_regex": "{}"}})", regex),
              headers);
}

class Compiling : public ServerTest {
 protected:
  /// A server at whose gate constraints stand.
  void start_held() {
    script_.compiling_held = true;
    start_ready();
  }
  /// The sources whose compiling has begun, in order.
  std::vector<std::string> begun() {
    const std::lock_guard lock(script_.mutex);
    return script_.compiles;
  }
  bool eventually_begun(std::size_t count) {
    return eventually([&] { return begun().size() == count; });
  }
  bool eventually_waiting(int count) {
    return eventually([&] { return metric("octavo:compiling_waiting") == count; });
  }
};

TEST_F(Compiling, AConstraintThatIsCompiledHoldsUpNothingElse) {
  options_.bodies.parse_threads = 1;
  start_held();
  TestClient slow(port_), behind(port_);
  slow.send(constrained("slow"));
  ASSERT_TRUE(eventually_begun(1));
  behind.send(constrained("behind"));
  ASSERT_TRUE(eventually_waiting(1));
  EXPECT_THAT(ask(post("/tokenize", R"({"prompt": "abc"})")), HasSubstr("\"count\":3"));
  EXPECT_THAT(ask(completion(2, false)), StartsWith("HTTP/1.1 200"));
  EXPECT_THAT(begun(), ElementsAre("slow"));
  script_.compiling_held = false;
  EXPECT_THAT(slow.read_answer(), StartsWith("HTTP/1.1 200"));
  EXPECT_THAT(behind.read_answer(), StartsWith("HTTP/1.1 200"));
  const std::lock_guard lock(script_.mutex);
  EXPECT_EQ(script_.requests.at(0).constraint, nullptr);
  EXPECT_NE(script_.requests.at(1).constraint, nullptr);
  EXPECT_NE(script_.requests.at(2).constraint, nullptr);
}

TEST_F(Compiling, OneThatIsRememberedWaitsForNobody) {
  start_ready();
  EXPECT_THAT(ask(constrained("known")), StartsWith("HTTP/1.1 200"));
  script_.compiling_held = true;
  TestClient slow(port_);
  slow.send(constrained("slow"));
  ASSERT_TRUE(eventually_begun(2));
  EXPECT_THAT(ask(constrained("known")), StartsWith("HTTP/1.1 200"));
  EXPECT_THAT(begun(), ElementsAre("known", "slow"));
  script_.compiling_held = false;
  EXPECT_THAT(slow.read_answer(), StartsWith("HTTP/1.1 200"));
}

TEST_F(Compiling, ClientsTakeTurns) {
  files_.keys = *server::ApiKeys::parse("a aaaa-aaaa-aaaa-aaaa\nb bbbb-bbbb-bbbb-bbbb\n", "keys");
  options_.listen.metrics = ListenAddress{.host = "127.0.0.1", .port = 0};
  start_held();
  const unsigned short metrics_port = port_of(server_->metrics_url());
  std::vector<std::unique_ptr<TestClient>> clients;
  const auto send = [&](const std::string& name) {
    const std::string key(4, name[0]);
    const std::string header = fmt::format("Authorization: Bearer {0}-{0}-{0}-{0}\r\n", key);
    clients.push_back(std::make_unique<TestClient>(port_));
    clients.back()->send(constrained(name, header));
  };
  const auto waiting = [&](int count) {
    const std::string line = fmt::format("\noctavo:compiling_waiting {}\n", count);
    return eventually([&] { return ask(get("/metrics", "", "localhost"), metrics_port).contains(line); });
  };
  send("a1");
  ASSERT_TRUE(eventually_begun(1));
  int count = 0;
  for (const char* name : {"a2", "a3", "a4", "b1", "b2"}) {
    send(name);
    ASSERT_TRUE(waiting(++count)) << name;
  }
  script_.compiling_held = false;
  for (const auto& client : clients) EXPECT_THAT(client->read_answer(), StartsWith("HTTP/1.1 200"));
  EXPECT_THAT(begun(), ElementsAre("a1", "b1", "a2", "b2", "a3", "a4"));
}

TEST_F(Compiling, AHangUpEndsIt) {
  start_held();
  TestClient slow(port_), waiting(port_);
  slow.send(constrained("slow"));
  ASSERT_TRUE(eventually_begun(1));
  waiting.send(constrained("waiting"));
  ASSERT_TRUE(eventually_waiting(1));
  waiting.close();
  ASSERT_TRUE(eventually_waiting(0));
  slow.close();
  EXPECT_TRUE(eventually([this] { return script_.num_compiles_stopped == 1; }));
  script_.compiling_held = false;
  EXPECT_THAT(ask(constrained("next")), StartsWith("HTTP/1.1 200"));
  EXPECT_THAT(begun(), ElementsAre("slow", "next"));
  EXPECT_EQ(script_.num_submitted, 1);
}

TEST_F(Compiling, ADrainEndsIt) {
  start_held();
  TestClient slow(port_), waiting(port_);
  slow.send(constrained("slow"));
  ASSERT_TRUE(eventually_begun(1));
  waiting.send(constrained("waiting"));
  ASSERT_TRUE(eventually_waiting(1));
  server_->drain();
  for (TestClient* client : {&slow, &waiting}) {
    const std::string answer = client->read_answer();
    EXPECT_THAT(answer, StartsWith("HTTP/1.1 503"));
    EXPECT_THAT(answer, HasSubstr("shutting_down"));
  }
  EXPECT_TRUE(result_.get());
  EXPECT_EQ(script_.num_compiles_stopped, 1);
  EXPECT_THAT(begun(), ElementsAre("slow"));
}

TEST_F(Compiling, ItsDeadlineEndsIt) {
  start_held();
  TestClient slow(port_), waiting(port_);
  slow.send(constrained("slow", "X-Request-Timeout: 1\r\n"));
  ASSERT_TRUE(eventually_begun(1));
  waiting.send(constrained("waiting", "X-Request-Timeout: 0.001\r\n"));
  for (TestClient* client : {&waiting, &slow}) {
    const std::string answer = client->read_answer();
    EXPECT_THAT(answer, StartsWith("HTTP/1.1 408"));
    EXPECT_THAT(answer, HasSubstr("deadline_exceeded"));
  }
  EXPECT_EQ(script_.num_compiles_stopped, 1);
  EXPECT_THAT(begun(), ElementsAre("slow"));
}

TEST_F(Compiling, TheEngineGetsWhatIsLeftOfADeadline) {
  start_held();
  TestClient client(port_);
  client.send(constrained("slow", "X-Request-Timeout: 100\r\n"));
  ASSERT_TRUE(eventually_begun(1));
  std::this_thread::sleep_for(20ms);
  script_.compiling_held = false;
  EXPECT_THAT(client.read_answer(), StartsWith("HTTP/1.1 200"));
  const std::lock_guard lock(script_.mutex);
  EXPECT_THAT(script_.requests.at(0).deadline_s, AllOf(Gt(0), Le(99.98)));
}

TEST_F(Compiling, SoManyMayWaitAndOfOneClientFewer) {
  options_.engine.max_queued = 5;
  start_held();
  std::vector<std::unique_ptr<TestClient>> clients;
  for (int i = 0; i < 5; ++i) {  // one is compiled, four wait
    clients.push_back(std::make_unique<TestClient>(port_));
    clients.back()->send(constrained(fmt::format("r{}", i)));
    if (i == 0) {
      ASSERT_TRUE(eventually_begun(1));
    }
    ASSERT_TRUE(eventually_waiting(i));
  }
  const std::string refused = ask(constrained("more"));
  EXPECT_THAT(refused, StartsWith("HTTP/1.1 429"));
  EXPECT_THAT(refused, HasSubstr("queue_full"));
  EXPECT_THAT(refused, HasSubstr("found 4 requests of this client whose constraints wait to be compiled"));
  script_.compiling_held = false;
  for (const auto& client : clients) EXPECT_THAT(client->read_answer(), StartsWith("HTTP/1.1 200"));
}

TEST_F(Compiling, WhatWaitsCountsAsReceived) {
  options_.http.max_received_bytes = 200'000;
  start_held();
  TestClient slow(port_), small(port_), large(port_), later(port_);
  slow.send(constrained("slow"));
  ASSERT_TRUE(eventually_begun(1));
  small.send(constrained("small"));
  ASSERT_TRUE(eventually_waiting(1));
  large.send(constrained(std::string(150'000, 'a')));
  ASSERT_TRUE(eventually_waiting(2));
  later.send(constrained(std::string(100'000, 'b')));
  EXPECT_THAT(large.read_answer(), AllOf(StartsWith("HTTP/1.1 503"), HasSubstr("out_of_memory")));
  script_.compiling_held = false;
  for (TestClient* client : {&slow, &small, &later}) EXPECT_THAT(client->read_answer(), StartsWith("HTTP/1.1 200"));
}

}  // namespace
}  // namespace octavo::test
