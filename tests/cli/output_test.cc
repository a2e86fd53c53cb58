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

TEST(AnswerOutput, ReasoningIsDimmedOnATerminalWithABlankLineBehindIt) {
  std::ostringstream out;
  AnswerOutput output(out, true, true);
  EXPECT_TRUE(output.write_reasoning("hm\a "));
  EXPECT_TRUE(output.write_reasoning("so"));
  EXPECT_TRUE(output.write(""));
  EXPECT_TRUE(output.write("Hi"));
  output.end_line();
  EXPECT_EQ(out.str(), "\033[2mhm\uFFFD \033[0m\033[2mso\033[0m\n\nHi\n");
}

TEST(AnswerOutput, WithoutColorsReasoningIsPlainAndElsewhereItIsLeftOut) {
  std::ostringstream plain, piped;
  AnswerOutput on_plain(plain, true, false), on_pipe(piped, false, false);
  for (AnswerOutput* output : {&on_plain, &on_pipe}) {
    output->write_reasoning("hm");
    output->write("Hi");
    output->end_line();
  }
  EXPECT_EQ(plain.str(), "hm\n\nHi\n");
  EXPECT_EQ(piped.str(), "Hi\n");
}

}  // namespace
}  // namespace octavo::cli
