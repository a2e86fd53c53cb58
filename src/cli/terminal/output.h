// The answer's way out: written and flushed piece by piece, so that it is read as it is made.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "cli/terminal/context.h"
#include "cli/terminal/terminal_stream.h"

namespace octavo::cli {

/// The exit code of a command that has written all. Error: not all has arrived at the standard output.
Result<int> finish_output(const Context& context, int code = kDone);

class TextOutput {
 public:
  explicit TextOutput(TerminalStream& out) : out_(out) {}

  /// False once the output is closed or full.
  bool write(std::string_view text);
  /// Ends a line that was begun.
  void end_line();

 private:
  TerminalStream& out_;
  bool in_line_ = false;
};

/// The place at which a terminal breaks the lines of an answer.
enum class LineBreaks : std::uint8_t {
  kAtSpaces,
  kAtTheEdge,  // for what is copied: JSON, code
};

/// An answer and its reasoning: shown dimmed on a terminal, with a blank line behind it, and nowhere else.
class AnswerOutput {
 public:
  AnswerOutput(TerminalStream& out, LineBreaks breaks);

  /// False once the output is closed or full.
  bool write(std::string_view text);
  bool write_reasoning(std::string_view text);
  /// Ends a line that was begun, and the text with it.
  void end_line();

 private:
  std::optional<TerminalStream::Wrapping> wrapping_;
  TextOutput text_;
  TerminalStream& out_;
  bool in_reasoning_ = false;
};

}  // namespace octavo::cli
