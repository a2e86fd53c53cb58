#include "cli/chat/conversation.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "support/no_text.h"

namespace octavo::cli {
namespace {

using testing::ElementsAreArray;

constexpr TokenId kUser = 256, kAssistant = 257, kEnd = 258;  // control tokens
constexpr TokenId kPicture = 259;                             // a placeholder
constexpr TokenId kHe = 300, kLlo = 301;                      // "He", "llo": drawn, while the tokenizer gives bytes

/// A token for each byte, and a template that writes a control token before and behind each message.
class TemplateText final : public test::NoText {
 public:
  bool trims = false;             // the contents of answers
  bool drops_reasoning = false;   // of answers, up to </think>
  bool writes_reasoning = false;  // of answers, with a mark behind it
  bool has_control_tokens = true;

  Result<std::vector<TokenId>> tokenize(std::string_view text, const TokenizeOptions&) const override {
    std::vector<TokenId> tokens;
    for (const char c : text) tokens.push_back(static_cast<unsigned char>(c));
    return tokens;
  }
  std::string detokenize(std::span<const TokenId> tokens) const override {
    std::string text;
    for (const TokenId token : tokens) text += text_of(token);
    return text;
  }
  Result<ChatPrompt> chat_prompt(std::span<const ChatMessage> messages, const ChatTemplateOptions&) const override {
    std::vector<TokenId> tokens;
    std::vector<PromptPicture> pictures;
    for (const ChatMessage& message : messages) {
      tokens.push_back(message.role == "assistant" ? kAssistant : kUser);
      for (const ContentPart& part : message.parts) {
        if (part.kind == ContentPart::Kind::kPicture) {
          pictures.push_back({.first = static_cast<std::int32_t>(tokens.size()), .count = 2});
          tokens.insert(tokens.end(), 2, kPicture);
        }
        for (const char c : part.text) tokens.push_back(static_cast<unsigned char>(c));
      }
      std::string content = message.content;
      if (message.role == "assistant") {
        if (const auto end = content.find("</think>"); drops_reasoning && end != std::string::npos)
          content = content.substr(end + 8);
        if (writes_reasoning && !message.reasoning.empty()) content.insert(0, message.reasoning + "|");
        if (trims) content = content.substr(content.find_first_not_of(' '));
        if (trims) content.resize(content.find_last_not_of(' ') + 1);
      }
      for (const char c : content) tokens.push_back(static_cast<unsigned char>(c));
      if (has_control_tokens) {
        tokens.push_back(kEnd);
      } else if (!tokens.empty() && tokens.back() == '!') {
        tokens.back() = 302;  // "!\n", one token over the end of an answer
      } else {
        tokens.push_back('\n');
      }
    }
    tokens.push_back(kAssistant);
    return ChatPrompt{.tokens = std::move(tokens), .pictures = std::move(pictures)};
  }

 private:
  static std::string text_of(TokenId token) {
    switch (token) {
      case kUser: return "<u>";
      case kAssistant: return "<a>";
      case kEnd: return "<e>";
      case kPicture: return "<p>";
      case kHe: return "He";
      case kLlo: return "llo";
      case 302: return "!\n";
      default: return std::string(1, static_cast<char>(token));
    }
  }
};

std::vector<TokenId> joined(std::vector<TokenId> a, const std::vector<TokenId>& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

const std::vector<TokenId> kDrawn = {kHe, kLlo};
const std::vector<TokenId> kNewPart = {kEnd, kUser, 'b', kEnd, kAssistant};

TEST(Conversation, APromptIsTheOneBeforeTheDrawnTokensAndTheNewPart) {
  const TemplateText words;
  Conversation conversation(test::not_owned(words));
  conversation.ask("a");
  const std::vector<TokenId> first = conversation.prompt()->tokens;
  EXPECT_THAT(first, ElementsAreArray({kUser, TokenId{'a'}, kEnd, kAssistant}));
  conversation.set_answer("Hello", kDrawn);
  EXPECT_EQ(conversation.num_tokens(), first.size() + 2);
  conversation.ask("b");
  const std::vector<TokenId> second = conversation.prompt()->tokens;
  EXPECT_EQ(second, joined(joined(first, kDrawn), kNewPart));
  conversation.set_answer("Hello", kDrawn);
  conversation.ask("b");
  EXPECT_EQ(conversation.prompt()->tokens, joined(joined(second, kDrawn), kNewPart));
}

/// The tokens of a prompt at which its pictures begin.
std::vector<std::int32_t> places(const ChatPrompt& prompt) {
  std::vector<std::int32_t> places;
  for (const PromptPicture& picture : prompt.pictures) places.push_back(picture.first);
  return places;
}

TEST(Conversation, PicturesStandWhereTheirTokensAreBehindAnswersAsTheyWereDrawn) {
  const TemplateText words;
  Conversation conversation(test::not_owned(words));
  conversation.ask("a", {{}});
  EXPECT_THAT(places(*conversation.prompt()), testing::ElementsAre(1));
  conversation.set_answer("Hello", kDrawn);  // two tokens, where the tokenizer makes five
  conversation.ask("b", {{}, {}});
  const ChatPrompt second = *conversation.prompt();
  EXPECT_THAT(places(second), testing::ElementsAre(1, 10, 12));
  for (const std::int32_t place : places(second))
    EXPECT_EQ(second.tokens.at(static_cast<std::size_t>(place)), kPicture);
  conversation.drop_turn();
  conversation.ask("c");
  EXPECT_THAT(places(*conversation.prompt()), testing::ElementsAre(1));
  conversation.drop_answer();
  EXPECT_EQ(conversation.turns().back().question, "c");
}

TEST(Conversation, AnAnswerWithoutTokensIsTokenizedAnew) {
  const TemplateText words;
  Conversation conversation(test::not_owned(words));
  conversation.ask("a");
  const std::vector<TokenId> first = conversation.prompt()->tokens;
  conversation.set_answer("Hi", std::nullopt);
  conversation.ask("b");
  EXPECT_EQ(conversation.prompt()->tokens, joined(joined(first, {'H', 'i'}), kNewPart));
}

TEST(Conversation, AnAnswerThatTheTemplateTrimsStaysAsItWasDrawn) {
  TemplateText words;
  words.trims = true;
  Conversation conversation(test::not_owned(words));
  conversation.ask("a");
  const std::vector<TokenId> first = conversation.prompt()->tokens;
  const std::vector<TokenId> drawn = {' ', kHe, kLlo, ' '};
  conversation.set_answer(" Hello ", drawn);
  conversation.ask("b");
  EXPECT_EQ(conversation.prompt()->tokens, joined(joined(first, drawn), kNewPart));
}

TEST(Conversation, WhereTheTemplateDropsOldReasoningAllIsRenderedAnew) {
  TemplateText words;
  words.drops_reasoning = true;
  Conversation conversation(test::not_owned(words));
  conversation.ask("a");
  const std::vector<TokenId> first = conversation.prompt()->tokens;
  conversation.set_answer("hm</think>Hello", std::vector<TokenId>{'h', 'm', kHe, kLlo});
  conversation.ask("b");
  EXPECT_EQ(conversation.prompt()->tokens, joined(joined(first, {'H', 'e', 'l', 'l', 'o'}), kNewPart));
}

TEST(Conversation, SplitReasoningCountsAsAPartOfWhatWasDrawn) {
  const TemplateText words;
  Conversation conversation(test::not_owned(words));
  conversation.ask("a");
  const std::vector<TokenId> first = conversation.prompt()->tokens;
  // The template writes the answer alone: the reasoning that was drawn is not to come back.
  conversation.set_answer("Hello", std::vector<TokenId>{'h', 'm', '|', kHe, kLlo}, "hm");
  conversation.ask("b");
  EXPECT_EQ(conversation.prompt()->tokens, joined(joined(first, {'H', 'e', 'l', 'l', 'o'}), kNewPart));
}

TEST(Conversation, EarlierReasoningIsGivenToTheTemplate) {
  TemplateText words;
  words.writes_reasoning = true;
  Conversation conversation(test::not_owned(words));
  conversation.ask("a");
  const std::vector<TokenId> first = conversation.prompt()->tokens;
  const std::vector<TokenId> drawn = {'h', 'm', '|', kHe, kLlo};
  conversation.set_answer("Hello", drawn, "hm");
  conversation.ask("b");
  EXPECT_EQ(conversation.prompt()->tokens, joined(joined(first, drawn), kNewPart));  // and stays as it was drawn
}

TEST(Conversation, WhereATokenReachesOverTheEndOfAnAnswerAllIsRenderedAnew) {
  TemplateText words;
  words.has_control_tokens = false;
  Conversation conversation(test::not_owned(words));
  conversation.ask("a");
  const std::vector<TokenId> first = conversation.prompt()->tokens;
  conversation.set_answer("He!", std::vector<TokenId>{kHe, '!'});
  conversation.ask("b");
  EXPECT_EQ(conversation.prompt()->tokens, joined(first, {'H', 'e', 302, kUser, 'b', '\n', kAssistant}));
}

TEST(Conversation, AfterATurnIsTakenBackTheOneBeforeItGoesOnAsItWasDrawn) {
  const TemplateText words;
  Conversation conversation(test::not_owned(words));
  conversation.ask("a");
  const std::vector<TokenId> first = conversation.prompt()->tokens;
  conversation.set_answer("Hello", kDrawn);
  conversation.ask("x");
  ASSERT_TRUE(conversation.prompt());
  conversation.set_answer("Hello", kDrawn);
  conversation.drop_turn();
  conversation.ask("b");
  EXPECT_EQ(conversation.prompt()->tokens, joined(joined(first, kDrawn), kNewPart));
  conversation.drop_turn();
  conversation.drop_turn();
  EXPECT_EQ(conversation.num_tokens(), 0U);
  conversation.ask("a");
  EXPECT_EQ(conversation.prompt()->tokens, first);
}

TEST(Conversation, AnAnswerThatIsTakenBackLeavesItsPrompt) {
  const TemplateText words;
  Conversation conversation(test::not_owned(words));
  conversation.ask("a");
  const std::vector<TokenId> first = conversation.prompt()->tokens;
  conversation.set_answer("Hello", kDrawn);
  conversation.drop_answer();
  EXPECT_EQ(conversation.prompt()->tokens, first);
  conversation.set_answer("He", std::vector<TokenId>{kHe});
  conversation.ask("b");
  EXPECT_EQ(conversation.prompt()->tokens, joined(joined(first, {kHe}), kNewPart));
}

TEST(Conversation, ANewSystemMessageStandsBeforeAnswersAsTheyWereDrawn) {
  const TemplateText words;
  Conversation conversation(test::not_owned(words));
  conversation.ask("a");
  const std::vector<TokenId> first = conversation.prompt()->tokens;
  conversation.set_answer("Hello", kDrawn);
  conversation.set_system("s");
  conversation.ask("b");
  EXPECT_EQ(conversation.prompt()->tokens, joined(joined(joined({kUser, 's', kEnd}, first), kDrawn), kNewPart));
}

TEST(Conversation, LoadedTurnsGoOnAsTheyWereDrawn) {
  const TemplateText words;
  Conversation conversation(test::not_owned(words));
  conversation.replace_turns({{.question = "a", .is_answered = true, .answer = "Hello", .drawn = kDrawn}});
  conversation.ask("b");
  EXPECT_EQ(conversation.prompt()->tokens, joined(joined({kUser, 'a', kEnd, kAssistant}, kDrawn), kNewPart));
}

}  // namespace
}  // namespace octavo::cli
