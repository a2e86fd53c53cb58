#include "cli/terminal/transfer_bar.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "cli/terminal/parse.h"

namespace octavo::cli {
namespace {

constexpr std::chrono::milliseconds kInterval{200};  // between two drawings
constexpr double kWeightOfNew = 0.1;                 // in the average of rates, which covers some seconds

}  // namespace

TransferBar::TransferBar(TerminalStream& out, std::function<Clock::time_point()> now)
    : out_(out), now_(std::move(now)) {}

void TransferBar::update(std::uint64_t done, std::uint64_t total) {
  if (!out_.is_terminal()) return;
  const Clock::time_point now = now_();
  if (!std::exchange(began_, true)) {
    last_ = now;
    last_done_ = done;
    return draw(done, total);
  }
  const bool is_end = done == total;
  if (now - last_ < kInterval && !is_end) return;
  const double seconds = std::chrono::duration<double>(now - last_).count();
  if (seconds > 0) {
    const double rate = done > last_done_ ? static_cast<double>(done - last_done_) / seconds : 0;
    bytes_per_s_ = bytes_per_s_ == 0 ? rate : (1 - kWeightOfNew) * bytes_per_s_ + kWeightOfNew * rate;
  }
  last_ = now;
  last_done_ = done;
  draw(done, total);
}

void TransferBar::draw(std::uint64_t done, std::uint64_t total) {
  std::string text;
  if (total > 0) {
    constexpr int kWidth = 30;
    const double share = static_cast<double>(std::min(done, total)) / static_cast<double>(total);
    const int filled = static_cast<int>(share * kWidth);
    text = fmt::format("[{:#<{}}{:.<{}}] {:3d} %", "", filled, "", kWidth - filled, static_cast<int>(share * 100));
  } else {
    text = format_bytes(done);
  }
  if (bytes_per_s_ >= 1) {
    text += fmt::format("  {}/s", format_bytes(static_cast<std::uint64_t>(bytes_per_s_)));
    const double left = total > done ? static_cast<double>(total - done) / bytes_per_s_ : 0;
    constexpr double kLongest = 100.0 * 3600;
    if (total > done && left < kLongest)
      text += fmt::format(", {} left", duration_text(std::chrono::seconds(std::lround(left))));
  }
  out_.steer(TerminalCommand::kEraseLine);
  out_ << text << std::flush;
  shown_ = true;
}

void TransferBar::clear() {
  if (!std::exchange(shown_, false)) return;
  out_.steer(TerminalCommand::kEraseLine);
  out_.flush();
}

std::string duration_text(std::chrono::seconds duration) {
  const auto s = duration.count();
  if (s < 60) return fmt::format("{} s", s);
  if (s < 3600) return fmt::format("{} min {} s", s / 60, s % 60);
  return fmt::format("{} h {} min", s / 3600, s / 60 % 60);
}

}  // namespace octavo::cli
