#include "cli/progress.h"

#include <fmt/format.h>

#include <algorithm>
#include <ostream>

namespace octavo::cli {

ProgressBar::ProgressBar(std::ostream& out, bool is_terminal, std::string label)
    : out_(out), is_terminal_(is_terminal), label_(std::move(label)) {}

void ProgressBar::update(std::uint64_t done, std::uint64_t total) {
  if (!is_terminal_ || total == 0) return;
  const double share = static_cast<double>(std::min(done, total)) / static_cast<double>(total);
  const int percent = static_cast<int>(share * 100);
  if (percent == shown_percent_) return;
  shown_percent_ = percent;
  constexpr int kWidth = 30;
  const int filled = percent * kWidth / 100;
  // "\r" and "erase to the end of the line": the bar is drawn over itself.
  out_ << fmt::format("\r\033[K{} [{:#<{}}{:.<{}}] {:3d} %", label_, "", filled, "", kWidth - filled, percent)
       << std::flush;
}

void ProgressBar::clear() {
  if (shown_percent_ < 0) return;
  shown_percent_ = -1;
  out_ << "\r\033[K" << std::flush;
}

}  // namespace octavo::cli
