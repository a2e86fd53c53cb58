// The order in which bodies are parsed, and that nobody's stands in everybody's way.
#include "server/work_queue.h"

#include <gmock/gmock.h>

#include <memory>
#include <optional>

#include "server/memory_return.h"
#include "server/test_client.h"

namespace octavo::test {
namespace {

using server::WorkQueue;
using ::testing::HasSubstr;
using ::testing::StartsWith;

constexpr std::size_t kLarge = 8U << 20, kSmall = 2000;

/// Turns by name, at moments that the test sets.
class Turns {
 public:
  explicit Turns(int num_threads) : queue_(num_threads) {}

  void add(const std::string& name, const std::string& client, std::size_t num_bytes) {
    turns_[name] =
        std::make_unique<WorkQueue::Turn>(queue_, client, num_bytes, [this, name] { begun_ += name + " "; }, now_);
    if (turns_[name]->has_begun()) begun_ += name + " ";
  }
  void pass(std::chrono::seconds time) { now_ += time; }
  void end(const std::string& name) { turns_.erase(name); }
  std::size_t num_waiting() const { return queue_.num_waiting(); }
  std::size_t num_waiting(const std::string& client) const { return queue_.num_waiting(client); }
  /// Those that have begun since the last call, in order.
  std::string begun() { return std::exchange(begun_, {}); }

 private:
  WorkQueue queue_;
  WorkQueue::Clock::time_point now_ = {};
  std::string begun_;
  std::map<std::string, std::unique_ptr<WorkQueue::Turn>> turns_;
};

TEST(WorkQueue, LargeBodiesLeaveAThreadToSmallOnes) {
  Turns turns(2);
  turns.add("large", "a", kLarge);
  turns.add("larger", "b", kLarge);
  EXPECT_EQ(turns.begun(), "large ");
  turns.add("small", "a", kSmall);
  EXPECT_EQ(turns.begun(), "small ");
  turns.end("small");
  EXPECT_EQ(turns.begun(), "");
  turns.end("large");
  EXPECT_EQ(turns.begun(), "larger ");
}

TEST(WorkQueue, OneThreadTakesWhatThereIs) {
  Turns turns(1);
  turns.add("large", "a", kLarge);
  EXPECT_EQ(turns.begun(), "large ");
}

TEST(WorkQueue, AClientWithManyBodiesTakesTurnsWithTheOthers) {
  Turns turns(1);
  for (const char* name : {"a1", "a2", "a3", "a4"}) turns.add(name, "a", kSmall);
  turns.add("b1", "b", kSmall);
  turns.add("c1", "c", kLarge);
  turns.add("b2", "b", kSmall);
  std::string order;
  for (std::string next = turns.begun(); !next.empty(); next = turns.begun()) {
    order += next;
    turns.end(next.substr(0, 2));
  }
  EXPECT_EQ(order, "a1 b1 c1 a2 b2 a3 a4 ");
}

TEST(WorkQueue, AClientThatHoldsAThreadGoesBehindOneThatHoldsNone) {
  Turns turns(3);
  turns.add("a1", "a", kSmall);
  turns.add("b1", "b", kSmall);
  turns.add("b2", "b", kSmall);
  turns.add("b3", "b", kSmall);
  turns.add("a2", "a", kSmall);
  turns.begun();
  turns.end("a1");
  EXPECT_EQ(turns.begun(), "a2 ");
}

TEST(WorkQueue, SmallBodiesPassAClientsLargeOneButNotForEver) {
  Turns turns(1);
  turns.add("first", "a", kSmall);
  turns.add("large", "a", kLarge);
  turns.pass(10s);
  turns.add("soon", "a", kSmall);
  turns.pass(60s);
  turns.add("late", "a", kSmall);
  EXPECT_EQ(turns.begun(), "first ");
  turns.end("first");
  EXPECT_EQ(turns.begun(), "soon ");
  turns.end("soon");
  EXPECT_EQ(turns.begun(), "large ");
  turns.end("large");
  EXPECT_EQ(turns.begun(), "late ");
}

TEST(WorkQueue, OneThatLeavesWhileItWaitsIsForgotten) {
  Turns turns(1);
  turns.add("first", "a", kSmall);
  turns.add("second", "b", kSmall);
  turns.add("third", "c", kSmall);
  turns.end("second");
  turns.begun();
  turns.end("first");
  EXPECT_EQ(turns.begun(), "third ");
}

TEST(WorkQueue, CountsWhatWaitsOfEachClient) {
  Turns turns(1);
  for (const char* name : {"a1", "a2", "a3"}) turns.add(name, "a", kSmall);
  turns.add("b1", "b", kSmall);
  EXPECT_EQ(turns.num_waiting(), 3U);
  EXPECT_EQ(turns.num_waiting("a"), 2U);
  EXPECT_EQ(turns.num_waiting("b"), 1U);
  EXPECT_EQ(turns.num_waiting("c"), 0U);
  turns.end("a1");
  EXPECT_EQ(turns.num_waiting("b"), 0U);
}

using Parsing = ServerTest;

std::string completion_of(std::size_t num_bytes) {
  return post("/v1/completions", R"({"max_tokens": 1, "prompt": ")" + std::string(num_bytes, 'a') + "\"}");
}

TEST_F(Parsing, ASmallBodyIsAnsweredWhileALargeOneIsParsed) {
  script_.context = 1 << 20;
  script_.held_text_bytes = 100'000;
  script_.tokenizing_held = true;
  start_ready();
  TestClient large(port_), other(port_);
  large.send(completion_of(200'000));
  ASSERT_TRUE(eventually([this] { return script_.num_tokenized == 1; }));
  other.send(completion_of(300'000));
  EXPECT_THAT(ask(completion_of(100)), StartsWith("HTTP/1.1 200"));
  EXPECT_THAT(ask(post("/tokenize", R"({"prompt": "abc"})")), StartsWith("HTTP/1.1 200"));
  EXPECT_EQ(script_.num_tokenized, 3);  // the other large one waits behind the first
  script_.tokenizing_held = false;
  EXPECT_THAT(large.read_answer(), StartsWith("HTTP/1.1 200"));
  EXPECT_THAT(other.read_answer(), StartsWith("HTTP/1.1 200"));
}

TEST_F(Parsing, ATextThatCannotFitIsRefusedAsSuch) {
  start_ready();
  const std::string refused = ask(completion_of(10'001));
  EXPECT_THAT(refused, StartsWith("HTTP/1.1 400"));
  EXPECT_THAT(refused, HasSubstr("maximum context length is 10000 tokens"));
  EXPECT_THAT(refused, HasSubstr("resulted in 10001 tokens"));
  EXPECT_THAT(refused, HasSubstr(R"("n_prompt_tokens":10001,"n_ctx":10000)"));
  EXPECT_THAT(refused, HasSubstr("context_length_exceeded"));
  const std::string content(10'001, 'a');
  const std::string chat =
      ask(post("/v1/chat/completions", R"({"messages": [{"role": "user", "content": ")" + content + "\"}]}"));
  EXPECT_THAT(chat, StartsWith("HTTP/1.1 400"));
  EXPECT_THAT(chat, HasSubstr("exceed_context_size_error"));
}

TEST_F(Parsing, AResponseThatCannotFitIsRefusedInItsStreamWhereItsClientsLook) {
  start_ready();
  const auto asked = [this](const std::string& stream) {
    return ask(post("/v1/responses", R"({"input": ")" + std::string(10'001, 'a') + R"(", "stream": )" + stream + "}"));
  };
  const std::string streamed = asked("true");
  EXPECT_THAT(streamed, StartsWith("HTTP/1.1 200"));
  EXPECT_THAT(streamed, HasSubstr("Content-Type: text/event-stream"));
  EXPECT_THAT(streamed, HasSubstr("event: response.failed\n"));
  EXPECT_THAT(streamed, HasSubstr(R"("error":{"code":"context_length_exceeded",)"));
  EXPECT_THAT(asked("false"), StartsWith("HTTP/1.1 400"));
}

TEST_F(Parsing, TokensAreCountedBeyondTheContextUpToABound) {
  start_ready();
  const auto count = [this](std::size_t num_bytes) {
    return ask(post("/tokenize", "{\"prompt\": \"" + std::string(num_bytes, 'a') + "\"}"));
  };
  EXPECT_THAT(count(1U << 18), HasSubstr("\"count\":262144,"));
  const std::string refused = count((1U << 18) + 1);
  EXPECT_THAT(refused, StartsWith("HTTP/1.1 400"));
  EXPECT_THAT(refused, HasSubstr("prompt: found more than 262144 tokens"));
}

TEST_F(Parsing, PromptsThatAreTooManyAreRefusedBeforeAnyIsTokenized) {
  start_ready();
  std::string prompts = "\"a\"";
  for (int i = 1; i < 9; ++i) prompts += ", \"a\"";
  EXPECT_THAT(ask(post("/v1/completions", R"({"n": 128, "prompt": [)" + prompts + "]}")), StartsWith("HTTP/1.1 400"));
  EXPECT_EQ(script_.num_tokenized, 0);
}

TEST_F(Parsing, EveryRouteBoundsTheMembersOfItsObjects) {
  start_ready();
  std::string members = "\"k0\": 0";
  for (int i = 1; i < 1025; ++i) members += fmt::format(", \"k{}\": 0", i);
  for (const char* path : {"/v1/completions", "/v1/chat/completions", "/tokenize", "/detokenize"}) {
    const std::string refused = ask(post(path, "{\"unknown\": {" + members + "}}"));
    EXPECT_THAT(refused, StartsWith("HTTP/1.1 400")) << path;
    EXPECT_THAT(refused, HasSubstr("an object of 1025 members")) << path;
  }
}

TEST(MemoryReturn, ComesRarelyAndNotForALittle) {
  server::MemoryReturn memory(10s);
  server::MemoryReturn::Clock::time_point now{};
  std::uint64_t num_bytes = server::MemoryReturn::kWorthwhile - 1;
  for (int i = 0; i < 100; ++i) EXPECT_FALSE(memory.is_due(num_bytes, now += 1s));
  int num_returns = 0;
  for (int i = 0; i < 100; ++i) num_returns += memory.is_due(num_bytes += 8'000'000, now += 1s) ? 1 : 0;
  EXPECT_EQ(num_returns, 9) << "ten seconds behind the first body that left enough";
  num_returns = 0;
  for (int i = 0; i < 100; ++i) num_returns += memory.is_due(num_bytes, now += 1s) ? 1 : 0;
  EXPECT_EQ(num_returns, 1) << "what came behind the last one, and nothing further";
}

using Returning = ServerTest;

TEST_F(Returning, WhatARefusedBodyLeavesIsGivenBackWhereTheProcessIsTheServers) {
  std::atomic<int> num_returns = 0;
  options_.bodies.return_memory = [&] { ++num_returns; };
  options_.bodies.return_interval = 0ms;
  start_ready();
  EXPECT_THAT(ask(post("/v1/completions", R"({"prompt": "a", "unknown": [)")), StartsWith("HTTP/1.1 400"));
  EXPECT_THAT(ask(post("/v1/completions", "[" + std::string(2 << 20, ' ') + "]")), StartsWith("HTTP/1.1 400"));
  EXPECT_TRUE(eventually([&] { return num_returns == 1; }));
  EXPECT_TRUE(stop());
  EXPECT_EQ(num_returns, 1);
}

}  // namespace
}  // namespace octavo::test
