// The text of an answer: stop texts, characters and reasoning together.
#include "engine/answers/answer_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "engine/stop_reference.h"
#include "support/memory_source.h"
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
  const ModelTokenizer words(test::reasoning_tokenizer(32));
  const StopTexts stop(std::vector<std::string>{"AB"});
  AnswerText text(words);
  text.restart({}, stop, {.marks = words.reasoning()});
  Shown shown;
  for (const TokenId token : {test::kTinyA, kTinyThink, kTinyThinkEnd, test::kTinyA + 1})
    shown.add(text.push(token, false, false, true));
  EXPECT_EQ(shown.text, "AB");
  EXPECT_EQ(text.stop_text(), -1);
  shown.add(text.push(test::kTinyA, false, false, true));
  shown.add(text.push(test::kTinyA + 1, false, true, true));
  EXPECT_EQ(shown.text, "AB");
  EXPECT_EQ(text.stop_text(), 0);
}

TEST(AnswerText, ControlTokensThatAreAskedForAreText) {
  const ModelTokenizer words(test::reasoning_tokenizer(32));
  const std::vector<TokenId> asked = {test::kTinyControl};
  const StopTexts stop;
  for (const ReasoningMarks* marks : {words.reasoning(), static_cast<const ReasoningMarks*>(nullptr)}) {
    AnswerText text(words);
    Shown shown, hidden;
    text.restart({}, stop, {.marks = marks, .options = {.shown = asked}});
    for (const TokenId token : {test::kTinyA, test::kTinyControl, test::kTinyA})
      shown.add(text.push(token, false, false, true));
    shown.add(text.finish(true));
    EXPECT_TRUE(text.is_text(test::kTinyControl));
    EXPECT_EQ(shown.text, "A<s>A");
    EXPECT_EQ(shown.bytes, "A<s>A");
    text.restart({}, stop, {.marks = marks});
    for (const TokenId token : {test::kTinyA, test::kTinyControl, test::kTinyA})
      hidden.add(text.push(token, false, false, true));
    hidden.add(text.finish(true));
    EXPECT_FALSE(text.is_text(test::kTinyControl));
    EXPECT_EQ(hidden.text, "AA");
  }
}

TEST(AnswerText, EveryControlTokenIsShownWhereAllAreButNoneThatEndsTheAnswer) {
  const ModelTokenizer words(test::reasoning_tokenizer(32));
  const StopTexts stop;
  for (const ReasoningMarks* marks : {static_cast<const ReasoningMarks*>(nullptr), words.reasoning()}) {
    AnswerText text(words);
    Shown shown;
    text.restart({}, stop, {.marks = marks, .options = {.shows_all = true}});
    for (const TokenId token : {test::kTinyA, test::kTinyControl, test::kTinyA})
      shown.add(text.push(token, false, false, true));
    shown.add(text.push(test::kTinyEos, true, true, true));
    EXPECT_TRUE(text.is_text(test::kTinyControl));
    EXPECT_EQ(shown.text, "A<s>A");
  }
}

TEST(AnswerText, FinishLeavesWhatPushGave) {
  const ModelTokenizer words(test::reasoning_tokenizer(32));
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
  const ModelTokenizer words(test::reasoning_tokenizer(32));
  const StopTexts stop(std::vector<std::string>{"AA", "B\u20AC"});
  const auto shown_tokens = *rc::gen::element(std::vector<TokenId>{}, std::vector<TokenId>{test::kTinyControl});
  const ReasoningSplitter::Options options = {.begins_inside = *rc::gen::arbitrary<bool>(), .shown = shown_tokens};
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
    if (text.stop_text() >= 0) break;
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
  if (text.stop_text() < 0) RC_ASSERT(shown.text == all.text);
}

/// A SentencePiece vocabulary: </s> is a control token, <tool> is user-defined, <think> and </think> are marks.
std::unique_ptr<const ChatTokenizer> sentence_piece_tokenizer() {
  test::MemorySource source;
  source.add("general.architecture", "llama").add("tokenizer.ggml.model", "llama");
  source.add_array("tokenizer.ggml.tokens", std::vector<std::string>{"<unk>", "<s>", "</s>", "<tool>", "<think>",
                                                                     "</think>", "\u2581A", "\u2581B", "C", "\u2581"});
  source.add_array("tokenizer.ggml.token_type", std::vector<std::int32_t>{2, 3, 3, 4, 3, 3, 1, 1, 1, 1});
  source.add_array("tokenizer.ggml.scores", std::vector<float>(10, -1.0F));
  for (const auto& [key, id] : {std::pair("unknown", 0U), {"bos", 1U}, {"eos", 2U}})
    source.add(fmt::format("tokenizer.ggml.{}_token_id", key), id);
  Result<ChatTokenizer> tokenizer = ChatTokenizer::load(source);
  OCTAVO_CHECK(tokenizer.has_value(), "{}", tokenizer.error().message);
  return std::make_unique<const ChatTokenizer>(std::move(*tokenizer));
}

// Log-probabilities give each token the text that it adds to the token before it; so do answers.
RC_GTEST_PROP(AnswerText, ATokensTextIsWhatItAddsToTheTokenBeforeItWhateverThatIs, ()) {
  const ModelTokenizer words(sentence_piece_tokenizer());
  const Tokenizer& tokenizer = *words.tokenizer();
  RC_ASSERT(words.reasoning() != nullptr);
  const auto last_of_prompt = *rc::gen::element<TokenId>(1, 6);
  const auto tokens = *rc::gen::container<std::vector<TokenId>>(rc::gen::inRange<TokenId>(1, tokenizer.vocab_size()));
  const bool looks_for_marks = *rc::gen::arbitrary<bool>();
  const StopTexts none;
  AnswerText text(words);
  text.restart(last_of_prompt, none, {.marks = looks_for_marks ? words.reasoning() : nullptr});
  Shown shown;
  std::string expected;
  std::optional<TokenId> previous = last_of_prompt;
  for (const TokenId token : tokens) {
    shown.add(text.push(token, false, false, true));
    if (text.is_text(token)) expected += tokenizer.bytes_after(previous, token);
    previous = token;
  }
  shown.add(text.finish(true));
  RC_ASSERT(shown.bytes.size() + shown.other_bytes == expected.size());
  if (!looks_for_marks) RC_ASSERT(shown.text == expected);
}

}  // namespace
}  // namespace octavo
