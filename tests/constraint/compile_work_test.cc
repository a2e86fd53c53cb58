// The bounds of compiling: its work in counted steps, the depth of what clients nest, and the stop token.
#include "constraint/grammar/compile_work.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <memory>

#include "base/utf8.h"
#include "constraint/automaton/automaton.h"
#include "constraint/constraint_rules.h"
#include "constraint/grammar/gbnf.h"
#include "constraint/regex/regex.h"
#include "constraint/schema/json_schema.h"
#include "constraint/vocabulary.h"
#include "support/small_stack.h"

namespace octavo {
namespace {

using test::run_on_small_stack;
using ::testing::HasSubstr;

constexpr std::uint64_t kAnyWork = std::uint64_t{1} << 40;

/// One compile of each kind, without the masks: the error, or "".
std::string compile(const ConstraintSource& source, const std::shared_ptr<CompileWork>& work) {
  Grammar grammar(work);
  std::vector<std::string> warnings;
  const auto built = [&]() -> Result<Automaton> {
    if (source.kind == ConstraintKind::kGrammar) {
      OCTAVO_TRY(grammar, read_gbnf(source.text, {.num_tokens = 10}, std::move(grammar)));
      OCTAVO_TRY_VOID(define_rules(source, grammar, warnings));
    } else if (source.kind == ConstraintKind::kRegex) {
      OCTAVO_TRY(const ExpressionId root, read_regex(source.text, RegexReach::kWhole, grammar));
      grammar.set_root(root);
    } else {
      JsonGrammar json(grammar);
      const auto strictness = source.is_strict ? SchemaStrictness::kStrict : SchemaStrictness::kLoose;
      OCTAVO_TRY(const ExpressionId root, read_json_schema(source.text, strictness, json, warnings));
      grammar.set_root(root);
    }
    return Automaton::build(grammar);
  }();
  return built ? std::string() : built.error().message;
}

std::string compile(const ConstraintSource& source) { return compile(source, std::make_shared<CompileWork>()); }

ConstraintSource grammar(std::string text) { return {.kind = ConstraintKind::kGrammar, .text = std::move(text)}; }
ConstraintSource regex(std::string text) { return {.kind = ConstraintKind::kRegex, .text = std::move(text)}; }
ConstraintSource schema(std::string text) {
  return {.kind = ConstraintKind::kJsonSchema, .text = std::move(text), .is_strict = true};
}

std::string repeated(std::string_view text, std::size_t count) {
  std::string out;
  for (std::size_t i = 0; i < count; ++i) out += text;
  return out;
}

/// `count` items with commas between them.
std::string list(std::size_t count, const std::function<std::string(std::size_t)>& item) {
  std::string out;
  for (std::size_t i = 0; i < count; ++i) out += (i == 0 ? "" : ",") + item(i);
  return out;
}

std::string utf8(std::size_t code_point) {
  std::string out;
  append_utf8(out, static_cast<std::uint32_t>(code_point));
  return out;
}

TEST(CompileWork, EndsBeyondItsBoundAndNamesIt) {
  CompileWork work({}, 100);
  EXPECT_TRUE(work.add(100));
  EXPECT_FALSE(work.add());
  EXPECT_TRUE(work.has_ended());
  EXPECT_THAT(work.error().message, HasSubstr("more than 100 steps of work"));
}

TEST(CompileWork, AsksItsTokenWithinSoManySteps) {
  std::stop_source stop;
  CompileWork work(stop.get_token());
  EXPECT_TRUE(work.add());
  stop.request_stop();
  std::uint64_t num_more = 0;
  while (work.add()) ++num_more;
  EXPECT_LE(num_more, CompileWork::kStepsBetweenLooks);
  EXPECT_EQ(work.error().kind, ErrorKind::kStopped);
}

// ---- depth ----

TEST(CompileDepth, QuantifiersBehindQuantifiersAreOneOrRefused) {
  run_on_small_stack([] {
    EXPECT_EQ(compile(grammar("root ::= \"a\"" + std::string(100000, '*'))), "");
    EXPECT_EQ(compile(grammar("root ::= \"a\"" + repeated("+?*", 30000))), "");
    EXPECT_THAT(compile(grammar("root ::= \"a\"" + repeated("{1,2}", 20000))), HasSubstr("nested deeper than"));
  });
}

TEST(CompileDepth, NestedQuantifiersTakeTheTextsOfTheOuterOne) {
  const std::pair<const char*, std::pair<bool, bool>> kTakes[] = {
      // "", "aa"
      {"\"a\"?*", {true, true}}, {"\"a\"*?", {true, true}},  {"\"a\"+*", {true, true}}, {"\"a\"?+", {true, true}},
      {"\"a\"+?", {true, true}}, {"\"a\"??", {true, false}}, {"\"a\"++", {false, true}}};
  for (const auto& [body, takes] : kTakes) {
    const auto read = read_gbnf(std::string("root ::= ") + body, {});
    EXPECT_EQ(test::fulfils(*read, ""), takes.first) << body;
    EXPECT_EQ(test::fulfils(*read, "aa"), takes.second) << body;
    EXPECT_TRUE(test::fulfils(*read, "a")) << body;
  }
}

TEST(CompileDepth, GroupsOfGrammarsAndPatternsFitASmallStackAtTheirBound) {
  run_on_small_stack([] {
    const std::string open = repeated("(\"x\" | \"b\" (\"c\" ", 100), close = repeated(")+)*", 100);
    EXPECT_EQ(compile(grammar("root ::= " + open + "\"a\"" + close)), "");
    EXPECT_EQ(compile(regex(repeated("(?:x|b(?:c", 99) + "a" + repeated(")+)*", 99))), "");
    EXPECT_THAT(compile(grammar("root ::= " + std::string(300000, '('))), HasSubstr("at most 200 levels"));
    EXPECT_THAT(compile(regex(std::string(60000, '('))), HasSubstr("deeper than 200 levels"));
  });
}

TEST(CompileDepth, SchemasFitASmallStackAtTheirBound) {
  run_on_small_stack([] {
    const auto nested = [](std::string_view open, std::string_view inner, std::string_view close, std::size_t levels) {
      return schema(repeated(open, levels) + std::string(inner) + repeated(close, levels));
    };
    EXPECT_EQ(compile(nested(R"({"properties": {"a": )", "true", "}}", 49)), "");
    EXPECT_EQ(compile(nested(R"({"items": )", "true", "}", 99)), "");
    EXPECT_EQ(compile(nested(R"({"anyOf": [)", R"({"type": "null"})", "]}", 30)), "");
    EXPECT_EQ(compile(nested(R"({"not": )", R"({"type": "null"})", "}", 30)), "");
    EXPECT_EQ(compile(schema("{\"const\": " + std::string(98, '[') + std::string(98, ']') + "}")), "");
    EXPECT_THAT(compile(nested("[", "", "]", 1000000)), HasSubstr("nested deeper than 100 levels"));
  });
}

TEST(CompileDepth, ReferencesInARowHaveABound) {
  const auto chain = [](std::size_t count) {
    return schema(
        "{\"$ref\": \"#/$defs/d0\", \"$defs\": {" +
        list(count, [](std::size_t i) { return fmt::format(R"("d{}": {{"$ref": "#/$defs/d{}"}})", i, i + 1); }) +
        fmt::format(R"(, "d{}": {{"type": "null"}}}}}})", count));
  };
  run_on_small_stack([&] {
    EXPECT_EQ(compile(chain(60)), "");
    EXPECT_THAT(compile(chain(50000)), HasSubstr("64 schemas within each other"));
  });
}

TEST(CompileDepth, ValuesThatAreHeldAgainstReferencesHaveABound) {
  // The validator follows the value into itself; what it cannot follow is unknown.
  run_on_small_stack([] {
    const std::string value = repeated("[", 90) + "1" + repeated("]", 90);
    const std::string error =
        compile(schema("{\"const\": " + value +
                       ", \"$defs\": {\"a\": {\"items\": {\"allOf\": [{\"anyOf\": "
                       "[{\"$ref\": \"#/$defs/a\"}]}]}}}, \"items\": {\"$ref\": \"#/$defs/a\"}}"));
    EXPECT_THAT(error, HasSubstr("cannot be told"));
  });
}

// ---- growth ----

struct Growing {
  const char* name;
  std::function<ConstraintSource(std::size_t)> make;
  std::size_t count;  // the smallest body's
};

ConstraintSource object_of(std::string_view keyword, std::size_t count,
                           const std::function<std::string(std::size_t)>& member) {
  return schema(fmt::format(R"({{"{}": {{{}}}}})", keyword, list(count, member)));
}
ConstraintSource array_of(std::string_view keyword, std::size_t count,
                          const std::function<std::string(std::size_t)>& element) {
  return schema(fmt::format(R"({{"{}": [{}]}})", keyword, list(count, element)));
}

const std::vector<Growing>& growing_bodies() {
  static const std::vector<Growing> kAll = {
      {"rules",
       [](std::size_t n) {
         std::string text = "root ::= r0\n";
         for (std::size_t i = 0; i < n; ++i) text += fmt::format("r{} ::= \"a\" r{} | \"b\"\n", i, (i + 1) % n);
         return grammar(text);
       },
       1000},
      {"character classes",
       [](std::size_t n) {
         std::string text = "root ::= \"x\"";
         for (std::size_t i = 0; i < n; ++i) text += " [a" + utf8(0x4E00 + i) + "]";
         return grammar(text);
       },
       1000},
      {"a class in descending order",
       [](std::size_t n) {
         std::string text = "root ::= [";
         for (std::size_t i = n; i-- > 0;) text += utf8(0x10000 + 2 * i);
         return grammar(text + "]");
       },
       1000},
      {"alternatives",
       [](std::size_t n) {
         std::string text = "root ::= \"x\"";
         for (std::size_t i = 0; i < n; ++i) text += fmt::format(" | \"word{}\"", i);
         return grammar(text);
       },
       1000},
      {"a pattern's characters",
       [](std::size_t n) {
         std::string text;
         for (std::size_t i = 0; i < n; ++i) text += utf8(0x4E00 + i);
         return regex(text);
       },
       1000},
      {"a pattern's groups", [](std::size_t n) { return regex(repeated("(?:a|b+)", n)); }, 500},
      {"properties",
       [](std::size_t n) {
         return object_of("properties", n,
                          [](std::size_t i) { return fmt::format(R"("p{}": {{"type": "null"}})", i); });
       },
       200},
      {"required",
       [](std::size_t n) { return array_of("required", n, [](std::size_t i) { return fmt::format("\"r{}\"", i); }); },
       100},
      {"enum of texts",
       [](std::size_t n) { return array_of("enum", n, [](std::size_t i) { return fmt::format("\"e{}\"", i); }); }, 200},
      {"enum of numbers",
       [](std::size_t n) { return array_of("enum", n, [](std::size_t i) { return std::to_string(i); }); }, 500},
      {"patterns",
       [](std::size_t n) {
         return object_of("properties", n,
                          [](std::size_t i) { return fmt::format(R"("p{}": {{"pattern": "^[a-z]+{}"}})", i, i); });
       },
       50},
      {"characters in patterns",
       [](std::size_t n) {
         return object_of("properties", n, [](std::size_t i) {
           return fmt::format(R"("p{}": {{"pattern": "^{}$"}})", i, utf8(0x4E00 + i));
         });
       },
       100},
      {"$defs",
       [](std::size_t n) {
         ConstraintSource source = object_of(
             "properties", n, [](std::size_t i) { return fmt::format(R"("p{}": {{"$ref": "#/$defs/d{}"}})", i, i); });
         source.text.pop_back();
         source.text += ", \"$defs\": {" +
                        list(n, [](std::size_t i) { return fmt::format(R"("d{}": {{"type": "null"}})", i); }) + "}}";
         return source;
       },
       200},
      {"allOf",
       [](std::size_t n) {
         return array_of("allOf", n, [](std::size_t i) {
           return fmt::format(R"({{"properties": {{"a{}": {{"type": "null"}}}}}})", i);
         });
       },
       100},
      {"anyOf",
       [](std::size_t n) {
         return array_of("anyOf", n, [](std::size_t i) { return fmt::format(R"({{"minimum": {}}})", i); });
       },
       60},
      {"prefixItems",
       [](std::size_t n) {
         return array_of("prefixItems", n, [](std::size_t i) { return fmt::format(R"({{"const": {}}})", i); });
       },
       200},
      {"tools",
       [](std::size_t n) {
         std::string text = "root ::= \"x\"";
         ConstraintSource source = grammar("");
         for (std::size_t i = 0; i < n; ++i) {
           text += fmt::format(" | \"t{}\" s{}", i, i);
           source.rules.push_back({.name = fmt::format("s{}", i), .schema = i});
           source.schemas.emplace_back(R"({"properties": {"a": {"type": "string"}}})");
         }
         source.text = text;
         return source;
       },
       50},
      {"parameters of a tool and their definitions",
       [](std::size_t n) {
         std::string text = "root ::= \"x\"", properties, definitions;
         ConstraintSource source = grammar("");
         for (std::size_t i = 0; i < n; ++i) {
           text += fmt::format(" s{}", i);
           source.rules.push_back({.name = fmt::format("s{}", i), .place = fmt::format("/properties/p{}", i)});
           properties += fmt::format(R"({}"p{}": {{"$ref": "#/$defs/d0"}})", i > 0 ? ", " : "", i);
           definitions += fmt::format(R"({}"m{}": {{"type": "null"}})", i > 0 ? ", " : "", i);
         }
         source.text = text;
         source.schemas = {fmt::format(R"({{"properties": {{{}}}, "$defs": {{"d0": {{"properties": {{{}}}}}}}}})",
                                       properties, definitions)};
         return source;
       },
       20}};
  return kAll;
}

TEST(CompileGrowth, EachBodyThatIsEightTimesAsLongTakesAboutEightTimesTheWork) {
  for (const Growing& body : growing_bodies()) {
    std::uint64_t first = 0;
    for (const std::size_t times : {1U, 2U, 4U, 8U}) {
      const auto work = std::make_shared<CompileWork>(std::stop_token(), kAnyWork);
      EXPECT_EQ(compile(body.make(body.count * times), work), "") << body.name << " " << times;
      if (first == 0) first = work->num_steps();
      EXPECT_LE(work->num_steps(), first * times * 3 / 2) << body.name << " " << times;
    }
  }
}

TEST(CompileGrowth, OneOfComparesTheAlternativesThatMayBeHeldAndNoMore) {
  const auto steps_of = [](std::size_t count) {
    const auto work = std::make_shared<CompileWork>(std::stop_token(), kAnyWork);
    ConstraintSource source =
        array_of("oneOf", count, [](std::size_t i) { return fmt::format(R"({{"const": {}}})", i); });
    source.is_strict = false;
    EXPECT_EQ(compile(source, work), "");
    return work->num_steps();
  };
  EXPECT_LT(steps_of(512), CompileWork::kMaxSteps / 8);
  EXPECT_LT(steps_of(8192), 3 * steps_of(4096)) << "beyond 512 they are not held, and the rest is not compared";
}

TEST(CompileGrowth, WhatDoublesEndsAtTheBoundOfWork) {
  const std::string doubling = list(25, [](std::size_t i) {
    const std::string next = fmt::format(R"({{"$ref": "#/$defs/a{}"}})", i + 1);
    return fmt::format(R"("a{}": {{"allOf": [{}, {}]}})", i, next, next);
  });
  const ConstraintSource source = schema(R"({"$ref": "#/$defs/a0", "$defs": {)" + doubling + R"(, "a25": {}}})");
  const auto work = std::make_shared<CompileWork>(std::stop_token(), 100'000);
  EXPECT_THAT(compile(source, work), HasSubstr("more than 100000 steps of work"));
  EXPECT_LT(work->num_steps(), 101'000U);
}

TEST(CompileGrowth, ALongIdentifierIsNoBaseOfManyOthersInFull) {
  const auto work = std::make_shared<CompileWork>(std::stop_token(), 1'000'000);
  const std::string ids = list(1000, [](std::size_t i) { return fmt::format(R"({{"$id": "b{}"}})", i); });
  EXPECT_THAT(compile(schema("{\"$id\": \"" + std::string(100'000, 'a') + "/\", \"allOf\": [" + ids + "]}"), work),
              HasSubstr("steps of work"));
  EXPECT_LT(work->num_steps(), 3'000'000U);
}

TEST(CompileGrowth, EachKindLeavesOffSoonAfterItsBoundAndItsToken) {
  constexpr std::uint64_t kMost = 1000;
  std::stop_source stop;
  stop.request_stop();
  for (const Growing& body : growing_bodies()) {
    const ConstraintSource source = body.make(body.count * 8);
    std::size_t num_bytes = source.text.size();
    for (const std::string& one : source.schemas) num_bytes += one.size();
    const auto bounded = std::make_shared<CompileWork>(std::stop_token(), kMost);
    EXPECT_FALSE(compile(source, bounded).empty()) << body.name;
    EXPECT_LE(bounded->num_steps(), 4 * kMost + 2 * num_bytes) << body.name;
    const auto stopped = std::make_shared<CompileWork>(stop.get_token());
    EXPECT_FALSE(compile(source, stopped).empty()) << body.name;
    EXPECT_LE(stopped->num_steps(), kMost + 2 * num_bytes) << body.name;
  }
}

}  // namespace
}  // namespace octavo
