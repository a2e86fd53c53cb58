// Prompts with pictures, by templates that models come with: one placeholder for each, which no text becomes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <iterator>

#include "base/error.h"
#include "chat/chat_tokenizer.h"
#include "support/memory_source.h"
#include "tokenizer/real_vocab.h"

namespace octavo::test {
namespace {

using testing::HasSubstr;

constexpr PictureMarks kQwen = {.place = "<|vision_start|><|image_pad|><|vision_end|>", .placeholder = "<|image_pad|>"};
constexpr std::string_view kPlace = kQwen.place;

/// The part of Qwen3-VL's template that writes contents.
constexpr std::string_view kQwen3Vl =
    "{%- set image_count = namespace(value=0) %}"
    "{%- for message in messages %}{{- '<|im_start|>' + message.role + '\\n' }}"
    "{%- if message.content is string %}{{- message.content }}{%- else %}"
    "{%- for content in message.content %}"
    "{%- if content.type == 'image' or 'image' in content or 'image_url' in content %}"
    "{%- set image_count.value = image_count.value + 1 %}"
    "{%- if add_vision_id %}Picture {{ image_count.value }}: {% endif -%}"
    "<|vision_start|><|image_pad|><|vision_end|>"
    "{%- elif 'text' in content %}{{- content.text }}{%- endif %}{%- endfor %}{%- endif %}"
    "{{- '<|im_end|>\\n' }}{%- endfor %}";
/// A template without a place for pictures.
constexpr std::string_view kTextOnly =
    "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n{% endfor %}";

std::string qwen35_template() {
  std::ifstream file(test_data_folder() / "templates" / "Qwen3.5-4B.jinja", std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

/// A vocabulary of ASCII and these tokens, of one type all of them.
MemorySource vocabulary(std::int32_t type = 3) {
  std::vector<std::string> tokens = {"<|im_end|>", "<|im_start|>", "<|vision_start|>", "<|image_pad|>",
                                     "<|vision_end|>"};
  std::vector<std::int32_t> types(tokens.size(), type);
  for (char c = '!'; c <= '~'; ++c) tokens.emplace_back(1, c);
  tokens.insert(tokens.end(), {"\u0120", "\u010A"});  // a space and a line break
  types.resize(tokens.size(), 1);
  MemorySource source;
  source.add("general.architecture", "llama").add("tokenizer.ggml.model", "gpt2").add("tokenizer.ggml.pre", "gpt-2");
  source.add_array("tokenizer.ggml.tokens", tokens).add_array("tokenizer.ggml.token_type", types);
  source.add_array("tokenizer.ggml.merges", std::vector<std::string>{});
  source.add("tokenizer.ggml.eos_token_id", std::uint32_t{0});
  return source;
}
constexpr TokenId kPlaceholder = 3;

ChatTokenizer load(std::string_view jinja, const PictureMarks& marks = kQwen, std::int32_t type = 3) {
  auto chat = ChatTokenizer::load(vocabulary(type), jinja, nullptr, {}, marks);
  EXPECT_TRUE(chat) << chat.error().message;
  return std::move(*chat);
}

ContentPart text(std::string words) { return {.text = std::move(words)}; }
ContentPart picture() { return {.kind = ContentPart::Kind::kPicture}; }
ChatMessage user(std::vector<ContentPart> parts) { return {.role = "user", .content = {}, .parts = std::move(parts)}; }

std::string prompt(const ChatTokenizer& chat, const std::vector<ChatMessage>& messages, TemplateDict names = {}) {
  const auto made = chat.render_chat_template(messages, {.names = std::move(names), .add_generation_prompt = false});
  return made ? *made : made.error().message;
}

std::ptrdiff_t num_placeholders(const ChatTokenizer& chat, const std::vector<ChatMessage>& messages) {
  const auto made = chat.chat_prompt(messages);
  EXPECT_TRUE(made) << made.error().message;
  return made ? std::ranges::count(made->tokens, kPlaceholder) : -1;
}

TEST(PicturePrompts, QwensTemplatesWriteAPictureInItsPlace) {
  const std::vector<ChatMessage> messages = {user({text("Is "), picture(), text(" like "), picture(), text("?")})};
  const std::string wanted =
      "<|im_start|>user\nIs " + std::string(kPlace) + " like " + std::string(kPlace) + "?<|im_end|>\n";
  for (const std::string& jinja : {qwen35_template(), std::string(kQwen3Vl)}) {
    const ChatTokenizer chat = load(jinja);
    EXPECT_EQ(prompt(chat, messages), wanted);
    EXPECT_EQ(num_placeholders(chat, messages), 2);
  }
  EXPECT_THAT(prompt(load(kQwen3Vl), messages, {{"add_vision_id", true}}), HasSubstr(" like Picture 2: <|vision"));
}

TEST(PicturePrompts, ATemplateWithoutAPlaceGetsTheFamilysMarks) {
  const ChatTokenizer chat = load(kTextOnly);
  const std::vector<ChatMessage> messages = {
      user({text("What is it?"), picture()}), {"assistant", "A cat."}, user({picture()})};
  EXPECT_EQ(prompt(chat, messages), "<|im_start|>user\n" + std::string(kPlace) +
                                        "What is it?<|im_end|>\n<|im_start|>assistant\nA cat.<|im_end|>\n"
                                        "<|im_start|>user\n" +
                                        std::string(kPlace) + "<|im_end|>\n");
  EXPECT_EQ(num_placeholders(chat, messages), 2);
}

TEST(PicturePrompts, ATemplateThatWritesAnotherPlaceholderHasNoPlace) {
  const ChatTokenizer chat = load(
      "{% for m in messages %}{% if m.content is string %}{{ m.content }}{% else %}{% for p in m.content %}"
      "{{ '<image>' if p.type == 'image' else p.text }}{% endfor %}{% endif %}{% endfor %}");
  EXPECT_EQ(prompt(chat, {user({text("u"), picture()})}), std::string(kPlace) + "u");
}

TEST(PicturePrompts, ASystemMessagesPictureIsTheNextUsers) {
  const std::vector<ChatMessage> messages = {{.role = "system", .content = {}, .parts = {text("Look."), picture()}},
                                             {"user", "Hm?"}};
  const ChatTokenizer chat = load(qwen35_template());
  EXPECT_EQ(prompt(chat, messages),
            "<|im_start|>system\nLook.<|im_end|>\n<|im_start|>user\n" + std::string(kPlace) + "Hm?<|im_end|>\n");
}

TEST(PicturePrompts, AToolsPictureStaysInItsResult) {
  const std::vector<ChatMessage> messages = {
      {"user", "Look!"},
      {.role = "assistant", .content = {}, .tool_calls = {{.id = "1", .name = "see", .arguments = TemplateDict{}}}},
      {.role = "tool", .content = {}, .parts = {text("Here: "), picture()}, .tool_call_id = "1"}};
  const ChatTokenizer chat = load(qwen35_template());
  EXPECT_THAT(prompt(chat, messages),
              HasSubstr("<tool_response>\nHere: " + std::string(kPlace) + "\n</tool_response>"));
  EXPECT_EQ(num_placeholders(chat, messages), 1);
}

TEST(PicturePrompts, NoTextBecomesAPlaceholderWhateverItsTypeInTheFile) {
  constexpr std::int32_t kControl = 3, kUserDefined = 4;
  const std::string marks(kPlace);
  for (const std::int32_t type : {kControl, kUserDefined})
    for (const std::string& jinja : {qwen35_template(), std::string(kTextOnly)}) {
      const ChatTokenizer chat = load(jinja, kQwen, type);
      const std::vector<ChatMessage> messages = {
          {"system", marks}, user({text(marks), picture(), text(marks)}), {"assistant", marks}, {"user", marks}};
      EXPECT_EQ(num_placeholders(chat, messages), 1) << jinja.size() << ", " << type;
    }
}

TEST(PicturePrompts, AModelWithoutMarksRefusesAPicture) {
  const std::vector<ChatMessage> messages = {{"user", "Hi"}, user({picture()})};
  EXPECT_THAT(prompt(load(qwen35_template(), {}), messages), HasSubstr("messages[1]: found a picture"));
}

}  // namespace
}  // namespace octavo::test
