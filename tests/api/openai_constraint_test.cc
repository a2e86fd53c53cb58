// Fields of structured output, and the constraints that they become.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "api/api_named.h"
#include "api/openai_bodies.h"

namespace octavo {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

struct AskedField {
  const char* fields;
  ConstraintKind kind;
  const char* text;
};

class OpenAiConstraint : public OpenAiRequest, public ::testing::WithParamInterface<AskedField> {};

TEST_P(OpenAiConstraint, IsCompiledForTheRequest) {
  const AskedField& asked = GetParam();
  EXPECT_NE(request(asked.fields).constraint, nullptr);
  EXPECT_EQ(words_.compiled.kind, asked.kind);
  EXPECT_EQ(words_.compiled.text, asked.text);
  const auto call = chat(kUser + ", " + asked.fields);
  ASSERT_TRUE(call.has_value());
  EXPECT_NE(call->requests.at(0).constraint, nullptr);
}

INSTANTIATE_TEST_SUITE_P(
    Fields, OpenAiConstraint,
    ::testing::Values(AskedField{R"("response_format": {"type": "json_object"})", ConstraintKind::kJsonObject, ""},
                      AskedField{R"("guided_regex": "a+")", ConstraintKind::kRegex, "a+"},
                      AskedField{R"("guided_grammar": "root ::= x")", ConstraintKind::kGrammar, "root ::= x"},
                      AskedField{R"("regex": "a+")", ConstraintKind::kRegex, "a+"},
                      AskedField{R"("ebnf": "root ::= x")", ConstraintKind::kGrammar, "root ::= x"},
                      AskedField{R"("grammar": "root ::= x")", ConstraintKind::kGrammar, "root ::= x"},
                      AskedField{R"("structured_outputs": {"regex": "b"})", ConstraintKind::kRegex, "b"},
                      AskedField{R"("structured_outputs": {"grammar": "g"})", ConstraintKind::kGrammar, "g"},
                      AskedField{R"("structured_outputs": {"json_object": true})", ConstraintKind::kJsonObject, ""},
                      AskedField{R"("guided_json": {"type": "null", "b": 1})", ConstraintKind::kJsonSchema,
                                 R"({"type":"null","b":1})"},
                      AskedField{R"("guided_json": "{\"a\": 1}")", ConstraintKind::kJsonSchema, R"({"a": 1})"},
                      AskedField{R"("json_schema": {})", ConstraintKind::kJsonSchema, "{}"},
                      AskedField{R"("structured_outputs": {"json": true})", ConstraintKind::kJsonSchema, "true"},
                      AskedField{R"("response_format": {"type": "json_schema", "json_schema": {"name": "n", "schema":
                                 {"const": 1}, "strict": true}})",
                                 ConstraintKind::kJsonSchema, R"({"const":1})"},
                      AskedField{R"("guided_choice": ["a", "b"])", ConstraintKind::kChoice, ""},
                      AskedField{R"("structured_outputs": {"choice": ["a", "b"]})", ConstraintKind::kChoice, ""}));

TEST_F(OpenAiRequest, AStructuralTagHasThreeNames) {
  const std::string tag =
      R"({"structures": [{"begin": "<f>", "schema": {"type": "null"}, "end": "</f>"}], "triggers": ["<f>"]})";
  std::vector<std::string> grammars;
  for (const std::string& fields :
       {R"("response_format": {"type": "structural_tag", )" + tag.substr(1), R"("structural_tag": )" + tag,
        R"("structured_outputs": {"structural_tag": )" + tag + "}"}) {
    EXPECT_NE(request(fields).constraint, nullptr) << fields;
    grammars.push_back(words_.compiled.text);
  }
  EXPECT_THAT(grammars, ::testing::Each(grammars.front()));
  EXPECT_EQ(completion_error(R"("structural_tag": "x")").param, "structural_tag");
}

TEST_F(OpenAiRequest, ChoicesArriveInTheirOrder) {
  request(R"("guided_choice": ["b", "a"])");
  EXPECT_THAT(words_.compiled.choices, ElementsAre("b", "a"));
}

TEST_F(OpenAiRequest, FieldsThatAskForNoConstraintGiveNone) {
  for (const char* fields : {R"("response_format": {"type": "text"})", R"("guided_regex": "")",
                             R"("guided_choice": [])", R"("structured_outputs": {})", R"("grammar": null)"})
    EXPECT_EQ(request(fields).constraint, nullptr) << fields;
}

TEST_F(OpenAiRequest, AConstraintThatCannotBeCompiledIsRefusedWithItsField) {
  const ApiError error = completion_error(R"("guided_regex": "wrong")");
  EXPECT_EQ(error.param, "guided_regex");
  EXPECT_EQ(error.message, "guided_regex: found nonsense");
  EXPECT_EQ(completion_error(R"("structured_outputs": {"grammar": "wrong"})").param, "structured_outputs.grammar");
}

TEST_F(OpenAiRequest, APromptThatCannotFitIsRefusedBeforeItsConstraintIsCompiled) {
  const std::string text(1000, 'x'), form = R"(, "guided_regex": "a")";
  std::string ids = "97";
  for (int i = 0; i < 200; ++i) ids += ",97";
  for (const auto& call :
       {completion(R"("prompt": ")" + text + "\"" + form), completion(R"("prompt": [)" + ids + "]" + form),
        completion(R"("prompt": ["a", ")" + text + "\"]" + form),
        chat(R"("messages": [{"role": "user", "content": ")" + text + "\"}]" + form)}) {
    ASSERT_FALSE(call.has_value());
    EXPECT_EQ(call.error().code, "context_length_exceeded") << call.error().message;
  }
  EXPECT_EQ(words_.num_compiled, 0);
  const auto fitting = completion(R"("prompt": ["a", "b"])" + form);
  ASSERT_TRUE(fitting) << fitting.error().message;
  for (const auto& request : fitting->requests) EXPECT_NE(request.constraint, nullptr);
  EXPECT_EQ(words_.num_compiled, 1);
}

TEST_F(OpenAiRequest, ASchemaIsStrictWhereResponseFormatSaysSo) {
  const std::string format = R"("response_format": {"type": "json_schema", "json_schema": {"schema": {}, "strict": )";
  request((format + "true}}").c_str());
  EXPECT_TRUE(words_.compiled.is_strict);
  request((format + "false}}").c_str());
  EXPECT_FALSE(words_.compiled.is_strict);
  request(R"("guided_json": {})");
  EXPECT_FALSE(words_.compiled.is_strict);
}

struct SchemaBody {
  std::string_view api;
  const char* fields;
};
const SchemaBody kSchemaBodies[] = {
    {"openai_completion", R"("prompt": "a", "guided_json": {})"},
    {"openai_chat",
     R"("messages": [{"role": "user", "content": "a"}],
        "response_format": {"type": "json_schema", "json_schema": {"schema": {}}})"},
    {"messages",
     R"("max_tokens": 5, "messages": [{"role": "user", "content": "a"}],
        "output_config": {"format": {"type": "json_schema", "schema": {}}})"},
    {"responses", R"("input": "a", "text": {"format": {"type": "json_schema", "name": "n", "schema": {}}})"},
    {"ollama_chat", R"("messages": [{"role": "user", "content": "a"}], "format": {})"},
    {"ollama_generate", R"("prompt": "a", "format": {})"},
    {"llama_completion", R"("prompt": "a", "json_schema": {})"}};

class AdditionalProperties : public ::testing::Test {
 protected:
  ApiResult<CompletionCall> read(const SchemaBody& body, const std::string& fields, const ServedModel& model) {
    ResponseStore store({});
    return compiled(parse_call(api_named(body.api), boost::json::parse("{" + (body.fields + fields) + "}").as_object(),
                               words_, model, {.store = &store}),
                    words_);
  }

  FakeText words_;
};

TEST_F(AdditionalProperties, AreClosedInEveryApiUnlessItsRequestOrTheServerSaysAsWritten) {
  ServedModel as_written = kAskedModel;
  as_written.policy.closes_objects = false;
  const std::string closed = R"(, "additional_properties": "closed")";
  const std::string open = R"(, "additional_properties": "as_written")";
  for (const SchemaBody& body : kSchemaBodies) {
    const auto closes = [&](const std::string& fields, const ServedModel& model) {
      words_.num_compiled = 0;
      const auto call = read(body, fields, model);
      EXPECT_TRUE(call.has_value()) << body.fields << fields << ": " << call.error().message;
      EXPECT_EQ(words_.num_compiled, 1) << body.fields << fields;
      return words_.compiled.closes_objects;
    };
    EXPECT_TRUE(closes("", kAskedModel)) << body.fields;
    EXPECT_FALSE(closes(open, kAskedModel)) << body.fields;
    EXPECT_FALSE(closes("", as_written)) << body.fields;
    EXPECT_TRUE(closes(closed, as_written)) << body.fields;
  }
}

TEST_F(AdditionalProperties, OfAnUnknownReadingAreRefusedByName) {
  for (const SchemaBody& body : kSchemaBodies) {
    for (const char* wrong : {R"("open")", R"("")", "true"}) {
      const auto call = read(body, std::string(R"(, "additional_properties": )") + wrong, kAskedModel);
      ASSERT_FALSE(call.has_value()) << body.fields << wrong;
      EXPECT_EQ(call.error().status, 400) << body.fields << wrong;
      EXPECT_EQ(call.error().param, "additional_properties") << body.fields << wrong;
    }
  }
}

TEST_F(OpenAiRequest, AResponseFormatWithoutASchemaIsRefused) {
  EXPECT_EQ(completion_error(R"("response_format": {"type": "json_schema"})").param, "response_format.json_schema");
  EXPECT_EQ(completion_error(R"("response_format": {"type": "json_schema", "json_schema": {"name": "n"}})").param,
            "response_format.json_schema.schema");
  EXPECT_EQ(completion_error(R"("response_format": {"type": "json_schema", "json_schema": {"schema": 1}})").param,
            "response_format.json_schema.schema");
}

TEST_F(OpenAiRequest, TwoConstraintsOfOneAnswerAreRefused) {
  const ApiError error = completion_error(R"("guided_regex": "a", "grammar": "b")");
  EXPECT_EQ(error.param, "grammar");
  EXPECT_THAT(error.message, HasSubstr("beside guided_regex"));
}

TEST_F(OpenAiRequest, ConstraintsOfAWrongTypeAreRefused) {
  for (const auto& [fields, param] : std::vector<std::pair<const char*, const char*>>{
           {R"("guided_regex": 5)", "guided_regex"},
           {R"("guided_choice": "a")", "guided_choice"},
           {R"("guided_choice": ["a", 5])", "guided_choice[1]"},
           {R"("structured_outputs": [])", "structured_outputs"},
           {R"("structured_outputs": {"json_object": 1})", "structured_outputs.json_object"},
           {R"("guided_json": 1)", "guided_json"},
           {R"("structured_outputs": {"json": []})", "structured_outputs.json"},
           {R"("response_format": 1)", "response_format"}})
    EXPECT_EQ(completion_error(fields).param, param) << fields;
}

TEST_F(OpenAiRequest, LogprobsAreTheModelsUnlessThoseOfAllowedTokensAreAskedFor) {
  EXPECT_FALSE(request(R"("guided_regex": "a")").logprobs_after_mask);
  EXPECT_TRUE(request(R"("guided_regex": "a", "logprobs_after_mask": true)").logprobs_after_mask);
}

}  // namespace
}  // namespace octavo
