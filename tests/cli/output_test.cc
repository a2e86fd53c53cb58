#include "cli/terminal/output.h"

#include <gtest/gtest.h>

#include <sstream>

#include "cli/terminal/progress.h"

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
  AnswerOutput output(out.stream, LineBreaks::kAtSpaces);
  EXPECT_TRUE(output.write_reasoning("hm\a "));
  EXPECT_TRUE(output.write_reasoning("so"));
  EXPECT_TRUE(output.write(""));
  EXPECT_TRUE(output.write("Hi"));
  output.end_line();
  EXPECT_EQ(out.text.str(), "\033[2mhm\uFFFD \033[0m\033[2mso\033[0m\n\nHi\n");
}

TEST(AnswerOutput, WithoutColorsReasoningIsPlainAndElsewhereItIsLeftOut) {
  Shown plain({.is_terminal = true}), piped;
  AnswerOutput on_plain(plain.stream, LineBreaks::kAtSpaces), on_pipe(piped.stream, LineBreaks::kAtSpaces);
  for (AnswerOutput* output : {&on_plain, &on_pipe}) {
    output->write_reasoning("hm");
    output->write("Hi");
    output->end_line();
  }
  EXPECT_EQ(plain.text.str(), "hm\n\nHi\n");
  EXPECT_EQ(piped.text.str(), "Hi\n");
}

constexpr StreamEnd kTenColumns{.is_terminal = true, .takes_color = true, .columns = [] { return 10; }};

TEST(AnswerOutput, LinesAreBrokenAtSpacesWhileTheyStreamAndDimmedWordsStayDimmed) {
  Shown out(kTenColumns);
  AnswerOutput output(out.stream, LineBreaks::kAtSpaces);
  for (const char* piece : {"so it", " seem", "s th", "en"}) output.write_reasoning(piece);
  for (const char* piece : {"It is", " fine to", "day."}) output.write(piece);
  output.end_line();
  EXPECT_EQ(out.text.str(),
            "\033[2mso it\033[0m\033[2m\nseem\033[0m\033[2ms th\033[0m\033[2men\033[0m\n\nIt is fine\ntoday.\n");
}

TEST(AnswerOutput, CodeThatOneTextLeavesOpenIsOverWithIt) {
  Shown out(kTenColumns);
  AnswerOutput output(out.stream, LineBreaks::kAtSpaces);
  output.write_reasoning("```\nlonger than a line");
  output.write("```\nas it is now\n");
  output.end_line();
  output.write("broken at spaces");
  output.end_line();
  EXPECT_EQ(out.text.str(), "\033[2m```\nlonger than a line\033[0m\n\n```\nas it is now\nbroken at\nspaces\n");
}

TEST(AnswerOutput, WhatIsCopiedIsNotBroken) {
  Shown out(kTenColumns);
  AnswerOutput output(out.stream, LineBreaks::kAtTheEdge);
  output.write(R"({"a": "longer than a line"})");
  EXPECT_EQ(out.text.str(), R"({"a": "longer than a line"})");
}

}  // namespace
}  // namespace octavo::cli
