// Calls that are written by the grammar of a format are read by its parser.
#include "toolcalls/call_grammar.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <random>

#include "base/utf8.h"
#include "constraint/constraint_rules.h"
#include "constraint/grammar/gbnf.h"
#include "toolcalls/parsed_answer.h"

namespace octavo {
namespace {

using namespace test;
namespace json = boost::json;

constexpr std::uint32_t kFar = 1'000'000;

/// Random texts of a grammar.
class Writer {
 public:
  Writer(const Grammar& grammar, std::vector<std::string> tokens) : grammar_(grammar), tokens_(std::move(tokens)) {
    heights_.assign(grammar.rules().size(), kFar);
    for (bool changed = true; changed;) {
      changed = false;
      for (std::size_t i = 0; i < heights_.size(); ++i) {
        const std::uint32_t height = std::min(kFar, 1 + height_of(grammar.rules()[i].body));
        changed = changed || height < heights_[i];
        heights_[i] = std::min(height, heights_[i]);
      }
    }
  }

  std::string write(std::uint32_t seed) {
    random_.seed(seed);
    std::string out;
    write(grammar_.root(), 0, out);
    return out;
  }

 private:
  static constexpr int kDeep = 12;

  std::uint32_t height_of(ExpressionId id) const {
    const Expression& expression = grammar_.at(id);
    std::uint32_t height = 0;
    switch (expression.kind) {
      case Expression::Kind::kNothing: return kFar;
      case Expression::Kind::kSequence:
        for (const ExpressionId child : expression.children) height = std::max(height, height_of(child));
        return height;
      case Expression::Kind::kAlternatives:
        height = kFar;
        for (const ExpressionId child : expression.children) height = std::min(height, height_of(child));
        return height;
      case Expression::Kind::kRepeat: return expression.min == 0 ? 0 : height_of(expression.children[0]);
      case Expression::Kind::kRule: return heights_[expression.first];
      default: return 0;
    }
  }

  std::uint32_t below(std::uint32_t limit) { return static_cast<std::uint32_t>(random_() % limit); }

  void write(ExpressionId id, int depth, std::string& out) {
    const Expression& expression = grammar_.at(id);
    switch (expression.kind) {
      case Expression::Kind::kNothing: FAIL() << "nothing can be written";
      case Expression::Kind::kLiteral: out += expression.text; return;
      case Expression::Kind::kToken: out += tokens_.at(expression.first); return;
      case Expression::Kind::kSet: return write_character(grammar_.set_at(expression.first), out);
      case Expression::Kind::kSequence:
        for (const ExpressionId child : expression.children) write(child, depth, out);
        return;
      case Expression::Kind::kAlternatives: return write(choose(expression.children, depth), depth, out);
      case Expression::Kind::kRepeat: {
        const std::uint32_t most = std::min(expression.max, expression.min + (depth > kDeep ? 0 : 3));
        for (std::uint32_t left = expression.min + below(most - expression.min + 1); left > 0; --left)
          write(expression.children[0], depth, out);
        return;
      }
      case Expression::Kind::kRule: return write(grammar_.rules()[expression.first].body, depth + 1, out);
    }
  }

  ExpressionId choose(std::span<const ExpressionId> children, int depth) {
    std::vector<ExpressionId> possible;
    for (const ExpressionId child : children)
      if (height_of(child) < kFar) possible.push_back(child);
    if (depth <= kDeep) return possible.at(below(static_cast<std::uint32_t>(possible.size())));
    return *std::ranges::min_element(possible, {}, [this](ExpressionId child) { return height_of(child); });
  }

  void write_character(const CodePointSet& set, std::string& out) {
    const auto& ranges = set.ranges();
    ASSERT_FALSE(ranges.empty());
    for (;;) {
      const auto& range = ranges[below(static_cast<std::uint32_t>(ranges.size()))];
      const std::uint32_t code_point = range.begin + below(std::min(range.end - range.begin, 0x60U));
      if (code_point >= 0xD800 && code_point < 0xE000) continue;
      return append_utf8(out, code_point);
    }
  }

  const Grammar& grammar_;
  const std::vector<std::string> tokens_;
  std::vector<std::uint32_t> heights_;  // of each rule
  std::mt19937 random_;
};

std::vector<OfferedTool> offered() {
  const std::string schema =
      R"({"type": "object", "properties": {"city": {"type": "string"}, "days": {"type": "integer"},
      "unit": {"enum": ["C", "F"]}, "code": {"type": "string", "pattern": "^[<A-Z/]{2}$"}, "more": {"type": "object"}}, "required": ["city", "unit"], "additionalProperties": false})";
  std::vector<OfferedTool> tools = {{.name = "weather", .schema = schema, .is_strict = true},
                                    {.name = "time", .schema = R"({"type": "object"})", .takes_any = true}};
  tools[0].parameters = {
      {.name = "city", .place = "/properties/city", .types = kJsonString, .is_required = true},
      {.name = "days", .place = "/properties/days", .types = kJsonNumber},
      {.name = "unit", .place = "/properties/unit", .choices = {"C", "F"}, .types = kJsonString, .is_required = true},
      {.name = "code", .place = "/properties/code", .pattern = "^[<A-Z/]{2}$", .types = kJsonString},
      {.name = "more", .schema = R"({"type": "object"})", .types = kJsonObject}};
  return tools;
}

/// The format's marks are tokens, or text.
class CallGrammar : public ::testing::TestWithParam<bool> {
 protected:
  void open(const ToolFormat& format, const CallGrammarOptions& options) {
    tokens_.clear();
    for (const std::string_view text : format.tokens)
      if (!text.empty() && GetParam()) tokens_.emplace_back(text);
    const ConstraintSource source =
        call_grammar(format, offered(), options, [this](std::string_view text) -> std::optional<TokenId> {
          const auto found = std::ranges::find(tokens_, text);
          if (found == tokens_.end()) return std::nullopt;
          return static_cast<TokenId>(found - tokens_.begin());
        });
    ASSERT_EQ(source.kind, ConstraintKind::kGrammar);
    auto grammar = read_gbnf(source.text, {.num_tokens = tokens_.size()});
    ASSERT_TRUE(grammar.has_value()) << grammar.error().message << "\n" << source.text;
    std::vector<std::string> warnings;
    const auto defined = define_rules(source, *grammar, warnings);
    ASSERT_TRUE(defined.has_value()) << defined.error().message << "\n" << source.text;
    for (const Grammar::Rule& rule : grammar->rules()) EXPECT_TRUE(rule.is_defined) << rule.name << "\n" << source.text;
    EXPECT_TRUE(warnings.empty());
    grammar_ = std::move(*grammar);
  }

  std::vector<std::string> tokens_;
  Grammar grammar_;
};

void check_calls(const ParsedAnswer& answer, const std::string& text) {
  for (const ParsedCall& call : answer.calls) {
    EXPECT_TRUE(call.name == "weather" || call.name == "time") << text;
    boost::system::error_code wrong;
    const json::value arguments = json::parse(call.arguments, wrong);
    ASSERT_FALSE(wrong) << text << "\n" << answer;
    ASSERT_TRUE(arguments.is_object()) << text;
    if (call.name != "weather") continue;
    const json::object& object = arguments.get_object();
    ASSERT_TRUE(object.contains("city") && object.contains("unit")) << text << "\n" << answer;
    EXPECT_TRUE(object.at("city").is_string());
    EXPECT_TRUE(object.at("unit") == "C" || object.at("unit") == "F") << text;
    if (object.contains("code")) {
      EXPECT_THAT(std::string(object.at("code").as_string()), ::testing::MatchesRegex("[<A-Z/]{2}")) << text;
    }
    EXPECT_TRUE(!object.contains("days") || object.at("days").is_number()) << text;
    EXPECT_TRUE(!object.contains("more") || object.at("more").is_object()) << text;
  }
}

TEST_P(CallGrammar, WhatMustCallCallsAndIsRead) {
  for (const ToolFormat* format : tool_formats()) {
    for (const bool is_single : {true, false}) {
      open(*format, {.must_call = true, .is_single = is_single});
      Writer writer(grammar_, tokens_);
      std::size_t most = 0;
      for (std::uint32_t seed = 0; seed < 60; ++seed) {
        const std::string text = writer.write(seed);
        const ParsedAnswer answer = parse(*format, text);
        ASSERT_FALSE(answer.calls.empty()) << format->name << ": " << text;
        EXPECT_EQ(answer.content, "") << format->name << ": " << text;
        check_calls(answer, text);
        most = std::max(most, answer.calls.size());
      }
      EXPECT_EQ(most > 1, !is_single && format->form.is_repeated) << format->name;
    }
  }
}

TEST_P(CallGrammar, WhatMustCallShowsNothingOfACallWhereverItIsCut) {
  for (const ToolFormat* format : tool_formats()) {
    open(*format, {.must_call = true});
    Writer writer(grammar_, tokens_);
    for (std::uint32_t seed = 0; seed < 4; ++seed) {
      const std::string text = writer.write(seed);
      const std::size_t most = std::min<std::size_t>(text.size(), 1000);
      for (std::size_t size = 0; size <= most; ++size) {
        const std::string begun = to_valid_utf8(text.substr(0, size));  // as answers are shown
        const ParsedAnswer cut = parse(*format, begun, {}, Channel::kContent, false, ToolCallParser::Sure::kAll);
        ASSERT_EQ(cut.content, "") << format->name << ": " << begun;
        ASSERT_EQ(parse(*format, begun, std::array{size / 2}, Channel::kContent, false, ToolCallParser::Sure::kAll),
                  cut);
      }
    }
  }
}

TEST_P(CallGrammar, WhatMayCallDoesSoInTheFormOrNotAtAll) {
  for (const ToolFormat* format : tool_formats()) {
    open(*format, {});
    Writer writer(grammar_, tokens_);
    for (std::uint32_t seed = 0; seed < 60; ++seed) {
      const std::string text = writer.write(seed);
      check_calls(parse(*format, text), text);
    }
  }
}

TEST_P(CallGrammar, ContentMayHaveASchema) {
  for (const ToolFormat* format : tool_formats()) {
    open(*format, {.content_schema = R"({"type": "object", "properties": {"x": {"type": "boolean"}}, "required": ["x"],
                                         "additionalProperties": false})"});
    Writer writer(grammar_, tokens_);
    for (std::uint32_t seed = 0; seed < 60; ++seed) {
      const std::string text = writer.write(seed);
      const ParsedAnswer answer = parse(*format, text);
      check_calls(answer, text);
      if (answer.calls.empty()) {
        EXPECT_TRUE(json::parse(answer.content).at("x").is_bool()) << text;
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Marks, CallGrammar, ::testing::Bool(),
                         [](const auto& parameter) { return parameter.param ? "AsTokens" : "AsText"; });

}  // namespace
}  // namespace octavo
