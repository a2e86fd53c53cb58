// Calls of tools in the form of each template of makers, and back: what a template writes of earlier calls is what its
// model writes, so the parser finds the calls in it, and a message with what it found is rendered into the same prompt.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <random>
#include <set>

#include "base/error.h"
#include "chat/chat_template.h"
#include "json/json_text.h"
#include "support/memory_source.h"
#include "toolcalls/parsed_answer.h"

namespace octavo::test {
namespace {

namespace json = boost::json;

struct Row {
  std::string_view end = {};        // the text behind the calls of an answer
  std::string_view other_end = {};  // or this one
  std::string_view without = {};    // the reason why no calls of it are read
  std::string_view hidden = {};     // control tokens between calls, which an answer's text does not have
};

const std::map<std::string, Row> kRows = {
#include "chat/template_calls.inc"
};

std::filesystem::path templates() {
  const char* folder = std::getenv("OCTAVO_TEST_DATA");
  return std::filesystem::path(folder == nullptr ? "" : folder) / "templates";
}

ChatTemplate template_named(const std::string& name) {
  std::ifstream in(templates() / (name + ".jinja"), std::ios::binary);
  const std::string source{std::istreambuf_iterator<char>(in), {}};
  auto loaded = ChatTemplate::load(MemorySource(), source);
  EXPECT_TRUE(loaded) << name << ": " << loaded.error().message;
  return std::move(*loaded);
}

/// The tools of test_tools(), as a template sees them.
ChatTemplateOptions options() {
  std::size_t values_left = 1000;
  const auto object = [](std::string_view properties) {
    return fmt::format(R"({{"type": "object", "properties": {{{}}}, "required": []}})", properties);
  };
  const std::string parameters = object(R"("city": {"type": "string", "description": "Where."})");
  const std::string tools = fmt::format(
      R"([{{"type": "function", "function": {{"name": "weather", "description": "Tells it.", "parameters": {}}}}},
          {{"type": "function", "function": {{"name": "time", "description": "Tells it.", "parameters": {}}}}}])",
      parameters, object(""));
  // One template reads names that no client of OpenAI's API sends.
  return {.names = {{"functions", std::string("[]")}, {"datetime", std::string("today")}},
          .tools = *read_json(tools, values_left),
          .add_generation_prompt = false};
}

/// Values of all kinds: nested, with quotes, line feeds, marks of XML and of other scripts.
std::string rich_arguments() {
  return R"({"city": "Zürich \"1\"\n\n  it's <b>&amp; {x} \\ 天気\t", "days": -3, "share": 0.25, "wind": true,
             "more": {"a": [1, null, {"b": "\"'c'\"\nd"}], "e": {}, "f": 2.5, "g": false},
             "tags": ["x", -1, [], "true"], "unit": "C", "note": "1 < 2"})";
}

ToolCall call(std::string_view name, std::string_view arguments, std::string_view id) {
  return {.id = std::string(id), .name = std::string(name), .arguments = std::string(arguments)};
}

using Calls = std::vector<ToolCall>;

std::vector<Calls> sets_of_calls() {
  const auto rich = [](std::string_view id) { return call("weather", rich_arguments(), id); };
  const auto empty = [](std::string_view id) { return call("time", "{}", id); };
  const auto small = [](std::string_view id) { return call("weather", R"({"city": ""})", id); };
  return {{rich("abcdefgh1")},
          {empty("abcdefgh1")},
          {small("abcdefgh1")},
          {rich("abcdefgh1"), empty("abcdefgh2")},
          {empty("abcdefgh1"), rich("abcdefgh2")},
          {small("abcdefgh1"), rich("abcdefgh2")}};
}

std::string prompt_of(const ChatTemplate& chat_template, const Calls& calls) {
  std::vector<ChatMessage> messages = {{"user", "Ask?"}, {.role = "assistant", .content = {}, .tool_calls = calls}};
  for (const ToolCall& made : calls) messages.push_back({.role = "tool", .content = "Told.", .tool_call_id = made.id});
  const auto parts = chat_template.render(messages, {.bos = "<s>", .eos = "</s>"}, options(), std::tm{});
  EXPECT_TRUE(parts) << parts.error().message;
  std::string prompt;
  if (parts)
    for (const PromptPart& part : *parts) prompt += part.text;
  return prompt;
}

/// The text of the calls in a prompt: from the first mark that opens one behind the question, up to the row's end.
std::string calls_in(std::string_view prompt, const ToolFormat& format, const Row& row) {
  prompt.remove_prefix(prompt.rfind("Ask?"));
  std::size_t begin = std::string_view::npos;
  for (const std::string_view open : format.opens)
    if (!open.empty()) begin = std::min(begin, prompt.find(open));
  if (begin == std::string_view::npos) return {};
  prompt.remove_prefix(begin);
  std::size_t end = prompt.find(row.end, 1);  // one of the marks begins as the end does
  if (!row.other_end.empty()) end = std::min(end, prompt.find(row.other_end));
  std::string text(prompt.substr(0, end));
  if (!row.hidden.empty())
    for (std::size_t at; (at = text.find(row.hidden)) != std::string::npos;) text.erase(at, row.hidden.size());
  return text;
}

ParsedAnswer parse_in_pieces(const ToolFormat& format, std::string_view text) {
  const ParsedAnswer whole = parse(format, text);
  std::mt19937 random(7);
  for (const std::size_t most : {1U, 3U, 40U}) {
    std::vector<std::size_t> cuts;
    for (std::size_t at = 1; at < text.size(); at += 1 + random() % most) cuts.push_back(at);
    EXPECT_EQ(parse(format, text, cuts), whole);
  }
  return whole;
}

/// Whether an answer's calls are `calls`, with equal arguments as values.
void expect_calls(const ParsedAnswer& answer, std::span<const ToolCall> calls) {
  EXPECT_EQ(answer.content, "");
  ASSERT_EQ(answer.calls.size(), calls.size());
  for (std::size_t i = 0; i < calls.size(); ++i) {
    EXPECT_EQ(answer.calls[i].name, calls[i].name);
    boost::system::error_code wrong;
    EXPECT_EQ(json::parse(answer.calls[i].arguments, wrong), json::parse(std::get<std::string>(calls[i].arguments)))
        << answer.calls[i].arguments;
    EXPECT_TRUE(answer.calls[i].has_ended);
  }
}

class CallRoundTrips : public ::testing::TestWithParam<std::string> {};

TEST_P(CallRoundTrips, WhatTheTemplateWritesIsReadAndWrittenAgain) {
  const Row& row = kRows.at(GetParam());
  const ChatTemplate chat_template = template_named(GetParam());
  const ToolFormat& format = *chat_template.caps().format;
  if (!row.without.empty()) {
    EXPECT_EQ(format.name, "generic") << row.without;
    return;
  }
  const TemplateCaps& caps = chat_template.caps();
  for (Calls calls : sets_of_calls()) {
    if (calls.size() > 1 && !caps.takes_calls && !format.form.is_repeated) continue;  // no answer has two
    if (format.name == "kimi")                                                        // whose ids say the name
      for (std::size_t i = 0; i < calls.size(); ++i) calls[i].id = fmt::format("functions.{}:{}", calls[i].name, i);
    const std::string prompt = prompt_of(chat_template, calls);
    const std::string text = calls_in(prompt, format, row);
    SCOPED_TRACE(text.empty() ? prompt : text);
    const ParsedAnswer answer = parse_in_pieces(format, text);
    expect_calls(answer, std::span(calls).first(caps.takes_parallel ? calls.size() : 1));
    if (HasFailure()) return;
    Calls read = calls;
    for (std::size_t i = 0; i < answer.calls.size(); ++i) {
      read[i].arguments = answer.calls[i].arguments;
      if (!answer.calls[i].id.empty()) read[i].id = answer.calls[i].id;
    }
    EXPECT_EQ(prompt_of(chat_template, read), prompt);
  }
}

std::vector<std::string> names_of_rows() {
  std::vector<std::string> names;
  for (const auto& [name, row] : kRows) names.push_back(name);
  return names;
}

std::string name_of_test(const testing::TestParamInfo<std::string>& info) {
  std::string name = info.param;
  std::ranges::replace_if(name, [](char c) { return std::isalnum(static_cast<unsigned char>(c)) == 0; }, '_');
  return name;
}

INSTANTIATE_TEST_SUITE_P(Templates, CallRoundTrips, testing::ValuesIn(names_of_rows()), name_of_test);

TEST(CallRoundTripsTable, HasARowForEachTemplate) {
  std::set<std::string> found, rows;
  for (const auto& entry : std::filesystem::directory_iterator(templates()))
    if (entry.path().extension() == ".jinja") found.insert(entry.path().stem().string());
  for (const auto& [name, row] : kRows) rows.insert(name);
  EXPECT_EQ(found, rows);
}

}  // namespace
}  // namespace octavo::test
