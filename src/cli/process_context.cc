#include "cli/process_context.h"

#include <spdlog/logger.h>
#include <spdlog/sinks/ostream_sink.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <iostream>
#include <string_view>

#include "cli/cli.h"
#include "cli/terminal/bus_error.h"
#include "octavo/engine.h"
#include "octavo/machine.h"

namespace octavo::cli {
namespace {

std::filesystem::path cache_folder() {
  // The specification demands an absolute path there, and that all else is ignored.
  if (const char* xdg = std::getenv("XDG_CACHE_HOME"); xdg != nullptr && xdg[0] == '/') return xdg;
  if (const char* home = std::getenv("HOME"); home != nullptr && home[0] != '\0')
    return std::filesystem::path(home) / ".cache";
  return {};
}

/// How long a pipe may be silent before a prompt that came with it is answered alone: long enough for a program that
/// starts or asks a network, and bearable where an idle pipe was inherited.
constexpr std::chrono::seconds kPipePatience{3};

std::optional<std::string> environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr || value[0] == '\0' ? std::nullopt : std::optional<std::string>(value);
}

std::filesystem::path program_file() {
  std::error_code ignored;
  return std::filesystem::read_symlink("/proc/self/exe", ignored);
}

/// Whether a terminal is to show colors: https://no-color.org says that any value but the empty one turns them off.
bool takes_color(int descriptor) {
  const char* unwanted = std::getenv("NO_COLOR");
  const char* terminal = std::getenv("TERM");
  if (unwanted != nullptr && unwanted[0] != '\0') return false;
  return ::isatty(descriptor) == 1 && terminal != nullptr && std::string_view(terminal) != "dumb";
}

StreamEnd end_at(int descriptor, bool is_for_people) {
  return {
      .is_terminal = ::isatty(descriptor) == 1, .takes_color = takes_color(descriptor), .is_for_people = is_for_people};
}

/// The columns of the terminal at standard output, which may be resized at any time.
int output_columns() {
  winsize size{};
  return ::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 ? size.ws_col : 0;
}

/// Loads an engine with the threads and the KV memory of the process, which all its engines share.
Result<std::unique_ptr<Engine>> load_engine(EngineOptions options) {
  if (options.resources) return Engine::load(std::move(options));
  auto resources = Resources::create({.num_threads = std::exchange(options.num_threads, 0),
                                      .kv_memory_bytes = std::exchange(options.kv_memory_bytes, 0)});
  if (!resources) return std::unexpected(std::move(resources.error()));
  options.resources = std::move(*resources);
  return Engine::load(std::move(options));
}

/// A stream that is always at its end, and drops what is written.
class NoStream final : public std::iostream {
 public:
  NoStream() : std::iostream(nullptr) {}
};

bool shows_bars(ProcessStreams streams) {
  return streams == ProcessStreams::kAll || (streams == ProcessStreams::kProgress && ::isatty(STDERR_FILENO) == 1);
}

StreamEnd output_end(ProcessStreams streams) {
  if (streams != ProcessStreams::kAll) return {};
  StreamEnd output = end_at(STDOUT_FILENO, false);
  output.columns = output_columns;
  return output;
}

}  // namespace

struct ProcessContext::Parts {
  explicit Parts(ProcessStreams streams)
      : out(streams == ProcessStreams::kAll ? static_cast<std::ostream&>(std::cout) : nothing, output_end(streams)),
        err(shows_bars(streams) ? static_cast<std::ostream&>(std::cerr) : nothing,
            shows_bars(streams) ? end_at(STDERR_FILENO, true) : StreamEnd{}),
        log(std::make_shared<spdlog::logger>("octavo", std::make_shared<spdlog::sinks::ostream_sink_mt>(err, true))),
        context{.in = streams == ProcessStreams::kAll ? static_cast<std::istream&>(std::cin) : nothing,
                .out = out,
                .err = err,
                .await_piped_input = {},
                .in_is_terminal = streams == ProcessStreams::kAll && ::isatty(STDIN_FILENO) == 1,
                .cache_folder = cache_folder(),
                .hub = hub::read_settings(environment),
                .environment = environment,
                .program = program_file(),
                .load_engine = load_engine,
                .measure_machine = measure_machine,
                .measure_device = measure_device,
                .log = log} {
    if (streams == ProcessStreams::kAll)
      context.await_piped_input = [] { return octavo::cli::await_piped_input(STDIN_FILENO, kPipePatience); };
    log->set_pattern("%n: %l: %v");
    log->set_level(spdlog::level::warn);
  }

  NoStream nothing;
  TerminalStream out, err;
  std::shared_ptr<spdlog::logger> log;
  Context context;
};

ProcessContext::ProcessContext(ProcessStreams streams) : parts_(std::make_unique<Parts>(streams)) {}
ProcessContext::~ProcessContext() = default;
Context& ProcessContext::context() { return parts_->context; }

int run_program(int argc, const char* const* argv) {
  report_lost_files();
  std::ios::sync_with_stdio(false);
  std::cin.tie(nullptr);
  ProcessContext process(ProcessStreams::kAll);
  return run_cli(argc, argv, process.context());
}

}  // namespace octavo::cli
