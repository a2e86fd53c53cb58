// Answers one request, independently of what the connection does before and after. It knows the routes, the keys, the
// models and the engines.
//
// Owned by the server; the I/O thread.
#pragma once

#include <boost/asio/io_context.hpp>

#include "http/listener.h"
#include "server/service_parts.h"

namespace octavo::server {

class Service {
 public:
  /// The references must outlive it.
  Service(const ServerOptions& options, ServerFiles files, asio::io_context& io, ModelTable& models);
  ~Service();
  Service(const Service&) = delete;
  Service& operator=(const Service&) = delete;

  /// Reads one request from the connection and answers it. False: there was none, and the connection is at its end.
  asio::awaitable<bool> serve_one(HttpConnection& connection, const Visitor& visitor);

  /// Says that it is not ready any more, and goes on.
  void announce_drain() { parts_.is_leaving = true; }
  /// Takes no further requests, and refuses those that have not reached the engine: no constraint is compiled for them.
  void begin_drain();
  /// Ends all completions with an error, when the time for draining is over or the engine has failed.
  void abort_all();
  /// Called several times a second.
  void tick(Clock::time_point now);
  /// Reopens the access log, which was moved away.
  void reopen_log() {
    if (parts_.files.access_log) parts_.files.access_log->reopen();
  }
  Metrics& metrics() { return parts_.metrics; }
  ModelPuller& puller() { return parts_.puller; }

 private:
  asio::awaitable<void> answer(Exchange& exchange);
  /// Takes the notices of files that are watched.
  void take_notices();
  void log(Exchange& exchange);

  ServiceParts parts_;
};

}  // namespace octavo::server
