// The choices of rows: the best scores, equal ones by index, softmax weights; and their grouping by expert.
#include "cpu/expert_choices.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <limits>
#include <numeric>

#include "cpu/compute_fixture.h"

namespace octavo::test {
namespace {

constexpr int kExperts = 12, kChosen = 4;
constexpr ExpertsFfnSpec kSpec{.num_experts = kExperts, .num_chosen = kChosen, .width = 32};

ExpertChoices choices_of(const std::vector<float>& scores, const ExpertsFfnSpec& spec = kSpec) {
  const int rows = static_cast<int>(scores.size()) / spec.num_experts;
  ExpertChoices choices(64, spec.num_experts, spec.num_chosen);
  choices.begin(rows, spec);
  for (int row = 0; row < rows; ++row) choices.choose(row, scores.data() + row * spec.num_experts);
  choices.group();
  return choices;
}

std::vector<int> experts_of(const ExpertChoices& choices, int row) {
  std::vector<int> experts;
  for (int rank = 0; rank < choices.num_chosen(); ++rank) experts.push_back(choices.expert(row, rank));
  return experts;
}

TEST(ExpertChoices, AreTheHighestScoresAndOfEqualOnesTheLowerIndex) {
  std::mt19937 random(3);
  for (int round = 0; round < 200; ++round) {
    std::vector<float> scores(kExperts);
    for (float& score : scores) score = static_cast<float>(random() % 5);  // many are equal
    std::vector<int> expected(kExperts);
    std::iota(expected.begin(), expected.end(), 0);
    std::ranges::stable_sort(expected, std::greater(), [&](int i) { return scores[to_size(i)]; });
    expected.resize(kChosen);
    EXPECT_EQ(experts_of(choices_of(scores), 0), expected);
  }
}

TEST(ExpertChoices, WeightsAreTheSoftmaxOfAllDividedByTheSumOfTheChosen) {
  const std::vector<float> scores = random_floats(kExperts, 5);
  ExpertsFfnSpec scaled = kSpec;
  scaled.weights_scale = 2.5F;
  const ExpertChoices choices = choices_of(scores), larger = choices_of(scores, scaled);
  double all = 0, chosen = 0;
  for (const float score : scores) all += std::exp(static_cast<double>(score));
  for (const int expert : experts_of(choices, 0))
    chosen += std::exp(static_cast<double>(scores[to_size(expert)])) / all;
  for (int rank = 0; rank < kChosen; ++rank) {
    const double p = std::exp(static_cast<double>(scores[to_size(choices.expert(0, rank))])) / all;
    EXPECT_NEAR(choices.weight(0, rank), p / chosen, 1e-6);
    EXPECT_NEAR(larger.weight(0, rank), 2.5 * p / chosen, 3e-6);
  }
}

TEST(ExpertChoices, LargeScoresDoNotOverflow) {
  std::vector<float> scores(kExperts, -3e38F);
  scores[7] = 3e38F;
  const ExpertChoices choices = choices_of(scores);
  EXPECT_EQ(experts_of(choices, 0), (std::vector{7, 0, 1, 2}));
  EXPECT_EQ(choices.weight(0, 0), 1.0F);
  EXPECT_EQ(choices.weight(0, 1), 0.0F);
  EXPECT_TRUE(choices.is_finite(0));
}

TEST(ExpertChoices, AScoreThatIsNotFiniteSpoilsItsRowAlone) {
  for (const float bad : {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity(),
                          -std::numeric_limits<float>::infinity()})
    for (int expert = 0; expert < kExperts; ++expert) {
      std::vector<float> scores = random_floats(3 * kExperts, 5);
      scores[to_size(kExperts + expert)] = bad;
      const ExpertChoices choices = choices_of(scores);
      EXPECT_TRUE(choices.is_finite(0));
      EXPECT_FALSE(choices.is_finite(1));
      EXPECT_TRUE(choices.is_finite(2));
      std::vector<int> experts = experts_of(choices, 1);
      std::ranges::sort(experts);
      EXPECT_EQ(std::ranges::unique(experts).size(), 0U) << "each at most once";
    }
}

TEST(ExpertChoices, AllExpertsMayBeChosen) {
  const ExpertsFfnSpec all{.num_experts = 3, .num_chosen = 3};
  EXPECT_EQ(experts_of(choices_of({1, 3, 2}, all), 0), (std::vector{1, 2, 0}));
}

TEST(ExpertChoices, AsManyAsQwen35HasAreRankedLikeFewer) {
  const ExpertsFfnSpec many{.num_experts = 256, .num_chosen = 8};
  std::vector<float> scores = random_floats(256, 5);
  scores[255] = 9;
  scores[0] = 8;
  const ExpertChoices choices = choices_of(scores, many);
  std::vector<int> expected(256);
  std::iota(expected.begin(), expected.end(), 0);
  std::ranges::stable_sort(expected, std::greater(), [&](int i) { return scores[to_size(i)]; });
  expected.resize(8);
  EXPECT_EQ(experts_of(choices, 0), expected);
}

TEST(ExpertChoices, EverySlotIsOneChoiceInTheGroupOfItsExpert) {
  constexpr int kNumRows = 40;
  const ExpertChoices choices = choices_of(random_floats(kNumRows * kExperts, 9));
  std::vector<int> rows_of_slots(kNumRows * kChosen, -1);
  for (int row = 0; row < kNumRows; ++row)
    for (int rank = 0; rank < kChosen; ++rank) {
      const ExpertChoices::Group& group = choices.group_of(row, rank);
      const int slot = choices.slot(row, rank);
      EXPECT_EQ(group.expert, choices.expert(row, rank));
      EXPECT_GE(slot, group.first);
      EXPECT_LT(slot, group.first + group.count);
      EXPECT_EQ(rows_of_slots.at(to_size(slot)), -1);
      rows_of_slots[to_size(slot)] = row;
    }
  int next = 0, last_expert = -1;
  for (const ExpertChoices::Group& group : choices.groups()) {
    EXPECT_GT(group.expert, last_expert);
    EXPECT_EQ(group.first, next);
    EXPECT_GT(group.count, 0);
    const auto first = rows_of_slots.begin() + group.first;
    EXPECT_TRUE(std::is_sorted(first, first + group.count)) << "rows in their order";
    last_expert = group.expert;
    next += group.count;
  }
  EXPECT_EQ(next, kRows * kChosen);
}

}  // namespace
}  // namespace octavo::test
