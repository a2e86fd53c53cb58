// HTTP/1.1 on one connection: reads requests within limits and time-outs, writes answers whole or in chunks, and
// notices at any time that the client has hung up.
//
// The I/O thread. Two coroutines share it. read_loop() always has a read under way, so that the end of the connection
// is seen also while an answer is being made. The owner's reads requests and writes answers; Signal wakes it.
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
  /// The body of an answer that is the same for all: it outlives the connection, and nobody holds a copy. Empty:
  /// `body`.
  std::string_view shared_body = {};

  std::string_view content() const { return shared_body.empty() ? std::string_view(body) : shared_body; }
};

/// An error as an answer, with its Retry-After.
HttpResponse to_response(const ApiError& error);

/// The 503 of a request that is given up because too much was received at once (see received_bytes.h).
ApiError too_much_received();

/// A request as far as it was read; `error` says why it is refused.
struct Received {
  HttpRequest request;
  std::optional<ApiError> error = {};
};

class HttpConnection {
 public:
  /// Looks at a request's head before its body is read; an error refuses it.
  using HeadCheck = std::function<std::optional<ApiError>(const HttpRequest&)>;

  /// `client`: ReceivedBytes::Share's.
  HttpConnection(std::unique_ptr<Transport> transport, const HttpLimits& limits, ReceivedBytes& received,
                 const asio::any_io_executor& executor, std::string_view client = {});

  /// Runs until the connection ends; whoever spawns it keeps the connection alive meanwhile.
  asio::awaitable<void> read_loop();
  asio::awaitable<bool> handshake();

  /// The next request; none: the connection is at its end. One that is refused must be answered like any other.
  asio::awaitable<std::optional<Received>> read_request(const HeadCheck& check);

  /// Writes a whole answer, and gives back its memory as it goes. False: the client is gone, as for the others that
  /// write.
  asio::awaitable<bool> respond(HttpResponse& response, bool head_only = false);
  /// Begins an answer of unknown length.
  asio::awaitable<bool> begin_stream(const HttpResponse& head);
  asio::awaitable<bool> write_stream(std::string_view bytes, bool is_last);

  /// Gives the client time to read what was written, then closes.
  asio::awaitable<void> linger_and_close();
  void close();

  /// It sends no more: it has left, as far as a server can tell. It may still read an answer. Any thread.
  bool hung_up() const { return ended_; }
  bool closed() const { return closed_; }
  /// It holds the most of too much that was received: while its request's body has not been taken, the request is to be
  /// refused as too_much_received().
  bool gave_up() const { return held_.gave_up(); }
  /// The body of the current request, or what was made of it, takes so many bytes while it waits. Its head counts
  /// beside it until the next request.
  void hold_body(std::size_t num_bytes);
  /// It is no longer held, or soon will not be.
  void body_is_taken() { hold_body(0); }
  /// The client has not taken all of what it was given.
  bool writing() const { return phase_ == Phase::kWriting; }
  /// A request on it is being read or answered.
  bool busy() const { return phase_ > Phase::kIdle || num_unparsed() > 0; }
  bool had_request() const { return num_requests_ > 0; }
  /// The connection may be used for a further request.
  bool may_continue() const { return keep_alive_ && !ended_ && !closed_; }
  /// The answer to the current request is the connection's last.
  void stop_after_this() { keep_alive_ = false; }
  Signal& wake() { return wake_; }
  /// Called once, when the client hangs up.
  void set_on_hang_up(std::function<void()> callback) { on_hang_up_ = std::move(callback); }
  /// Called when its standing changes: see give_up_place(). It is silent at first.
  void set_on_standing(std::function<void(ConnectionStanding)> callback) { standing_.on_change = std::move(callback); }
  std::uint64_t bytes_written() const { return bytes_written_; }
  const HttpLimits& limits() const { return limits_; }

  /// Several times a second: acts on what is overdue.
  void tick(Clock::time_point now);
  /// The server is shutting down: ends it, if it waits for a request, or for its last answer to be read, and has a
  /// while.
  void close_if_idle();
  /// The server has been shutting down for a moment: ends it, if it waits for its client. A request that is not whole
  /// is refused with the error; an answer that is not taken, be it a stream, is given up.
  void stop_waiting(const ApiError& error);
  /// Others want its place: ends it, if it stands so. False: it does not, or bytes have come that nobody has looked at.
  bool give_up_place(ConnectionStanding standing);

 private:
  static constexpr std::size_t kReadBytes = 4096;
  enum class Phase : std::uint8_t { kHandshake, kIdle, kReading, kAnswering, kWriting, kLingering };

  /// The current request, and its answer.
  struct Current {
    std::size_t head_bytes = 0;  // with the books of its fields
    std::size_t body_bytes = 0;  // as far as they are held
    unsigned version = 11;
    bool is_streamed = false;
    bool is_stalled = false;             // its client has done nothing for too long
    std::optional<ApiError> error = {};  // why it is no longer read
  };

  std::size_t num_unparsed() const { return in_.size() - in_begin_; }
  /// As many as are held of a request that is read. The header must fit, whole, before the parser takes it.
  std::size_t max_unparsed() const { return limits_.max_header_bytes + kReadBytes; }
  void drop_parsed(std::size_t count);
  void give_up();
  void enter(Phase phase);
  static ConnectionStanding standing_in(Phase phase);
  void set_standing(ConnectionStanding standing);
  /// More of a request whose head is whole is to come, soon.
  void expect_body();
  void refuse_rest(ApiError error);
  void end();
  /// Feeds what was received to the parser.
  std::optional<ApiError> parse(http::request_parser<http::string_body>& parser);
  /// Checks a head that was parsed, and gives the go-ahead that a client with a long body may wait for.
  asio::awaitable<std::optional<ApiError>> take_head(const http::request_parser<http::string_body>& parser,
                                                     const HeadCheck& check);
  ApiError to_error(boost::system::error_code error) const;
  asio::awaitable<bool> write(std::string_view bytes);
  asio::awaitable<bool> write_body(HttpResponse& response);
  asio::awaitable<std::size_t> write_some(std::string_view bytes);
  std::string head_of(const HttpResponse& response) const;

  std::unique_ptr<Transport> transport_;
  const HttpLimits& limits_;
  Signal wake_, room_;  // room_: of in_, for read_loop
  std::function<void()> on_hang_up_;
  struct {
    std::function<void(ConnectionStanding)> on_change;
    ConnectionStanding now = ConnectionStanding::kSilent;
  } standing_;
  std::string in_;  // received; what is not parsed begins at in_begin_
  std::size_t in_begin_ = 0;
  Current current_ = {};
  ReceivedBytes::Share held_;
  std::string frame_;
  struct {
    Clock::time_point overdue;                           // when the phase has lasted too long
    Clock::time_point stall = Clock::time_point::max();  // when a client that is waited for has done nothing too long
    Clock::duration patience = {};                       // with a client that is slow to take what is written
  } times_;
  Phase phase_ = Phase::kHandshake;
  int num_requests_ = 0;
  std::uint64_t bytes_written_ = 0;
  bool keep_alive_ = true;
  std::atomic<bool> ended_ = false;  // the client closed, or the connection broke
  bool closed_ = false;              // by us
};

}  // namespace octavo
