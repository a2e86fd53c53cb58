#include "engine/drafts/drafter.h"
#include "engine/drive/head_drafts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace octavo {
namespace {

using ::testing::ElementsAre;

std::vector<TokenId> tokens_of(const Draft& draft) {
  return {draft.tokens.begin(), draft.tokens.begin() + draft.num_tokens};
}

struct DraftedAnswer {
  Drafter drafter{1024};
  std::vector<TokenId> text;
  Draft draft;
  SaidTexts::Found said = {};

  explicit DraftedAnswer(std::vector<TokenId> prompt, std::span<const TokenId> predicted = {})
      : text(std::move(prompt)) {
    drafter.begin(text.size(), 1000, predicted);
  }
  std::vector<TokenId> after(std::vector<TokenId> more, int most = 4) {
    text.insert(text.end(), more.begin(), more.end());
    drafter.propose(text, most, said, draft);
    return tokens_of(draft);
  }
};

TEST(Drafter, GuessesWhatFollowedTheLastTokensInThePromptOrTheAnswer) {
  DraftedAnswer answer({1, 2, 3, 4, 5, 6, 7, 8});
  EXPECT_THAT(answer.after({2}), ElementsAre());
  EXPECT_THAT(answer.after({3}), ElementsAre(4, 5, 6, 7));
  EXPECT_THAT(answer.after({4, 9, 9, 4, 2, 3}, 2), ElementsAre(4, 9)) << "the latest";
}

TEST(Drafter, ATextThatRunsOutRepeatsItself) {
  DraftedAnswer answer({7, 8, 1, 2, 1, 2});
  EXPECT_THAT(answer.after({}, 5), ElementsAre(1, 2, 1, 2, 1));
}

TEST(Drafter, AnswerFollowsItsPredictionFromTheFirstTokenAndComesBackToIt) {
  const std::vector<TokenId> predicted = {11, 12, 13, 14, 15, 16, 17};
  DraftedAnswer answer({1, 2}, predicted);
  EXPECT_THAT(answer.after({11}), ElementsAre(12, 13, 14, 15));
  EXPECT_TRUE(answer.drafter.is_of_prediction());
  EXPECT_THAT(answer.after({12, 20}), ElementsAre(14, 15, 16, 17)) << "another token was drawn in place of 13";
  EXPECT_LT(answer.draft.chances[0], 0.5F) << "which may be more than that";
  EXPECT_THAT(answer.after({21, 22, 13, 14}), ElementsAre(15, 16, 17)) << "it goes on, behind what was put in";
  EXPECT_GT(answer.after({15}).size(), 0U);
}

TEST(Drafter, EarlierAnswersAreFollowedWhereNothingOfItsOwnAgreesAsFar) {
  DraftedAnswer answer({1, 2, 3, 4, 5});
  const std::vector<TokenId> earlier = {7, 8, SaidTexts::kBreak, 9};
  answer.said = {.next = earlier, .length = 3};
  EXPECT_THAT(answer.after({2, 3}), ElementsAre(7, 8)) << "to the end of that answer";
  answer.said.length = 2;
  EXPECT_THAT(answer.after({}), ElementsAre(4, 5, 2, 3));
}

TEST(Drafter, ChancesFollowWhatWasDrawn) {
  DraftedAnswer right({1, 2, 3, 4, 5, 6}), wrong = right;
  right.after({1, 2});
  wrong.after({1, 2});
  const float before = right.draft.chances[1];
  EXPECT_GT(right.draft.chances[0], before) << "both have to be right";
  for (int i = 0; i < 20; ++i) {
    right.drafter.accepted(2, false);
    wrong.drafter.accepted(0, true);
  }
  right.drafter.propose(right.text, 4, {}, right.draft);
  wrong.drafter.propose(wrong.text, 4, {}, wrong.draft);
  EXPECT_GT(right.draft.chances[1], 0.7F);
  EXPECT_LT(wrong.draft.chances[0], 0.1F);
}

std::vector<GuessedToken> guesses(std::vector<TokenId> tokens, int chance) {
  std::vector<GuessedToken> all;
  for (const TokenId token : tokens) all.push_back({.token = token, .chance = chance});
  return all;
}

TEST(Drafter, ChancesOfAHeadsGuessesBeginWithWhatItSaysAndFollowWhatWasDrawn) {
  DraftedAnswer answer({1, 2, 3});
  Draft draft;
  answer.drafter.weigh(guesses({4, 5}, GuessedToken::kSure / 2), draft);
  EXPECT_THAT(tokens_of(draft), ElementsAre(4, 5));
  EXPECT_FLOAT_EQ(draft.chances[0], 0.5F);
  EXPECT_FLOAT_EQ(draft.chances[1], 0.25F);
  const float before = answer.drafter.head_chance();
  for (int i = 0; i < 20; ++i) {
    answer.drafter.take_guesses();
    answer.drafter.accepted(0, true);
  }
  draft.clear();
  answer.drafter.weigh(guesses({4, 5}, GuessedToken::kSure / 2), draft);
  EXPECT_LT(draft.chances[0], 0.1F);
  EXPECT_LT(answer.drafter.head_chance(), before / 3);
  draft.clear();
  answer.drafter.weigh(guesses({4}, GuessedToken::kSure), draft);
  EXPECT_FLOAT_EQ(draft.chances[0], 1.0F) << "nothing is known of those that it is sure of";
}

TEST(Drafter, AHeadIsWantedWhereMoreOfItsTokensAreExpected) {
  DraftedAnswer answer({1, 2, 3, 4, 5, 6, 7, 8});
  answer.after({9});
  EXPECT_EQ(answer.drafter.num_wanted_of_head(answer.text, 4, answer.draft), 4) << "no text says what follows";
  Draft sure;
  for (const TokenId token : {1, 2, 3, 4}) sure.add(token, 0.95F);
  EXPECT_EQ(answer.drafter.num_wanted_of_head(answer.text, 4, sure), 0);
  EXPECT_EQ(answer.drafter.num_wanted_of_head(answer.text, 0, {}), 0);
}

TEST(Drafter, CandidatesAreTheRareWordsOfTheText) {
  const TokenId rare = kCommonTokens;
  DraftedAnswer answer({rare + 7, 5, rare + 2, rare + 7});
  answer.drafter.num_wanted_of_head(answer.text, 1, {});
  EXPECT_THAT(answer.drafter.candidates(), ElementsAre(rare + 2, rare + 7));
  answer.after({rare + 3});
  answer.drafter.num_wanted_of_head(answer.text, 1, {});
  EXPECT_THAT(answer.drafter.candidates(), ElementsAre(rare + 2, rare + 3, rare + 7));
  std::vector<TokenId> many(Drafter::kCandidateTokens + 9);
  for (std::size_t i = 0; i < many.size(); ++i) many[i] = rare + static_cast<TokenId>(i);
  DraftedAnswer large(many);
  large.drafter.num_wanted_of_head(large.text, 1, {});
  EXPECT_EQ(large.drafter.candidates().size(), Drafter::kMostCandidates);
  EXPECT_EQ(large.drafter.candidates().front(), rare + 9) << "the last tokens of a prompt are looked at";
}

TEST(GuessPrice, GuessesPayWhileTheirChanceIsWorthTheirRowAndTheirPartOfTheHead) {
  const GuessPrice alone{.step_ms = 100, .num_decodes = 1, .row_ms = 10, .guess_ms = 10};
  EXPECT_EQ(alone.num_paying(16, 0.9), 15) << "0.9^15 is above a fifth";
  EXPECT_EQ(alone.num_paying(16, 0.5), 2);
  EXPECT_EQ(alone.num_paying(16, 0.1), 0);
  const GuessPrice shared{.step_ms = 200, .num_decodes = 32, .row_ms = 6, .guess_ms = 0.5};
  EXPECT_EQ(shared.num_paying(16, 0.9), 0) << "a token of 32 answers takes as long as a row";
  EXPECT_EQ(GuessPrice{}.num_paying(4, 0.1), 4) << "without a cost model";
}

}  // namespace
}  // namespace octavo
