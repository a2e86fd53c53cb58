#include "cli/serve/serve_options.h"

#include <fmt/format.h>

#include <memory>
#include <utility>
#include <vector>

#include "api/fields/image_placeholder.h"
#include "base/error.h"
#include "cli/options/answer_default_options.h"
#include "cli/options/config_file.h"
#include "cli/options/options.h"
#include "cli/serve/model_sections.h"
#include "cli/serve/serve_events.h"
#include "cli/serve/serve_pictures.h"
#include "cli/serve/serve_pull.h"
#include "cli/terminal/parse.h"
#include "cli/text_rows.h"
#include "http/host_check.h"
#include "http/listener.h"
#include "http/origin_check.h"

namespace octavo::cli {
namespace {

constexpr int kMaxPort = 65535;
constexpr int kMaxCount = 1 << 30;
constexpr int kMaxSeconds = 86400;
constexpr std::uint64_t kMaxHeaderBytes = 1U << 20;
constexpr std::uint64_t kMaxHeldBytes = std::uint64_t{1} << 50;

Option* add_seconds(Command& command, std::string_view names, std::chrono::milliseconds& value,
                    std::string_view description, float least = 0) {
  return add_parsed(
      command, names, "SECONDS", [least](const std::string& text) { return parse_real(text, least, kMaxSeconds); },
      [&value](float seconds) { value = std::chrono::milliseconds(static_cast<std::int64_t>(double{seconds} * 1000)); },
      description);
}

/// Adds an option for a size. `value`: an unsigned integer, or an optional one.
template <class T>
Option* add_size(Command& command, std::string_view names, T& value, std::uint64_t low, std::uint64_t high,
                 std::string_view description) {
  const auto parse = [low, high](const std::string& text) -> Result<std::uint64_t> {
    OCTAVO_TRY(const std::uint64_t bytes, parse_size(text));
    if (bytes < low || bytes > high)
      return fail("found '{}', expected {} to {}", text, format_bytes(low), format_bytes(high));
    return bytes;
  };
  return add_parsed(command, names, "SIZE", parse, [&value](std::uint64_t bytes) { value = bytes; }, description);
}

/// The message for an option's check; empty: the value is right.
template <class T>
std::string message_of(const Result<T>& result) {
  return result ? std::string() : result.error().message;
}

void add_network_options(Command& command, server::ListenOptions& listen, server::AccessOptions& access,
                         server::MetricsNames& names) {
  command.group("Network");
  command.add_option("--host", listen.host, "Address to listen at; default: 127.0.0.1, this machine alone")
      ->check(refuse_empty)
      ->type_name("ADDRESS");
  add_integer(command, "--port", listen.port, 0, kMaxPort, "Port; default 8080; 0: a free one, which is printed");
  Option* certificate =
      command.add_option("--tls-cert", listen.tls.certificate_file, "PEM file with the certificate chain: serve https");
  Option* key = command.add_option("--tls-key", listen.tls.key_file, "PEM file with its private key");
  certificate->check(refuse_empty)->type_name("FILE")->needs(key);
  key->check(refuse_empty)->type_name("FILE")->needs(certificate);
  const Option* key_file =
      command
          .add_option("--api-key-file", access.key_file,
                      "Only who has a key of this file may call; a line has a key, or a name and a key. It is read "
                      "again when it changes")
          ->check(refuse_empty)
          ->type_name("FILE");
  command
      .add_option("--api-key", access.keys,
                  "Only who has this key may call, or one of several between commas. Everybody on this machine can see "
                  "it in the list of processes: a file is safer")
      ->check(refuse_empty)
      ->type_name("KEYS")
      ->excludes(key_file);
  command
      .add_option("--cors-origin", access.cors_origins,
                  "Let pages of this origin call, or of every one: *; may be repeated; default: none")
      ->check([](const std::string& text) { return message_of(check_origin(text)); })
      ->type_name("ORIGIN");
  command
      .add_option("--allowed-host", listen.allowed_hosts,
                  "A name that requests may have as their Host, or every one: *; may be repeated; default: localhost, "
                  "127.0.0.1, [::1] and --host where only this machine can call and there are no keys, else every one")
      ->check([](const std::string& text) { return message_of(HostList::of(std::span(&text, 1))); })
      ->type_name("NAME");
  add_parsed(command, "--metrics-listen", "ADDRESS:PORT", parse_listen_address, store_in(listen.metrics),
             "Serve /metrics here, without a key, and not beside the rest; default: beside the rest");
  add_choice(command, "--metrics-names", "WHOSE",
             std::vector<std::pair<std::string, server::MetricsNames>>{{"octavo", server::MetricsNames::kOctavo},
                                                                       {"vllm", server::MetricsNames::kVllm},
                                                                       {"both", server::MetricsNames::kBoth}},
             store_in(names), "Of the metrics that vLLM has too: octavo (default), vllm, or both")
      ->of_servers();
  add_parsed(
      command, "--trusted-proxy", "NETWORK", [](const std::string& text) { return Network::parse(text); },
      [&listen](const Network& network) { listen.proxies.add(network); },
      "A proxy, or a network of them, whose X-Forwarded-For or Forwarded says where a request came from; may be "
      "repeated; default: none")
      ->repeatable();
}

void add_limit_options(Command& command, server::ServerOptions& server) {
  command.group("Limits");
  HttpLimits& limits = server.http;
  add_integer(command, "--max-connections", server.listen.connections.all, 1, kMaxCount,
              "Open at once; one more takes the place of a silent one; default 4096");
  add_integer(command, "--max-connections-per-address", server.listen.connections.per_client, 0, kMaxCount,
              "The same of one client, trusted proxies aside; default 0: any number");
  add_integer(command, "--max-requests-per-connection", limits.max_requests, 1, kMaxCount, "Then it is closed; 10000");
  add_size(command, "--max-header-size", limits.max_header_bytes, 256, kMaxHeaderBytes, "Of a request; default 16KiB");
  add_size(command, "--max-body-size", limits.max_body_bytes, 1, std::uint64_t{1} << 30,
           "Of a request; default 8MiB, and 32MiB where a model may see");
  add_size(command, "--max-received-size", limits.max_received_bytes, 1024, kMaxHeldBytes,
           "Of requests that arrive or wait to be parsed, together; the largest is refused; default 256MiB");
  add_size(command, "--max-unsent-size", limits.max_unsent_bytes, 4096, std::uint64_t{1} << 30,
           "Made for a client that does not read on; then it is cut off; default 1MiB");
  add_size(command, "--max-answer-size", server.requests.max_answer_bytes, 1024, kMaxHeldBytes,
           "Held of one answer that is not streamed; default 64MiB");
  add_size(command, "--max-held-size", server.answers.max_held_bytes, 1024, kMaxHeldBytes,
           "Of all of these together, until they are written; default 512MiB");
  add_size(command, "--max-stored-size", server.answers.stored.max_bytes, 0, kMaxHeldBytes,
           "Of responses that later ones may go on with; default 64MiB; 0: none is kept");
  add_integer(command, "--max-json-depth", server.bodies.max_json_depth, 1, 1024, "Levels of nesting; default 32");
  add_integer(command, "--parse-threads", server.bodies.parse_threads, 1, 256,
              "That read bodies and tokenize; default 2");
  constexpr float kLeast = 0.001F;
  add_seconds(command, "--read-timeout", limits.read_timeout, "From a request's first byte to its last; default 30",
              kLeast);
  add_seconds(command, "--write-timeout", limits.write_timeout, "Without the client taking a byte; default 30", kLeast);
  add_size(command, "--min-write-rate", limits.min_write_rate, 0, std::uint64_t{1} << 30,
           "Bytes a second that a client must take of an answer, but for --write-timeout; default 64KiB; 0: any");
  add_seconds(command, "--idle-timeout", limits.idle_timeout, "Of a connection between requests; default 75", kLeast);
}

void add_scheduling_options(Command& command, EngineOptions& engine, RequestPolicy& requests) {
  command.group("Scheduling");
  add_parsed(
      command, "--itl-target-ms", "MS", [](const std::string& text) { return parse_real(text, 0, 60'000); },
      [&engine](float ms) { engine.itl_target_ms = double{ms}; },
      "Time between tokens that long prompts must not exceed; default 50; 0: none");
  const std::vector<std::pair<std::string, PrefillPriority>> policies = {
      {"prefill-first", PrefillPriority::kPrefillFirst},
      {"interleaved", PrefillPriority::kInterleaved},
      {"decode-priority", PrefillPriority::kDecodePriority}};
  add_choice(command, "--policy", "NAME", policies, store_in(engine.policy),
             "Who gets a step's time: prefill-first, interleaved (default), decode-priority");
  add_integer(command, "--max-queued", engine.max_queued, 0, kMaxCount,
              "Requests that wait; one more is refused; default 1024; 0: no bound");
  add_integer(command, "--max-queued-tokens", engine.max_queued_tokens, 0, kMaxCount,
              "Tokens of their prompts, each counted for every answer to it; default 4194304; 0: no bound");
  add_integer(command, "--max-client-priority", requests.max_client_priority, 0, kMaxPriority,
              "A request may ask for a priority of minus this; default 0: clients can only step back");
  add_answer_default_options(command, requests);
  add_integer(command, "--max-sequences", engine.max_sequences, 1, 4096, "That advance in one step; default 256");
}

void add_vector_options(Command& command, server::ServerOptions& server) {
  command.group("Vectors");
  command.add_flag(
      "--embedding,--embeddings", server.requests.embeds,
      "Models that write text make vectors as well; encoders, and files that name a pooling, do it anyway");
  add_pooling_option(command, server.engine.pooling);
  add_norm_option(command, server.requests.norm);
  const auto is_reranking = std::make_shared<bool>(false);
  command.add_flag_callback(
      "--reranking,--rerank", [is_reranking] { *is_reranking = true; },
      "As --pooling rank; a model that has a ranking head ranks without it");
  command.on_parsed([is_reranking, &pooling = server.engine.pooling]() -> Result<void> {
    if (!*is_reranking) return {};
    if (pooling && *pooling != Pooling::kRank)
      return fail("--reranking: found --pooling {} beside it, expected rank or none", pooling_name(*pooling));
    pooling = Pooling::kRank;
    return {};
  });
}

/// Adds the options for several models that share memory.
void add_sharing_options(Command& command, server::ModelTableOptions& models) {
  add_seconds(command, "--model-turn", models.turn,
              "Of several models: one in use goes after so long if another is wanted in its place; default 10")
      ->of_servers();
  add_seconds(command, "--model-wait", models.max_wait,
              "A request waits no longer for its model, and for another one's load half of that; default 600", 1)
      ->of_servers();
  add_seconds(
      command, "--idle-unload", models.idle_unload,
      "A model without requests for so long leaves the memory; clients may say less, but no more; default 0: never")
      ->of_servers();
  add_choice(
      command, "--allow-unload", "WHOSE", std::vector<std::pair<std::string, bool>>{{"own", false}, {"all", true}},
      store_in(models.clients_are_one),
      "Whose use of a model a client may end by keep_alive or /models/unload: own (default), or all, that of others "
      "too")
      ->of_servers();
}

void add_operation_options(Command& command, ServeOptions& options, Context& context) {
  command.group("Operation");
  server::ServerOptions& server = options.server;
  command
      .add_option(
          "--served-model-name", options.models.names,
          "The one model's id; more of these are further names for it; '*': it, or the first of several, answers to "
          "every name that none has; default: its file's name, as a slug")
      ->check(refuse_empty)
      ->type_name("NAME")
      ->of_servers();
  command
      .add_option(
          "--image-placeholder", server.requests.image_placeholder,
          "Text that stands for images in requests, with a warning; default: one in the newest message is refused")
      ->check([](const std::string& text) {
        return text.empty() || text.size() > kMaxImagePlaceholder
                   ? fmt::format("found {} bytes, expected 1 to {}", text.size(), kMaxImagePlaceholder)
                   : std::string();
      })
      ->type_name("TEXT");
  add_additional_properties_option(command, server.requests.closes_objects,
                                   "an object's schema in a request without additional_properties");
  command.add_flag_callback(
             "--no-ui", [&server] { server.has_chat_page = false; }, "No page to chat on at /")
      ->of_servers();
  command.add_flag_callback("--no-slots", [&server] { server.has_slots = false; }, "Nothing at /slots")->of_servers();
  command
      .add_flag("--shared-cache", server.access.shared_cache,
                "API keys share the prefix cache: faster, but the time of an answer tells what others asked")
      ->of_servers();
  add_sharing_options(command, server.models);
  add_pull_options(command, server.pull, options.models.pulled, context);
  add_seconds(command, "--keepalive-interval", server.answers.keepalive_interval,
              "A stream that waits says so this often; default 5; 0: never")
      ->of_servers();
  add_seconds(command, "--drain-delay", server.drain_delay,
              "On SIGTERM: /ready fails, and everything is served for so long before the drain; default 0")
      ->of_servers();
  add_seconds(command, "--drain-timeout", server.drain_timeout,
              "On SIGTERM, for requests that run; what is fetched or loaded is stopped at once; default 30")
      ->of_servers();
  add_seconds(command, "--stall-timeout", server.models.stall_timeout,
              "/ready fails when the engine has finished no step for so long; default 30; 0: never")
      ->of_servers();
  add_parsed(
      command, "--idle-release", "SECONDS", [](const std::string& text) { return parse_real(text, 0, kMaxSeconds); },
      [&engine = server.engine](float seconds) { engine.idle_release_s = double{seconds}; },
      "Without a request for so long, the KV memory goes back to the system, with the prefix cache in it; what "
      "holds nothing goes after 30 already; default 600; 0: the prefix cache stays");
  command.add_option("--access-log", server.log.file, "One line of JSON a request; default -: standard output; or off")
      ->check(refuse_empty)
      ->type_name("FILE")
      ->of_servers();
  command.add_flag("--log-prompts", server.log.has_prompts, "The access log has the requests' bodies as well")
      ->of_servers();
}

}  // namespace

void add_serve_options(Command& command, ServeOptions& options, Context& context) {
  add_models_options(command, options.models, options.server.models.memory_bytes, context);
  server::ServerOptions& server = options.server;
  add_network_options(command, server.listen, server.access, server.metrics_names);
  add_operation_options(command, options, context);
  add_scheduling_options(command, server.engine, server.requests);
  add_vector_options(command, server);
  add_limit_options(command, server);
  add_sampling_options(command, options.models.sampling, "1");
  add_draft_options(command, server.engine);
  add_kv_store_options(command, server.engine.kv_store, context);
  add_kv_events_options(command, server.engine.kv_events, options.events);
  add_picture_options(command, server.engine);
  add_picture_source_options(command, server, context);
  const Option* body_size = command.find_option("--max-body-size");
  command.on_parsed([&options, body_size]() -> Result<void> {
    options.server.requests.picture_bounds = options.server.engine.picture_bounds;
    options.has_body_size = body_size->count() > 0;
    return {};
  });
  add_engine_options(command, server.engine, context);
  const Option* chat_template = add_chat_template_option(command, server.engine.chat_template);
  add_chat_template_file_option(command, server.engine.chat_template)->excludes(chat_template);
  add_generation_config_option(command, server.engine.generation_config);
  add_tokenizer_option(command, server.engine.tokenizer_path);
  add_config_option(command, store_in(options.models.config_file), kModelSections);
}

}  // namespace octavo::cli
