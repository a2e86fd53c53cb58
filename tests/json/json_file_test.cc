#include "json/json_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "json/json_text.h"
#include "support/temp_folder.h"

namespace octavo {
namespace {

using testing::HasSubstr;

constexpr JsonLimits kLimits{.max_bytes = 1000, .max_values = 20};

class JsonFile : public testing::Test {
 protected:
  Result<TemplateValue> read(std::string_view text) { return read_json_file(folder_.write("a.json", text), kLimits); }
  std::string error_of(std::string_view text) {
    const auto value = read(text);
    return value ? "" : value.error().message;
  }

  test::TempFolder folder_;
};

TEST_F(JsonFile, IsReadUpToItsBounds) {
  EXPECT_TRUE(read(R"({"a": 1})"));
  EXPECT_THAT(error_of(std::string(1001, ' ')), HasSubstr("has 1001 bytes, expected at most 1000"));
  EXPECT_THAT(error_of("[1]"), HasSubstr("a.json: "));
  EXPECT_THAT(error_of(R"({"a": [1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1]})"), HasSubstr("a.json: "));
  const auto missing = read_json_file(folder_.path() / "none.json", kLimits);
  ASSERT_FALSE(missing);
  EXPECT_THAT(missing.error().message, HasSubstr("none.json: "));
}

TEST_F(JsonFile, NumbersThatPythonWritesAsInfiniteAreNone) {
  const auto value = read(R"({"limit": [0.0, Infinity, -Infinity], "text": "\"Infinity", "n": 7})");
  ASSERT_TRUE(value) << value.error().message;
  const JsonObject object(std::get<TemplateDict>(*value), "a.json");
  EXPECT_EQ(object.text("text").value(), "\"Infinity");
  EXPECT_EQ(object.size("n").value(), 7U);
  const TemplateList* limit = object.find_list("limit");
  ASSERT_TRUE(limit != nullptr && limit->size() == 3);
  EXPECT_TRUE(std::holds_alternative<std::monostate>((*limit)[1]));
  EXPECT_TRUE(std::holds_alternative<std::monostate>((*limit)[2]));
  EXPECT_THAT(error_of(R"({"a": Infinit})"), HasSubstr("a.json: "));
}

/// Look-ups in one object; `value` keeps it.
struct Object {
  TemplateValue value;
  JsonObject object;
  explicit Object(std::string_view text) : value(parse(text)), object(std::get<TemplateDict>(value), "c.json") {}
  static TemplateValue parse(std::string_view text) {
    std::size_t left = 100;
    return read_json_object(text, left).value();
  }
};

TEST(JsonObject, GivesMembersByTheirKind) {
  const Object o(R"({"n": 7, "x": 1.5, "t": "text", "f": true, "null": null, "o": {"m": 2}, "n": 8})");
  EXPECT_EQ(o.object.size("n").value(), 8U) << "of two equal names the last counts";
  EXPECT_EQ(o.object.number("x").value(), 1.5);
  EXPECT_EQ(o.object.text("t").value(), "text");
  EXPECT_TRUE(o.object.flag_or("f", false).value());
  EXPECT_TRUE(o.object.flag_or("missing", true).value());
  EXPECT_FALSE(o.object.has("null"));
  EXPECT_FALSE(o.object.size_if("null").value());
  EXPECT_EQ(o.object.object_if("o").value()->size("m").value(), 2U);
  EXPECT_FALSE(o.object.object_if("missing").value());
}

TEST(JsonObject, NamesThePlaceOfWhatIsWrong) {
  const Object o(R"({"t": "text", "x": 1.5, "minus": -1, "o": {"m": []}, "large": 1e300})");
  EXPECT_EQ(o.object.size("a").error().message, "c.json: a is missing");
  EXPECT_EQ(o.object.size("t").error().message, "c.json: t is a text, expected a number");
  EXPECT_EQ(o.object.size("x").error().message, "c.json: x is 1.5, expected a whole number from 0");
  EXPECT_THAT(o.object.size("minus").error().message, HasSubstr("expected a whole number from 0"));
  EXPECT_THAT(o.object.size("large").error().message, HasSubstr("expected a whole number from 0"));
  EXPECT_EQ(o.object.object_if("o").value()->text("m").error().message, "c.json: o.m is a list of 0, expected a text");
  EXPECT_EQ(o.object.object_if("t").error().message, "c.json: t is a text, expected an object");
  EXPECT_EQ(o.object.flag_or("t", true).error().message, "c.json: t is a text, expected true or false");
  EXPECT_FALSE(JsonObject::of(TemplateValue(std::int64_t{1}), "c.json"));
}

}  // namespace
}  // namespace octavo
