#include "toolcalls/json_text.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <boost/json/parse.hpp>
#include <string>

#include "base/utf8.h"
#include "json/json_string.h"

namespace octavo {
namespace {

namespace json = boost::json;

RC_GTEST_PROP(JsonText, AnyTextComesBack, (const std::string& bytes)) {
  const std::string text = to_valid_utf8(bytes);
  std::string written;
  append_json_string(written, text);
  RC_ASSERT(json::parse(written).as_string() == text);
  RC_ASSERT(text_of_json(written) == text);
}

TEST(JsonText, ReadsEscapes) {
  EXPECT_EQ(text_of_json(R"("\b\f\n\r\t\/\"\\")"), "\b\f\n\r\t/\"\\");
  EXPECT_EQ(text_of_json(R"("\u00e9\ud83d\ude00")"), "é😀");
  EXPECT_EQ(text_of_json(R"("\ud83dx\ude00")"), "\xEF\xBF\xBDx\xEF\xBF\xBD");
  EXPECT_EQ(text_of_json(R"("\ud83d\u0041")"),
            "\xEF\xBF\xBD"
            "A");
}

}  // namespace
}  // namespace octavo
