#include "api/fields/structural_tag.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "api/openai_bodies.h"

namespace octavo {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

namespace json = boost::json;

const std::string kStructures =
    R"("triggers": ["<f="], "structures": [{"begin": "<f=a>", "schema": {"const": 1}, "end": "</f>"},
                                             {"begin": "<f=b>", "schema": true, "end": "</f>\n"}])";

ApiResult<ConstraintSource> read(const std::string& fields) {
  const json::value tag = json::parse("{" + fields + "}");
  return structural_tag(JsonCursor(tag.get_object(), "tag"), [](std::string_view text) -> std::optional<TokenId> {
    return text == "<call>" ? std::optional<TokenId>(7) : std::nullopt;
  });
}

std::string tags(const std::string& more) {
  return R"("format": {"type": "triggered_tags", "triggers": ["<f="], "tags": [{"begin": "<f=a>", "content":
            {"type": "json_schema", "json_schema": {"const": 1}}, "end": "</f>"}])" +
         more + "}";
}

TEST(StructuralTag, TextIsFreeUpToATrigger) {
  const auto source = read(kStructures);
  ASSERT_TRUE(source.has_value()) << source.error().message;
  EXPECT_EQ(source->kind, ConstraintKind::kGrammar);
  EXPECT_EQ(source->text,
            "root ::= free (tag free)*\n"
            "tag-0 ::= \"<f=a>\" value-0 \"</f>\"\n"
            "tag-1 ::= \"<f=b>\" value-1 \"</f>\\x0A\"\n"
            "tag ::= tag-0 | tag-1\n");
  ASSERT_EQ(source->rules.size(), 3U);
  EXPECT_EQ(source->schemas.at(source->rules[0].schema), R"({"const":1})");
  EXPECT_EQ(source->rules[2].kind, ConstraintRule::Kind::kTextWithout);
  EXPECT_THAT(source->rules[2].texts, ElementsAre("<f="));
}

TEST(StructuralTag, TagsMayBeAskedForAndEndTheAnswer) {
  EXPECT_THAT(read(tags(""))->text, HasSubstr("root ::= free (tag free)*\n"));
  EXPECT_THAT(read(tags(R"(, "at_least_one": true)"))->text, HasSubstr("root ::= free tag (free tag)* free\n"));
  EXPECT_THAT(read(tags(R"(, "stop_after_first": true)"))->text, HasSubstr("root ::= free tag?\n"));
  EXPECT_THAT(read(tags(R"(, "stop_after_first": true, "at_least_one": true)"))->text,
              HasSubstr("root ::= free tag\n"));
}

TEST(StructuralTag, EachByteOfAMarkIsLookedAtOnceForATokenInIt) {
  std::size_t num_bytes = 0;
  const auto read_mark = [&](const std::string& mark) {
    json::object tag = json::parse("{" + kStructures + "}").as_object();
    tag["structures"].as_array()[0].as_object()["end"] = mark;
    num_bytes = 0;
    const auto source =
        structural_tag(JsonCursor(tag, "tag"), [&num_bytes](std::string_view text) -> std::optional<TokenId> {
          num_bytes += text.size();
          return text == "<call>" ? std::optional<TokenId>(7) : std::nullopt;
        });
    EXPECT_TRUE(source.has_value()) << source.error().message;
    return source ? source->text : "";
  };
  read_mark(std::string(1000, '<') + ">");
  EXPECT_LT(num_bytes, 100U) << "those of the marks beside it";
  EXPECT_THAT(read_mark("<<<call>>"), HasSubstr(R"(value-0 "<<" <[7]> ">")"));
  EXPECT_THAT(read_mark("<<call"), HasSubstr(R"(value-0 "<<call")"));
}

TEST(StructuralTag, AMarkThatIsATokenIsWrittenAsOne) {
  const auto source =
      read(R"("triggers": ["<call>"], "structures": [{"begin": "<call>{", "schema": {}, "end": "}<x>"}])");
  EXPECT_THAT(source->text, HasSubstr("tag-0 ::= <[7]> \"{\" value-0 \"}<x>\"\n"));
}

TEST(StructuralTag, ErrorsNameTheField) {
  const auto error = [](const std::string& fields) { return read(fields).error().param; };
  EXPECT_EQ(error(""), "tag.triggers");
  EXPECT_EQ(error(R"("triggers": ["<f="])"), "tag.structures");
  EXPECT_EQ(error(R"("triggers": [1], "structures": [{}])"), "tag.triggers[0]");
  EXPECT_EQ(error(R"("triggers": ["<f="], "structures": [1])"), "tag.structures[0]");
  EXPECT_EQ(error(R"("triggers": ["<f="], "structures": [{"begin": "<g>", "schema": {}, "end": "x"}])"),
            "tag.structures[0].begin");
  EXPECT_EQ(error(R"("triggers": ["<f="], "structures": [{"begin": "<f=", "schema": 5, "end": "x"}])"),
            "tag.structures[0].schema");
  EXPECT_EQ(error(R"("triggers": ["<f="], "structures": [{"begin": "<f=", "schema": {}}])"), "tag.structures[0].end");
  EXPECT_EQ(error(R"("format": {"type": "sequence"})"), "tag.format.type");
  const std::string long_text(kMaxMarkBytes + 1, 'x');
  EXPECT_EQ(error(R"("structures": [], "triggers": [")" + long_text + "\"]"), "tag.triggers[0]");
}

TEST_F(OpenAiRequest, StructuralTagsAreTakenInBothPlacesAsObjectsAndAsText) {
  const std::string text = json::serialize(json::string("{" + kStructures + "}"));
  for (const std::string& fields : {R"("response_format": {"type": "structural_tag", )" + kStructures + "}",
                                    R"("structured_outputs": {"structural_tag": {)" + kStructures + "}}",
                                    R"("structured_outputs": {"structural_tag": )" + text + "}"}) {
    EXPECT_NE(request(fields).constraint, nullptr) << fields;
    EXPECT_EQ(words_.compiled.rules.size(), 3U) << fields;
  }
  EXPECT_EQ(chat_error(kUser + R"(, "structured_outputs": {"structural_tag": "{"})").param,
            "structured_outputs.structural_tag");
}

}  // namespace
}  // namespace octavo
