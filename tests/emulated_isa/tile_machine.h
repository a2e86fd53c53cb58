// A thread's matrix tiles in plain C++, which remember each use that a processor would end with a signal, and count
// products.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "emulated_isa/tile_product.h"

namespace octavo {

class TileMachine {
 public:
  static TileMachine& of_thread();

  /// `config` is the 64 bytes that the instruction reads.
  void configure(const void* config);
  void release();
  void zero(int tile);
  void load(int tile, const void* from, std::int64_t stride);
  void store(int tile, void* to, std::int64_t stride);
  /// Adds to tile c the products of a and b.
  void dot(int c, int a, int b);
  /// Adds to the floats of tile c the products of a and b, which hold bf16, in the order of the processor.
  void dot_bf16(int c, int a, int b);

  bool configured() const { return configured_; }
  std::int64_t products() const { return products_; }
  /// The uses that were wrong since the last call; they had no other effect.
  std::vector<std::string> take_errors();

 private:
  struct Tile {
    int rows = 0, bytes = 0;  // its shape; 0 rows: none
    std::array<std::uint8_t, 16 * 64> data = {};
  };

  /// The tiles of a product.
  struct Operands {
    Tile* out;
    const Tile *a, *b;
  };

  /// The tile of that number, or null after an error: it has no shape.
  Tile* tile_of(int number, const char* use);
  /// The tiles of a product, which is counted; out is null after an error.
  Operands operands(int c, int a, int b);

  bool configured_ = false;
  std::array<Tile, 8> tiles_ = {};
  std::int64_t products_ = 0;
  std::vector<std::string> errors_;
};

}  // namespace octavo
