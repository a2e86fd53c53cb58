#include "vision/webp_tables.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "base/to_size.h"

// Names and numbers are those of the format's description, RFC 9649.
namespace octavo {
namespace {

constexpr int kLiterals = 256, kLengths = 24, kDistances = 40, kMaxCodeBits = 15;

class BitReader {
 public:
  explicit BitReader(ByteView bytes) : bytes_(bytes) {}

  /// The next `count` bits, at most 24, the first of them the lowest.
  std::uint32_t bits(int count) {
    const std::uint32_t word = bytes_.little(place_ / 8, 4) >> (place_ % 8);
    place_ += to_size(count);
    return word & ((1U << count) - 1);
  }
  bool bit() { return bits(1) != 0; }
  bool is_past_end() const { return place_ > bytes_.size() * 8; }

 private:
  ByteView bytes_;
  std::size_t place_ = 0;
};

/// A canonical prefix code: shorter codes come first, codes of one length in the order of their symbols.
class PrefixCode {
 public:
  /// Makes the code from the lengths. False: they make no code.
  bool assign(std::span<const std::uint8_t> lengths) {
    counts_ = {};
    symbols_.clear();
    for (int length = 1; length <= kMaxCodeBits; ++length) {
      for (std::size_t symbol = 0; symbol < lengths.size(); ++symbol)
        if (lengths[symbol] == length) symbols_.push_back(static_cast<std::uint16_t>(symbol));
      counts_[to_size(length)] = static_cast<int>(symbols_.size());
    }
    // So far each count includes all shorter codes.
    for (std::size_t length = kMaxCodeBits; length > 0; --length) counts_[length] -= counts_[length - 1];
    if (symbols_.size() <= 1) return !symbols_.empty();
    int free = 1;
    for (int length = 1; length <= kMaxCodeBits && free >= 0; ++length) free = 2 * free - counts_[to_size(length)];
    return free == 0;
  }

  int read(BitReader& reader) const {
    if (symbols_.size() == 1) return symbols_.front();
    int code = 0, first = 0, before = 0;
    for (int length = 1; length <= kMaxCodeBits; ++length) {
      code = 2 * code + static_cast<int>(reader.bits(1));
      const int count = counts_[to_size(length)];
      if (code - first < count) return symbols_[to_size(before + code - first)];
      first = 2 * (first + count);
      before += count;
    }
    return 0;
  }

 private:
  std::array<int, kMaxCodeBits + 1> counts_ = {};
  std::vector<std::uint16_t> symbols_;
};

/// Reads the lengths of a code's symbols, which are themselves coded. False: they are damaged.
bool read_lengths(BitReader& reader, std::span<std::uint8_t> lengths) {
  constexpr int kOrder[] = {17, 18, 0, 1, 2, 3, 4, 5, 16, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
  constexpr struct {
    int least, bits;
  } kRepeats[] = {{3, 2}, {3, 3}, {11, 7}};
  std::array<std::uint8_t, std::size(kOrder)> own = {};
  const std::size_t num_own = reader.bits(4) + 4;
  if (num_own > own.size()) return false;
  for (std::size_t i = 0; i < num_own; ++i) own[to_size(kOrder[i])] = static_cast<std::uint8_t>(reader.bits(3));
  PrefixCode code;
  if (!code.assign(own)) return false;
  std::size_t most = lengths.size();
  if (reader.bit()) most = 2 + reader.bits(2 + 2 * static_cast<int>(reader.bits(3)));
  if (most > lengths.size()) return false;
  std::uint8_t previous = 8;
  for (std::size_t symbol = 0; symbol < lengths.size() && most-- > 0;) {
    const int length = code.read(reader);
    if (length < 16) {
      lengths[symbol++] = static_cast<std::uint8_t>(length);
      if (length != 0) previous = static_cast<std::uint8_t>(length);
      continue;
    }
    const auto [least, bits] = kRepeats[length - 16];
    const std::size_t count = to_size(least) + reader.bits(bits);
    if (count > lengths.size() - symbol) return false;
    std::ranges::fill(lengths.subspan(symbol, count), length == 16 ? previous : 0);
    symbol += count;
  }
  return true;
}

bool read_code(BitReader& reader, int num_symbols, PrefixCode& code) {
  std::vector<std::uint8_t> lengths(to_size(std::max(num_symbols, kLiterals)));
  const auto counted = std::span(lengths).first(to_size(num_symbols));
  if (reader.bit()) {
    const bool has_two = reader.bit();
    lengths[reader.bits(reader.bit() ? 8 : 1)] = 1;
    if (has_two) lengths[reader.bits(8)] = 1;
  } else if (!read_lengths(reader, counted)) {
    return false;
  }
  return code.assign(counted) && !reader.is_past_end();
}

/// Reads a length or a distance, whose prefix is given.
std::size_t read_number(BitReader& reader, int prefix) {
  if (prefix < 4) return to_size(prefix) + 1;
  const int extra = (prefix - 2) / 2;
  return to_size((2 + prefix % 2) << extra) + reader.bits(extra) + 1;
}

struct Offset {
  int x, y;
};

/// The places before a pixel by nearness: the smallest distances name these.
constexpr auto kNearest = [] {
  std::array<Offset, 120> offsets = {};
  std::size_t count = 0;
  for (int y = 0; y < 8; ++y)
    for (int x = -7; x <= 8; ++x)
      if (y > 0 || x > 0) offsets[count++] = {x, y};
  std::ranges::sort(offsets, [](const Offset& a, const Offset& b) {
    const int far_a = a.x * a.x + a.y * a.y, far_b = b.x * b.x + b.y * b.y;
    if (far_a != far_b) return far_a < far_b;
    return a.x * a.x != b.x * b.x ? a.x * a.x < b.x * b.x : a.x > b.x;
  });
  return offsets;
}();

std::size_t distance_of(std::size_t number, int width) {
  if (number > kNearest.size()) return number - kNearest.size();
  const auto [x, y] = kNearest[number - 1];
  return to_size(std::max(y * width + x, 1));
}

/// Reads the bits of the colour cache's size. None: no picture has so large a cache.
std::optional<int> read_cache_bits(BitReader& reader) {
  if (!reader.bit()) return 0;
  const int bits = static_cast<int>(reader.bits(4));
  if (bits < 1 || bits > 11) return std::nullopt;
  return bits;
}

/// Reads a picture inside the picture, which has a single group of codes.
class InnerPicture {
 public:
  explicit InnerPicture(PictureSize size) : size_(size), pixels_(to_size(size.pixels())) {}

  bool read(BitReader& reader) {
    const auto cache_bits = read_cache_bits(reader);
    if (!cache_bits) return false;
    cache_shift_ = 32 - *cache_bits;
    cache_.assign(*cache_bits == 0 ? 0 : std::size_t{1} << *cache_bits, 0);
    const int num_symbols[] = {kLiterals + kLengths + static_cast<int>(cache_.size()), kLiterals, kLiterals, kLiterals,
                               kDistances};
    for (std::size_t i = 0; i < codes_.size(); ++i)
      if (!read_code(reader, num_symbols[i], codes_[i])) return false;
    while (count_ < pixels_.size())
      if (!read_some(reader) || reader.is_past_end()) return false;
    return true;
  }
  std::span<const std::uint32_t> pixels() const { return pixels_; }

 private:
  bool read_some(BitReader& reader) {
    const int symbol = codes_[0].read(reader);
    if (symbol < kLiterals) {
      const auto green = static_cast<std::uint32_t>(symbol), red = static_cast<std::uint32_t>(codes_[1].read(reader)),
                 blue = static_cast<std::uint32_t>(codes_[2].read(reader)),
                 alpha = static_cast<std::uint32_t>(codes_[3].read(reader));
      add(alpha << 24 | red << 16 | green << 8 | blue);
      return true;
    }
    if (symbol >= kLiterals + kLengths) {
      add(cache_[to_size(symbol - kLiterals - kLengths)]);
      return true;
    }
    const std::size_t length = read_number(reader, symbol - kLiterals);
    const std::size_t distance = distance_of(read_number(reader, codes_[4].read(reader)), size_.width);
    if (distance > count_ || length > pixels_.size() - count_) return false;
    for (std::size_t i = 0; i < length; ++i) add(pixels_[count_ - distance]);
    return true;
  }
  void add(std::uint32_t pixel) {
    if (!cache_.empty()) cache_[(pixel * 0x1E35A7BD) >> cache_shift_] = pixel;
    pixels_[count_++] = pixel;
  }

  PictureSize size_;
  std::vector<std::uint32_t> pixels_;
  std::size_t count_ = 0;  // the number of pixels that are known
  std::vector<std::uint32_t> cache_;
  int cache_shift_ = 0;
  std::array<PrefixCode, 5> codes_;  // the codes of green and lengths, red, blue, alpha, distances
};

PictureSize squares(PictureSize size, int bits) {
  const auto divided = [&](int side) { return (side + (1 << bits) - 1) >> bits; };
  return {divided(size.width), divided(size.height)};
}

bool skip_picture(BitReader& reader, PictureSize size) { return InnerPicture(size).read(reader); }

/// Skips the transforms; makes the width smaller where several pixels share one value.
bool skip_transforms(BitReader& reader, PictureSize& size) {
  enum : std::uint32_t { kPredictor, kColor, kSubtractGreen, kPalette };
  std::array<bool, 4> seen = {};
  while (reader.bit()) {
    const std::uint32_t type = reader.bits(2);
    if (seen[type] || reader.is_past_end()) return false;
    seen[type] = true;
    if (type == kPredictor || type == kColor) {
      const int bits = static_cast<int>(reader.bits(3)) + 2;
      if (!skip_picture(reader, squares(size, bits))) return false;
    } else if (type == kPalette) {
      const int num_colors = static_cast<int>(reader.bits(8)) + 1;
      if (!skip_picture(reader, {num_colors, 1})) return false;
      const int shared_bits = num_colors <= 2 ? 3 : num_colors <= 4 ? 2 : num_colors <= 16 ? 1 : 0;
      size.width = squares(size, shared_bits).width;
    }
  }
  return true;
}

std::size_t table_bytes(std::size_t num_groups, int cache_bits) {
  const std::size_t entries = 3 * 630 + 410 + 656 + (std::size_t{1} << cache_bits);  // entries of 4 bytes
  constexpr std::size_t kGroup = 640;
  return num_groups * (entries * 4 + kGroup);
}

std::optional<std::size_t> table_bytes(BitReader& reader, PictureSize size) {
  if (!skip_transforms(reader, size)) return std::nullopt;
  const auto cache_bits = read_cache_bits(reader);
  if (!cache_bits) return std::nullopt;
  if (!reader.bit()) return table_bytes(1, *cache_bits);
  InnerPicture groups(squares(size, static_cast<int>(reader.bits(3)) + 2));
  if (!groups.read(reader)) return std::nullopt;
  const auto group_of = [](std::uint32_t pixel) { return pixel >> 8 & 0xFFFF; };
  std::uint32_t most = 0;
  for (const std::uint32_t pixel : groups.pixels()) most = std::max(most, group_of(pixel));
  return table_bytes(to_size(most) + 1, *cache_bits);
}

}  // namespace

std::optional<std::size_t> lossless_table_bytes(ByteView chunk) {
  constexpr std::uint32_t kSignature = 0x2F;
  BitReader reader(chunk);
  if (reader.bits(8) != kSignature) return std::nullopt;
  const int width = static_cast<int>(reader.bits(14)) + 1, height = static_cast<int>(reader.bits(14)) + 1;
  reader.bits(1 + 3);  // the bits of transparency and version
  return table_bytes(reader, {width, height});
}

std::optional<std::size_t> alpha_table_bytes(ByteView chunk, PictureSize size) {
  constexpr int kLossless = 1;
  if ((chunk.at(0) & 3) != kLossless) return 0;
  BitReader reader(chunk.part(1));
  return table_bytes(reader, size);
}

}  // namespace octavo
