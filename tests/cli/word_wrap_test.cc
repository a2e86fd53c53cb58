// Texts in a narrow terminal: where lines are broken, what is left as it is, and when a word may be seen.
#include "cli/terminal/word_wrap.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "base/to_size.h"

namespace octavo::cli {
namespace {

std::string wrapped(const std::vector<std::string>& pieces, int columns) {
  WordWrap wrap;
  std::string out;
  for (const std::string& piece : pieces) out += wrap.write(piece, columns);
  return out + wrap.finish();
}

/// However the text comes, in pieces of one character or at once, the terminal is sent the same.
std::string wrapped(const std::string& text, int columns) {
  const std::string whole = wrapped(std::vector{text}, columns);
  std::vector<std::string> characters;
  for (const char byte : text) {
    if ((byte & 0xC0) != 0x80) characters.emplace_back();
    characters.back() += byte;
  }
  EXPECT_EQ(wrapped(characters, columns), whole);
  return whole;
}

TEST(WordWrap, LinesAreBrokenAtSpacesAndNotWithinWords) {
  EXPECT_EQ(wrapped("The sky is blue because of its air.", 10), "The sky is\nblue\nbecause of\nits air.");
  EXPECT_EQ(wrapped("one two", 7), "one two");
  EXPECT_EQ(wrapped("one two", 6), "one\ntwo");
}

TEST(WordWrap, BlanksAtABreakAreLeftOutAndAllOthersStay) {
  EXPECT_EQ(wrapped("one   two", 9), "one   two");
  EXPECT_EQ(wrapped("one   two", 8), "one\ntwo");
  EXPECT_EQ(wrapped("one two    \nthree", 8), "one two\nthree");
  EXPECT_EQ(wrapped("one \n two ", 8), "one \n two ");
  EXPECT_EQ(wrapped("a\u00A0b c", 3), "a\u00A0b\nc");
}

TEST(WordWrap, LineEndsOfTheTextStayAndItsIndentationToo) {
  EXPECT_EQ(wrapped("a:\n  - one\n  - two three\n\nb", 8), "a:\n  - one\n  - two\nthree\n\nb");
  EXPECT_EQ(wrapped("12345678\n12345678\n", 8), "12345678\n12345678\n");
}

TEST(WordWrap, AWordLongerThanALineBeginsOneAndTheTerminalBreaksIt) {
  EXPECT_EQ(wrapped("see https://example.com/a/b end", 10), "see\nhttps://example.com/a/b end");
  EXPECT_EQ(wrapped("https://example.com/a/bcdef end", 10), "https://example.com/a/bcdef\nend");
  EXPECT_EQ(wrapped("0123456789 end", 10), "0123456789\nend");
}

TEST(WordWrap, WideCharactersTakeTwoColumnsAndAreBrokenWithoutSpaces) {
  EXPECT_EQ(wrapped("你好世界你好", 8), "你好世界\n你好");
  EXPECT_EQ(wrapped("你好世界你好", 7), "你好世\n界你好");
  EXPECT_EQ(wrapped("天空很蓝。好", 8), "天空很\n蓝。好");
  EXPECT_EQ(wrapped("天空很「蓝」", 8), "天空很\n「蓝」");
  EXPECT_EQ(wrapped("see 你好 now", 7), "see 你\n好 now");
  EXPECT_EQ(wrapped("하늘은 파란색", 6), "하늘은\n파란색");
}

TEST(WordWrap, MarksTakeNoColumnAndEmojiStayWhole) {
  EXPECT_EQ(wrapped("e\u0301t e\u0301t", 5), "e\u0301t e\u0301t");
  const std::string family = "\U0001F469\u200D\U0001F4BB", thumb = "\U0001F44D\U0001F3FD";
  EXPECT_EQ(wrapped("a " + family + " b", 6), "a " + family + "\nb");
  EXPECT_EQ(wrapped("abc " + family, 6), "abc\n" + family);
  EXPECT_EQ(wrapped("abc" + thumb, 6), "abc\n" + thumb);
  EXPECT_EQ(wrapped("ab \u2764\uFE0Fc d", 6), "ab \u2764\uFE0Fc\nd");
}

TEST(WordWrap, ScriptsWithoutSpacesAreBrokenBetweenCharacters) {
  EXPECT_EQ(wrapped("ท้องฟ้าสี", 4), "ท้องฟ้\nาสี");
  EXPECT_EQ(wrapped("กขคเก", 4), "กขค\nเก");
}

TEST(WordWrap, TabsGoToTheNextStop) {
  EXPECT_EQ(wrapped("a\tbcd", 11), "a\tbcd");
  EXPECT_EQ(wrapped("a\tbcd", 10), "a\nbcd");
  EXPECT_EQ(wrapped("\tbc de", 13), "\tbc de");
  EXPECT_EQ(wrapped("\tbc de", 12), "\tbc\nde");
}

TEST(WordWrap, CodeBetweenFencesStaysAsItIs) {
  const std::string code = "```cpp\nint a = 1; // and more\n``\n```";
  EXPECT_EQ(wrapped("one two three\n" + code + "\none two three", 8), "one two\nthree\n" + code + "\none two\nthree");
  EXPECT_EQ(wrapped("~~~\none two three\n```\none two three\n~~~~ \none two three", 8),
            "~~~\none two three\n```\none two three\n~~~~ \none two\nthree");
  EXPECT_EQ(wrapped("- a\n  ```\n  one two three\n  ```\n", 8), "- a\n  ```\n  one two three\n  ```\n");
}

TEST(WordWrap, ALineOfCodeInBackticksIsNoFence) {
  for (const std::string line : {"```a```", "`` ` a", "a ```", "``", "~~ ~"})
    EXPECT_EQ(wrapped(line + "\none two three", 8), line + "\none two\nthree") << line;
}

TEST(WordWrap, AWordIsSeenWhenItsPlaceIsCertain) {
  WordWrap wrap;
  EXPECT_EQ(wrap.write("The", 8), "The");  // the first of a line has no better place
  EXPECT_EQ(wrap.write(" sk", 8), "");
  EXPECT_EQ(wrap.write("y ", 8), " sky");
  EXPECT_EQ(wrap.write("b", 8), "\nb");
  EXPECT_EQ(wrap.write("lue", 8), "lue");
  EXPECT_EQ(wrap.write(" on", 8), "");
  EXPECT_EQ(wrap.finish(), " on");
}

TEST(WordWrap, CommandsKeepTheirPlaceAndTakeNoColumn) {
  WordWrap wrap;
  std::string out = wrap.pass("\033[2m");
  out += wrap.write("one tw", 7);
  EXPECT_EQ(wrap.pass("\033[0m"), "");
  out += wrap.write("o", 7);
  out += wrap.write(" x", 7);
  out += wrap.finish();
  EXPECT_EQ(out, "\033[2mone tw\033[0mo\nx");
}

TEST(WordWrap, ATerminalMayBeResizedWithinALine) {
  WordWrap wrap;
  EXPECT_EQ(wrap.write("one two three ", 20), "one two three");
  EXPECT_EQ(wrap.write("four five six ", 8), "\nfour\nfive six");  // "three" is in a row of its own: 5 columns
  EXPECT_EQ(wrap.write("seven ", 20), " seven");
  EXPECT_EQ(wrap.write("any number of words", 0), " any number of words");
}

TEST(WordWrap, EveryWidthGetsTheTextAndNoRowIsTooLong) {
  const std::string text = "It is a long established fact: readers are distracted by a page's content.";
  for (int columns = 11 /* the longest word */; columns < 90; ++columns) {
    std::string out = wrapped(text, columns);
    std::size_t begin = 0, longest = 0;
    for (std::size_t i = 0; i <= out.size(); ++i)
      if (i == out.size() || out[i] == '\n') {
        longest = std::max(longest, i - begin);
        begin = i + 1;
      }
    EXPECT_LE(longest, to_size(columns));
    for (char& c : out)
      if (c == '\n') c = ' ';
    EXPECT_EQ(out, text) << columns;
  }
}

TEST(WordWrap, MarksWithoutEndAreNotHeldBack) {
  WordWrap wrap;
  std::string marks = "a b";
  for (int i = 0; i < 4000; ++i) marks += "\u0301";
  const std::string written = wrap.write(marks, 40);
  EXPECT_GE(written.size(), marks.size() - 4100);
  EXPECT_EQ(written + wrap.finish(), marks);
}

}  // namespace
}  // namespace octavo::cli
