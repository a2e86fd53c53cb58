#include "toolcalls/json_scanner.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <boost/json/parse.hpp>
#include <numeric>
#include <string>
#include <vector>

namespace octavo {
namespace {

namespace json = boost::json;

TEST(JsonScanner, TellsTheTypesOfValues) {
  EXPECT_EQ(json_type_of("\"a\""), kJsonString);
  EXPECT_EQ(json_type_of(" -1.5e+3\n"), kJsonNumber);
  EXPECT_EQ(json_type_of("0"), kJsonNumber);
  EXPECT_EQ(json_type_of("true"), kJsonBoolean);
  EXPECT_EQ(json_type_of("null"), kJsonNull);
  EXPECT_EQ(json_type_of("{\"a\" : [1, {}, \"\\u00e9\"] }"), kJsonObject);
  EXPECT_EQ(json_type_of("[ ]"), kJsonArray);
  for (const std::string_view wrong :
       {"",           " ",     "01",     "1.",      "-",           "1e",  "tru", "truex", "{",     "[1,]",
        "{\"a\":1,}", "{1:2}", "\"\n\"", "\"\\x\"", "\"\\u12g4\"", "1 2", "]",   "{]",    "nulll", "'a'"})
    EXPECT_EQ(json_type_of(wrong), 0) << wrong;
}

TEST(JsonScanner, IsBoundedInDepth) {
  const std::string open(JsonScanner::kMaxDepth, '['), close(JsonScanner::kMaxDepth, ']');
  EXPECT_EQ(json_type_of(open + close), kJsonArray);
  EXPECT_EQ(json_type_of("[" + open + close + "]"), 0);
}

RC_GTEST_PROP(JsonScanner, TakesWhatBoostTakes, ()) {
  const auto parts = *rc::gen::container<std::vector<std::string>>(
      rc::gen::element<std::string>("{", "}", "[", "]", ",", ":", "\"a\"", "1", "-", "0", ".", "e", "+", "true", "null",
                                    " ", "\"", "\\", "n", "\\u0041", "{\"a\":"));
  const std::string text = std::accumulate(parts.begin(), parts.end(), std::string());
  boost::system::error_code wrong;
  static_cast<void>(json::parse(text, wrong));
  RC_ASSERT((json_type_of(text) != 0) == !wrong);
}

}  // namespace
}  // namespace octavo
