// JSON as values, and back.
#include "json/json_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"

namespace octavo::test {
namespace {

using testing::HasSubstr;

std::string there_and_back(std::string_view text) {
  std::size_t left = 1000;
  const auto value = read_json_object(text, left);
  return value ? write_json(*value) : value.error().message;
}

TEST(JsonText, IsWrittenAsPythonWritesIt) {
  EXPECT_EQ(there_and_back(R"({"b":[1,-2.5,1e-07,true,null,"x\n\"\\\u0001é😀"],"a":{}})"),
            R"({"b": [1, -2.5, 1e-07, true, null, "x\n\"\\\u0001é😀"], "a": {}})");
}

TEST(JsonText, RefusesWhatIsNoObject) {
  EXPECT_THAT(there_and_back("[1]"), HasSubstr("no object"));
  EXPECT_THAT(there_and_back(R"({"a": )"), HasSubstr("found no JSON"));
  EXPECT_THAT(there_and_back(R"({} x)"), HasSubstr("found no JSON"));
  EXPECT_THAT(there_and_back(""), HasSubstr("found no JSON"));
}

TEST(JsonText, HasBoundsOnDepthAndValues) {
  const auto nested = [](std::size_t depth) {
    return R"({"a": )" + std::string(depth, '[') + std::string(depth, ']') + "}";
  };
  EXPECT_EQ(there_and_back(nested(kMaxJsonDepth - 1)), nested(kMaxJsonDepth - 1));
  EXPECT_THAT(there_and_back(nested(kMaxJsonDepth + 1)), HasSubstr("nested deeper"));
  std::size_t left = 4;  // the key, two numbers, the list
  EXPECT_TRUE(read_json_object(R"({"a": [1, 2]})", left = 5));
  EXPECT_EQ(left, 0U);
  EXPECT_THAT(read_json_object(R"({"a": [1, 2]})", left = 4).error().message, HasSubstr("more values"));
}

}  // namespace
}  // namespace octavo::test
