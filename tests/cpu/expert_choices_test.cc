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

ExpertChoices choices_of(std::vector<float> scores, const ExpertsFfnSpec& spec = kSpec, const float* bias = nullptr) {
  const int rows = static_cast<int>(scores.size()) / spec.num_experts;
  ExpertChoices choices(64, spec.num_experts, spec.num_chosen);
  choices.begin(rows, spec);
  for (int row = 0; row < rows; ++row)
    choices.choose(row, std::span(scores).subspan(to_size(row * spec.num_experts), to_size(spec.num_experts)), bias);
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
  scaled.router.weights_scale = 2.5F;
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

TEST(ExpertChoices, ABiasCountsForTheChoiceAlone) {
  for (const auto gate : {RouterSpec::Gate::kSoftmax, RouterSpec::Gate::kSigmoid})
    for (const bool sums_to_one : {true, false}) {
      ExpertsFfnSpec spec = kSpec;
      spec.router = {.gate = gate, .sums_to_one = sums_to_one, .weights_scale = 2, .choice_bias = Presence::kRequired};
      const std::vector<float> scores = random_floats(kExperts, 5), bias = random_floats(kExperts, 6);
      const ExpertChoices choices = choices_of(scores, spec, bias.data());
      std::vector<double> p(kExperts);
      double all = 0, chosen = 0;
      for (std::size_t i = 0; i < p.size(); ++i) {
        const double power = std::exp(static_cast<double>(scores[i]));
        p[i] = gate == RouterSpec::Gate::kSigmoid ? power / (1 + power) : power;
        all += power;
      }
      if (gate == RouterSpec::Gate::kSoftmax)
        for (double& x : p) x /= all;
      std::vector<int> expected(kExperts);
      std::iota(expected.begin(), expected.end(), 0);
      std::ranges::stable_sort(expected, std::greater(),
                               [&](int i) { return p[to_size(i)] + static_cast<double>(bias[to_size(i)]); });
      expected.resize(kChosen);
      EXPECT_EQ(experts_of(choices, 0), expected);
      for (const int expert : expected) chosen += p[to_size(expert)];
      for (int rank = 0; rank < kChosen; ++rank)
        EXPECT_NEAR(choices.weight(0, rank), 2 * p[to_size(expected[to_size(rank)])] / (sums_to_one ? chosen : 1),
                    1e-6);
    }
}

TEST(ExpertChoices, SigmoidsThatAreAllSmallAreNotMadeLarge) {
  ExpertsFfnSpec spec = kSpec;
  spec.router.gate = RouterSpec::Gate::kSigmoid;
  const ExpertChoices choices = choices_of(std::vector<float>(kExperts, -30), spec);
  const double p = 1 / (1 + std::exp(30.0));
  EXPECT_NEAR(choices.weight(0, 0), p / 0x1p-14, 1e-12) << "their sum counts as 2^-14 at least";
}

TEST(ExpertChoices, AreOfTheBestGroupsAlone) {
  ExpertsFfnSpec spec = kSpec;
  spec.num_chosen = 3;
  spec.router.num_groups = 4;
  spec.router.num_groups_chosen = 2;
  //                               the best expert   the second best group    the best group
  const std::vector<float> scores = {5, -9, -9, 3.6F, 2, 1, 3, 3.8F, 3.5F, 0, 0, 0};
  const std::vector<float> bias(kExperts, 0);
  EXPECT_EQ(experts_of(choices_of(scores, spec, bias.data()), 0), (std::vector{0, 7, 8}))
      << "shares of a softmax: a group's best counts most";
  spec.router.gate = RouterSpec::Gate::kSigmoid;
  EXPECT_EQ(experts_of(choices_of(scores, spec, bias.data()), 0), (std::vector{7, 3, 8}))
      << "two good ones are a better group than one";
  spec.router.num_groups_chosen = 4;
  EXPECT_EQ(experts_of(choices_of(scores, spec), 0), (std::vector{0, 7, 3}));
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
