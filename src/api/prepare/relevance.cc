#include "api/prepare/relevance.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace octavo {

double relevance_logit(std::span<const float> scores) {
  const double first = static_cast<double>(scores.front());
  return scores.size() == 1 ? first : first - static_cast<double>(scores[1]);
}

double relevance(double logit, Math math) { return 1 / (1 + math.exp(-logit)); }

double cosine(std::span<const float> a, std::span<const float> b) {
  double product = 0, a_squares = 0, b_squares = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    const double x = static_cast<double>(a[i]), y = static_cast<double>(b[i]);
    product += x * y;
    a_squares += x * x;
    b_squares += y * y;
  }
  const double lengths = std::sqrt(a_squares) * std::sqrt(b_squares);
  return lengths > 0 ? product / lengths : 0;
}

std::vector<std::size_t> best_first(std::span<const double> scores) {
  std::vector<std::size_t> order(scores.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, [&](std::size_t a, std::size_t b) { return scores[a] > scores[b]; });
  return order;
}

}  // namespace octavo
