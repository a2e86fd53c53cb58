#include "constraint/masks/free_runs.h"

#include <gtest/gtest.h>

#include <optional>
#include <string>

#include "constraint/grammar/grammar.h"

namespace octavo {
namespace {

/// The runs of a grammar from where a text begins.
class RunsOf {
 public:
  explicit RunsOf(Grammar grammar) : automaton_(Automaton::build(grammar).value()) {}

  bool hold(const std::string& ascii, int depth, bool has_others = false, bool is_utf8 = true) {
    TokenTrie::Below below{.depth = static_cast<std::uint8_t>(depth),
                           .has_others = has_others,
                           .utf8_places = static_cast<std::uint8_t>(is_utf8 ? 1 : 0)};
    for (const char c : ascii) below.ascii[static_cast<unsigned char>(c) / 64] |= std::uint64_t{1} << c % 64;
    return runs_.holds(locals_.entering(automaton_.start()), below);
  }

  bool hold_behind(char lead, int depth, std::uint8_t places) {
    const TokenTrie::Below below{.depth = static_cast<std::uint8_t>(depth), .has_others = true, .utf8_places = places};
    return runs_.holds_behind(locals_.entering(automaton_.start()), static_cast<std::uint8_t>(lead), below);
  }

  std::optional<std::uint8_t> plain_only() { return runs_.plain_only(locals_.entering(automaton_.start())); }

 private:
  Automaton automaton_;
  LocalStates locals_{automaton_};
  FreeRuns runs_{automaton_, locals_};
};

Grammar repeated(const CodePointSet& set, std::uint32_t min, std::uint32_t max) {
  Grammar grammar;
  grammar.set_root(grammar.sequence({grammar.repeat(grammar.set(set), min, max), grammar.literal("\"")}));
  return grammar;
}

CodePointSet letters() {
  CodePointSet set;
  set.add('a', 'z' + 1);
  return set;
}

TEST(FreeRuns, GoOnAsLongAsTheSameCharactersMayFollow) {
  RunsOf any(repeated(letters(), 0, Grammar::kAnyNumber)), five(repeated(letters(), 0, 5)),
      least(repeated(letters(), 3, 9));
  EXPECT_TRUE(any.hold("abcz", FreeRuns::kMostBytes));
  EXPECT_FALSE(any.hold("a", FreeRuns::kMostBytes + 1)) << "it is not looked that far ahead";
  EXPECT_TRUE(five.hold("az", 5));
  EXPECT_FALSE(five.hold("az", 6));
  EXPECT_TRUE(least.hold("m", 9));
}

TEST(FreeRuns, HoldNoOtherCharacters) {
  RunsOf runs(repeated(letters(), 0, Grammar::kAnyNumber));
  EXPECT_FALSE(runs.hold("a\"", 1)) << "it ends the text";
  EXPECT_FALSE(runs.hold("aA", 1));
  EXPECT_FALSE(runs.hold("a", 3, true));
}

TEST(FreeRuns, HoldCharactersBeyondAsciiWhereAllOfThemMayFollow) {
  RunsOf all(repeated(CodePointSet('"').complement(), 0, Grammar::kAnyNumber));
  EXPECT_TRUE(all.hold("a", 4, true));
  EXPECT_FALSE(all.hold("a", 4, true, false)) << "these bytes are no characters";
  CodePointSet most = CodePointSet('"').complement();
  CodePointSet euro(0x20AC);
  RunsOf some(repeated(most.intersection(euro.complement()), 0, Grammar::kAnyNumber));
  EXPECT_TRUE(some.hold("a", 4));
  EXPECT_FALSE(some.hold("a", 4, true));
}

TEST(FreeRuns, HoldWhatGoesOnBehindTheFirstByteOfACharacter) {
  RunsOf all(repeated(CodePointSet('"').complement(), 0, Grammar::kAnyNumber));
  EXPECT_TRUE(all.hold_behind('\xE4', 5, 1U << 2));
  EXPECT_FALSE(all.hold_behind('\xE4', 5, 1U << 1)) << "two bytes are left of that character";
  EXPECT_FALSE(all.hold_behind('a', 5, 0xFF));
  EXPECT_FALSE(all.hold_behind('\x84', 5, 0xFF));
  EXPECT_FALSE(RunsOf(repeated(letters(), 0, Grammar::kAnyNumber)).hold_behind('\xC3', 1, 0xFF));
}

CodePointSet in_strings() {
  CodePointSet escaped('"');
  escaped.add('\\');
  escaped.add(0, 0x20);
  return escaped.complement();
}

TEST(FreeRuns, CountThePlainCharactersThatAStringHasRoomFor) {
  EXPECT_EQ(RunsOf(repeated(in_strings(), 0, Grammar::kAnyNumber)).plain_only(), FreeRuns::kEndless);
  EXPECT_EQ(RunsOf(repeated(in_strings(), 2, 5)).plain_only(), 5);
  EXPECT_EQ(RunsOf(repeated(in_strings(), 0, 23)).plain_only(), 23);
  EXPECT_EQ(RunsOf(repeated(in_strings(), 0, 24)).plain_only(), FreeRuns::kMostBytes) << "as far as it is looked";
  EXPECT_EQ(RunsOf(repeated(in_strings(), 0, 0)).plain_only(), 0);
}

TEST(FreeRuns, CountNoPlainCharactersWhereOthersMayFollowOrSomeMayNot) {
  CodePointSet with_tab = in_strings(), without_euro = in_strings();
  with_tab.add('\t');
  without_euro = without_euro.intersection(CodePointSet(0x20AC).complement());
  for (const std::uint32_t max : {5U, Grammar::kAnyNumber}) {
    EXPECT_EQ(RunsOf(repeated(with_tab, 0, max)).plain_only(), std::nullopt);
    EXPECT_EQ(RunsOf(repeated(without_euro, 0, max)).plain_only(), std::nullopt);
    EXPECT_EQ(RunsOf(repeated(letters(), 0, max)).plain_only(), std::nullopt);
  }
  Grammar open;
  open.set_root(open.repeat(open.set(in_strings()), 0, 5));
  EXPECT_EQ(RunsOf(std::move(open)).plain_only(), std::nullopt) << "the text may end";
}

TEST(FreeRuns, EndWhereTheTextDoes) {
  Grammar grammar;
  grammar.set_root(grammar.literal("abc"));
  RunsOf runs(std::move(grammar));
  EXPECT_TRUE(runs.hold("a", 1));
  EXPECT_FALSE(runs.hold("a", 2));
  EXPECT_FALSE(runs.hold("b", 1));
}

}  // namespace
}  // namespace octavo
