#include "cli/terminal/message_reader.h"

namespace octavo::cli {
namespace {

constexpr std::string_view kQuotes = "\"\"\"";
constexpr const char* kGoesOn = "... ";

}  // namespace

Message MessageReader::read(const std::string& prompt) {
  Line line = lines_->read(prompt);
  if (line.kind != Line::Kind::kText) return {.kind = line.kind, .text = std::move(line.text)};
  if (line.text.starts_with(kQuotes)) return read_block(line.text.substr(kQuotes.size()));
  if (line.text.ends_with('\\')) return read_rest(std::move(line.text));
  const bool is_command = line.text.starts_with('/') && line.text.find('\n') == std::string::npos;
  return {.kind = Line::Kind::kText, .text = std::move(line.text), .is_command = is_command};
}

/// Reads a block in quotes. `text`: what follows the opening quotes.
Message MessageReader::read_block(std::string text) {
  while (!text.ends_with(kQuotes)) {
    const Line line = lines_->read(kGoesOn);
    if (line.kind == Line::Kind::kInterrupted) return {.kind = line.kind, .text = text + '\n' + line.text};
    if (line.kind == Line::Kind::kEnd) return {.kind = Line::Kind::kText, .text = std::move(text)};
    if (!text.empty()) text += '\n';
    text += line.text;
  }
  text.resize(text.size() - kQuotes.size());
  if (text.ends_with('\n')) text.pop_back();
  return {.kind = Line::Kind::kText, .text = std::move(text)};
}

/// Reads the rest of a message. `text`: a line that ends in a backslash.
Message MessageReader::read_rest(std::string text) {
  while (text.ends_with('\\')) {
    text.back() = '\n';
    const Line line = lines_->read(kGoesOn);
    if (line.kind == Line::Kind::kInterrupted) return {.kind = line.kind, .text = text + line.text};
    if (line.kind == Line::Kind::kEnd) break;
    text += line.text;
  }
  if (text.ends_with('\n')) text.pop_back();
  return {.kind = Line::Kind::kText, .text = std::move(text)};
}

}  // namespace octavo::cli
