// The connections that are served. Each is in the set as long as the coroutine that serves it lives.
//
// Owned by the server; the I/O thread.
#pragma once

#include <boost/asio/io_context.hpp>
#include <functional>
#include <memory>
#include <unordered_set>

#include "http/http_connection.h"
#include "http/listener.h"
#include "http/received_bytes.h"
#include "http/tls_context.h"
#include "server/service.h"

namespace octavo::server {

class ServedConnections {
 public:
  /// The references must outlive it. `on_leave` is called after a connection has left the set; it throws only for want
  /// of memory.
  ServedConnections(asio::io_context& io, Service& service, ReceivedBytes& received, const HttpLimits& limits,
                    std::function<void()> on_leave);
  ServedConnections(const ServedConnections&) = delete;
  ServedConnections& operator=(const ServedConnections&) = delete;

  /// Makes connections from now on speak TLS; `tls` must outlive the set.
  void set_tls(TlsContext& tls) { tls_ = &tls; }

  /// Serves a connection that has come in at `listener`. Where there is no memory for it, it is closed, and the others
  /// go on.
  void start_or_drop(Tcp::socket socket, Listener& listener);

  bool empty() const { return connections_.empty(); }
  void tick(Clock::time_point now);
  /// Lets each connection answer the request that it reads, and no further one. One that has had a request and reads
  /// none closes.
  void stop_after_this();
  /// Calls HttpConnection::stop_waiting() for each.
  void stop_waiting();
  void close_all();

 private:
  class Served;

  void start(Tcp::socket socket, Listener& listener);
  asio::awaitable<void> serve(Served served);
  void leave(const std::shared_ptr<HttpConnection>& connection) noexcept;

  asio::io_context& io_;
  Service& service_;
  ReceivedBytes& received_;
  const HttpLimits& limits_;
  const std::function<void()> on_leave_;
  TlsContext* tls_ = nullptr;  // null: plain HTTP
  std::unordered_set<std::shared_ptr<HttpConnection>> connections_;
};

}  // namespace octavo::server
