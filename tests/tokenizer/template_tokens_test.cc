// Tokens that the template writes stay out of content, whatever type the file gives them.
#include "tokenizer/template_tokens.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tokenizer/small_vocab.h"

namespace octavo::test {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::Not;

constexpr std::string_view kChatMl =
    "{% for message in messages %}{{'<|im_start|>' + message['role'] + '\n' + message['content'] + '<|im_end|>' + "
    "'\n'}}"
    "{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}";
constexpr TokenizeOptions kPlain{.add_special = false, .parse_special = false};
constexpr TokenizeOptions kParse{.add_special = false, .parse_special = true};

/// small_bpe() with <|im_start|>, the template's marker, typed as a user-defined token, as converters often do.
struct Mistyped {
  SmallVocab vocab = small_bpe();
  TokenId start = 264;

  explicit Mistyped(std::string_view chat_template = kChatMl) {
    vocab.chat_template = chat_template;
    vocab.types[static_cast<std::size_t>(start)] = kUserDefined;
  }
};

TEST(TemplateTokens, LiteralsAreTheTextsThatATemplateWrites) {
  EXPECT_THAT(template_literals("a{{ bos }}b{# 'no' #}{% if x == \"c\" %}{{'d\\n\\'' + m['role']}}"),
              ElementsAre("a", "b", "c", "d\n'"));
  EXPECT_THAT(template_literals("{{ '}}' }}%}"), ElementsAre("}}", "%}"));
  for (const std::string_view broken : {"", "{", "{{", "{{'", "{{'\\", "{#", "{%['x'", "{{'a'"}) {
    template_literals(broken);  // ends, and reads nothing behind the source
  }
}

TEST(TemplateTokens, RawTextStillBecomesThem) {
  const Mistyped mistyped;
  const Tokenizer tokenizer = *mistyped.vocab.load();
  EXPECT_THAT(*tokenizer.encode("hello<|im_start|>hello", kParse), ElementsAre(259, mistyped.start, 259));
  EXPECT_THAT(*tokenizer.encode("<|im_start|>", kPlain), Not(Contains(mistyped.start)));
}

TEST(TemplateTokens, MergesAndWholeWordsNeverMakeThem) {
  Mistyped merged("{{ '<go>' }}");
  const TokenId half = merged.vocab.add("<g"), rest = merged.vocab.add("o>");
  const TokenId go = merged.vocab.add("<go>", kUserDefined);
  merged.vocab.merges.insert(merged.vocab.merges.end(), {"< g", "o >", "<g o>"});
  EXPECT_THAT(*merged.vocab.load()->encode("<go>", kPlain), Not(Contains(go)));
  EXPECT_THAT(*merged.vocab.load()->encode("<go>", kParse), ElementsAre(go));
  merged.vocab.chat_template = kChatMl;  // which does not use it
  EXPECT_THAT(*merged.vocab.load()->encode("<go>", kPlain), ElementsAre(go));
  EXPECT_NE(half, rest);

  SmallVocab spm = small_spm();
  const TokenId marker = spm.add("<x>", kUserDefined, 100);
  spm.add("<", kNormal, -1);
  spm.add(">", kNormal, -1);
  spm.add("<x", kNormal, -1);
  spm.chat_template = "<x>{{ messages }}";
  EXPECT_THAT(*spm.load()->encode("a<x>a", kPlain), Not(Contains(marker)));
  EXPECT_THAT(*spm.load()->encode("a<x>a", kParse), Contains(marker));
}

TEST(TemplateTokens, MarkersAroundARoleAndNamedTemplatesCount) {
  SmallVocab vocab = small_bpe();
  const TokenId user = vocab.add("<|user|>", kUserDefined), call = vocab.add("<call>", kUserDefined);
  vocab.chat_template = "{{ '<|' + message['role'] + '|>' + message['content'] }}";
  const auto tokenizer =
      vocab.load_with([](GgufWriter& writer) { writer.add("tokenizer.chat_template.tool_use", "<call>"); });
  ASSERT_TRUE(tokenizer);
  EXPECT_THAT(*tokenizer->encode("<|user|><call>", kPlain), Not(testing::AnyOf(Contains(user), Contains(call))));
  EXPECT_THAT(*tokenizer->encode("<|user|><call>", kParse), ElementsAre(user, call));
}

TEST(TemplateTokens, EndsOfAnswersAreNeverMatchedWhateverTheirType) {
  SmallVocab vocab = small_bpe();
  const TokenId end = vocab.add("<stop-here>", kUserDefined);
  vocab.ids = {{"eos_token_id", static_cast<std::uint32_t>(end)}, {"eot_token_id", 'q'}};
  const Tokenizer tokenizer = *vocab.load();
  EXPECT_THAT(*tokenizer.encode("<stop-here>q", kPlain), testing::AllOf(Not(Contains(end)), Contains('q')));
  EXPECT_THAT(*tokenizer.encode("<stop-here>", kParse), ElementsAre(end));
}

}  // namespace
}  // namespace octavo::test
