#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json.hpp>

#include "cli/fake_engine.h"
#include "support/gguf_writer.h"
#include "support/temp_file.h"

namespace octavo {
namespace {

using test::CliRun;
using test::GgufWriter;
using test::TempFile;
using testing::HasSubstr;

/// A byte-level vocabulary without tensors: BOS, A, B, newline, the first byte of a two-byte character.
std::string vocabulary() {
  return GgufWriter()
      .add("general.architecture", "llama")
      .add("tokenizer.ggml.model", "gpt2")
      .add("tokenizer.ggml.pre", "gpt-2")
      .add_array("tokenizer.ggml.tokens", std::vector<std::string>{"<s>", "A", "B", "\u010A", "\u00C3"})
      .add_array("tokenizer.ggml.token_type", std::vector<std::int32_t>{3, 1, 1, 1, 1})
      .add_array("tokenizer.ggml.merges", std::vector<std::string>{})
      .add("tokenizer.ggml.bos_token_id", 0U)
      .add("tokenizer.ggml.eos_token_id", 0U)
      .add("tokenizer.ggml.add_bos_token", true)
      .bytes();
}

class Tokenize : public testing::Test {
 protected:
  int run(std::vector<std::string> args, const std::string& input = "") {
    args.insert(args.begin(), {"tokenize", "-m", file_.string()});
    return cli_.run(args, input);
  }
  const TempFile file_{vocabulary()};
  CliRun cli_;
};

TEST_F(Tokenize, ShowsIdAndPieceOfEachToken) {
  EXPECT_EQ(run({"AB\n"}), 0) << cli_.err.str();
  EXPECT_EQ(cli_.out.str(), "      0  <s>\n      1  A\n      2  B\n      3  \\n\n");
}

TEST_F(Tokenize, IdsAreAloneOnALine) {
  EXPECT_EQ(run({"--ids", "AB"}), 0);
  EXPECT_EQ(cli_.out.str(), "0 1 2\n");
  EXPECT_EQ(run({"--ids", "--no-special", "AB"}), 0);
  EXPECT_EQ(cli_.out.str(), "1 2\n");
  EXPECT_EQ(run({"--ids", "--no-special", ""}), 0);
  EXPECT_EQ(cli_.out.str(), "\n");
}

TEST_F(Tokenize, StandardInputIsReadToItsLastByte) {
  EXPECT_EQ(run({"--ids", "--no-special"}, "A\n"), 0);
  EXPECT_EQ(cli_.out.str(), "1 3\n");
}

TEST_F(Tokenize, DecodeGivesTheBytes) {
  EXPECT_EQ(run({"--decode", "1 2,3"}), 0);
  EXPECT_EQ(cli_.out.str(), "AB\n\n");
  EXPECT_EQ(run({"--decode", "4"}), 0);
  EXPECT_EQ(cli_.out.str(), "\xC3\n");
}

TEST_F(Tokenize, JsonIsOneObjectOfValidText) {
  EXPECT_EQ(run({"--json", "A"}), 0);
  EXPECT_EQ(boost::json::parse(cli_.out.str()),
            (boost::json::value{{"ids", boost::json::array{0, 1}}, {"pieces", boost::json::array{"<s>", "A"}}}));
  EXPECT_EQ(run({"--json", "--decode", "4,1"}), 0);
  EXPECT_EQ(boost::json::parse(cli_.out.str()).at("text").as_string(), "\uFFFDA");
}

TEST_F(Tokenize, TheFirstWordIsTheModelIfItLooksLikeOneAndNoneIsNamed) {
  const TempFile named(vocabulary(), ".gguf");
  EXPECT_EQ(cli_.run({"tokenize", named.string(), "--ids", "AB"}), 0) << cli_.err.str();
  EXPECT_EQ(cli_.out.str(), "0 1 2\n");
  EXPECT_EQ(cli_.run({"tokenize", "--ids", named.string()}, "B"), 0) << cli_.err.str();
  EXPECT_EQ(cli_.out.str(), "0 2\n");
  EXPECT_EQ(cli_.run({"tokenize", file_.string(), "--ids", "A"}), 0) << cli_.err.str();  // by its first bytes
  EXPECT_EQ(cli_.out.str(), "0 1\n");
  EXPECT_EQ(run({"--ids", "B"}), 0);
  EXPECT_EQ(cli_.out.str(), "0 2\n");
}

TEST_F(Tokenize, TextsThatBeginWithADashStandAfterTwo) {
  EXPECT_EQ(run({"--ids", "--no-special", "--", "B"}), 0) << cli_.err.str();
  EXPECT_EQ(cli_.out.str(), "2\n");
}

/// WordPiece of a cross-encoder, without tensors.
std::string encoder_vocabulary() {
  return GgufWriter()
      .add("general.architecture", "bert")
      .add("tokenizer.ggml.model", "bert")
      .add_array("tokenizer.ggml.tokens",
                 std::vector<std::string>{"[UNK]", "[CLS]", "[SEP]", "\u2581a", "\u2581b", "b"})
      .add_array("tokenizer.ggml.token_type", std::vector<std::int32_t>{3, 3, 3, 1, 1, 1})
      .bytes();
}

TEST_F(Tokenize, PairsAreThoseOfACrossEncoder) {
  const TempFile encoder(encoder_vocabulary(), ".gguf");
  EXPECT_EQ(cli_.run({"tokenize", encoder.string(), "--json", "--pair", "b", "abb"}), 0) << cli_.err.str();
  const auto shown = boost::json::parse(cli_.out.str());
  EXPECT_EQ(shown.at("ids"), (boost::json::array{1, 3, 5, 5, 2, 4, 2}));
  EXPECT_EQ(shown.at("types"), (boost::json::array{0, 0, 0, 0, 0, 1, 1}));
  EXPECT_EQ(run({"--pair", "B", "A"}), 1);
  EXPECT_THAT(cli_.err.str(), HasSubstr("no form for two texts"));
}

TEST_F(Tokenize, CutTextsKeepTheTokensAroundThem) {
  const TempFile encoder(encoder_vocabulary(), ".gguf");
  EXPECT_EQ(cli_.run({"tokenize", encoder.string(), "--ids", "--cut", "4", "a b a b"}), 0) << cli_.err.str();
  EXPECT_EQ(cli_.out.str(), "1 3 4 2\n");
  EXPECT_EQ(cli_.run({"tokenize", encoder.string(), "--ids", "--cut", "7", "--pair", "b b b", "a a a"}), 0);
  EXPECT_EQ(cli_.out.str(), "1 3 3 2 4 4 2\n");
  EXPECT_EQ(cli_.run({"tokenize", encoder.string(), "--ids", "--cut", "1", "a"}), 1);
  EXPECT_THAT(cli_.err.str(), HasSubstr("expected at least the 2 around a text"));
}

TEST_F(Tokenize, IdsOutsideTheVocabularyAreRefused) {
  EXPECT_EQ(run({"--decode", "5"}), 1);
  EXPECT_THAT(cli_.err.str(), HasSubstr("found the id 5, expected 0 to 4"));
  EXPECT_EQ(run({"--decode", "x"}), 1);
}

}  // namespace
}  // namespace octavo
