#include "engine/schedule/pooled_rows.h"

#include <algorithm>
#include <cmath>

namespace octavo {
namespace {

bool are_finite(std::span<const float> numbers) {
  return std::ranges::all_of(numbers, [](float x) { return std::isfinite(x); });
}

}  // namespace

PositionRange PooledRows::positions(int prompt_tokens) const {
  switch (pooling_) {
    case Pooling::kCls: return {.begin = 0, .end = 1};
    case Pooling::kLast: return {.begin = prompt_tokens - 1, .end = prompt_tokens};
    default: return {.begin = 0, .end = prompt_tokens};
  }
}

void PooledRows::add(std::span<const float> rows) {
  is_finite_ = is_finite_ && are_finite(rows);
  if (keeps_each()) return;
  for (std::size_t i = 0; i < rows.size(); i += pooled_.size())
    for (std::size_t d = 0; d < pooled_.size(); ++d) pooled_[d] += rows[i + d];
}

std::span<const float> PooledRows::finish(int prompt_tokens) {
  if (pooling_ == Pooling::kMean)
    for (float& x : pooled_) x /= static_cast<float>(prompt_tokens);
  return pooled_;
}

void PooledRows::set_result(std::span<const float> result) {
  result_.assign(result.begin(), result.end());
  has_result_ = true;
  is_finite_ = is_finite_ && are_finite(result_);
}

}  // namespace octavo
