// Lines that a person types: with editing and history on a terminal (libedit), where a paste of several lines is a part
// of one line; plain otherwise. The main thread.
#pragma once

#include <memory>
#include <string>

#include "cli/terminal/context.h"

namespace octavo::cli {

struct Line {
  enum class Kind { kText, kInterrupted, kEnd };
  Kind kind = Kind::kEnd;
  std::string text;  // without its newline, those of a paste within it; what had been typed, if interrupted
};

class LineReader {
 public:
  virtual ~LineReader() = default;
  /// Shows `prompt` where there is somebody to read it and waits for a line. Ctrl-C on a terminal gives kInterrupted.
  virtual Line read(const std::string& prompt) = 0;
};

/// The reader that fits the context's input.
std::unique_ptr<LineReader> make_line_reader(Context& context);

}  // namespace octavo::cli
