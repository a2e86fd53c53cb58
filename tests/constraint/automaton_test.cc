// Grammars that become automata, those that are refused, and the bound on their size.
#include "constraint/automaton/automaton.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "constraint/automaton/configurations.h"
#include "constraint/vocabulary.h"

namespace octavo {
namespace {

using test::fulfils;
using ::testing::HasSubstr;

std::string error_of(const Grammar& grammar) {
  const auto built = Automaton::build(grammar);
  return built ? std::string() : built.error().message;
}

TEST(Automaton, RefusesRulesThatBeginWithThemselves) {
  for (const bool is_hidden : {false, true}) {
    Grammar grammar;
    const RuleId rule = grammar.declare("loop");
    const ExpressionId before = is_hidden ? grammar.optional(grammar.literal("x")) : grammar.empty();
    grammar.define(rule, grammar.alternatives({grammar.sequence({before, grammar.call(rule), grammar.literal("a")}),
                                               grammar.literal("b")}));
    grammar.set_root(grammar.call(rule));
    EXPECT_THAT(error_of(grammar), HasSubstr("left recursion: the rule 'loop'")) << is_hidden;
  }
}

TEST(Automaton, FollowsRulesThatEndWithThemselvesWithoutAStack) {
  Grammar grammar;
  const RuleId rule = grammar.declare("more");
  grammar.define(rule, grammar.optional(grammar.sequence({grammar.literal("a"), grammar.call(rule)})));
  grammar.set_root(grammar.call(rule));
  EXPECT_TRUE(fulfils(grammar, std::string(5000, 'a')));
  EXPECT_FALSE(fulfils(grammar, "aab"));
}

TEST(Automaton, RefusesRulesThatNothingDefinesAndLanguagesWithoutAText) {
  Grammar undefined;
  undefined.set_root(undefined.call(undefined.declare("nobody")));
  EXPECT_THAT(error_of(undefined), HasSubstr("no definition of the rule 'nobody'"));

  Grammar endless;
  const RuleId rule = endless.declare("endless");
  endless.define(rule, endless.sequence({endless.literal("a"), endless.call(rule)}));
  endless.set_root(endless.call(rule));
  EXPECT_THAT(error_of(endless), HasSubstr("no text can fulfil"));
}

TEST(Automaton, NeverEntersWhatCannotBeFinished) {
  Grammar grammar;
  const RuleId endless = grammar.declare("endless");
  grammar.define(endless, grammar.sequence({grammar.literal("a"), grammar.call(endless)}));
  grammar.set_root(grammar.alternatives({grammar.call(endless), grammar.literal("b")}));
  EXPECT_TRUE(fulfils(grammar, "b"));
  EXPECT_FALSE(fulfils(grammar, "a")) << "fulfils() would throw if the mask had let it in";
}

TEST(Automaton, RefusesMoreStatesThanItHasRoomFor) {
  Grammar grammar;
  ExpressionId all = grammar.literal("a");
  for (int i = 0; i < 4; ++i) all = grammar.repeat(all, 200, 200);
  grammar.set_root(all);
  EXPECT_THAT(error_of(grammar), HasSubstr("repetitions are too large"));
}

TEST(Automaton, RefusesMoreTransitionsThanItHasRoomForAndHoldsNoRoomInReserve) {
  CodePointSet set;
  for (std::uint32_t c = 'A'; c < 'z'; c += 2) set.add(c);
  const auto row_of = [&](std::size_t count) {
    Grammar grammar;
    grammar.set_root(grammar.sequence(std::vector<ExpressionId>(count, grammar.set(set))));
    return grammar;
  };
  EXPECT_THAT(error_of(row_of(40000)), HasSubstr("more than 1048576 transitions"));
  const Automaton automaton = Automaton::build(row_of(10000)).value();
  EXPECT_LT(automaton.num_bytes(), 10000 * (sizeof(Automaton::State) + 29 * sizeof(Automaton::Edge)) * 11 / 10);
}

Grammar repeated(std::uint32_t min, std::uint32_t max) {
  Grammar grammar;
  grammar.set_root(grammar.sequence({grammar.repeat(grammar.literal("a"), min, max), grammar.literal("b")}));
  return grammar;
}

TEST(Automaton, CountsWhatIsRepeatedOften) {
  constexpr auto kAny = Grammar::kAnyNumber;
  constexpr std::pair<std::uint32_t, std::uint32_t> kLimits[] = {
      {0, 256}, {0, 257}, {0, 320}, {1, 300}, {300, 300}, {320, 321}, {300, 700}, {257, kAny}, {385, kAny}};
  for (const auto& [min, max] : kLimits) {
    const Automaton automaton = Automaton::build(repeated(min, max)).value();
    CallStacks stacks;
    ConfigurationStepper stepper(automaton, stacks);
    ConfigurationSet set = stepper.enter(automaton.start());
    for (std::uint32_t count = 0; count < 800; ++count) {
      const bool fits = min <= count && (max == kAny || count <= max);
      ASSERT_EQ(stepper.after_byte(set.members, 'b').is_complete, fits) << count << " of " << min << " to " << max;
      ASSERT_EQ(set.is_dead(), count > max) << count << " of " << min << " to " << max;
      set = stepper.after_byte(set.members, 'a');
    }
  }
}

TEST(Automaton, TakesFewStatesForWhatIsRepeatedOften) {
  EXPECT_LT(Automaton::build(repeated(0, 32767)).value().num_states(), 3000U);
  EXPECT_LT(Automaton::build(repeated(32767, 32767)).value().num_states(), 3000U);
}

TEST(Automaton, RepeatsOftenWhatItselfIsRepeatedOften) {
  Grammar grammar;
  const ExpressionId line = grammar.sequence({grammar.repeat(grammar.literal("a"), 0, 300), grammar.literal("\n")});
  grammar.set_root(grammar.repeat(line, 300, 400));
  const std::string longest = std::string(300, 'a') + "\n";
  std::string text;
  for (int i = 0; i < 299; ++i) text += '\n';
  text += longest;
  EXPECT_TRUE(fulfils(grammar, text));
  EXPECT_FALSE(fulfils(grammar, text + "a" + longest));
  for (int i = 0; i < 100; ++i) text += "a\n";
  EXPECT_TRUE(fulfils(grammar, text));
  EXPECT_FALSE(fulfils(grammar, text + "\n"));
}

TEST(Automaton, FindsRulesThatBeginWithThemselvesInWhatIsRepeatedOften) {
  Grammar grammar;
  const RuleId rule = grammar.declare("loop");
  const ExpressionId again = grammar.repeat(grammar.call(rule), 300, 300);
  grammar.define(rule, grammar.alternatives({again, grammar.literal("b")}));
  grammar.set_root(again);
  EXPECT_THAT(error_of(grammar), HasSubstr("left recursion: the rule 'loop'"));
}

TEST(Automaton, RepeatsWhatReadsNothing) {
  Grammar grammar;
  const ExpressionId nothing = grammar.repeat(grammar.empty(), 4000000000, Grammar::kAnyNumber);
  const ExpressionId maybe = grammar.repeat(grammar.optional(grammar.literal("a")), 3, Grammar::kAnyNumber);
  grammar.set_root(grammar.sequence({nothing, maybe}));
  for (const char* text : {"", "a", "aaaaaa"}) EXPECT_TRUE(fulfils(grammar, text)) << text;
}

}  // namespace
}  // namespace octavo
