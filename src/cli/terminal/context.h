// The surroundings of a command: the streams, the way to an engine, the log. Made by main(), or by a test with its own.
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

/// Exit codes of the program.
enum ExitCode : int {
  kDone = 0,
  kFailed = 1,
  kWrongUsage = 2,
  kInterrupted = 130,  // 128 + SIGINT, as shells report it
};

struct Context {
  std::istream& in;
  TerminalStream& out;
  TerminalStream& err;
  std::function<PipedInput()> await_piped_input = {};  // of `in`; none: nothing is piped
  bool in_is_terminal = false;
  std::filesystem::path cache_folder;  // $XDG_CACHE_HOME or ~/.cache; empty if neither is known
  hub::Settings hub = {};              // where models are fetched from, and lie
  hub::Environment environment = {};   // variables of other programs that are taken; none: there are none
  std::filesystem::path program;       // the file of this program; empty if it is not known
  std::function<Result<std::unique_ptr<Engine>>(EngineOptions)> load_engine;
  std::function<Result<MachineLimits>(int num_threads, std::string_view isa)> measure_machine;
  std::function<Result<DeviceRates>()> measure_device;
  std::shared_ptr<spdlog::logger> log;  // to err
};

/// A command with its options, ready to run; gives the exit code.
using Action = std::function<Result<int>()>;

}  // namespace octavo::cli
