// Keywords of JSON Schema, a few facts each. Whole collections are compared by tools/schema_truth.py.
#include "constraint/schema/json_schema.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "constraint/schema_under_test.h"

namespace octavo {
namespace {

using test::schema_error;
using test::SchemaUnderTest;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;

struct Fact {
  const char* schema;
  std::vector<const char*> taken, refused;
};

class JsonSchema : public ::testing::TestWithParam<Fact> {};

TEST_P(JsonSchema, TakesAndRefuses) {
  const SchemaUnderTest schema(GetParam().schema);
  for (const char* text : GetParam().taken) EXPECT_TRUE(schema.takes(text)) << GetParam().schema << " " << text;
  for (const char* text : GetParam().refused) EXPECT_FALSE(schema.takes(text)) << GetParam().schema << " " << text;
  EXPECT_THAT(schema.warnings(), IsEmpty());
}

INSTANTIATE_TEST_SUITE_P(
    AnyValue, JsonSchema,
    ::testing::Values(
        Fact{"true", {"1", "{}", "\"a\"", "null"}, {"", "tru"}}, Fact{"{}", {"[1, {\"a\": 2}]"}, {"[1"}},
        Fact{R"({"type": "boolean"})", {"true", "false"}, {"null", "1"}},
        Fact{R"({"type": ["null", "integer"]})", {"null", "-3"}, {"true", "1.5", "\"1\""}},
        Fact{R"({"type": "number"})", {"1", "-1.5e+3"}, {"01", "\"1\""}},
        Fact{R"({"const": {"a": [1, "x"]}})", {"{\"a\": [1, \"x\"]}", "{\"a\":[1,\"x\"]}"}, {"{\"a\": [1]}"}},
        Fact{R"({"enum": ["a", 1, null], "type": ["string", "null"]})", {"\"a\"", "null"}, {"1", "\"b\""}},
        Fact{R"({"anyOf": [{"type": "integer"}, {"const": "x"}]})", {"1", "\"x\""}, {"\"y\"", "null"}},
        Fact{R"({"allOf": [{"minimum": 3}, {"maximum": 4}], "type": "integer"})", {"3", "4"}, {"2", "5"}},
        Fact{R"({"oneOf": [{"type": "integer"}, {"type": "string"}]})", {"1", "\"a\""}, {"null"}},
        Fact{R"({"oneOf": [{"type": "integer"}, {"minimum": 2}], "type": "number"})", {"1", "2.5"}, {"2", "1.5"}},
        Fact{R"({"not": {"type": "object"}})", {"1", "[]"}, {"{}"}},
        Fact{R"({"not": {"enum": ["a", "ab"]}, "type": "string"})", {"\"\"", "\"b\"", "\"abc\""}, {"\"a\"", "\"ab\""}},
        Fact{R"({"if": {"type": "string"}, "then": {"minLength": 2}, "else": {"const": 1}})",
             {"1", "\"ab\""},
             {"\"a\"", "2"}},
        Fact{R"({"$ref": "#/$defs/a", "$defs": {"a": {"$anchor": "b", "type": "null"}}, "$comment": "x"})",
             {"null"},
             {"1"}},
        Fact{R"({"anyOf": [{"$ref": "#b"}], "definitions": {"a": {"$anchor": "b", "type": "null"}}})", {"null"}, {"1"}},
        Fact{
            R"({"title": "T", "description": "D", "default": 1, "x-unknown": [1], "type": "null"})", {"null"}, {"1"}}));

INSTANTIATE_TEST_SUITE_P(
    Numbers, JsonSchema,
    ::testing::Values(
        Fact{R"({"type": "integer", "minimum": -12, "maximum": 105})",
             {"-12", "-1", "0", "9", "99", "105"},
             {"-13", "106", "1000", "-0", "1.0", "007"}},
        Fact{R"({"type": "integer", "exclusiveMinimum": 0})", {"1", "10", "99999999999999999999999"}, {"0", "-1"}},
        Fact{R"({"minimum": 2.5, "exclusiveMaximum": 10, "type": "number"})",
             {"2.5", "2.50", "3", "9.999"},
             {"2.49", "2", "10", "10.0", "11"}},
        Fact{R"({"maximum": 5, "exclusiveMaximum": true, "type": "integer"})", {"4"}, {"5"}},
        Fact{R"({"multipleOf": 3, "type": "integer"})", {"0", "3", "-12", "99"}, {"1", "100"}},
        Fact{R"({"multipleOf": 0.25, "type": "number"})", {"0.5", "1", "2.750"}, {"0.3", "0.125"}}));

INSTANTIATE_TEST_SUITE_P(
    Strings, JsonSchema,
    ::testing::Values(
        Fact{R"({"type": "string", "minLength": 1, "maxLength": 2})", {"\"a\"", "\"\\n\u20AC\""}, {"\"\"", "\"abc\""}},
        Fact{R"({"type": "string", "pattern": "^a+$"})", {"\"a\"", "\"aaa\""}, {"\"\"", "\"ab\""}},
        Fact{R"({"type": "string", "pattern": "b"})", {"\"abc\"", "\"b\\n\""}, {"\"ac\""}},
        Fact{R"({"type": "string", "pattern": "^[a-z]+$", "maxLength": 2})", {"\"ab\""}, {"\"abc\"", "\"A\""}},
        Fact{R"({"allOf": [{"pattern": "a"}, {"pattern": "b"}], "type": "string"})", {"\"xbya\""}, {"\"a\"", "\"b\""}},
        Fact{R"({"type": "string", "format": "date"})",
             {"\"2024-02-29\"", "\"2026-11-25\""},
             {"\"2023-02-29\"", "\"2026-13-01\"", "\"2026-1-1\""}},
        Fact{R"({"type": "string", "format": "date-time"})",
             {"\"2026-11-25T02:15:00Z\"", "\"2026-11-25t23:59:59.5+01:00\""},
             {"\"2026-11-25\"", "\"2026-11-25T24:00:00Z\""}},
        Fact{R"({"type": "string", "format": "uuid"})", {"\"2eb8aa08-aa98-11ea-b4aa-73b441d16380\""}, {"\"2eb8aa08\""}},
        Fact{R"({"type": "string", "format": "ipv4"})", {"\"127.0.0.1\""}, {"\"256.0.0.1\"", "\"1.2.3\""}},
        Fact{R"({"type": "string", "format": "ipv6"})",
             {"\"::1\"", "\"2001:db8::ff00:42:8329\""},
             {"\"12345::\"", "\":\""}},
        Fact{R"({"type": "string", "format": "email"})", {"\"a.b@example.org\""}, {"\"a@\"", "\"ab\""}},
        Fact{R"({"type": "string", "format": "uri"})",
             {"\"https://example.org/a?b#c\"", "\"urn:isbn:1\""},
             {"\"a b\"", "\"/a\""}},
        Fact{
            R"({"type": "string", "format": "duration"})", {"\"P1Y2M\"", "\"PT5S\"", "\"P2W\""}, {"\"P\"", "\"PT1D\""}},
        Fact{R"({"type": "string", "format": "of-our-own"})", {"\"anything\""}, {"1"}}));

INSTANTIATE_TEST_SUITE_P(
    Arrays, JsonSchema,
    ::testing::Values(
        Fact{R"({"type": "array", "items": {"type": "integer"}})", {"[]", "[1, 2]"}, {"[\"a\"]", "{}"}},
        Fact{R"({"type": "array", "items": {"type": "integer"}, "minItems": 1, "maxItems": 2})",
             {"[1]", "[1,2]"},
             {"[]", "[1, 2, 3]"}},
        Fact{R"({"type": "array", "prefixItems": [{"const": 1}, {"const": 2}], "items": false})",
             {"[]", "[1]", "[1, 2]"},
             {"[2]", "[1, 2, 3]"}},
        Fact{R"({"type": "array", "items": [{"const": 1}], "additionalItems": {"const": 2}, "minItems": 2})",
             {"[1, 2]", "[1, 2, 2]"},
             {"[1]", "[2, 2]"}},
        Fact{R"({"type": "array", "contains": {"const": 1}, "items": {"type": "integer"}})",
             {"[1]", "[2, 1, 3]"},
             {"[]", "[2]", "[1, null]"}},
        Fact{R"({"type": "array", "uniqueItems": true, "maxItems": 1})", {"[]", "[1]"}, {"[1, 1]"}}));

INSTANTIATE_TEST_SUITE_P(
    Objects, JsonSchema,
    ::testing::Values(
        Fact{
            R"({"type": "object", "properties": {"b": {"type": "integer"}, "a": {"type": "null"}}, "required": ["a"]})",
            {"{\"a\": null}", "{\"b\": 1, \"a\": null}", "{\"a\": null, \"c\": []}"},
            {"{\"a\": null, \"b\": 1}", "{}", "{\"b\": 1}", "{\"b\": null, \"a\": null}",
             "{\"a\": null, \"b\": null}"}},
        Fact{R"({"type": "object", "properties": {"a": {}, "b": {}}, "additionalProperties": false})",
             {"{}", "{\"a\": 1}", "{\"b\": 1}", "{\"a\":1,\"b\":2}", "{\n  \"a\": 1\n}"},
             {"{\"c\": 1}", "{,}", "{\"a\": 1,}"}},
        Fact{R"({"type": "object", "additionalProperties": {"type": "integer"}})",
             {"{}", "{\"x\": 1, \"y\": 2}"},
             {"{\"x\": null}"}},
        Fact{R"({"type": "object", "required": ["a", "b"], "additionalProperties": {"const": 1}})",
             {"{\"a\": 1, \"b\": 1, \"c\": 1}"},
             {"{\"a\": 1}", "{\"a\": 1, \"b\": 2}"}},
        Fact{R"({"type": "object", "patternProperties": {"^a": {"const": 1}, "b$": {"type": "integer"}},
                 "additionalProperties": false})",
             {"{\"ax\": 1}", "{\"xb\": 5}", "{\"ab\": 1}"},
             {"{\"ab\": 2}", "{\"x\": 1}"}},
        Fact{
            R"({"type": "object", "propertyNames": {"pattern": "^[a-c]$"}, "properties": {"a": {"const": 1}, "d": {}}})",
            {"{\"a\": 1, \"b\": 2}"},
            {"{\"d\": 1}", "{\"a\": 2}"}},
        Fact{R"({"type": "object", "properties": {"a": {}, "b": {}}, "minProperties": 1, "maxProperties": 2})",
             {"{\"a\": 1}", "{\"b\": 1, \"c\": 1}", "{\"c\": 1, \"d\": 1}"},
             {"{}", "{\"a\": 1, \"b\": 1, \"c\": 1}"}},
        Fact{R"({"type": "object", "properties": {"a": {}, "b": {}}, "dependentRequired": {"a": ["b"]},
                 "additionalProperties": false})",
             {"{}", "{\"b\": 1}", "{\"a\": 1, \"b\": 1}"},
             {"{\"a\": 1}"}},
        Fact{
            R"({"allOf": [{"properties": {"a": {"minimum": 1}}}, {"properties": {"a": {"maximum": 2}}, "required": ["a"]}],
                 "properties": {"a": {"type": "integer"}}, "type": "object", "additionalProperties": false})",
            {"{\"a\": 1}", "{\"a\": 2}"},
            {"{\"a\": 3}", "{}"}},
        Fact{R"({"type": "object", "properties": {"next": {"$ref": "#"}}, "additionalProperties": false})",
             {"{\"next\": {\"next\": {}}}"},
             {"{\"next\": {\"next\": 1}}"}},
        Fact{R"({"type": "object", "properties": {"k\"\u00e9": {"const": 1}}, "additionalProperties": false})",
             {"{\"k\\\"\u00E9\": 1}"},
             {"{\"k\": 1}"}},
        Fact{R"({"oneOf": [{"properties": {"t": {"const": "a"}}, "required": ["t"]},
                           {"properties": {"t": {"const": "b"}, "n": {"type": "null"}}, "required": ["t"]}],
                 "type": "object"})",
             {"{\"t\": \"a\", \"n\": 1}", "{\"t\": \"b\"}"},
             {"{\"t\": \"c\"}", "{\"t\": \"b\", \"n\": 1}"}}));

TEST(JsonSchema, AKeywordThatIsNullIsOneThatIsNotThere) {
  const SchemaUnderTest schema(R"({
      "type": "object", "required": null, "additionalProperties": null, "anyOf": null, "$ref": null, "if": null,
      "properties": {"a": {"type": "string", "enum": null, "pattern": null, "minLength": null}, "b": null,
                     "c": {"const": null}, "d": {"enum": [null]}, "e": {"items": null, "type": "array"}}})");
  for (const char* text : {"{}", R"({"a": "x"})", R"({"b": [1]})", R"({"c": null})", R"({"d": null})", R"({"e": [1]})"})
    EXPECT_TRUE(schema.takes(text)) << text;
  for (const char* text : {R"({"a": 1})", R"({"c": 1})", R"({"d": 1})", R"({"e": 1})", "[]"})
    EXPECT_FALSE(schema.takes(text)) << text;
  EXPECT_THAT(schema_error("null"), HasSubstr("expected a schema"));
  EXPECT_THAT(schema_error(R"({"anyOf": [null]})"), HasSubstr("expected a schema"));
}

TEST(JsonSchemaErrors, SayWhereWhatWasFoundAndWhatWasExpected) {
  EXPECT_THAT(schema_error("{"), HasSubstr("found no JSON"));
  EXPECT_EQ(schema_error("3"), "#: found the number 3, expected a schema: an object, true or false");
  EXPECT_EQ(schema_error(R"({"properties": {"a/b": {"type": "text"}}})"),
            "#/properties/a~1b/type: found the text 'text', expected one or several of the seven types");
  EXPECT_THAT(schema_error(R"({"minLength": -1})"), StartsWith("#/minLength: found the number -1"));
  EXPECT_THAT(schema_error(R"({"a": 1, "a": 2})"), HasSubstr("the key 'a' twice"));
  EXPECT_THAT(schema_error(R"({"items": {"$ref": "other.json"}})"), StartsWith("#/items/$ref: found the reference"));
  EXPECT_THAT(schema_error(R"({"type": "string", "not": {"type": "string"}})"), HasSubstr("no text can fulfil"));
}

TEST(JsonSchemaErrors, AreWarningsWhereTheSchemaIsLoose) {
  const char* schema = R"({"type": "array", "items": {"type": "integer"}, "uniqueItems": true})";
  EXPECT_THAT(schema_error(schema), StartsWith("#/uniqueItems: whether elements are unique"));
  const SchemaUnderTest loose(schema, SchemaStrictness::kLoose);
  EXPECT_TRUE(loose.takes("[1, 1]"));
  EXPECT_FALSE(loose.takes("[null]"));
  EXPECT_THAT(loose.warnings(), ElementsAre(StartsWith("#/uniqueItems: whether elements are unique")));
}

TEST(JsonSchemaErrors, AReferenceToItselfIsOne) {
  EXPECT_THAT(schema_error(R"({"$ref": "#"})"), HasSubstr("a reference to itself"));
  EXPECT_THAT(schema_error(R"({"anyOf": [{"type": "null"}, {"allOf": [{"$ref": "#"}]}]})"), HasSubstr("to itself"));
}

TEST(JsonSchemaBounds, OfDepthAndSizeEndInAnError) {
  std::string nested;
  for (int i = 0; i < 60000; ++i) nested += "{\"items\":";
  nested += "{}" + std::string(60000, '}');
  EXPECT_THAT(schema_error(nested), HasSubstr("nested deeper"));
  EXPECT_THAT(schema_error(std::string(10 << 20, ' ') + "{}"), HasSubstr("bytes of JSON, expected at most"));
  std::string many = "[0";
  while (many.size() < (3 << 20)) many += ",0";
  EXPECT_THAT(schema_error("{\"enum\": " + many + "]}"), HasSubstr("more than 262144 values"));
  EXPECT_THAT(schema_error(R"({"type": "string", "minLength": 40000000})"), HasSubstr("states"));
}

TEST(JsonSchemaBounds, OfValuesAndNamesThatAreComparedHoldInTime) {
  std::string values, names;
  for (int i = 0; i < 40000; ++i) values += (i == 0 ? "\"v" : ",\"v") + std::to_string(i) + "\"";
  for (int i = 0; i < 3000; ++i) names += (i == 0 ? "\"v" : ",\"v") + std::to_string(i) + "\"";
  EXPECT_EQ(schema_error("{\"enum\": [" + values + "]}"), "");
  EXPECT_THAT(schema_error("{\"enum\": [" + values + "], \"anyOf\": [{\"enum\": [" + values + "]}]}"),
              HasSubstr("too many values to be compared"));
  EXPECT_THAT(schema_error("{\"required\": [" + names + "]}"), HasSubstr("expected at most 2048 names"));
}

TEST(JsonSchemaBounds, TheSizeOfAnObjectGrowsWithItsProperties) {
  const auto num_states = [](int num_properties) {
    std::string schema = R"({"type": "object", "additionalProperties": false, "properties": {)";
    for (int i = 0; i < num_properties; ++i)
      schema += (i == 0 ? "\"p" : ", \"p") + std::to_string(1000 + i) + "\": {\"type\": \"integer\"}";
    return SchemaUnderTest(schema + "}}").num_states();
  };
  EXPECT_LT(num_states(400), 2 * num_states(200) + 100);
}

}  // namespace
}  // namespace octavo
