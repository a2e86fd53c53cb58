// The one escaper: every text comes back, in the shortest form.
#include "json/json_string.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <boost/json/parse.hpp>
#include <limits>
#include <string>

#include "base/utf8.h"

namespace octavo {
namespace {

RC_GTEST_PROP(JsonString, AnyTextComesBackAndItsBytesAreKnownBefore, (const std::string& bytes)) {
  const std::string text = to_valid_utf8(bytes);
  const std::string written = json_string(text);
  RC_ASSERT(boost::json::parse(written).as_string() == text);
  RC_ASSERT(written.size() == json_string_bytes(text));
  std::string one_by_one = "\"";
  for (const char c : text) append_json_byte(one_by_one, c);
  RC_ASSERT(one_by_one + '"' == written);
}

TEST(JsonString, IsInItsShortestForm) {
  const std::string text = "a\"\\/\b\f\n\r\t\x01\x7F\u20AC";
  EXPECT_EQ(json_string(text), "\"a\\\"\\\\/\\b\\f\\n\\r\\t\\u0001\x7F\u20AC\"");
  EXPECT_EQ(json_string_bytes(text), json_string(text).size());
}

TEST(JsonString, ACharacterBeyond16BitsIsAPairOfEscapes) {
  std::string escapes;
  for (const char32_t c : U"\u20AC\U0001F600\u007F")
    if (c != 0) append_json_escape(escapes, c);
  EXPECT_EQ(escapes, "\\u20ac\\ud83d\\ude00\\u007f");
}

TEST(JsonString, NumbersAreThoseOfPython) {
  EXPECT_EQ(json_number(1), "1.0");
  EXPECT_EQ(json_number(1e16), "1e+16");
  EXPECT_EQ(json_number(-0.1), "-0.1");
  EXPECT_EQ(json_number(std::numeric_limits<double>::quiet_NaN()), "NaN");
  EXPECT_EQ(json_number(-std::numeric_limits<double>::infinity()), "-Infinity");
}

}  // namespace
}  // namespace octavo
