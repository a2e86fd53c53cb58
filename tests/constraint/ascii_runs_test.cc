#include "constraint/automaton/ascii_runs.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "constraint/automaton/configurations.h"
#include "constraint/random_pattern.h"
#include "constraint/regex/regex.h"

namespace octavo {
namespace {

constexpr std::string_view kLetters = "abcdefghijklmnopqrstuvwxyz ";

Automaton automaton_of(std::string_view pattern) {
  Grammar grammar;
  grammar.set_root(read_regex(pattern, RegexReach::kWhole, grammar).value());
  return Automaton::build(grammar).value();
}

TokenTrie::Below below(std::string_view ascii, std::uint8_t depth) {
  TokenTrie::Below below{.depth = depth};
  for (const char c : ascii) below.ascii[static_cast<unsigned char>(c) / 64] |= std::uint64_t{1} << c % 64;
  return below;
}

/// The longest run of these characters that a state which can begin the pattern has.
int longest_run(const Automaton& automaton, std::string_view ascii) {
  CallStacks stacks;
  const ConfigurationSet set = ConfigurationStepper(automaton, stacks).enter(automaton.start());
  int longest = 0;
  for (const Configuration& member : set.members)
    for (int depth = 1; depth <= 255; ++depth)
      if (automaton.ascii_runs().holds(member.state, below(ascii, static_cast<std::uint8_t>(depth))))
        longest = std::max(longest, depth);
  return longest;
}

TEST(AsciiRuns, AreAsLongAsWhatIsCountedAndEndlessInALoop) {
  EXPECT_EQ(longest_run(automaton_of(".{0,300}(yes|no).{0,20}"), kLetters), 254) << "more are not told apart";
  EXPECT_EQ(longest_run(automaton_of("[a-z ]{40}"), kLetters), 40);
  EXPECT_EQ(longest_run(automaton_of("[^qz]*x"), "abc"), 255);
  EXPECT_EQ(longest_run(automaton_of("[^qz]*x"), "abq"), 0);
  EXPECT_EQ(longest_run(automaton_of("abc"), "abc"), 0) << "nothing is repeated";
}

RC_GTEST_PROP(AsciiRuns, HoldForEveryText, ()) {
  const std::string pattern = "[a-z]{" + std::to_string(*rc::gen::inRange(0, 12)) + ",20}" + test::random_pattern() +
                              "(?:[^b]*" + test::random_pattern() + ")*";
  const Automaton automaton = automaton_of(pattern);
  const auto text = *rc::gen::container<std::string>(rc::gen::elementOf(std::string(kLetters.substr(0, 5))));
  RC_PRE(!text.empty() && text.size() < 255);
  for (StateId state = 0; state < automaton.num_states(); ++state) {
    if (!automaton.ascii_runs().holds(state, below(text, static_cast<std::uint8_t>(text.size())))) continue;
    CallStacks stacks;
    ConfigurationStepper stepper(automaton, stacks);
    ConfigurationSet set = stepper.enter(state);
    for (const char c : text) set = stepper.after_byte(set.members, static_cast<std::uint8_t>(c));
    RC_ASSERT(!set.is_dead());
  }
}

}  // namespace
}  // namespace octavo
