// Writes answers: each piece is written and flushed at once, so that it can be read while the answer is made.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "cli/terminal/context.h"
#include "cli/terminal/terminal_stream.h"

namespace octavo::cli {

/// The exit code of a command that has written everything. Error: not all of it has reached standard output.
Result<int> finish_output(const Context& context, int code = kDone);

class TextOutput {
 public:
  explicit TextOutput(TerminalStream& out) : out_(out) {}

  /// Writes a piece. False: the output is closed or full.
  bool write(std::string_view text);
  /// Ends a line that was begun.
  void end_line();

 private:
  TerminalStream& out_;
  bool in_line_ = false;
};

/// Where a terminal breaks the lines of an answer.
enum class LineBreaks : std::uint8_t {
  kAtSpaces,
  kAtTheEdge,  // for text to be copied, such as JSON or code
};

/// Writes an answer and its reasoning, which is dimmed on a terminal, with a blank line after it, and not shown
/// elsewhere.
class AnswerOutput {
 public:
  AnswerOutput(TerminalStream& out, LineBreaks breaks);

  /// Writes a piece. False: the output is closed or full.
  bool write(std::string_view text);
  bool write_reasoning(std::string_view text);
  /// Ends a line that was begun, and with it the text.
  void end_line();

 private:
  std::optional<TerminalStream::Wrapping> wrapping_;
  TextOutput text_;
  TerminalStream& out_;
  bool in_reasoning_ = false;
};

}  // namespace octavo::cli
