#include "cli/terminal/progress.h"

#include <fmt/format.h>

#include <algorithm>

#include "cli/terminal/parse.h"

namespace octavo::cli {

ProgressBar::ProgressBar(TerminalStream& out, std::string_view label) : out_(out), label_(escaped(label)) {}

void ProgressBar::update(std::uint64_t done, std::uint64_t total) {
  if (!out_.is_terminal() || total == 0) return;
  const double share = static_cast<double>(std::min(done, total)) / static_cast<double>(total);
  const int percent = static_cast<int>(share * 100);
  if (percent == shown_percent_) return;
  shown_percent_ = percent;
  constexpr int kWidth = 30;
  const int filled = percent * kWidth / 100;
  out_.steer(TerminalCommand::kEraseLine);  // the new bar replaces the old one
  out_ << fmt::format("{} [{:#<{}}{:.<{}}] {:3d} %", label_, "", filled, "", kWidth - filled, percent) << std::flush;
}

void ProgressBar::clear() {
  if (shown_percent_ < 0) return;
  shown_percent_ = -1;
  out_.steer(TerminalCommand::kEraseLine);
  out_.flush();
}

}  // namespace octavo::cli
