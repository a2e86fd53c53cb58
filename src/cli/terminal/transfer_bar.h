// The state of a download on one line of a terminal: share, rate, time left; it writes nothing to other streams. One
// thread.
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

  /// `now`: the clock, or a test's own.
  explicit TransferBar(TerminalStream& out, std::function<Clock::time_point()> now = Clock::now);
  ~TransferBar() { clear(); }
  TransferBar(const TransferBar&) = delete;
  TransferBar& operator=(const TransferBar&) = delete;

  /// Draws the state. `total`: 0 while it is not known.
  void update(std::uint64_t done, std::uint64_t total);
  /// Removes the bar from the line.
  void clear();

 private:
  void draw(std::uint64_t done, std::uint64_t total);

  TerminalStream& out_;
  const std::function<Clock::time_point()> now_;
  Clock::time_point last_;
  std::uint64_t last_done_ = 0;
  double bytes_per_s_ = 0;  // an average; 0: not known yet
  bool began_ = false, shown_ = false;
};

/// A text such as "45 s", "3 min 20 s" or "2 h 5 min".
std::string duration_text(std::chrono::seconds duration);

}  // namespace octavo::cli
