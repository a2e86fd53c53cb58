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

#include "api/completion.h"
#include "api/held_answer.h"
#include "api/response_store.h"
#include "json/json_limits.h"
#include "server/active_completions.h"
#include "server/api_keys.h"
#include "server/body_reader.h"
#include "server/compile_queue.h"
#include "server/event_queue.h"
#include "server/exchange.h"
#include "server/forwarded.h"
#include "server/key_watch.h"
#include "server/line_writer.h"
#include "server/listener.h"
#include "server/metrics.h"
#include "server/model_puller.h"
#include "server/model_table.h"
#include "server/pull_options.h"
#include "server/responder.h"
#include "server/routes.h"

namespace octavo::server {

struct ServiceOptions {
  ApiKeys keys = {};                           // none: everybody may call
  std::shared_ptr<KeyWatch> key_watch = {};    // gives others in their place; null: they are never changed
  TrustedProxies proxies = {};                 // they are believed on the sender of a request
  bool shared_cache = false;                   // keys share the prefix cache
  std::vector<std::string> cors_origins = {};  // "*": every one
  JsonLimits json = {};
  int parse_threads = 2;
  int max_choices = kMaxChoices;                             // of one prompt, as many as can advance in one step
  int max_tokens = 0;                                        // of an answer to a request that names no limit; 0: none
  int reasoning_budget = -1;                                 // of chats that name none; -1: any number of tokens
  ReasoningMode reasoning_mode = ReasoningMode::kSplit;      // of chats that name no format
  bool closes_objects = true;                                // of schemas, where a request does not say
  TemplateDict template_names = {};                          // for chat templates, where a request gives none
  std::optional<std::uint64_t> seed = {};                    // of requests that name none; without: a random one each
  int max_client_priority = 0;                               // the highest that a client may ask for
  QueueBound max_queued = {}, max_queued_tokens = {};        // the engine's: requests and tokens that may wait in it
  std::uint64_t max_answer_bytes = std::uint64_t{64} << 20;  // held of one answer that is not streamed
  std::uint64_t max_held_bytes = std::uint64_t{512} << 20;   // of all of these together, until they are written
  ResponseStore::Limits responses = {};                      // of those that are kept, to be gone on with
  std::chrono::milliseconds stall_timeout{30'000};     // without a step although there is work; 0: never not ready
  std::chrono::milliseconds keepalive_interval{5000};  // a stream is silent no longer than this; 0: for any time
  std::chrono::milliseconds progress_interval{250};    // between two reports of a prompt's progress
  std::span<const Api> apis = all_apis();              // that are served
  bool has_chat_page = true;
  bool has_slots = true;               // /slots
  std::string image_placeholder = {};  // stands for images in requests; empty: a request with one is refused
  PullOptions pull = {};
  bool log_prompts = false;
  std::shared_ptr<LineWriter> access_log = {};             // null: none
  std::function<void(const std::string&)> on_notice = {};  // notices to the operator; the I/O thread
};

class Service {
 public:
  Service(ServiceOptions options, asio::io_context& io, ModelTable& models);
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
    return {.store = &responses_, .owner = exchange.key.name, .body_bytes = body_bytes};
  }
  /// Takes what the watched files have to tell.
  void take_notices();
  /// Why no request would be served now, if so.
  std::optional<ApiError> not_ready(Clock::time_point now) const;
  void log(Exchange& exchange);
  std::string make_id();

  const ServiceOptions options_;
  const Routes routes_;
  ModelTable& models_;
  ApiKeys keys_;  // as they are now
  Metrics metrics_;
  Mailbox mailbox_;
  ActiveCompletions active_;
  HeldBudget held_;  // of answers that are not streamed
  const Responder responder_;
  ResponseStore responses_;
  std::mt19937_64 random_;
  // Their threads are joined before all else goes.
  BodyReader bodies_;
  CompileQueue compiling_;
  ModelPuller puller_;
};

}  // namespace octavo::server
