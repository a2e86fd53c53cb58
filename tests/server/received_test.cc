// Bytes that clients send and nobody has parsed yet: their bound, and who pays for it.
#include "http/received_bytes.h"

#include <gmock/gmock.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <optional>

#include "server/test_client.h"

namespace octavo::test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;

TEST(ReceivedBytes, TheLargestShareGivesUpUntilTheOthersFit) {
  ReceivedBytes all(1000);
  std::vector<int> gave_up;
  std::vector<std::unique_ptr<ReceivedBytes::Share>> shares;
  for (int i = 0; i < 4; ++i)
    shares.push_back(std::make_unique<ReceivedBytes::Share>(all, [&gave_up, i] { gave_up.push_back(i); }));
  shares[0]->set(500);
  shares[1]->set(100);
  shares[2]->set(400);
  EXPECT_THAT(gave_up, IsEmpty());
  shares[3]->set(1);
  EXPECT_THAT(gave_up, ElementsAre(0));
  EXPECT_TRUE(shares[0]->gave_up());
  EXPECT_EQ(all.total(), 501U);
  shares[0]->set(5000);  // it drops all that it still receives
  EXPECT_EQ(all.total(), 501U);
  shares[1]->set(1001);
  EXPECT_THAT(gave_up, ElementsAre(0, 1));
  shares[2].reset();
  EXPECT_EQ(all.total(), 1U);
}

/// Gives the bytes that a test wrote, then waits for ever; what is written to it is lost.
class ScriptedTransport final : public Transport {
 public:
  ScriptedTransport(boost::asio::io_context& io, std::string bytes)
      : socket_(io), never_(io, boost::asio::steady_timer::time_point::max()), bytes_(std::move(bytes)) {}

  const Tcp::socket& socket() const override { return socket_; }
  boost::asio::awaitable<bool> handshake() override { co_return true; }
  boost::asio::awaitable<std::size_t> read_some(boost::asio::mutable_buffer buffer) override {
    const std::size_t count = std::min(buffer.size(), bytes_.size());
    std::copy_n(bytes_.begin(), count, static_cast<char*>(buffer.data()));
    bytes_.erase(0, count);
    if (count > 0) co_return count;
    boost::system::error_code ignored;
    co_await never_.async_wait(boost::asio::redirect_error(boost::asio::use_awaitable, ignored));
    co_return 0;
  }
  boost::asio::awaitable<std::size_t> write_some(boost::asio::const_buffer buffer) override { co_return buffer.size(); }
  boost::asio::awaitable<void> finish_writing() override { co_return; }
  void close() override { never_.cancel(); }

 private:
  Tcp::socket socket_;
  boost::asio::steady_timer never_;
  std::string bytes_;
};

/// The part that is read of a request whose bytes arrive together, if `check` looks at its head.
Received receive(const std::string& bytes, const HttpConnection::HeadCheck& check) {
  boost::asio::io_context io;
  const HttpLimits limits;
  ReceivedBytes all(1U << 30);
  HttpConnection connection(std::make_unique<ScriptedTransport>(io, bytes), limits, all, io.get_executor());
  std::optional<Received> received;
  const auto read = [&]() -> boost::asio::awaitable<void> {
    received = co_await connection.read_request(check);
    connection.close();
  };
  boost::asio::co_spawn(io, connection.read_loop(), boost::asio::detached);
  boost::asio::co_spawn(io, read(), boost::asio::detached);
  io.run();
  return std::move(received.value());
}

TEST(HttpConnection, TheBodyOfARequestThatIsNotLetInIsNotRead) {
  const std::string request = post("/v1/completions", std::string(3000, ' '));
  std::size_t seen_bytes = 0;
  const auto refuse = [&seen_bytes](const HttpRequest& head) -> std::optional<ApiError> {
    seen_bytes = head.body().size();
    return ApiError{.status = 401};
  };
  const Received refused = receive(request, refuse);
  ASSERT_TRUE(refused.error);
  EXPECT_EQ(refused.error->status, 401);
  EXPECT_EQ(seen_bytes, 0U);
  EXPECT_EQ(refused.request.body().size(), 0U);
  const Received taken = receive(request, [](const HttpRequest&) { return std::nullopt; });
  ASSERT_FALSE(taken.error);
  EXPECT_EQ(taken.request.body().size(), 3000U);
}

using Receiving = ServerTest;

std::string head_of(std::size_t body_bytes) {
  return fmt::format(
      "POST /v1/completions HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n",
      body_bytes);
}
const std::string kSmall = post("/v1/completions", R"({"prompt": "abc", "max_tokens": 2})");

TEST(HttpLimits, TwoOfTheLargestRequestsFitIntoWhatAllMayTakeUnlessThatIsNamed) {
  HttpLimits limits;
  EXPECT_EQ(limits.received_bound(), std::uint64_t{256} << 20);
  limits.max_body_bytes = std::size_t{1} << 30;
  EXPECT_EQ(limits.received_bound(), 2 * limits.largest_request_bytes());
  limits.max_received_bytes = 5;
  EXPECT_EQ(limits.received_bound(), 5U);
}

TEST(ServerOptions, BoundsOfWhatABodyBecomesAndRefersToFollowItsSize) {
  server::ServerOptions options;
  EXPECT_EQ(options.stored_limits().max_request_bytes, options.http.max_body_bytes);
  options.http.max_body_bytes = std::size_t{1} << 30;
  options.answers.stored.max_bytes = 7;
  EXPECT_EQ(options.stored_limits().max_request_bytes, options.http.max_body_bytes);
  EXPECT_EQ(options.stored_limits().max_bytes, 7U);
  EXPECT_EQ(options.body_limits().max_memory_bytes, 8 * options.http.max_body_bytes);
}

TEST_F(Receiving, TheLargestRequestIsRefusedWhereAllTogetherAreTooMuch) {
  options_.http.max_received_bytes = 200'000;
  start_ready();
  TestClient larger(port_), smaller(port_);
  larger.send(head_of(150'000) + R"({"prompt": ")" + std::string(120'000, 'a'));
  ask(get("/health"));  // by then it has arrived
  smaller.send(head_of(110'000) + R"({"prompt": ")" + std::string(100'000, 'a'));
  const std::string refused = larger.read_to_end();
  EXPECT_THAT(refused, StartsWith("HTTP/1.1 503"));
  EXPECT_THAT(refused, HasSubstr("\r\nRetry-After: "));
  EXPECT_THAT(refused, HasSubstr("\r\nConnection: close\r\n"));
  EXPECT_THAT(refused, HasSubstr("\"code\":\"out_of_memory\""));
  EXPECT_THAT(ask(kSmall), StartsWith("HTTP/1.1 200"));
  smaller.send("\"" + std::string(10'000 - 14, ' ') + "}");
  EXPECT_THAT(smaller.read_answer(), HasSubstr("context_length_exceeded"));  // it was read, and is no more than that
}

TEST_F(Receiving, ABodyThatWaitsToBeParsedIsRefusedForOneThatArrives) {
  options_.http.max_received_bytes = 200'000;
  options_.bodies.parse_threads = 1;
  script_.tokenizing_held = true;
  start_ready();
  TestClient parsed(port_), waiting(port_), arriving(port_);
  parsed.send(kSmall);
  ASSERT_TRUE(eventually([this] { return script_.num_tokenized == 1; }));
  waiting.send(head_of(150'000) + R"({"prompt": ")" + std::string(149'986, 'a') + "\"}");
  ASSERT_TRUE(eventually([this] { return metric("octavo:http_received_bytes") >= 150'000; }));
  arriving.send(head_of(150'000) + R"({"prompt": ")" + std::string(100'000, 'a'));
  EXPECT_THAT(waiting.read_answer(), StartsWith("HTTP/1.1 503"));
  script_.tokenizing_held = false;
  EXPECT_THAT(parsed.read_answer(), StartsWith("HTTP/1.1 200"));
}

TEST_F(Receiving, RequestsWhoseAnswersNobodyReadsAreHeldToALittle) {
  start_ready();
  TestClient lazy(port_, 4096);
  std::string many;
  while (many.size() < 200'000) many += get("/");  // the chat page: 10 kB and more each
  std::atomic<bool> stopped = false;
  std::thread sender([&] {
    try {
      while (!stopped) lazy.send(many);
    } catch (const std::exception&) {  // cut off, or closed below
    }
  });
  ASSERT_TRUE(eventually([this] { return metric("octavo:http_received_bytes") >= 60'000; }));
  for (int i = 0; i < 20; ++i) {
    EXPECT_LE(metric("octavo:http_received_bytes"), 80'000) << i;
    std::this_thread::sleep_for(5ms);
  }
  stopped = true;
  server_->drain();
  lazy.shut_down();
  sender.join();
}

TEST_F(Receiving, WhatWasReceivedIsFreeOnceItIsParsed) {
  script_.held = true;
  script_.context = 1 << 20;
  start_ready();
  TestClient client(port_);
  client.send(post("/v1/completions", R"({"max_tokens": 5, "prompt": ")" + std::string(300'000, 'a') + "\"}"));
  ASSERT_TRUE(eventually([this] { return script_.num_running == 1; }));
  EXPECT_TRUE(eventually([this] { return metric("octavo:http_received_bytes") < 10'000; }));
}

}  // namespace
}  // namespace octavo::test
