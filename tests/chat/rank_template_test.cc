#include "chat/rank_template.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/memory_source.h"

namespace octavo::test {
namespace {

using testing::HasSubstr;

constexpr const char* kKey = "tokenizer.chat_template.rerank";

TEST(RankTemplate, PutsQueryAndDocumentWhereTheFileSays) {
  MemorySource source;
  EXPECT_FALSE(RankTemplate::load(source).value().is_there());
  source.add(kKey, "<s>D: {document}\nQ: {query}, {query}!");
  const RankTemplate loaded = RankTemplate::load(source).value();
  ASSERT_TRUE(loaded.is_there());
  std::string text;
  for (const PromptPart& part : loaded.parts("why?", "a {query} of a document")) {
    text += part.text;
    EXPECT_EQ(part.is_template, part.text != "why?" && !part.text.contains("of a")) << part.text;
  }
  EXPECT_EQ(text, "<s>D: a {query} of a document\nQ: why?, why?!") << "what stands in a document is text";
}

TEST(RankTemplate, RefusesOneThatNamesNoDocument) {
  MemorySource source;
  source.add(kKey, "{query}");
  const auto loaded = RankTemplate::load(source);
  ASSERT_FALSE(loaded);
  EXPECT_THAT(loaded.error().message, HasSubstr("tokenizer.chat_template.rerank has no {document}"));
}

}  // namespace
}  // namespace octavo::test
