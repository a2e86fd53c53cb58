#include "toolcalls/tool_call_parser.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <boost/json/serialize.hpp>
#include <numeric>
#include <string>

#include "toolcalls/call_corpus.h"
#include "toolcalls/parsed_answer.h"

namespace octavo {
namespace {

using namespace test;
namespace json = boost::json;

const ToolFormat& format_named(std::string_view name) {
  const ToolFormat* format = find_tool_format(name);
  EXPECT_NE(format, nullptr) << name;
  return *format;
}

std::vector<std::size_t> every_byte(std::string_view text) {
  std::vector<std::size_t> cuts(text.size());
  std::iota(cuts.begin(), cuts.end(), std::size_t{1});
  return cuts;
}

TEST(ToolCallParser, ReadsTheCallsOfEachFormat) {
  for (const CorpusAnswer& expected : call_corpus()) {
    const ParsedAnswer answer = parse(format_named(expected.format), expected.text);
    EXPECT_EQ(answer.content, expected.content) << expected.format << ": " << expected.text;
    EXPECT_TRUE(answer.is_orderly && answer.reasoning.empty()) << expected.text;
    ASSERT_EQ(answer.calls.size(), expected.calls.size()) << expected.format << ": " << expected.text << "\n" << answer;
    for (std::size_t i = 0; i < expected.calls.size(); ++i) {
      EXPECT_EQ(answer.calls[i].name, expected.calls[i].name) << expected.text;
      EXPECT_EQ(answer.calls[i].id, expected.calls[i].id) << expected.text;
      boost::system::error_code wrong;
      EXPECT_EQ(json::parse(answer.calls[i].arguments, wrong), json::parse(expected.calls[i].arguments))
          << expected.text << "\n"
          << answer;
      EXPECT_TRUE(answer.calls[i].has_ended) << expected.text;
    }
  }
}

TEST(ToolCallParser, EveryCutOfAnAnswerGivesTheSame) {
  for (const CorpusAnswer& expected : call_corpus()) {
    const ToolFormat& format = format_named(expected.format);
    const ParsedAnswer whole = parse(format, expected.text);
    EXPECT_EQ(parse(format, expected.text, every_byte(expected.text)), whole) << expected.text;
    for (std::size_t cut = 1; cut < expected.text.size(); ++cut)
      ASSERT_EQ(parse(format, expected.text, std::array{cut}), whole) << expected.text << " at " << cut;
  }
}

/// What was told before the end is the beginning of what is told in the end: nothing is taken back.
TEST(ToolCallParser, EveryBeginningOfAnAnswerTellsABeginning) {
  for (const CorpusAnswer& expected : call_corpus()) {
    const ToolFormat& format = format_named(expected.format);
    const ParsedAnswer whole = parse(format, expected.text);
    for (std::size_t size = 0; size < expected.text.size(); ++size) {
      ToolCallParser parser(format, test_tools(), false);
      ParsedAnswer begun;
      begun.add(parser.push(expected.text.substr(0, size), Channel::kContent));
      ASSERT_TRUE(whole.content.starts_with(begun.content)) << expected.text << " at " << size << "\n" << begun;
      ASSERT_LE(begun.calls.size(), whole.calls.size());
      for (std::size_t i = 0; i < begun.calls.size(); ++i)
        ASSERT_TRUE(whole.calls[i].arguments.starts_with(begun.calls[i].arguments)) << expected.text << " at " << size;
    }
  }
}

/// The content of an answer that ends there.
std::string cut_content(std::string_view text, ToolCallParser::Sure sure, std::string_view format = "hermes") {
  return parse(format_named(format), text, {}, Channel::kContent, false, sure).content;
}

TEST(ToolCallParser, ACutMarkIsTextUnlessItIsSureToBeOne) {
  using Sure = ToolCallParser::Sure;
  const std::string mark = "<tool_call>\n{\"name", begun = "I look. <tool_c", opened = "I look. <tool_call>\n{";
  EXPECT_EQ(cut_content(mark, Sure::kNothing), mark);
  EXPECT_EQ(cut_content(mark, Sure::kOpened), "");
  EXPECT_EQ(cut_content(mark, Sure::kAll), "");
  EXPECT_EQ(cut_content(begun, Sure::kOpened), begun);  // may be a text that goes on otherwise
  EXPECT_EQ(cut_content(opened, Sure::kOpened), "I look.");
  EXPECT_EQ(cut_content("<tool_c", Sure::kAll), "");
  EXPECT_EQ(cut_content(R"({"name": "we)", Sure::kAll, "llama"), "");
  EXPECT_EQ(cut_content(R"({"name": "we)", Sure::kOpened, "llama"), R"({"name": "we)");  // may be any object
}

TEST(ToolCallParser, OfAWholeCallASureOneIsTheSame) {
  for (const CorpusAnswer& expected : call_corpus()) {
    const ToolFormat& format = format_named(expected.format);
    EXPECT_EQ(parse(format, expected.text, {}, Channel::kContent, false, ToolCallParser::Sure::kOpened),
              parse(format, expected.text))
        << expected.text;
  }
}

TEST(ToolCallParser, ACutCallInReasoningStaysReasoning) {
  const std::string text = "Hm. <tool_call>\n<func";
  const ParsedAnswer answer =
      parse(format_named("qwen"), text, {}, Channel::kReasoning, false, ToolCallParser::Sure::kAll);
  EXPECT_EQ(answer.reasoning, text);
}

TEST(ToolCallParser, ArgumentsAreToldAsTheyCome) {
  ToolCallParser parser(format_named("hermes"), test_tools(), false);
  ParsedAnswer answer;
  answer.add(parser.push(R"(<tool_call>{"name": "weather", "arguments": {"city": "Pa)", Channel::kContent));
  ASSERT_EQ(answer.calls.size(), 1U);
  EXPECT_EQ(answer.calls[0].arguments, R"({"city": "Pa)");
  ToolCallParser other(format_named("qwen"), test_tools(), false);
  answer = {};
  answer.add(other.push("<function=weather><parameter=city>\nPa\n", Channel::kContent));
  ASSERT_EQ(answer.calls.size(), 1U);
  EXPECT_EQ(answer.calls[0].arguments, R"({"city": "Pa)");
}

/// An answer that is cut has no arguments that could be taken for whole.
TEST(ToolCallParser, ACutCallHasNoWholeArguments) {
  for (const CorpusAnswer& expected : call_corpus()) {
    if (expected.calls.size() != 1 || json::parse(expected.calls[0].arguments).as_object().empty()) continue;
    const ToolFormat& format = format_named(expected.format);
    const ParsedAnswer whole = parse(format, expected.text);
    for (std::size_t size = 0; size < expected.text.size(); ++size) {
      const ParsedAnswer cut = parse(format, expected.text.substr(0, size));
      if (cut.calls.empty() || cut.calls[0].arguments == whole.calls[0].arguments) continue;
      boost::system::error_code wrong;
      static_cast<void>(json::parse(cut.calls[0].arguments, wrong));
      EXPECT_TRUE(wrong) << expected.text << " at " << size << "\n" << cut;
    }
  }
}

/// An answer may be cut within the marks behind its last call.
TEST(ToolCallParser, NoMarkOfACutAnswerIsTextBehindItsCalls) {
  for (const CorpusAnswer& expected : call_corpus()) {
    const ToolFormat& format = format_named(expected.format);
    const ParsedAnswer whole = parse(format, expected.text);
    for (std::size_t size = 0; size < expected.text.size(); ++size) {
      const ParsedAnswer cut = parse(format, expected.text.substr(0, size));
      if (cut.calls.empty() || cut.calls != whole.calls) continue;
      EXPECT_TRUE(whole.content.starts_with(cut.content)) << expected.text << " at " << size << "\n" << cut;
    }
  }
}

TEST(ToolCallParser, BehindTheOnlyCallEverythingIsLeftOut) {
  for (const CorpusAnswer& expected : call_corpus()) {
    const ToolFormat& format = format_named(expected.format);
    const ParsedAnswer whole = parse(format, expected.text);
    const ParsedAnswer first = parse(format, expected.text, {}, Channel::kContent, true);
    EXPECT_EQ(parse(format, expected.text, every_byte(expected.text), Channel::kContent, true), first) << expected.text;
    ASSERT_EQ(first.calls.size(), std::min<std::size_t>(1, whole.calls.size())) << expected.text;
    if (!first.calls.empty()) {
      EXPECT_EQ(first.calls[0], whole.calls[0]);
    }
    EXPECT_TRUE(whole.content.starts_with(first.content)) << expected.text;
  }
}

TEST(ToolCallParser, ArgumentsThatAreNoJsonAreGivenAsTheyAre) {
  const ParsedAnswer answer =
      parse(format_named("hermes"), R"(<tool_call>{"name": "time", "arguments": {"a": oops}}</tool_call>Then.)");
  ASSERT_EQ(answer.calls.size(), 1U);
  EXPECT_EQ(answer.calls[0].arguments, R"({"a": oops}})");
  EXPECT_TRUE(answer.calls[0].has_ended);
  EXPECT_EQ(answer.content, "Then.");
}

TEST(ToolCallParser, ACallMayEndTheReasoningWhereItsFamilyDoesSo) {
  const std::string_view call = "Need it.\n<tool_call>\n<function=time>\n</function>\n</tool_call>";
  const ParsedAnswer qwen = parse(format_named("qwen"), call, {}, Channel::kReasoning);
  EXPECT_EQ(qwen.reasoning, "Need it.");
  ASSERT_EQ(qwen.calls.size(), 1U);
  EXPECT_EQ(qwen.calls[0].name, "time");
  // A tool that does not exist is something that the model speaks of.
  const std::string_view example = "As in <function=nobody>\n</function>";
  EXPECT_EQ(parse(format_named("qwen"), example, {}, Channel::kReasoning).reasoning, example);
  const std::string_view hermes = "Or <tool_call>{\"name\": \"time\", \"arguments\": {}}</tool_call> hmm";
  EXPECT_EQ(parse(format_named("hermes"), hermes, {}, Channel::kReasoning).reasoning, hermes);
}

TEST(ToolCallParser, NothingReachesFromReasoningIntoContent) {
  ToolCallParser parser(format_named("qwen"), test_tools(), false);
  ParsedAnswer answer;
  answer.add(parser.push("a <func", Channel::kReasoning));
  answer.add(parser.push("tion=time></function>", Channel::kContent));
  answer.add(parser.finish());
  EXPECT_EQ(answer.reasoning, "a <func");
  EXPECT_EQ(answer.content, "tion=time></function>");
  EXPECT_TRUE(answer.calls.empty());
}

json::value random_json(int depth) {
  switch (*rc::gen::inRange(0, depth > 0 ? 7 : 5)) {
    case 0: return nullptr;
    case 1: return *rc::gen::arbitrary<bool>();
    case 2: return *rc::gen::arbitrary<std::int64_t>();
    case 3: return *rc::gen::inRange(-1000, 1000) / 8.0;
    case 4: {
      const auto pieces = *rc::gen::container<std::vector<std::string>>(
          rc::gen::element<std::string>("a", "\"", "\\", "\n", "é", "<", "</tool_call>", "{", "]", "\x01", "[ARGS]"));
      return json::string(std::accumulate(pieces.begin(), pieces.end(), std::string()));
    }
    case 5: {
      json::array array;
      for (int i = *rc::gen::inRange(0, 4); i > 0; --i) array.push_back(random_json(depth - 1));
      return array;
    }
    default: {
      json::object object;
      for (int i = *rc::gen::inRange(0, 4); i > 0; --i)
        object[std::string(1, static_cast<char>('a' + i))] = random_json(depth - 1);
      return object;
    }
  }
}

RC_GTEST_PROP(ToolCallParser, RandomArgumentsComeOutAsTheyWentIn, ()) {
  json::object arguments;
  for (int i = *rc::gen::inRange(0, 5); i > 0; --i)
    arguments[std::string(1, static_cast<char>('a' + i))] = random_json(3);
  const std::string text = json::serialize(arguments);
  struct Around {
    std::string_view format;
    std::string before, behind;
  };
  const Around around = *rc::gen::elementOf(std::vector<Around>{
      {"hermes", "<tool_call>\n{\"name\": \"time\", \"arguments\": ", "}\n</tool_call>"},
      {"llama", "{\"name\": \"time\", \"parameters\": ", "}"},
      {"mistral", "[TOOL_CALLS]time[ARGS]", ""},
      {"mistral", "[TOOL_CALLS][{\"name\": \"time\", \"arguments\": ", "}]"},
      {"harmony", "<|channel|>commentary to=functions.time <|constrain|>json<|message|>", ""},
      {"kimi", "<|tool_call_begin|>functions.time:0<|tool_call_argument_begin|>", "<|tool_call_end|>"}});
  const std::string answer = around.before + text + around.behind;
  auto cuts = *rc::gen::container<std::vector<std::size_t>>(rc::gen::inRange<std::size_t>(0, answer.size()));
  std::ranges::sort(cuts);
  const ParsedAnswer parsed = parse(format_named(around.format), answer, cuts);
  RC_ASSERT(parsed.calls.size() == 1U);
  RC_ASSERT(parsed.calls[0].arguments == text);
  RC_ASSERT(parsed.content.empty());
}

/// Any text, made of what calls are made of, is the same however it is cut, and no byte of plain text is lost.
RC_GTEST_PROP(ToolCallParser, RandomTextIsTheSameHoweverItIsCut, ()) {
  const ToolFormat& format = **rc::gen::elementOf(std::vector(tool_formats().begin(), tool_formats().end()));
  std::vector<std::string> parts = {"{\"name\": \"time\"",
                                    "\"arguments\": ",
                                    "{}",
                                    "}",
                                    "]",
                                    "[",
                                    ",",
                                    " ",
                                    "\n",
                                    "x",
                                    "time",
                                    "<",
                                    "{\"a\": 1}",
                                    "(",
                                    ")",
                                    "a=1",
                                    ">",
                                    "</function>",
                                    "</parameter>",
                                    "<parameter=city>",
                                    "é"};
  for (const std::string_view text : format.opens)
    if (!text.empty()) parts.emplace_back(text);
  for (const std::string_view text : format.tokens)
    if (!text.empty()) parts.emplace_back(text);
  const auto chosen = *rc::gen::container<std::vector<std::string>>(rc::gen::elementOf(parts));
  const std::string text = std::accumulate(chosen.begin(), chosen.end(), std::string());
  const ParsedAnswer whole = parse(format, text);
  RC_ASSERT(whole.is_orderly);
  RC_ASSERT(parse(format, text, every_byte(text)) == whole);
  auto cuts = *rc::gen::container<std::vector<std::size_t>>(rc::gen::inRange<std::size_t>(0, text.size() + 1));
  std::ranges::sort(cuts);
  RC_ASSERT(parse(format, text, cuts) == whole);
  if (whole.calls.empty()) RC_ASSERT(whole.content == text);
}

}  // namespace
}  // namespace octavo
