// octavo kv: what is said of a directory of prefixes on disk, and what goes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <boost/json.hpp>

#include "cli/fake_engine.h"
#include "kv_store/stored_blocks.h"
#include "support/temp_folder.h"

namespace octavo::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;

struct Kv : testing::Test {
  TempFolder temp;
  std::string folder = (temp.path() / "kv").string();
  CliRun cli;

  Kv() {
    OneStore store({.folder = folder}, one_group(), "model one");
    store.write(prefix_of(3, 1, 0, "alice"));
    store.write(prefix_of(5, 2, 0, "bob\x1b[2J"));
  }
};

TEST_F(Kv, ListsByAddressAndDomain) {
  ASSERT_EQ(cli.run({"kv", "list", folder}), 0) << cli.err.str();
  EXPECT_THAT(cli.out.str(), AllOf(HasSubstr("tokens"), HasSubstr("alice"), HasSubstr("48"), HasSubstr("model one\n"),
                                   HasSubstr("bob\\x1b[2J"), HasSubstr("80")));
}

TEST_F(Kv, ListsAsJson) {
  ASSERT_EQ(cli.run({"kv", "list", folder, "--json"}), 0) << cli.err.str();
  const auto rows = boost::json::parse(cli.out.str()).at("prefixes").as_array();
  ASSERT_EQ(rows.size(), 2U);
  EXPECT_EQ(rows[0].at("domain"), "alice");
  EXPECT_EQ(rows[0].at("files"), 1);
  EXPECT_EQ(rows[0].at("blocks"), 3);
  EXPECT_EQ(rows[0].at("tokens"), 48);
  EXPECT_EQ(rows[0].at("address").as_string().size(), 32U);
  EXPECT_GT(rows[0].at("bytes").to_number<int>(), 0);
}

TEST_F(Kv, MakesRoom) {
  ASSERT_EQ(cli.run({"kv", "gc", folder, "--older", "1h"}), 0) << cli.err.str();
  EXPECT_THAT(cli.out.str(), HasSubstr("files: removed 0 of 0 B, left 2 of "));
  ASSERT_EQ(cli.run({"kv", "gc", folder, "--size", "0"}), 0) << cli.err.str();
  EXPECT_THAT(cli.out.str(), HasSubstr("removed 2 of"));
  EXPECT_TRUE(run_files(folder).empty());
  ASSERT_EQ(cli.run({"kv", "list", folder}), 0);
  EXPECT_THAT(cli.err.str(), HasSubstr("has no prefixes"));
}

TEST_F(Kv, PurgesADomain) {
  ASSERT_EQ(cli.run({"kv", "purge", folder, "--domain", "alice"}), 0) << cli.err.str();
  EXPECT_THAT(cli.out.str(), HasSubstr("removed 1 of"));
  ASSERT_EQ(cli.run({"kv", "purge", folder}), 0) << cli.err.str();
  EXPECT_THAT(cli.out.str(), HasSubstr("left 0 of 0 B"));
}

TEST_F(Kv, WrongUsageIsToldApart) {
  for (const std::vector<std::string>& wrong : {std::vector<std::string>{"kv"},
                                                {"kv", "list"},
                                                {"kv", "lost", folder},
                                                {"kv", "gc", folder},
                                                {"kv", "list", folder, "--size", "1"},
                                                {"kv", "gc", folder, "--domain", "a"},
                                                {"kv", "purge", folder, "--json"},
                                                {"kv", "verify", folder},
                                                {"kv", "verify", folder, "-m", "model.gguf", "--older", "1d"},
                                                {"kv", "gc", folder, "--size", "1", "-m", "model.gguf"},
                                                {"kv", "list", folder, "--older", "1d"},
                                                {"kv", "gc", folder, "--older", "1"},
                                                {"kv", "list", folder, "more"}})
    EXPECT_EQ(cli.run(wrong), 2);
  EXPECT_EQ(cli.run({"kv", "list", folder + "/none"}), 1);
  EXPECT_EQ(run_files(folder).size(), 2U);
}

}  // namespace
}  // namespace octavo::test
