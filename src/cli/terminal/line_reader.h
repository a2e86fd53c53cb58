// Lines that a person types: with editing and history on a terminal (libedit), where a pasted text of several lines is
// part of one line; else plain. The main thread.
#pragma once

#include <memory>
#include <string>

#include "cli/terminal/context.h"

namespace octavo::cli {

struct Line {
  enum class Kind { kText, kInterrupted, kEnd };
  Kind kind = Kind::kEnd;
  std::string text;  // without the newline at its end; if interrupted, what had been typed
};

class LineReader {
 public:
  virtual ~LineReader() = default;
  /// Shows `prompt` if a person can read it, and waits for a line. Ctrl-C on a terminal gives kInterrupted.
  virtual Line read(const std::string& prompt) = 0;
};

/// The reader that fits the context's input.
std::unique_ptr<LineReader> make_line_reader(Context& context);

}  // namespace octavo::cli
