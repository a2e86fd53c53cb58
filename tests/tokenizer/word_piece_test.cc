// WordPiece on vocabularies of a few tokens; tools/encoder_words_truth.py compares real ones with `tokenizers`.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tokenizer/small_vocab.h"

namespace octavo::test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::vector<TokenId> ids_of(const SmallVocab& vocab, std::string_view text, bool parse_special = false) {
  const auto tokenizer = vocab.load();
  EXPECT_TRUE(tokenizer) << tokenizer.error().message;
  return tokenizer->encode(text, {.add_special = false, .parse_special = parse_special}).value();
}

TEST(WordPiece, TakesTheLongestTokenAndThenThoseThatGoOn) {
  const SmallVocab vocab = small_word_piece();
  EXPECT_THAT(ids_of(vocab, "hello hellos"), ElementsAre(5, 5, 6));
  EXPECT_THAT(ids_of(vocab, "aaa"), ElementsAre(12, 13, 13));
  EXPECT_THAT(ids_of(vocab, "s"), ElementsAre(1)) << "a token that goes on a word begins none";
}

TEST(WordPiece, AWordThatEndsInNoTokenIsUnknownAsAWhole) {
  EXPECT_THAT(ids_of(small_word_piece(), "hello hellox world"), ElementsAre(5, 1, 7));
}

TEST(WordPiece, AWordOfMoreThanAHundredCharactersIsUnknown) {
  const SmallVocab vocab = small_word_piece();
  EXPECT_THAT(ids_of(vocab, std::string(100, 'a')), testing::SizeIs(100));
  EXPECT_THAT(ids_of(vocab, std::string(101, 'a')), ElementsAre(1));
  EXPECT_THAT(ids_of(vocab, std::string(1'000'000, 'a') + " a"), ElementsAre(1, 12));
}

TEST(WordPiece, TextIsCleanedLowerCasedAndCutAsBertDoes) {
  const SmallVocab vocab = small_word_piece();
  EXPECT_THAT(ids_of(vocab, "HELLO,world!"), ElementsAre(5, 8, 7, 9));
  EXPECT_THAT(ids_of(vocab, "Nai\u0308ve na\u00EFve"), ElementsAre(10, 10));
  EXPECT_THAT(ids_of(vocab, "a\u4E2Da"), ElementsAre(12, 11, 12)) << "Chinese characters stand apart";
  EXPECT_THAT(ids_of(vocab, "he\u200Bl\u0001lo\u3000\ta"), ElementsAre(5, 12));
  EXPECT_THAT(ids_of(vocab, "hello \xFF world"), ElementsAre(5, 7)) << "a broken byte is U+FFFD, which is left out";
}

TEST(WordPiece, ACasedVocabularyKeepsCapitalLettersAndAccents) {
  SmallVocab vocab = small_word_piece();
  const TokenId capital = vocab.add("\u2581Hello");
  EXPECT_THAT(ids_of(vocab, "Hello"), ElementsAre(capital)) << "its words have capital letters";
  EXPECT_THAT(ids_of(vocab, "na\u00EFve"), ElementsAre(14));
  vocab.flags = {{"normalizer.lowercase", true}};
  EXPECT_THAT(ids_of(vocab, "Hello na\u00EFve"), ElementsAre(5, 10)) << "the file says otherwise";
  vocab.flags = {{"normalizer.lowercase", true}, {"normalizer.strip_accents", false}};
  EXPECT_THAT(ids_of(vocab, "HELLO na\u00EFve"), ElementsAre(5, 14));
}

TEST(WordPiece, SpecialTokensStandAroundAText) {
  const auto tokenizer = small_word_piece().load().value();
  EXPECT_THAT(tokenizer.encode("hello", {}).value(), ElementsAre(2, 5, 3));
  EXPECT_THAT(tokenizer.encode("[MASK] hello", {}).value(), ElementsAre(2, 4, 5, 3));
  EXPECT_EQ(tokenizer.bos(), 2);
  EXPECT_EQ(tokenizer.eos(), 3);
  SmallVocab by_text = small_word_piece();
  by_text.ids.clear();
  EXPECT_THAT(by_text.load().value().encode("hello", {}).value(), ElementsAre(2, 5, 3));
  by_text = small_word_piece();
  by_text.ids.back().first = "separator_token_id";
  by_text.ids.back().second = 4;
  EXPECT_THAT(by_text.load().value().encode("hello", {}).value(), ElementsAre(2, 5, 4));
}

TEST(WordPiece, SpecialTokensThatAreMissingAreNamed) {
  for (const auto& [key, text] : {std::pair("unknown_token_id", "[UNK]"), std::pair("cls_token_id", "[CLS]"),
                                  std::pair("seperator_token_id", "[SEP]")}) {
    SmallVocab vocab = small_word_piece();
    vocab.ids.clear();
    for (std::string& token : vocab.tokens)
      if (token == text) token = "[other]";
    const auto tokenizer = vocab.load();
    ASSERT_FALSE(tokenizer) << text;
    EXPECT_THAT(tokenizer.error().message, testing::AllOf(HasSubstr(key), HasSubstr(text)));
  }
}

TEST(WordPiece, DecodedWordsHaveASpaceBetween) {
  const auto tokenizer = small_word_piece().load().value();
  EXPECT_EQ(tokenizer.decode(std::vector<TokenId>{2, 5, 6, 7, 3}), "[CLS]hellos world[SEP]");
  EXPECT_EQ(tokenizer.decode(std::vector<TokenId>{5, 1, 7}), "hello [UNK] world");
}

TEST(WordPiece, ATokenThatIsTooLongIsRefused) {
  SmallVocab vocab = small_word_piece();
  vocab.add("\u2581" + std::string(600, 'x'));
  const auto tokenizer = vocab.load();
  ASSERT_FALSE(tokenizer);
  EXPECT_THAT(tokenizer.error().message,
              testing::AllOf(HasSubstr("tokenizer.ggml.tokens"), HasSubstr("600 bytes"), HasSubstr("at most 512")));
}

}  // namespace
}  // namespace octavo::test
