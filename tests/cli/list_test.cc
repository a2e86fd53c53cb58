// octavo list and rm, and -m with a part of a name, over a folder of small models.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <boost/json.hpp>

#include "cli/fake_engine.h"
#include "support/temp_folder.h"
#include "support/tiny_model.h"

namespace octavo::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

struct Models {
  TempFolder folder;
  CliRun cli;
  Models() {
    folder.write("alpha-Q4_0.gguf", TinyModel().bytes());
    folder.write("beta-Q8_0.gguf", TinyModel().bytes());
    folder.write("broken.gguf", "PK\x03\x04");
    cli.hub.models = folder.path();
  }
};

TEST(List, SaysOfEachModelWhatItIsOrWhyItCannotBeUsed) {
  Models models;
  ASSERT_EQ(models.cli.run({"list"}), 0) << models.cli.err.str();
  const std::string text = models.cli.out.str();
  EXPECT_THAT(text, AllOf(HasSubstr("name"), HasSubstr("alpha-Q4_0  llama"), HasSubstr("octavo")));
  EXPECT_THAT(text, HasSubstr("cannot be used: " + (models.folder.path() / "broken.gguf").string()));
}

TEST(List, AsJson) {
  Models models;
  ASSERT_EQ(models.cli.run({"list", "--json"}), 0) << models.cli.err.str();
  const auto list = boost::json::parse(models.cli.out.str()).at("models").as_array();
  ASSERT_EQ(list.size(), 3U);
  EXPECT_EQ(list[0].at("name"), "alpha-Q4_0");
  EXPECT_EQ(list[0].at("architecture"), "llama");
  EXPECT_EQ(list[0].at("files").as_array().size(), 1U);
  EXPECT_GT(list[0].at("bytes").to_number<int>(), 0);
  EXPECT_GT(list[0].at("largest_context").to_number<int>(), 0);
  EXPECT_FALSE(list[0].as_object().contains("refusal"));
  EXPECT_TRUE(list[2].as_object().contains("refusal"));
}

TEST(List, AnEmptyMachineSaysWhatToDo) {
  CliRun cli;
  ASSERT_EQ(cli.run({"list"}), 0);
  EXPECT_EQ(cli.out.str(), "");
  EXPECT_THAT(cli.err.str(), HasSubstr("octavo pull ORG/REPO"));
}

TEST(List, OtherFoldersAreNamed) {
  Models models;
  CliRun cli;
  ASSERT_EQ(cli.run({"list", "--models-dir", models.folder.path().string()}), 0);
  EXPECT_THAT(cli.out.str(), HasSubstr("alpha-Q4_0"));
}

TEST(Rm, TakesAWholeNameOnly) {
  Models models;
  EXPECT_EQ(models.cli.run({"rm", "alpha"}), 1);
  EXPECT_THAT(models.cli.err.str(), HasSubstr("did you mean alpha-Q4_0"));
  EXPECT_EQ(models.cli.run({"rm", "alpha-Q4_0"}), 0) << models.cli.err.str();
  EXPECT_FALSE(std::filesystem::exists(models.folder.path() / "alpha-Q4_0.gguf"));
  EXPECT_TRUE(std::filesystem::exists(models.folder.path() / "beta-Q8_0.gguf"));
  EXPECT_EQ(models.cli.run({"rm"}), 2);
  EXPECT_EQ(models.cli.run({"rm", "a", "b"}), 2);
}

TEST(ModelName, APartOfOneNameIsThatModelAndALineSaysSo) {
  Models models;
  ASSERT_EQ(models.cli.run({"logits", "-m", "BETA", "--ids", "1,2"}), 0) << models.cli.err.str();
  EXPECT_EQ(models.cli.engine.options.model_path, models.folder.path() / "beta-Q8_0.gguf");
  EXPECT_THAT(models.cli.err.str(), HasSubstr("octavo: BETA is beta-Q8_0\n"));
  ASSERT_EQ(models.cli.run({"logits", "-m", "beta-Q8_0", "--ids", "1,2"}), 0) << models.cli.err.str();
  EXPECT_THAT(models.cli.err.str(), Not(HasSubstr(" is ")));
}

TEST(ModelName, SeveralOrNoneAreAnErrorThatNamesThoseThereAre) {
  Models models;
  EXPECT_EQ(models.cli.run({"run", "-m", "a-q", "Hello"}), 1);
  EXPECT_THAT(models.cli.err.str(), AllOf(HasSubstr("several"), HasSubstr("alpha-Q4_0, beta-Q8_0")));
  EXPECT_EQ(models.cli.run({"run", "-m", "gamma", "Hello"}), 1);
  EXPECT_THAT(models.cli.err.str(), AllOf(HasSubstr("gamma: no such file"),
                                          HasSubstr("here are: alpha-Q4_0, beta-Q8_0"), HasSubstr("octavo pull")));
}

TEST(Pull, TakesANameOrAnAddressWithItsHash) {
  CliRun cli;
  for (const std::vector<std::string>& args : {std::vector<std::string>{"pull"},
                                               {"pull", "name"},
                                               {"pull", "a/b", "c/d"},
                                               {"pull", "https://a.example/m.gguf"},
                                               {"pull", "a/b", "--sha256", std::string(64, 'a')},
                                               {"pull", "https://a.example/m.gguf", "--sha256", "abc"}})
    EXPECT_EQ(cli.run(args), 2) << args.back();
  EXPECT_EQ(cli.run({"pull", "a/b"}), 1);
  EXPECT_THAT(cli.err.str(), HasSubstr("HF_HOME")) << "no folder is known";
}

}  // namespace
}  // namespace octavo::test
