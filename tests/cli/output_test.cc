#include "cli/output.h"

#include <gtest/gtest.h>

#include <sstream>

#include "cli/progress.h"

namespace octavo::cli {
namespace {

struct Shown {
  std::ostringstream text;
  TerminalStream stream;
  explicit Shown(StreamEnd end = {.is_for_people = false}) : stream(text, end) {}
};

TEST(TextOutput, ALineThatWasBegunIsEnded) {
  Shown out;
  TextOutput text(out.stream);
  text.end_line();
  text.write("one");
  text.end_line();
  text.end_line();
  text.write("two\n");
  text.end_line();
  EXPECT_EQ(out.text.str(), "one\ntwo\n");
}

TEST(TextOutput, AClosedOutputIsReported) {
  Shown out;
  TextOutput text(out.stream);
  EXPECT_TRUE(text.write("x"));
  out.text.setstate(std::ios::badbit);
  EXPECT_FALSE(text.write("y"));
}

TEST(ProgressBar, IsDrawnOnATerminalOnlyAndRemoved) {
  Shown terminal({.is_terminal = true}), pipe;
  {
    ProgressBar shown(terminal.stream, "loading"), hidden(pipe.stream, "loading");
    shown.update(50, 100);
    hidden.update(50, 100);
  }
  EXPECT_EQ(terminal.text.str(), "\r\033[Kloading [###############...............]  50 %\r\033[K");
  EXPECT_EQ(pipe.text.str(), "");
}

TEST(AnswerOutput, ReasoningIsDimmedOnATerminalWithABlankLineBehindIt) {
  Shown out({.is_terminal = true, .takes_color = true});
  AnswerOutput output(out.stream);
  EXPECT_TRUE(output.write_reasoning("hm\a "));
  EXPECT_TRUE(output.write_reasoning("so"));
  EXPECT_TRUE(output.write(""));
  EXPECT_TRUE(output.write("Hi"));
  output.end_line();
  EXPECT_EQ(out.text.str(), "\033[2mhm\uFFFD \033[0m\033[2mso\033[0m\n\nHi\n");
}

TEST(AnswerOutput, WithoutColorsReasoningIsPlainAndElsewhereItIsLeftOut) {
  Shown plain({.is_terminal = true}), piped;
  AnswerOutput on_plain(plain.stream), on_pipe(piped.stream);
  for (AnswerOutput* output : {&on_plain, &on_pipe}) {
    output->write_reasoning("hm");
    output->write("Hi");
    output->end_line();
  }
  EXPECT_EQ(plain.text.str(), "hm\n\nHi\n");
  EXPECT_EQ(piped.text.str(), "Hi\n");
}

}  // namespace
}  // namespace octavo::cli
