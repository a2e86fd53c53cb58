// Schemas of tools that are none are told whether or not an answer is held to them.
#include "api/call/schema_shape.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "api/api_named.h"
#include "api/openai_bodies.h"
#include "api/responses/response_store.h"
#include "api/shown_request.h"

namespace octavo {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

std::string mistake(std::string_view schema) {
  return mistake_in_schema(boost::json::parse(schema).as_object(), "at").value_or(SchemaMistake()).text;
}

TEST(SchemaShape, AKeywordOfAnotherFormIsNamedWithItsPlace) {
  EXPECT_EQ(mistake(R"({"properties": 5})"), "at.properties: found the number 5, expected an object of schemas");
  EXPECT_EQ(mistake(R"({"type": 7})"), "at.type: found the number 7, expected one or several of the seven types");
  EXPECT_EQ(mistake(R"({"required": "x"})"), "at.required: found the string \"x\", expected an array of names");
  for (const char* wrong : {R"({"type": "strin"})",
                            R"({"type": ["string", 5]})",
                            R"({"properties": {"a": 5}})",
                            R"({"properties": {"a": {"type": 5}}})",
                            R"({"properties": ["a"]})",
                            R"({"required": [5]})",
                            R"({"enum": "a"})",
                            R"({"items": "string"})",
                            R"({"items": [5]})",
                            R"({"additionalProperties": "no"})",
                            R"({"anyOf": {}})",
                            R"({"oneOf": [1]})",
                            R"({"allOf": 1})",
                            R"({"not": 1})",
                            R"({"minimum": "0"})",
                            R"({"minLength": -1})",
                            R"({"maxItems": 1.5})",
                            R"({"pattern": 5})",
                            R"({"$ref": 5})",
                            R"({"$defs": [1]})",
                            R"({"uniqueItems": "yes"})",
                            R"({"dependentRequired": {"a": "b"}})",
                            R"({"dependencies": {"a": 5}})"})
    EXPECT_THAT(mistake(wrong), StartsWith("at.")) << wrong;
}

TEST(SchemaShape, SchemasOfAllDraftsAndKeywordsThatAreNullAreTaken) {
  for (const char* right :
       {R"({})", R"({"type": ["string", "null"], "x-any": 5, "title": 5})",
        R"({"properties": {"type": {"type": "string"}, "required": true, "items": {}}, "required": ["type"]})",
        R"({"properties": {"a": {"required": true, "exclusiveMinimum": true, "minimum": 1}}})",
        R"({"items": [{"type": "string"}], "additionalItems": false, "maxItems": 1e300})",
        R"({"dependencies": {"a": ["b"], "c": {"type": "object"}}})",
        R"({"default": {"type": 5}, "enum": [{"type": 5}]})",
        R"({"properties": null, "type": null, "required": null, "items": null, "$ref": null, "enum": null})",
        R"({"properties": {"a": null, "b": {"type": null, "minimum": null}}})"})
    EXPECT_EQ(mistake(right), "") << right;
}

TEST(SchemaShape, NullsThatAreValuesStay) {
  TemplateValue schema = TemplateDict{
      {"type", std::string("object")},
      {"required", {}},
      {"properties", TemplateDict{{"a", TemplateDict{{"default", {}}, {"enum", {}}, {"const", {}}}}, {"type", {}}}}};
  drop_null_keywords(schema);
  EXPECT_EQ(
      json_of(schema),
      boost::json::parse(R"({"type": "object", "properties": {"a": {"default": null, "const": null}, "type": null}})"));
}

struct ToolBody {
  std::string_view api;
  std::string before, after;  // the schema
  std::string_view place;
};
const ToolBody kTools[] = {
    {"openai_chat", kUser + R"(, "tools": [{"type": "function", "function": {"name": "f", "parameters": )", "}}]",
     "tools[0].function.parameters"},
    {"openai_chat", kUser + R"(, "functions": [{"name": "f", "parameters": )", "}]", "functions[0].parameters"},
    {"messages", R"("max_tokens": 5, )" + kUser + R"(, "tools": [{"name": "f", "input_schema": )", "}]",
     "tools[0].input_schema"},
    {"responses", R"("input": "a", "tools": [{"type": "function", "name": "f", "parameters": )", "}]",
     "tools[0].parameters"},
    {"ollama_chat", kUser + R"(, "tools": [{"type": "function", "function": {"name": "f", "parameters": )", "}}]",
     "tools[0].function.parameters"},
};

TEST(ToolSchemas, ThatAreNoneAreRefusedWhereACallIsNotHeldToThem) {
  FakeText words;
  words.set_tool_format("generic");
  ResponseStore store({});
  for (const ToolBody& body : kTools) {
    const auto read = [&](std::string_view schema) {
      return parse_call(api_named(body.api),
                        boost::json::parse(fmt::format("{{{}{}{}}}", body.before, schema, body.after)).as_object(),
                        words, kAskedModel, {.store = &store});
    };
    for (const auto& [wrong, place] :
         {std::pair{R"({"properties": 5})", ".properties"}, std::pair{R"({"type": 7})", ".type"},
          std::pair{R"({"required": "x"})", ".required"},
          std::pair{R"({"properties": {"a": {"anyOf": [{"type": "x"}]}}})", ".properties.a.anyOf[0].type"}}) {
      const auto call = read(wrong);
      ASSERT_FALSE(call.has_value()) << body.place << wrong;
      EXPECT_EQ(call.error().status, 400);
      EXPECT_EQ(call.error().param, std::string(body.place) + place);
      EXPECT_THAT(call.error().message, StartsWith(std::string(body.place) + place + ": found "));
    }
    const auto call =
        read(R"({"type": "object", "properties": {"a": {"type": "string", "enum": null}}, "required": null})");
    ASSERT_TRUE(call.has_value()) << body.place << call.error().message;
    EXPECT_THAT(boost::json::serialize(json_of(words.last_options.tools)),
                HasSubstr(R"("parameters":{"type":"object","properties":{"a":{"type":"string"}}})"));
  }
}

}  // namespace
}  // namespace octavo
