// The text of an answer: stop texts, characters and reasoning together.
#include "engine/answer_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "engine/stop_reference.h"
#include "support/tiny_vocab.h"

namespace octavo {
namespace {

using test::kTinyThink;
using test::kTinyThinkEnd;

struct Shown {
  std::string text, bytes, reasoning;
  std::size_t other_bytes = 0;

  void add(const AnswerText::Piece& piece) {
    text += piece.text;
    bytes += piece.bytes;
    reasoning += piece.reasoning;
    other_bytes += piece.other_bytes;
  }
};

TEST(AnswerText, NoStopTextReachesOverAMark) {
  const Words words(test::reasoning_tokenizer(32));
  const StopTexts stop(std::vector<std::string>{"AB"});
  AnswerText text(words);
  text.restart({}, stop, {.marks = words.reasoning()});
  Shown shown;
  for (const TokenId token : {test::kTinyA, kTinyThink, kTinyThinkEnd, test::kTinyA + 1})
    shown.add(text.push(token, false, false, true));
  EXPECT_EQ(shown.text, "AB");
  EXPECT_FALSE(text.is_stopped());
  shown.add(text.push(test::kTinyA, false, false, true));
  shown.add(text.push(test::kTinyA + 1, false, true, true));
  EXPECT_EQ(shown.text, "AB");
  EXPECT_TRUE(text.is_stopped());
}

TEST(AnswerText, FinishLeavesWhatPushGave) {
  const Words words(test::reasoning_tokenizer(32));
  const StopTexts stop(std::vector<std::string>{"ABC"});
  AnswerText text(words);
  text.restart({}, stop, {.marks = words.reasoning()});
  text.push(test::kTinyA, false, false, true);
  const AnswerText::Piece before = text.push(test::kTinyA, false, false, true);
  EXPECT_EQ(before.text, "A");
  EXPECT_EQ(text.finish(true).text, "A");
  EXPECT_EQ(before.text, "A");
}

// Letters, the euro sign's bytes, control tokens and marks: nothing gets lost, and content ends at the stop text.
RC_GTEST_PROP(AnswerText, AccountsForEveryByteAndEndsWhereContentDoes, ()) {
  const Words words(test::reasoning_tokenizer(32));
  const StopTexts stop(std::vector<std::string>{"AA", "B\u20AC"});
  const ReasoningSplitter::Options options = {.begins_inside = *rc::gen::arbitrary<bool>()};
  const auto tokens = *rc::gen::container<std::vector<TokenId>>(
      rc::gen::element<TokenId>(1, 2, 3, 4, 5, 6, 7, kTinyThink, kTinyThinkEnd));
  AnswerText text(words);
  text.restart({}, stop, {.marks = words.reasoning(), .options = options});
  // Without stop texts, for comparison.
  const StopTexts none;
  AnswerText plain(words);
  plain.restart({}, none, {.marks = words.reasoning(), .options = options});
  Shown shown, all;
  std::size_t num_bytes = 0;
  for (const TokenId token : tokens) {
    if (text.is_stopped()) break;
    shown.add(text.push(token, false, false, true));
    all.add(plain.push(token, false, false, true));
    if (plain.is_text(token)) num_bytes += words.tokenizer()->token_bytes(token).size();
    RC_ASSERT(all.text.starts_with(shown.text));
    RC_ASSERT(all.bytes.size() + all.other_bytes <= num_bytes);
  }
  shown.add(text.finish(true));
  all.add(plain.finish(true));
  RC_ASSERT(all.bytes.size() + all.other_bytes == num_bytes);
  RC_ASSERT(shown.reasoning == all.reasoning);
  RC_ASSERT(all.text.starts_with(shown.text));
  if (!text.is_stopped()) RC_ASSERT(shown.text == all.text);
}

}  // namespace
}  // namespace octavo
