// Tokens as atoms, ends, and stacks that are no longer needed.
#include "constraint/constraint_state.h"

#include <gtest/gtest.h>

#include "constraint/vocabulary.h"

namespace octavo {
namespace {

using test::allowed_tokens;
using test::make_vocabulary;

TEST(ConstraintState, TakesSpecialTokensByTheirIdAndNeverByTheirBytes) {
  Grammar grammar;
  grammar.set_root(grammar.sequence({grammar.token(1), grammar.literal("<end>a")}));
  const auto vocabulary = make_vocabulary({"a", "", "<", "end>", "<end>a"});  // and <end>, 5
  ConstraintState state;
  state.begin(CompiledConstraint::create(grammar, vocabulary).value(), std::nullopt);
  EXPECT_EQ(allowed_tokens(state, *vocabulary), std::vector<TokenId>{1});
  ASSERT_TRUE(state.accept(1));
  EXPECT_EQ(allowed_tokens(state, *vocabulary), (std::vector<TokenId>{2, 4})) << "not the end token, whose text fits";
  EXPECT_FALSE(state.accept(5));
}

TEST(ConstraintState, AllowsTheEndExactlyWhereTheConstraintIsFulfilled) {
  Grammar grammar;
  grammar.set_root(grammar.repeat(grammar.literal("ab"), 1, 2));
  const auto vocabulary = make_vocabulary({"a", "b", "ab"});
  ConstraintState state;
  state.begin(CompiledConstraint::create(grammar, vocabulary).value(), std::nullopt);
  EXPECT_EQ(allowed_tokens(state, *vocabulary), (std::vector<TokenId>{0, 2}));
  ASSERT_TRUE(state.accept(2));
  EXPECT_EQ(allowed_tokens(state, *vocabulary), (std::vector<TokenId>{0, 2, 3}));
  ASSERT_TRUE(state.accept(0));
  EXPECT_EQ(allowed_tokens(state, *vocabulary), std::vector<TokenId>{1});
  ASSERT_TRUE(state.accept(1));
  EXPECT_EQ(allowed_tokens(state, *vocabulary), std::vector<TokenId>{3});
  ASSERT_TRUE(state.accept(3));
  EXPECT_EQ(allowed_tokens(state, *vocabulary), std::vector<TokenId>{3}) << "where ends are ignored, they are all";
  EXPECT_FALSE(state.accept(0));
}

TEST(ConstraintState, CountsTheWorkOfEachAnswerAnew) {
  Grammar grammar;
  grammar.set_root(grammar.literal("ab"));
  const auto vocabulary = make_vocabulary({"a", "b"});
  const auto constraint = CompiledConstraint::create(grammar, vocabulary).value();
  ConstraintState state;
  for (int answer = 0; answer < 3; ++answer) {
    state.begin(constraint, std::nullopt);
    EXPECT_EQ(state.work(), 0U);
    ASSERT_TRUE(state.accept(0));
    ASSERT_TRUE(state.accept(1));
    EXPECT_EQ(state.work(), 2U);
  }
}

TEST(ConstraintState, RefusesTokensOutsideTheVocabulary) {
  Grammar grammar;
  grammar.set_root(grammar.literal("a"));
  const auto vocabulary = make_vocabulary({"a"});
  for (const TokenId token : {-1, 2, 1 << 30}) {
    ConstraintState state;
    state.begin(CompiledConstraint::create(grammar, vocabulary).value(), std::nullopt);
    EXPECT_FALSE(state.accept(token));
    EXPECT_TRUE(allowed_tokens(state, *vocabulary).empty());
  }
}

TEST(ConstraintState, FollowsDeepAndLongTextsAlike) {
  Grammar grammar;
  const RuleId list = grammar.declare("list");
  grammar.define(list,
                 grammar.sequence({grammar.literal("["), grammar.repeat(grammar.call(list), 0, Grammar::kAnyNumber),
                                   grammar.literal("]")}));
  grammar.set_root(grammar.call(list));
  const auto vocabulary = make_vocabulary({"[", "]"});
  ConstraintState state;
  state.begin(CompiledConstraint::create(grammar, vocabulary).value(), std::nullopt);
  for (int round = 0; round < 3; ++round) {  // each leaves one list open
    for (int depth = 0; depth < 10000; ++depth) ASSERT_TRUE(state.accept(0));
    for (int depth = 0; depth < 9999; ++depth) ASSERT_TRUE(state.accept(1));
    ASSERT_EQ(allowed_tokens(state, *vocabulary), (std::vector<TokenId>{0, 1})) << round;
  }
  for (int depth = 0; depth < 3; ++depth) {
    EXPECT_FALSE(state.may_end());
    ASSERT_TRUE(state.accept(1));
  }
  EXPECT_TRUE(state.may_end());
}

TEST(ConstraintState, OfAVocabularyWithoutEndTokensSaysWhereTheAnswerStops) {
  Grammar grammar;
  grammar.set_root(grammar.literal("a"));
  const auto vocabulary =
      std::make_shared<const ConstraintVocabulary>(std::vector<ConstraintVocabulary::Token>{{.bytes = "a"}}, false);
  ConstraintState state;
  state.begin(CompiledConstraint::create(grammar, vocabulary).value(), std::nullopt);
  EXPECT_FALSE(state.must_stop());
  ASSERT_TRUE(state.accept(0));
  EXPECT_TRUE(state.must_stop());
}

}  // namespace
}  // namespace octavo
