// A server in which something fails: an engine that throws, ticks that find no memory.
#include <gmock/gmock.h>

#include "server/test_client.h"

namespace octavo::test {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

using Failure = ServerTest;

TEST_F(Failure, AnEngineThatThrowsEndsTheServerWithAnErrorAndItsClientsHearOfIt) {
  script_.held = true;
  start_ready();
  TestClient streamed(port_), whole(port_), fresh(port_);
  streamed.send(completion(9000, true));
  streamed.read_until("\r\n\r\n");
  whole.send(completion(9000, false));
  ASSERT_TRUE(eventually([this] { return script_.num_running == 2; }));
  script_.breaks = true;
  const std::string refused = whole.read_answer();
  EXPECT_THAT(refused, StartsWith("HTTP/1.1 503"));
  EXPECT_THAT(refused, HasSubstr("engine_failed"));
  EXPECT_THAT(streamed.read_to_end(), HasSubstr("data: {\"error\":{\"message\":\"the engine has failed"));
  fresh.send(get("/ready"));  // let in before, and asked now
  const std::string ready = fresh.read_answer();
  EXPECT_THAT(ready, StartsWith("HTTP/1.1 503"));
  EXPECT_THAT(ready, HasSubstr("engine_failed"));
  const Result<void> result = result_.get();
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().message, "the engine ended with an error: a wheel is off");
}

TEST_F(Failure, AnExceptionOfALoadIsItsError) {
  start([]() -> Result<std::unique_ptr<Engine>> { throw std::runtime_error("a wheel is off"); });
  const Result<void> result = result_.get();
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().message, "cannot load the model: a wheel is off");
}

TEST_F(Failure, AfterItNoRequestIsTakenAndMetricsAreStillTold) {
  script_.held = true;
  start_ready();
  TestClient running(port_), asks(port_), looks(port_);
  running.send(completion(9000, false));
  ASSERT_TRUE(eventually([this] { return script_.num_running == 1; }));
  script_.breaks = true;
  running.read_answer();
  asks.send(completion(9000, false));
  looks.send(get("/metrics"));
  EXPECT_THAT(asks.read_answer(), HasSubstr("engine_failed"));
  EXPECT_THAT(looks.read_answer(), StartsWith("HTTP/1.1 200"));
  EXPECT_EQ(script_.num_submitted, 1);
  EXPECT_FALSE(result_.get());
}

TEST_F(Failure, TicksGoOnAfterOneThatFailed) {
  options_.http.idle_timeout = 300ms;
  start_ready();
  script_.stats_fail = true;  // the first thing in a tick that is this test's to break
  std::this_thread::sleep_for(300ms);
  script_.stats_fail = false;
  TestClient idle(port_);
  EXPECT_TRUE(idle.at_end());  // closed by a tick
  const std::string metrics = ask(get("/metrics"));
  EXPECT_THAT(metrics, testing::Not(HasSubstr("octavo:server_failures_total 0")));
  server_->drain();
  EXPECT_TRUE(result_.get());
}

}  // namespace
}  // namespace octavo::test
