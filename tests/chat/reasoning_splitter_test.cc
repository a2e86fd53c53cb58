// Reasoning is cut from content by the marks around it, however the answer comes.
#include "chat/reasoning_splitter.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "base/text.h"
#include "base/utf8.h"
#include "chat/reasoning_reference.h"
#include "chat/reasoning_vocab.h"

namespace octavo::test {
namespace {

using Kind = AnswerPart::Kind;

/// All that a splitter gives, and what it gives after each part.
struct Given {
  SplitAnswer whole;
  std::vector<SplitAnswer> after;
  std::string bytes;
  std::size_t other_bytes = 0;
};

const ReasoningMarks::Token& token_called(const ReasoningMarks& marks, std::string_view text) {
  for (const ReasoningMarks::Mark& mark : marks.marks())
    for (const MarkSymbol symbol : mark.symbols)
      if (symbol >= kFirstMarkToken && marks.token(symbol).text == text) return marks.token(symbol);
  throw std::runtime_error("no such token");
}

Given split(const ReasoningMarks& marks, const std::vector<AnswerPart>& parts,
            const ReasoningSplitter::Options& options = {}) {
  static ReasoningSplitter splitter;  // an engine uses it for one answer after another
  splitter.restart(marks, options);
  Given given;
  const auto take = [&] {
    const ReasoningSplitter::Piece piece = splitter.piece();
    given.whole.content += piece.text;
    given.whole.reasoning += piece.reasoning;
    given.bytes += piece.bytes;
    given.other_bytes += piece.other_bytes;
    given.whole.is_inside = splitter.is_inside();
    given.after.push_back(given.whole);
    splitter.clear();
  };
  for (const AnswerPart& part : parts) {
    if (part.kind == Kind::kText) splitter.push_text(part.text);
    if (part.kind == Kind::kHidden) splitter.push_hidden_token();
    if (part.kind == Kind::kMarkToken) splitter.push_token(token_called(marks, part.text));
    take();
  }
  splitter.finish();
  take();
  return given;
}

/// The text of an answer: marks' tokens where it has them whole, in pieces of at most `size` bytes.
std::vector<AnswerPart> parts_of(const ReasoningMarks& marks, std::string_view text, std::size_t size) {
  std::vector<AnswerPart> parts;
  std::vector<std::string> tokens;
  for (const ReasoningMarks::Mark& mark : marks.marks())
    for (const MarkSymbol symbol : mark.symbols)
      if (symbol >= kFirstMarkToken) tokens.push_back(marks.token(symbol).text);
  std::string run;
  const auto flush = [&] {
    for (std::size_t at = 0, end = 0; at < run.size(); at = end) {
      end = std::min(at + size, run.size());
      while (end < run.size() && (run[end] & 0xC0) == 0x80) ++end;  // within a character
      parts.push_back({Kind::kText, run.substr(at, end - at)});
    }
    run.clear();
  };
  while (!text.empty()) {
    const auto token =
        std::ranges::find_if(tokens, [&](const std::string& candidate) { return text.starts_with(candidate); });
    if (token != tokens.end()) {
      flush();
      parts.push_back({Kind::kMarkToken, *token});
      text.remove_prefix(token->size());
    } else {
      run += text.front();
      text.remove_prefix(1);
    }
  }
  flush();
  return parts;
}

/// "content|reasoning" of an answer of a family, the same for marks as tokens and as text, and for every cut.
std::string split_text(std::string_view family, std::string_view text, bool begins_inside = false) {
  std::string result;
  for (const bool as_tokens : {true, false}) {
    const ChatTokenizer chat = family_tokenizer(family_called(family), as_tokens);
    if (chat.reasoning() == nullptr) continue;
    for (std::size_t size = 1; size <= 12; ++size) {
      const Given given =
          split(*chat.reasoning(), parts_of(*chat.reasoning(), text, size), {.begins_inside = begins_inside});
      const std::string one = given.whole.content + "|" + given.whole.reasoning;
      if (result.empty()) result = one;
      EXPECT_EQ(one, result) << "as tokens: " << as_tokens << ", pieces of " << size;
    }
  }
  return result;
}

TEST(ReasoningSplitter, CutsReasoningAndTheWhiteSpaceAroundItsMarks) {
  EXPECT_EQ(split_text("think", "<think>\nI see.\n</think>\n\nYes."), "Yes.|I see.");
  EXPECT_EQ(split_text("think", "\n<think>I see.</think>Yes.\n"), "Yes.\n|I see.");
  EXPECT_EQ(split_text("think", "<think>\n\n</think>\n\nYes."), "Yes.|");
  EXPECT_EQ(split_text("mistral", "[THINK]I see.[/THINK]Yes."), "Yes.|I see.");
  EXPECT_EQ(split_text("seed", "<seed:think>I\n\nsee.</seed:think>Yes."), "Yes.|I\n\nsee.");
}

/// A family's control tokens stand in calls of tools as well.
TEST(ReasoningSplitter, TokensOfMarksAreShownWhereTheyFormNoneIfTheyAreAskedFor) {
  const ChatTokenizer chat = family_tokenizer(family_called("harmony"), true);
  const ReasoningMarks& marks = *chat.reasoning();
  const std::string_view text =
      "<|channel|>analysis<|message|>I see.<|end|><|start|>assistant<|channel|>commentary to=f <|message|>{}<|end|>";
  const std::vector<TokenId> shown = {token_called(marks, "<|channel|>").id, token_called(marks, "<|message|>").id};
  for (std::size_t size = 1; size <= 12; ++size) {
    const Given given = split(marks, parts_of(marks, text, size), {.shown = shown});
    EXPECT_EQ(given.whole.content, "<|channel|>commentary to=f <|message|>{}");
    EXPECT_EQ(given.whole.reasoning, "I see.");
    EXPECT_EQ(split(marks, parts_of(marks, text, size)).whole.content, "commentary to=f {}");
  }
}

TEST(ReasoningSplitter, AnAnswerMayBeginInside) {
  EXPECT_EQ(split_text("think", "\nI see.\n</think>\n\nYes.", true), "Yes.|I see.");
  EXPECT_EQ(split_text("think", "I see.", true), "|I see.");
  EXPECT_EQ(split_text("think", "</think>Yes.", true), "Yes.|");
}

TEST(ReasoningSplitter, AnAnswerWithoutMarksStaysAsItIs) {
  EXPECT_EQ(split_text("think", " \n Yes.\n "), " \n Yes.\n |");
  EXPECT_EQ(split_text("think", "  \n"), "  \n|");
}

TEST(ReasoningSplitter, AMarkThatIsNotCompletedIsText) {
  const ChatTokenizer chat = family_tokenizer(family_called("think"), false);
  const ReasoningMarks& marks = *chat.reasoning();
  for (std::size_t size = 1; size < 8; ++size) {
    EXPECT_EQ(split(marks, parts_of(marks, "<thin", size)).whole.content, "<thin");
    EXPECT_EQ(split(marks, parts_of(marks, "<thing> I", size)).whole.content, "<thing> I");
    EXPECT_EQ(split(marks, parts_of(marks, "a</thin </think", size), {.begins_inside = true}).whole.reasoning,
              "a</thin </think");
    EXPECT_EQ(split(marks, parts_of(marks, "a<</think>b", size), {.begins_inside = true}).whole.reasoning, "a<");
  }
}

TEST(ReasoningSplitter, TextThatSpeaksOfMarksOpensNothing) {
  const ChatTokenizer text = family_tokenizer(family_called("think"), false);
  EXPECT_EQ(split(*text.reasoning(), {{Kind::kText, "The tag <think> begins it."}}).whole.content,
            "The tag <think> begins it.");
  // A vocabulary that has the marks spells them otherwise only where it speaks of them.
  const ChatTokenizer tokens = family_tokenizer(family_called("think"), true);
  EXPECT_EQ(split(*tokens.reasoning(), {{Kind::kText, "<think>"}, {Kind::kText, "</think>"}}).whole.content,
            "<think></think>");
}

TEST(ReasoningSplitter, TokensOpenReasoningAgainBetweenParts) {
  const ChatTokenizer chat = family_tokenizer(family_called("think"), true);
  const ReasoningMarks& marks = *chat.reasoning();
  const Given given = split(marks, parts_of(marks, "<think>a</think>b <think>c</think> d", 3));
  EXPECT_EQ(given.whole.content, "b  d");
  EXPECT_EQ(given.whole.reasoning, "ac");
}

TEST(ReasoningSplitter, HarmonysChannels) {
  EXPECT_EQ(split_text("harmony",
                       "<|channel|>analysis<|message|>I see.<|end|><|start|>assistant<|channel|>final"
                       "<|message|>Yes."),
            "Yes.|I see.");
  EXPECT_EQ(split_text("harmony", "<|channel|>final<|message|>Yes."), "Yes.|");
  EXPECT_EQ(split_text("harmony",
                       "<|channel|>analysis<|message|>I<|end|><|start|>assistant<|channel|>analysis"
                       "<|message|>see<|end|><|start|>assistant<|channel|>commentary<|message|>Wait."),
            "Wait.|Isee");
}

TEST(ReasoningSplitter, OtherFamilies) {
  EXPECT_EQ(split_text("gemma", "<|channel>thought\nI see.\n<channel|>Yes."), "Yes.|I see.");
  EXPECT_EQ(split_text("kimi",
                       "<|open|>think<|sep|>I see.<|close|>think<|sep|><|open|>response<|sep|>Yes."
                       "<|close|>response<|sep|><|close|>message<|sep|>"),
            "Yes.|I see.");
  EXPECT_EQ(split_text("solar", "<|think|>I see.<|end|><|begin|>assistant<|content|>Yes."), "Yes.|I see.");
  EXPECT_EQ(split_text("glimmer", " to=self<|message|>I see.<|eom|><|start|>assistant to=user<|message|>Yes."),
            "Yes.|I see.");
  EXPECT_EQ(split_text("glimmer", "<|message|>Yes."), "Yes.|");
  EXPECT_EQ(split_text("glimmer", " to=self<|message|>I see.<|eom|><|start|>assistant to=time<|message|><atem:f"),
            "to=time<atem:f|I see.")
      << "a call's recipient stands in front of it";
  EXPECT_EQ(split_text("command", "<|START_THINKING|>I see.<|END_THINKING|><|START_RESPONSE|>Yes.<|END_RESPONSE|>"),
            "Yes.|I see.");
  EXPECT_EQ(split_text("granite", "<think>I see.</think><response>Yes.</response>"), "Yes.|I see.");
  EXPECT_EQ(split_text("apriel", "\nI see.\n[BEGIN FINAL RESPONSE]\nYes.\n[END FINAL RESPONSE]", true),
            "Yes.\n|I see.");
  EXPECT_EQ(split_text("apriel", "Here are my reasoning steps:\nI see.\n[BEGIN FINAL RESPONSE]\nYes."), "Yes.|I see.");
}

TEST(ReasoningSplitter, LeftInAllIsContentAndTheMarksAreShown) {
  for (const bool as_tokens : {true, false}) {
    for (const ReasoningFamily& family : reasoning_families()) {
      const ChatTokenizer chat = family_tokenizer(family, as_tokens);
      if (chat.reasoning() == nullptr) continue;
      const std::string text =
          std::string(family.open) + " I see.\n" + std::string(family.close) + std::string(family.answer) + "\nYes.\n";
      const Given given = split(*chat.reasoning(), parts_of(*chat.reasoning(), text, 5), {.is_left_in = true});
      EXPECT_EQ(given.whole.content, text);
      EXPECT_EQ(given.bytes, text);
      EXPECT_EQ(given.whole.reasoning, "");
      EXPECT_EQ(given.other_bytes, 0U);
    }
  }
}

TEST(ReasoningSplitter, BytesThatAreNoCharactersAreShownAsReplacementsAndKept) {
  const ChatTokenizer chat = family_tokenizer(family_called("think"), false);
  const Given given = split(*chat.reasoning(), {{Kind::kText, "\xE2\x82"}, {Kind::kText, "a\xFF"}});
  EXPECT_EQ(given.whole.content, "\uFFFDa\uFFFD");
  EXPECT_EQ(given.bytes,
            "\xE2\x82"
            "a\xFF");
  const Given inside = split(*chat.reasoning(), {{Kind::kText, "\xE2\x82"}}, {.begins_inside = true});
  EXPECT_EQ(inside.whole.reasoning, "\uFFFD");
  EXPECT_EQ(inside.other_bytes, 2U);
}

TEST(ReasoningSplitter, HeldBackSpaceHasABound) {
  const ChatTokenizer chat = family_tokenizer(family_called("think"), true);
  const ReasoningMarks& marks = *chat.reasoning();
  const std::string space(1000, ' ');
  const Given given =
      split(marks, {{Kind::kText, "a" + space}, {Kind::kMarkToken, "</think>"}}, {.begins_inside = true});
  EXPECT_EQ(given.after[0].reasoning.size(), 1001 - ReasoningSplitter::kMaxHeldSpace);
  EXPECT_EQ(given.whole.reasoning.size(), 1001 - ReasoningSplitter::kMaxHeldSpace);
}

/// Parts of marks, whole ones, letters and white space, so that everything is close to a mark.
std::vector<AnswerPart> random_parts(const ReasoningMarks& marks) {
  std::vector<std::string> tokens, texts = {"a", " ", "\n", "\u20AC", "<", "b c"};
  for (const ReasoningMarks::Mark& mark : marks.marks()) {
    std::string run;
    for (const MarkSymbol symbol : mark.symbols) {
      if (symbol >= kFirstMarkToken) {
        tokens.push_back(marks.token(symbol).text);
        if (!run.empty()) texts.push_back(std::exchange(run, {}));
      } else {
        run += static_cast<char>(symbol);
      }
    }
    if (!run.empty()) texts.push_back(run);
  }
  std::vector<AnswerPart> parts;
  const auto choices = *rc::gen::container<std::vector<std::uint32_t>>(rc::gen::inRange(0U, 1U << 20U));
  for (const std::uint32_t choice : choices) {
    const std::uint32_t kind = choice % 16, which = choice / 16;
    if (kind == 0) {
      parts.push_back({Kind::kHidden, ""});
    } else if (kind < 7 && !tokens.empty()) {
      parts.push_back({Kind::kMarkToken, tokens[which % tokens.size()]});
    } else {
      std::string text = texts[which % texts.size()];
      if (kind == 15) text = text.substr(0, 1 + which / 64 % text.size());
      if (!is_valid_utf8(text)) text = "a";  // cut within a character
      parts.push_back({Kind::kText, std::move(text)});
    }
  }
  return parts;
}

RC_GTEST_PROP(ReasoningSplitter, EqualsASearchInTheWholeAnswerHoweverItIsCut, ()) {
  const auto families = reasoning_families();
  const ReasoningFamily& family = families[*rc::gen::inRange<std::size_t>(0, families.size())];
  const bool as_tokens = family.needs_tokens || *rc::gen::arbitrary<bool>();
  const ChatTokenizer chat = family_tokenizer(family, as_tokens, *rc::gen::element(kControl, kUserDefined));
  const ReasoningMarks& marks = *chat.reasoning();
  const ReasoningSplitter::Options options = {.begins_inside = *rc::gen::arbitrary<bool>()};
  const std::vector<AnswerPart> parts = random_parts(marks);
  const SplitAnswer expected = ReasoningReference(marks, parts).split(options.begins_inside);
  const Given given = split(marks, parts, options);
  RC_ASSERT(given.whole == expected);
  for (const SplitAnswer& so_far : given.after) {
    RC_ASSERT(expected.content.starts_with(so_far.content));
    RC_ASSERT(expected.reasoning.starts_with(so_far.reasoning));
  }

  std::vector<AnswerPart> cut;  // at every character
  std::size_t text_bytes = 0;
  for (const AnswerPart& part : parts) {
    if (part.kind == Kind::kMarkToken && !token_called(marks, part.text).is_control) text_bytes += part.text.size();
    if (part.kind != Kind::kText) {
      cut.push_back(part);
      continue;
    }
    text_bytes += part.text.size();
    for (std::string_view rest = part.text; !rest.empty();) {
      const std::size_t length = next_utf8_step(rest).length;
      cut.push_back({Kind::kText, std::string(rest.substr(0, length))});
      rest.remove_prefix(length);
    }
  }
  const Given again = split(marks, cut, options);
  RC_ASSERT(again.whole == expected);
  RC_ASSERT(given.bytes.size() + given.other_bytes == text_bytes);
  RC_ASSERT(again.bytes == given.bytes);
}

}  // namespace
}  // namespace octavo::test
