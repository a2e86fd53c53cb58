#include "emulated_isa/tile_machine.h"

#include <bit>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <utility>

namespace octavo {
namespace {

/// The offsets of a configuration's fields (Intel, Software Developer's Manual, LDTILECFG).
constexpr int kBytesOfRows = 16, kRows = 48, kReserved = 2;

std::int32_t sum_of_four(const std::uint8_t* a, const std::uint8_t* b) {
  std::int32_t sum = 0;
  for (int i = 0; i < 4; ++i) sum += static_cast<std::int8_t>(a[i]) * static_cast<std::int8_t>(b[i]);
  return sum;
}

/// x, or a zero of its sign where it is denormal.
float normal_or_zero(float x) { return std::fabs(x) < std::numeric_limits<float>::min() ? std::copysign(0.0F, x) : x; }

/// The two bf16 of four bytes.
struct Pair {
  float first, second;

  static Pair at(const std::uint8_t* four) {
    std::uint32_t both = 0;
    std::memcpy(&both, four, 4);
    return {normal_or_zero(std::bit_cast<float>(both << 16)), normal_or_zero(std::bit_cast<float>(both & 0xFFFF0000U))};
  }
};

constexpr int kMostColumns = 16;

/// Sums of products with the first and with the second numbers of pairs, for each column of a tile.
struct PairSums {
  std::array<float, kMostColumns> first = {}, second = {};
};

/// Adds the products of a with the pairs of a row of tile B. A call of the library for each multiply-add would take
/// minutes in all.
[[gnu::target_clones("avx512f", "fma", "default")]] void add_products(Pair a, const std::uint8_t* row, PairSums& sums) {
  for (std::size_t n = 0; n < kMostColumns; ++n) {
    const Pair b = Pair::at(row + 4 * n);
    sums.first[n] = normal_or_zero(std::fma(a.first, b.first, sums.first[n]));
    sums.second[n] = normal_or_zero(std::fma(a.second, b.second, sums.second[n]));
  }
}

}  // namespace

TileMachine& TileMachine::of_thread() {
  static thread_local TileMachine machine;
  return machine;
}

void TileMachine::configure(const void* config) {
  const auto* bytes = static_cast<const std::uint8_t*>(config);
  tiles_ = {};
  configured_ = false;
  if (bytes[0] != 1) return errors_.push_back("a configuration of another palette than 1"), void();
  for (int i = kReserved; i < kBytesOfRows; ++i)
    if (bytes[i] != 0) return errors_.push_back("a configuration whose reserved bytes are not 0"), void();
  for (std::size_t t = 0; t < 16; ++t) {
    std::uint16_t row_bytes = 0;
    std::memcpy(&row_bytes, bytes + kBytesOfRows + 2 * t, 2);
    const int rows = bytes[kRows + t];
    const bool is_none = rows == 0 && row_bytes == 0;
    if (t >= tiles_.size() ? !is_none : (rows > 16 || row_bytes > 64 || (rows == 0) != (row_bytes == 0)))
      return errors_.push_back("tile " + std::to_string(t) + " has a shape that there is not"), void();
    if (t < tiles_.size()) tiles_[t].rows = rows, tiles_[t].bytes = row_bytes;
  }
  configured_ = true;
}

void TileMachine::release() {
  tiles_ = {};
  configured_ = false;
}

TileMachine::Tile* TileMachine::tile_of(int number, const char* use) {
  Tile& tile = tiles_[static_cast<std::size_t>(number)];
  if (configured_ && tile.rows > 0) return &tile;
  errors_.push_back(std::string(use) + " of tile " + std::to_string(number) +
                    (configured_ ? ", which has no shape" : " while tiles are not configured"));
  return nullptr;
}

void TileMachine::zero(int tile) {
  if (Tile* t = tile_of(tile, "zero")) t->data = {};
}

void TileMachine::load(int tile, const void* from, std::int64_t stride) {
  Tile* t = tile_of(tile, "load");
  if (t == nullptr) return;
  t->data = {};
  for (int row = 0; row < t->rows; ++row)
    std::memcpy(&t->data[static_cast<std::size_t>(row) * 64], static_cast<const std::uint8_t*>(from) + row * stride,
                static_cast<std::size_t>(t->bytes));
}

void TileMachine::store(int tile, void* to, std::int64_t stride) {
  const Tile* t = tile_of(tile, "store");
  if (t == nullptr) return;
  if (std::abs(stride) < t->bytes) errors_.emplace_back("a store whose rows lie one on another");
  for (int row = 0; row < t->rows; ++row)
    std::memcpy(static_cast<std::uint8_t*>(to) + row * stride, &t->data[static_cast<std::size_t>(row) * 64],
                static_cast<std::size_t>(t->bytes));
}

TileMachine::Operands TileMachine::operands(int c, int a, int b) {
  Tile* out = tile_of(c, "product");
  const Tile *left = tile_of(a, "product"), *right = tile_of(b, "product");
  if (out == nullptr || left == nullptr || right == nullptr) return {};
  if (c == a || c == b || a == b || left->rows != out->rows || right->bytes != out->bytes ||
      left->bytes != 4 * right->rows) {
    errors_.emplace_back("a product of tiles whose shapes do not fit");
    return {};
  }
  ++products_;
  return {out, left, right};
}

void TileMachine::dot(int c, int a, int b) {
  const auto [out, left, right] = operands(c, a, b);
  if (out == nullptr) return;
  for (int m = 0; m < out->rows; ++m)
    for (int k = 0; k < right->rows; ++k)
      for (int n = 0; n < out->bytes / 4; ++n) {
        std::uint8_t* at = &out->data[static_cast<std::size_t>(m * 64 + n * 4)];
        std::uint32_t sum = 0;
        std::memcpy(&sum, at, 4);
        sum += static_cast<std::uint32_t>(sum_of_four(&left->data[static_cast<std::size_t>(m * 64 + k * 4)],
                                                      &right->data[static_cast<std::size_t>(k * 64 + n * 4)]));
        std::memcpy(at, &sum, 4);
      }
}

void TileMachine::dot_bf16(int c, int a, int b) {
  const auto [out, left, right] = operands(c, a, b);
  if (out == nullptr) return;
  for (int m = 0; m < out->rows; ++m) {
    PairSums sums;
    for (int k = 0; k < right->rows; ++k)
      add_products(Pair::at(&left->data[static_cast<std::size_t>(m * 64 + k * 4)]),
                   &right->data[static_cast<std::size_t>(k * 64)], sums);
    for (int n = 0; n < out->bytes / 4; ++n) {
      std::uint8_t* at = &out->data[static_cast<std::size_t>(m * 64 + n * 4)];
      const auto column = static_cast<std::size_t>(n);
      float sum = 0;
      std::memcpy(&sum, at, 4);
      sum = normal_or_zero(normal_or_zero(sum) + normal_or_zero(sums.first[column] + sums.second[column]));
      std::memcpy(at, &sum, 4);
    }
  }
}

std::vector<std::string> TileMachine::take_errors() { return std::exchange(errors_, {}); }

}  // namespace octavo
