#include "cli/output.h"

#include <fmt/format.h>

#include <cstdint>
#include <ostream>
#include <utility>

#include "base/utf8.h"

namespace octavo::cli {
namespace {

constexpr std::string_view kDim = "\033[2m", kPlain = "\033[0m";

}  // namespace

bool TextOutput::write(std::string_view text) {
  if (text.empty()) return static_cast<bool>(out_);
  if (is_terminal_) {
    out_ << terminal_safe(text) << std::flush;
  } else {
    out_ << text << std::flush;
  }
  in_line_ = text.back() != '\n';
  return static_cast<bool>(out_);
}

void TextOutput::end_line() {
  if (in_line_) out_ << '\n' << std::flush;
  in_line_ = false;
}

bool AnswerOutput::write(std::string_view text) {
  if (text.empty()) return static_cast<bool>(out_);
  if (std::exchange(in_reasoning_, false)) {
    text_.end_line();
    text_.write("\n");
  }
  return text_.write(text);
}

bool AnswerOutput::write_reasoning(std::string_view text) {
  if (!is_terminal_ || text.empty()) return static_cast<bool>(out_);
  in_reasoning_ = true;
  if (takes_color_) out_ << kDim;
  text_.write(text);
  if (takes_color_) out_ << kPlain << std::flush;
  return static_cast<bool>(out_);
}

std::string dimmed(const std::string& text, bool takes_color) {
  return takes_color ? fmt::format("{}{}{}", kDim, text, kPlain) : text;
}

std::string terminal_safe(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto byte = static_cast<std::uint8_t>(text[i]);
    const bool is_c0 = (byte < 0x20 && byte != '\n' && byte != '\t') || byte == 0x7F;
    const bool is_c1 = byte == 0xC2 && i + 1 < text.size() && static_cast<std::uint8_t>(text[i + 1]) < 0xA0;
    if (is_c0 || is_c1) {
      out += kReplacementCharacter;
      if (is_c1) ++i;
    } else {
      out += text[i];
    }
  }
  return out;
}

}  // namespace octavo::cli
