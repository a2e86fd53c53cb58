#include "toolcalls/tool_set.h"

#include <gtest/gtest.h>

#include "toolcalls/parsed_answer.h"

namespace octavo {
namespace {

using namespace test;

TEST(ToolSet, KnowsTheTypesOfParameters) {
  const ToolSet& tools = test_tools();
  EXPECT_TRUE(tools.has("weather") && tools.has("Calendar.create_event") && !tools.has("nobody"));
  EXPECT_EQ(tools.types_of("weather", "city"), kJsonString);
  EXPECT_EQ(tools.types_of("weather", "days"), kJsonNumber);
  EXPECT_EQ(tools.types_of("weather", "note"), kJsonString | kJsonNull);
  EXPECT_EQ(tools.types_of("weather", "either"), kJsonString | kJsonNumber);
  EXPECT_EQ(tools.types_of("weather", "unit"), kJsonString);
  EXPECT_EQ(tools.types_of("weather", "any"), kAnyJson);
  EXPECT_EQ(tools.types_of("weather", "nothing"), kAnyJson);
  EXPECT_EQ(tools.types_of("nobody", "city"), kAnyJson);
}

TEST(ToolSet, PassesOverWhatIsNoTool) {
  EXPECT_TRUE(ToolSet(TemplateValue()).empty());
  EXPECT_TRUE(tool_set(R"([1, {}, {"function": 1}, {"function": {}}, {"function": {"name": 1}}])").empty());
  EXPECT_TRUE(tool_set(R"([{"function": {"name": "a", "parameters": {"properties": []}}}])").has("a"));
}

TEST(ToolSet, SchemasThatNestTooDeepAreOfAnyType) {
  std::string schema = R"({"type": "string"})";
  for (int i = 0; i < 100; ++i) schema = R"({"anyOf": [)" + schema + "]}";
  boost::json::parse_options options;
  options.max_depth = 1000;
  const std::string text = R"([{"function": {"name": "a", "parameters": {"properties": {"b": )" + schema + "}}}}]";
  const ToolSet tools(template_value(boost::json::parse(text, {}, options)));
  EXPECT_EQ(tools.types_of("a", "b"), kAnyJson);
}

}  // namespace
}  // namespace octavo
