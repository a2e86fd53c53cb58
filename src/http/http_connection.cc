#include "http/http_connection.h"

#include <algorithm>
#include <boost/beast/http/error.hpp>
#include <boost/beast/http/rfc7230.hpp>

namespace octavo {
namespace {

constexpr std::chrono::seconds kLingerTime{2};
constexpr std::size_t kJoinBytes = 16U << 10;  // the largest body that is sent in one piece with its head

constexpr std::size_t kFieldBytes = 64;  // about the memory that a header field takes beside its text

/// The bytes that a parsed head takes, which may be many times its text.
std::size_t num_bytes_of(const HttpRequest& head) {
  std::size_t num_bytes = head.target().size();
  for (const auto& field : head) num_bytes += kFieldBytes + field.name_string().size() + field.value().size();
  return num_bytes;
}

/// The error of a head that this server and a proxy before it might read differently (RFC 9112, 3.2 and 6.1).
std::optional<ApiError> find_ambiguity(const HttpRequest& request) {
  const std::size_t num_hosts = request.count(http::field::host);
  if (num_hosts > 1 || (num_hosts == 0 && request.version() == 11))
    return ApiError{.status = 400, .message = fmt::format("found {} Host headers, expected one", num_hosts)};
  const auto coding = request.find(http::field::transfer_encoding);
  if (coding != request.end() && request.version() < 11)
    return ApiError{.status = 400,
                    .message =
                        "found a transfer coding in a request of HTTP/1.0, which has none: expected a "
                        "Content-Length"};
  if (coding != request.end() && !boost::beast::iequals(coding->value(), "chunked"))
    return ApiError{.status = 501,
                    .message = fmt::format("found the transfer coding '{}', expected chunked or none",
                                           std::string(coding->value()))};
  return std::nullopt;
}

}  // namespace

HttpResponse to_response(const ApiError& error) {
  HttpResponse response{.status = error.status, .body = error_body(error)};
  if (error.retry_after_s > 0) response.headers.emplace_back("Retry-After", std::to_string(error.retry_after_s));
  if (error.status == 401) response.headers.emplace_back("WWW-Authenticate", "Bearer");
  // OpenAI's clients repeat a request that ended with a 408 unless they are told not to.
  const bool is_final = error.code == "deadline_exceeded" || error.status == 501;
  if (is_final) response.headers.emplace_back("X-Should-Retry", "false");
  return response;
}

ApiError too_much_received() {
  return {.status = 503,
          .message =
              "requests that arrive take more memory than this server has for them, and this one the most: send "
              "a smaller one, or try again later",
          .type = "server_error",
          .code = "out_of_memory",
          .retry_after_s = 1};
}

HttpConnection::HttpConnection(std::unique_ptr<Transport> transport, const HttpLimits& limits, ReceivedBytes& received,
                               const asio::any_io_executor& executor, std::string_view client)
    : transport_(std::move(transport)),
      limits_(limits),
      wake_(executor),
      room_(executor),
      held_(received, client, [this] { give_up(); }),
      times_{.overdue = Clock::now() + limits.read_timeout} {}

asio::awaitable<bool> HttpConnection::handshake() { co_return co_await transport_->handshake(); }

asio::awaitable<void> HttpConnection::read_loop() {
  while (!closed_) {
    if (phase_ == Phase::kLingering || gave_up()) drop_parsed(num_unparsed());
    const bool is_answering = phase_ == Phase::kAnswering || phase_ == Phase::kWriting;
    if (is_answering && on_hang_up_) {
      // The end of the connection is seen only after all bytes before it, so reading goes on, up to a bound.
      if (num_unparsed() > limits_.max_pipelined_bytes) co_return close();
    } else if (num_unparsed() >= (is_answering ? limits_.max_pipelined_bytes : max_unparsed())) {
      co_await room_.wait();
      continue;
    }
    // The buffer may be parsed during the read, which therefore goes into memory of its own.
    char buffer[kReadBytes];
    const std::size_t count = co_await transport_->read_some(asio::buffer(buffer));
    if (count == 0) break;
    in_.append(buffer, count);
    hold_body(current_.body_bytes);
    wake_.notify();
  }
  end();
}

/// Drops parsed bytes, at a cost that does not depend on how many follow.
void HttpConnection::drop_parsed(std::size_t count) {
  in_begin_ += count;
  if (in_begin_ < in_.size() / 2) return;
  in_.erase(0, in_begin_);
  in_begin_ = 0;
}

void HttpConnection::hold_body(std::size_t num_bytes) {
  current_.body_bytes = num_bytes;
  held_.set(in_.size() + current_.head_bytes + current_.body_bytes);
}

// A request whose body is still held is refused by its holder: read_request(), or the owner while it waits to take the
// body. Otherwise what was sent after the request is dropped, and the connection closed.
void HttpConnection::give_up() {
  keep_alive_ = false;
  const bool is_refused = phase_ <= Phase::kReading || (phase_ == Phase::kAnswering && current_.body_bytes > 0);
  std::string().swap(in_);
  in_begin_ = 0;
  current_.body_bytes = 0;
  if (is_refused) {
    wake_.notify();
  } else {
    close();
  }
}

void HttpConnection::end() {
  if (ended_) return;
  ended_ = true;
  if (on_hang_up_) on_hang_up_();
  wake_.notify();
}

void HttpConnection::enter(Phase phase) {
  phase_ = phase;
  current_.error.reset();
  current_.is_stalled = false;
  times_.stall = Clock::time_point::max();
  if (phase == Phase::kIdle && num_unparsed() == 0) {
    std::string().swap(in_);  // an idle connection holds nothing
    in_begin_ = 0;
  }
  const Clock::time_point now = Clock::now();
  switch (phase) {
    case Phase::kIdle: times_.overdue = now + limits_.idle_timeout; break;
    case Phase::kHandshake:
    case Phase::kReading: times_.overdue = now + limits_.read_timeout; break;
    case Phase::kAnswering: times_.overdue = Clock::time_point::max(); break;
    case Phase::kWriting: times_.overdue = now + times_.patience; break;
    case Phase::kLingering: times_.overdue = now + kLingerTime; break;
  }
  if (phase == Phase::kReading || phase == Phase::kWriting) times_.stall = now + limits_.stall_time;
  set_standing(standing_in(phase));
}

ConnectionStanding HttpConnection::standing_in(Phase phase) {
  switch (phase) {
    case Phase::kReading: return ConnectionStanding::kUnfinished;
    case Phase::kAnswering:
    case Phase::kWriting: return ConnectionStanding::kBusy;
    default: return ConnectionStanding::kSilent;  // lingering: what the client sends is not read
  }
}

void HttpConnection::set_standing(ConnectionStanding standing) {
  if (standing == standing_.now) return;
  standing_.now = standing;
  if (standing_.on_change) standing_.on_change(standing);
}

void HttpConnection::expect_body() {
  times_.stall = Clock::now() + limits_.stall_time;
  set_standing(ConnectionStanding::kUnfinished);
}

void HttpConnection::tick(Clock::time_point now) {
  if (now >= times_.stall) {
    times_.stall = Clock::time_point::max();
    current_.is_stalled = true;
    if (phase_ == Phase::kReading) {
      set_standing(ConnectionStanding::kSilent);
    } else if (!current_.is_streamed) {
      set_standing(ConnectionStanding::kUnfinished);
    }
  }
  if (closed_ || now < times_.overdue) return;
  if (phase_ == Phase::kReading) {
    times_.overdue = Clock::time_point::max();
    refuse_rest({.status = 408,
                 .message = fmt::format("the request did not arrive whole within {} ms", limits_.read_timeout.count()),
                 .code = "request_timeout"});
  } else {
    close();
  }
}

void HttpConnection::close_if_idle() {
  const bool has_lingered = phase_ == Phase::kLingering && Clock::now() + kLingerTime / 2 >= times_.overdue;
  if (busy() && !has_lingered) return;
  keep_alive_ = false;
  close();
}

void HttpConnection::stop_waiting(const ApiError& error) {
  if (phase_ == Phase::kReading) return refuse_rest(error);
  const bool is_not_taken = phase_ == Phase::kWriting && current_.is_stalled;
  if (is_not_taken || phase_ == Phase::kLingering) return close();
  close_if_idle();
}

/// Refuses the rest of a request; read_request() answers it.
void HttpConnection::refuse_rest(ApiError error) {
  current_.error = std::move(error);
  wake_.notify();
}

bool HttpConnection::give_up_place(ConnectionStanding standing) {
  if (standing != standing_.now) return false;
  if (standing == ConnectionStanding::kSilent && phase_ != Phase::kLingering) {
    boost::system::error_code error;
    const bool has_begun = phase_ == Phase::kIdle && num_unparsed() > 0;
    if (has_begun || transport_->socket().available(error) > 0) return false;
  }
  close();
  return true;
}

void HttpConnection::close() {
  if (closed_) return;
  closed_ = true;
  transport_->close();
  room_.notify();
  end();
}

ApiError HttpConnection::to_error(boost::system::error_code error) const {
  if (error == http::error::header_limit)
    return {.status = 431, .message = fmt::format("the header is longer than {} bytes", limits_.max_header_bytes)};
  if (error == http::error::body_limit)
    return {.status = 413, .message = fmt::format("the body is longer than {} bytes", limits_.max_body_bytes)};
  return {.status = 400, .message = fmt::format("this is no HTTP request: {}", error.message())};
}

std::optional<ApiError> HttpConnection::parse(http::request_parser<http::string_body>& parser) {
  const bool was_full = num_unparsed() >= limits_.max_header_bytes;
  while (num_unparsed() > 0 && !parser.is_done()) {
    boost::system::error_code error;
    const std::size_t count = parser.put(asio::buffer(in_.data() + in_begin_, num_unparsed()), error);
    drop_parsed(count);
    if (error && error != http::error::need_more) return to_error(error);
    if (count == 0 || (parser.is_header_done() && !parser.eager())) break;
  }
  if (was_full) room_.notify();
  // Nothing more can be read, and the parser waits for more: for the end of a chunk's size line, or of the trailer.
  if (parser.eager() && !parser.is_done() && num_unparsed() >= max_unparsed())
    return ApiError{.status = 400,
                    .message = fmt::format("a line of the chunked body, or its trailer, is longer than {} bytes",
                                           limits_.max_header_bytes)};
  return std::nullopt;
}

asio::awaitable<std::optional<ApiError>> HttpConnection::take_head(
    const http::request_parser<http::string_body>& parser, const HeadCheck& check) {
  expect_body();
  current_.version = parser.get().version();
  current_.head_bytes = num_bytes_of(parser.get());
  if (!parser.keep_alive()) keep_alive_ = false;
  if (auto ambiguous = find_ambiguity(parser.get())) {
    keep_alive_ = false;  // where this request ends is not known
    co_return ambiguous;
  }
  std::optional<ApiError> refused = check(parser.get());
  const bool waits = boost::beast::iequals(parser.get()[http::field::expect], "100-continue");
  if (!refused && waits && !parser.is_done()) {
    co_await write("HTTP/1.1 100 Continue\r\n\r\n");
    enter(Phase::kReading);
  }
  co_return refused;
}

asio::awaitable<std::optional<Received>> HttpConnection::read_request(const HeadCheck& check) {
  http::request_parser<http::string_body> parser;
  parser.eager(false);  // the body is read only after the head was let in
  parser.header_limit(static_cast<std::uint32_t>(limits_.max_header_bytes));
  parser.body_limit(limits_.max_body_bytes);
  enter(Phase::kIdle);
  current_.head_bytes = 0;
  hold_body(0);
  room_.notify();
  std::optional<ApiError> problem;
  for (;;) {
    // Some clients end a body with an empty line that is not part of it (RFC 9112, 2.2).
    if (phase_ == Phase::kIdle) drop_parsed(std::min(in_.find_first_not_of("\r\n", in_begin_), in_.size()) - in_begin_);
    if (num_unparsed() > 0) {
      if (phase_ == Phase::kIdle) {
        enter(Phase::kReading);
        if (++num_requests_ >= limits_.max_requests) keep_alive_ = false;
      }
      if (parser.is_header_done()) expect_body();
      problem = parse(parser);
      if (!problem && parser.is_header_done() && !parser.eager()) {
        parser.eager(true);
        problem = co_await take_head(parser, check);
        if (!problem) problem = parse(parser);
      }
      hold_body(parser.get().body().size());
    }
    if (gave_up()) {
      problem = too_much_received();
    } else if (current_.error) {
      problem = current_.error;
    }
    if (problem || parser.is_done()) break;
    if (ended_ || closed_) co_return std::nullopt;
    co_await wake_.wait();
  }
  if (!parser.is_done()) keep_alive_ = false;  // the next bytes belong to this request
  enter(Phase::kAnswering);
  room_.notify();
  Received received{.request = parser.release(), .error = std::move(problem)};
  if (received.error) {
    std::string().swap(received.request.body());  // nobody reads it
    hold_body(0);
  }
  co_return std::move(received);
}

std::string HttpConnection::head_of(const HttpResponse& response) const {
  const std::string_view reason = http::obsolete_reason(static_cast<http::status>(response.status));
  std::string head = fmt::format("HTTP/1.{} {} {}\r\n", current_.version == 10 ? 0 : 1, response.status, reason);
  if (!response.content_type.empty()) head += "Content-Type: " + response.content_type + "\r\n";
  for (const auto& [name, value] : response.headers) head += fmt::format("{}: {}\r\n", name, value);
  if (!keep_alive_) {
    head += "Connection: close\r\n";
  } else if (current_.version == 10) {
    head += "Connection: keep-alive\r\n";
  }
  return head;
}

asio::awaitable<bool> HttpConnection::respond(HttpResponse& response, bool head_only) {
  std::string head = head_of(response);
  const std::string_view body = response.content();
  current_.is_streamed = false;
  if (response.status != 204) head += fmt::format("Content-Length: {}\r\n", body.size());
  head += "\r\n";
  if (head_only) co_return co_await write(head);
  if (response.shared_body.empty() && body.size() <= kJoinBytes) {
    head += body;
    co_return co_await write(head);
  }
  if (!co_await write(head)) co_return false;
  if (!response.shared_body.empty()) co_return co_await write(body);
  co_return co_await write_body(response);
}

asio::awaitable<bool> HttpConnection::begin_stream(const HttpResponse& response) {
  if (current_.version == 10) keep_alive_ = false;  // the answer ends with the connection
  current_.is_streamed = true;
  std::string head = head_of(response);
  if (current_.version != 10) head += "Transfer-Encoding: chunked\r\n";
  head += "\r\n";
  co_return co_await write(head);
}

asio::awaitable<bool> HttpConnection::write_stream(std::string_view bytes, bool is_last) {
  if (current_.version == 10) co_return co_await write(bytes);
  frame_.clear();
  if (!bytes.empty()) {
    fmt::format_to(std::back_inserter(frame_), "{:x}\r\n", bytes.size());
    if (bytes.size() > kJoinBytes) {  // then it is not copied
      if (!co_await write(frame_)) co_return false;
      if (!co_await write(bytes)) co_return false;
      frame_.clear();
    } else {
      frame_ += bytes;
    }
    frame_ += "\r\n";
  }
  if (is_last) frame_ += "0\r\n\r\n";
  const bool written = co_await write(frame_);
  if (is_last) std::string().swap(frame_);  // the connection may be idle now
  co_return written;
}

/// Writes some bytes; 0: the client is gone. Patience with a client shrinks while it takes nothing, and grows with what
/// it takes.
asio::awaitable<std::size_t> HttpConnection::write_some(std::string_view bytes) {
  if (closed_) co_return 0;
  enter(Phase::kWriting);
  const std::size_t count = co_await transport_->write_some(asio::buffer(bytes.data(), bytes.size()));
  if (count == 0) close();
  bytes_written_ += count;
  const Clock::duration whole = limits_.write_timeout;
  if (limits_.min_write_rate == 0) {
    times_.patience = whole;
  } else {
    const std::chrono::duration<double> earned(static_cast<double>(count) /
                                               static_cast<double>(limits_.min_write_rate));
    const std::chrono::duration<double> left = times_.overdue - Clock::now() + earned;
    times_.patience = left < whole ? std::chrono::duration_cast<Clock::duration>(left) : whole;
  }
  co_return count;
}

asio::awaitable<bool> HttpConnection::write(std::string_view bytes) {
  times_.patience = limits_.write_timeout;
  while (!bytes.empty()) {
    const std::size_t count = co_await write_some(bytes);
    if (count == 0) co_return false;
    bytes.remove_prefix(count);
  }
  enter(Phase::kAnswering);
  co_return true;
}

/// Writes a body, and frees what is written once that is half of what is held: in sum, that copies as much as one body.
asio::awaitable<bool> HttpConnection::write_body(HttpResponse& response) {
  times_.patience = limits_.write_timeout;
  std::string& body = response.body;
  std::size_t begin = 0;
  while (begin < body.size()) {
    const std::string_view rest = std::string_view(body).substr(begin);
    const std::size_t count = co_await write_some(rest);
    if (count == 0) co_return false;
    begin += count;
    if (begin < kJoinBytes || begin < body.size() / 2) continue;
    body = std::string(body, begin);
    begin = 0;
    response.held.set(body.size());
  }
  enter(Phase::kAnswering);
  co_return true;
}

asio::awaitable<void> HttpConnection::linger_and_close() {
  if (!closed_ && !ended_) {
    // Closing a socket with unread bytes resets the connection, and the client might lose the answer.
    enter(Phase::kLingering);
    room_.notify();
    co_await transport_->finish_writing();  // until tick() closes the connection
    while (!ended_ && !closed_) co_await wake_.wait();
  }
  close();
}

}  // namespace octavo
