// Texts that are made tokens of on the threads of bodies: a hang-up, a deadline and a drain end that. A gate of the
// engine keeps a text open for as long as a test wants.
#include <gmock/gmock.h>

#include "server/test_client.h"

namespace octavo::test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;

class StoppedWork : public ServerTest {
 protected:
  /// A server with one thread for bodies, at whose gate texts stand.
  void start_held() {
    options_.bodies.parse_threads = 1;
    script_.tokenizing_held = true;
    start_ready();
  }
  bool eventually_tokenized(int count) {
    return eventually([&] { return script_.num_tokenized == count; });
  }
  bool eventually_stopped(int count) {
    return eventually([&] { return script_.num_tokenizes_stopped == count; });
  }
};

TEST_F(StoppedWork, AHangUpEndsTheReadingOfACompletion) {
  start_held();
  TestClient gone(port_);
  gone.send(completion(2, false));
  ASSERT_TRUE(eventually_tokenized(1));
  gone.close();
  EXPECT_TRUE(eventually_stopped(1));
  script_.tokenizing_held = false;
  EXPECT_THAT(ask(completion(2, false)), StartsWith("HTTP/1.1 200")) << "the thread is free";
  EXPECT_EQ(script_.num_submitted, 1);
}

TEST_F(StoppedWork, AHangUpEndsTheCountingOfTokens) {
  start_held();
  TestClient gone(port_);
  gone.send(post("/tokenize", R"({"prompt": "abc"})"));
  ASSERT_TRUE(eventually_tokenized(1));
  gone.close();
  EXPECT_TRUE(eventually_stopped(1));
}

TEST_F(StoppedWork, WhoEndsSendingAloneGetsItsTokens) {
  start_ready();
  TestClient client(port_);
  client.send(post("/tokenize", R"({"prompt": "abc"})"));
  client.end_sending();
  EXPECT_THAT(client.read_answer(), HasSubstr("\"count\":3"));
}

TEST_F(StoppedWork, ADeadlineEndsBoth) {
  start_held();
  for (const std::string& request : {post("/v1/completions", R"({"prompt": "abc"})", "X-Request-Timeout: 0.01\r\n"),
                                     post("/tokenize", R"({"prompt": "abc"})", "X-Request-Timeout: 0.01\r\n")})
    EXPECT_THAT(ask(request), StartsWith("HTTP/1.1 408"));
  EXPECT_EQ(script_.num_tokenizes_stopped, 2);
}

TEST_F(StoppedWork, ADrainEndsBothAndWhatWaitsBehindThem) {
  start_held();
  for (const std::string& request : {completion(2, false), post("/tokenize", R"({"prompt": "abc"})")}) {
    script_.num_tokenized = 0;
    TestClient open(port_), waiting(port_);
    open.send(request);
    ASSERT_TRUE(eventually_tokenized(1));
    waiting.send(request);
    server_->drain();
    for (TestClient* client : {&open, &waiting}) {
      EXPECT_THAT(client->read_answer(), AllOf(StartsWith("HTTP/1.1 503"), HasSubstr("shutting_down")));
      client->close();
    }
    EXPECT_TRUE(result_.get());
    EXPECT_EQ(script_.num_tokenized, 1);
    start_ready();
  }
  script_.tokenizing_held = false;
}

}  // namespace
}  // namespace octavo::test
