// Prompts of a gap in a text: the marks of vocabularies, by their keys and by their texts.
#include <gmock/gmock.h>

#include "chat/infill_marks.h"
#include "chat/infill_prompt.h"
#include "tokenizer/real_vocab.h"
#include "tokenizer/small_vocab.h"

namespace octavo::test {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

constexpr std::size_t kEnough = 10'000;
const InfillText kGap = {.prefix = "def f(x):\n    return ", .suffix = "\n\nprint(f(1))\n"};

std::string text_of(const ChatTokenizer& chat, const InfillText& text, std::size_t max_tokens = kEnough) {
  const auto prompt = make_infill_prompt(chat, text, max_tokens);
  EXPECT_TRUE(prompt.has_value()) << prompt.error().message;
  return prompt ? chat.tokenizer().decode(prompt->tokens) : std::string();
}

/// Qwen2.5-Coder's marks.
ChatTokenizer coder() {
  SmallVocab vocab = small_bpe();
  for (const char* text :
       {"<|fim_prefix|>", "<|fim_middle|>", "<|fim_suffix|>", "<|fim_pad|>", "<|repo_name|>", "<|file_sep|>"})
    vocab.add(text, kControl);
  return std::move(*vocab.load<ChatTokenizer>());
}

TEST(InfillPrompt, HasTheMarksOfTheVocabularyAroundTheTexts) {
  EXPECT_EQ(text_of(load_real<ChatTokenizer>("ggml-vocab-deepseek-coder.gguf"), kGap),
            "<｜begin▁of▁sentence｜><｜fim▁begin｜>def f(x):\n    return <｜fim▁hole｜>\n\nprint(f(1))\n<｜fim▁end｜>");
  EXPECT_EQ(text_of(load_real<ChatTokenizer>("ggml-vocab-starcoder.gguf"), kGap),
            "<fim_prefix>def f(x):\n    return <fim_suffix>\n\nprint(f(1))\n<fim_middle>");
  EXPECT_EQ(text_of(load_real<ChatTokenizer>("ggml-vocab-refact.gguf"), kGap),
            "<reponame>myproject\n<fim_prefix>def f(x):\n    return <fim_suffix>\n\nprint(f(1))\n<fim_middle>");
}

TEST(InfillPrompt, OtherFilesStandInFrontUnderTheirNamesAsFarAsTheyFit) {
  const ChatTokenizer chat = coder();
  InfillText text = kGap;
  text.files = {{"a.py", "import b"}, {"b.py", "b = 1"}};
  const std::string gap =
      "<|file_sep|>filename\n<|fim_prefix|>def f(x):\n    return <|fim_suffix|>\n\nprint(f(1))\n<|fim_middle|>";
  const std::string head = "<|repo_name|>myproject\n", a = "<|file_sep|>a.py\nimport b", b = "<|file_sep|>b.py\nb = 1";
  EXPECT_EQ(text_of(chat, text), head + a + b + gap);
  const std::size_t all = make_infill_prompt(chat, text, kEnough)->tokens.size();
  EXPECT_EQ(make_infill_prompt(chat, text, all)->files_left_out, 0);
  EXPECT_EQ(make_infill_prompt(chat, text, all - 1)->files_left_out, 1);
  EXPECT_EQ(text_of(chat, text, all - 1), head + b + gap);
  text.files[1].text = std::string(2 * kEnough, 'x');
  EXPECT_EQ(make_infill_prompt(chat, text, all)->files_left_out, 2);
  text.files = {};
  const std::size_t least = make_infill_prompt(chat, text, kEnough)->tokens.size();
  EXPECT_EQ(make_infill_prompt(chat, text, least - 1).error().kind, ErrorKind::kContextOverflow);
  text.prefix = std::string(2 * kEnough, 'x');
  EXPECT_EQ(make_infill_prompt(chat, text, least).error().kind, ErrorKind::kContextOverflow);
}

TEST(InfillPrompt, WhereFilesHaveNoMarkALineIsBetweenThem) {
  InfillText text = kGap;
  text.files = {{"a.py", "import b"}};
  EXPECT_THAT(text_of(load_real<ChatTokenizer>("ggml-vocab-starcoder.gguf"), text),
              StartsWith("\n\n--- snip ---\n\nimport b<fim_prefix>"));
}

TEST(InfillPrompt, AMarkThatIsWrittenInATextIsText) {
  const ChatTokenizer chat = coder();
  const auto prompt = make_infill_prompt(chat, {.prefix = "<|fim_middle|>", .suffix = "x"}, kEnough);
  ASSERT_TRUE(prompt.has_value());
  EXPECT_EQ(std::ranges::count(prompt->tokens, chat.infill_marks()->middle), 1);
}

TEST(InfillPrompt, KeysGoBeforeTexts) {
  SmallVocab vocab = small_bpe();
  for (const char* text : {"<fim_prefix>", "<fim_suffix>", "<fim_middle>"}) vocab.add(text, kControl);
  const auto first = static_cast<std::uint32_t>(vocab.tokens.size());
  for (const char* text : {"[P]", "[S]", "[M]"}) vocab.add(text, kControl);
  vocab.ids = {{"fim_pre_token_id", first}, {"suffix_token_id", first + 1}, {"fim_mid_token_id", first + 2}};
  EXPECT_EQ(text_of(*vocab.load<ChatTokenizer>(), {.prefix = "a", .suffix = "b"}), "[P]a[S]b[M]");
  vocab.ids[0].second = first + 3;
  EXPECT_THAT(vocab.load<ChatTokenizer>().error().message, HasSubstr("tokenizer.ggml.fim_pre_token_id"));
}

TEST(InfillPrompt, AVocabularyWithoutMarksIsAnError) {
  const ChatTokenizer chat = load_real<ChatTokenizer>("ggml-vocab-llama-bpe.gguf");
  EXPECT_EQ(chat.infill_marks(), nullptr);
  EXPECT_EQ(make_infill_prompt(chat, kGap, kEnough).error().kind, ErrorKind::kNoWords);
}

}  // namespace
}  // namespace octavo::test
