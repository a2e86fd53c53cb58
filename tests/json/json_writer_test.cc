// The writer: commas where they are needed, and values as JSON has them.
#include "json/json_writer.h"

#include <gtest/gtest.h>

#include <boost/json/parse.hpp>
#include <limits>
#include <optional>
#include <span>
#include <vector>

namespace octavo {
namespace {

TEST(JsonWriter, MembersAndElementsHaveCommasBetweenThemAndNowhereElse) {
  std::string out;
  JsonWriter json(out);
  json.begin_object().fields("a", 1, "b", "x").key("c").begin_array().value(1).value(2);
  json.begin_object().end_object().begin_array().end_array().object("d", true).end_array();
  json.key("e").object().fields("f", nullptr).end_object();
  EXPECT_EQ(out, R"({"a":1,"b":"x","c":[1,2,{},[],{"d":true}],"e":{},"f":null})");
}

TEST(JsonWriter, SeveralWritersWriteOneText) {
  std::string out;
  JsonWriter(out).begin_object().fields("a", 1);
  JsonWriter(out).key("b").begin_array();
  for (int i = 0; i < 3; ++i) JsonWriter(out).value(i);
  JsonWriter(out).end_array().end_object();
  EXPECT_EQ(out, R"({"a":1,"b":[0,1,2]})");
}

TEST(JsonWriter, ATextThatBeginsBehindWhiteSpaceHasNoCommaInFront) {
  std::string out;
  JsonWriter(out).object("a", 1);
  out += '\n';
  JsonWriter(out).object("a", 2);
  out += "\n\ndata: ";
  JsonWriter(out).object("a", 3);
  EXPECT_EQ(out, "{\"a\":1}\n{\"a\":2}\n\ndata: {\"a\":3}");
}

TEST(JsonWriter, ATextThatEndsAsABracketOrColonDoesIsAValueLikeOthers) {
  for (const std::string_view text : {"{", "[", ":", " ", "\n", ","}) {
    std::string out;
    JsonWriter(out).begin_array().value(text).value(text).end_array();
    EXPECT_EQ(boost::json::parse(out), boost::json::array({text, text})) << out;
  }
}

TEST(JsonWriter, ValuesAreWrittenByTheirKind) {
  const std::vector<int> ids = {1, -2};
  const unsigned char bytes[] = {0, 255};
  std::string out;
  JsonWriter json(out);
  json.begin_array().value(std::numeric_limits<std::int64_t>::min()).value(std::numeric_limits<std::uint64_t>::max());
  json.value(0.1F).value(0.1).value(1e300).value(-3.0).value(false).value("\"\n\xC3\xA4").value(std::string("s"));
  json.value(ids).value(std::span(bytes)).value(std::vector<std::string>{"a", "b"}).value(std::vector<float>());
  json.value(std::optional<int>()).value(std::optional<std::string_view>("o")).end_array();
  EXPECT_EQ(out,
            "[-9223372036854775808,18446744073709551615,0.1,0.1,1e+300,-3,false,\"\\\"\\n\xC3\xA4\",\"s\","
            "[1,-2],[0,255],[\"a\",\"b\"],[],null,\"o\"]");
}

TEST(JsonWriter, WhatIsJsonAlreadyStandsAsItIs) {
  std::string out;
  JsonWriter json(out);
  json.begin_object().fields("a", JsonText{"{ }"}, "b", JsonElements{"1,2"}, "c", JsonElements());
  json.raw(R"("d":1,"e":2)").raw("").fields("f", 3).end_object();
  EXPECT_EQ(out, R"({"a":{ },"b":[1,2],"c":[],"d":1,"e":2,"f":3})");
}

TEST(JsonWriter, ANameOfAnyCharactersIsEscapedWhereItIsSaid) {
  std::string out;
  JsonWriter(out).begin_object().escaped_key("a\"\\").value(1).escaped_key("b").value(2).end_object();
  EXPECT_EQ(out, R"({"a\"\\":1,"b":2})");
  EXPECT_EQ(json_object("a", 1, "b", "c"), R"({"a":1,"b":"c"})");
}

}  // namespace
}  // namespace octavo
