// Every family's answers end: by the file's keys, by a token's text, and else by what the chat template writes.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <map>
#include <regex>

#include "chat/chat_tokenizer.h"
#include "support/memory_source.h"
#include "tokenizer/real_vocab.h"
#include "tokenizer/small_vocab.h"

namespace octavo::test {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

std::vector<std::string> texts_of(const ChatTokenizer& chat) {
  std::vector<std::string> texts;
  for (const EndToken& end : chat.tokenizer().end_tokens()) texts.push_back(end.text + " by " + end.source);
  return texts;
}

ChatTokenizer with(std::string chat_template, const std::vector<std::string>& controls) {
  SmallVocab vocab = small_bpe();
  vocab.tokens.resize(vocab.tokens.size() - 3);  // without its own control tokens
  vocab.types.resize(vocab.tokens.size());
  vocab.chat_template = std::move(chat_template);
  for (const std::string& text : controls) vocab.add(text, kControl);
  return std::move(*vocab.load<ChatTokenizer>());
}

TEST(EndTokens, ATemplatesEndOfTheTurnIsOneWhereNothingElseSaysSo) {
  const std::string turns =
      "{% for m in messages %}<turn>{{ m.role }}<is>{{ m.content }}<done>{% endfor %}"
      "{% if add_generation_prompt %}<turn>assistant<is>{% endif %}";
  EXPECT_THAT(texts_of(with(turns, {"<turn>", "<is>", "<done>"})), ElementsAre("<done> by chat template"));
  const std::string header_ends =
      "{% for m in messages %}<{{ m.role }}>{{ m.content }}{% endfor %}{% if add_generation_prompt %}<assistant>"
      "{% endif %}";
  EXPECT_THAT(texts_of(with(header_ends, {"<user>", "<assistant>"})), ElementsAre("<user> by chat template"));
  EXPECT_TRUE(with(turns, {"<turn>", "<is>", "<done>"}).tokenizer().is_end_of_generation(265));
}

TEST(EndTokens, ATemplateAddsNoneToAnEndThatIsKnown) {
  const std::string turns = "{% for m in messages %}{{ m.content }}<close><|im_end|>{% endfor %}";
  EXPECT_THAT(texts_of(with(turns, {"<close>", "<|im_end|>"})), ElementsAre("<|im_end|> by its text"));
}

TEST(EndTokens, WithoutAnyThereIsNone) {
  EXPECT_THAT(texts_of(with("{{ messages[0].content }}", {"<a>"})), IsEmpty());
  EXPECT_THAT(texts_of(with("{{ raise_exception('no') }}", {"<a>"})), IsEmpty());
  EXPECT_THAT(texts_of(with("", {"<a>"})), IsEmpty());
}

TEST(EndTokens, KeysAreNamed) {
  SmallVocab vocab = small_bpe();
  vocab.ids = {{"eos_token_id", 263}, {"eot_token_id", 264}};
  EXPECT_THAT(texts_of(std::move(*vocab.load<ChatTokenizer>())),
              ElementsAre("<|endoftext|> by tokenizer.ggml.eos_token_id", "<|im_start|> by tokenizer.ggml.eot_token_id",
                          "<|im_end|> by its text"));
}

TEST(EndTokens, EveryVocabularyOfTheTestDataHasOne) {
  int num_files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(test_data_folder())) {
    if (entry.path().extension() != ".gguf") continue;
    ++num_files;
    EXPECT_FALSE(load_real<ChatTokenizer>(entry.path().filename().string()).tokenizer().end_tokens().empty())
        << entry.path();
  }
  EXPECT_GE(num_files, 14);
}

/// The template's texts in brackets, when it renders a conversation with an answer.
std::vector<std::string> controls_of(const std::string& jinja) {
  const auto chat_template = ChatTemplate::load(MemorySource(), jinja);
  if (!chat_template) return {};
  std::vector<ChatMessage> messages;
  for (const char* role : {"user", "assistant", "user"}) {
    messages.emplace_back().role = role;
    messages.back().content = "It is so.";
  }
  std::tm now{};
  now.tm_mday = 1;
  const auto parts = chat_template->render(messages, {.bos = "<bos-of-file>", .eos = "<eos-of-file>"}, {}, now);
  std::vector<std::string> found;
  if (!parts) return found;
  for (const PromptPart& part : *parts) {
    if (!part.is_template) continue;
    const std::regex control("<[^<>\\s]{1,60}>|\\[/?[A-Z_]{2,30}\\]");
    for (auto at = std::sregex_iterator(part.text.begin(), part.text.end(), control); at != std::sregex_iterator();
         ++at)
      if (std::ranges::find(found, at->str()) == found.end()) found.push_back(at->str());
  }
  return found;
}

// Without an end: MiniMax's is "[e~[", in no brackets that controls_of() knows, and known by its text; firefunction
// refuses the conversation; RWKV's turns end with text.
const std::map<std::string, std::string> kExpected = {
#include "chat/template_ends.inc"
};

// The file gives BOS and EOS; EOS as a key says so by itself, so that here it is known by nothing but the template.
TEST(EndTokens, EachTemplateOfTheTestDataEndsTheAssistantsTurn) {
  int num_templates = 0;
  for (const auto& entry : std::filesystem::directory_iterator(test_data_folder() / "templates")) {
    if (entry.path().extension() != ".jinja") continue;
    ++num_templates;
    std::ifstream stream(entry.path(), std::ios::binary);
    const std::string jinja{std::istreambuf_iterator<char>(stream), {}};
    const std::string name = entry.path().stem().string();
    std::string ends;
    const std::vector<std::string> controls = controls_of(jinja);
    SmallVocab vocab = small_bpe();
    vocab.tokens.resize(vocab.tokens.size() - 3);
    vocab.types.resize(vocab.tokens.size());
    vocab.chat_template = jinja;
    for (const std::string& text : controls)
      if (text != "<bos-of-file>" && text != "<eos-of-file>") vocab.add(text, kControl);
    const TokenId bos = vocab.add("<bos-of-file>", kControl), eos = vocab.add("<eos-of-file>", kControl);
    vocab.ids = {{"bos_token_id", static_cast<std::uint32_t>(bos)}, {"eos_token_id", static_cast<std::uint32_t>(eos)}};
    const auto chat = vocab.load<ChatTokenizer>();
    ASSERT_TRUE(chat) << name << chat.error().message;
    for (const EndToken& end : chat->tokenizer().end_tokens())
      if (end.id != eos || std::ranges::find(controls, end.text) != controls.end())
        ends += (ends.empty() ? "" : " ") + end.text;
    const auto expected = kExpected.find(name);
    const std::string row = fmt::format("{{\"{}\", \"{}\"}},", name, ends);
    EXPECT_EQ(expected == kExpected.end() ? "no row" : expected->second, ends) << row;
  }
  EXPECT_EQ(num_templates, 70);
}

}  // namespace
}  // namespace octavo::test
