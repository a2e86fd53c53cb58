#include "engine/drafts/ngram_index.h"

#include <algorithm>
#include <bit>

#include "base/to_size.h"

namespace octavo {
namespace {

constexpr std::size_t kFewestEntries = 64;

}  // namespace

int NgramIndex::common_end(std::span<const TokenId> a, std::span<const TokenId> b) {
  const std::size_t most = std::min({a.size(), b.size(), to_size(kMostCompared)});
  std::size_t length = 0;
  while (length < most && a[a.size() - length - 1] == b[b.size() - length - 1]) ++length;
  return static_cast<int>(length);
}

void NgramIndex::clear(std::size_t num_tokens) {
  num_used_ = std::min(num_entries_, std::bit_ceil(std::max(num_tokens, kFewestEntries)));
  std::fill_n(tables_.begin(), kLengths.size() * num_used_, 0U);
  num_followed_ = 0;
}

std::size_t NgramIndex::entry_of(std::size_t length, std::span<const TokenId> ngram) const {
  std::uint64_t hash = 0;
  for (const TokenId token : ngram) hash = (hash ^ static_cast<std::uint32_t>(token)) * 0x9E3779B97F4A7C15;
  return length * num_used_ + (hash >> 32) % num_used_;
}

void NgramIndex::follow(std::span<const TokenId> text, int most) {
  const int end = std::min(static_cast<int>(text.size()), num_followed_ + most);
  for (; num_followed_ < end; ++num_followed_) {
    const std::span<const TokenId> before = text.first(to_size(num_followed_));
    for (std::size_t i = 0; i < kLengths.size(); ++i)
      if (before.size() >= to_size(kLengths[i]))
        tables_[entry_of(i, before.last(to_size(kLengths[i])))] = static_cast<std::uint32_t>(num_followed_);
  }
}

NgramIndex::Match NgramIndex::find(std::span<const TokenId> text, std::span<const TokenId> context) const {
  for (std::size_t i = 0; i < kLengths.size() && num_followed_ > 0; ++i) {
    const auto length = to_size(kLengths[i]);
    if (context.size() < length) continue;
    const std::uint32_t at = tables_[entry_of(i, context.last(length))];
    const int common = common_end(text.first(at), context);
    if (common >= kLengths[i]) return {.at = static_cast<int>(at), .length = common};
  }
  return {};
}

}  // namespace octavo
