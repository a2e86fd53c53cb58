// Random numbers, pictures of noise and digests, as tools/make_picture_truth.py makes them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <fstream>
#include <iterator>
#include <span>
#include <sstream>
#include <string>
#include <vector>

#include "base/to_size.h"
#include "support/source_dir.h"
#include "vision/picture.h"

namespace octavo::test {

class TruthRandom {
 public:
  explicit TruthRandom(std::uint64_t seed) : state_(seed) {}
  std::uint64_t next() {
    state_ = state_ * 6364136223846793005 + 1442695040888963407;
    return state_ >> 33;
  }
  int below(int limit) { return static_cast<int>(next() % static_cast<std::uint64_t>(limit)); }

 private:
  std::uint64_t state_;
};

class TruthDigest {
 public:
  void add(std::uint8_t byte) { value_ = (value_ ^ byte) * 0x100000001B3; }
  void add(std::span<const std::uint8_t> bytes) {
    for (const std::uint8_t byte : bytes) add(byte);
  }
  void add(int number) {
    for (int shift = 0; shift < 32; shift += 8) add(static_cast<std::uint8_t>(number >> shift));
  }
  std::uint64_t value() const { return value_; }

 private:
  std::uint64_t value_ = 0xCBF29CE484222325;
};

inline Picture noise_picture(PictureSize size) {
  TruthRandom random(static_cast<std::uint64_t>(size.width) * 65536 + static_cast<std::uint64_t>(size.height));
  Picture picture = {.size = size, .rgb = std::vector<std::uint8_t>(to_size(size.pixels()) * 3)};
  for (std::uint8_t& value : picture.rgb) value = static_cast<std::uint8_t>(random.next() >> 23);
  return picture;
}

/// The bytes of a file in tests/data/pictures.
inline std::vector<std::byte> picture_file(const std::string& name) {
  std::ifstream file(source_dir() + "/tests/data/pictures/" + name, std::ios::binary);
  const std::string text(std::istreambuf_iterator<char>(file), {});
  const auto bytes = std::as_bytes(std::span(text));
  return {bytes.begin(), bytes.end()};
}

/// The lines of a file in tests/data/pictures, split at tabs.
inline std::vector<std::vector<std::string>> truth_rows(const std::string& name) {
  std::ifstream file(source_dir() + "/tests/data/pictures/" + name);
  std::vector<std::vector<std::string>> rows;
  for (std::string line; std::getline(file, line);) {
    std::istringstream cells(line);
    rows.emplace_back();
    for (std::string cell; std::getline(cells, cell, '\t');) rows.back().push_back(cell);
  }
  return rows;
}

}  // namespace octavo::test
