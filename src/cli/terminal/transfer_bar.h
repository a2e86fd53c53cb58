// The state of a download on one line of a terminal: share, rate, time left; nothing where the stream is no terminal.
// One thread.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>

#include "cli/terminal/terminal_stream.h"

namespace octavo::cli {

class TransferBar {
 public:
  using Clock = std::chrono::steady_clock;

  /// `now` is the clock's, or a test's own.
  explicit TransferBar(TerminalStream& out, std::function<Clock::time_point()> now = Clock::now);
  ~TransferBar() { clear(); }
  TransferBar(const TransferBar&) = delete;
  TransferBar& operator=(const TransferBar&) = delete;

  /// `total` may be 0: not known yet.
  void update(std::uint64_t done, std::uint64_t total);
  /// Removes it from the line.
  void clear();

 private:
  void draw(std::uint64_t done, std::uint64_t total);

  TerminalStream& out_;
  const std::function<Clock::time_point()> now_;
  Clock::time_point last_;
  std::uint64_t last_done_ = 0;
  double bytes_per_s_ = 0;  // smoothed; 0: not known yet
  bool began_ = false, shown_ = false;
};

/// "45 s", "3 min 20 s", "2 h 5 min".
std::string duration_text(std::chrono::seconds duration);

}  // namespace octavo::cli
