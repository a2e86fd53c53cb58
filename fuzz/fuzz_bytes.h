// Numbers that fuzz targets make of their input, small ones and now and then any; and a check that ends the run.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <span>

namespace octavo {

#define FUZZ_CHECK(condition)       \
  do {                              \
    if (!(condition)) std::abort(); \
  } while (false)

class Bytes {
 public:
  explicit Bytes(std::span<const std::uint8_t> data) : data_(data) {}
  bool empty() const { return data_.empty(); }
  int next() {
    if (data_.empty()) return 0;
    const int byte = data_.front();
    data_ = data_.subspan(1);
    return byte;
  }
  int below(int limit) { return next() % limit; }
  /// Mostly small; now and then of any size.
  std::int64_t number() {
    const int byte = next();
    if (byte < 240) return byte % 48;
    std::uint64_t wide = 0;
    for (int i = 0; i < 8; ++i) wide = wide << 8 | static_cast<std::uint64_t>(next());
    return static_cast<std::int64_t>(wide);
  }

 private:
  std::span<const std::uint8_t> data_;
};

}  // namespace octavo
