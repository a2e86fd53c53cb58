// The surroundings of a command: streams, the way to an engine, the log. Made by main(), or by a test.
#pragma once

#include <spdlog/fwd.h>  // <spdlog/logger.h> takes long to compile: files that log include it

#include <filesystem>
#include <functional>
#include <iosfwd>
#include <memory>
#include <string_view>

#include "base/error.h"
#include "cli/terminal/standard_input.h"
#include "cli/terminal/terminal_stream.h"
#include "hub/settings.h"
#include "octavo/engine.h"
#include "octavo/machine.h"

namespace octavo::cli {

/// The exit codes of the program.
enum ExitCode : int {
  kDone = 0,
  kFailed = 1,
  kWrongUsage = 2,
  kInterrupted = 130,  // 128 + SIGINT, as in shells
};

struct Context {
  std::istream& in;
  TerminalStream& out;
  TerminalStream& err;
  std::function<PipedInput()> await_piped_input = {};  // about `in`; empty: nothing is piped
  bool in_is_terminal = false;
  std::filesystem::path cache_folder;  // $XDG_CACHE_HOME or ~/.cache; empty: neither is known
  hub::Settings hub = {};              // where models are fetched from, and where they are kept
  hub::Environment environment = {};   // for variables of other programs; empty: there are none
  std::filesystem::path program;       // the program's own file; empty: it is not known
  std::function<Result<std::unique_ptr<Engine>>(EngineOptions)> load_engine;
  std::function<Result<MachineLimits>(int num_threads, std::string_view isa)> measure_machine;
  std::function<Result<DeviceRates>()> measure_device;
  std::shared_ptr<spdlog::logger> log;  // writes to err
};

/// A command with its options, ready to run; it gives the exit code.
using Action = std::function<Result<int>()>;

}  // namespace octavo::cli
