// HTTP/1.1 on one connection: reads requests within limits and time-outs, writes answers whole or in chunks, and
// notices at any time that the client has hung up.
//
// The I/O thread. Two coroutines share it. That of read_loop() always has a read in progress, so that the end of the
// connection is seen even while an answer is being made. The owner's reads requests and writes answers; a Signal wakes
// it.
#pragma once

#include <atomic>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/string_body.hpp>
#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "api/buffered_answer.h"
#include "api/call/api_error.h"
#include "http/connection_standing.h"
#include "http/http_options.h"
#include "http/received_bytes.h"
#include "http/signal.h"
#include "http/transport.h"

namespace octavo {

namespace http = boost::beast::http;
using Clock = std::chrono::steady_clock;
using HttpRequest = http::request<http::string_body>;

struct HttpResponse {
  int status = 200;
  std::string content_type = "application/json";
  std::string body = {};
  std::vector<std::pair<std::string, std::string>> headers = {};
  BufferedAnswer held = {};  // counts the body
  /// A body that is the same in all answers, and outlives the connection, so that it is not copied. Empty: `body`
  /// counts.
  std::string_view shared_body = {};

  std::string_view content() const { return shared_body.empty() ? std::string_view(body) : shared_body; }
};

/// An error as an answer, with Retry-After where it has one.
HttpResponse to_response(const ApiError& error);

/// The error (503) of a request that was given up because too much was received at once (received_bytes.h).
ApiError too_much_received();

/// A request as far as it was read; `error` says why it is refused, if it is.
struct Received {
  HttpRequest request;
  std::optional<ApiError> error = {};
};

class HttpConnection {
 public:
  /// Checks a request's head before its body is read; an error refuses the request.
  using HeadCheck = std::function<std::optional<ApiError>(const HttpRequest&)>;

  /// `client`: see ReceivedBytes::Share.
  HttpConnection(std::unique_ptr<Transport> transport, const HttpLimits& limits, ReceivedBytes& received,
                 const asio::any_io_executor& executor, std::string_view client = {});

  /// Runs until the connection ends; whoever spawns it keeps the connection alive that long.
  asio::awaitable<void> read_loop();
  asio::awaitable<bool> handshake();

  /// The next request; none: the connection is at its end. One that is refused must be answered, too.
  asio::awaitable<std::optional<Received>> read_request(const HeadCheck& check);

  /// Writes a whole answer, and frees its memory as it goes. False: the client is gone, as in all functions that write.
  asio::awaitable<bool> respond(HttpResponse& response, bool head_only = false);
  /// Begins an answer of unknown length.
  asio::awaitable<bool> begin_stream(const HttpResponse& head);
  asio::awaitable<bool> write_stream(std::string_view bytes, bool is_last);

  /// Gives the client time to read what was written, then closes.
  asio::awaitable<void> linger_and_close();
  void close();

  /// Whether the client sends no more: it has left, as far as a server can tell, although it may still read an answer.
  /// Any thread.
  bool hung_up() const { return ended_; }
  bool closed() const { return closed_; }
  /// Whether its client holds the most when too much was received: until the body of its request has been taken, the
  /// request must be refused as too_much_received().
  bool gave_up() const { return held_.gave_up(); }
  /// Counts the bytes that the body of the current request, or what was made of it, takes while it waits. The head
  /// counts besides, until the next request.
  void hold_body(std::size_t num_bytes);
  /// Counts nothing for the body any more: it is gone, or will be soon.
  void body_is_taken() { hold_body(0); }
  /// Whether the client has not taken all that was written.
  bool writing() const { return phase_ == Phase::kWriting; }
  /// Whether a request on it is being read or answered.
  bool busy() const { return phase_ > Phase::kIdle || num_unparsed() > 0; }
  bool had_request() const { return num_requests_ > 0; }
  /// Whether the connection may be used for another request.
  bool may_continue() const { return keep_alive_ && !ended_ && !closed_; }
  /// Makes the answer to the current request the connection's last.
  void stop_after_this() { keep_alive_ = false; }
  Signal& wake() { return wake_; }
  /// `callback` is called once, when the client hangs up.
  void set_on_hang_up(std::function<void()> callback) { on_hang_up_ = std::move(callback); }
  /// `callback` is called when the standing changes: see give_up_place(). It is silent at first.
  void set_on_standing(std::function<void(ConnectionStanding)> callback) { standing_.on_change = std::move(callback); }
  std::uint64_t bytes_written() const { return bytes_written_; }
  const HttpLimits& limits() const { return limits_; }

  /// Acts on what is overdue. Called several times a second.
  void tick(Clock::time_point now);
  /// Ends it where it waits for a request, or for its last answer to be read and has done so for a while: the server is
  /// shutting down.
  void close_if_idle();
  /// Ends it where it waits for its client: the server has been shutting down for a moment. An incomplete request is
  /// refused with the error; an answer that is not taken, streamed or not, is given up.
  void stop_waiting(const ApiError& error);
  /// Ends it if it has this standing: others want its place. False: it has not, or bytes have come that nobody has
  /// looked at.
  bool give_up_place(ConnectionStanding standing);

 private:
  static constexpr std::size_t kReadBytes = 4096;
  enum class Phase : std::uint8_t { kHandshake, kIdle, kReading, kAnswering, kWriting, kLingering };

  /// The current request, and its answer.
  struct Current {
    std::size_t head_bytes = 0;  // the size of the head, with the memory of its fields
    std::size_t body_bytes = 0;  // the size of the body, as far as it is held
    unsigned version = 11;
    bool is_streamed = false;
    bool is_stalled = false;             // its client has done nothing for too long
    std::optional<ApiError> error = {};  // why it is read no further
  };

  std::size_t num_unparsed() const { return in_.size() - in_begin_; }
  /// The most unparsed bytes of a request. The whole header must fit before the parser takes it.
  std::size_t max_unparsed() const { return limits_.max_header_bytes + kReadBytes; }
  void drop_parsed(std::size_t count);
  void give_up();
  void enter(Phase phase);
  static ConnectionStanding standing_in(Phase phase);
  void set_standing(ConnectionStanding standing);
  /// Expects the rest of a request whose head is complete, within a time.
  void expect_body();
  void refuse_rest(ApiError error);
  void end();
  /// Feeds received bytes to the parser.
  std::optional<ApiError> parse(http::request_parser<http::string_body>& parser);
  /// Checks a parsed head, and sends the go-ahead that a client with a long body may wait for.
  asio::awaitable<std::optional<ApiError>> take_head(const http::request_parser<http::string_body>& parser,
                                                     const HeadCheck& check);
  ApiError to_error(boost::system::error_code error) const;
  asio::awaitable<bool> write(std::string_view bytes);
  asio::awaitable<bool> write_body(HttpResponse& response);
  asio::awaitable<std::size_t> write_some(std::string_view bytes);
  std::string head_of(const HttpResponse& response) const;

  std::unique_ptr<Transport> transport_;
  const HttpLimits& limits_;
  Signal wake_, room_;  // room_: of room in in_, for read_loop()
  std::function<void()> on_hang_up_;
  struct {
    std::function<void(ConnectionStanding)> on_change;
    ConnectionStanding now = ConnectionStanding::kSilent;
  } standing_;
  std::string in_;  // received bytes; from in_begin_ on they are not parsed yet
  std::size_t in_begin_ = 0;
  Current current_ = {};
  ReceivedBytes::Share held_;
  std::string frame_;
  struct {
    Clock::time_point overdue;                           // when the current phase has lasted too long
    Clock::time_point stall = Clock::time_point::max();  // when the client has done nothing for too long
    Clock::duration patience = {};                       // how long a client may be slow to take what is written
  } times_;
  Phase phase_ = Phase::kHandshake;
  int num_requests_ = 0;
  std::uint64_t bytes_written_ = 0;
  bool keep_alive_ = true;
  std::atomic<bool> ended_ = false;  // the client has closed, or the connection broke
  bool closed_ = false;              // by this side
};

}  // namespace octavo
