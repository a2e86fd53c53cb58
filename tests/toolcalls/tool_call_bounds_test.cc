// An answer can be anything: what is held, counted and nested has bounds.
#include <gtest/gtest.h>

#include <string>

#include "toolcalls/parsed_answer.h"

namespace octavo {
namespace {

using namespace test;

std::string repeat(std::string_view text, std::size_t count) {
  std::string all;
  for (std::size_t i = 0; i < count; ++i) all += text;
  return all;
}

TEST(ToolCallBounds, MoreCallsThanThatAreText) {
  const std::string call = R"(<tool_call>{"name": "time", "arguments": {}}</tool_call>)";
  const ParsedAnswer answer = parse(*find_tool_format("hermes"), repeat(call, CallReader::kMaxCalls + 1));
  EXPECT_EQ(answer.calls.size(), static_cast<std::size_t>(CallReader::kMaxCalls));
  EXPECT_EQ(answer.content, call);
}

TEST(ToolCallBounds, DeepArgumentsAreGivenAsTheyAre) {
  const std::string deep = repeat("[", 100'000);
  const ParsedAnswer json = parse(*find_tool_format("mistral"), "[TOOL_CALLS]time[ARGS]{\"a\":" + deep);
  ASSERT_EQ(json.calls.size(), 1U);
  EXPECT_EQ(json.calls[0].arguments, "{\"a\":" + deep);
  const ParsedAnswer gemma = parse(*find_tool_format("gemma"), "<|tool_call>call:time{a:" + deep);
  ASSERT_EQ(gemma.calls.size(), 1U);
  const ParsedAnswer python = parse(*find_tool_format("lfm"), "<|tool_call_start|>[time(a=" + deep);
  ASSERT_EQ(python.calls.size(), 1U);
}

TEST(ToolCallBounds, ArgumentsInFrontOfANameThatNeverComesAreText) {
  const std::string text = "<tool_call>{\"arguments\": {\"a\": \"" + repeat("x", CallReader::kMaxHeldBytes + 10) +
                           "\"}, \"name\": \"time\"}";
  const ParsedAnswer answer = parse(*find_tool_format("hermes"), text);
  EXPECT_TRUE(answer.calls.empty());
  EXPECT_EQ(answer.content, text);
}

TEST(ToolCallBounds, ALongParameterOfAnyTypeBecomesAString) {
  const std::string value = repeat("1", CallReader::kMaxHeldBytes + 10);
  const ParsedAnswer answer = parse(*find_tool_format("glm"), "<tool_call>weather<arg_key>days</arg_key><arg_value>" +
                                                                  value + "</arg_value></tool_call>");
  ASSERT_EQ(answer.calls.size(), 1U);
  EXPECT_EQ(answer.calls[0].arguments, "{\"days\": \"" + value + "\"}");
}

TEST(ToolCallBounds, LongNamesAreText) {
  const std::string text = "<function=" + repeat("n", CallReader::kMaxNameBytes + 1) + "></function>";
  EXPECT_EQ(parse(*find_tool_format("qwen"), text).content, text);
}

TEST(ToolCallBounds, CallsThatNeverEndAreReadInTime) {
  for (const ToolFormat* format : tool_formats()) {
    for (const std::string_view open : format->opens) {
      if (open.empty()) continue;
      const ParsedAnswer answer = parse(*format, repeat(open, 10'000));
      EXPECT_TRUE(answer.is_orderly) << format->name;
    }
  }
}

}  // namespace
}  // namespace octavo
