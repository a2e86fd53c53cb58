// Writes MessagePack at the end of a string: the few forms that events have.
// https://github.com/msgpack/msgpack/blob/master/spec.md
//
// Each value takes the shortest form, as msgspec writes it. The string outlives the writer. One thread at a time.
#pragma once

#include <bit>
#include <cstdint>
#include <string>
#include <string_view>

namespace octavo {

class MsgpackWriter {
 public:
  explicit MsgpackWriter(std::string& out) : out_(out) {}

  void nil() { byte(0xC0); }
  void real(double value) {
    byte(0xCB);
    number<8>(std::bit_cast<std::uint64_t>(value));
  }
  void unsigned_integer(std::uint64_t value) {
    if (value < 0x80) {
      byte(static_cast<std::uint8_t>(value));
    } else if (value <= 0xFF) {
      byte(0xCC);
      number<1>(value);
    } else if (value <= 0xFFFF) {
      byte(0xCD);
      number<2>(value);
    } else if (value <= 0xFFFF'FFFF) {
      byte(0xCE);
      number<4>(value);
    } else {
      byte(0xCF);
      number<8>(value);
    }
  }
  void text(std::string_view value) {
    if (value.size() < 32) {
      byte(static_cast<std::uint8_t>(0xA0 | value.size()));
    } else if (value.size() <= 0xFF) {
      byte(0xD9);
      number<1>(value.size());
    } else {
      byte(0xDB);
      number<4>(value.size());
    }
    out_ += value;
  }
  /// The values of the array follow.
  void array(std::size_t size) { begin(size, 0x90, 0xDC, 0xDD); }
  /// The keys of the map follow, each with its value behind it.
  void map(std::size_t size) { begin(size, 0x80, 0xDE, 0xDF); }

 private:
  void byte(std::uint8_t value) { out_ += static_cast<char>(value); }
  template <int kBytes>
  void number(std::uint64_t value) {
    for (int i = kBytes - 1; i >= 0; --i) byte(static_cast<std::uint8_t>(value >> (8 * i)));
  }
  void begin(std::size_t size, std::uint8_t fixed, std::uint8_t of_16_bits, std::uint8_t of_32_bits) {
    if (size < 16) {
      byte(static_cast<std::uint8_t>(fixed | size));
    } else if (size <= 0xFFFF) {
      byte(of_16_bits);
      number<2>(size);
    } else {
      byte(of_32_bits);
      number<4>(size);
    }
  }

  std::string& out_;
};

}  // namespace octavo
