#include "cli/terminal/output.h"

#include <utility>

namespace octavo::cli {

Result<int> finish_output(const Context& context, int code) {
  context.out.flush();
  if (!context.out) return fail("cannot write to the standard output");
  return code;
}

bool TextOutput::write(std::string_view text) {
  if (text.empty()) return static_cast<bool>(out_);
  out_ << text << std::flush;
  in_line_ = text.back() != '\n';
  return static_cast<bool>(out_);
}

void TextOutput::end_line() {
  if (in_line_) out_ << '\n' << std::flush;
  in_line_ = false;
}

AnswerOutput::AnswerOutput(TerminalStream& out, LineBreaks breaks) : text_(out), out_(out) {
  if (breaks == LineBreaks::kAtSpaces) wrapping_.emplace(out);
}

void AnswerOutput::end_line() {
  text_.end_line();
  if (wrapping_) wrapping_->begin_text();
}

bool AnswerOutput::write(std::string_view text) {
  if (text.empty()) return static_cast<bool>(out_);
  if (std::exchange(in_reasoning_, false)) {
    end_line();
    text_.write("\n");
  }
  return text_.write(text);
}

bool AnswerOutput::write_reasoning(std::string_view text) {
  if (!out_.is_terminal() || text.empty()) return static_cast<bool>(out_);
  in_reasoning_ = true;
  out_.steer(TerminalCommand::kDim);
  text_.write(text);
  out_.steer(TerminalCommand::kPlain);
  out_.flush();
  return static_cast<bool>(out_);
}

}  // namespace octavo::cli
