#include "vision/orientation.h"

#include <gtest/gtest.h>

#include <string_view>

#include "vision/picture_truth.h"

namespace octavo {
namespace {

using std::string_view_literals::operator""sv;

int orientation_of(std::string_view exif) { return exif_orientation(std::as_bytes(std::span(exif))); }

TEST(Orientation, IsFoundInBothOrdersOfBytesWithAndWithoutAName) {
  EXPECT_EQ(orientation_of("II*\0\x08\0\0\0\1\0\x12\1\3\0\1\0\0\0\6\0\0\0"sv), 6);
  EXPECT_EQ(orientation_of("MM\0*\0\0\0\x08\0\1\1\x12\0\3\0\0\0\1\0\x08\0\0"sv), 8);
  EXPECT_EQ(orientation_of("MM\0*\0\0\0\x08\0\1\1\x12\0\4\0\0\0\1\0\0\0\3"sv), 3);
  EXPECT_EQ(orientation_of("Exif\0\0II*\0\x08\0\0\0\1\0\x12\1\3\0\1\0\0\0\5\0\0\0"sv), 5);
}

TEST(Orientation, IsUprightWhereExifMakesNoSense) {
  EXPECT_EQ(orientation_of(""), 1);
  EXPECT_EQ(orientation_of("II"), 1);
  EXPECT_EQ(orientation_of("hello"), 1);
  EXPECT_EQ(orientation_of("II*\0\xFF\xFF\xFF\xFF"sv), 1);                            // the directory is nowhere
  EXPECT_EQ(orientation_of("II*\0\x08\0\0\0\xFF\xFF"sv), 1);                          // 65,535 entries, no bytes
  EXPECT_EQ(orientation_of("II*\0\x08\0\0\0\1\0\x12\1\3\0\1\0\0\0\x09\0\0\0"sv), 1);  // 9
  EXPECT_EQ(orientation_of("II*\0\x08\0\0\0\1\0\x12\1\3\0\1\0\0\0\0\0\0\0"sv), 1);
}

TEST(Orientation, TurnsAPictureLargerThanATile) {
  const Picture stored = test::noise_picture({70, 45});
  const auto pixel = [](const Picture& picture, int x, int y) {
    return std::span(picture.rgb).subspan((to_size(y) * to_size(picture.size.width) + to_size(x)) * 3, 3);
  };
  const auto same = [](auto a, auto b) { return std::ranges::equal(a, b); };
  const Picture right = turned(stored, 6), half = turned(stored, 3);
  EXPECT_EQ(right.size, (PictureSize{45, 70}));
  EXPECT_EQ(turned(stored.size, 6), right.size);
  for (int y = 0; y < 45; ++y) {
    for (int x = 0; x < 70; ++x) {
      ASSERT_TRUE(same(pixel(stored, x, y), pixel(right, 44 - y, x)));
      ASSERT_TRUE(same(pixel(stored, x, y), pixel(half, 69 - x, 44 - y)));
    }
  }
  EXPECT_EQ(turned(turned(stored, 6), 8).rgb, stored.rgb);
  for (const int mirror : {1, 2, 3, 4, 5, 7}) EXPECT_EQ(turned(turned(stored, mirror), mirror).rgb, stored.rgb);
}

}  // namespace
}  // namespace octavo
