#include "cli/terminal/terminal_stream.h"

#include <utility>

#include "base/displayable.h"
#include "base/to_size.h"
#include "base/utf8.h"

namespace octavo::cli {
namespace {

std::string_view sequence_of(TerminalCommand command) {
  switch (command) {
    case TerminalCommand::kEraseLine: return "\r\033[K";
    case TerminalCommand::kDim: return "\033[2m";
    case TerminalCommand::kPlain: return "\033[0m";
  }
  return {};
}

}  // namespace

TerminalStream::TerminalStream(std::ostream& below, StreamEnd kind)
    : std::ostream(nullptr),
      end_(kind),
      buffer_(below, !kind.is_terminal && !kind.is_for_people, kind.is_terminal ? kind.columns : nullptr) {
  rdbuf(&buffer_);
}

void TerminalStream::steer(TerminalCommand command) {
  if (end_.is_terminal && (command == TerminalCommand::kEraseLine || end_.takes_color))
    buffer_.pass(sequence_of(command));
}

TerminalStream::Buffer::~Buffer() {
  if (!unfinished_.empty()) out_ << kReplacementCharacter;
}

void TerminalStream::Buffer::pass(std::string_view command) {
  const std::lock_guard lock(mutex_);
  out_ << (num_wrappings_ > 0 ? wrap_.pass(command) : std::string(command));
}

void TerminalStream::Buffer::begin_wrapping() {
  const std::lock_guard lock(mutex_);
  restart_wrap();
  ++num_wrappings_;
}

void TerminalStream::Buffer::end_wrapping() {
  const std::lock_guard lock(mutex_);
  restart_wrap();
  --num_wrappings_;
}

void TerminalStream::Buffer::begin_text() {
  const std::lock_guard lock(mutex_);
  restart_wrap();
}

void TerminalStream::Buffer::restart_wrap() {
  if (const std::string held = wrap_.finish(); !held.empty()) out_ << held << std::flush;
  wrap_ = {};
}

std::streamsize TerminalStream::Buffer::xsputn(const char* text, std::streamsize size) {
  const std::lock_guard lock(mutex_);
  if (passes_all_) {
    out_.write(text, size);
  } else {
    const std::string safe = shown({text, to_size(size)});
    out_ << (num_wrappings_ > 0 && columns_ != nullptr ? wrap_.write(safe, columns_()) : safe);
  }
  return out_ ? size : 0;
}

TerminalStream::Buffer::int_type TerminalStream::Buffer::overflow(int_type c) {
  if (traits_type::eq_int_type(c, traits_type::eof())) return traits_type::not_eof(c);
  const char byte = traits_type::to_char_type(c);
  return xsputn(&byte, 1) == 1 ? c : traits_type::eof();
}

int TerminalStream::Buffer::sync() {
  const std::lock_guard lock(mutex_);
  return out_.flush() ? 0 : -1;
}

std::string TerminalStream::Buffer::shown(std::string_view text) {
  const std::string bytes = std::exchange(unfinished_, {}).append(text);
  std::string out;
  out.reserve(bytes.size());
  for (std::string_view rest = bytes; !rest.empty();) {
    const DisplayStep step = next_display_step(rest);
    if (step.is_incomplete) {
      unfinished_ = rest;
      break;
    }
    const bool is_kept = step.is_displayable || rest.front() == '\n' || rest.front() == '\t';
    out += is_kept ? rest.substr(0, step.length) : kReplacementCharacter;
    rest.remove_prefix(step.length);
  }
  return out;
}

}  // namespace octavo::cli
