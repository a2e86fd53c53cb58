// OtherNames::kClosed: which objects have no members but those that their schemas name.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "constraint/schema/json_schema.h"
#include "constraint/schema_under_test.h"

namespace octavo {
namespace {

using test::SchemaUnderTest;

struct ClosedFact {
  const char* schema;
  std::vector<const char*> taken;
  std::vector<const char*> left_out;  // fulfil the schema as it is written, and are not made
  std::vector<const char*> refused;   // either way
};

class ClosedObjects : public ::testing::TestWithParam<ClosedFact> {};

TEST_P(ClosedObjects, HaveTheNamesOfTheirSchemasAlone) {
  const ClosedFact& fact = GetParam();
  const SchemaUnderTest written(fact.schema, SchemaStrictness::kLoose);
  const SchemaUnderTest closed(fact.schema, SchemaStrictness::kLoose, OtherNames::kClosed);
  for (const char* text : fact.taken) {
    EXPECT_TRUE(written.takes(text)) << fact.schema << " " << text;
    EXPECT_TRUE(closed.takes(text)) << fact.schema << " " << text;
  }
  for (const char* text : fact.left_out) {
    EXPECT_TRUE(written.takes(text)) << fact.schema << " " << text;
    EXPECT_FALSE(closed.takes(text)) << fact.schema << " " << text;
  }
  for (const char* text : fact.refused) {
    EXPECT_FALSE(written.takes(text)) << fact.schema << " " << text;
    EXPECT_FALSE(closed.takes(text)) << fact.schema << " " << text;
  }
  EXPECT_EQ(closed.warnings(), written.warnings());
}

TEST(ClosedObjectsNumbers, HaveTheDigitsOfA64BitIntegerAtMost) {
  const std::string most = "18446744073709551615", more(21, '1');
  for (const char* schema : {R"({"type": "integer"})", R"({"type": "integer", "minimum": 0})",
                             R"({"type": "integer", "multipleOf": 5})", R"({"type": "number"})", "true"}) {
    const SchemaUnderTest written(schema, SchemaStrictness::kLoose);
    const SchemaUnderTest closed(schema, SchemaStrictness::kLoose, OtherNames::kClosed);
    EXPECT_TRUE(closed.takes(most)) << schema;
    EXPECT_TRUE(closed.takes("0")) << schema;
    EXPECT_TRUE(written.takes(std::string(20, '1') + "0")) << schema;
    EXPECT_FALSE(closed.takes(std::string(20, '1') + "0")) << schema;
  }
  const SchemaUnderTest closed(R"({"type": "number"})", SchemaStrictness::kLoose, OtherNames::kClosed);
  EXPECT_TRUE(closed.takes("-1.25e-300"));
  EXPECT_FALSE(closed.takes("0." + more));
  EXPECT_FALSE(closed.takes("1e1000"));
  const SchemaUnderTest large(R"({"type": "integer", "minimum": 1000000000000000000000})", SchemaStrictness::kLoose,
                              OtherNames::kClosed);
  EXPECT_TRUE(large.takes("1000000000000000000000")) << "what the schema asks for is taken";
}

INSTANTIATE_TEST_SUITE_P(
    WithProperties, ClosedObjects,
    ::testing::Values(
        ClosedFact{R"({"type": "object", "properties": {"a": {"type": "integer"}, "b": {}}, "required": ["a"]})",
                   {R"({"a": 1})", R"({"a": 1, "b": null})"},
                   {R"({"a": 1, "c": 2})", R"({"a": 1, "b": 2, "c": 3})"},
                   {R"({})", R"({"b": 1})"}},
        ClosedFact{R"({"type": "object", "properties": {"a": {"properties": {"b": {"type": "null"}}}}})",
                   {R"({"a": {"b": null}})", R"({"a": 1})", R"({})"},
                   {R"({"a": {"b": null, "c": 1}})", R"({"a": {"c": 1}})"},
                   {R"({"a": {"b": 1}})"}},
        ClosedFact{R"({"type": "array", "items": {"type": "object", "properties": {"a": {}}}})",
                   {R"([{"a": 1}, {}])"},
                   {R"([{"a": 1}, {"b": 1}])"},
                   {}},
        ClosedFact{R"({"type": "object", "properties": {}})", {R"({})"}, {R"({"a": 1})"}, {}},
        ClosedFact{R"({"type": "object", "properties": {"a": {}}, "required": ["b"]})",
                   {R"({"a": 1, "b": 2})"},
                   {R"({"b": 2, "c": 1})"},
                   {R"({"a": 1})"}},
        ClosedFact{
            R"({"type": "object", "properties": {"a": {}}, "dependentSchemas": {"a": {"properties": {"b": {}}}}})",
            {R"({"a": 1, "b": 2})", R"({})"},
            {R"({"a": 1, "c": 2})", R"({"c": 1})"},
            {}},
        ClosedFact{R"({"enum": [{"a": 1, "b": 2}], "properties": {"a": {}}})", {R"({"a": 1, "b": 2})"}, {}, {"{}"}}));

INSTANTIATE_TEST_SUITE_P(
    OfSeveralSchemas, ClosedObjects,
    ::testing::Values(
        ClosedFact{R"({"allOf": [{"properties": {"a": {}}, "required": ["a"]}, {"properties": {"b": {}}}],
                       "type": "object"})",
                   {R"({"a": 1, "b": 2})", R"({"a": 1})"},
                   {R"({"a": 1, "c": 2})"},
                   {R"({"b": 1})"}},
        ClosedFact{R"({"$ref": "#/$defs/base", "properties": {"b": {}}, "type": "object",
                       "$defs": {"base": {"properties": {"a": {"$ref": "#/$defs/base"}}}}})",
                   {R"({"b": 1, "a": {"a": 2}})"},
                   {R"({"b": 1, "a": {"b": 2}})", R"({"c": 1})"},
                   {}},
        ClosedFact{R"({"type": "object", "properties": {"a": {}},
                       "anyOf": [{"properties": {"b": {}}, "required": ["b"]}, {"required": ["c"]}]})",
                   {R"({"a": 1, "b": 2})", R"({"a": 1, "c": 2})"},
                   {R"({"a": 1, "b": 2, "c": 3})", R"({"b": 1, "d": 1})"},
                   {R"({"a": 1})"}},
        ClosedFact{R"({"oneOf": [{"type": "object", "properties": {"k": {"const": 1}, "a": {}}, "required": ["k"]},
                                 {"type": "object", "properties": {"k": {"const": 2}, "b": {}}, "required": ["k"]}]})",
                   {R"({"k": 1, "a": 0})", R"({"k": 2, "b": 0})"},
                   {R"({"k": 1, "b": 0})", R"({"k": 2, "c": 0})"},
                   {R"({"k": 3})"}},
        ClosedFact{R"({"type": "object", "properties": {"k": {"type": "integer"}}, "required": ["k"],
                       "if": {"properties": {"k": {"const": 1}}}, "then": {"properties": {"a": {}}},
                       "else": {"properties": {"b": {}}}})",
                   {R"({"k": 1, "a": 0})", R"({"k": 2, "b": 0})"},
                   {R"({"k": 1, "b": 0})", R"({"k": 2, "a": 0})"},
                   {}}));

INSTANTIATE_TEST_SUITE_P(
    StayOpen, ClosedObjects,
    ::testing::Values(
        ClosedFact{R"({"type": "object"})", {R"({"a": 1})"}, {}, {}},
        ClosedFact{R"({"type": "object", "required": ["a"]})", {R"({"a": 1, "b": 2})"}, {}, {"{}"}},
        ClosedFact{R"({"properties": {"a": {}}, "additionalProperties": true})", {R"({"b": 1})"}, {}, {}},
        ClosedFact{R"({"properties": {"a": {}}, "additionalProperties": {"type": "null"}})",
                   {R"({"b": null})"},
                   {},
                   {R"({"b": 1})"}},
        ClosedFact{R"({"properties": {"a": {}}, "additionalProperties": false})", {R"({"a": 1})"}, {}, {R"({"b": 1})"}},
        ClosedFact{R"({"properties": {"a": {}}, "unevaluatedProperties": true})", {R"({"b": 1})"}, {}, {}},
        ClosedFact{R"({"properties": {"a": {}}, "unevaluatedProperties": false})", {R"({"a": 1})"}, {}, {}},
        ClosedFact{R"({"properties": {"a": {}}, "patternProperties": {"^b": {"type": "null"}}})",
                   {R"({"b": null})", R"({"c": 1})"},
                   {},
                   {R"({"b": 1})"}},
        ClosedFact{R"({"allOf": [{"properties": {"a": {}}}, {"additionalProperties": true}]})",
                   {R"({"a": 1, "b": 2})"},
                   {},
                   {}},
        ClosedFact{
            R"({"properties": {"a": {}}, "$ref": "#/$defs/open", "$defs": {"open": {"unevaluatedProperties": true}}})",
            {R"({"b": 1})"},
            {},
            {}},
        ClosedFact{R"({"type": "object", "properties": {"a": {}}, "minProperties": 2})",
                   {R"({"a": 1, "b": 2})"},
                   {},
                   {R"({"a": 1})"}}));

}  // namespace
}  // namespace octavo
