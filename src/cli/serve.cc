// octavo serve: an OpenAI-compatible server.
#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <ostream>
#include <utility>
#include <vector>

#include "api/image_placeholder.h"
#include "base/to_size.h"
#include "cli/answer_default_options.h"
#include "cli/commands.h"
#include "cli/config_file.h"
#include "cli/llama_server.h"
#include "cli/options.h"
#include "cli/parse.h"
#include "cli/serve_models.h"
#include "cli/serve_pull.h"
#include "octavo/resources.h"
#include "server/origin_check.h"
#include "server/server.h"

namespace octavo::cli {
namespace {

constexpr int kMaxPort = 65535;
constexpr int kMaxCount = 1 << 30;
constexpr int kMaxSeconds = 86400;
constexpr std::uint64_t kMaxHeaderBytes = 1U << 20;
constexpr std::uint64_t kMaxHeldBytes = std::uint64_t{1} << 50;

struct ServeOptions {
  EngineOptions engine;
  server::ServerOptions server;
  ModelsOptions models;
  AllowedPulls pulls;
  std::string key_file;
  std::string keys;  // between commas
  Dialect dialect = Dialect::kOctavo;
  std::vector<std::string> trusted_proxies;
  std::string access_log = "-";
  int port = 8080;
  int max_connections = 4096;
  int max_connections_per_address = 0;
  int max_json_depth = 32;
  std::chrono::milliseconds idle_release{600'000};
  int max_queued_tokens = static_cast<int>(EngineOptions{}.max_queued_tokens);
  std::size_t max_received_bytes = 0;  // 0: not given
};

/// An idle connection costs a descriptor, and systems allow 1024 unless asked.
void raise_descriptor_limit() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur == limit.rlim_max) return;
  limit.rlim_cur = limit.rlim_max;
  ::setrlimit(RLIMIT_NOFILE, &limit);
}

Result<void> fill_in(ServeOptions& options) {
  options.engine.max_queued_tokens = options.max_queued_tokens;
  options.engine.require_words = true;
  server::ServerOptions& server = options.server;
  server.port = static_cast<std::uint16_t>(options.port);
  server.max_connections = to_size(options.max_connections);
  options.engine.idle_release_s = std::chrono::duration<double>(options.idle_release).count();
  server.max_connections_per_client = to_size(options.max_connections_per_address);
  server.service.json.max_depth = to_size(options.max_json_depth);
  // Token ids in JSON take up to five times their text.
  server.service.json.max_memory_bytes =
      std::max(server.service.json.max_memory_bytes, 8 * server.limits.max_body_bytes);
  server.service.responses.max_request_bytes = server.limits.max_body_bytes;
  const std::uint64_t largest = server.limits.max_header_bytes + server.limits.max_body_bytes;
  server.max_received_bytes =
      options.max_received_bytes == 0 ? std::max(server.max_received_bytes, 2 * largest) : options.max_received_bytes;
  if (server.max_received_bytes < largest)
    return fail("--max-received-size: found {}, expected at least {}, what one request may take by --max-body-size",
                format_bytes(server.max_received_bytes), format_bytes(largest));
  server.service.version = OCTAVO_VERSION;
  const int seats = options.engine.kv_layout == KvLayout::kContiguous ? 1 : options.engine.max_sequences;
  server.service.max_choices = std::min(kMaxChoices, seats);
  server.service.max_queued = {options.engine.max_queued};
  server.service.max_queued_tokens = {options.engine.max_queued_tokens};
  if (server.tls.certificate_file.empty() != server.tls.key_file.empty())
    return fail("--tls-cert and --tls-key need each other");
  OCTAVO_TRY(server.service.proxies, server::TrustedProxies::parse(options.trusted_proxies));
  if (!options.key_file.empty()) {
    OCTAVO_TRY(server.service.key_watch, server::KeyWatch::open(options.key_file));
    server.service.keys = server.service.key_watch->first_keys();
  }
  if (!options.keys.empty()) {
    OCTAVO_TRY(server.service.keys, server::ApiKeys::of_list(options.keys, "--api-key"));
  }
  if (options.access_log != "off") {
    OCTAVO_TRY(server.service.access_log,
               server::LineWriter::open(options.access_log, {.is_private = server.service.log_prompts}));
  }
  return {};
}

/// A terminal that closes sends SIGHUP, and then the server must end; a service has none.
bool has_terminal() {
  const int terminal = ::open("/dev/tty", O_RDWR | O_CLOEXEC | O_NOCTTY);
  if (terminal < 0) return false;
  ::close(terminal);
  return true;
}

/// Says at which addresses the server listens, and what is unsafe about them.
void say_addresses(const server::Server& server, Context& context) {
  context.err << "octavo: listening at " << server.url() << '\n';
  if (const std::string url = server.metrics_url(); !url.empty())
    context.err << "octavo: metrics at " << url << "/metrics\n";
  if (server.is_open_to_all())
    context.err << "octavo: warning: everybody who can reach this address may use the server and read /metrics; "
                   "with --api-key-file only those who have a key may\n";
  context.err << std::flush;
}

/// Several models share threads, and memory within a limit.
Result<std::vector<server::ModelOffer>> offered_models(ServeOptions& options, Context& context) {
  OCTAVO_TRY(const bool is_one, is_one_model(options.models));
  options.server.models.clients_unload = !is_one || options.server.models.idle_unload.count() > 0;
  if (!options.engine.repack && !is_one)
    return fail(
        "--no-repack: found several models, expected one: their weights would stay in their files, and one that is cut "
        "short would end the server for all of them");
  if (!options.engine.repack)
    context.err << "octavo: --no-repack: the server ends if the model's file is cut short or its disk fails\n"
                << std::flush;
  if (is_one) {
    std::vector<server::ModelOffer> models;
    models.push_back(one_model(options.models, options.engine, context));
    return models;
  }
  if (options.models.memory_bytes == 0) options.models.memory_bytes = default_models_memory();
  options.server.models.memory_bytes = options.models.memory_bytes;
  EngineOptions engine = options.engine;
  OCTAVO_TRY(engine.resources, Resources::create({.num_threads = std::exchange(engine.num_threads, 0)}));
  options.server.read_models = [models = options.models, engine, &context](const std::stop_token& stop) {
    return find_models(models, engine, context, stop);
  };
  return find_models(options.models, engine, context);
}

Result<int> serve(ServeOptions options, Context& context) {
  OCTAVO_TRY_VOID(fill_in(options));
  raise_descriptor_limit();
  for (const int signal : {SIGPIPE, SIGXFSZ})
    std::signal(signal, SIG_IGN);  // a log that nobody reads any more, or that may not grow, is no reason to end
  options.server.reopen_on_hangup = !has_terminal();
  options.server.service.on_notice = [&context](const std::string& notice) {
    context.err << "octavo: " << notice << '\n' << std::flush;
  };
  std::string url;
  options.server.on_ready = [&context, &url, dialect = options.dialect] {
    if (dialect == Dialect::kLlamaServer) context.err << "octavo: server is listening on " << url << '\n';
    context.err << "octavo: ready at " << url << '\n' << std::flush;
  };
  const auto pulled = std::make_shared<PulledModels>();
  options.models.pulled = pulled;
  OCTAVO_TRY_VOID(allow_pulls(options.pulls, pulled, options.server.service, context));
  OCTAVO_TRY(std::vector<server::ModelOffer> models, offered_models(options, context));
  OCTAVO_TRY(const auto server, server::Server::create(options.server, std::move(models)));
  url = server->url();
  say_addresses(*server, context);
  OCTAVO_TRY_VOID(server->run());
  return kDone;
}

Option* add_seconds(Command& command, std::string_view names, std::chrono::milliseconds& value,
                    std::string_view description, float least = 0) {
  return add_parsed(
      command, names, "SECONDS", [least](const std::string& text) { return parse_real(text, least, kMaxSeconds); },
      [&value](float seconds) { value = std::chrono::milliseconds(static_cast<std::int64_t>(double{seconds} * 1000)); },
      description);
}

Option* add_size(Command& command, std::string_view names, std::size_t& value, std::uint64_t low, std::uint64_t high,
                 std::string_view description) {
  const auto parse = [low, high](const std::string& text) -> Result<std::uint64_t> {
    OCTAVO_TRY(const std::uint64_t bytes, parse_size(text));
    if (bytes < low || bytes > high)
      return fail("found '{}', expected {} to {}", text, format_bytes(low), format_bytes(high));
    return bytes;
  };
  return add_parsed(
      command, names, "SIZE", parse, [&value](std::uint64_t bytes) { value = to_size(bytes); }, description);
}

/// For the check of an option: empty, or why its value is wrong.
template <class T>
std::string message_of(const Result<T>& result) {
  return result ? std::string() : result.error().message;
}

void add_network_options(Command& command, ServeOptions& options) {
  command.group("Network");
  server::ServerOptions& server = options.server;
  command.add_option("--host", server.host, "Address to listen at; default: 127.0.0.1, this machine alone")
      ->check(refuse_empty)
      ->type_name("ADDRESS");
  add_integer(command, "--port", options.port, 0, kMaxPort, "Port; default 8080; 0: a free one, which is printed");
  Option* certificate =
      command.add_option("--tls-cert", server.tls.certificate_file, "PEM file with the certificate chain: serve https");
  Option* key = command.add_option("--tls-key", server.tls.key_file, "PEM file with its private key");
  certificate->check(refuse_empty)->type_name("FILE")->needs(key);
  key->check(refuse_empty)->type_name("FILE")->needs(certificate);
  const Option* key_file =
      command
          .add_option("--api-key-file", options.key_file,
                      "Only who has a key of this file may call; a line has a key, or a name and a key. It is read "
                      "again when it changes")
          ->check(refuse_empty)
          ->type_name("FILE");
  command
      .add_option("--api-key", options.keys,
                  "Only who has this key may call, or one of several between commas. Everybody on this machine can see "
                  "it in the list of processes: a file is safer")
      ->check(refuse_empty)
      ->type_name("KEYS")
      ->excludes(key_file);
  command
      .add_option("--cors-origin", server.service.cors_origins,
                  "Let pages of this origin call, or of every one: *; may be repeated; default: none")
      ->check([](const std::string& text) { return message_of(server::check_origin(text)); })
      ->type_name("ORIGIN");
  command
      .add_option("--allowed-host", server.allowed_hosts,
                  "A name that requests may have as their Host, or every one: *; may be repeated; default: localhost, "
                  "127.0.0.1, [::1] and --host where only this machine can call and there are no keys, else every one")
      ->check([](const std::string& text) { return message_of(server::HostList::of(std::span(&text, 1))); })
      ->type_name("NAME");
  add_parsed(
      command, "--metrics-listen", "ADDRESS:PORT", server::parse_listen_address,
      [&server](server::ListenAddress address) { server.metrics = std::move(address); },
      "Serve /metrics here, without a key, and not beside the rest; default: beside the rest");
  command
      .add_option("--trusted-proxy", options.trusted_proxies,
                  "A proxy, or a network of them, whose X-Forwarded-For or Forwarded says where a request came from; "
                  "may be repeated; default: none")
      ->check([](const std::string& text) { return message_of(server::Network::parse(text)); })
      ->type_name("NETWORK");
}

void add_limit_options(Command& command, ServeOptions& options) {
  command.group("Limits");
  server::HttpLimits& limits = options.server.limits;
  add_integer(command, "--max-connections", options.max_connections, 1, kMaxCount,
              "Open at once; one more takes the place of a silent one; default 4096");
  add_integer(command, "--max-connections-per-address", options.max_connections_per_address, 0, kMaxCount,
              "The same of one client, trusted proxies aside; default 0: any number");
  add_integer(command, "--max-requests-per-connection", limits.max_requests, 1, kMaxCount, "Then it is closed; 10000");
  add_size(command, "--max-header-size", limits.max_header_bytes, 256, kMaxHeaderBytes, "Of a request; default 16KiB");
  add_size(command, "--max-body-size", limits.max_body_bytes, 1, std::uint64_t{1} << 30, "Of a request; default 8MiB");
  add_size(command, "--max-received-size", options.max_received_bytes, 1024, kMaxHeldBytes,
           "Of requests that arrive or wait to be parsed, together; the largest is refused; default 256MiB");
  add_size(command, "--max-unsent-size", limits.max_unsent_bytes, 4096, std::uint64_t{1} << 30,
           "Made for a client that does not read on; then it is cut off; default 1MiB");
  add_size(command, "--max-answer-size", options.server.service.max_answer_bytes, 1024, kMaxHeldBytes,
           "Held of one answer that is not streamed; default 64MiB");
  add_size(command, "--max-held-size", options.server.service.max_held_bytes, 1024, kMaxHeldBytes,
           "Of all of these together, until they are written; default 512MiB");
  add_size(command, "--max-stored-size", options.server.service.responses.max_bytes, 0, kMaxHeldBytes,
           "Of responses that later ones may go on with; default 64MiB; 0: none is kept");
  add_integer(command, "--max-json-depth", options.max_json_depth, 1, 1024, "Levels of nesting; default 32");
  add_integer(command, "--parse-threads", options.server.service.parse_threads, 1, 256,
              "That read bodies and tokenize; default 2");
  constexpr float kLeast = 0.001F;
  add_seconds(command, "--read-timeout", limits.read_timeout, "From a request's first byte to its last; default 30",
              kLeast);
  add_seconds(command, "--write-timeout", limits.write_timeout, "Without the client taking a byte; default 30", kLeast);
  add_size(command, "--min-write-rate", limits.min_write_rate, 0, std::uint64_t{1} << 30,
           "Bytes a second that a client must take of an answer, but for --write-timeout; default 64KiB; 0: any");
  add_seconds(command, "--idle-timeout", limits.idle_timeout, "Of a connection between requests; default 75", kLeast);
}

void add_scheduling_options(Command& command, ServeOptions& options) {
  command.group("Scheduling");
  add_parsed(
      command, "--itl-target-ms", "MS", [](const std::string& text) { return parse_real(text, 0, 60'000); },
      [&options](float ms) { options.engine.itl_target_ms = double{ms}; },
      "Time between tokens that long prompts must not exceed; default 50; 0: none");
  const std::vector<std::pair<std::string, PrefillPriority>> policies = {
      {"prefill-first", PrefillPriority::kPrefillFirst},
      {"interleaved", PrefillPriority::kInterleaved},
      {"decode-priority", PrefillPriority::kDecodePriority}};
  add_choice(
      command, "--policy", "NAME", policies, [&options](PrefillPriority policy) { options.engine.policy = policy; },
      "Who gets a step's time: prefill-first, interleaved (default), decode-priority");
  add_integer(command, "--max-queued", options.engine.max_queued, 0, kMaxCount,
              "Requests that wait; one more is refused; default 1024; 0: no bound");
  add_integer(command, "--max-queued-tokens", options.max_queued_tokens, 0, kMaxCount,
              "Tokens of their prompts, each counted for every answer to it; default 4194304; 0: no bound");
  add_integer(command, "--max-client-priority", options.server.service.max_client_priority, 0, kMaxPriority,
              "A request may ask for a priority of minus this; default 0: clients can only step back");
  add_answer_default_options(command, options.server.service);
  add_integer(command, "--max-sequences", options.engine.max_sequences, 1, 4096,
              "That advance in one step; default 256");
}

void add_operation_options(Command& command, ServeOptions& options) {
  command.group("Operation");
  server::ServerOptions& server = options.server;
  command
      .add_option(
          "--served-model-name", options.models.names,
          "The one model's id; more of these are further names for it; '*': it, or the first of several, answers to "
          "every name that none has; default: its file's name, as a slug")
      ->check(refuse_empty)
      ->type_name("NAME");
  command
      .add_option("--image-placeholder", server.service.image_placeholder,
                  "Text that stands for images in requests, with a warning; default: such a request is refused")
      ->check([](const std::string& text) {
        return text.empty() || text.size() > kMaxImagePlaceholder
                   ? fmt::format("found {} bytes, expected 1 to {}", text.size(), kMaxImagePlaceholder)
                   : std::string();
      })
      ->type_name("TEXT");
  add_additional_properties_option(command, server.service.closes_objects,
                                   "an object's schema in a request without additional_properties");
  command.add_flag_callback("--no-ui", [&server] { server.service.has_chat_page = false; }, "No page to chat on at /");
  command.add_flag_callback("--no-slots", [&server] { server.service.has_slots = false; }, "Nothing at /slots");
  command.add_flag("--shared-cache", server.service.shared_cache,
                   "API keys share the prefix cache: faster, but the time of an answer tells what others asked");
  add_seconds(command, "--model-turn", server.models.turn,
              "Of several models: one in use goes after so long if another is wanted in its place; default 10");
  add_seconds(command, "--model-wait", server.models.max_wait,
              "A request waits no longer for its model, and for another one's load half of that; default 600", 1);
  add_seconds(
      command, "--idle-unload", server.models.idle_unload,
      "A model without requests for so long leaves the memory, unless a client says how long; default 0: never");
  add_choice(
      command, "--allow-unload", "WHOSE", std::vector<std::pair<std::string, bool>>{{"own", false}, {"all", true}},
      [&server](bool is_all) { server.models.clients_are_one = is_all; },
      "Whose use of a model a client may end by keep_alive or /models/unload: own (default), or all, that of others "
      "too");
  add_pull_options(command, options.pulls);
  add_seconds(command, "--keepalive-interval", server.service.keepalive_interval,
              "A stream that waits says so this often; default 5; 0: never");
  add_seconds(command, "--drain-timeout", server.drain_timeout,
              "On SIGTERM, for requests that run; what is fetched or loaded is stopped at once; default 30");
  add_seconds(command, "--stall-timeout", server.service.stall_timeout,
              "/ready fails when the engine has finished no step for so long; default 30; 0: never");
  add_seconds(command, "--idle-release", options.idle_release,
              "Without a request for so long, the KV memory goes back to the system, with the prefix cache in it; what "
              "holds nothing goes after 30 already; default 600; 0: the prefix cache stays");
  command
      .add_option("--access-log", options.access_log, "One line of JSON a request; default -: standard output; or off")
      ->check(refuse_empty)
      ->type_name("FILE");
  command.add_flag("--log-prompts", server.service.log_prompts, "The access log has the requests' bodies as well");
}

}  // namespace

void add_serve_command(Program& program, Context& context, Dialect dialect) {
  auto options = std::make_shared<ServeOptions>();
  options->dialect = dialect;
  Command& command = program.add_command("serve", "Serves models over HTTP: a page to chat on, OpenAI's API");
  command.footer(
      "POST /v1/chat/completions, /v1/completions, /tokenize, /detokenize;\n"
      "GET /v1/models, /health, /ready, /metrics, /version; / is a page to chat on.\n"
      "docs/server.md and docs/several_models.md describe them. Arguments of\n"
      "llama.cpp's server are taken as well: docs/llama_server.md. SIGTERM and Ctrl-C\n"
      "finish what runs, then end it;\n"
      "a second one ends it at once. A file for --config has lines such as: port = 8080\n\n"
      "Examples:\n"
      "  octavo serve\n"
      "  octavo serve model.gguf --host 0.0.0.0 --api-key-file keys --kv-memory 4GiB\n"
      "  octavo serve -m small.gguf -m large.gguf --models-memory 16GiB\n"
      "  curl localhost:8080/v1/completions -H 'Content-Type: application/json' \\\n"
      "    -d '{\"prompt\": \"Once upon a time\", \"max_tokens\": 20}'");
  add_models_options(command, options->models, context);
  add_network_options(command, *options);
  add_operation_options(command, *options);
  add_scheduling_options(command, *options);
  add_limit_options(command, *options);
  add_sampling_options(command, options->models.sampling, "1");
  add_engine_options(command, options->engine, context);
  const Option* chat_template = add_chat_template_option(command, options->engine.chat_template);
  add_chat_template_file_option(command, options->engine.chat_template)->excludes(chat_template);
  add_generation_config_option(command, options->engine.generation_config);
  add_tokenizer_option(command, options->engine.tokenizer_path);
  options->engine.itl_target_ms = EngineOptions{}.itl_target_ms;  // several users: not the other commands' default
  add_config_option(
      command, [options = options.get()](const std::string& path) { options->models.config_file = path; },
      kModelSections);
  if (dialect == Dialect::kOctavo)
    command.rewrite([&](std::span<const std::string> args) { return rewrite_llama_arguments(args, command, context); });
  command.action([options, &context] { return serve(*options, context); });
}

}  // namespace octavo::cli
