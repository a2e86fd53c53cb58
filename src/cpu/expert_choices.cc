#include "cpu/expert_choices.h"

#include <algorithm>
#include <limits>
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
  weights_scale_ = spec.weights_scale;
  sums_to_one_ = spec.sums_to_one;
}

void ExpertChoices::choose(std::int64_t row, const float* scores) {
  std::int32_t* const experts = experts_.data() + place(row, 0);
  float* const best = weights_.data() + place(row, 0);  // scores first, descending
  bool finite = true;
  for (int expert = 0, count = 0; expert < num_experts_; ++expert) {
    const float score = scores[expert];
    finite = finite && std::isfinite(score);
    if (count == num_chosen_ && !(score > best[count - 1])) continue;
    int at = count < num_chosen_ ? count++ : count - 1;
    for (; at > 0 && score > best[at - 1]; --at) {
      best[at] = best[at - 1];
      experts[at] = experts[at - 1];
    }
    best[at] = score;
    experts[at] = expert;
  }
  const std::span weights(best, to_size(num_chosen_));
  if (!finite) {
    std::ranges::fill(weights, std::numeric_limits<float>::quiet_NaN());
    return;
  }
  // Whatever the bits: a card has this function too, and not the C library's.
  const auto highest = static_cast<double>(best[0]);
  double sum = 0;
  const std::span<const float> sharing =
      sums_to_one_ ? std::span<const float>(weights) : std::span(scores, to_size(num_experts_));
  for (const float score : sharing) sum += portable::exp(static_cast<double>(score) - highest);
  for (float& weight : weights)
    weight = static_cast<float>(portable::exp(static_cast<double>(weight) - highest) / sum) * weights_scale_;
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
