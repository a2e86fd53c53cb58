#include "server/server.h"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/post.hpp>
#include <csignal>
#include <thread>

namespace octavo::server {
namespace {

constexpr std::chrono::milliseconds kTick{100};
constexpr std::chrono::milliseconds kPause{100};            // after a failure for want of file descriptors or memory
constexpr ConnectionLimits kMetricsConnections{.all = 64};  // of their own, so that a full server can still be watched
// The time for a connection whose request may be on its way, and for an answer that the client may still read, while
// draining.
constexpr std::chrono::milliseconds kDrainGrace{1000};

constexpr std::string_view kOwnHosts[] = {"localhost", "127.0.0.1", "::1"};

}  // namespace

/// Sets a flag as long as a coroutine lives.
class Server::Alive {
 public:
  explicit Alive(bool& flag) : flag_(&flag) { flag = true; }
  Alive(Alive&& other) noexcept : flag_(std::exchange(other.flag_, nullptr)) {}
  Alive& operator=(Alive&&) = delete;
  ~Alive() {
    if (flag_ != nullptr) *flag_ = false;
  }

 private:
  bool* flag_;
};

Server::Server(ServerOptions options, ServerFiles files, std::vector<ModelEntry> models)
    : options_(std::move(options)),
      has_keys_(!files.keys.empty()),
      received_(options_.http.received_bound()),
      models_(options_, std::move(models), [this] { announce_model_change(); }),
      service_(options_, std::move(files), io_, models_),
      listener_(io_, options_.listen.connections, options_.listen.proxies),
      metrics_listener_(io_, kMetricsConnections, options_.listen.proxies),
      signals_(io_),
      hangups_(io_),
      ticker_(io_),
      connections_(io_, service_, received_, options_.http, [this] { finish_if_drained(); }),
      entry_reader_(io_, options_.read_models,
                    [this](Result<std::vector<ModelEntry>> entries) { take_entries(std::move(entries)); }) {
  if (options_.read_models) service_.puller().set_on_fetched([this] { entry_reader_.read(); });
}

Server::~Server() { models_.stop(); }

Result<std::unique_ptr<Server>> Server::create(ServerOptions options, ServerFiles files,
                                               std::vector<ModelEntry> models) {
  auto server = std::unique_ptr<Server>(new Server(std::move(options), std::move(files), std::move(models)));
  OCTAVO_TRY_VOID(server->open());
  return server;
}

Result<void> Server::open() {
  if (!options_.listen.tls.certificate_file.empty()) {
    OCTAVO_TRY(tls_, TlsContext::make(options_.listen.tls));
    connections_.set_tls(*tls_);
  }
  OCTAVO_TRY_VOID(listener_.open(options_.listen.host, options_.listen.port));
  // Keys keep the pages of other sites out, as a browser has none to send. For other machines, only the operator knows
  // the server's names.
  const bool is_checked = !options_.listen.allowed_hosts.empty() || (listener_.is_loopback() && !has_keys_);
  OCTAVO_TRY(listener_.entrance().hosts, hosts_of(options_.listen.host, is_checked));
  if (!options_.listen.metrics) return {};
  OCTAVO_TRY_VOID(metrics_listener_.open(options_.listen.metrics->host, options_.listen.metrics->port));
  OCTAVO_TRY(metrics_listener_.entrance().hosts,
             hosts_of(options_.listen.metrics->host, metrics_listener_.is_loopback()));
  metrics_listener_.entrance().metrics_alone = true;
  listener_.entrance().has_metrics = false;
  return {};
}

Result<HostList> Server::hosts_of(const std::string& host, bool is_checked) const {
  if (!is_checked) return HostList();
  std::vector<std::string> names = options_.listen.allowed_hosts;
  names.insert(names.end(), std::begin(kOwnHosts), std::end(kOwnHosts));
  names.push_back(host.substr(0, host.find('%')));  // without the zone
  return HostList::of(names);
}

std::string Server::url() const { return fmt::format("{}://{}", tls_ ? "https" : "http", listener_.authority()); }

std::string Server::metrics_url() const {
  return options_.listen.metrics ? fmt::format("{}://{}", tls_ ? "https" : "http", metrics_listener_.authority()) : "";
}

bool Server::is_open_to_all() const { return !listener_.is_loopback() && !has_keys_; }

Result<void> Server::run() {
  if (options_.handle_signals) {
    signals_.add(SIGTERM);
    signals_.add(SIGINT);
    signals_.async_wait([this](boost::system::error_code error, int) {
      if (error) return;
      signals_.clear();  // restores the default action: a second signal ends the process
      announce_drain();
    });
  }
  if (options_.handle_signals && options_.reopen_on_hangup) {
    hangups_.add(SIGHUP);
    wait_for_hangup();
  }
  models_.start();
  run_io();
  models_.stop();
  if (error_) return std::unexpected(*error_);
  return {};
}

void Server::drain() {
  asio::post(io_, [this] { announce_drain(); });
}

/// Runs until no coroutine is left. An exception here means want of memory: it is counted, everything else goes on for
/// a moment, and the loops that ended begin again.
void Server::run_io() {
  for (;;) {
    loop_failed_ = false;
    try {
      start_loops();
      io_.run();
      if (!loop_failed_) return;
    } catch (const std::exception&) {
      loop_failed_ = true;
    }
    service_.metrics().count_failure();
    pause_loops();
  }
}

void Server::start_loops() {
  for (Listener* listener : {&listener_, &metrics_listener_})
    if (!listener->accepting() && listener->acceptor().is_open())
      start_loop(accept_loop(*listener, Alive(listener->accepting())));
  if (!ticking_ && !finished_) start_loop(tick_loop(Alive(ticking_)));
}

void Server::start_loop(asio::awaitable<void> loop) {
  asio::co_spawn(io_, std::move(loop), [this](const std::exception_ptr& error) {
    if (!error) return;
    loop_failed_ = true;
    io_.stop();
  });
}

/// Pauses, without a coroutine, which might need memory.
void Server::pause_loops() {
  const auto work = asio::make_work_guard(io_);
  const Clock::time_point end = Clock::now() + kPause;
  io_.restart();
  try {
    io_.run_until(end);
  } catch (const std::exception&) {
    service_.metrics().count_failure();
  }
  if (io_.stopped()) {  // stopped by the other loop
    std::this_thread::sleep_until(end);
    io_.restart();
  }
}

/// Called on another thread. Where there is no memory to post this, the next tick sees the change.
void Server::announce_model_change() noexcept {
  try {
    asio::post(io_, [this] { on_model_change(); });
  } catch (const std::exception&) {
    return;
  }
}

void Server::wait_for_hangup() {
  hangups_.async_wait([this](boost::system::error_code error, int) {
    if (error) return;
    service_.reopen_log();
    entry_reader_.read();
    wait_for_hangup();
  });
}

void Server::take_entries(Result<std::vector<ModelEntry>> entries) {
  if (entries) {
    models_.replace(std::move(*entries), Clock::now());
  } else if (options_.on_notice) {
    options_.on_notice(entries.error().message);
  }
  if (!entry_reader_.is_asked_again()) service_.puller().entries_are_read(entries ? nullptr : &entries.error());
}

void Server::on_model_change() {
  models_.advance(Clock::now());
  if (!is_ready_ && models_.is_started()) {
    is_ready_ = true;
    if (options_.on_ready) options_.on_ready();
  }
  const Error* failure = models_.failure();
  if (failure == nullptr || error_) return;
  error_ = *failure;
  begin_drain();
  service_.abort_all();
  if (!models_.has_failed_engine()) connections_.close_all();  // else running requests are answered with an error
}

asio::awaitable<void> Server::accept_loop(Listener& listener, Alive /*alive*/) {
  Tcp::acceptor& acceptor = listener.acceptor();
  while (acceptor.is_open()) {
    boost::system::error_code error;
    Tcp::socket socket = co_await acceptor.async_accept(asio::redirect_error(asio::use_awaitable, error));
    if (!error) {
      connections_.start_or_drop(std::move(socket), listener);
    } else if (acceptor.is_open()) {
      asio::steady_timer pause(io_, kPause);
      co_await pause.async_wait(asio::redirect_error(asio::use_awaitable, error));
    }
  }
}

asio::awaitable<void> Server::tick_loop(Alive /*alive*/) {
  while (!finished_) {
    boost::system::error_code ignored;
    ticker_.expires_after(kTick);
    co_await ticker_.async_wait(asio::redirect_error(asio::use_awaitable, ignored));
    try {
      tick(Clock::now());
    } catch (const std::exception&) {
      service_.metrics().count_failure();
    }
  }
}

void Server::tick(Clock::time_point now) {
  on_model_change();
  connections_.tick(now);
  if (drain_.is_announced && now - drain_.announced >= options_.drain_delay) begin_drain();
  if (drain_.has_begun) drain_further(now);
  service_.metrics().set_received(received_.total());
  service_.tick(now);
  if (tls_) tls_->tick(now);
}

/// Takes connections that came in before the port closes: they get an answer, if only that the server is shutting down.
void Server::take_waiting_connections() {
  for (;;) {
    boost::system::error_code error;
    Tcp::socket socket(io_);
    listener_.acceptor().accept(socket, error);
    if (error) return;
    connections_.start_or_drop(std::move(socket), listener_);
  }
}

/// Routers look at /ready now and then: until they have seen that it fails, they send requests, which are served.
void Server::announce_drain() {
  if (drain_.is_announced) return;
  drain_.is_announced = true;
  drain_.announced = Clock::now();
  service_.announce_drain();
  if (options_.drain_delay.count() == 0) begin_drain();
}

void Server::begin_drain() {
  if (drain_.has_begun) return;
  drain_.has_begun = true;
  drain_.begin = Clock::now();
  service_.begin_drain();
  take_waiting_connections();
  boost::system::error_code ignored;
  listener_.acceptor().close(ignored);
  metrics_listener_.acceptor().close(ignored);
  models_.drain();
  connections_.stop_after_this();
  finish_if_drained();
}

void Server::drain_further(Clock::time_point now) {
  if (now - drain_.begin > kDrainGrace) connections_.stop_waiting();
  if (now - drain_.begin > options_.drain_timeout && !drain_.is_aborted) {
    drain_.is_aborted = true;
    service_.abort_all();
  }
  if (now - drain_.begin > options_.drain_timeout + kDrainGrace) connections_.close_all();
}

void Server::finish_if_drained() {
  if (!drain_.has_begun || !connections_.empty()) return;
  finished_ = true;
  ticker_.cancel();
  boost::system::error_code ignored;
  signals_.cancel(ignored);
  hangups_.cancel(ignored);
}

}  // namespace octavo::server
