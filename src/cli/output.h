// The answer's way out: written and flushed piece by piece, so that it is read as it is made.
#pragma once

#include <iosfwd>
#include <string>
#include <string_view>

namespace octavo::cli {

class TextOutput {
 public:
  /// On a terminal control characters other than newline and tab become U+FFFD: text of a model must not steer it.
  TextOutput(std::ostream& out, bool is_terminal) : out_(out), is_terminal_(is_terminal) {}

  /// False once the output is closed or full.
  bool write(std::string_view text);
  /// Ends a line that was begun.
  void end_line();

 private:
  std::ostream& out_;
  const bool is_terminal_;
  bool in_line_ = false;
};

/// An answer and its reasoning: shown dimmed on a terminal, with a blank line behind it, and nowhere else.
class AnswerOutput {
 public:
  AnswerOutput(std::ostream& out, bool is_terminal, bool takes_color)
      : text_(out, is_terminal), out_(out), is_terminal_(is_terminal), takes_color_(takes_color) {}

  /// False once the output is closed or full.
  bool write(std::string_view text);
  bool write_reasoning(std::string_view text);
  void end_line() { text_.end_line(); }

 private:
  TextOutput text_;
  std::ostream& out_;
  const bool is_terminal_, takes_color_;
  bool in_reasoning_ = false;
};

/// The text in dim letters, where the terminal takes colors.
std::string dimmed(const std::string& text, bool takes_color);

/// Valid UTF-8 text without control characters other than newline and tab.
std::string terminal_safe(std::string_view text);

}  // namespace octavo::cli
