// Words of encoders from a tokenizer.json; the ids here are those of `tokenizers` for the two files, which
// tools/make_tokenizer_seeds.py writes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "support/source_dir.h"
#include "tokenizer/json/tokenizer_json.h"
#include "tokenizer/tokenizer.h"

namespace octavo {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::string saved(const std::string& name) {
  std::ifstream file(test::source_dir() + "/fuzz/seeds/tokenizer_json/" + name + ".json");
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

Result<Tokenizer> load(const std::string& json) {
  OCTAVO_TRY(const auto words, TokenizerJson::parse(json, "t.json"));
  return Tokenizer::load(words);
}

/// The error of a file with a change in it.
std::string error_with(const std::string& name, std::string_view from, std::string_view to) {
  std::string json = saved(name);
  const std::size_t at = json.find(from);
  if (at == std::string::npos) return "not found";
  const auto tokenizer = load(json.replace(at, from.size(), to));
  return tokenizer ? "no error" : tokenizer.error().message;
}

TEST(EncoderJson, WordPieceGivesTheIdsOfTokenizers) {
  const auto tokenizer = load(saved("word_piece"));
  ASSERT_TRUE(tokenizer) << tokenizer.error().message;
  EXPECT_THAT(tokenizer->encode("Hello, WORLDs!  unwanted\tna\u00EFve \u4E2Da aaa zz hello[MASK]", {}).value(),
              ElementsAre(2, 5, 8, 7, 6, 9, 10, 11, 12, 14, 15, 16, 16, 17, 17, 1, 5, 4, 3));
  EXPECT_THAT(tokenizer->encode("hello\u00E9 \u00E9", {}).value(), ElementsAre(2, 1, 1, 3));
  const auto pair = tokenizer->encode_pair("hello a", "a hello hello", {}).value();
  EXPECT_THAT(pair.ids, ElementsAre(2, 5, 16, 3, 16, 5, 5, 3));
  EXPECT_THAT(pair.types, ElementsAre(0, 0, 0, 0, 1, 1, 1, 1));
  EXPECT_EQ(tokenizer->decode(std::vector<TokenId>{10, 11, 12, 7}), "unwanted world");
}

TEST(EncoderJson, UnigramGivesTheIdsOfTokenizers) {
  const auto tokenizer = load(saved("unigram"));
  ASSERT_TRUE(tokenizer) << tokenizer.error().message;
  EXPECT_THAT(tokenizer->encode("hello ab", {}).value(), ElementsAre(0, 5, 6, 13, 2));
  EXPECT_THAT(tokenizer->encode("ab  abzz zz", {}).value(), ElementsAre(0, 13, 13, 3, 4, 3, 2));
  EXPECT_THAT(tokenizer->encode("A\t\uFB01 e\u0301\u2460 \u200B", {}).value(), ElementsAre(0, 4, 10, 4, 14, 4, 3, 2));
  EXPECT_THAT(tokenizer->encode("  hello \u3000 ", {}).value(), ElementsAre(0, 5, 6, 2));
  const auto pair = tokenizer->encode_pair("hello a", "a hello hello", {}).value();
  EXPECT_THAT(pair.ids, ElementsAre(0, 5, 6, 4, 10, 2, 2, 4, 10, 5, 6, 5, 6, 2));
  EXPECT_THAT(pair.types, testing::Each(0));
  EXPECT_EQ(tokenizer->decode(std::vector<TokenId>{5, 6, 13}), "hello ab");
}

TEST(EncoderJson, WhatIsWrongIsNamedWithItsPath) {
  EXPECT_THAT(error_with("word_piece", R"("unk_token":"[UNK]")", R"("unk_token":"[X]")"),
              HasSubstr("t.json: model.unk_token: found the string \"[X]\", expected a token of vocab"));
  EXPECT_THAT(error_with("word_piece", R"("max_input_chars_per_word":100)", R"("max_input_chars_per_word":100000)"),
              HasSubstr("model.max_input_chars_per_word: found the number 100000, expected an integer from 0 to 1000"));
  EXPECT_THAT(error_with("word_piece", R"("decoder":{"type":"WordPiece","prefix":"##","cleanup":true})",
                         R"("decoder":{"type":"Metaspace","replacement":"▁"})"),
              HasSubstr("decoder WordPiece false"));
  EXPECT_THAT(error_with("unigram", R"("unk_id":3)", R"("unk_id":99)"), HasSubstr("model.unk_id: found the number 99"));
  EXPECT_THAT(error_with("unigram", R"(["▁",-3.5])", R"(["▁"])"),
              HasSubstr("model.vocab[4]: found no score, expected a text and its score"));
  EXPECT_THAT(error_with("unigram", R"(["▁",-3.5])", R"(["▁",{}])"), HasSubstr("model.vocab[4]: found another value"));
  EXPECT_THAT(error_with("unigram", R"(["▁",-3.5])", R"(["l",-3.5])"), HasSubstr("'l' twice in vocab"));
  EXPECT_THAT(error_with("unigram", R"("precompiled_charsmap":")", R"("precompiled_charsmap":"!)"),
              HasSubstr("precompiled_charsmap: found no base64"));
  EXPECT_THAT(error_with("unigram", R"("precompiled_charsmap":"AAQA)", R"("precompiled_charsmap":"AgQA)"),
              HasSubstr("precompiled_charsmap: found found a double array"));
  EXPECT_THAT(error_with("unigram", R"("Regex":" {2,}")", R"("Regex":"x+")"), HasSubstr("expected ' {2,}'"));
  EXPECT_THAT(error_with("unigram", R"("cls":["<s>",0])", R"("cls":["<s>",77])"),
              HasSubstr("found the id 77 in post_processor"));
}

TEST(EncoderJson, ScoresAreReadToTheirLastBit) {
  // Both ways have the same score but for the last bit of one number.
  const auto ids_with = [](std::string_view score) {
    std::string json = saved("unigram");
    const std::string_view from = R"(["▁ab",-12.0])";
    json.replace(json.find(from), from.size(), fmt::format(R"(["▁ab",{}])", score));
    return load(json).value().encode("ab", {.add_special = false}).value();
  };
  EXPECT_THAT(ids_with("-17.699999999999996"), ElementsAre(13));
  EXPECT_THAT(ids_with("-17.700000000000003"), ElementsAre(4, 10, 11));
}

TEST(EncoderJson, WordsBehindWhiteSpaceHaveTheMarkEach) {
  std::string json = saved("unigram");
  const std::string_view from = R"("pre_tokenizer":{)";
  const std::size_t at = json.find(from);
  const std::size_t end = json.find('}', at);
  const std::string metaspace = json.substr(at + 16, end - at - 15);
  json.replace(at, end - at + 1,
               R"("pre_tokenizer":{"type":"Sequence","pretokenizers":[{"type":"WhitespaceSplit"},)" + metaspace + "]}");
  const auto tokenizer = load(json);
  ASSERT_TRUE(tokenizer) << tokenizer.error().message;
  EXPECT_THAT(tokenizer->encode("a\u00A0 ab\u2028hello", {.add_special = false}).value(), ElementsAre(4, 10, 13, 5, 6));
}

}  // namespace
}  // namespace octavo
