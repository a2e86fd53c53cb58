// What commands find in a real process: its streams, its environment, the real engine.
//
// Owned by the program, or by a model that the C interface has loaded; it does not move.
#pragma once

#include <memory>

#include "cli/terminal/context.h"

namespace octavo::cli {

/// Which streams of the process a ProcessContext uses.
enum class ProcessStreams : std::uint8_t {
  kAll,       // standard input, output and errors, for a program
  kProgress,  // standard error for progress bars and notices, where it is a terminal
  kNone,
};

class ProcessContext {
 public:
  explicit ProcessContext(ProcessStreams streams);
  ~ProcessContext();
  ProcessContext(const ProcessContext&) = delete;
  ProcessContext& operator=(const ProcessContext&) = delete;

  Context& context();

 private:
  struct Parts;
  const std::unique_ptr<Parts> parts_;
};

/// Runs the program and gives its exit code; `argv` begins with the program's name.
int run_program(int argc, const char* const* argv);

}  // namespace octavo::cli
