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

#include "cli/commands.h"
#include "cli/llama_server.h"
#include "cli/parse.h"
#include "cli/serve_options.h"
#include "octavo/resources.h"
#include "server/server.h"

namespace octavo::cli {
namespace {

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
  OCTAVO_TRY(const bool is_one, is_one_model(options.models, context));
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

Result<int> serve(ServeOptions options, Dialect dialect, Context& context) {
  OCTAVO_TRY_VOID(fill_in(options));
  raise_descriptor_limit();
  for (const int signal : {SIGPIPE, SIGXFSZ})
    std::signal(signal, SIG_IGN);  // a log that nobody reads any more, or that may not grow, is no reason to end
  options.server.reopen_on_hangup = !has_terminal();
  options.server.service.on_notice = [&context](const std::string& notice) {
    context.err << "octavo: " << notice << '\n' << std::flush;
  };
  std::string url;
  options.server.on_ready = [&context, &url, dialect] {
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

}  // namespace

void add_serve_command(Program& program, Context& context, Dialect dialect) {
  auto options = std::make_shared<ServeOptions>();
  Command& command = program.add_command("serve", "Serves models over HTTP: a page to chat on, OpenAI's API");
  command.footer(
      "POST /v1/chat/completions, /v1/completions, /tokenize, /detokenize;\n"
      "GET /v1/models, /health, /ready, /metrics, /version; / is a page to chat on.\n"
      "docs/server/ and docs/several_models.md describe them. Arguments of\n"
      "llama.cpp's server are taken as well: docs/llama_server.md. SIGTERM and Ctrl-C\n"
      "finish what runs, then end it;\n"
      "a second one ends it at once. A file for --config has lines such as: port = 8080\n\n"
      "Examples:\n"
      "  octavo serve\n"
      "  octavo serve model.gguf --host 0.0.0.0 --api-key-file keys --kv-memory 4GiB\n"
      "  octavo serve -m small.gguf -m large.gguf --models-memory 16GiB\n"
      "  curl localhost:8080/v1/completions -H 'Content-Type: application/json' \\\n"
      "    -d '{\"prompt\": \"Once upon a time\", \"max_tokens\": 20}'");
  add_serve_options(command, *options, context);
  if (dialect == Dialect::kOctavo)
    command.rewrite([&](std::span<const std::string> args) { return rewrite_llama_arguments(args, command, context); });
  command.action([options, dialect, &context] { return serve(*options, dialect, context); });
}

}  // namespace octavo::cli
