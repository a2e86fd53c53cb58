// The marks around reasoning are those of the model's family, and a prompt says whether its answer begins inside them.
#include "chat/reasoning_marks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <map>

#include "chat/reasoning_vocab.h"
#include "tokenizer/real_vocab.h"

namespace octavo::test {
namespace {

std::string name_of(const ChatTokenizer& chat) {
  return chat.reasoning() == nullptr ? "" : std::string(chat.reasoning()->family().name);
}

std::string text_of(const std::filesystem::path& file) {
  std::ifstream stream(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), {}};
}

/// A vocabulary with the tokens that the template writes, of those that marks are made of.
ChatTokenizer tokenizer_for(const std::string& jinja) {
  SmallVocab vocab = small_bpe();
  vocab.chat_template = jinja;
  for (const ReasoningFamily& family : reasoning_families()) {
    for (const std::string& text : control_texts_in(all_texts_of(family))) {
      const bool is_there = jinja.find(text) != std::string::npos;
      // Hy3 puts its marks together: '<think{}>'.format(HYTK).
      const bool is_made = text.ends_with(":opensource>") && jinja.find("HYTK = ':opensource'") != std::string::npos;
      if ((is_there || is_made) && std::ranges::find(vocab.tokens, text) == vocab.tokens.end())
        vocab.add(text, kControl);
    }
  }
  return std::move(*vocab.load<ChatTokenizer>());
}

TEST(ReasoningMarks, EveryFamilyIsFoundByItsTokensAndTheOthersByTheTemplatesTextToo) {
  for (const ReasoningFamily& family : reasoning_families()) {
    for (const std::int32_t type : {kControl, kUserDefined})
      EXPECT_EQ(name_of(family_tokenizer(family, true, type)), family.name);
    EXPECT_EQ(name_of(family_tokenizer(family, false)), family.needs_tokens ? "" : family.name);
  }
}

TEST(ReasoningMarks, AModelWithoutThemHasNone) {
  EXPECT_EQ(name_of(std::move(*small_bpe().load<ChatTokenizer>())), "");
  SmallVocab vocab = small_bpe();
  vocab.chat_template = "{{ messages[0].content }} <think>";  // one mark alone
  EXPECT_EQ(name_of(std::move(*vocab.load<ChatTokenizer>())), "");
  for (const RealVocab& real : kRealVocabs) EXPECT_EQ(name_of(load_real<ChatTokenizer>(real.file)), "") << real.name;
}

TEST(ReasoningMarks, Gemma4sRealVocabularyHasItsChannels) {
  const ChatTokenizer chat = load_real<ChatTokenizer>("ggml-vocab-gemma-4.gguf");
  EXPECT_EQ(name_of(chat), "gemma");
  EXPECT_EQ(chat.tokenizer().decode(chat.reasoning()->closing_tokens()), "<channel|>");
}

TEST(ReasoningMarks, TheClosingTokensSpellTheMarkAndWhatLeadsToTheAnswer) {
  for (const ReasoningFamily& family : reasoning_families()) {
    for (const bool as_tokens : {true, false}) {
      const ChatTokenizer chat = family_tokenizer(family, as_tokens);
      if (chat.reasoning() == nullptr) continue;
      const auto closing = chat.reasoning()->closing_tokens();
      EXPECT_EQ(chat.tokenizer().decode(closing), std::string(family.close) + std::string(family.answer))
          << family.name;
    }
  }
  SmallVocab spm = small_spm();  // which writes a space before a text's first word
  spm.chat_template = "<think></think>";
  const ChatTokenizer chat = std::move(*spm.load<ChatTokenizer>());
  EXPECT_EQ(chat.tokenizer().decode(chat.reasoning()->closing_tokens()), "</think>");
  for (const TokenId token : chat.reasoning()->closing_tokens())
    EXPECT_EQ(chat.tokenizer().token_bytes(token).find(' '), std::string_view::npos);
}

/// The template's own text in angle brackets, a message's without.
std::vector<PromptPart> parts(std::initializer_list<std::pair<const char*, bool>> list) {
  std::vector<PromptPart> all;
  for (const auto& [text, is_template] : list) all.push_back({text, is_template});
  return all;
}

TEST(ReasoningMarks, APromptEndsInsideThemByTheTemplatesOwnText) {
  const ChatTokenizer chat = family_tokenizer(family_called("think"), true);
  const ReasoningMarks& marks = *chat.reasoning();
  constexpr bool kOwn = true, kMessage = false;
  EXPECT_TRUE(marks.end_inside(parts({{"<user>", kOwn}, {"Hi", kMessage}, {"</user><think>\n", kOwn}})));
  EXPECT_FALSE(marks.end_inside(parts({{"<user>", kOwn}, {"Hi", kMessage}, {"</user><assistant>", kOwn}})));
  EXPECT_FALSE(marks.end_inside(parts({{"Hi", kMessage}, {"<assistant><think>\n\n</think>\n\n", kOwn}})));
  EXPECT_FALSE(marks.end_inside(parts({{"Hi", kMessage}, {"<assistant></think>", kOwn}})));
  EXPECT_FALSE(marks.end_inside(parts({{"Say <think>", kMessage}})));
  EXPECT_FALSE(marks.end_inside(parts({{"Say <think>", kMessage}, {"\n", kOwn}})));
  EXPECT_TRUE(marks.end_inside(parts({{"</think>", kMessage}, {"<think>", kOwn}})));
  EXPECT_FALSE(marks.end_inside(parts({{"Reason within <think>", kOwn}, {"Hi", kMessage}, {"<assistant>", kOwn}})));
  // An answer that is to be continued.
  EXPECT_TRUE(marks.end_inside(parts({{"Hi", kMessage}, {"<assistant><think>", kOwn}, {"I should", kMessage}})));
  EXPECT_FALSE(marks.end_inside(parts({{"Hi", kMessage}, {"<assistant>", kOwn}, {"I am", kMessage}})));
  EXPECT_FALSE(marks.end_inside({}));
}

/// The family of a template, and whether prompts end inside: by themselves, with enable_thinking true, and false.
struct Expected {
  std::string family;
  bool by_itself = false, enabled = false, disabled = false;
};

const std::map<std::string, Expected> kExpected = {
#include "chat/template_reasoning.inc"
};

TEST(ReasoningMarks, EachTemplateOfTheTestDataHasItsFamilyAndItsPromptsEnd) {
  const std::vector<ChatMessage> messages = {{"user", "What is <think> for?"}};
  int num_templates = 0;
  for (const auto& entry : std::filesystem::directory_iterator(test_data_folder() / "templates")) {
    if (entry.path().extension() != ".jinja") continue;
    ++num_templates;
    const ChatTokenizer chat = tokenizer_for(text_of(entry.path()));
    const std::string name = entry.path().stem().string();
    if (chat.reasoning() == nullptr) {
      EXPECT_FALSE(kExpected.contains(name)) << name << ": expected " << kExpected.at(name).family << ", found none";
      continue;
    }
    const auto ends_inside = [&](std::vector<std::pair<std::string, TemplateValue>> names) {
      const auto prompt = chat.chat_prompt(messages, {.names = std::move(names)});
      EXPECT_TRUE(prompt.has_value()) << name << ": " << prompt.error().message;
      return prompt && prompt->ends_in_reasoning;
    };
    const auto with = [&](bool on) { return ends_inside({{"enable_thinking", on}}); };  // by whichever name it reads
    const Expected is = {name_of(chat), ends_inside({}), with(true), with(false)};
    const auto expected = kExpected.find(name);
    const std::string row =
        fmt::format("{{\"{}\", {{\"{}\", {}, {}, {}}}}},", name, is.family, is.by_itself, is.enabled, is.disabled);
    if (expected == kExpected.end()) {
      ADD_FAILURE() << "found " << row << " expected none";
      continue;
    }
    EXPECT_EQ(is.family, expected->second.family) << row;
    EXPECT_EQ(is.by_itself, expected->second.by_itself) << row;
    EXPECT_EQ(is.enabled, expected->second.enabled) << row;
    EXPECT_EQ(is.disabled, expected->second.disabled) << row;
  }
  EXPECT_EQ(num_templates, 70);
}

}  // namespace
}  // namespace octavo::test
