// Messages that a person types: a line, or several that belong together. The main thread.
#pragma once

#include <memory>
#include <string>

#include "cli/terminal/line_reader.h"

namespace octavo::cli {

struct Message {
  Line::Kind kind = Line::Kind::kEnd;
  std::string text = {};    // with line breaks between lines, none at the end
  bool is_command = false;  // one line that begins with /
};

/// Reads lines and joins those of one message: a line that ends in a backslash goes on in the next; lines from one that
/// begins with """ to one that ends with """ are taken as they are; a paste comes as one line with line breaks in it.
class MessageReader {
 public:
  explicit MessageReader(std::unique_ptr<LineReader> lines) : lines_(std::move(lines)) {}

  /// kInterrupted has what was given up as its text. The end of the input ends a message that was begun.
  Message read(const std::string& prompt);

 private:
  Message read_block(std::string text);
  Message read_rest(std::string text);

  std::unique_ptr<LineReader> lines_;
};

}  // namespace octavo::cli
