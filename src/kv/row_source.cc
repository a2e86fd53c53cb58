#include "octavo/kv/row_source.h"

#include "base/to_size.h"

namespace octavo {

GivenRows RowSource::given(std::size_t i) const {
  const GivenRows& whole = given_[i];
  const std::int32_t begin = std::max(whole.first, offset_);
  const std::int32_t end = std::min(whole.end(), offset_ + static_cast<std::int32_t>(size()));
  return {.first = begin - offset_,
          .count = end - begin,
          .index = whole.index + (begin - whole.first),
          .digest = whole.digest};
}

void RowSource::narrow() {
  const std::int32_t end = offset_ + static_cast<std::int32_t>(size());
  const auto begins = std::ranges::partition_point(given_, [&](const GivenRows& g) { return g.end() <= offset_; });
  const auto ends = std::partition_point(begins, given_.end(), [&](const GivenRows& g) { return g.first < end; });
  given_ = std::span<const GivenRows>(begins, ends);
}

std::size_t common_rows(const RowSource& a, const RowSource& b) {
  const auto ids = std::ranges::mismatch(a.tokens_, b.tokens_);
  const std::size_t common = to_size(ids.in1 - a.tokens_.begin());
  const std::size_t pieces = std::max(a.given_.size(), b.given_.size());
  constexpr GivenRows kNone{.first = std::numeric_limits<std::int32_t>::max()};
  for (std::size_t i = 0; i < pieces; ++i) {
    const GivenRows x = i < a.given_.size() ? a.given(i) : kNone, y = i < b.given_.size() ? b.given(i) : kNone;
    if (x == y) continue;
    const bool begin_alike = x.first == y.first && x.index == y.index && x.digest == y.digest;
    const std::int32_t alike = begin_alike ? x.first + std::min(x.count, y.count) : std::min(x.first, y.first);
    return std::min(common, to_size(alike));
  }
  return common;
}

}  // namespace octavo
