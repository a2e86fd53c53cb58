#include "cli/terminal/transfer_bar.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

namespace octavo::cli {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;
using testing::Not;

struct Bar {
  std::ostringstream out;
  TransferBar::Clock::time_point time;
  TerminalStream terminal{out, {.is_terminal = true}};
  TransferBar bar{terminal, [this] { return time; }};
  /// What it draws at a time.
  std::string at(std::chrono::milliseconds later, std::uint64_t done, std::uint64_t total) {
    time += later;
    out.str("");
    bar.update(done, total);
    return out.str();
  }
};

TEST(TransferBar, ShowsShareRateAndTimeLeft) {
  Bar bar;
  constexpr std::uint64_t kMiB = 1 << 20;
  EXPECT_THAT(bar.at(0ms, 0, 100 * kMiB), AllOf(HasSubstr("0 %"), Not(HasSubstr("/s"))));
  EXPECT_EQ(bar.at(100ms, kMiB, 100 * kMiB), "") << "too soon";
  EXPECT_THAT(bar.at(900ms, 10 * kMiB, 100 * kMiB),
              AllOf(HasSubstr("10 %"), HasSubstr("10.0 MiB/s"), HasSubstr("9 s left")));
  EXPECT_THAT(bar.at(1s, 100 * kMiB, 100 * kMiB), AllOf(HasSubstr("100 %"), Not(HasSubstr("left"))));
  bar.out.str("");
  bar.bar.clear();
  EXPECT_EQ(bar.out.str(), "\r\033[K");
}

TEST(TransferBar, BytesThatWereThereBeforeAreNoRate) {
  Bar bar;
  bar.at(0ms, 900, 2000);
  EXPECT_THAT(bar.at(1s, 1000, 2000), HasSubstr("100 B/s"));
}

TEST(TransferBar, AnUnknownTotalShowsBytes) {
  Bar bar;
  bar.at(0ms, 0, 0);
  EXPECT_THAT(bar.at(1s, 2048, 0), AllOf(HasSubstr("2.0 KiB"), HasSubstr("2.0 KiB/s"), Not(HasSubstr("%"))));
}

TEST(TransferBar, AStandstillIsNoRateThatEndsSomeTime) {
  Bar bar;
  bar.at(0ms, 10, 1000);
  EXPECT_THAT(bar.at(1s, 10, 1000), Not(HasSubstr("left")));
}

TEST(TransferBar, NothingIsDrawnWhereThereIsNoTerminal) {
  std::ostringstream out;
  {
    TerminalStream pipe(out, {});
    TransferBar bar(pipe);
    bar.update(1, 2);
  }
  EXPECT_EQ(out.str(), "");
}

TEST(Duration, IsWrittenInItsLargestUnits) {
  EXPECT_EQ(duration_text(45s), "45 s");
  EXPECT_EQ(duration_text(200s), "3 min 20 s");
  EXPECT_EQ(duration_text(7500s), "2 h 5 min");
}

}  // namespace
}  // namespace octavo::cli
