// octavo bench --image with a tiny encoder of pictures.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json.hpp>

#include "cli/fake_engine.h"
#include "support/temp_file.h"
#include "support/tiny_model.h"
#include "support/tiny_tower.h"

namespace octavo {
namespace {

using testing::AllOf;
using testing::HasSubstr;

/// A token of it is 4 x 4 pixels.
test::TinyTower small_tower() {
  return {.layers = 1, .width = 32, .heads = 2, .ffn = 32, .patch = 2, .grid = 3, .text = 16};
}

class BenchPictures : public testing::Test {
 protected:
  int run(std::vector<std::string> args) {
    args.insert(args.begin(), {"bench", "--threads", "1", "--repeat", "2"});
    return cli.run(args);
  }

  test::TempFile encoder{small_tower().bytes()};
  test::CliRun cli;
};

TEST_F(BenchPictures, TellsTokensAndSecondsOfEachSize) {
  ASSERT_EQ(run({"-m", encoder.string(), "--image", "12x8,40x30", "--image-min-tokens", "1", "--format", "json"}), 0)
      << cli.err.str();
  const auto report = boost::json::parse(cli.out.str()).as_object();
  EXPECT_EQ(report.at("machine").at("cpu").as_string(), "fake");
  EXPECT_EQ(report.at("encoder").at("family").as_string(), "qwen3vl_merger");
  const auto& results = report.at("results").as_array();
  ASSERT_EQ(results.size(), 2U);
  EXPECT_EQ(results[0].at("width").as_int64(), 12);
  EXPECT_EQ(results[0].at("tokens").as_int64(), 3 * 2);
  EXPECT_EQ(results[1].at("tokens").as_int64(), 10 * 8) << "7.5 is rounded to an even number";
  EXPECT_EQ(results[1].at("seen").as_array()[0].at("height").as_int64(), 32);
  for (const auto& row : results) {
    ASSERT_EQ(row.at("seconds").as_array().size(), 2U);
    const double median = row.at("median_s").as_double();
    EXPECT_GT(median, 0);
    EXPECT_NEAR(row.at("tokens_per_s").as_double() * median, row.at("tokens").to_number<double>(), 1e-6);
    EXPECT_GT(row.at("gops").as_double(), 0);
  }
}

TEST_F(BenchPictures, ThereAreATableAndLinesToo) {
  ASSERT_EQ(run({"-m", encoder.string(), "--image", "12x8", "--image-max-tokens", "2"}), 0) << cli.err.str();
  EXPECT_THAT(cli.out.str(),
              AllOf(HasSubstr("fake, 1 threads, isa scalar"), HasSubstr("(qwen3vl_merger)"),
                    HasSubstr("| picture | seen as | tokens | seconds |"), HasSubstr("| 12x8 | 4x4 | 1 |")));
  test::CliRun csv;
  ASSERT_EQ(csv.run({"bench", "-m", encoder.string(), "--image", "12x8", "--repeat", "1", "--format", "csv",
                     "--image-min-tokens", "1"}),
            0)
      << csv.err.str();
  EXPECT_THAT(csv.out.str(), AllOf(HasSubstr("picture,seen_as,tokens,seconds"), HasSubstr("\n12x8,\"12x8\",6,")));
}

TEST_F(BenchPictures, AnEncoderIsNamedBesideAModelThatHasNone) {
  const test::TempFile model(test::TinyModel{}.bytes());
  EXPECT_EQ(run({"-m", model.string(), "--image", "12x8"}), 1);
  EXPECT_THAT(cli.err.str(), HasSubstr("found no encoder of pictures that fits beside the model"));
  test::CliRun named;
  EXPECT_EQ(
      named.run({"bench", "-m", model.string(), "--mmproj", encoder.string(), "--image", "12x8", "--repeat", "1"}), 0)
      << named.err.str();
}

TEST_F(BenchPictures, SizesThatAreNoneAreWrongUsage) {
  for (const char* sizes : {"", "12", "12x", "x8", "0x8", "12x8,", "-1x8", "12x8x2", "16385x100", "201x1", "12X8"}) {
    test::CliRun wrong;
    EXPECT_EQ(wrong.run({"bench", "-m", encoder.string(), "--image", sizes}), 2) << sizes;
    EXPECT_THAT(wrong.err.str(), HasSubstr("--image")) << sizes;
  }
  for (const std::vector<std::string>& more : std::vector<std::vector<std::string>>{
           {"--image", "4x4", "--profile"}, {"--image", "4x4", "--draft", "auto"}, {"--mmproj", "a.gguf"}}) {
    test::CliRun wrong;
    std::vector<std::string> args = {"bench", "-m", encoder.string()};
    args.insert(args.end(), more.begin(), more.end());
    EXPECT_EQ(wrong.run(args), 2) << more.front();
  }
}

}  // namespace
}  // namespace octavo
