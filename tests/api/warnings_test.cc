// Warnings: a few are told, each in a few words, and of the others their number, by whatever API.
#include "api/call/warnings.h"

#include <gmock/gmock.h>

#include "api/api_named.h"
#include "api/openai_response.h"
#include "base/text.h"
#include "octavo/request_event.h"

namespace octavo {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

TEST(Warnings, AreToldUpToANumberAndThenCounted) {
  Warnings warnings;
  EXPECT_THAT(warnings, IsEmpty());
  for (std::size_t i = 0; i < Warnings::kMost; ++i) warnings.push_back(fmt::format("{}", i));
  EXPECT_THAT(warnings, SizeIs(Warnings::kMost));
  for (int i = 0; i < 1000; ++i) warnings.push_back("one more");
  EXPECT_THAT(warnings, SizeIs(Warnings::kMost + 1));
  EXPECT_EQ(*(warnings.end() - 1), "and 1000 more");
  EXPECT_EQ(warnings.num_given(), Warnings::kMost + 1000);
}

TEST(Warnings, ThoseOfTwoAreToldAndCountedTogether) {
  Warnings first{"a"}, second{"b"};
  first.append(second);
  EXPECT_THAT(first, ElementsAre("a", "b"));
  for (int i = 0; i < 20; ++i) second.push_back("c");
  first.append(second);
  EXPECT_THAT(first, SizeIs(Warnings::kMost + 1));
  EXPECT_EQ(*(first.end() - 1), "and 7 more");
  EXPECT_EQ(first.num_given(), 23U);
  second.append(Warnings());
  EXPECT_EQ(*(second.end() - 1), "and 5 more");
}

TEST(Warnings, ALongOneIsCutBetweenCharacters) {
  const Warnings warnings{std::string(Warnings::kMaxBytes - 1, 'a') + "\xC3\xA4" + std::string(100'000, 'b')};
  const std::string& told = *warnings.begin();
  EXPECT_LE(told.size(), Warnings::kMaxBytes + 8);
  EXPECT_TRUE(is_valid_utf8(told));
  EXPECT_TRUE(told.ends_with("..."));
}

/// Bytes of a stream's begin and end, and those that its writer says it holds.
struct Told {
  std::size_t num_bytes = 0, num_held = 0;
};

Told told_of_tools(const std::string& api, const std::string& fields, const std::string& tool, int count) {
  FakeText words;
  words.set_tool_format("hermes");
  ResponseStore store({});
  std::string tools;
  for (int i = 0; i < count; ++i) tools += (i == 0 ? "" : ",") + tool;
  const json::object body = json::parse("{\"stream\": true, " + fields + ", \"tools\": [" + tools + "]}").as_object();
  auto call = parse_call(api_named(api), body, words, kAnsweringModel, {.store = &store});
  EXPECT_TRUE(call.has_value()) << call.error().message;
  if (!call) return {};
  EXPECT_EQ(call->warnings.num_given(), static_cast<std::size_t>(count));
  const auto writer = new_writer(api_named(api), *call, words);
  std::string bytes = writer->begin() + writer->on_event(token('a', "a"));
  bytes += writer->on_event(last(FakeText::kEnd, "", FinishReason::kStop));
  bytes += writer->finish();
  EXPECT_THAT(bytes, HasSubstr(fmt::format("and {} more", count - 16)));
  return {.num_bytes = bytes.size(), .num_held = writer->held_bytes()};
}

TEST(Warnings, OfManyUnknownToolsAMessageTellsAFew) {
  const std::string fields = R"("max_tokens": 9, "messages": [{"role": "user", "content": "a"}])";
  const std::string tool = R"({"type": "web_search", "name": "a"})";
  const Told few = told_of_tools("messages", fields, tool, 17), many = told_of_tools("messages", fields, tool, 3000);
  EXPECT_LT(many.num_bytes, few.num_bytes + 100);
}

TEST(Warnings, OfManyUnknownToolsAResponseHoldsNoMoreThanItCounts) {
  const std::string fields = R"("max_output_tokens": 9, "input": "a")", tool = R"({"type":"x"})";
  const Told few = told_of_tools("responses", fields, tool, 17), many = told_of_tools("responses", fields, tool, 3000);
  const std::size_t more = (3000 - 17) * (tool.size() + 1);  // the tools that the response repeats
  EXPECT_LT(many.num_bytes, few.num_bytes + 3 * more + 100);
  EXPECT_GE(many.num_held, few.num_held + more);
}

}  // namespace
}  // namespace octavo
