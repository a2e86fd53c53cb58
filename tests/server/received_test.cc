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
    shares.push_back(std::make_unique<ReceivedBytes::Share>(all, "", [&gave_up, i] { gave_up.push_back(i); }));
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

TEST(ReceivedBytes, ManySmallSharesOfAClientGiveUpBeforeTheLargeOneOfAnother) {
  ReceivedBytes all(1000);
  std::vector<int> gave_up;
  std::vector<std::unique_ptr<ReceivedBytes::Share>> shares;
  for (int i = 0; i < 12; ++i) {
    const auto give_up = [&gave_up, i] { gave_up.push_back(i); };
    shares.push_back(std::make_unique<ReceivedBytes::Share>(all, i == 0 ? "192.0.2.1" : "192.0.2.2", give_up));
    shares.back()->set(i == 0 ? 400 : 60 + static_cast<std::uint64_t>(i));
  }
  EXPECT_THAT(gave_up, ElementsAre(10, 11)) << "the largest of who holds the most";
  shares.clear();
  EXPECT_EQ(all.total(), 0U);
}

/// Gives the bytes that a test writes and feeds it, then waits. What is written to it is lost, or waits for ever.
class ScriptedTransport final : public Transport {
 public:
  ScriptedTransport(boost::asio::io_context& io, std::string bytes)
      : socket_(io), wake_(io.get_executor()), never_(io.get_executor()), bytes_(std::move(bytes)) {}

  const Tcp::socket& socket() const override { return socket_; }
  boost::asio::awaitable<bool> handshake() override { co_return true; }
  boost::asio::awaitable<std::size_t> read_some(boost::asio::mutable_buffer buffer) override {
    while (bytes_.empty() && !is_closed_) co_await wake_.wait();
    const std::size_t count = is_closed_ ? 0 : std::min(buffer.size(), bytes_.size());
    std::copy_n(bytes_.begin(), count, static_cast<char*>(buffer.data()));
    bytes_.erase(0, count);
    co_return count;
  }
  boost::asio::awaitable<std::size_t> write_some(boost::asio::const_buffer buffer) override {
    written_.emplace_back(static_cast<const char*>(buffer.data()), buffer.size());
    while (!takes_any_ && !is_closed_) co_await never_.wait();
    co_return is_closed_ ? 0 : buffer.size();
  }
  boost::asio::awaitable<void> finish_writing() override { co_return; }
  void close() override {
    is_closed_ = true;
    wake_.notify();
    never_.notify();
  }

  void feed(const std::string& bytes) {
    bytes_ += bytes;
    wake_.notify();
  }
  /// From now on the client takes nothing.
  void stop_taking() { takes_any_ = false; }
  /// Where the bytes lay that were written: those of before are gone.
  const std::vector<std::string_view>& written() const { return written_; }

 private:
  Tcp::socket socket_;
  Signal wake_, never_;
  std::string bytes_;
  std::vector<std::string_view> written_ = {};
  bool is_closed_ = false, takes_any_ = true;
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

/// A connection without a server, at moments that the test sets.
class Standing : public ::testing::Test {
 protected:
  Standing() {
    connection_.set_on_standing([this](ConnectionStanding standing) { now_ = standing; });
    boost::asio::co_spawn(io_, connection_.read_loop(), boost::asio::detached);
    boost::asio::co_spawn(io_, read(), boost::asio::detached);
    io_.poll();
  }
  ~Standing() override {
    connection_.close();
    io_.poll();
  }
  boost::asio::awaitable<void> read() {
    received_ = co_await connection_.read_request([](const HttpRequest&) { return std::nullopt; });
  }
  boost::asio::awaitable<void> respond(HttpResponse response) { co_await connection_.respond(response); }
  boost::asio::awaitable<void> begin_stream() {
    const HttpResponse head;
    co_await connection_.begin_stream(head);
  }
  void write(boost::asio::awaitable<void> written) {
    boost::asio::co_spawn(io_, std::move(written), boost::asio::detached);
    io_.poll();
  }
  void feed(const std::string& bytes) {
    transport_.feed(bytes);
    io_.poll();
  }
  /// It does something, and the standing that it has a little before and behind the time that a client may do nothing.
  template <class Act>
  std::pair<ConnectionStanding, ConnectionStanding> after(Act act) {
    const Clock::time_point begin = Clock::now();
    act();
    connection_.tick(begin + limits_.stall_time - 1ms);
    const ConnectionStanding before = now_;
    connection_.tick(Clock::now() + limits_.stall_time);
    return {before, now_};
  }

  boost::asio::io_context io_;
  const HttpLimits limits_;
  ReceivedBytes all_{1U << 30};
  std::unique_ptr<ScriptedTransport> made_ = std::make_unique<ScriptedTransport>(io_, "");
  ScriptedTransport& transport_ = *made_;
  HttpConnection connection_{std::move(made_), limits_, all_, io_.get_executor()};
  ConnectionStanding now_ = ConnectionStanding::kSilent;
  std::optional<Received> received_;
};

constexpr auto kSilent = ConnectionStanding::kSilent, kUnfinished = ConnectionStanding::kUnfinished,
               kBusy = ConnectionStanding::kBusy;

TEST_F(Standing, ARequestIsUnfinishedForAsLongAsItsBytesComeAndBusyOnceItIsWhole) {
  EXPECT_EQ(now_, kSilent);
  EXPECT_EQ(after([&] { feed("GET /health HTTP/1.1\r\n"); }), std::pair(kUnfinished, kSilent));
  EXPECT_EQ(after([&] { feed("Content-Length: 3\r\n"); }), std::pair(kSilent, kSilent)) << "a head has its time";
  EXPECT_EQ(after([&] { feed("Host: x\r\n\r\n"); }), std::pair(kUnfinished, kSilent));
  EXPECT_EQ(after([&] { feed("1"); }), std::pair(kUnfinished, kSilent));
  EXPECT_EQ(after([&] { feed("2"); }), std::pair(kUnfinished, kSilent));
  EXPECT_FALSE(received_);
  EXPECT_EQ(after([&] { feed("3"); }), std::pair(kBusy, kBusy));
  EXPECT_TRUE(received_);
  EXPECT_FALSE(connection_.give_up_place(kUnfinished));
  EXPECT_FALSE(connection_.closed());
}

TEST_F(Standing, ARequestThatIsNotWholeGivesItsPlaceUp) {
  feed("GET / HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n\r\n1");
  EXPECT_FALSE(connection_.give_up_place(kSilent));
  EXPECT_TRUE(connection_.give_up_place(kUnfinished));
  EXPECT_TRUE(connection_.closed());
}

TEST_F(Standing, AWholeAnswerThatIsNotTakenIsUnfinished) {
  feed(get("/"));
  transport_.stop_taking();
  const auto begin = [&] { write(respond({.body = "word"})); };
  EXPECT_EQ(after(begin), std::pair(kBusy, kUnfinished));
  EXPECT_TRUE(connection_.give_up_place(kUnfinished));
  EXPECT_TRUE(connection_.closed());
}

TEST_F(Standing, AStreamThatIsNotTakenIsBusy) {
  feed(get("/"));
  transport_.stop_taking();
  const auto begin = [&] { write(begin_stream()); };
  EXPECT_EQ(after(begin), std::pair(kBusy, kBusy));
}

TEST_F(Standing, AtAShutdownARequestThatIsNotWholeIsRefusedAndOneThatIsAnsweredIsNot) {
  feed("GET / HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n\r\n1");
  connection_.stop_waiting(shutting_down());
  io_.poll();
  ASSERT_TRUE(received_);
  ASSERT_TRUE(received_->error);
  EXPECT_EQ(received_->error->status, 503);
  EXPECT_FALSE(connection_.may_continue());
  connection_.stop_waiting(shutting_down());
  EXPECT_FALSE(connection_.closed()) << "its answer is to be written";
}

TEST_F(Standing, AtAShutdownAStreamThatIsNotTakenIsGivenUp) {
  feed(get("/"));
  transport_.stop_taking();
  write(begin_stream());
  connection_.stop_waiting(shutting_down());
  EXPECT_FALSE(connection_.closed()) << "its client may take something";
  connection_.tick(Clock::now() + limits_.stall_time);
  connection_.stop_waiting(shutting_down());
  EXPECT_TRUE(connection_.closed());
}

TEST_F(Standing, AConnectionThatLingersIsSilent) {
  feed("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 100000\r\n\r\n");
  write(connection_.linger_and_close());
  EXPECT_EQ(now_, kSilent);
  feed("something that nobody reads");
  EXPECT_TRUE(connection_.give_up_place(kSilent));
}

TEST_F(Standing, AnAnswerThatIsTheSameForAllIsWrittenFromWhereItLies) {
  const std::string shared(1 << 20, 'x');
  feed(get("/"));
  write(respond({.shared_body = shared}));
  ASSERT_EQ(transport_.written().size(), 2U) << "its head and itself";
  EXPECT_EQ(transport_.written()[1].data(), shared.data());
  EXPECT_EQ(transport_.written()[1].size(), shared.size());
}

TEST_F(Standing, AHeadOfManyFieldsCountsWithWhatTheyTake) {
  std::string fields;
  for (int i = 0; i < 3000; ++i) fields += "a:\r\n";
  feed(get("/", fields));
  EXPECT_EQ(now_, kBusy);
  EXPECT_GE(all_.total(), 3000U * 64);
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
