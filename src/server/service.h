// Answers one request, whatever the connection does before and after. Knows the routes, the keys, the model and the
// engine.
//
// Owned by the server; the I/O thread.
#pragma once

#include <boost/asio/io_context.hpp>
#include <functional>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "api/buffered_answer.h"
#include "api/call/completion.h"
#include "api/responses/response_store.h"
#include "http/forwarded.h"
#include "http/listener.h"
#include "server/active_completions.h"
#include "server/api_keys.h"
#include "server/body_reader.h"
#include "server/compile_queue.h"
#include "server/event_queue.h"
#include "server/exchange.h"
#include "server/metrics.h"
#include "server/model_puller.h"
#include "server/model_table.h"
#include "server/pull_options.h"
#include "server/responder.h"
#include "server/routes.h"
#include "server/server_files.h"
#include "server/server_options.h"
#include "server/stoppable_work.h"

namespace octavo::server {

class Service {
 public:
  /// The references must outlive it.
  Service(const ServerOptions& options, ServerFiles files, asio::io_context& io, ModelTable& models);
  ~Service();
  Service(const Service&) = delete;
  Service& operator=(const Service&) = delete;

  /// Reads one request from the connection and answers it. False: there was none, the connection is at its end.
  asio::awaitable<bool> serve_one(HttpConnection& connection, const Visitor& visitor);

  /// From now on no request is taken, and what has not come to the engine yet is refused there: no constraint is
  /// compiled for it.
  void begin_drain();
  /// Ends all completions with an error: the time for draining is over, or the engine has failed.
  void abort_all();
  /// Several times a second.
  void tick(Clock::time_point now);
  /// The access log was moved away.
  void reopen_log() {
    if (files_.access_log) files_.access_log->reopen();
  }
  Metrics& metrics() { return metrics_; }
  ModelPuller& puller() { return puller_; }

 private:
  asio::awaitable<void> answer(Exchange& exchange);
  asio::awaitable<void> answer_post(Exchange& exchange, const RouteMatch& match);
  asio::awaitable<void> answer_tokens(Exchange& exchange, const RouteMatch& match);
  asio::awaitable<void> answer_about_model(Exchange& exchange, const RouteMatch& match);
  HttpResponse get(const RouteMatch& match, Clock::time_point now);
  HttpResponse metrics_response();
  /// The answers that are being made; `model`: by that one alone, empty: by any.
  HttpResponse slots_response(const std::string& model);
  /// The kept responses that the request's client may see. `body_bytes`: of a body that may refer to them.
  OwnResponses responses_of(const Exchange& exchange, std::uint64_t body_bytes = 0) {
    return {.store = &responses_, .owner = exchange.key.name, .client = client_of(exchange), .body_bytes = body_bytes};
  }
  /// Takes what the watched files have to tell.
  void take_notices();
  /// Why no request would be served now, if so.
  std::optional<ApiError> not_ready(Clock::time_point now) const;
  void log(Exchange& exchange);
  std::string make_id();

  const ServerOptions& options_;
  const ServerFiles files_;
  const Routes routes_;
  const std::string description_ = routes_.description();
  ModelTable& models_;
  ApiKeys keys_;  // as they are now
  Metrics metrics_;
  Mailbox mailbox_;
  ActiveCompletions active_;
  BufferBudget held_;  // of answers that are not streamed
  const Responder responder_;
  ResponseStore responses_;
  std::mt19937_64 random_;
  // Their threads are joined before all else goes.
  StoppableWork counting_;
  BodyReader bodies_;
  CompileQueue compiling_;
  ModelPuller puller_;
};

}  // namespace octavo::server
