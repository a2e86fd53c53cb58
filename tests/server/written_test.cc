// Bytes that are sent to clients: how much of them is held, for how long, and the heartbeats of a silent stream.
#include <gmock/gmock.h>

#include "server/test_client.h"

namespace octavo::test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

std::string detokenize(int num_tokens) {
  std::string ids = "97";
  for (int i = 1; i < num_tokens; ++i) ids += ",97";
  return post("/detokenize", R"({"model": "", "tokens": [)" + ids + "]}");
}

using Written = ServerTest;

TEST_F(Written, AnAnswerOfTokenizeOrDetokenizeIsNoLargerThanAllowed) {
  options_.requests.max_answer_bytes = 100'000;
  script_.bytes_per_token = 100;
  start_ready();
  EXPECT_THAT(ask(detokenize(900)), StartsWith("HTTP/1.1 200"));
  const std::string text = ask(detokenize(1001));
  EXPECT_THAT(text, StartsWith("HTTP/1.1 400"));
  EXPECT_THAT(text, HasSubstr("answer_too_large"));
  EXPECT_THAT(ask(post("/tokenize", R"({"prompt": ")" + std::string(20'000, 'a') + "\"}")), StartsWith("HTTP/1.1 200"));
  const std::string ids = ask(post("/tokenize", R"({"prompt": ")" + std::string(30'000, 'a') + "\"}"));
  EXPECT_THAT(ids, StartsWith("HTTP/1.1 400"));
  EXPECT_THAT(ids, HasSubstr("answer_too_large"));
  EXPECT_EQ(metric("octavo:held_answer_bytes"), 0);
}

TEST_F(Written, ATextThatIsMadeInPiecesIsTheSameText) {
  start_ready();
  std::string ids = "[", text;
  for (int i = 0; i < 5000; ++i) {  // characters of two bytes lie across the pieces
    ids += i == 0 ? "97,195,164" : ",195,164";
    text += i == 0 ? "a\xC3\xA4" : "\xC3\xA4";
  }
  const std::string answer = ask(post("/detokenize", "{\"tokens\": " + ids + ",195]}"));
  text += "\xEF\xBF\xBD";
  EXPECT_THAT(answer, HasSubstr("\r\n\r\n{\"prompt\":\"" + text + "\",\"content\":\"" + text + "\"}"));
}

TEST_F(Written, AnAnswerIsHeldUntilItIsWritten) {
  options_.answers.max_held_bytes = 30'000'000;
  script_.bytes_per_token = 10'000;
  start_ready();
  TestClient lazy(port_, 4096);
  lazy.send(detokenize(2000));  // 20 MB, more than the system's buffers take
  lazy.read_until("\r\n\r\n");
  EXPECT_GE(metric("octavo:held_answer_bytes"), 10e6);
  const std::string refused = ask(detokenize(2000));
  EXPECT_THAT(refused, StartsWith("HTTP/1.1 503"));
  EXPECT_THAT(refused, HasSubstr("out_of_memory"));
  EXPECT_THAT(refused, HasSubstr("\r\nRetry-After: "));
  lazy.close();
  EXPECT_TRUE(eventually([this] { return metric("octavo:held_answer_bytes") < 1e5; }));
  EXPECT_THAT(ask(detokenize(2000)), StartsWith("HTTP/1.1 200"));
}

// The rest that is not read, 10 MB, is more than the system's buffers take. Buffers of less than a segment would make
// the reading slow.
TEST_F(Written, ThePartOfAnAnswerThatIsWrittenIsNotHeld) {
  script_.bytes_per_token = 20'000;
  start_ready();
  TestClient lazy(port_, 1 << 20);
  lazy.send(detokenize(2000));  // 40 MB
  EXPECT_EQ(lazy.read_bytes(30'100'000), 30'100'000U);
  EXPECT_LT(metric("octavo:held_answer_bytes"), 10.1e6);  // given back were the first half, and half of the second
  EXPECT_GT(metric("octavo:held_answer_bytes"), 1e6);     // the rest is not written yet
}

TEST_F(Written, WhatTheServerSaysItselfCountsTooAndErrorsAreAlwaysGiven) {
  options_.answers.max_held_bytes = 25'002'000;  // of which one client has four fifths
  script_.bytes_per_token = 10'000;
  start_ready();
  EXPECT_THAT(ask(get("/metrics")), StartsWith("HTTP/1.1 200"));
  TestClient lazy(port_, 4096);
  lazy.send(detokenize(2000));
  lazy.read_until("\r\n\r\n");
  EXPECT_THAT(ask(get("/metrics")), StartsWith("HTTP/1.1 503"));
  EXPECT_THAT(ask(get("/health")), StartsWith("HTTP/1.1 200"));
  EXPECT_THAT(ask(get("/nothing")), StartsWith("HTTP/1.1 404"));
  lazy.close();
  EXPECT_TRUE(eventually([this] { return ask(get("/metrics")).starts_with("HTTP/1.1 200"); }));
}

TEST_F(Written, WhatIsTheSameForAllIsHeldByNobody) {
  options_.answers.max_held_bytes = 1024;
  start_ready();
  for (const char* path : {"/openapi.json", "/"}) {
    const std::string answer = ask(get(path));
    EXPECT_THAT(answer, StartsWith("HTTP/1.1 200")) << path;
    EXPECT_GT(answer.size(), 15'000U) << path;
  }
}

TEST_F(Written, WhoHoldsMuchLeavesRoomToAnotherKey) {
  files_.keys = *server::ApiKeys::parse("a aaaa-aaaa-aaaa-aaaa\nb bbbb-bbbb-bbbb-bbbb\n", "keys");
  options_.answers.max_held_bytes = 26'000'000;
  script_.bytes_per_token = 10'000;
  start_ready();
  const auto detokenize_as = [](const std::string& key, int num_tokens) {
    const std::string whole = detokenize(num_tokens);
    const std::size_t end = whole.find("\r\n") + 2;
    return whole.substr(0, end) + fmt::format("X-Api-Key: {0}-{0}-{0}-{0}\r\n", key) + whole.substr(end);
  };
  TestClient lazy(port_, 4096);
  lazy.send(detokenize_as("aaaa", 2000));
  lazy.read_until("\r\n\r\n");
  EXPECT_THAT(ask(detokenize_as("aaaa", 100)), AllOf(StartsWith("HTTP/1.1 503"), HasSubstr("this client's answers")));
  EXPECT_THAT(ask(detokenize_as("bbbb", 100)), StartsWith("HTTP/1.1 200"));
}

TEST_F(Written, ADrainWaitsForNobodyWhoNeitherSendsNorReads) {
  options_.http.read_timeout = options_.http.write_timeout = options_.drain_timeout = 1h;
  options_.http.max_unsent_bytes = 1 << 30;
  script_.piece = std::string(20'000, 'x');
  script_.bytes_per_token = 10'000;
  start_ready();
  TestClient whole(port_, 4096), stream(port_, 4096), half(port_);
  whole.send(detokenize(2000));
  stream.send(completion(1000, true));
  half.send("POST /v1/completions HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\n{");
  for (TestClient* client : {&whole, &stream}) client->read_until("\r\n\r\n");
  ASSERT_TRUE(eventually([this] { return script_.num_running == 0; }));
  server_->drain();
  EXPECT_THAT(half.read_to_end(), AllOf(StartsWith("HTTP/1.1 503"), HasSubstr("shutting_down")));
  EXPECT_TRUE(result_.get());
}

TEST_F(Written, AStreamCountsTheEchoesThatItWrites) {
  script_.context = 1 << 20;
  options_.answers.max_held_bytes = 8'000'000;
  start_ready();
  const std::string request =
      post("/v1/completions", R"({"stream": true, "echo": true, "n": 8, "max_tokens": 1, "prompt": ")" +
                                  std::string(400'000, 'a') + "\"}");
  TestClient lazy(port_, 4096);
  lazy.send(request);
  lazy.read_until("\r\n\r\n");
  // The prompt's text and ids, and its text for each choice.
  EXPECT_TRUE(eventually([this] { return metric("octavo:held_answer_bytes") >= 13 * 400'000; }));
  EXPECT_THAT(ask(request), AllOf(StartsWith("HTTP/1.1 503"), HasSubstr("out_of_memory")));
  lazy.close();
  EXPECT_TRUE(eventually([this] { return metric("octavo:held_answer_bytes") < 1e5; }));
}

TEST_F(Written, AReaderThatIsTooSlowIsCutOff) {
  script_.piece = std::string(40'000, 'x');
  options_.http.write_timeout = 2s;
  options_.http.min_write_rate = 20'000'000;
  start_ready();
  TestClient slow(port_, 4096);
  slow.send(completion(1000, false));  // 40 MB
  slow.read_until("\r\n\r\n");
  // A megabyte a second: never for two seconds without a byte.
  std::size_t taken = 0;
  const auto end = std::chrono::steady_clock::now() + 30s;
  while (std::chrono::steady_clock::now() < end) {
    const std::size_t count = slow.read_bytes(10'000);
    taken += count;
    if (count < 10'000) break;
    std::this_thread::sleep_for(10ms);
  }
  EXPECT_LT(std::chrono::steady_clock::now(), end);
  EXPECT_LT(taken, 30'000'000U);
  EXPECT_TRUE(eventually([this] { return metric("octavo:held_answer_bytes") < 1e5; }));
}

TEST_F(Written, AReaderWhoWaitsForTheModelIsNotCutOff) {
  options_.http.write_timeout = 100ms;
  options_.answers.keepalive_interval = 0ms;
  script_.held = true;
  start_ready();
  TestClient client(port_);
  client.send(completion(3, true));
  client.read_until("\r\n\r\n");
  std::this_thread::sleep_for(500ms);
  script_.held = false;
  EXPECT_THAT(client.read_until("0\r\n\r\n"), HasSubstr("[DONE]"));
}

TEST_F(Written, AStreamThatWaitsIsNeverSilentForLong) {
  options_.answers.keepalive_interval = 50ms;
  script_.held = true;
  start_ready();
  TestClient client(port_);
  client.send(completion(3, true));
  for (int i = 0; i < 3; ++i) EXPECT_THAT(client.read_until("\n\n\r\n"), HasSubstr("\r\n: waiting\n\n\r\n"));
  script_.prompt_tokens_read = 2;
  script_.held = false;
  EXPECT_THAT(client.read_until(": reading the prompt, 2 of 3 tokens\n\n"), Not(HasSubstr("data:")));
  script_.prompt_tokens_read = -1;
  EXPECT_THAT(client.read_until("0\r\n\r\n"), HasSubstr("[DONE]"));
}

TEST_F(Written, AStreamThatStallsBetweenTokensIsNeverSilentForLong) {
  options_.answers.keepalive_interval = 50ms;
  script_.step_time = 5ms;
  start_ready();
  TestClient client(port_);
  client.send(completion(5000, true));
  client.read_until("word");
  script_.held = true;
  for (int i = 0; i < 2; ++i) client.read_until(": waiting\n\n");
  EXPECT_EQ(script_.num_cancelled, 0);
}

TEST_F(Written, AnAnswerThatIsNotStreamedHasNoComments) {
  options_.answers.keepalive_interval = 20ms;
  script_.held = true;
  start_ready();
  TestClient client(port_);
  client.send(completion(3, false));
  ASSERT_TRUE(eventually([this] { return script_.num_running == 1; }));
  std::this_thread::sleep_for(300ms);
  script_.held = false;
  EXPECT_THAT(client.read_answer(), HasSubstr("\r\n\r\n{\"id\""));
}

TEST_F(Written, ProgressIsReportedIfAskedFor) {
  options_.answers.keepalive_interval = 0ms;
  options_.answers.progress_interval = 10ms;
  script_.prompt_tokens_read = 2;
  start_ready();
  TestClient client(port_);
  client.send(completion(3, true, R"(, "return_progress": true)"));
  EXPECT_THAT(client.read_until("\n\n"),
              HasSubstr(R"("prompt_progress":{"total":3,"cache":2,"processed":2,"time_ms":500})"));
  script_.prompt_tokens_read = 3;
  const std::string last = client.read_until("\n\n");
  EXPECT_THAT(last, HasSubstr(R"("choices":[{"index":0,"text":"","logprobs":null,"finish_reason":null}])"));
  EXPECT_THAT(last, HasSubstr(R"("processed":3,)"));
  script_.prompt_tokens_read = -1;
  EXPECT_THAT(client.read_until("0\r\n\r\n"), Not(HasSubstr("prompt_progress")));
}

}  // namespace
}  // namespace octavo::test
