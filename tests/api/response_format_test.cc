// Forms of answers in the words of several servers, which hold in each API.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "api/api_named.h"
#include "api/compiled_call.h"
#include "api/openai_bodies.h"
#include "api/responses/response_store.h"

namespace octavo {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

struct ApiBody {
  std::string_view api;
  std::string needed;
};
const ApiBody kBodies[] = {
    {"openai_completion", R"("prompt": "a")"}, {"openai_chat", kUser}, {"messages", R"("max_tokens": 5, )" + kUser},
    {"responses", R"("input": "a")"},          {"ollama_chat", kUser}, {"ollama_generate", R"("prompt": "a")"},
    {"llama_completion", R"("prompt": "a")"},
};

class ResponseFormat : public ::testing::Test {
 protected:
  ApiResult<CompletionCall> read(const ApiBody& body, const std::string& fields) {
    ResponseStore store({});
    words_.num_compiled = 0;
    return compiled(
        parse_call(api_named(body.api), boost::json::parse("{" + body.needed + ", " + fields + "}").as_object(), words_,
                   kAskedModel, {.store = &store}),
        words_);
  }
  /// What each API makes of the fields.
  void expect_compiled(const std::string& fields, ConstraintKind kind, std::string_view text) {
    for (const ApiBody& body : kBodies) {
      const auto call = read(body, fields);
      ASSERT_TRUE(call.has_value()) << body.api << " " << fields << ": " << call.error().message;
      EXPECT_EQ(words_.num_compiled, 1) << body.api << " " << fields;
      EXPECT_EQ(words_.compiled.kind, kind) << body.api << " " << fields;
      EXPECT_EQ(words_.compiled.text, text) << body.api << " " << fields;
    }
  }
  void expect_refused(const std::string& fields, std::string_view param) {
    for (const ApiBody& body : kBodies) {
      const auto call = read(body, fields);
      ASSERT_FALSE(call.has_value()) << body.api << " " << fields;
      EXPECT_EQ(call.error().status, 400) << body.api << " " << fields;
      EXPECT_EQ(call.error().param, param) << body.api << " " << fields << ": " << call.error().message;
      EXPECT_THAT(call.error().message, StartsWith(std::string(param))) << body.api;
    }
  }

  FakeText words_;
};

TEST_F(ResponseFormat, ASchemaHoldsInEveryFormThatServersGiveIt) {
  const std::string schema = R"({"const":1})", quoted = R"("{\"const\":1}")";
  for (const std::string& given : {schema, quoted})
    for (const std::string& fields :
         {R"("response_format": {"type": "json_object", "schema": )" + given + "}",
          R"("response_format": {"type": "json_object", "json_schema": {"schema": )" + given + "}}",
          R"("response_format": {"type": "json_object", "value": )" + given + "}",
          R"("response_format": {"type": "json_schema", "schema": )" + given + "}",
          R"("response_format": {"type": "json_schema", "json_schema": {"name": "n", "schema": )" + given + "}}",
          R"("response_format": {"type": "json_schema", "value": {"name": "n", "schema": )" + given + "}}",
          R"("response_format": {"type": "json", "value": )" + given + "}",
          R"("response_format": {"type": "json", "schema": )" + given + "}",
          R"("grammar": {"type": "json", "value": )" + given + "}",
          R"("parameters": {"grammar": {"type": "json", "value": )" + given + "}}", R"("json_schema": )" + given,
          R"("guided_json": )" + given, R"("structured_outputs": {"json": )" + given + "}"})
      expect_compiled(fields, ConstraintKind::kJsonSchema, schema);
  expect_compiled(R"("format": {"const":1})", ConstraintKind::kJsonSchema, schema);
}

TEST_F(ResponseFormat, ARegularExpressionAndAGrammarHoldInEveryFormThatServersGiveThem) {
  for (const char* fields :
       {R"("response_format": {"type": "regex", "pattern": "a+"})",
        R"("response_format": {"type": "regex", "regex": "a+"})",
        R"("response_format": {"type": "regex", "value": "a+"})", R"("grammar": {"type": "regex", "value": "a+"})",
        R"("regex": "a+")", R"("guided_regex": "a+")", R"("structured_outputs": {"regex": "a+"})"})
    expect_compiled(fields, ConstraintKind::kRegex, "a+");
  for (const char* fields :
       {R"("response_format": {"type": "grammar", "grammar": "root ::= x"})",
        R"("response_format": {"type": "ebnf", "ebnf": "root ::= x"})", R"("grammar": "root ::= x")",
        R"("ebnf": "root ::= x")", R"("parameters": {"grammar": "root ::= x"})", R"("guided_grammar": "root ::= x")",
        R"("structured_outputs": {"grammar": "root ::= x"})"})
    expect_compiled(fields, ConstraintKind::kGrammar, "root ::= x");
}

TEST_F(ResponseFormat, AnyObjectIsWhatNoSchemaTheEmptyOneAndTrueAskFor) {
  for (const char* fields : {R"("response_format": {"type": "json_object"})",
                             R"("response_format": {"type": "json_object", "schema": null})",
                             R"("response_format": {"type": "json_object", "schema": {}})",
                             R"("response_format": {"type": "json_object", "schema": true})", R"("format": "json")",
                             R"("structured_outputs": {"json_object": true})"})
    expect_compiled(fields, ConstraintKind::kJsonObject, "");
  expect_compiled(R"("response_format": {"type": "json_object", "schema": false})", ConstraintKind::kJsonSchema,
                  "false");
}

TEST_F(ResponseFormat, AFormThatWouldBeLeftOutIsRefusedByItsName) {
  expect_refused(R"("response_format": {"type": "text", "schema": {}})", "response_format.schema");
  expect_refused(R"("response_format": {"type": "json_object", "pattern": "a"})", "response_format.pattern");
  expect_refused(R"("response_format": {"type": "regex", "schema": {}})", "response_format.schema");
  expect_refused(R"("response_format": {"type": "json_object", "schema": {}, "json_schema": {"schema": {}}})",
                 "response_format.json_schema");
  expect_refused(R"("response_format": {"schema": {}})", "response_format.type");
  expect_refused(R"("response_format": {"type": "json"})", "response_format.value");
  expect_refused(R"("response_format": {"type": "regex"})", "response_format.pattern");
  expect_refused(R"("response_format": {"type": "regex", "pattern": ""})", "response_format.pattern");
  expect_refused(R"("response_format": {"type": "grammar", "grammar": null})", "response_format.grammar");
  expect_refused(R"("response_format": {"type": "json_schema", "json_schema": {"schema": null}})",
                 "response_format.json_schema.schema");
  expect_refused(R"("response_format": {"type": "json_schema", "schema": ""})", "response_format.schema");
  expect_refused(R"("response_format": {"type": "json_object", "schema": [1]})", "response_format.schema");
  expect_refused(R"("structured_outputs": {"jsn": {}})", "structured_outputs.jsn");
  expect_refused(R"("structured_outputs": {"json": {}, "whitespace_pattern": " "})",
                 "structured_outputs.whitespace_pattern");
  expect_refused(R"("guided_options": {"json": {}})", "guided_options");
  expect_refused(R"("guided_decoding": {"json": {}})", "guided_decoding");
  expect_refused(R"("extra_body": {"guided_json": {}})", "extra_body.guided_json");
  expect_refused(R"("sampling_params": {"regex": "a"})", "sampling_params.regex");
  expect_refused(R"("response_format": {"type": "json_object"}, "guided_json": {})", "guided_json");
}

TEST_F(ResponseFormat, TheFormatsOfResponsesAndMessagesAreReadAlike) {
  const std::string object = R"({"type": "json_object", "schema": {"const":1}})";
  for (const auto& [body, fields] : {std::pair{kBodies[3], R"("text": {"format": )" + object + "}"},
                                     std::pair{kBodies[2], R"("output_config": {"format": )" + object + "}"},
                                     std::pair{kBodies[2], R"("output_format": )" + object}}) {
    const auto call = read(body, fields);
    ASSERT_TRUE(call.has_value()) << fields << ": " << call.error().message;
    EXPECT_EQ(words_.compiled.text, R"({"const":1})") << fields;
  }
}

TEST_F(ResponseFormat, WhatStandsInAnInnerBodyAndFormsNothingIsAWarning) {
  const auto call = read(kBodies[1], R"("extra_body": {"top_k": 5})");
  ASSERT_TRUE(call.has_value()) << call.error().message;
  EXPECT_THAT(call->warnings, ::testing::ElementsAre(HasSubstr("belong into the body itself")));
}

}  // namespace
}  // namespace octavo
