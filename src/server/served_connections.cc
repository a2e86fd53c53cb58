#include "server/served_connections.h"

#include <netinet/tcp.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>

namespace octavo::server {
namespace {

constexpr int kMaxUnsent = 128 << 10;  // bytes that the system holds for a connection before they are sent

/// The answer to a connection that is not let in, whose request is not read.
std::string refusal(const ApiError& error) {
  const std::string body = error_body(error);
  return fmt::format(
      "HTTP/1.1 503 Service Unavailable\r\nContent-Type: application/json\r\nRetry-After: 1\r\n"
      "Connection: close\r\nContent-Length: {}\r\n\r\n{}",
      body.size(), body);
}

/// Closes a connection in a destructor. If close() throws, the socket is closed even so, and a waiting coroutine ends
/// by time-out.
void close_quietly(HttpConnection& connection) noexcept {
  try {
    connection.close();
  } catch (const std::exception&) {
    return;
  }
}

/// Closes a connection when its reading ends, for whatever reason.
class Reader {
 public:
  explicit Reader(std::shared_ptr<HttpConnection> connection) : connection_(std::move(connection)) {}
  Reader(Reader&&) = default;
  Reader& operator=(Reader&&) = delete;
  ~Reader() {
    if (connection_ && !connection_->hung_up()) close_quietly(*connection_);
  }
  HttpConnection& connection() const { return *connection_; }

 private:
  std::shared_ptr<HttpConnection> connection_;
};

asio::awaitable<void> read(Reader reader) { co_await reader.connection().read_loop(); }

}  // namespace

/// A connection in the set. The coroutine owns it, so that it leaves the set however that ends. A coroutine that finds
/// no memory to wait ends without a word: Asio destroys it and calls no handler.
class ServedConnections::Served {
 public:
  using Place = std::unique_ptr<ConnectionPlaces::Place>;

  Served(ServedConnections& all, std::shared_ptr<HttpConnection> connection, const Visitor& visitor, Place place)
      : all_(all), connection_(std::move(connection)), visitor_(visitor), place_(std::move(place)) {
    all_.connections_.insert(connection_);
    all_.service_.metrics().set_connections(all_.connections_.size());
  }
  Served(Served&&) = default;
  Served& operator=(Served&&) = delete;
  ~Served() {
    if (!connection_) return;
    connection_->set_on_standing({});
    all_.leave(connection_);
  }
  const std::shared_ptr<HttpConnection>& connection() const { return connection_; }
  const Visitor& visitor() const { return visitor_; }

 private:
  ServedConnections& all_;
  std::shared_ptr<HttpConnection> connection_;
  Visitor visitor_;
  Place place_;
};

ServedConnections::ServedConnections(asio::io_context& io, Service& service, ReceivedBytes& received,
                                     const HttpLimits& limits, std::function<void()> on_leave)
    : io_(io), service_(service), received_(received), limits_(limits), on_leave_(std::move(on_leave)) {}

void ServedConnections::start_or_drop(Tcp::socket socket, Listener& listener) {
  try {
    start(std::move(socket), listener);
  } catch (const std::exception&) {
    service_.metrics().count_failure();  // the socket is closed with its owner
  }
}

void ServedConnections::start(Tcp::socket socket, Listener& listener) {
  boost::system::error_code ignored;
  const Visitor visitor{.peer = normalized(socket.remote_endpoint(ignored).address()),
                        .entrance = &listener.entrance()};
  if (const auto error = listener.places().make_room(visitor.peer)) {
    socket.non_blocking(true, ignored);
    socket.write_some(asio::buffer(refusal(*error)), ignored);
    return;
  }
  socket.set_option(Tcp::no_delay(true), ignored);
  socket.set_option(asio::socket_base::keep_alive(true), ignored);
  // So a slow reader takes little of the system's memory, and is noticed as slow.
  ::setsockopt(socket.native_handle(), IPPROTO_TCP, TCP_NOTSENT_LOWAT, &kMaxUnsent, sizeof kMaxUnsent);
  auto transport = tls_ != nullptr ? make_tls_transport(std::move(socket), tls_->context())
                                   : make_plain_transport(std::move(socket));
  const std::string client = listener.places().is_of_many(visitor.peer) ? std::string() : client_group(visitor.peer);
  auto connection =
      std::make_shared<HttpConnection>(std::move(transport), limits_, received_, io_.get_executor(), client);
  auto place = std::make_unique<ConnectionPlaces::Place>(
      listener.places(), visitor.peer,
      [&connection = *connection](ConnectionStanding standing) { return connection.give_up_place(standing); });
  connection->set_on_standing([&place = *place](ConnectionStanding standing) { place.set_standing(standing); });
  asio::co_spawn(io_, serve(Served(*this, std::move(connection), visitor, std::move(place))), asio::detached);
}

asio::awaitable<void> ServedConnections::serve(Served served) {
  const std::shared_ptr<HttpConnection>& connection = served.connection();
  if (!co_await connection->handshake()) co_return;
  asio::co_spawn(io_, read(Reader(connection)), asio::detached);
  while (co_await service_.serve_one(*connection, served.visitor()))
    if (!connection->may_continue()) break;
  co_await connection->linger_and_close();
}

void ServedConnections::leave(const std::shared_ptr<HttpConnection>& connection) noexcept {
  close_quietly(*connection);
  try {
    connections_.erase(connection);
    service_.metrics().set_connections(connections_.size());
    on_leave_();
  } catch (const std::exception&) {
    service_.metrics().count_failure();
  }
}

void ServedConnections::tick(Clock::time_point now) {
  for (const auto& connection : connections_) connection->tick(now);
}

void ServedConnections::stop_after_this() {
  for (const auto& connection : connections_) {
    if (connection->had_request()) connection->close_if_idle();
    connection->stop_after_this();
  }
}

void ServedConnections::stop_waiting() {
  const ApiError error = shutting_down();
  for (const auto& connection : connections_) connection->stop_waiting(error);
}

void ServedConnections::close_all() {
  for (const auto& connection : connections_) connection->close();
}

}  // namespace octavo::server
