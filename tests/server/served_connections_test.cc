// Connections while they are served: hang-ups, many requests on one, slow readers, answers too large to hold.
#include <gmock/gmock.h>

#include "server/test_client.h"

namespace octavo::test {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

using Life = ServerTest;

TEST_F(Life, AHangUpEndsAStreamWithin100Ms) {
  start_ready();
  TestClient client(port_);
  client.send(completion(9000, true));
  client.read_until("word");
  client.close();
  std::this_thread::sleep_for(100ms);
  EXPECT_EQ(script_.num_cancelled, 1);
}

TEST_F(Life, AHangUpEndsWhatWaitsWithin100Ms) {
  script_.held = true;  // nothing has been answered yet
  start_ready();
  for (const bool stream : {false, true}) {
    for (const bool reset : {false, true}) {
      const int before = script_.num_cancelled;
      TestClient client(port_);
      client.send(completion(9000, stream));
      ASSERT_TRUE(eventually([this] { return script_.num_running == 1; }));
      reset ? client.reset() : client.close();
      std::this_thread::sleep_for(100ms);
      EXPECT_EQ(script_.num_cancelled, before + 1);
      EXPECT_EQ(script_.num_running, 0);
    }
  }
}

TEST_F(Life, WhoHangsUpBeforeItsBodyIsParsedCostsNothing) {
  script_.held = script_.tokenizing_held = true;
  options_.bodies.parse_threads = 1;
  start_ready();
  TestClient first(port_);
  first.send(completion(1, false));
  ASSERT_TRUE(eventually([this] { return script_.num_tokenized == 1; }));
  for (const bool stream : {false, true}) {
    TestClient(port_).send(completion(1, stream));  // closed at once
    TestClient half(port_);
    half.send(completion(1, stream));
    half.end_sending();
    for (int i = 0; i < 3; ++i) ask(get("/health"));  // by then the server has seen what came before
  }
  TestClient last(port_);
  last.send(completion(1, false));
  script_.held = script_.tokenizing_held = false;
  EXPECT_THAT(first.read_answer(), StartsWith("HTTP/1.1 200"));
  EXPECT_THAT(last.read_answer(), StartsWith("HTTP/1.1 200"));
  EXPECT_EQ(script_.num_tokenized, 2);
  EXPECT_EQ(script_.num_submitted, 2);
}

TEST_F(Life, AnAnswerThatThereIsNoMemoryForEndsAndTheServerGoesOn) {
  start_ready();
  for (const bool stream : {false, true}) {
    const int before = script_.num_cancelled;
    script_.too_long = true;
    TestClient client(port_);
    client.send(completion(9000, stream));
    const std::string answer = stream ? client.read_until("0\r\n\r\n") : client.read_answer();
    EXPECT_THAT(answer, StartsWith(stream ? "HTTP/1.1 200" : "HTTP/1.1 500"));
    EXPECT_THAT(answer, HasSubstr("had no memory left for the answer"));
    EXPECT_TRUE(eventually([&] { return script_.num_cancelled == before + 1; }));
    script_.too_long = false;
    EXPECT_THAT(ask(completion(3, false)), StartsWith("HTTP/1.1 200"));
  }
}

TEST_F(Life, AHangUpBehindManyPipelinedRequestsIsNoticedWithin100Ms) {
  script_.held = true;
  start_ready();
  std::string many;
  while (many.size() < 60'000) many += get("/health");
  for (const bool reset : {false, true}) {
    const int before = script_.num_cancelled;
    TestClient client(port_);
    client.send(completion(9000, false) + many);
    ASSERT_TRUE(eventually([this] { return script_.num_running == 1; }));
    ASSERT_TRUE(eventually([&] { return metric("octavo:http_received_bytes") >= static_cast<double>(many.size()); }));
    EXPECT_EQ(script_.num_cancelled, before);
    reset ? client.reset() : client.close();
    std::this_thread::sleep_for(100ms);
    EXPECT_EQ(script_.num_cancelled, before + 1);
    EXPECT_EQ(script_.num_running, 0);
  }
}

TEST_F(Life, AClientThatSendsMuchBehindAPendingRequestIsCutOff) {
  script_.held = true;
  start_ready();
  TestClient client(port_);
  client.send(completion(9000, false));
  ASSERT_TRUE(eventually([this] { return script_.num_running == 1; }));
  client.send(post("/tokenize", std::string(60'000, ' ')));
  ASSERT_TRUE(eventually([this] { return metric("octavo:http_received_bytes") >= 60'000; }));
  EXPECT_EQ(script_.num_cancelled, 0);
  client.send(std::string(20'000, ' '));
  EXPECT_TRUE(eventually([this] { return script_.num_cancelled == 1; }));
}

TEST_F(Life, ManyPipelinedRequestsAreAllAnswered) {
  start_ready();
  TestClient client(port_);
  constexpr int kCount = 3000;
  std::string many;
  for (int i = 0; i < kCount; ++i) many += get("/health");
  std::thread sender([&] { client.send(many); });
  for (int i = 0; i < kCount; ++i) ASSERT_THAT(client.read_answer(), StartsWith("HTTP/1.1 200")) << i;
  sender.join();
}

TEST_F(Life, AnAnswerThatGrowsTooLargeToHoldIsEndedAndAStreamIsNot) {
  script_.piece = std::string(100, 'x');
  options_.requests.max_answer_bytes = 2000;
  start_ready();
  EXPECT_THAT(ask(completion(16, false)), StartsWith("HTTP/1.1 200"));
  const std::string refused = ask(completion(50, false));
  EXPECT_THAT(refused, StartsWith("HTTP/1.1 400"));
  EXPECT_THAT(refused, HasSubstr("answer_too_large"));
  EXPECT_THAT(refused, HasSubstr("at most 2000"));
  EXPECT_EQ(script_.num_running, 0);
  TestClient client(port_);
  client.send(completion(50, true));
  EXPECT_THAT(client.read_until("0\r\n\r\n"), HasSubstr("[DONE]"));
}

TEST_F(Life, AllAnswersThatAreHeldShareALimit) {
  script_.piece = std::string(100, 'x');
  options_.answers.max_held_bytes = 20'000;
  script_.step_time = 5ms;
  start_ready();
  std::vector<std::unique_ptr<TestClient>> clients;
  for (int i = 0; i < 4; ++i) {
    clients.push_back(std::make_unique<TestClient>(port_));
    clients.back()->send(completion(100, false));  // 10 kB each
  }
  int num_refused = 0;
  for (const auto& client : clients) {
    const std::string answer = client->read_answer();
    if (answer.starts_with("HTTP/1.1 200")) continue;
    ++num_refused;
    EXPECT_THAT(answer, StartsWith("HTTP/1.1 503"));
    EXPECT_THAT(answer, HasSubstr("\r\nRetry-After: "));
    EXPECT_THAT(answer, HasSubstr("out_of_memory"));
  }
  EXPECT_GE(num_refused, 2);
  EXPECT_THAT(ask(completion(100, false)), StartsWith("HTTP/1.1 200"));  // their memory is free again
}

TEST_F(Life, AReaderThatStopsReadingIsCutOffWithoutHoldingTheOthers) {
  // The engine takes seconds for all of it, so that it is still at work when the reader is cut off, however late that
  // is.
  script_.piece = std::string(20'000, 'x');
  script_.step_time = 1ms;
  options_.http.max_unsent_bytes = 100'000;
  start_ready();
  const std::string messages =
      R"({"stream": true, "max_tokens": 9000, "messages": [{"role": "user", "content": "a"}]})";
  int num_cut_off = 0;
  for (const std::string& request :
       {completion(9000, true), post("/v1/chat/completions", messages), post("/v1/messages", messages),
        post("/v1/responses", R"({"stream": true, "max_output_tokens": 9000, "input": "a"})")}) {
    TestClient lazy(port_, 4096);
    lazy.send(request);  // 180 MB, more than the system's buffers take
    ASSERT_TRUE(eventually([this] { return script_.num_running == 1; })) << request;
    TestClient other(port_);
    other.send(completion(3, true));  // less than may wait, so that a slow machine does not cut it off as well
    EXPECT_THAT(other.read_until("0\r\n\r\n"), HasSubstr("[DONE]"));
    EXPECT_TRUE(eventually([&] { return script_.num_cancelled == num_cut_off + 1; })) << request;
    ++num_cut_off;
  }
}

TEST_F(Life, AReaderThatTakesNothingForTooLongIsCutOff) {
  script_.piece = std::string(20'000, 'x');
  options_.http.max_unsent_bytes = 1 << 30;
  options_.http.write_timeout = 200ms;
  start_ready();
  TestClient lazy(port_, 4096);
  lazy.send(completion(9000, true));
  EXPECT_TRUE(eventually([this] { return script_.num_cancelled == 1; }));
}

}  // namespace
}  // namespace octavo::test
