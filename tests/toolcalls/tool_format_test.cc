#include "toolcalls/tool_format.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <set>
#include <string>

#include "toolcalls/mark_finder.h"

namespace octavo {
namespace {

const std::map<std::string, std::string> kExpected = {
#include "toolcalls/template_formats.inc"
};

TEST(ToolFormat, EachTemplateOfTheTestDataHasItsFormat) {
  const char* folder = std::getenv("OCTAVO_TEST_DATA");
  ASSERT_NE(folder, nullptr) << "OCTAVO_TEST_DATA names no folder";
  std::map<std::string, std::string> found;
  for (const auto& entry : std::filesystem::directory_iterator(std::filesystem::path(folder) / "templates")) {
    if (entry.path().extension() != ".jinja") continue;
    std::ifstream in(entry.path(), std::ios::binary);
    const std::string text{std::istreambuf_iterator<char>(in), {}};
    found[entry.path().stem().string()] = tool_format_of(text, true).name;
  }
  EXPECT_EQ(found, kExpected);
}

TEST(ToolFormat, RowsAreWellFormed) {
  std::set<std::string_view> names;
  for (const ToolFormat* format : tool_formats()) {
    EXPECT_TRUE(names.insert(format->name).second) << format->name;
    EXPECT_EQ(find_tool_format(format->name), format);
    EXPECT_NE(format->read, nullptr);
    EXPECT_FALSE(format->opens[0].empty()) << format->name;
    bool ended = false;
    for (const std::string_view open : format->opens) {
      EXPECT_FALSE(ended && !open.empty()) << format->name << ": a gap in front of " << open;
      ended = ended || open.empty();
      EXPECT_LE(open.size(), MarkFinder::kMaxMarkBytes);
      for (const std::string_view other : format->opens)
        EXPECT_FALSE(open != other && !open.empty() && other.starts_with(open)) << open << " begins " << other;
    }
  }
  EXPECT_EQ(find_tool_format("nothing"), nullptr);
  EXPECT_EQ(find_tool_format(""), nullptr);
}

TEST(ToolFormat, TheLastOneFitsAnyTemplateThatTakesTools) {
  EXPECT_EQ(tool_format_of("", true).name, "generic");
  EXPECT_EQ(tool_format_of("<|tool_call|>", true).name, "granite");
}

// Of Meta's template, which llama.cpp's folder has not.
TEST(ToolFormat, LlamaFourHasOtherHeadersThanThree) {
  const std::string call = R"({{- '{"name": "' + tool_call.function.name + '", ' }}{{- '"parameters": ' }})";
  EXPECT_EQ(tool_format_of(call + "{{- '<|header_start|>ipython<|header_end|>' }}", true).name, "llama4");
  EXPECT_EQ(tool_format_of(call + "{{- '<|start_header_id|>ipython<|end_header_id|>' }}", true).name, "llama");
}

TEST(ToolFormat, ATemplateWithoutAPlaceForToolsHasThatOfItsCallsOrOfDescribedTools) {
  EXPECT_EQ(tool_format_of("", false).name, "described");
  EXPECT_EQ(tool_format_of("<|tool_call|>", false).name, "granite");
}

}  // namespace
}  // namespace octavo
