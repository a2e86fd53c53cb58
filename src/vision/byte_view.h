// Numbers in the bytes of a file, and parts of it. Nothing beyond its end is read: it is zeros.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace octavo {

class ByteView {
 public:
  ByteView(std::span<const std::byte> bytes) : bytes_(bytes) {}  // NOLINT(google-explicit-constructor)

  std::size_t size() const { return bytes_.size(); }
  const std::uint8_t* data() const { return reinterpret_cast<const std::uint8_t*>(bytes_.data()); }
  std::uint8_t at(std::size_t place) const {
    return place < bytes_.size() ? std::to_integer<std::uint8_t>(bytes_[place]) : 0;
  }

  std::uint32_t big(std::size_t place, int num_bytes) const {
    std::uint32_t number = 0;
    for (int i = 0; i < num_bytes; ++i) number = number << 8 | at(place + static_cast<unsigned>(i));
    return number;
  }
  std::uint32_t little(std::size_t place, int num_bytes) const {
    std::uint32_t number = 0;
    for (int i = num_bytes; i-- > 0;) number = number << 8 | at(place + static_cast<unsigned>(i));
    return number;
  }

  bool has(std::size_t place, std::string_view text) const {
    if (place > bytes_.size() || text.size() > bytes_.size() - place) return false;
    return std::ranges::equal(text, bytes_.subspan(place, text.size()), {}, [](char c) { return std::byte(c); });
  }
  /// The part that begins at `place`, of at most `num_bytes`; shorter where the file ends.
  ByteView part(std::size_t place, std::size_t num_bytes = SIZE_MAX) const {
    place = std::min(place, bytes_.size());
    return bytes_.subspan(place, std::min(num_bytes, bytes_.size() - place));
  }

 private:
  std::span<const std::byte> bytes_;
};

}  // namespace octavo
