// Unigram on vocabularies of a few tokens; tools/encoder_words_truth.py compares real ones with `tokenizers`.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "tokenizer/small_vocab.h"

namespace octavo::test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::vector<TokenId> ids_of(const SmallVocab& vocab, std::string_view text) {
  const auto tokenizer = vocab.load();
  EXPECT_TRUE(tokenizer) << tokenizer.error().message;
  return tokenizer->encode(text, {.add_special = false, .parse_special = false}).value();
}

TEST(Unigram, TheBestSumOfScoresWins) {
  const SmallVocab vocab = small_unigram();
  EXPECT_THAT(ids_of(vocab, "hello"), ElementsAre(5, 6)) << "-9.75 together, and -10 as one token";
  EXPECT_THAT(ids_of(vocab, "ab"), ElementsAre(13));
  EXPECT_THAT(ids_of(vocab, "aab"), ElementsAre(4, 10, 10, 11)) << "-14.2 for a and b, and -15 for both";
}

TEST(Unigram, UnknownCharactersBesideEachOtherAreOneToken) {
  const SmallVocab vocab = small_unigram();
  EXPECT_THAT(ids_of(vocab, "abzz"), ElementsAre(13, 3));
  EXPECT_THAT(ids_of(vocab, "z\u4E2Da zz"), ElementsAre(4, 3, 10, 4, 3));
}

TEST(Unigram, BytesOfUnknownCharactersAreTokensWhereTheVocabularyHasThem) {
  SmallVocab vocab = small_unigram();
  const auto first_byte = static_cast<TokenId>(vocab.tokens.size());
  for (unsigned byte = 0; byte < 256; ++byte) vocab.add(fmt::format("<0x{:02X}>", byte), kByte);
  EXPECT_THAT(ids_of(vocab, "z\u00E9"), ElementsAre(4, first_byte + 'z', first_byte + 0xC3, first_byte + 0xA9));
  EXPECT_EQ(vocab.load().value().decode(ids_of(vocab, "z\u00E9")), "z\u00E9");
}

TEST(Unigram, UserDefinedTokensComeFirst) {
  SmallVocab vocab = small_unigram();
  const TokenId mark = vocab.add("a<b", kUserDefined, -100);
  EXPECT_THAT(ids_of(vocab, "aa<bb"), ElementsAre(4, 10, mark, 4, 11));
}

TEST(Unigram, SpacesAreMergedAndOneComesFirstAsTheFileSays) {
  SmallVocab vocab = small_unigram();
  EXPECT_THAT(ids_of(vocab, "  a \t\n a  "), ElementsAre(4, 10, 4, 10));
  vocab.flags.emplace_back("add_space_prefix", false);
  EXPECT_THAT(ids_of(vocab, "  a   a "), ElementsAre(10, 4, 10));
  vocab.flags.emplace_back("remove_extra_whitespaces", false);
  EXPECT_THAT(ids_of(vocab, "a  a "), ElementsAre(10, 4, 4, 10, 4));
  vocab.flags[2].second = true;
  EXPECT_THAT(ids_of(vocab, "a  a"), ElementsAre(4, 10, 4, 4, 10));
  EXPECT_THAT(ids_of(vocab, " a"), ElementsAre(4, 10)) << "the space is there";
}

TEST(Unigram, ATokenOfTwoWordsKeepsTheTextWhole) {
  SmallVocab vocab = small_unigram();
  const TokenId two = vocab.add("a\u2581a", kNormal, -1);
  EXPECT_THAT(ids_of(vocab, "a a"), ElementsAre(4, two));
}

TEST(Unigram, UnusedTokensDoNotLowerTheScoreOfUnknownCharacters) {
  constexpr std::int32_t kUnused = 5;
  SmallVocab vocab = small_unigram();
  const TokenId both = vocab.add("zb", kUnused, -10000);
  EXPECT_THAT(ids_of(vocab, "zb"), ElementsAre(4, 3, 11)) << "an unknown character has -25, the worst normal token -15";
  vocab.types.back() = kNormal;
  EXPECT_THAT(ids_of(vocab, "zb"), ElementsAre(4, both)) << "then an unknown character has -10010";
}

TEST(Unigram, DecodingGivesTheTextBack) {
  const auto tokenizer = small_unigram().load().value();
  EXPECT_EQ(tokenizer.decode(tokenizer.encode("hello ab a", {}).value()), "<s>hello ab a</s>");
}

TEST(Unigram, ScoresThatAreNoNumbersAreRefused) {
  for (const float wrong : {std::numeric_limits<float>::infinity(), -std::numeric_limits<float>::infinity(),
                            std::numeric_limits<float>::quiet_NaN()}) {
    SmallVocab vocab = small_unigram();
    vocab.scores[7] = wrong;
    const auto tokenizer = vocab.load();
    ASSERT_FALSE(tokenizer) << wrong;
    EXPECT_THAT(tokenizer.error().message, HasSubstr("tokenizer.ggml.scores"));
  }
  SmallVocab few = small_unigram();
  few.scores.pop_back();
  EXPECT_THAT(few.load().error().message, HasSubstr("tokenizer.ggml.scores has 13 entries; expected 14"));
}

TEST(Unigram, AnUnknownTokenThatIsMissingIsNamed) {
  SmallVocab vocab = small_unigram();
  vocab.ids.erase(vocab.ids.begin() + 2);
  EXPECT_THAT(ids_of(vocab, "z"), ElementsAre(4, 3)) << "found by its text";
  vocab.tokens[3] = "?";
  const auto tokenizer = vocab.load();
  ASSERT_FALSE(tokenizer);
  EXPECT_THAT(tokenizer.error().message, HasSubstr("unknown_token_id nor a token '<unk>'"));
}

TEST(Unigram, ACharsmapOfAFileIsReadOrRefused) {
  const SmallVocab vocab = small_unigram();
  const auto with = [&](auto values) {
    return vocab.load_with(
        [&](GgufWriter& writer) { writer.add_array("tokenizer.ggml.precompiled_charsmap", values); });
  };
  EXPECT_TRUE(with(std::vector<std::uint8_t>{}));
  const auto broken = with(std::vector<std::uint8_t>{8, 0, 0, 0, 1, 2});
  ASSERT_FALSE(broken);
  EXPECT_THAT(broken.error().message, HasSubstr("precompiled_charsmap: found a double array of 8 bytes"));
  const auto text = with(std::vector<std::string>{"a"});
  ASSERT_FALSE(text);
  EXPECT_THAT(text.error().message, HasSubstr("precompiled_charsmap: found array of 1 string"));
}

TEST(Unigram, BrokenUtf8OfTextsAndTokensIsTaken) {
  SmallVocab vocab = small_unigram();
  vocab.add("\xC3", kNormal, -1);
  vocab.add("\xA9z", kNormal, -1);
  EXPECT_THAT(ids_of(vocab, "\u00E9z\xFF"), ElementsAre(4, 3)) << "no token may end within a character";
}

}  // namespace
}  // namespace octavo::test
