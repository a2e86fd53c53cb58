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
  /// Loads and serves until drained. Errors: the model cannot be loaded; the engine ended with an exception, after
  /// which requests that were under way have been answered with an error.
  Result<void> run();
  /// Takes no more connections, finishes what runs, then lets run() return. Any thread.
  void drain();

 private:
  // What a coroutine owns goes with it however it ends. One that finds no memory to wait ends without a word: Asio
  // destroys it and calls no handler.
  class Alive;
  class Guest;

  Server(ServerOptions options, LoadEngine load);
  Result<void> open();

  void run_io();
  void start_loops();
  void start_loop(asio::awaitable<void> loop);
  void pause_loops();
  asio::awaitable<void> accept_loop(Alive alive);
  asio::awaitable<void> serve(Guest guest);
  asio::awaitable<void> tick_loop(Alive alive);
  void tick(Clock::time_point now);
  void start(Tcp::socket socket);
  void start_or_drop(Tcp::socket socket);
  void part_with(const std::shared_ptr<HttpConnection>& connection) noexcept;
  void take_waiting_connections();
  void announce_engine_change() noexcept;
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
  EngineHost::State known_state_ = EngineHost::State::kLoading;  // of the engine, as was acted on
  bool accepting_ = false, ticking_ = false;                     // the loops run
  bool loop_failed_ = false;                                     // one has ended with an exception
  Clock::time_point drain_begin_ = {};
  bool draining_ = false;
  bool aborted_ = false;  // the time for draining is over
  bool finished_ = false;
  std::optional<Error> error_;
};

}  // namespace octavo::server
