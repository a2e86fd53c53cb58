// The settings of a server, in sections. Each one and its default stand here or in a section's own header, once: the
// command line writes it here, and the parts of a server read it here.
//
// A plain value. The Server owns it; its parts hold references to the sections that they read, which stay as they are.
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
#include "server/picture_options.h"
#include "server/pull_options.h"

namespace octavo::server {

/// The addresses where connections are taken, and their number.
struct ListenOptions {
  std::string host = "127.0.0.1";
  std::uint16_t port = 8080;                  // 0: a free one
  std::optional<ListenAddress> metrics = {};  // /metrics has an address of its own, where no key is asked for
  /// Names that a request's Host may have beside this machine's own and `host`; "*": every one. None: where only this
  /// machine can call and there are no keys, these two; elsewhere every one.
  std::vector<std::string> allowed_hosts = {};
  TrustedProxies proxies = {};  // they are believed on the sender of a request, and have no bound per_client
  TlsOptions tls = {};          // plain HTTP where no certificate is named
  ConnectionLimits connections = {};
};

/// The keys and the pages that may call, and whether callers share a cache.
struct AccessOptions {
  std::string key_file = {};                   // of keys; it is read again when it changes; empty: none
  std::string keys = {};                       // between commas, in place of a file; empty: none
  std::optional<KeySalt> key_salt = {};        // of keys' names; none: a random one, which ends with the process
  std::vector<std::string> cors_origins = {};  // "*": every one
  bool shared_cache = false;                   // keys share the prefix cache
};

/// The memory that answers take, and the heartbeats of streams.
struct AnswerOptions {
  std::uint64_t max_held_bytes = std::uint64_t{512} << 20;  // of answers that are not streamed, until they are written
  ResponseStore::Limits stored = {};                        // of those that are kept, to be gone on with
  std::chrono::milliseconds keepalive_interval{5000};       // a stream is silent no longer than this; 0: for any time
  std::chrono::milliseconds progress_interval{250};         // between two reports of a prompt's progress
};

/// The memory of all models, and the time that they stay in it.
struct ModelTableOptions {
  std::uint64_t memory_bytes = 0;                   // of all models in memory; 0: no limit
  std::chrono::milliseconds turn{10'000};           // of a model in use that another one waits for
  std::chrono::milliseconds idle_unload{0};         // a model that nobody uses goes after this; 0: never
  bool clients_unload = false;                      // they say when one goes: keep_alive, and unload()
  bool clients_are_one = false;                     // there: what one says counts for all of them
  std::chrono::milliseconds max_wait{600'000};      // of a request for its model; a load that others wait for: half
  std::chrono::milliseconds stall_timeout{30'000};  // without a step although there is work; 0: never not ready
};

struct LogOptions {
  std::string file = "-";    // of one line a request; "-": standard output; "off": none is written
  bool has_prompts = false;  // lines have the requests' bodies
};

struct ServerOptions {
  ListenOptions listen = {};
  HttpLimits http = {};
  AccessOptions access = {};
  BodyOptions bodies = {};
  AnswerOptions answers = {};
  ModelTableOptions models = {};
  RequestPolicy requests = {};
  EngineOptions engine =
      {};  // of all models, unless their entries have others; its queue's bounds are the server's, too
  PullOptions pull = {};
  PictureOptions pictures = {};
  LogOptions log = {};

  std::span<const Api> apis = all_apis();  // that are served
  bool has_chat_page = true;
  bool has_slots = true;                            // /slots
  std::chrono::milliseconds drain_timeout{30'000};  // for what runs when the server is told to stop
  bool handle_signals = true;                       // SIGTERM and SIGINT drain; a second one ends the process
  bool reopen_on_hangup = false;                    // SIGHUP: the access log was moved away, models are others

  /// Reads anew which models are offered: after SIGHUP, on a thread of its own. Error: a notice to the operator, and
  /// the models stay as they are.
  ReadEntries read_models = {};
  std::function<void()> on_ready = {};                     // the models for the start are loaded; on run()'s thread
  std::function<void(const std::string&)> on_notice = {};  // notices to the operator; on run()'s thread

  /// Requests, and tokens of their prompts, that may wait.
  QueueBound queued_requests() const { return {engine.max_queued}; }
  QueueBound queued_tokens() const { return {engine.max_queued_tokens}; }
  JsonLimits body_limits() const;
  /// A request refers to no more than it could send.
  ResponseStore::Limits stored_limits() const;
};

}  // namespace octavo::server
