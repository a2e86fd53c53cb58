// Tokens around a text, and around two; ids of pairs are those of `tokenizers` (tools/encoder_words_truth.py).
#include "tokenizer/text/text_frame.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tokenizer/small_vocab.h"

namespace octavo::test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

/// A byte-level vocabulary of an encoder, whose tokens around a text are [CLS] and [SEP], or <s> and </s>.
SmallVocab byte_level_encoder(const char* first, const char* separator) {
  SmallVocab vocab = small_bpe();
  vocab.ids = {{"cls_token_id", static_cast<std::uint32_t>(vocab.add(first, kControl))},
               {"seperator_token_id", static_cast<std::uint32_t>(vocab.add(separator, kControl))}};
  vocab.flags = {{"add_bos_token", true}, {"add_sep_token", true}};
  return vocab;
}

TEST(TextFrame, BertHasOneSeparatorAndTwoTypes) {
  const auto tokenizer = small_word_piece().load().value();
  const auto pair = tokenizer.encode_pair("hello a", "world", {}).value();
  EXPECT_THAT(pair.ids, ElementsAre(2, 5, 12, 3, 7, 3));
  EXPECT_THAT(pair.types, ElementsAre(0, 0, 0, 0, 1, 1));
  EXPECT_FALSE(pair.is_cut);
  const auto single = tokenizer.encode_framed("hello a", {}).value();
  EXPECT_THAT(single.ids, ElementsAre(2, 5, 12, 3));
  EXPECT_THAT(single.types, ElementsAre(0, 0, 0, 0));
}

TEST(TextFrame, XlmRobertaHasTwoSeparatorsAndOneType) {
  SmallVocab vocab = small_unigram();
  const auto pair = vocab.load().value().encode_pair("hello", "a", {}).value();
  EXPECT_THAT(pair.ids, ElementsAre(0, 5, 6, 2, 2, 4, 10, 2));
  EXPECT_THAT(pair.types, testing::Each(0));
  vocab.flags.emplace_back("add_sep_token", false);
  EXPECT_THAT(vocab.load().value().encode_pair("hello", "a", {}).value().ids, ElementsAre(0, 5, 6, 2, 4, 10, 2));
}

TEST(TextFrame, APairMayBeMadeOfAFirstTextThatIsKept) {
  const auto tokenizer = small_word_piece().load().value();
  RequestWork work;
  const FrameOptions options{.work = &work};
  const auto first = tokenizer.encode_first("hello a", options).value();
  for (const std::string_view second : {"world", "a", "hello hello"})
    EXPECT_EQ(tokenizer.encode_second(first, second, options)->ids, tokenizer.encode_pair("hello a", second, {})->ids);
  EXPECT_EQ(work.text_bytes(), 7U + 5 + 1 + 11);
  EXPECT_EQ(tokenizer.encode_second(first, "a", {.max_tokens = 4}).error().kind, ErrorKind::kContextOverflow);
}

TEST(TextFrame, T5EndsEachTextWithEos) {
  SmallVocab vocab = small_unigram();
  vocab.flags.clear();
  const auto tokenizer = vocab.load().value();
  EXPECT_THAT(tokenizer.encode("a", {}).value(), ElementsAre(4, 10, 2)) << "the default of its files";
  EXPECT_THAT(tokenizer.encode_pair("a", "a", {}).value().ids, ElementsAre(4, 10, 2, 4, 10, 2));
}

TEST(TextFrame, ByteLevelWordsOfEncodersHaveClsAndSep) {
  const SmallVocab modern_bert = byte_level_encoder("[CLS]", "[SEP]");
  const auto tokenizer = modern_bert.load().value();
  const TokenId first = *tokenizer.bos();
  const TokenId separator = first + 1;
  EXPECT_THAT(tokenizer.encode("A", {}).value(), ElementsAre(first, 65, separator));
  const auto pair = tokenizer.encode_pair("A", "A", {}).value();
  EXPECT_THAT(pair.ids, ElementsAre(first, 65, separator, 65, separator));
  EXPECT_THAT(pair.types, ElementsAre(0, 0, 0, 1, 1));
  const auto roberta = byte_level_encoder("<s>", "</s>").load().value().encode_pair("A", "A", {}).value();
  EXPECT_THAT(roberta.ids, ElementsAre(first, 65, separator, separator, 65, separator));
  EXPECT_THAT(roberta.types, testing::Each(0));
}

TEST(TextFrame, ASeparatorThatIsMissingIsNamed) {
  SmallVocab vocab = byte_level_encoder("[CLS]", "[SEP]");
  vocab.ids.pop_back();
  const auto tokenizer = vocab.load();
  ASSERT_FALSE(tokenizer);
  EXPECT_THAT(tokenizer.error().message, HasSubstr("seperator_token_id is missing"));
}

TEST(TextFrame, WordsOfAChatModelHaveNoFormForTwoTexts) {
  const auto tokenizer = small_spm().load().value();
  EXPECT_FALSE(tokenizer.has_pairs());
  EXPECT_THAT(tokenizer.encode_pair("a", "b", {}).error().message, HasSubstr("no form for two texts"));
}

TEST(TextFrame, ATextIsCutSoThatTheTokensAroundItRemain) {
  const auto tokenizer = small_word_piece().load().value();
  const auto cut = tokenizer.encode_framed("hello a a a", {.max_tokens = 4, .cuts = true}).value();
  EXPECT_THAT(cut.ids, ElementsAre(2, 5, 12, 3));
  EXPECT_TRUE(cut.is_cut);
  EXPECT_FALSE(tokenizer.encode_framed("hello a a a", {.max_tokens = 6, .cuts = true}).value().is_cut);
  EXPECT_THAT(tokenizer.encode_framed("hello", {.max_tokens = 2, .cuts = true}).value().ids, ElementsAre(2, 3));
  EXPECT_THAT(tokenizer.encode_framed("a", {.max_tokens = 1, .cuts = true}).error().message,
              HasSubstr("found room for 1 tokens, expected at least the 2"));
}

TEST(TextFrame, ATextThatIsNotCutIsRefusedWithTheLimit) {
  for (const SmallVocab& vocab : {small_word_piece(), small_unigram()}) {
    const auto tokenizer = vocab.load().value();
    const auto refused = tokenizer.encode_framed("a a a a", {.max_tokens = 5});
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().kind, ErrorKind::kContextOverflow);
    EXPECT_THAT(refused.error().message, HasSubstr("more than 5 tokens"));
    const auto pair = tokenizer.encode_pair("a a", "a a", {.max_tokens = 6});
    ASSERT_FALSE(pair);
    EXPECT_EQ(pair.error().kind, ErrorKind::kContextOverflow);
    EXPECT_THAT(pair.error().message, HasSubstr("more than 6 tokens"));
  }
}

TEST(TextFrame, OfTwoTextsTheLongerOneIsCutFirst) {
  const auto tokenizer = small_word_piece().load().value();
  const auto num_of = [&](int first, int second, std::size_t room) {
    std::string a;
    std::string b;
    for (int i = 0; i < first; ++i) a += "hello ";
    for (int i = 0; i < second; ++i) b += "world ";
    const auto pair = tokenizer.encode_pair(a, b, {.max_tokens = room + 3, .cuts = true}).value();
    return std::pair(std::ranges::count(pair.ids, 5), std::ranges::count(pair.ids, 7));
  };
  EXPECT_EQ(num_of(2, 9, 8), std::pair(2L, 6L));
  EXPECT_EQ(num_of(9, 2, 8), std::pair(6L, 2L));
  EXPECT_EQ(num_of(9, 9, 8), std::pair(4L, 4L));
  EXPECT_EQ(num_of(9, 9, 7), std::pair(3L, 4L));
  EXPECT_EQ(num_of(9, 6, 7), std::pair(4L, 3L));
  EXPECT_EQ(num_of(3, 4, 7), std::pair(3L, 4L));
}

TEST(TextFrame, ControlTokensOfATextAreTextUnlessAskedFor) {
  const auto tokenizer = small_word_piece().load().value();
  EXPECT_THAT(tokenizer.encode_pair("hello", "a [SEP] a", {}).value().ids, ElementsAre(2, 5, 3, 12, 1, 1, 1, 12, 3));
  EXPECT_THAT(tokenizer.encode_pair("hello", "a [SEP] a", {.parse_special = true}).value().ids,
              ElementsAre(2, 5, 3, 12, 3, 12, 3));
}

}  // namespace
}  // namespace octavo::test
