#include "octavo/embedding.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "base/math.h"
#include "base/to_size.h"

namespace octavo {
namespace {

constexpr std::array<std::string_view, 5> kPoolingNames = {"none", "mean", "cls", "last", "rank"};
constexpr double kLargestAsInt16 = 32760;

/// The number that a vector is divided by.
double length_of(std::span<const float> vector, int p, Math math) {
  double sum = 0;
  if (p == 0) {
    for (const float x : vector) sum = std::max(sum, std::abs(static_cast<double>(x)));
    return sum / kLargestAsInt16;
  }
  if (p == 2) {
    for (const float x : vector) sum += static_cast<double>(x) * static_cast<double>(x);
    return std::sqrt(sum);
  }
  for (const float x : vector) sum += math.pow(std::abs(static_cast<double>(x)), p);
  return math.pow(sum, 1.0 / p);
}

}  // namespace

std::string_view pooling_name(Pooling pooling) { return kPoolingNames[to_size(std::to_underlying(pooling))]; }

std::optional<Pooling> find_pooling(std::string_view name) {
  const auto found = std::ranges::find(kPoolingNames, name);
  if (found == kPoolingNames.end()) return std::nullopt;
  return static_cast<Pooling>(found - kPoolingNames.begin());
}

void normalize(std::span<float> vector, int p, Bits bits) {
  if (p < 0) return;
  const double length = length_of(vector, p, Math(bits));
  if (!(length > 0)) return;
  for (float& x : vector) x = static_cast<float>(static_cast<double>(x) / length);
}

}  // namespace octavo
