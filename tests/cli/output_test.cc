#include "cli/output.h"

#include <gtest/gtest.h>

#include <sstream>

#include "cli/progress.h"

namespace octavo::cli {
namespace {

TEST(TextOutput, ATerminalIsNotSteeredByTheText) {
  std::ostringstream terminal, pipe;
  TextOutput(terminal, true).write("a\x1b[2J\r\n\tb\xC2\x9B");
  TextOutput(pipe, false).write("a\x1b[2J");
  EXPECT_EQ(terminal.str(), "a\uFFFD[2J\uFFFD\n\tb\uFFFD");
  EXPECT_EQ(pipe.str(), "a\x1b[2J");
}

TEST(TextOutput, ALineThatWasBegunIsEnded) {
  std::ostringstream out;
  TextOutput text(out, false);
  text.end_line();
  text.write("one");
  text.end_line();
  text.end_line();
  text.write("two\n");
  text.end_line();
  EXPECT_EQ(out.str(), "one\ntwo\n");
}

TEST(TextOutput, AClosedOutputIsReported) {
  std::ostringstream out;
  TextOutput text(out, false);
  EXPECT_TRUE(text.write("x"));
  out.setstate(std::ios::badbit);
  EXPECT_FALSE(text.write("y"));
}

TEST(ProgressBar, IsDrawnOnATerminalOnlyAndRemoved) {
  std::ostringstream terminal, pipe;
  {
    ProgressBar shown(terminal, true, "loading"), hidden(pipe, false, "loading");
    shown.update(50, 100);
    hidden.update(50, 100);
  }
  EXPECT_EQ(terminal.str(), "\r\033[Kloading [###############...............]  50 %\r\033[K");
  EXPECT_EQ(pipe.str(), "");
}

}  // namespace
}  // namespace octavo::cli
