// Texts and pairs of texts as tokens of a vocabulary that puts BOS in front: alone, one behind the other, cut, refused.
#include "engine/text/embedding_prompt.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "chat/chat_tokenizer.h"
#include "support/memory_source.h"
#include "support/tiny_vocab.h"

namespace octavo::test {
namespace {

using ::testing::HasSubstr;

class EmbeddingPrompts : public ::testing::Test {
 protected:
  std::vector<TokenId> words(std::string_view text) const {
    return tokenizer().encode(text, {.add_special = false, .parse_special = false}).value();
  }
  std::vector<TokenId> with_front(std::string_view text) const {
    std::vector<TokenId> tokens(tokenizer().text_prefix().begin(), tokenizer().text_prefix().end());
    const std::vector<TokenId> rest = words(text);
    tokens.insert(tokens.end(), rest.begin(), rest.end());
    return tokens;
  }
  const Tokenizer& tokenizer() const { return chat_->tokenizer(); }

  std::unique_ptr<const ChatTokenizer> chat_ = tiny_tokenizer(40);
};

TEST_F(EmbeddingPrompts, ATextHasTheTokensAroundIt) {
  EXPECT_EQ(make_embedding_prompt(tokenizer(), "ABCD", {.max_tokens = 50})->tokens, with_front("ABCD"));
  EXPECT_EQ(make_embedding_prompt(tokenizer(), "ABCD", {.max_tokens = 50, .add_special = false})->tokens,
            words("ABCD"));
}

TEST_F(EmbeddingPrompts, ALongTextIsCutOrRefused) {
  for (const bool add_special : {false, true}) {
    const auto whole = make_embedding_prompt(tokenizer(), "ABCDEF", {.max_tokens = 50, .add_special = add_special});
    ASSERT_GT(whole->tokens.size(), 4U);
    EmbeddingPromptOptions options{.max_tokens = 4, .add_special = add_special};
    const auto refused = make_embedding_prompt(tokenizer(), "ABCDEF", options);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().kind, ErrorKind::kContextOverflow);
    options.cuts = true;
    const auto cut = make_embedding_prompt(tokenizer(), "ABCDEF", options);
    EXPECT_TRUE(cut->is_cut);
    EXPECT_EQ(cut->tokens, std::vector<TokenId>(whole->tokens.begin(), whole->tokens.begin() + 4));
  }
}

TEST_F(EmbeddingPrompts, WithoutAFormForTwoOneTextStandsBehindTheOther) {
  ASSERT_FALSE(tokenizer().has_pairs());
  const auto pair = make_rank_prompt(tokenizer(), {}, "ABC", "DE", {.max_tokens = 50});
  std::vector<TokenId> expected = with_front("ABC");
  const std::vector<TokenId> document = words("DE");
  expected.insert(expected.end(), document.begin(), document.end());
  EXPECT_EQ(pair->tokens, expected);
  const auto cut = make_rank_prompt(tokenizer(), {}, "ABC", "DE", {.max_tokens = expected.size() - 1, .cuts = true});
  expected.pop_back();
  EXPECT_EQ(cut->tokens, expected) << "the document loses its end";
  EXPECT_TRUE(cut->is_cut);
  EXPECT_FALSE(make_rank_prompt(tokenizer(), {}, "ABC", "DE", {.max_tokens = expected.size()}));
}

TEST_F(EmbeddingPrompts, AQueryBecomesTokensOnceForAllItsDocuments) {
  QueryTokens query;
  RequestWork work;
  const std::string_view documents[] = {"DE", "FGH", "I"};
  for (const std::string_view document : documents) {
    const auto kept =
        make_rank_prompt(tokenizer(), {}, "ABC", document, {.max_tokens = 50, .query = &query, .work = &work});
    EXPECT_EQ(kept->tokens, make_rank_prompt(tokenizer(), {}, "ABC", document, {.max_tokens = 50})->tokens);
  }
  EXPECT_EQ(work.text_bytes(), 3U + 2 + 3 + 1);
  EXPECT_FALSE(make_rank_prompt(tokenizer(), {}, "ABC", "", {.max_tokens = 1, .query = &query}))
      << "no more room for it";
}

TEST_F(EmbeddingPrompts, AStopAndTooManyBytesAreErrors) {
  RequestWork small({}, 5);
  EXPECT_TRUE(make_embedding_prompt(tokenizer(), "ABCD", {.max_tokens = 50, .work = &small}));
  EXPECT_THAT(make_embedding_prompt(tokenizer(), "EF", {.max_tokens = 50, .work = &small}).error().message,
              HasSubstr("found 6 bytes of text to be made tokens, where a text counts each time that it is read, "
                        "expected at most 5 in a request"));
  std::stop_source stop;
  RequestWork stopped(stop.get_token());
  stop.request_stop();
  EXPECT_EQ(make_embedding_prompt(tokenizer(), "AB", {.max_tokens = 50, .work = &stopped}).error().kind,
            ErrorKind::kStopped);
}

TEST_F(EmbeddingPrompts, OfATemplateTheDocumentLosesItsEnd) {
  MemorySource source;
  source.add("tokenizer.chat_template.rerank", "A{query}B{document}C");
  const RankTemplate rank_template = RankTemplate::load(source).value();
  EXPECT_EQ(make_rank_prompt(tokenizer(), rank_template, "D", "EFGHIJ", {.max_tokens = 50})->tokens,
            tokenizer().encode_prompt(rank_template.parts("D", "EFGHIJ")).value());
  const std::size_t most = tokenizer().encode_prompt(rank_template.parts("D", "EFG"))->size();
  const auto cut = make_rank_prompt(tokenizer(), rank_template, "D", "EFGHIJ", {.max_tokens = most, .cuts = true});
  EXPECT_EQ(cut->tokens, tokenizer().encode_prompt(rank_template.parts("D", "EFG")).value());
  EXPECT_TRUE(cut->is_cut);
  const auto refused = make_rank_prompt(tokenizer(), rank_template, "D", "EFGHIJ", {.max_tokens = most});
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message, HasSubstr("expected at most"));
}

}  // namespace
}  // namespace octavo::test
