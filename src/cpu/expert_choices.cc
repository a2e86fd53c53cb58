#include "cpu/expert_choices.h"

#include <algorithm>
#include <array>
#include <limits>
#include <numeric>
#include <utility>

#include "base/error.h"
#include "base/math.h"

namespace octavo {

ExpertChoices::ExpertChoices(int max_rows, int max_experts, int max_chosen)
    : experts_(to_size(max_rows) * to_size(max_chosen)),
      weights_(experts_.size()),
      slots_(experts_.size()),
      counts_(to_size(max_experts)),
      group_of_expert_(counts_.size()) {
  groups_.reserve(counts_.size());
}

void ExpertChoices::begin(int rows, const ExpertsFfnSpec& spec) {
  OCTAVO_CHECK(
      to_size(rows) * to_size(spec.num_chosen) <= experts_.size() && to_size(spec.num_experts) <= counts_.size(),
      "{} rows, {} of {} experts", rows, spec.num_chosen, spec.num_experts);
  num_rows_ = rows;
  num_experts_ = spec.num_experts;
  num_chosen_ = spec.num_chosen;
  router_ = spec.router;
}

/// Ranks the experts by value(expert), of equal ones the lower index first. False where a value is not finite.
template <class Value>
bool ExpertChoices::rank(std::int64_t row, const Value& value) {
  std::int32_t* const experts = experts_.data() + place(row, 0);
  float* const best = weights_.data() + place(row, 0);  // values, descending
  bool finite = true;
  for (int expert = 0, count = 0; expert < num_experts_; ++expert) {
    const float now = value(expert);
    finite = finite && std::isfinite(now);
    if (count == num_chosen_ && !(now > best[count - 1])) continue;
    int at = count < num_chosen_ ? count++ : count - 1;
    for (; at > 0 && now > best[at - 1]; --at) {
      best[at] = best[at - 1];
      experts[at] = experts[at - 1];
    }
    best[at] = now;
    experts[at] = expert;
  }
  return finite;
}

// Whatever the bits, exp() is the portable one: a card has this function too, and not the C library's.
void ExpertChoices::choose(std::int64_t row, std::span<float> scores, const float* bias) {
  const std::span weights(weights_.data() + place(row, 0), to_size(num_chosen_));
  const auto score_of = [&](int expert) { return scores[to_size(expert)]; };
  if (!rank(row, score_of)) {
    std::ranges::fill(weights, std::numeric_limits<float>::quiet_NaN());
    return;
  }
  if (router_.gate == RouterSpec::Gate::kSoftmax && bias == nullptr && router_.num_groups == 1)
    return share(scores, weights);
  make_probabilities(scores);
  if (bias != nullptr || router_.num_groups > 1) {
    const auto worth = [&](int expert) { return bias == nullptr ? score_of(expert) : score_of(expert) + bias[expert]; };
    const std::uint64_t groups = best_groups(worth);
    const int of_group = num_experts_ / router_.num_groups;
    rank(row, [&](int expert) {
      return (groups >> (expert / of_group) & 1) != 0 ? worth(expert) : -std::numeric_limits<float>::max();
    });
  }
  for (int rank = 0; rank < num_chosen_; ++rank) weights[to_size(rank)] = score_of(expert(row, rank));
  weigh(weights);
}

/// The softmax of the chosen scores, or the chosen ones' shares of the softmax over all. (A softmax of all scores,
/// divided by the sum of those chosen, is the softmax of the chosen.)
void ExpertChoices::share(std::span<const float> scores, std::span<float> weights) const {
  const auto highest = static_cast<double>(weights[0]);
  double sum = 0;
  const std::span<const float> sharing = router_.sums_to_one ? std::span<const float>(weights) : scores;
  for (const float score : sharing) sum += portable::exp(static_cast<double>(score) - highest);
  for (float& weight : weights)
    weight = static_cast<float>(portable::exp(static_cast<double>(weight) - highest) / sum) * router_.weights_scale;
}

/// Scores become probabilities.
void ExpertChoices::make_probabilities(std::span<float> scores) const {
  if (router_.gate == RouterSpec::Gate::kSigmoid) {
    for (float& score : scores) score = static_cast<float>(1 / (1 + portable::exp(-static_cast<double>(score))));
    return;
  }
  const auto highest = static_cast<double>(*std::ranges::max_element(scores));
  double sum = 0;
  for (const float score : scores) sum += portable::exp(static_cast<double>(score) - highest);
  for (float& score : scores) score = static_cast<float>(portable::exp(static_cast<double>(score) - highest) / sum);
}

/// A bit for each group that may be chosen from.
template <class Worth>
std::uint64_t ExpertChoices::best_groups(const Worth& worth) const {
  const int of_group = num_experts_ / router_.num_groups;
  std::array<float, kMostExpertGroups> worths;
  for (int group = 0; group < router_.num_groups; ++group) {
    float best = -std::numeric_limits<float>::max(), second = best;
    for (int expert = group * of_group; expert < (group + 1) * of_group; ++expert) {
      const float now = worth(expert);
      if (now > best) {
        second = std::exchange(best, now);
      } else if (now > second) {
        second = now;
      }
    }
    worths[to_size(group)] = of_group > 1 ? best + second : best;
  }
  std::uint64_t chosen = 0;
  for (int count = 0; count < router_.num_groups_chosen; ++count) {
    int best = -1;
    for (int group = 0; group < router_.num_groups; ++group)
      if ((chosen >> group & 1) == 0 && (best < 0 || worths[to_size(group)] > worths[to_size(best)])) best = group;
    chosen |= std::uint64_t{1} << best;
  }
  return chosen;
}

/// Makes weights of the chosen experts' probabilities.
void ExpertChoices::weigh(std::span<float> weights) const {
  constexpr double kLeastSum = 0x1p-14;  // of F16, as in llama.cpp
  double sum = 1;
  if (router_.sums_to_one) sum = std::max(kLeastSum, std::accumulate(weights.begin(), weights.end(), 0.0));
  for (float& weight : weights) weight = static_cast<float>(static_cast<double>(weight) / sum) * router_.weights_scale;
}

void ExpertChoices::group() {
  const std::span chosen(experts_.data(), place(num_rows_, 0));
  std::ranges::fill(counts_, 0);
  for (const std::int32_t expert : chosen) ++counts_[to_size(expert)];
  groups_.clear();
  int first = 0;
  for (int expert = 0; expert < num_experts_; ++expert) {
    std::int32_t& count = counts_[to_size(expert)];
    if (count == 0) continue;
    group_of_expert_[to_size(expert)] = static_cast<std::int32_t>(groups_.size());
    groups_.push_back({.expert = expert, .first = first, .count = count});
    first += std::exchange(count, first);
  }
  for (std::size_t i = 0; i < chosen.size(); ++i) slots_[i] = counts_[to_size(chosen[i])]++;
}

}  // namespace octavo
