#include "engine/answers/stop_matcher.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>

#include "base/utf8.h"
#include "engine/stop_reference.h"
#include "support/tiny_vocab.h"

namespace octavo {
namespace {

using test::cut_before_stop;
using ::testing::AllOf;
using ::testing::HasSubstr;

// The text shown after each piece, and after the end.
struct Shown {
  std::vector<std::string> after;
  std::string text, bytes;
  bool matched = false;
};

Shown show(const std::vector<std::string>& stop, const std::vector<std::string>& pieces) {
  const StopTexts texts(stop);
  StopMatcher matcher(texts);
  Shown shown;
  const auto add = [&](const StopMatcher::Piece& piece) {
    shown.text += piece.text;
    shown.bytes += piece.bytes;
    shown.after.push_back(shown.text);
  };
  for (const std::string& piece : pieces) add(matcher.push({.text = piece, .bytes = piece}));
  add(matcher.finish({}));
  shown.matched = matcher.match() >= 0;
  return shown;
}

TEST(StopMatcher, WithoutStopTextsEveryPiecePassesAsItIs) {
  const Shown shown = show({}, {"a", "", "bc"});
  EXPECT_EQ(shown.after, (std::vector<std::string>{"a", "a", "abc", "abc"}));
  EXPECT_FALSE(shown.matched);
}

TEST(StopMatcher, AStopTextEndsTheTextBeforeItAndIsNotShown) {
  const Shown shown = show({"END"}, {"so END it"});
  EXPECT_EQ(shown.text, "so ");
  EXPECT_TRUE(shown.matched);
}

TEST(StopMatcher, MatchesAcrossPiecesAndHoldsBackOnlyWhatMayBecomeAStopText) {
  const Shown shown = show({"\n\nUser:"}, {"Hi\n", "\nUs", "ed", ".\n\n", "User", ": x", "more"});
  EXPECT_EQ(shown.after, (std::vector<std::string>{"Hi", "Hi", "Hi\n\nUsed", "Hi\n\nUsed.", "Hi\n\nUsed.",
                                                   "Hi\n\nUsed.", "Hi\n\nUsed.", "Hi\n\nUsed."}));
  EXPECT_TRUE(shown.matched);
}

TEST(StopMatcher, WhatWasHeldBackIsShownAtTheEnd) {
  const Shown shown = show({"stop", "halt"}, {"a st", "o"});
  EXPECT_EQ(shown.after, (std::vector<std::string>{"a ", "a ", "a sto"}));
  EXPECT_FALSE(shown.matched);
}

TEST(StopMatcher, TheEarliestToBeCompleteWinsAndOfThoseTheLongest) {
  EXPECT_EQ(show({"abcd", "bc"}, {"xabcd"}).text, "xa");
  EXPECT_EQ(show({"bc", "abc"}, {"xabc"}).text, "x");
  EXPECT_EQ(show({"abc", "bc"}, {"xa", "b", "c"}).text, "x");
}

TEST(StopMatcher, SaysWhichOneItWas) {
  const auto match = [](const std::vector<std::string>& texts) {
    const StopTexts stop(texts);
    StopMatcher matcher(stop);
    matcher.push({.text = "xabcd", .bytes = "xabcd"});
    return matcher.match();
  };
  EXPECT_EQ(match({"abcd", "bc"}), 1);
  EXPECT_EQ(match({"bc", "abc"}), 1);
  EXPECT_EQ(match({"no", "abc", "abc"}), 1);
  EXPECT_EQ(match({"no"}), -1);
}

TEST(StopMatcher, OverlapsWithItselfAreFound) {
  EXPECT_EQ(show({"aab"}, {"a", "a", "a", "a", "b"}).text, "aa");
  EXPECT_EQ(show({"abac"}, {"ab", "ab", "ac"}).text, "ab");
}

TEST(StopMatcher, WhatIsCompleteBeforeItCountsIsShownAndWhatIsCompleteLaterIsNot) {
  const StopTexts stop({"aba"});
  StopMatcher matcher(stop);
  std::string shown(matcher.push({.text = "xaba", .bytes = "xaba"}, false).text);
  EXPECT_EQ(matcher.match(), -1);
  EXPECT_EQ(shown, "xab") << "the last one may begin another";
  shown += matcher.push({.text = "bay", .bytes = "bay"}).text;  // complete now, and begun before
  EXPECT_TRUE((matcher.match() >= 0));
  EXPECT_EQ(shown, "xab");
}

TEST(StopMatcher, AfterAMatchNothingMoreIsShown) {
  const StopTexts texts({"x"});
  StopMatcher matcher(texts);
  matcher.push({.text = "ax", .bytes = "ax"});
  EXPECT_EQ(matcher.push({.text = "b", .bytes = "b"}).text, "");
  EXPECT_EQ(matcher.finish({.text = "c", .bytes = "c"}).bytes, "");
}

TEST(StopMatcher, TheLastPieceMayCompleteAStopText) {
  const StopTexts texts({"bc"});
  StopMatcher matcher(texts);
  EXPECT_EQ(matcher.push({.text = "ab", .bytes = "ab"}).text, "a");
  EXPECT_EQ(matcher.finish({.text = "c", .bytes = "c"}).text, "");
  EXPECT_TRUE((matcher.match() >= 0));
}

TEST(StopMatcher, ChecksNameTheFieldAndWhatWasExpected) {
  const auto message = [](const std::vector<std::string>& texts) {
    const Result<void> result = StopTexts::check("stop", texts);
    return result ? std::string() : result.error().message;
  };
  EXPECT_EQ(message({}), "");
  EXPECT_EQ(message(std::vector<std::string>(16, std::string(1024, 'x'))), "");
  EXPECT_EQ(message({"\n", "\u20AC"}), "");
  EXPECT_EQ(message(std::vector<std::string>(65, "x")), "stop: found 65 texts, expected at most 64");
  EXPECT_EQ(message({"x", ""}), "stop[1]: found 0 bytes, expected 1 to 1024");
  EXPECT_EQ(message({std::string(1025, 'x')}), "stop[0]: found 1025 bytes, expected 1 to 1024");
  EXPECT_THAT(message({"\xE2\x82"}), AllOf(HasSubstr("stop[0]"), HasSubstr("UTF-8")));
  EXPECT_THAT(message({"a\x80"}), HasSubstr("UTF-8"));
}

RC_GTEST_PROP(StopMatcher, EqualsAFindInTheWholeTextHoweverItIsCut, ()) {
  // Few letters, so that parts of stop texts are common.
  const auto letters = [](int longest) {
    return rc::gen::mapcat(rc::gen::inRange(1, longest + 1), [](int size) {
      return rc::gen::container<std::string>(static_cast<std::size_t>(size), rc::gen::elementOf(std::string("ab")));
    });
  };
  const auto stop = *rc::gen::resize(4, rc::gen::container<std::vector<std::string>>(letters(7)));
  const auto pieces = *rc::gen::container<std::vector<std::string>>(letters(5));
  std::string whole;
  for (const std::string& piece : pieces) whole += piece;
  const std::string expected = cut_before_stop(whole, stop);
  const Shown shown = show(stop, pieces);
  RC_ASSERT(shown.text == expected);
  RC_ASSERT(shown.bytes == expected);
  RC_ASSERT(shown.matched == (expected != whole));
  // Never more than will be shown, never less than what no stop text can take back.
  std::string so_far;
  for (std::size_t i = 0; i < pieces.size() && so_far.size() < expected.size(); ++i) {
    so_far += pieces[i];
    RC_ASSERT(expected.starts_with(shown.after[i]));
    std::size_t held = so_far.size() - std::min(so_far.size(), shown.after[i].size());
    if (held == 0 || so_far.size() > expected.size()) continue;
    const std::string_view rest = std::string_view(so_far).substr(so_far.size() - held);
    RC_ASSERT(std::ranges::any_of(stop, [&](const std::string& text) { return text.starts_with(rest); }));
  }
}

// Bytes of the euro sign and an 'A' in any order: what is shown as U+FFFD keeps its true bytes, also beside a cut.
RC_GTEST_PROP(StopMatcher, BytesStandForTheTextThatIsShown, ()) {
  const auto chat = test::tiny_tokenizer(8);
  const Tokenizer& tokenizer = chat->tokenizer();
  const auto tokens = *rc::gen::container<std::vector<TokenId>>(rc::gen::inRange<TokenId>(2, 8));
  const auto stop = *rc::gen::resize(
      3, rc::gen::container<std::vector<std::string>>(rc::gen::element<std::string>(
             "\u20AC", "A\u20AC", "\uFFFD", "\uFFFDA", "A\uFFFD\uFFFD", "\uFFFD\u20AC", "AB", "\u20AC\u20ACC")));
  const StopTexts texts(stop);
  StopMatcher matcher(texts);
  StreamDecoder decoder(tokenizer), plain(tokenizer);
  std::string text, bytes, whole, whole_bytes;
  const auto add = [](const StopMatcher::Piece& piece, std::string& to_text, std::string& to_bytes) {
    to_text += piece.text;
    to_bytes += piece.bytes;
    std::string shown;
    for (std::string_view rest = piece.bytes; !rest.empty();) {
      const Utf8Step step = next_utf8_step(rest);
      shown += step.kind == Utf8Step::Kind::kCharacter ? rest.substr(0, step.length) : kReplacementCharacter;
      rest.remove_prefix(step.length);
    }
    RC_ASSERT(piece.text == shown);
  };
  for (const TokenId token : tokens) {
    add(matcher.push(decoder.push(token)), text, bytes);
    add(plain.push(token), whole, whole_bytes);
  }
  add(matcher.finish(decoder.flush()), text, bytes);
  add(plain.flush(), whole, whole_bytes);
  RC_ASSERT(text == cut_before_stop(whole, stop));
  RC_ASSERT(whole_bytes.starts_with(bytes));
}

TEST(StopMatcher, LongHeldTextIsShownOnceItCannotMatch) {
  // The worst case of a search that begins anew at every byte: it would take 64 * 1023 comparisons for each.
  std::vector<std::string> stop(kMaxStopTexts, std::string(kMaxStopTextBytes - 1, 'a'));
  for (std::size_t i = 0; i < stop.size(); ++i) stop[i] += static_cast<char>(' ' + i);
  const StopTexts texts(stop);
  StopMatcher matcher(texts);
  std::size_t shown = 0;
  constexpr std::size_t kPieces = 100'000;
  for (std::size_t i = 0; i < kPieces; ++i) shown += matcher.push({.text = "aaaa", .bytes = "aaaa"}).text.size();
  EXPECT_EQ(shown, 4 * kPieces - (kMaxStopTextBytes - 1));
  shown += matcher.push({.text = "z", .bytes = "z"}).text.size();
  EXPECT_EQ(shown, 4 * kPieces + 1);
}

}  // namespace
}  // namespace octavo
