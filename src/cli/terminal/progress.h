// A progress bar on one line of a terminal; it writes nothing to other streams. One thread.
#pragma once

#include <cstdint>
#include <string>

#include "cli/terminal/terminal_stream.h"

namespace octavo::cli {

class ProgressBar {
 public:
  /// `label`: any text, shown on one line.
  ProgressBar(TerminalStream& out, std::string_view label);
  ~ProgressBar() { clear(); }
  ProgressBar(const ProgressBar&) = delete;
  ProgressBar& operator=(const ProgressBar&) = delete;

  void update(std::uint64_t done, std::uint64_t total);
  /// Removes the bar from the line.
  void clear();

 private:
  TerminalStream& out_;
  const std::string label_;
  int shown_percent_ = -1;
};

}  // namespace octavo::cli
