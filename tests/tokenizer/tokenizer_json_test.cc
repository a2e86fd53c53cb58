// Ids here are those of `tokenizers` for the two files; tools/tokenizer_truth.py compares all families.
#include "tokenizer/json/tokenizer_json.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>
#include <string>

#include "support/memory_source.h"
#include "support/source_dir.h"
#include "tokenizer/tokenizer.h"

namespace octavo {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StartsWith;

/// A tokenizer.json as `tokenizers` saved it: a byte-level one, or one like a SentencePiece converter's.
std::string saved(const std::string& name) {
  std::ifstream file(test::source_dir() + "/fuzz/seeds/tokenizer_json/" + name + ".json");
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

std::string replaced(std::string text, std::string_view from, std::string_view to) {
  const std::size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return at == std::string::npos ? text : text.replace(at, from.size(), to);
}

Tokenizer load(const std::string& json) {
  auto words = TokenizerJson::parse(json, "t.json");
  EXPECT_TRUE(words) << words.error().message;
  auto tokenizer = Tokenizer::load(*words);
  EXPECT_TRUE(tokenizer) << tokenizer.error().message;
  return std::move(*tokenizer);
}

std::string error_of(const std::string& json) {
  const auto words = TokenizerJson::parse(json, "t.json");
  return words ? "no error" : words.error().message;
}

TEST(TokenizerJson, ByteLevelWordsGiveTheIdsOfTokenizers) {
  const Tokenizer tokenizer = load(saved("byte_level"));
  EXPECT_THAT(tokenizer.encode("hello world", {.add_special = true}).value(), ElementsAre(262, 259, 220, 86, 261, 260));
  EXPECT_THAT(tokenizer.encode("  hello", {.add_special = false}).value(), ElementsAre(220, 220, 259));
  EXPECT_THAT(tokenizer.encode("<s>hi <mask>x", {.add_special = false, .parse_special = true}).value(),
              ElementsAre(262, 71, 72, 263, 87))
      << "<mask> takes the space before it";
  EXPECT_EQ(tokenizer.decode(std::vector<TokenId>{259, 220, 86, 261, 260}), "hello world");
  EXPECT_EQ(tokenizer.bos(), 262) << "post_processor puts it before each text";
}

TEST(TokenizerJson, SentencePieceWordsGiveTheIdsOfTokenizers) {
  const Tokenizer tokenizer = load(saved("sentence_piece"));
  EXPECT_THAT(tokenizer.encode("a ab b", {.add_special = false}).value(), ElementsAre(262, 262, 261, 259, 261));
  EXPECT_THAT(tokenizer.encode("zz a", {.add_special = false}).value(), ElementsAre(264, 259, 262));
  EXPECT_THAT(tokenizer.encode("\xC3\xA9", {.add_special = false}).value(), ElementsAre(259, 198, 172));
  EXPECT_EQ(tokenizer.decode(std::vector<TokenId>{262, 262, 261, 259, 261}), "a ab b");
}

TEST(TokenizerJson, SpecialTokensOfATextAreTextWhereTheyAreNotParsed) {
  const Tokenizer tokenizer = load(saved("byte_level"));
  const auto ids = tokenizer.encode("<s>", {.add_special = false, .parse_special = false}).value();
  EXPECT_THAT(ids, ElementsAre(27, 82, 29));
}

TEST(TokenizerJson, WhatIsNotKnownIsRefusedWithItsPath) {
  const std::string json = saved("byte_level");
  const auto error_with = [&](std::string_view from, std::string_view to) {
    return error_of(replaced(json, from, to));
  };
  EXPECT_THAT(error_with(R"("type":"NFC")", R"("type":"Nmt")"),
              StartsWith("t.json: normalizer.type: found the string \"Nmt\", expected NFC"));
  EXPECT_THAT(error_with(R"("type":"ByteLevel","add_prefix_space":false,"trim_offsets")", R"("type":"Words","x")"),
              HasSubstr("pre_tokenizer.pretokenizers[1].type: found the string \"Words\", expected ByteLevel"));
  EXPECT_THAT(error_with(R"("type":"BPE")", R"("type":"WordLevel")"),
              StartsWith("t.json: model.type: found the string \"WordLevel\", expected BPE, WordPiece or Unigram"));
  EXPECT_THAT(error_with(R"("dropout":null)", R"("dropout":0.1)"),
              StartsWith("t.json: model.dropout: found the number 0.1, expected null"));
  EXPECT_THAT(error_with(R"("version":"1.0")", R"("version":"1.0","more":1)"), HasSubstr("more"));
  EXPECT_THAT(error_with(R"("single_word":false)", R"("single_word":true)"),
              HasSubstr("added_tokens[0]: found single_word of '<s>'"));
  EXPECT_THAT(error_with(R"("TemplateProcessing")", R"("PairProcessing")"), HasSubstr("post_processor.type"));
  EXPECT_THAT(error_with("\\\\p{L}+", "\\\\p{Nothing}+"), HasSubstr("pre_tokenizer.pretokenizers[0].pattern.Regex"));
}

TEST(TokenizerJson, WhatIsMissingOrOfAnotherKindIsRefusedWithItsPath) {
  const std::string json = saved("byte_level");
  const auto error_with = [&](std::string_view from, std::string_view to) {
    return error_of(replaced(json, from, to));
  };
  EXPECT_EQ(error_of("[]"), "t.json: found an array of 0, expected an object");
  EXPECT_EQ(error_with(R"("version":"1.0")", R"("version":null)"), "t.json: version: found none, expected a string");
  EXPECT_EQ(error_with(R"("version":"1.0")", R"("version":"1.0","more":1)"),
            "t.json: found the member 'more', expected none but those that are known");
  EXPECT_EQ(error_with(R"("single_word":false)", R"("single_word":0)"),
            "t.json: added_tokens[0].single_word: found the number 0, expected true or false");
}

TEST(TokenizerJson, StepsMayBeNestedAsDeeplyAsJsonMay) {
  const std::string json = saved("byte_level");
  const auto error_of_sequences = [&](int count) {
    std::string step = R"({"type":"NFC"})";
    for (int i = 0; i < count; ++i) step = R"({"type":"Sequence","normalizers":[)" + step + "]}";
    return error_of(replaced(json, R"("normalizer":{"type":"NFC"})", R"("normalizer":)" + step));
  };
  EXPECT_EQ(error_of_sequences(15), "no error");
  EXPECT_EQ(error_of_sequences(16), "t.json: found JSON nested deeper than 32 levels");
}

TEST(TokenizerJson, PatternsThatAreTooLongTogetherAreRefused) {
  const std::string json = saved("byte_level");
  const std::string cut = R"({"type":"Split","pattern":{"Regex":")" + std::string(6000, 'a') +
                          R"("},"behavior":"Isolated","invert":false},)";
  const auto error_with = [&](int count) {
    std::string parts = R"("pretokenizers":[)";
    for (int i = 0; i < count; ++i) parts += cut;
    return error_of(replaced(json, R"("pretokenizers":[)", parts));
  };
  EXPECT_THAT(error_with(3), HasSubstr("pre_tokenizer.pretokenizers[2].pattern.Regex: found 18000 bytes of patterns"));
}

TEST(TokenizerJson, ContradictionsAreRefused) {
  const std::string json = saved("sentence_piece");
  const auto error_with = [&](std::string_view from, std::string_view to) {
    return error_of(replaced(json, from, to));
  };
  EXPECT_THAT(error_with(R"("<0x41>":68)", R"("<0x41>":69)"), HasSubstr("with the id 69 in vocab"));
  EXPECT_THAT(error_with(R"("<0x41>":68)", R"("other":68)"), HasSubstr("byte_fallback without a token '<0x41>'"));
  EXPECT_THAT(error_with(R"("byte_fallback":true)", R"("byte_fallback":false)"),
              HasSubstr("byte_fallback false, and a decoder that says otherwise"));
  EXPECT_THAT(error_with(R"("unk_token":"<unk>")", R"("unk_token":"none")"),
              testing::AnyOf("no error", HasSubstr("unk")));
}

TEST(TokenizerJson, NoJsonOrTooMuchOfItEndsWithAnError) {
  EXPECT_THAT(error_of(""), StartsWith("t.json: "));
  EXPECT_THAT(error_of("[1"), StartsWith("t.json: "));
  EXPECT_THAT(error_of("{}"), StartsWith("t.json: "));
  EXPECT_THAT(error_of(std::string(100, '[')), StartsWith("t.json: "));
  std::string many = R"({"version":"1.0","added_tokens":[)";
  for (int i = 0; i < 600'000; ++i) many += "1,";
  EXPECT_THAT(error_of(many + "1]}"), StartsWith("t.json: "));
}

TEST(TokenizerJson, AModelsEmbeddingBoundsItsIds) {
  const auto words = TokenizerJson::parse(saved("byte_level"), "t.json").value();
  test::MemorySource model;
  const std::vector<float> rows(200, 0.0F);
  model.add_tensor("token_embd.weight", {1, 200}, DType::kF32, test::bytes_of(rows));
  const auto tokenizer = Tokenizer::load(model, {}, &words);
  ASSERT_FALSE(tokenizer);
  EXPECT_THAT(tokenizer.error().message, HasSubstr("t.json: found ids from 0 to 261"));
  EXPECT_THAT(tokenizer.error().message, HasSubstr("has 200"));
}

TEST(TokenizerJson, AFileWithoutWordsOfItsOwnIsReadFromTheJsonInIt) {
  test::MemorySource model;
  model.add("tokenizer.huggingface.json", saved("byte_level"));
  const auto tokenizer = Tokenizer::load(model);
  ASSERT_TRUE(tokenizer) << tokenizer.error().message;
  EXPECT_THAT(tokenizer->encode("hello", {.add_special = false}).value(), ElementsAre(259));
}

}  // namespace
}  // namespace octavo
