#include "cli/batch/batch_input.h"

#include <istream>
#include <string_view>

namespace octavo::cli {
namespace {

constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";

}  // namespace

bool BatchInput::next(BatchInputLine& line) {
  while (read_line(line))
    if (line.is_too_long || line.text.find_first_not_of(" \t\r") != std::string::npos) return true;
  return false;
}

bool BatchInput::read_line(BatchInputLine& line) {
  using Traits = std::istream::traits_type;
  line.text.clear();
  line.is_too_long = false;
  std::streambuf* buffer = in_.rdbuf();
  Traits::int_type c = buffer->sbumpc();
  if (Traits::eq_int_type(c, Traits::eof())) return false;
  for (; !Traits::eq_int_type(c, Traits::eof()); c = buffer->sbumpc()) {
    ++num_bytes_;
    if (Traits::to_char_type(c) == '\n') break;
    if (line.text.size() < max_bytes_) {
      line.text += Traits::to_char_type(c);
    } else {
      line.is_too_long = true;
    }
  }
  if (line.is_too_long) line.text.clear();
  if (num_lines_ == 0 && line.text.starts_with(kByteOrderMark)) line.text.erase(0, kByteOrderMark.size());
  line.number = ++num_lines_;
  line.end = num_bytes_;
  return true;
}

}  // namespace octavo::cli
