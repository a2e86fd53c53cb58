// An OpenAI-compatible server: opens its port, loads a model, answers until it is told to stop.
//
// Three threads: run()'s, which does all I/O; the engine's; and a worker that parses and tokenizes. Owned by the
// command that serves.
#pragma once

#include <boost/asio/signal_set.hpp>
#include <functional>
#include <memory>
#include <string>
#include <unordered_set>

#include "base/error.h"
#include "server/engine_host.h"
#include "server/http_connection.h"
#include "server/service.h"

namespace octavo::server {

struct ServerOptions {
  std::string host = "127.0.0.1";
  std::uint16_t port = 8080;                       // 0: a free one
  std::string tls_certificate = {}, tls_key = {};  // PEM files; both or none
  std::size_t max_connections = 4096;
  std::chrono::milliseconds drain_timeout{30'000};  // for what runs when the server is told to stop
  bool handle_signals = true;                       // SIGTERM and SIGINT drain; a second one ends the process
  HttpLimits limits = {};
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
  /// Loads and serves until drained. Error: the model cannot be loaded.
  Result<void> run();
  /// Takes no more connections, finishes what runs, then lets run() return. Any thread.
  void drain();

 private:
  Server(ServerOptions options, LoadEngine load);
  Result<void> open();

  asio::awaitable<void> accept_loop();
  asio::awaitable<void> serve(std::shared_ptr<HttpConnection> connection);
  asio::awaitable<void> tick_loop();
  void start(Tcp::socket socket);
  void start_or_drop(Tcp::socket socket);
  void take_waiting_connections();
  void on_engine_change();
  void begin_drain();
  void drain_further(Clock::time_point now);
  void finish();

  const ServerOptions options_;
  asio::io_context io_{1};
  std::unique_ptr<asio::ssl::context> tls_;
  EngineHost host_;
  Service service_;
  Tcp::acceptor acceptor_;
  asio::signal_set signals_;
  asio::steady_timer ticker_;
  std::unordered_set<std::shared_ptr<HttpConnection>> connections_;
  Clock::time_point drain_begin_ = {};
  bool draining_ = false;
  bool aborted_ = false;  // the time for draining is over
  bool finished_ = false;
  std::optional<Error> error_;
};

}  // namespace octavo::server
