// The words in front of texts: those of a file, and those that makers are known to want.
#include "chat/named_prompts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/memory_source.h"

namespace octavo {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

/// `config`: of the file's key; empty: it has none.
Result<EmbeddingInfo> read(std::string_view config, std::string_view architecture, std::string_view name) {
  test::MemorySource source;
  if (!config.empty()) source.add("sentence_transformers.config", config);
  EmbeddingInfo info;
  OCTAVO_TRY_VOID(read_named_prompts(source, architecture, name, info));
  return info;
}

std::vector<std::string> names_of(std::string_view architecture, std::string_view name) {
  std::vector<std::string> names;
  const EmbeddingInfo info = read("", architecture, name).value();
  for (const NamedPrompt& prompt : info.prompts) names.push_back(prompt.name);
  return names;
}

TEST(NamedPrompts, AreThoseOfTheFile) {
  const auto info =
      read(R"({"prompts": {"query": "q: ", "passage": ""}, "default_prompt_name": "query"})", "bert", "e5-");
  EXPECT_EQ(info->prompts.size(), 2U);
  EXPECT_EQ(info->prompt_text({}).value(), "q: ");
  EXPECT_EQ(info->prompt_text("").value(), "");
  EXPECT_EQ(info->prompt_text("passage").value(), "");
  EXPECT_EQ(info->prompt_text("document").error().message, "found 'document', expected one of query, passage");
}

TEST(NamedPrompts, OfOtherFilesAreThoseThatMakersAreKnownToWant) {
  EXPECT_THAT(names_of("nomic-bert", "any"),
              ElementsAre("search_query", "search_document", "classification", "clustering"));
  EXPECT_THAT(names_of("bert", "Multilingual E5 Base"), ElementsAre("query", "passage"));
  EXPECT_THAT(names_of("bert", "multilingual-e5-large-instruct"), ElementsAre("query", "document"));
  EXPECT_THAT(names_of("qwen3", "Qwen3 Embedding 0.6B"), ElementsAre("query", "document"));
  EXPECT_THAT(names_of("bert", "all MiniLM L6 v2"), testing::IsEmpty());
  EXPECT_EQ(read("", "bert", "bge-small-en-v1.5")->prompt_text({}).value(), "") << "none is the default";
  EXPECT_THAT(read("{}", "nomic-bert", "any")->prompts.size(), 4U);
}

TEST(NamedPrompts, MistakesOfAFileNameTheKey) {
  const auto message = [](const std::string& text) { return read(text, "bert", "").error().message; };
  EXPECT_THAT(message("[]"), HasSubstr("sentence_transformers.config: "));
  EXPECT_THAT(message(R"({"prompts": {"query": 3}})"), HasSubstr("query is 3, expected a text"));
  EXPECT_THAT(message(R"({"prompts": {"query": ""}, "default_prompt_name": "it"})"),
              HasSubstr("default_prompt_name: found 'it', expected one of query"));
}

}  // namespace
}  // namespace octavo
