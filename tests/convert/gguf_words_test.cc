#include "convert/gguf_words.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "source/gguf_writer.h"
#include "source/open_model.h"
#include "support/memory_source.h"
#include "support/source_dir.h"
#include "support/temp_folder.h"
#include "tokenizer/tokenizer.h"

namespace octavo {
namespace {

using test::MemorySource;
using testing::ElementsAre;
using testing::HasSubstr;

/// A byte-level vocabulary of few letters; `pre_tokenizer` and `normalizer` as a tokenizer.json has them.
std::string words_json(const std::string& pre_tokenizer, const std::string& normalizer = "null",
                       const std::string& model_more = "") {
  return R"({"version": "1.0", "truncation": null, "padding": null, "added_tokens": [
      {"id": 5, "content": "<end>", "single_word": false, "lstrip": false, "rstrip": false, "normalized": false, "special": true}],
    "normalizer": )" +
         normalizer + R"(, "pre_tokenizer": )" + pre_tokenizer + R"(, "post_processor": null,
    "decoder": {"type": "ByteLevel", "add_prefix_space": true, "trim_offsets": true, "use_regex": true},
    "model": {"type": "BPE", "dropout": null, "unk_token": null, "continuing_subword_prefix": null,
      "end_of_word_suffix": null, "fuse_unk": false, "byte_fallback": false, )" +
         model_more + R"(
      "vocab": {"a": 0, "b": 1, "c": 2, "ab": 3, "abc": 4}, "merges": [["a", "b"], ["ab", "c"]]}})";
}

constexpr const char* kByteLevel =
    R"({"type": "ByteLevel", "add_prefix_space": false, "trim_offsets": true, "use_regex": true})";
constexpr const char* kSmolLm = R"({"type": "Sequence", "pretokenizers": [{"type": "Digits", "individual_digits": true},
    {"type": "ByteLevel", "add_prefix_space": false, "trim_offsets": true, "use_regex": true}]})";
constexpr const char* kOwnCut = R"({"type": "Sequence", "pretokenizers": [
    {"type": "Split", "pattern": {"Regex": "[ac]+"}, "behavior": "Isolated", "invert": false},
    {"type": "ByteLevel", "add_prefix_space": false, "trim_offsets": true, "use_regex": false}]})";

/// The model's file, written with these words, and the reason for which tokenizer.json was kept.
struct Written {
  test::TempFolder folder;
  std::string why_kept;
  std::unique_ptr<const ModelSource> file;

  explicit Written(const std::string& json) {
    MemorySource model;
    model.add("general.architecture", "llama").add("tokenizer.huggingface.json", json);
    model.add("tokenizer.ggml.eos_token_id", 5U);
    const auto words = GgufWords::of(model);
    if (!words) throw std::runtime_error(words.error().message);
    why_kept = words->why_kept();
    GgufHead head;
    for (const auto& [key, value] : words->source().metadata()) head.set(key, value);
    words->add_keys(head);
    auto writer = GgufFileWriter::create(folder.path() / "words.gguf", head, false);
    EXPECT_TRUE(writer && writer->finish());
    file = open_model(folder.path() / "words.gguf").value();
  }
};

TEST(GgufWords, BecomeKeysThatEveryReaderKnows) {
  const Written written(words_json(kByteLevel));
  EXPECT_EQ(written.why_kept, "");
  EXPECT_EQ(written.file->find("tokenizer.huggingface.json"), nullptr);
  EXPECT_EQ(written.file->get_string("tokenizer.ggml.model").value(), "gpt2");
  EXPECT_EQ(written.file->get_string("tokenizer.ggml.pre").value(), "gpt-2");
  EXPECT_THAT(written.file->get_strings("tokenizer.ggml.tokens").value(),
              ElementsAre("a", "b", "c", "ab", "abc", "<end>"));
  EXPECT_THAT(written.file->get_strings("tokenizer.ggml.merges").value(), ElementsAre("a b", "ab c"));
  EXPECT_THAT(written.file->get_i32_array("tokenizer.ggml.token_type").value(), ElementsAre(1, 1, 1, 1, 1, 3));
  EXPECT_FALSE(written.file->get_bool("tokenizer.ggml.add_bos_token").value());
}

TEST(GgufWords, MakeTheSameIds) {
  const std::string json = words_json(kSmolLm);
  const Written written(json);
  EXPECT_EQ(written.file->get_string("tokenizer.ggml.pre").value(), "smollm");
  const auto before = Tokenizer::load(TokenizerJson::parse(json, "words").value());
  const auto after = Tokenizer::load(*written.file);
  ASSERT_TRUE(before && after) << (after ? "" : after.error().message);
  for (const std::string_view text : {"abcab", "cba", "aabbcc", "ab<end>c", ""})
    EXPECT_EQ(after->encode(text, {}).value(), before->encode(text, {}).value()) << text;
}

TEST(GgufWords, HaveThePreTokenizerThatDoesTheSame) {
  const Written normalized(words_json(kSmolLm, R"({"type": "NFC"})"));
  EXPECT_EQ(normalized.file->get_string("tokenizer.ggml.pre").value(), "command-r");
}

TEST(GgufWords, StayATokenizerJsonWhereGgufHasNoNameForThem) {
  for (const std::string& json : {words_json(kOwnCut), words_json(kByteLevel, R"({"type": "NFKD"})"),
                                  words_json(kByteLevel, "null", R"("ignore_merges": true,)")}) {
    const Written written(json);
    EXPECT_THAT(written.why_kept, HasSubstr("its pre-tokenizer has no name in GGUF"));
    EXPECT_EQ(written.file->get_string("tokenizer.huggingface.json").value(), json);
    EXPECT_EQ(written.file->find("tokenizer.ggml.tokens"), nullptr);
  }
}

/// SentencePiece's words as transformers writes them: all pairs that make a token, by its score.
std::string spm_json(const std::string& merges, const std::string& first_step = "", bool has_bytes = true) {
  std::string bytes;
  for (int byte = 0; byte < 256; ++byte) bytes += fmt::format(R"("<0x{:02X}>": {}, )", byte, 10 + byte);
  const std::string space = "\u2581";
  return R"({"version": "1.0", "truncation": null, "padding": null, "added_tokens": [],
    "normalizer": {"type": "Sequence", "normalizers": [)" +
         first_step + R"({"type": "Replace", "pattern": {"String": " "}, "content": ")" + space + R"("}]},
    "pre_tokenizer": null, "post_processor": null, "decoder": {"type": "Sequence", "decoders": [
      {"type": "Replace", "pattern": {"String": ")" +
         space + R"("}, "content": " "}, )" + (has_bytes ? R"({"type": "ByteFallback"}, )" : "") +
         R"({"type": "Fuse"}]},
    "model": {"type": "BPE", "dropout": null, "unk_token": null, "continuing_subword_prefix": null,
      "end_of_word_suffix": null, "fuse_unk": true, "byte_fallback": )" +
         (has_bytes ? "true" : "false") + R"(,
      "vocab": {)" +
         bytes + R"("a": 0, "b": 1, ")" + space + R"(": 2, "bb": 3, "ab": 4, "abb": 5, ")" + space +
         R"(a": 6}, "merges": [)" + merges + "]}}";
}
const std::string kSpmMerges = R"(["b", "b"], ["a", "b"], ["a", "bb"], ["ab", "b"], ["\u2581", "a"])";

TEST(GgufWords, OfEncodersStayATokenizerJson) {
  for (const char* name : {"word_piece", "unigram"}) {
    std::ifstream file(fmt::format("{}/fuzz/seeds/tokenizer_json/{}.json", test::source_dir(), name));
    std::ostringstream json;
    json << file.rdbuf();
    const Written written(json.str());
    EXPECT_THAT(written.why_kept, HasSubstr("WordPiece's or Unigram's")) << name;
    const auto before = Tokenizer::load(TokenizerJson::parse(json.str(), "words").value());
    const auto after = Tokenizer::load(*written.file);
    ASSERT_TRUE(before && after) << name;
    EXPECT_EQ(after->encode("hello ab", {}).value(), before->encode("hello ab", {}).value());
  }
}

TEST(GgufWords, OfRobertaKeepTheirTwoSeparators) {
  std::string json = words_json(kByteLevel);
  const std::string none = R"("post_processor": null)";
  json.replace(json.find(none), none.size(), R"("post_processor": {"type": "RobertaProcessing", "sep": ["<end>", 5],
      "cls": ["<end>", 5], "trim_offsets": true, "add_prefix_space": false})");
  const Written written(json);
  EXPECT_EQ(written.why_kept, "");
  const auto before = Tokenizer::load(TokenizerJson::parse(json, "words").value());
  const auto after = Tokenizer::load(*written.file);
  ASSERT_TRUE(before && after);
  EXPECT_THAT(before->encode_pair("a", "b", {}).value().ids, ElementsAre(5, 0, 5, 5, 1, 5));
  EXPECT_EQ(after->encode_pair("a", "b", {}).value().ids, before->encode_pair("a", "b", {}).value().ids);
}

TEST(GgufWords, OfSentencePieceGetScores) {
  const std::string json = spm_json(kSpmMerges);
  const Written written(json);
  EXPECT_EQ(written.why_kept, "");
  EXPECT_EQ(written.file->get_string("tokenizer.ggml.model").value(), "llama");
  const auto scores = written.file->get_f32_array("tokenizer.ggml.scores").value();
  EXPECT_THAT(std::vector<float>(scores.begin(), scores.begin() + 7), ElementsAre(0, 0, 0, -1, -2, -3, -4));
  EXPECT_FALSE(written.file->get_bool("tokenizer.ggml.add_space_prefix").value());
  const auto before = Tokenizer::load(TokenizerJson::parse(json, "words").value());
  const auto after = Tokenizer::load(*written.file);
  ASSERT_TRUE(before && after) << (after ? "" : after.error().message);
  for (const std::string_view text : {"abb", "abab abba", " a  b\u4e2d", "", "\xff"})
    EXPECT_EQ(after->encode(text, {}).value(), before->encode(text, {}).value()) << text;

  const Written in_front(spm_json(kSpmMerges, R"({"type": "Prepend", "prepend": "\u2581"}, )"));
  EXPECT_TRUE(in_front.file->get_bool("tokenizer.ggml.add_space_prefix").value());
}

TEST(GgufWords, OfMergesThatAreNotSentencePiecesStayMerges) {
  // A pair is missing, and pairs of one token stand apart.
  for (const char* merges : {R"(["b", "b"], ["a", "b"], ["ab", "b"])",
                             R"(["a", "bb"], ["b", "b"], ["a", "b"], ["ab", "b"], ["\u2581", "a"])"}) {
    const Written written(spm_json(merges));
    EXPECT_EQ(written.why_kept, "");
    EXPECT_EQ(written.file->get_string("tokenizer.ggml.model").value(), "gemma4");
    EXPECT_EQ(written.file->find("tokenizer.ggml.scores"), nullptr);
    EXPECT_THAT(Written(spm_json(merges, R"({"type": "Prepend", "prepend": "\u2581"}, )")).why_kept,
                HasSubstr("its merges are not those of SentencePiece"));
  }
  EXPECT_THAT(Written(spm_json(kSpmMerges, "", false)).why_kept, HasSubstr("neither byte-level nor SentencePiece"));
}

TEST(GgufWords, OfAModelThatHasTokensStayAsTheyAre) {
  MemorySource model;
  model.add("tokenizer.huggingface.json", "not looked at")
      .add_array("tokenizer.ggml.tokens", std::vector<std::string>{"a"});
  const auto words = GgufWords::of(model);
  ASSERT_TRUE(words) << words.error().message;
  EXPECT_EQ(&words->source(), &model);
}

TEST(GgufWords, ThatAreWrongAreAnError) {
  MemorySource model;
  model.add("tokenizer.huggingface.json", "{");
  const auto words = GgufWords::of(model);
  ASSERT_FALSE(words);
  EXPECT_THAT(words.error().message, HasSubstr("tokenizer.json"));
}

}  // namespace
}  // namespace octavo
