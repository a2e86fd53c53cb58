// Messages that a person types: a line, or several that belong together. The main thread.
#pragma once

#include <memory>
#include <string>

#include "cli/terminal/line_reader.h"

namespace octavo::cli {

struct Message {
  Line::Kind kind = Line::Kind::kEnd;
  std::string text = {};    // with line breaks between lines, and none at the end
  bool is_command = false;  // it is one line that begins with /
};

/// Reads lines and joins those of a message: a line that ends in a backslash continues in the next one; lines from one
/// that begins with """ to one that ends with """ are taken as they are; a pasted text is one line with line breaks in
/// it.
class MessageReader {
 public:
  explicit MessageReader(std::unique_ptr<LineReader> lines) : lines_(std::move(lines)) {}

  /// Reads a message. With kInterrupted, its text is what was given up. The end of the input ends a message that was
  /// begun.
  Message read(const std::string& prompt);

 private:
  Message read_block(std::string text);
  Message read_rest(std::string text);

  std::unique_ptr<LineReader> lines_;
};

}  // namespace octavo::cli
