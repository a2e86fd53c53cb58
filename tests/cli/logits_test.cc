#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json.hpp>
#include <cmath>
#include <limits>

#include "cli/fake_engine.h"
#include "cli/npy.h"
#include "support/temp_file.h"

namespace octavo {
namespace {

using test::CliRun;
using testing::HasSubstr;

// The fake engine's logits of a row are base + (0, 1, 2, 3).
const double kLogSum = std::log(1 + std::exp(1.0) + std::exp(2.0) + std::exp(3.0));

TEST(Logits, JsonHasTheMeanNllAndTheTopOfTheLastRow) {
  CliRun cli;
  EXPECT_EQ(cli.run({"logits", "-m", "m.gguf", "--ids", "3,1,2", "--json", "--chunk", "2"}), 0) << cli.err.str();
  EXPECT_EQ(cli.engine.requests.back().max_tokens, -1);
  const auto json = boost::json::parse(cli.out.str()).as_object();
  EXPECT_EQ(json.at("num_tokens").as_int64(), 3);
  EXPECT_NEAR(json.at("mean_nll").as_double(), ((kLogSum - 1) + (kLogSum - 2)) / 2, 1e-12);
  const auto& top = json.at("top").as_array();
  ASSERT_EQ(top.size(), 4U);
  EXPECT_EQ(top[0].as_array()[0].as_int64(), 3);
  EXPECT_NEAR(top[0].as_array()[1].as_double(), 3 - kLogSum, 1e-12);
  EXPECT_EQ(top[3].as_array()[0].as_int64(), 0);
}

TEST(Logits, OneIdHasNoMeanNll) {
  CliRun cli;
  EXPECT_EQ(cli.run({"logits", "-m", "m.gguf", "--ids", "1", "--json"}), 0);
  EXPECT_FALSE(boost::json::parse(cli.out.str()).as_object().contains("mean_nll"));
}

TEST(Logits, TheTopIsCutAt20) {
  CliRun cli;
  cli.engine.info.vocab_size = 50;
  EXPECT_EQ(cli.run({"logits", "-m", "m.gguf", "--ids", "1", "--json"}), 0);
  EXPECT_EQ(boost::json::parse(cli.out.str()).as_object().at("top").as_array().size(), 20U);
}

TEST(Logits, OutIsAMatrixOfAllRowsAndNothingElseIsPrinted) {
  CliRun cli;
  const test::TempFile file("", ".npy");
  EXPECT_EQ(cli.run({"logits", "-m", "m.gguf", "--ids", "0 1 2", "--out", file.string()}), 0) << cli.err.str();
  EXPECT_EQ(cli.out.str(), "");
  EXPECT_EQ(std::filesystem::file_size(file.path()), cli::npy_header(3, 4).size() + 3 * 4 * sizeof(float));
}

TEST(Logits, WithoutOutAndJsonATableIsPrinted) {
  CliRun cli;
  EXPECT_EQ(cli.run({"logits", "-m", "m.gguf", "--ids", "0,1"}), 0);
  EXPECT_THAT(cli.out.str(), HasSubstr("tokens     2\nmean nll   "));
  EXPECT_THAT(cli.out.str(), HasSubstr("      3  -0.4402  \\x03\n"));
}

TEST(Logits, ThoseThatAreNotFiniteAreAnErrorThatNamesTheRowAndTheFileHasThem) {
  for (const float bad : {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity(),
                          -std::numeric_limits<float>::infinity()}) {
    CliRun cli;
    cli.engine.logit = [bad](int i, int j) { return i >= 1 && j == 2 ? bad : 0.0F; };
    for (const char* format : {"--json", "--no-prefix-cache"}) {  // an object, a table
      EXPECT_EQ(cli.run({"logits", "-m", "m.gguf", "--ids", "3,1,2", format}), 1);
      EXPECT_EQ(cli.out.str(), "");
      EXPECT_THAT(cli.err.str(), HasSubstr("m.gguf: found logits that are not finite after id 1 (row 1 from 0)\n"));
    }
    const test::TempFile file("", ".npy");
    EXPECT_EQ(cli.run({"logits", "-m", "m.gguf", "--ids", "3,1,2", "--out", file.string()}), 1);
    EXPECT_THAT(cli.err.str(), HasSubstr("the file has all rows"));
    EXPECT_EQ(std::filesystem::file_size(file.path()), cli::npy_header(3, 4).size() + 3 * 4 * sizeof(float));
  }
}

TEST(Logits, RefusedIdsAndUnwritableFilesAreErrors) {
  CliRun cli;
  EXPECT_EQ(cli.run({"logits", "-m", "m.gguf", "--ids", "5000"}), 1);
  EXPECT_THAT(cli.err.str(), HasSubstr("octavo: token outside the vocabulary"));
  EXPECT_EQ(cli.run({"logits", "-m", "m.gguf", "--ids", "1", "--out", "/no/such/folder/x.npy"}), 1);
  EXPECT_THAT(cli.err.str(), HasSubstr("octavo: /no/such/folder/x.npy: cannot look at its folder"));
}

}  // namespace
}  // namespace octavo
