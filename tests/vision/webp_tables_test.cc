#include "vision/webp_tables.h"

#include <gtest/gtest.h>

#include "vision/picture_truth.h"

namespace octavo {
namespace {

/// Writes what a chunk of lossless pixels is made of.
class BitWriter {
 public:
  void put(std::uint32_t value, int count) {
    for (int i = 0; i < count; ++i, ++place_) {
      if (place_ % 8 == 0) bytes_.push_back(std::byte(0));
      bytes_.back() |= std::byte((value >> i & 1) << (place_ % 8));
    }
  }
  /// A code of 8 bits, whose first bit is its highest.
  void put_symbol(std::uint32_t symbol) {
    for (int i = 8; i-- > 0;) put(symbol >> i, 1);
  }
  /// A prefix code with one symbol, 0.
  void put_trivial_code() { put(1, 4); }
  /// One with 256 symbols of 8 bits.
  void put_even_code() {
    put(0, 1);                                             // not a simple one
    put(12 - 4, 4);                                        // lengths of the lengths, up to that of 8
    for (int i = 0; i < 12; ++i) put(i == 11 ? 1 : 0, 3);  // 8 is the only one
    put(1, 1);
    put(3, 3);
    put(256 - 2, 8);  // the first 256 symbols have one
  }
  const std::vector<std::byte>& bytes() const { return bytes_; }

 private:
  std::vector<std::byte> bytes_;
  std::size_t place_ = 0;
};

/// The picture inside that says the group of codes of each square of 4 pixels: all of them, one after another.
void put_groups(BitWriter& writer, int num_squares) {
  writer.put(0, 1);  // no transform
  writer.put(0, 1);  // no cache of colours
  writer.put(1, 1);  // groups
  writer.put(0, 3);  // for squares of 4 pixels
  writer.put(0, 1);
  writer.put_even_code();
  writer.put_even_code();
  for (int i = 0; i < 3; ++i) writer.put_trivial_code();
  for (std::uint32_t i = 0; i < static_cast<std::uint32_t>(num_squares); ++i) {
    writer.put_symbol(i & 255);
    writer.put_symbol(i >> 8 & 255);
  }
}

std::vector<std::byte> chunk_of_groups(int side) {
  BitWriter writer;
  writer.put(0x2F, 8);
  writer.put(static_cast<std::uint32_t>(side - 1), 14);
  writer.put(static_cast<std::uint32_t>(side - 1), 14);
  writer.put(0, 4);
  put_groups(writer, side * side / 16);
  for (int i = 0; i < 5 * std::min(side * side / 16, 65536); ++i) writer.put_trivial_code();
  return writer.bytes();
}

std::vector<std::byte> webp_of(const std::vector<std::byte>& chunk) {
  std::vector<std::byte> file = test::picture_file("lossless.webp");
  file.resize(20);
  file.insert(file.end(), chunk.begin(), chunk.end());
  if (file.size() % 2 != 0) file.push_back(std::byte(0));
  for (int i = 0; i < 4; ++i) {
    file[4 + to_size(i)] = std::byte((file.size() - 8) >> (8 * i) & 255);
    file[16 + to_size(i)] = std::byte(chunk.size() >> (8 * i) & 255);
  }
  return file;
}

constexpr std::size_t kGroup = 4 * (3 * 630 + 410 + 656 + 1) + 640;

std::optional<std::size_t> lossless_bytes(const std::vector<std::byte>& chunk) {
  return lossless_table_bytes(std::span(chunk));
}
std::optional<std::size_t> alpha_bytes(const std::vector<std::byte>& chunk, PictureSize size) {
  return alpha_table_bytes(std::span(chunk), size);
}

TEST(WebpTables, AreCountedBeforeTheyAreMade) {
  EXPECT_EQ(lossless_bytes(chunk_of_groups(4)), kGroup);
  EXPECT_EQ(lossless_bytes(chunk_of_groups(64)), 256 * kGroup);
  EXPECT_EQ(lossless_bytes(chunk_of_groups(1024)), 65536 * kGroup);
  BitWriter alpha;
  alpha.put(1, 8);  // coded as lossless pixels
  put_groups(alpha, 64);
  EXPECT_EQ(alpha_bytes(alpha.bytes(), {32, 32}), 64 * kGroup);
  EXPECT_EQ(alpha_bytes({std::byte(0)}, {32, 32}), 0);
}

TEST(WebpTables, OfAFewBytesMakeNoBomb) {
  const auto file = webp_of(chunk_of_groups(1024));
  EXPECT_LT(file.size(), 300'000U);
  const auto picture = decode_picture(file);
  ASSERT_FALSE(picture);
  EXPECT_EQ(picture.error().kind, ErrorKind::kPictureTooLarge) << picture.error().message;
  const auto small = decode_picture(webp_of(chunk_of_groups(64)));
  ASSERT_TRUE(small) << small.error().message;
  EXPECT_EQ(small->size, (PictureSize{64, 64}));
}

TEST(WebpTables, AreThoseOfTheGroupsThatAnEncoderMade) {
  const auto file = test::picture_file("groups.webp");
  const auto header = read_picture_header(file);
  ASSERT_TRUE(header) << header.error().message;
  const std::size_t tables = header->decode_bytes - to_size(header->size.pixels()) * 7;
  EXPECT_GT(tables, 3 * kGroup);
  EXPECT_LT(tables, 40 * kGroup);
}

TEST(WebpTables, OfDamagedCodesAreNone) {
  auto chunk = chunk_of_groups(64);
  chunk.resize(300);
  EXPECT_FALSE(lossless_bytes(chunk));
  EXPECT_FALSE(lossless_bytes({}));
  EXPECT_FALSE(lossless_bytes(std::vector<std::byte>(400, std::byte(0xFF))));
}

}  // namespace
}  // namespace octavo
