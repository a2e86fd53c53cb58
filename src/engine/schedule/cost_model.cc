#include "engine/schedule/cost_model.h"

#include <algorithm>
#include <bit>

#include "base/first_seen.h"

namespace octavo {
namespace {

// Units that make the features of a typical step about as large as its rows: the fit's sweeps converge quickly then.
constexpr double kBytesUnit = 1e6, kMacsUnit = 1e6, kExpertBytesUnit = 1e8;

constexpr double kKept = 0.97;                // of a bin's older steps, at each new one: it looks back on about thirty
constexpr double kKeptOfOtherThreads = 1e-3;  // of steps with another number of threads, once: new ones outweigh them
constexpr double kFollow = 0.2;               // of the newest step in slowdown_
constexpr double kMaxSlowdown = 8;            // what a step was off by beyond that is no news about the next
constexpr double kMinMs = 0.05;               // errors count relative to the step's time, from here on
constexpr double kMostSpread = 4;             // experts are seldom chosen more evenly than by chance
constexpr int kHalvings = 20;                 // of the range that a spread lies in
constexpr int kSweeps = 40;                   // of coordinate descent, from the costs of the step before
constexpr double kRidge = 1e-6;               // share of the diagonal: two features that go together share their cost

}  // namespace

StepWork& StepWork::operator+=(const StepWork& other) {
  rows += other.rows;
  logit_rows += other.logit_rows;
  kv_bytes += other.kv_bytes;
  attention_macs += other.attention_macs;
  draw_ms += other.draw_ms;
  return *this;
}

StepWork CostModel::work(int first_row, int num_rows, int logits) const {
  StepWork work{.rows = static_cast<double>(num_rows), .logit_rows = static_cast<double>(logits)};
  for (const AttentionWork& layers : attention_) {
    const auto [first, count] = attending_rows(layers, {first_row, num_rows}, logits);
    if (count == 0) continue;
    const auto begin = static_cast<double>(first_seen(first, layers.window, layers.is_chunked));
    work.kv_bytes += static_cast<double>(layers.kv_bytes) * (static_cast<double>(first) + count - begin);
    work.attention_macs += static_cast<double>(layers.float_multiply_adds) * tokens_seen(layers, {first, count});
  }
  return work;
}

CostModel::Features CostModel::features(const StepWork& work, double expert_bytes) {
  return {1,
          work.rows,
          work.logit_rows,
          work.kv_bytes / kBytesUnit,
          work.attention_macs / kMacsUnit,
          expert_bytes / kExpertBytesUnit};
}

double CostModel::expert_bytes(const StepWork& work, double spread) const {
  double bytes = 0;
  for (const ExpertsWork& layers : experts_) {
    const double rows = layers.only_logit_rows ? work.logit_rows : work.rows;
    if (rows <= 0) continue;
    bytes += static_cast<double>(layers.bytes) * distinct_experts(layers, 1 + spread * (rows - 1));
  }
  return bytes;
}

/// Follows the spread that would have foreseen these bytes: it is between two others until they meet. Where any would
/// have done, as for one row or for so many that they read all, nothing is learned.
void CostModel::follow_spread(const StepWork& work, double expert_bytes) {
  double low = 0, high = kMostSpread;
  const double fewest = this->expert_bytes(work, low), most = this->expert_bytes(work, high);
  if (most - fewest < 0.01 * most || expert_bytes >= 0.99 * most) return;
  for (int i = 0; i < kHalvings; ++i) {
    const double middle = (low + high) / 2;
    (this->expert_bytes(work, middle) < expert_bytes ? low : high) = middle;
  }
  spread_ = (1 - kFollow) * spread_ + kFollow * low;
}

// Rows by powers of two; attention by powers of eight of its multiply-adds a row.
std::size_t CostModel::bin_of(const StepWork& work) {
  const auto rows = static_cast<std::uint64_t>(std::max(1.0, work.rows));
  const auto depth = static_cast<std::uint64_t>(work.attention_macs / std::max(1.0, work.rows) / kMacsUnit);
  const std::size_t row_bin = std::min<std::size_t>(std::bit_width(rows - 1), kRowBins - 1);
  const std::size_t depth_bin = std::min<std::size_t>((std::bit_width(depth) + 2) / 3, kAttentionBins - 1);
  return row_bin * kAttentionBins + depth_bin;
}

double CostModel::fitted_ms(const StepWork& work) const {
  const Features x = features(work, expert_bytes(work));
  double ms = 0;
  for (std::size_t i = 0; i < kNumCosts; ++i) ms += costs_[i] * x[i];
  return ms;
}

double CostModel::predict_ms(const StepWork& work) const { return slowdown_ * fitted_ms(work) + work.draw_ms; }

void CostModel::observe(const StepWork& work, double ms, std::uint64_t expert_bytes) {
  const double before = fitted_ms(work);
  const Features x = features(work, static_cast<double>(expert_bytes));
  if (expert_bytes > 0) follow_spread(work, static_cast<double>(expert_bytes));
  const double scale = std::max(ms, kMinMs);
  Sums& bin = bins_[bin_of(work)];
  for (std::size_t i = 0, product = 0; i < kNumCosts; ++i) {
    const double weighted = x[i] / (scale * scale);
    for (std::size_t j = 0; j <= i; ++j, ++product)
      bin.products[product] = kKept * bin.products[product] + weighted * x[j];
    bin.targets[i] = kKept * bin.targets[i] + weighted * ms;
  }
  // Experts' bytes are the last cost, and a dense model never has it.
  experts_.empty() ? fit<kNumCosts - 1>() : fit<kNumCosts>();
  if (!observed_ || before <= 0) {
    observed_ = true;
    return;
  }
  const double off = std::clamp(ms / before, 1 / kMaxSlowdown, kMaxSlowdown);
  slowdown_ = std::clamp((1 - kFollow) * slowdown_ + kFollow * off, 1 / kMaxSlowdown, kMaxSlowdown);
}

void CostModel::change_threads() {
  for (Sums& bin : bins_) {
    for (double& product : bin.products) product *= kKeptOfOtherThreads;
    for (double& target : bin.targets) target *= kKeptOfOtherThreads;
  }
}

template <std::size_t kNum>
void CostModel::fit() {
  Sums sums;
  for (const Sums& bin : bins_) {
    for (std::size_t i = 0; i < kNum * (kNum + 1) / 2; ++i) sums.products[i] += bin.products[i];
    for (std::size_t i = 0; i < kNum; ++i) sums.targets[i] += bin.targets[i];
  }
  descend<kNum>(sums);
}

// Non-negative least squares by coordinate descent (Franc, Hlavac, Navara 2005): each cost in turn takes its best
// value, at least 0, with the others as they are.
template <std::size_t kNum>
void CostModel::descend(const Sums& sums) {
  std::array<std::array<double, kNum>, kNum> products;
  for (std::size_t i = 0, product = 0; i < kNum; ++i)
    for (std::size_t j = 0; j <= i; ++j, ++product) products[i][j] = products[j][i] = sums.products[product];
  for (int sweep = 0; sweep < kSweeps; ++sweep) {
    for (std::size_t i = 0; i < kNum; ++i) {
      const double diagonal = products[i][i];
      if (diagonal <= 0) continue;
      double residual = sums.targets[i];
      for (std::size_t j = 0; j < kNum; ++j) residual -= products[i][j] * costs_[j];
      costs_[i] = std::max(0.0, costs_[i] + (residual - kRidge * diagonal * costs_[i]) / (diagonal * (1 + kRidge)));
    }
  }
}

}  // namespace octavo
