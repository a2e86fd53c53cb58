#include "constraint/masks/plain_runs.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <string>

#include "constraint/random_pattern.h"
#include "constraint/regex/regex.h"

namespace octavo {
namespace {

constexpr std::string_view kPlain = " !#AZ[]az~019,:{}";

/// The runs of a pattern from where a text begins.
class RunsOf {
 public:
  explicit RunsOf(std::string_view pattern, RegexReach reach = RegexReach::kWhole)
      : automaton_(Automaton::build(grammar_of(pattern, reach)).value()) {}

  bool hold(int depth, bool has_others = false, std::string_view ascii = kPlain) {
    TokenTrie::Below below{.depth = static_cast<std::uint8_t>(depth), .has_others = has_others, .utf8_places = 1};
    for (const char c : ascii) below.ascii[static_cast<unsigned char>(c) / 64] |= std::uint64_t{1} << c % 64;
    return runs_.holds(locals_.entering(automaton_.start()), below);
  }
  bool reads(std::string_view text) {
    LocalId at = locals_.entering(automaton_.start());
    for (const char c : text) at = locals_.after(at, static_cast<std::uint8_t>(c));
    return at != LocalStates::kDead;
  }

 private:
  static Grammar grammar_of(std::string_view pattern, RegexReach reach) {
    Grammar grammar;
    grammar.set_root(read_regex(pattern, reach, grammar).value());
    return grammar;
  }

  Automaton automaton_;
  LocalStates locals_{automaton_};
  PlainRuns runs_{locals_};
};

TEST(PlainRuns, GoWhereverTheCharactersLead) {
  RunsOf counted("[a-f0-9]{64}", RegexReach::kSomewhere), named("(?:name|note|nothing|[^n][^]*|n[^]*)\"");
  for (RunsOf* runs : {&counted, &named}) {
    EXPECT_TRUE(runs->hold(PlainRuns::kMostBytes));
    EXPECT_TRUE(runs->hold(PlainRuns::kMostBytes, true));
    EXPECT_FALSE(runs->hold(PlainRuns::kMostBytes + 1)) << "it is not looked that far ahead";
  }
}

TEST(PlainRuns, EndWhereACharacterIsRefusedOnAnyWay) {
  RunsOf five("[^]{0,5}"), no_q("ab[^q]*|[^a][^]*|a[^b][^]*");
  EXPECT_TRUE(five.hold(5));
  EXPECT_FALSE(five.hold(6));
  EXPECT_TRUE(no_q.hold(2));
  EXPECT_FALSE(no_q.hold(3)) << "abq";
}

TEST(PlainRuns, AreOfPlainCharactersAlone) {
  RunsOf any("[^]*"), ascii("[ -~]*");
  EXPECT_FALSE(any.hold(1, false, "\""));
  EXPECT_FALSE(any.hold(1, false, "a\\"));
  EXPECT_FALSE(any.hold(1, false, "a\n"));
  EXPECT_TRUE(ascii.hold(4));
  EXPECT_FALSE(ascii.hold(4, true)) << "others are refused";
}

// What is said of a run holds of every text; and what was asked before changes no answer.
RC_GTEST_PROP(PlainRuns, HoldOfEveryPlainText, ()) {
  const std::string pattern = test::random_pattern();
  const auto reach = *rc::gen::element(RegexReach::kWhole, RegexReach::kSomewhere);
  RunsOf runs(pattern, reach);
  const auto text = *rc::gen::container<std::string>(rc::gen::elementOf(std::string(kPlain) + "abc"));
  for (int depth = 1; depth <= 8; ++depth) {
    const bool holds = runs.hold(depth);
    RC_ASSERT(holds == RunsOf(pattern, reach).hold(depth));
    if (holds) RC_ASSERT(runs.reads(std::string_view(text).substr(0, static_cast<std::size_t>(depth))));
  }
}

}  // namespace
}  // namespace octavo
