#include "constraint/schema/json_tree.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace octavo {
namespace {

using ::testing::HasSubstr;

TEST(JsonTree, KeepsTheOrderOfMembersAndNumbersAsTheyAreWritten) {
  const JsonTree tree = JsonTree::parse(R"({"b": [1.50, "x\n"], "a": {"/~": null}})").value();
  const auto& root = tree.at(JsonTree::kRoot);
  EXPECT_EQ(tree.at(root.children[0]).key, "b");
  EXPECT_EQ(tree.at(tree.follow(JsonTree::kRoot, "/b/0").value()).text, "1.50");
  EXPECT_EQ(tree.at(tree.follow(JsonTree::kRoot, "/b/1").value()).text, "x\n");
  const auto inner = tree.follow(JsonTree::kRoot, "/a/~1~0").value();
  EXPECT_TRUE(tree.is(inner, JsonTree::Kind::kNull));
  EXPECT_EQ(tree.pointer(inner), "#/a/~1~0");
  EXPECT_EQ(tree.pointer(tree.follow(JsonTree::kRoot, "/b/1").value()), "#/b/1");
  for (const char* pointer : {"/c", "/b/2", "/b/x", "/b/0/0", "b"})
    EXPECT_FALSE(tree.follow(JsonTree::kRoot, pointer).has_value()) << pointer;
}

TEST(JsonTree, ComparesValues) {
  const JsonTree tree =
      JsonTree::parse(R"([{"a": 1, "b": [2]}, {"b": [2.0], "a": 10e-1}, {"a": 1}, [1], "1", 1])").value();
  const auto& values = tree.at(JsonTree::kRoot).children;
  CompileWork work;
  EXPECT_TRUE(tree.equal(values[0], values[1], work));
  for (std::size_t i = 0; i < values.size(); ++i)
    for (std::size_t j = 0; j < values.size(); ++j)
      EXPECT_EQ(tree.equal(values[i], values[j], work), i == j || i + j == 1) << i << j;
}

TEST(JsonTree, RefusesWhatIsNoJsonOrBeyondItsBounds) {
  const auto error = [](std::string_view text) { return JsonTree::parse(text).error().message; };
  EXPECT_THAT(error("{\"a\": }"), HasSubstr("found no JSON"));
  EXPECT_THAT(error("{} x"), HasSubstr("found no JSON"));
  EXPECT_THAT(error(""), HasSubstr("found no JSON"));
  EXPECT_THAT(error("{\"a\": 1, \"b\": 2, \"a\": 3}"), HasSubstr("the key 'a' twice"));
  EXPECT_THAT(error(std::string(101, '[') + std::string(101, ']')), HasSubstr("nested deeper than 100"));
  EXPECT_THAT(error(std::string(JsonTree::kLimits.max_bytes + 1, ' ')), HasSubstr("bytes of JSON"));
}

}  // namespace
}  // namespace octavo
