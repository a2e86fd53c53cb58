// The settings of a server, in sections. Each setting and its default is here or in a section's own header, once: the
// command line writes it, and the parts of a server read it.
//
// A plain value. The Server owns it; its parts hold references to the sections that they read, which do not change.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "api/api.h"
#include "api/call/completion.h"
#include "api/responses/response_store.h"
#include "http/forwarded.h"
#include "http/http_options.h"
#include "json/json_limits.h"
#include "octavo/engine.h"
#include "octavo/queue_bound.h"
#include "server/api_keys.h"
#include "server/body_options.h"
#include "server/entry_reader.h"
#include "server/metrics_names.h"
#include "server/picture_options.h"
#include "server/pull_options.h"

namespace octavo::server {

/// The addresses at which connections are accepted, and how many.
struct ListenOptions {
  std::string host = "127.0.0.1";
  std::uint16_t port = 8080;                  // 0: a free one
  std::optional<ListenAddress> metrics = {};  // a separate address for /metrics, where no key is needed
  /// Names that a request's Host may have, besides this machine's own and `host`; "*": any. Empty: only these two,
  /// where only this machine can call and there are no keys; else any.
  std::vector<std::string> allowed_hosts = {};
  TrustedProxies proxies = {};  // they are believed about the sender of a request, and per_client does not bind them
  TlsOptions tls = {};          // plain HTTP where no certificate is named
  ConnectionLimits connections = {};
};

/// Which keys and pages may call, and whether callers share a cache.
struct AccessOptions {
  std::string key_file = {};                   // it is read again when it changes; empty: none
  std::string keys = {};                       // keys with commas between them, in place of a file; empty: none
  std::optional<KeySalt> key_salt = {};        // for names of keys; none: a random one, different in each process
  std::vector<std::string> cors_origins = {};  // "*": every one
  bool shared_cache = false;                   // all keys share the prefix cache
};

/// The memory that answers take, and the heartbeats of streams.
struct AnswerOptions {
  std::uint64_t max_held_bytes = std::uint64_t{512} << 20;  // answers that are not streamed, until they are written
  ResponseStore::Limits stored = {};                        // the limits of responses that are stored to be continued
  std::chrono::milliseconds keepalive_interval{5000};       // the longest silence of a stream; 0: no limit
  std::chrono::milliseconds progress_interval{250};         // between two reports of a prompt's progress
};

/// The memory for all models, and how long they stay in it.
struct ModelTableOptions {
  std::uint64_t memory_bytes = 0;                   // for all models in memory; 0: no limit
  std::chrono::milliseconds turn{10'000};           // the turn of a model in use while another one waits
  std::chrono::milliseconds idle_unload{0};         // after so long an unused model is unloaded; 0: never
  bool clients_unload = false;                      // clients may unload models: keep_alive, and unload()
  bool clients_are_one = false;                     // what one client says about that counts for all
  std::chrono::milliseconds max_wait{600'000};      // a request's wait for its model; half for a load that others await
  std::chrono::milliseconds stall_timeout{30'000};  // without a step although there is work; 0: no limit
};

struct LogOptions {
  std::string file = "-";    // a file with one line per request; "-": standard output; "off": none
  bool has_prompts = false;  // log lines have the bodies of requests
};

struct ServerOptions {
  ListenOptions listen = {};
  HttpLimits http = {};
  AccessOptions access = {};
  BodyOptions bodies = {};
  AnswerOptions answers = {};
  ModelTableOptions models = {};
  RequestPolicy requests = {};
  EngineOptions engine = {};  // for all models, unless an entry has its own; the queue bounds are the server's
  PullOptions pull = {};
  PictureOptions pictures = {};
  LogOptions log = {};

  std::span<const Api> apis = all_apis();  // the APIs that are served
  bool has_chat_page = true;
  bool has_slots = true;  // /slots is served
  MetricsNames metrics_names = MetricsNames::kOctavo;
  std::chrono::milliseconds drain_delay{0};         // from the failure of /ready to the drain
  std::chrono::milliseconds drain_timeout{30'000};  // for running requests, from the drain on
  bool handle_signals = true;                       // SIGTERM and SIGINT drain; a second one ends the process
  bool reopen_on_hangup = false;                    // SIGHUP reopens the access log and reads the models again

  /// Reads again which models are offered: after SIGHUP, on a thread of its own. An error becomes a notice to the
  /// operator, and the models stay as they are.
  ReadEntries read_models = {};
  std::function<void()> on_ready = {};                     // the models for the start are loaded; on run()'s thread
  std::function<void(const std::string&)> on_notice = {};  // takes notices to the operator, on run()'s thread

  /// The bound of waiting requests, and of the tokens in their prompts.
  QueueBound queued_requests() const { return {engine.max_queued}; }
  QueueBound queued_tokens() const { return {engine.max_queued_tokens}; }
  JsonLimits body_limits() const;
  /// The limits of stored responses: a request may refer to no more than it could send.
  ResponseStore::Limits stored_limits() const;
};

}  // namespace octavo::server
