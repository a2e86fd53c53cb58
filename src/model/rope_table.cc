#include "model/rope_table.h"

#include <cmath>

#include "base/to_size.h"

namespace octavo {

RopeTable::RopeTable(const RopeSpec& spec, const float* factors, const ComputeContext& context)
    : spec_(spec),
      frequencies_(to_size(spec.num_rotated / 2)),
      cosines_(context.make_rows(spec.num_rotated / 2)),
      sines_(context.make_rows(spec.num_rotated / 2)) {
  for (std::size_t i = 0; i < frequencies_.size(); ++i) {
    const double exponent = -2.0 * static_cast<double>(i) / spec.num_rotated;
    const double factor = factors != nullptr ? static_cast<double>(factors[i]) : 1.0;
    frequencies_[i] = std::pow(spec.base, exponent) / spec.position_divisor / factor;
  }
}

void RopeTable::fill(std::int64_t row, int position) {
  const std::size_t first = to_size(row) * frequencies_.size();
  for (std::size_t i = 0; i < frequencies_.size(); ++i) {
    const double angle = position * frequencies_[i];
    cosines_.data()[first + i] = static_cast<float>(std::cos(angle));
    sines_.data()[first + i] = static_cast<float>(std::sin(angle));
  }
}

}  // namespace octavo
