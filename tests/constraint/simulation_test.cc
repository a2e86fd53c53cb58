// States that cover others, and the sets that are left: every text that a state reads, the one that covers it reads.
#include "constraint/automaton/simulation.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "constraint/automaton/configurations.h"
#include "constraint/random_pattern.h"
#include "constraint/regex/regex.h"

namespace octavo {
namespace {

Automaton automaton_of(std::string_view pattern) {
  Grammar grammar;
  grammar.set_root(read_regex(pattern, RegexReach::kWhole, grammar).value());
  return Automaton::build(grammar).value();
}

/// Members of the set that a text has come to.
std::size_t num_members(const Automaton& automaton, std::string_view text, std::uint32_t bottom) {
  CallStacks stacks;
  ConfigurationStepper stepper(automaton, stacks);
  ConfigurationSet set = stepper.enter(automaton.start());
  for (const char c : text) set = stepper.after_byte(set.members, static_cast<std::uint8_t>(c));
  automaton.simulation().reduce(set.members, stacks, bottom);
  return set.members.size();
}

TEST(Simulation, ALoopCoversWhatIsCountedBehindItWhereNothingFollows) {
  const Automaton automaton = automaton_of("[^qz]*[aeiou][^qz]{80}");
  EXPECT_GT(num_members(automaton, "beautiful boat a e i o u", Simulation::kNoStack), 8U)
      << "each may be the one that counts";
  EXPECT_LE(num_members(automaton, "beautiful boat a e i o u", CallStacks::kBottom), 2U);
}

TEST(Simulation, OfCopiesTheOneWithMoreLeftCoversTheOthers) {
  const Automaton automaton = automaton_of("[a-z]{0,9}x[a-z]{0,80}y");
  EXPECT_LE(num_members(automaton, "xxxxxxxxxx", Simulation::kNoStack), 5U);
  const Automaton exact = automaton_of("[a-z]{0,9}x[a-z]{80}y");
  EXPECT_GE(num_members(exact, "xxxxxxxxx", Simulation::kNoStack), 9U) << "none may end where another does";
}

TEST(Simulation, OneOfTwoThatCoverEachOtherStays) {
  const Automaton automaton = automaton_of("(?:[ab]*|[ab]*)c");
  for (const std::string_view text : {"", "a", "abba"})
    EXPECT_GE(num_members(automaton, text, Simulation::kNoStack), 2U) << text;
}

bool reads(const Automaton& automaton, StateId from, std::string_view text, Simulation::Texts texts) {
  CallStacks stacks;
  ConfigurationStepper stepper(automaton, stacks);
  ConfigurationSet set = stepper.enter(from);
  for (const char c : text) set = stepper.after_byte(set.members, static_cast<std::uint8_t>(c));
  return texts == Simulation::Texts::kWhole ? set.is_complete : !set.is_dead();
}

RC_GTEST_PROP(Simulation, ReadsEveryTextOfTheStatesThatItCovers, ()) {
  const std::string pattern = "(?:" + test::random_pattern() + ")*" + test::random_pattern() +
                              "(?:" + test::random_pattern() + "){0,9}" + "(?:" + test::random_pattern() + "){9}";
  const Automaton automaton = automaton_of(pattern);
  const auto text = *rc::gen::container<std::string>(rc::gen::element('a', 'b', 'c'));
  for (StateId state = 0; state < automaton.num_states(); ++state)
    for (StateId by = 0; by < automaton.num_states(); ++by)
      for (const auto texts : {Simulation::Texts::kWhole, Simulation::Texts::kBeginnings})
        if (automaton.simulation().covers(by, state, texts) && reads(automaton, state, text, texts))
          RC_ASSERT(reads(automaton, by, text, texts));
}

}  // namespace
}  // namespace octavo
