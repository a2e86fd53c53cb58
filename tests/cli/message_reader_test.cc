#include "cli/terminal/message_reader.h"

#include <gtest/gtest.h>

#include <deque>

namespace octavo::cli {
namespace {

/// Gives lines, then the end.
class ScriptedLines final : public LineReader {
 public:
  explicit ScriptedLines(std::deque<Line> lines) : lines_(std::move(lines)) {}
  Line read(const std::string&) override {
    if (lines_.empty()) return {};
    Line line = std::move(lines_.front());
    lines_.pop_front();
    return line;
  }

 private:
  std::deque<Line> lines_;
};

MessageReader reader_of(const std::vector<std::string>& texts) {
  std::deque<Line> lines;
  for (const std::string& text : texts) lines.push_back({Line::Kind::kText, text});
  return MessageReader(std::make_unique<ScriptedLines>(std::move(lines)));
}

TEST(MessageReader, ALineIsAMessageOrACommand) {
  MessageReader reader = reader_of({"hello", "/help"});
  Message message = reader.read("> ");
  EXPECT_EQ(message.text, "hello");
  EXPECT_FALSE(message.is_command);
  message = reader.read("> ");
  EXPECT_EQ(message.text, "/help");
  EXPECT_TRUE(message.is_command);
  EXPECT_EQ(reader.read("> ").kind, Line::Kind::kEnd);
}

TEST(MessageReader, ABackslashAtTheEndGoesOnInTheNextLine) {
  MessageReader reader = reader_of({"a\\", "b\\", "c", "d\\"});
  EXPECT_EQ(reader.read("> ").text, "a\nb\nc");
  EXPECT_EQ(reader.read("> ").text, "d");  // the input ends
}

TEST(MessageReader, LinesBetweenThreeQuotesAreOneMessage) {
  MessageReader reader =
      reader_of({"\"\"\"", "/not a command", "", "b\\", "\"\"\"", "\"\"\"one line\"\"\"", "\"\"\"x"});
  Message message = reader.read("> ");
  EXPECT_EQ(message.text, "/not a command\n\nb\\");
  EXPECT_FALSE(message.is_command);
  EXPECT_EQ(reader.read("> ").text, "one line");
  message = reader.read("> ");
  EXPECT_EQ(message.text, "x");  // the input ends
  EXPECT_EQ(message.kind, Line::Kind::kText);
}

TEST(MessageReader, APasteOfSeveralLinesIsAMessageWhateverItBeginsWith) {
  MessageReader reader = reader_of({"/etc\n/usr"});
  const Message message = reader.read("> ");
  EXPECT_EQ(message.text, "/etc\n/usr");
  EXPECT_FALSE(message.is_command);
}

TEST(MessageReader, CtrlCGivesUpAllThatWasBegun) {
  for (const std::string begun : {"a\\", "\"\"\"a"}) {
    MessageReader reader(std::make_unique<ScriptedLines>(
        std::deque<Line>{{Line::Kind::kText, begun}, {Line::Kind::kInterrupted, "b"}, {Line::Kind::kText, "c"}}));
    const Message given_up = reader.read("> ");
    EXPECT_EQ(given_up.kind, Line::Kind::kInterrupted);
    EXPECT_EQ(given_up.text, "a\nb");
    EXPECT_EQ(reader.read("> ").text, "c");
  }
}

}  // namespace
}  // namespace octavo::cli
