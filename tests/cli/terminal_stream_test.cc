// What the command line prints does not steer the terminal that it comes to: the stream itself, and the commands that
// print names and texts which strangers chose.
#include "cli/terminal/terminal_stream.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

#include "cli/fake_engine.h"
#include "cli/serve/serve_models.h"
#include "support/temp_folder.h"
#include "support/tiny_model.h"

namespace octavo::cli {
namespace {

using test::CliRun;
using test::TempFolder;
using testing::HasSubstr;
using testing::Not;

constexpr StreamEnd kTerminal{.is_terminal = true, .takes_color = true, .is_for_people = false};
constexpr StreamEnd kPipe{.is_for_people = false};

/// What a stream writes of pieces.
std::string written(StreamEnd end, const std::vector<std::string>& pieces) {
  std::ostringstream out;
  {
    TerminalStream stream(out, end);
    for (const std::string& piece : pieces) stream << piece << std::flush;
  }
  return out.str();
}

const std::string kHostile = "a\x1b[2J\r\n\t\x7f\u009b\u202eb\u2066\u200b\u2028\U000e0041\xff";

TEST(TerminalStream, WhatSteersReordersOrHidesIsShown) {
  EXPECT_EQ(written(kTerminal, {kHostile}), "a\uFFFD[2J\uFFFD\n\t\uFFFD\uFFFD\uFFFDb\uFFFD\uFFFD\uFFFD\uFFFD\uFFFD");
}

TEST(TerminalStream, WhatLanguagesAreWrittenWithStays) {
  const std::string text =
      "caf\u00e9 \u4f60\u597d \u0646\u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645 \U0001f469\u200d\U0001f4bb\ufe0f "
      "\u05d0";
  EXPECT_EQ(written(kTerminal, {text}), text);
}

TEST(TerminalStream, AFileGetsEveryByteUnlessItsStreamIsForPeople) {
  EXPECT_EQ(written(kPipe, {kHostile}), kHostile);
  EXPECT_EQ(written({}, {kHostile}), written(kTerminal, {kHostile}));
}

TEST(TerminalStream, APieceMayEndAnywhere) {
  const std::string text = "\u00e9\x1b[31m\u202e\U0001f600\u009b\xe2\x80.\xf0\x9f";
  const std::string whole = written(kTerminal, {text});
  EXPECT_EQ(whole, "\u00e9\uFFFD[31m\uFFFD\U0001f600\uFFFD\uFFFD.\uFFFD");
  std::vector<std::string> bytes;
  for (const char byte : text) bytes.emplace_back(1, byte);
  EXPECT_EQ(written(kTerminal, bytes), whole);
  for (std::size_t cut = 0; cut <= text.size(); ++cut)
    EXPECT_EQ(written(kTerminal, {text.substr(0, cut), text.substr(cut)}), whole) << cut;
}

TEST(TerminalStream, OneCharacterIsAPieceToo) {
  std::ostringstream out;
  TerminalStream(out, kTerminal) << 'a' << '\x1b' << 7 << '\n';
  EXPECT_EQ(out.str(), "a\uFFFD7\n");
}

TEST(TerminalStream, IsSteeredByCommandsAloneAndOnlyWhereThereIsATerminal) {
  const auto steered = [](StreamEnd end) {
    std::ostringstream out;
    TerminalStream stream(out, end);
    stream.steer(TerminalCommand::kEraseLine);
    stream.steer(TerminalCommand::kDim);
    stream.steer(TerminalCommand::kPlain);
    return out.str();
  };
  EXPECT_EQ(steered(kTerminal), "\r\033[K\033[2m\033[0m");
  EXPECT_EQ(steered({.is_terminal = true}), "\r\033[K");
  EXPECT_EQ(steered({}), "");
  EXPECT_EQ(steered(kPipe), "");
}

TEST(TerminalStream, ACommandDoesNotPartTheBytesOfACharacter) {
  std::ostringstream out;
  TerminalStream stream(out, kTerminal);
  stream << "\xc3";
  stream.steer(TerminalCommand::kPlain);
  stream << "\xa9";
  EXPECT_EQ(out.str(), "\033[0m\u00e9");
}

constexpr StreamEnd kTenColumns{.is_terminal = true, .is_for_people = false, .columns = [] { return 10; }};

TEST(TerminalStream, LinesAreBrokenAtSpacesWhileAWrappingLivesAndOnlyOnATerminal) {
  const auto wrapped = [](StreamEnd end) {
    std::ostringstream out;
    TerminalStream stream(out, end);
    {
      const TerminalStream::Wrapping wrapping(stream);
      stream << "one two thr" << std::flush << "ee four";
      const TerminalStream::Wrapping inner(stream);
      stream << "\n\x1b five seven" << std::flush;
    }
    stream << " no more of it";
    return out.str();
  };
  EXPECT_EQ(wrapped(kTenColumns), "one two\nthree four\n\uFFFD five\nseven no more of it");
  StreamEnd no_terminal = kTenColumns;
  no_terminal.is_terminal = false;
  EXPECT_EQ(wrapped(no_terminal), "one two three four\n\x1b five seven no more of it");
  EXPECT_EQ(wrapped(kTerminal), "one two three four\n\uFFFD five seven no more of it");
}

TEST(TerminalStream, AClosedOutputIsReported) {
  for (const StreamEnd end : {kTerminal, kPipe}) {
    std::ostringstream out;
    TerminalStream stream(out, end);
    EXPECT_TRUE(stream << "x");
    out.setstate(std::ios::badbit);
    EXPECT_FALSE(stream << "y");
  }
}

/// A name of a file that a terminal would obey, and that is a line of its own.
constexpr std::string_view kHostileName = "x\x1b]0;y\x07\n\u202e.gguf";

void expect_harmless(const std::string& text) {
  for (const char* raw : {"\x1b", "\x07", "\u202e", "\u009b", "\n\u202e"}) EXPECT_THAT(text, Not(HasSubstr(raw)));
}

struct HostileFolder {
  TempFolder folder;
  std::string model = folder.write(kHostileName, test::TinyModel().bytes()).string();
  std::string broken = folder.write("b\x1b[2J\n.gguf", "PK\x03\x04").string();
};

TEST(Printing, NamesOfFilesSteerNoTerminal) {
  const HostileFolder files;
  const std::string folder = files.folder.path().string();
  CliRun cli;
  cli.out_is_terminal = cli.err_is_terminal = true;
  ASSERT_EQ(cli.run({"info", "-m", files.model}), 0) << cli.err.str();
  expect_harmless(cli.out.str());
  EXPECT_THAT(cli.out.str(), HasSubstr("x\\x1b]0;y\\x07\\n\\xe2\\x80\\xae.gguf"));
  EXPECT_EQ(cli.run({"info", "-m", files.broken}), 1);
  expect_harmless(cli.err.str());
  ASSERT_EQ(cli.run({"list", "--models-dir", folder}), 0) << cli.err.str();
  expect_harmless(cli.out.str());
  EXPECT_THAT(cli.out.str(), HasSubstr("b\\x1b[2J\\n"));
  ASSERT_EQ(cli.run({"rm", "--models-dir", folder, "x\x1b]0;y\x07\n\u202e"}), 0) << cli.err.str();
  expect_harmless(cli.out.str());
}

TEST(Printing, NamesOfModelsThatAreNotServedSteerNoTerminal) {
  const HostileFolder files;
  CliRun cli;  // not a terminal: a log is read in one, later
  Context context = cli.context();
  ASSERT_TRUE(find_models({.folders = {files.folder.path().string()}}, {}, context));
  EXPECT_THAT(cli.err.str(), HasSubstr("not served: "));
  expect_harmless(cli.err.str());
  EXPECT_THAT(cli.err.str(), HasSubstr("b\\x1b[2J\\n.gguf"));
}

TEST(Printing, TheBarOfAModelThatIsLoadedStaysOneLine) {
  const HostileFolder files;
  CliRun cli;
  cli.err_is_terminal = true;
  ASSERT_EQ(cli.run({"logits", "-m", files.model, "--ids", "1"}), 0) << cli.err.str();
  EXPECT_THAT(cli.err.str(), HasSubstr("\r\033[Kloading x\\x1b]0;y\\x07\\n\\xe2\\x80\\xae.gguf ["));
}

TEST(Printing, AnAnswerSteersNoTerminalAndAPipeGetsItsBytes) {
  CliRun cli;
  cli.engine.answer = {"a\xe2\x80",
                       "\xae"
                       "b\x1b",
                       "[31m\u009b"};
  ASSERT_EQ(cli.run({"run", "-m", "m.gguf", "x"}), 0) << cli.err.str();
  EXPECT_EQ(cli.out.str(),
            "a\u202e"
            "b\x1b[31m\u009b\n");
  cli.out_is_terminal = true;
  for (const std::string command : {"run", "chat"}) {
    ASSERT_EQ(command == "run" ? cli.run({"run", "-m", "m.gguf", "x"}) : cli.run({"chat", "-m", "m.gguf"}, "x\n"), 0);
    EXPECT_EQ(cli.out.str(), "a\uFFFDb\uFFFD[31m\uFFFD\n") << command;
  }
}

TEST(Printing, WhatAConversationFileHoldsSteersNoTerminal) {
  const TempFolder folder;
  const std::string load = folder.write("\x1b[2J\u202e.json", "{\"octavo_conversation\": \"\u202e\u009b\"}").string();
  const std::string save = folder.write("\x1b[2J\u202e.txt", "no conversation").string();
  const std::string system = R"({"octavo_conversation": 1, "messages": [
      {"role": "system", "content": "\u001b[2J\u202e"}]})";
  const std::string with_system = folder.write("system.json", system).string();
  CliRun cli;
  cli.out_is_terminal = cli.err_is_terminal = true;
  const std::string lines = "/load " + load + "\n/save " + save + "\n/load " + with_system + "\n/system\n";
  ASSERT_EQ(cli.run({"chat", "-m", "m.gguf"}, lines), 0);
  expect_harmless(cli.out.str());
  EXPECT_THAT(cli.out.str(), HasSubstr("\uFFFD[2J\uFFFD"));
  std::string notes = cli.err.str();
  for (std::size_t at; (at = notes.find("\r\033[K")) != std::string::npos;) notes.erase(at, 4);  // of the bar
  expect_harmless(notes);
  EXPECT_THAT(notes, HasSubstr("/load: "));
  EXPECT_THAT(notes, HasSubstr("/save: "));
}

}  // namespace
}  // namespace octavo::cli
