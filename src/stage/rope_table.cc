#include "stage/rope_table.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "base/to_size.h"

namespace octavo {

namespace {

/// The pair of dimensions, not a whole number, that turns so often within the original context.
double pair_that_turns(const RopeSpec& spec, Math math, double turns) {
  const double length = spec.scaling.yarn->original_context / (turns * 2 * std::numbers::pi);
  return spec.num_rotated * math.log(length) / (2 * math.log(spec.base));
}

/// The share of a pair's frequency that stays as it was: 1 for fast pairs, 0 for slow ones.
double kept_share(const RopeSpec& spec, Math math, std::size_t pair) {
  if (!spec.scaling.yarn) return 0;
  const double last = spec.num_rotated - 1;
  double fast = pair_that_turns(spec, math, spec.scaling.yarn->fast_turns);
  double slow = pair_that_turns(spec, math, spec.scaling.yarn->slow_turns);
  if (spec.scaling.yarn->whole_pairs) fast = std::floor(fast), slow = std::ceil(slow);
  fast = std::clamp(fast, 0.0, last);
  slow = std::clamp(slow, 0.0, last);
  constexpr double kShortestRamp = 0.001;
  const double slowed = (static_cast<double>(pair) - fast) / std::max(kShortestRamp, slow - fast);
  return spec.scaling.yarn->strength * (1 - std::clamp(slowed, 0.0, 1.0));
}

/// The axis that a pair turns by. Interleaved sections take turns; time has what they leave (Bai et al., 2025).
std::int32_t RopePosition::* axis_of(const RopeSpec& spec, int pair) {
  if (!spec.sections) return &RopePosition::time;
  const RopeSections& sections = *spec.sections;
  if (sections.is_interleaved) {
    if (pair % 3 == 1 && pair < 3 * sections.rows) return &RopePosition::row;
    if (pair % 3 == 2 && pair < 3 * sections.columns) return &RopePosition::column;
    return &RopePosition::time;
  }
  if (pair < sections.time) return &RopePosition::time;
  pair -= sections.time;
  if (pair < sections.rows) return &RopePosition::row;
  return pair - sections.rows < sections.columns ? &RopePosition::column : &RopePosition::time;
}

}  // namespace

RopeTable::RopeTable(const RopeSpec& spec, const float* factors, Math math, int max_rows)
    : spec_(spec),
      math_(math),
      frequencies_(to_size(spec.num_rotated / 2)),
      cosines_(to_size(max_rows) * frequencies_.size()),
      sines_(cosines_.size()) {
  for (std::size_t i = 0; i < frequencies_.size(); ++i) {
    const double exponent = -2.0 * static_cast<double>(i) / spec.num_rotated;
    const double factor = factors != nullptr ? static_cast<double>(factors[i]) : 1.0;
    const double slowed = math_.pow(spec.base, exponent) / spec.scaling.divisor / factor;
    const double kept = kept_share(spec, math_, i);
    frequencies_[i] = kept == 0 ? slowed : slowed * (1 - kept) + slowed * spec.scaling.divisor * kept;
    axes_.push_back(axis_of(spec, static_cast<int>(i)));
  }
}

void RopeTable::fill(std::int64_t row, const RopePosition& position) {
  const std::size_t first = to_size(row) * frequencies_.size();
  for (std::size_t i = 0; i < frequencies_.size(); ++i) {
    const double angle = position.*axes_[i] * frequencies_[i];
    cosines_.data()[first + i] = static_cast<float>(spec_.scaling.magnitude * math_.cos(angle));
    sines_.data()[first + i] = static_cast<float>(spec_.scaling.magnitude * math_.sin(angle));
  }
}

std::size_t RopeTables::add(const RopeSpec& spec, const float* factors) {
  const auto known = std::ranges::find(tables_, spec, &RopeTable::spec);
  if (known != tables_.end()) return to_size(known - tables_.begin());
  tables_.emplace_back(spec, spec.factors == Presence::kAbsent ? nullptr : factors, math_, max_rows_);
  return tables_.size() - 1;
}

void RopeTables::fill(const Batch& batch, ThreadPool& pool) {
  constexpr std::size_t kGrain = 8;
  pool.for_ranges(batch.rope_positions.size(), kGrain, [&](std::size_t begin, std::size_t end, int) {
    for (std::size_t row = begin; row < end; ++row)
      for (RopeTable& table : tables_) table.fill(static_cast<std::int64_t>(row), batch.rope_positions[row]);
  });
}

float score_scale(const AttentionSpec& spec, Math math, int position) {
  if (!spec.temperature) return spec.scale;
  const AttentionTemperature& temperature = *spec.temperature;
  const auto counted = std::int64_t{position} + temperature.offset;
  const double steps = math.log1p(static_cast<double>(counted / temperature.length));
  return static_cast<float>(static_cast<double>(spec.scale) * (1 + temperature.slope * steps));
}

}  // namespace octavo
