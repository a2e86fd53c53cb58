#include "sampler/dry.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/to_size.h"
#include "sampler/softmax.h"

namespace octavo {
namespace {

constexpr double kLargestPenalty = 1e30;  // a float still tells logits apart from the lowest one after it

/// The number of tokens after the last breaker: no repetition may be longer.
int tokens_since_breaker(std::span<const TokenId> tokens, std::span<const TokenId> breakers) {
  int count = 0;
  for (auto it = tokens.rbegin(); it != tokens.rend() && !std::ranges::binary_search(breakers, *it); ++it) ++count;
  return count;
}

}  // namespace

// The Z-algorithm on the sequence read backwards: [left, right) is the stretch furthest back that is known to equal the
// sequence's end.
void DryPenalty::match_suffixes(std::span<const TokenId> tokens) {
  const auto size = static_cast<int>(tokens.size());
  const auto from_end = [&](int i) { return tokens[to_size(size - 1 - i)]; };
  matched_.resize(tokens.size());  // the match of position size - 1 - i lies at i
  int left = 0, right = 0;
  for (int i = 1; i < size; ++i) {
    int length = i < right ? std::min(right - i, matched_[to_size(i - left)]) : 0;
    while (i + length < size && from_end(i + length) == from_end(length)) ++length;
    matched_[to_size(i)] = length;
    if (i + length > right) {
      left = i;
      right = i + length;
    }
  }
}

void DryPenalty::apply(std::span<float> row, const Dry& dry, std::span<const TokenId> tokens,
                       std::span<const TokenId> breakers) {
  const std::size_t window = dry.window == 0 ? tokens.size() : std::min(tokens.size(), to_size(dry.window));
  const std::span<const TokenId> last = tokens.last(window);
  const auto size = static_cast<int>(last.size());
  const int limit = std::min(size, tokens_since_breaker(last, breakers));
  if (limit < dry.allowed_length || size < 2) return;
  match_suffixes(last);
  longest_.resize(std::max(longest_.size(), row.size()));
  const auto next_of = [&](int i) { return last[to_size(size - i)]; };  // the token after position size - 1 - i
  const auto in_row = [&](TokenId token) { return token >= 0 && to_size(token) < row.size(); };
  for (int i = 1; i < size; ++i) {
    if (!in_row(next_of(i))) continue;
    int& longest = longest_[to_size(next_of(i))];
    longest = std::max(longest, std::min(matched_[to_size(i)], limit));
  }
  for (int i = 1; i < size; ++i) {
    if (!in_row(next_of(i))) continue;
    const int longest = std::exchange(longest_[to_size(next_of(i))], 0);
    if (longest == 0 || longest < dry.allowed_length || std::ranges::binary_search(breakers, next_of(i))) continue;
    const double penalty = dry.multiplier * math_.pow(static_cast<double>(dry.base), longest - dry.allowed_length);
    float& logit = row[to_size(next_of(i))];
    logit = finite_logit(logit) - static_cast<float>(std::min(penalty, kLargestPenalty));
  }
}

}  // namespace octavo
