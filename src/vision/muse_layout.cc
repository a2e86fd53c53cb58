#include "vision/muse_layout.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <optional>

namespace octavo {
namespace {

struct TokenGrid {
  std::int64_t rows = 0, columns = 0;
  bool operator==(const TokenGrid&) const = default;
};

/// The hash that CPython has for a pair of small numbers.
std::uint64_t hash_of_pair(const TokenGrid& grid) {
  constexpr std::uint64_t kFirst = 11400714785074694791U, kSecond = 14029467366897019727U,
                          kFifth = 2870177450012600261U;
  std::uint64_t sum = kFifth;
  for (const std::int64_t number : {grid.rows, grid.columns})
    sum = std::rotl(sum + static_cast<std::uint64_t>(number) * kSecond, 31) * kFirst;
  return sum + (2 ^ (kFifth ^ 3527539U));
}

/// The order in which a set of CPython has up to four pairs. The makers' processor takes the first of equally good
/// grids in it: of square pictures, two are.
class HashOrder {
 public:
  void add(const TokenGrid& grid) {
    std::uint64_t perturbation = hash_of_pair(grid), slot = perturbation % slots_.size();
    for (; slots_[slot] && *slots_[slot] != grid; slot = (slot * 5 + 1 + perturbation) % slots_.size())
      perturbation >>= 5;
    slots_[slot] = grid;
  }
  const std::array<std::optional<TokenGrid>, 8>& slots() const { return slots_; }

 private:
  std::array<std::optional<TokenGrid>, 8> slots_ = {};
};

}  // namespace

PictureLayout nearest_aspect(PictureSize size, const PictureGeometry& geometry, TokenRange tokens) {
  const double unit = geometry.token_side();
  const int most = std::max(tokens.max, 1);
  double rows = size.height / unit, columns = size.width / unit;
  const double ratio = columns / rows;
  if (rows * columns > most) {
    rows = std::pow(most / ratio, 0.5);
    columns = rows * ratio;
  }
  HashOrder grids;
  for (const double row : {std::floor(rows), std::ceil(rows)})
    for (const double column : {std::floor(columns), std::ceil(columns)})
      grids.add({static_cast<std::int64_t>(row), static_cast<std::int64_t>(column)});
  const double aspect = static_cast<double>(size.height) / size.width;
  TokenGrid best;
  double nearest = 0;
  for (const auto& grid : grids.slots()) {
    if (!grid || grid->rows < 1 || grid->columns < 1 || grid->rows * grid->columns > most) continue;
    const double difference = std::abs(static_cast<double>(grid->rows) / static_cast<double>(grid->columns) - aspect);
    if (best.rows == 0 || difference < nearest) {
      best = *grid;
      nearest = difference;
    }
  }
  if (best.rows == 0)  // a very long picture
    best = {std::max<std::int64_t>(1, std::llrint(rows)), std::max<std::int64_t>(1, std::llrint(columns))};
  return one_tile(static_cast<int>(best.rows), static_cast<int>(best.columns), geometry);
}

}  // namespace octavo
