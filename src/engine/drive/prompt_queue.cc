#include "octavo/prompt_queue.h"

#include <algorithm>
#include <bit>
#include <numeric>

#include "base/to_size.h"

namespace octavo {
namespace {

std::size_t size_of(std::uint64_t num_tokens) {
  const std::size_t width = to_size(std::bit_width(std::max<std::uint64_t>(1, num_tokens)));
  return std::min(PromptQueue::kSizes, width) - 1;
}

}  // namespace

void PromptQueue::add(std::uint64_t num_left) { tokens[size_of(num_left)] += num_left; }

std::uint64_t PromptQueue::num_tokens() const {
  return std::accumulate(tokens.begin(), tokens.end(), std::uint64_t{0});
}

std::uint64_t PromptQueue::num_before(std::uint64_t num_tokens) const {
  const auto end = tokens.begin() + static_cast<std::ptrdiff_t>(size_of(num_tokens)) + 1;
  return std::accumulate(tokens.begin(), end, std::uint64_t{0});
}

}  // namespace octavo
