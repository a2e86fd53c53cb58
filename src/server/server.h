// An OpenAI-compatible server: it opens its port, loads models, and answers until it is told to stop.
//
// It has four kinds of threads: that of run(), which does all I/O; those of engines; a few that parse and tokenize; and
// one that compiles constraints. Owned by the command that serves.
#pragma once

#include <boost/asio/signal_set.hpp>
#include <memory>
#include <string>
#include <vector>

#include "base/error.h"
#include "http/listener.h"
#include "http/tls_context.h"
#include "server/entry_reader.h"
#include "server/model_table.h"
#include "server/served_connections.h"
#include "server/server_files.h"
#include "server/server_options.h"
#include "server/service.h"

namespace octavo::server {

class Server {
 public:
  /// Opens the port. `files`: those that the same options name. Errors: it cannot be opened; TLS files that cannot be
  /// used.
  static Result<std::unique_ptr<Server>> create(ServerOptions options, ServerFiles files,
                                                std::vector<ModelEntry> models);
  ~Server();
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  /// The server's URL, such as "http://127.0.0.1:8080".
  std::string url() const;
  /// The URL of the separate address for /metrics; empty: there is none.
  std::string metrics_url() const;
  /// Whether other machines can call without a key.
  bool is_open_to_all() const;
  /// Loads and serves until drained. Errors: a model for the start cannot be loaded; an engine ended with an exception,
  /// after which running requests have been answered with an error.
  Result<void> run();
  /// Fails /ready and, after the delay, takes no more connections, finishes running requests, then lets run() return.
  /// Any thread.
  void drain();

 private:
  class Alive;

  Server(ServerOptions options, ServerFiles files, std::vector<ModelEntry> models);
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
  void announce_model_change() noexcept;
  void on_model_change();
  void wait_for_hangup();
  void take_entries(Result<std::vector<ModelEntry>> entries);
  void announce_drain();
  void begin_drain();
  void drain_further(Clock::time_point now);
  void finish_if_drained();

  const ServerOptions options_;  // first: the others read it
  const bool has_keys_;          // at the start, which is final: a key file without keys is never accepted
  // Declared before io_, whose coroutines own connections and wait for models.
  ReceivedBytes received_;
  ModelTable models_;
  asio::io_context io_{1};
  std::unique_ptr<TlsContext> tls_;
  Service service_;
  Listener listener_, metrics_listener_;
  asio::signal_set signals_, hangups_;
  asio::steady_timer ticker_;
  ServedConnections connections_;
  bool is_ready_ = false;     // as the operator was told
  bool ticking_ = false;      // tick_loop() runs
  bool loop_failed_ = false;  // a loop has ended with an exception
  struct Drain {
    bool is_announced = false;                   // /ready fails, and everything else goes on
    bool has_begun = false, is_aborted = false;  // aborted: the time for draining is over
    Clock::time_point announced = {};
    Clock::time_point begin = {};
  } drain_;
  bool finished_ = false;
  std::optional<Error> error_;
  EntryReader entry_reader_;
};

}  // namespace octavo::server
