// The steps of SamplingParams by their definitions: float64, full sorts, one token after the other.
#pragma once

#include <algorithm>
#include <cmath>
#include <numeric>
#include <span>
#include <vector>

#include "octavo/sampling.h"

namespace octavo::test {

class ReferenceCandidates {
 public:
  explicit ReferenceCandidates(const std::vector<float>& logits) : logits_(logits.begin(), logits.end()) {
    left_.resize(logits.size());
    std::iota(left_.begin(), left_.end(), std::size_t{0});
  }

  /// [vocab] of every token; 0 where it was cut.
  std::vector<double> probabilities() const {
    std::vector<double> all(logits_.size());
    double total = 0;
    const double largest = max();
    for (const std::size_t i : left_) total += all[i] = std::exp(logits_[i] - largest);
    for (double& p : all) p /= total;
    return all;
  }

  void apply(SamplerStep step, const SamplingParams& params) {
    switch (step) {
      case SamplerStep::kTopNSigma: return top_n_sigma(params.top_n_sigma);
      case SamplerStep::kTopK: return top_k(params.top_k);
      case SamplerStep::kTypical: return typical(params.typical_p);
      case SamplerStep::kTopP: return top_p(params.top_p);
      case SamplerStep::kMinP: return min_p(params.min_p);
      case SamplerStep::kXtc: return xtc(params.xtc.threshold);
      case SamplerStep::kTemperature: return temperature(params.temperature, params.dynamic_temperature);
    }
  }

  void surprise(double bits) {
    const std::vector<double> p = probabilities();
    const std::size_t best = by_likelihood().front();
    std::erase_if(left_, [&](std::size_t i) { return i != best && -std::log2(p[i]) > bits; });
  }

 private:
  double max() const {
    double largest = -INFINITY;
    for (const std::size_t i : left_) largest = std::max(largest, logits_[i]);
    return largest;
  }
  std::vector<std::size_t> by_likelihood() const {
    std::vector<std::size_t> order = left_;
    std::ranges::stable_sort(order, [&](auto a, auto b) { return logits_[a] > logits_[b]; });
    return order;
  }
  void keep(std::vector<std::size_t> kept) {
    std::ranges::sort(kept);
    left_ = std::move(kept);
  }
  /// The first of `order` whose probabilities sum to at least `p`.
  void keep_mass(std::vector<std::size_t> order, double p) {
    const std::vector<double> all = probabilities();
    double sum = 0;
    std::size_t kept = 0;
    while (kept < order.size() && (kept == 0 || sum < p)) sum += all[order[kept++]];
    order.resize(kept);
    keep(order);
  }
  double entropy() const {
    double sum = 0;
    for (const double p : probabilities()) sum -= p > 0 ? p * std::log(p) : 0;
    return sum;
  }

  void top_k(int k) {
    std::vector<std::size_t> order = by_likelihood();
    if (k > 0 && static_cast<std::size_t>(k) < order.size()) order.resize(static_cast<std::size_t>(k));
    keep(order);
  }
  void top_p(double p) {
    if (p < 1) keep_mass(by_likelihood(), p);
  }
  void min_p(double p) {
    const double largest = max();
    std::erase_if(left_, [&](std::size_t i) { return std::exp(logits_[i] - largest) < p; });
  }
  void top_n_sigma(double n) {
    if (n <= 0 || left_.size() == 1) return;
    double mean = 0, squares = 0;
    for (const std::size_t i : left_) mean += logits_[i] / static_cast<double>(left_.size());
    for (const std::size_t i : left_) squares += (logits_[i] - mean) * (logits_[i] - mean);
    const double least = max() - n * std::sqrt(squares / static_cast<double>(left_.size()));
    std::erase_if(left_, [&](std::size_t i) { return logits_[i] < least; });
  }
  void typical(double p) {
    if (p >= 1) return;
    const std::vector<double> all = probabilities();
    const double expected = entropy();
    std::vector<std::size_t> order = left_;
    std::ranges::stable_sort(order, {}, [&](std::size_t i) { return std::abs(-std::log(all[i]) - expected); });
    keep_mass(order, p);
  }
  void xtc(double threshold) {
    const std::vector<double> all = probabilities();
    std::vector<std::size_t> order = by_likelihood();
    const auto above =
        static_cast<std::size_t>(std::ranges::count_if(order, [&](std::size_t i) { return all[i] >= threshold; }));
    if (above < 2) return;
    order.erase(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(above) - 1);
    keep(order);
  }
  void temperature(double value, const DynamicTemperature& dynamic) {
    if (dynamic.range > 0 && left_.size() > 1) {
      const double low = std::max(0.0, value - dynamic.range), high = value + dynamic.range;
      const double share = entropy() / std::log(static_cast<double>(left_.size()));
      value = std::max(low + (high - low) * std::pow(share, dynamic.exponent), 1e-6);
    }
    for (double& logit : logits_) logit /= value;
  }

  std::vector<double> logits_;
  std::vector<std::size_t> left_;  // ascending
};

}  // namespace octavo::test
