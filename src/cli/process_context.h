// The surroundings that commands have in a real process: its streams, its environment, the real engine.
//
// Owned by the program, or by a model that the C interface has loaded; it stays where it is.
#pragma once

#include <memory>

#include "cli/terminal/context.h"

namespace octavo::cli {

/// Whom the streams of a ProcessContext reach.
enum class ProcessStreams : std::uint8_t {
  kAll,       // a program's: standard input, output and errors
  kProgress,  // bars and notices on standard error, where that is a terminal
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

/// The program: its arguments, with its name first, and its exit code.
int run_program(int argc, const char* const* argv);

}  // namespace octavo::cli
