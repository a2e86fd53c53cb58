// An OpenAI-compatible server: opens its port, loads a model, answers until it is told to stop.
//
// Three kinds of threads: run()'s, which does all I/O; the engine's; and a few that parse and tokenize. Owned by the
// command that serves.
#pragma once

#include <boost/asio/signal_set.hpp>
#include <functional>
#include <memory>
#include <string>

#include "base/error.h"
#include "server/engine_host.h"
#include "server/listener.h"
#include "server/served_connections.h"
#include "server/service.h"
#include "server/tls_context.h"

namespace octavo::server {

struct ServerOptions {
  std::string host = "127.0.0.1";
  std::uint16_t port = 8080;                  // 0: a free one
  std::optional<ListenAddress> metrics = {};  // /metrics has an address of its own, where no key is asked for
  /// Names that a request's Host may have beside this machine's own and `host`; "*": every one. None: where only this
  /// machine can call and there are no keys, these two; elsewhere every one.
  std::vector<std::string> allowed_hosts = {};
  TlsOptions tls = {};  // plain HTTP where no certificate is named
  std::size_t max_connections = 4096;
  std::size_t max_connections_per_client = 0;       // one address, or 64 bits of IPv6; 0: any number
  std::chrono::milliseconds drain_timeout{30'000};  // for what runs when the server is told to stop
  bool handle_signals = true;                       // SIGTERM and SIGINT drain; a second one ends the process
  bool reopen_on_hangup = false;                    // SIGHUP: the access log was moved away
  HttpLimits limits = {};
  std::uint64_t max_received_bytes = std::uint64_t{256} << 20;  // by all connections, and not yet parsed
  ServiceOptions service = {};
  std::function<void()> on_ready = {};  // the model is loaded; on run()'s thread
};

class Server {
 public:
  /// Opens the port. Errors: it cannot be opened; files of TLS that cannot be used.
  static Result<std::unique_ptr<Server>> create(ServerOptions options, LoadEngine load);
  ~Server();
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  /// "http://127.0.0.1:8080"
  std::string url() const;
  /// Of the address that /metrics has of its own; empty: it has none.
  std::string metrics_url() const;
  /// Other machines can call, and nobody needs a key.
  bool is_open_to_all() const;
  /// Loads and serves until drained. Errors: the model cannot be loaded; the engine ended with an exception, after
  /// which requests that were under way have been answered with an error.
  Result<void> run();
  /// Takes no more connections, finishes what runs, then lets run() return. Any thread.
  void drain();

 private:
  class Alive;

  Server(ServerOptions options, LoadEngine load);
  Result<void> open();

  Result<HostList> hosts_of(const std::string& host, bool is_checked) const;

  void run_io();
  void start_loops();
  void start_loop(asio::awaitable<void> loop);
  void pause_loops();
  asio::awaitable<void> accept_loop(Listener& listener, Alive alive);
  asio::awaitable<void> tick_loop(Alive alive);
  void tick(Clock::time_point now);
  void take_waiting_connections();
  void announce_engine_change() noexcept;
  void on_engine_change();
  void wait_for_hangup();
  void begin_drain();
  void drain_further(Clock::time_point now);
  void finish_if_drained();

  const ServerOptions options_;
  ReceivedBytes received_;  // before the connections, which a coroutine of io_ may own
  asio::io_context io_{1};
  std::unique_ptr<TlsContext> tls_;
  EngineHost host_;
  Service service_;
  Listener listener_, metrics_listener_;
  asio::signal_set signals_, hangups_;
  asio::steady_timer ticker_;
  ServedConnections connections_;
  EngineHost::State last_engine_state_ = EngineHost::State::kLoading;  // of the engine, as was acted on
  bool ticking_ = false;                                               // tick_loop() runs
  bool loop_failed_ = false;                                           // one has ended with an exception
  Clock::time_point drain_begin_ = {};
  bool draining_ = false;
  bool aborted_ = false;  // the time for draining is over
  bool finished_ = false;
  std::optional<Error> error_;
};

}  // namespace octavo::server
