// octavo serve: an OpenAI-compatible server.
#include <fcntl.h>
#include <malloc.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstddef>
#include <optional>
#include <ostream>
#include <utility>
#include <vector>

#include "cli/commands.h"
#include "cli/llama_server.h"
#include "cli/serve/serve_options.h"
#include "cli/serve/serve_pull.h"
#include "cli/terminal/parse.h"
#include "kv_store/kv_store.h"
#include "octavo/resources.h"
#include "server/server.h"

namespace octavo::cli {
namespace {

/// Raises the limit of file descriptors: an idle connection takes one, and systems allow 1024 by default.
void raise_descriptor_limit() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur == limit.rlim_max) return;
  limit.rlim_cur = limit.rlim_max;
  ::setrlimit(RLIMIT_NOFILE, &limit);
}

/// Gives freed memory back to the system. Only the program does so: in a process with other owners, the allocator is
/// theirs.
void return_memory() {
#ifdef __GLIBC__
  ::malloc_trim(0);
#endif
}

/// Raises the limits for bodies with pictures, which are large. The operator's limit for all requests together goes
/// before that.
void make_room_for_pictures(HttpLimits& limits) {
  constexpr std::size_t kSeenBodyBytes = std::size_t{32} << 20;
  HttpLimits larger = limits;
  larger.max_body_bytes = kSeenBodyBytes;
  if (larger.received_bound() >= larger.largest_request_bytes()) limits = larger;
}

/// Sets what follows from the options.
Result<void> complete(ServeOptions& options, Context& context) {
  server::ServerOptions& server = options.server;
  if (!options.has_body_size) {
    OCTAVO_TRY(const bool sees, may_see(options.models, server.engine, context));
    if (sees) make_room_for_pictures(server.http);
  }
  server.engine.require_words = true;
  const int most = server.engine.kv_layout == KvLayout::kContiguous ? 1 : server.engine.max_sequences;
  server.requests.max_choices = std::min(kMaxChoices, most);
  if (server.http.received_bound() < server.http.largest_request_bytes())
    return fail("--max-received-size: found {}, expected at least {}, what one request may take by --max-body-size",
                format_bytes(server.http.received_bound()), format_bytes(server.http.largest_request_bytes()));
  return {};
}

/// Whether there is a terminal: when it closes it sends SIGHUP, and then the server must end. A service has none.
bool has_terminal() {
  const int terminal = ::open("/dev/tty", O_RDWR | O_CLOEXEC | O_NOCTTY);
  if (terminal < 0) return false;
  ::close(terminal);
  return true;
}

/// Prints at which addresses the server listens, and what is unsafe about them.
void say_addresses(const server::Server& server, Context& context) {
  context.err << "octavo: listening at " << server.url() << '\n';
  if (const std::string url = server.metrics_url(); !url.empty())
    context.err << "octavo: metrics at " << url << "/metrics\n";
  if (server.is_open_to_all())
    context.err << "octavo: warning: everybody who can reach this address may use the server and read /metrics; "
                   "with --api-key-file only those who have a key may\n";
  context.err << std::flush;
}

/// Finds the models to offer. Several models share threads, and memory within a limit.
Result<std::vector<server::ModelEntry>> offered_models(ServeOptions& options, Context& context) {
  server::ServerOptions& server = options.server;
  EngineOptions& engine = server.engine;
  OCTAVO_TRY(const bool is_one, is_one_model(options.models, context));
  OCTAVO_TRY_VOID(complete_kv_events(engine.kv_events, options.events, server.listen,
                                     options.models.names.empty() ? std::string() : options.models.names.front(),
                                     is_one));
  server.models.clients_unload = !is_one || server.models.idle_unload.count() > 0;
  if (!engine.repack && !is_one)
    return fail(
        "--no-repack: found several models, expected one: their weights would stay in their files, and one that is cut "
        "short would end the server for all of them");
  if (!engine.repack)
    context.err << "octavo: --no-repack: the server ends if the model's file is cut short or its disk fails\n"
                << std::flush;
  if (is_one) {
    std::vector<server::ModelEntry> models;
    models.push_back(one_model(options.models, engine, context));
    return models;
  }
  if (server.models.memory_bytes == 0) server.models.memory_bytes = default_models_memory();
  if (engine.kv_memory_bytes == 0) engine.kv_memory_bytes = kv_share_of(server.models.memory_bytes);
  OCTAVO_TRY(engine.resources, Resources::create({.num_threads = std::exchange(engine.num_threads, 0)}));
  server.read_models = [models = options.models, engine, &context](const std::stop_token& stop) {
    return find_models(models, engine, context, stop);
  };
  return server.read_models({});
}

/// The salt for names of keys. Prefixes on disk belong to such names, and those made of a key's digest must be the same
/// after a restart.
Result<std::optional<server::KeySalt>> kept_salt(const KvStoreSettings& store) {
  if (store.folder.empty()) return std::nullopt;
  OCTAVO_TRY(const BlockHashKey key, KvStore::key_of(store.folder));
  server::KeySalt salt = {};
  std::ranges::transform(key, salt.begin(), [](std::byte byte) { return std::to_integer<unsigned char>(byte); });
  return salt;
}

Result<int> serve(ServeOptions options, Dialect dialect, Context& context) {
  OCTAVO_TRY_VOID(complete(options, context));
  OCTAVO_TRY(options.server.access.key_salt, kept_salt(options.server.engine.kv_store));
  OCTAVO_TRY(server::ServerFiles files, server::ServerFiles::open(options.server));
  raise_descriptor_limit();
  for (const int signal : {SIGPIPE, SIGXFSZ})
    std::signal(signal, SIG_IGN);  // a log that nobody reads any more, or that may not grow, must not end the server
  options.server.reopen_on_hangup = !has_terminal();
  options.server.bodies.return_memory = return_memory;
  options.server.on_notice = [&context](const std::string& notice) {
    context.err << "octavo: " << notice << '\n' << std::flush;
  };
  std::string url;
  options.server.on_ready = [&context, &url, dialect] {
    if (dialect == Dialect::kLlamaServer) context.err << "octavo: server is listening on " << url << '\n';
    context.err << "octavo: ready at " << url << '\n' << std::flush;
  };
  OCTAVO_TRY_VOID(check_pulls(options.server.pull, files.keys, context));
  OCTAVO_TRY(std::vector<server::ModelEntry> models, offered_models(options, context));
  OCTAVO_TRY(const auto server, server::Server::create(std::move(options.server), std::move(files), std::move(models)));
  url = server->url();
  say_addresses(*server, context);
  OCTAVO_TRY_VOID(server->run());
  return kDone;
}

}  // namespace

void add_serve_command(Program& program, Context& context, Dialect dialect) {
  auto options = std::make_shared<ServeOptions>();
  options->models.pulled = std::make_shared<PulledModels>();
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
