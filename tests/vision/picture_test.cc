#include "vision/picture.h"

#include <gtest/gtest.h>

#include <iterator>

#include "vision/picture_truth.h"

namespace octavo {
namespace {

TEST(Picture, HasThePixelsOfItsFileInEveryFormat) {
  const auto rows = test::truth_rows("pictures.tsv");
  ASSERT_GE(rows.size(), 80U);
  for (const auto& row : rows) {
    const auto file = test::picture_file(row[0]);
    const auto picture = decode_picture(file);
    ASSERT_TRUE(picture) << row[0] << ": " << picture.error().message;
    EXPECT_EQ(picture->size, (PictureSize{std::stoi(row[1]), std::stoi(row[2])})) << row[0];
    test::TruthDigest digest;
    digest.add(picture->rgb);
    EXPECT_EQ(digest.value(), std::stoull(row[3], nullptr, 16)) << row[0];
  }
}

}  // namespace
}  // namespace octavo
