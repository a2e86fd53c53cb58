// A progress bar on one line of a terminal; nothing where the stream is no terminal. One thread.
#pragma once

#include <cstdint>
#include <iosfwd>
#include <string>

namespace octavo::cli {

class ProgressBar {
 public:
  ProgressBar(std::ostream& out, bool is_terminal, std::string label);
  ~ProgressBar() { clear(); }
  ProgressBar(const ProgressBar&) = delete;
  ProgressBar& operator=(const ProgressBar&) = delete;

  void update(std::uint64_t done, std::uint64_t total);
  /// Removes the bar from the line.
  void clear();

 private:
  std::ostream& out_;
  const bool is_terminal_;
  const std::string label_;
  int shown_percent_ = -1;
};

}  // namespace octavo::cli
