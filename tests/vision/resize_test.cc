#include "vision/resize.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "vision/picture_truth.h"

namespace octavo {
namespace {

TEST(Resize, HasTheBitsOfPillowsConvolution) {
  const std::map<std::string, ResizeFilter> filters = {
      {"bilinear", ResizeFilter::kBilinear}, {"bicubic", ResizeFilter::kBicubic}, {"lanczos", ResizeFilter::kLanczos}};
  const auto rows = test::truth_rows("resized.tsv");
  ASSERT_GE(rows.size(), 30U);
  for (const auto& row : rows) {
    const Picture picture = test::noise_picture({std::stoi(row[1]), std::stoi(row[2])});
    const PictureSize size = {std::stoi(row[3]), std::stoi(row[4])};
    const Picture resized = resize(picture, size, filters.at(row[0]));
    EXPECT_EQ(resized.size, size);
    test::TruthDigest digest;
    digest.add(resized.rgb);
    EXPECT_EQ(digest.value(), std::stoull(row[5], nullptr, 16))
        << row[0] << " " << row[1] << " x " << row[2] << " to " << row[3] << " x " << row[4];
  }
}

TEST(Resize, LeavesAPictureOfTheSizeAsItIs) {
  const Picture picture = test::noise_picture({13, 9});
  EXPECT_EQ(resize(picture, {13, 9}, ResizeFilter::kLanczos).rgb, picture.rgb);
}

TEST(Resize, KeepsOneColourInEveryFilter) {
  Picture picture = {.size = {50, 31}, .rgb = std::vector<std::uint8_t>(std::size_t{50} * 31 * 3, 201)};
  for (const ResizeFilter filter : {ResizeFilter::kBilinear, ResizeFilter::kBicubic, ResizeFilter::kLanczos}) {
    for (const PictureSize size : {PictureSize{3, 100}, PictureSize{97, 1}}) {
      const Picture resized = resize(picture, size, filter);
      EXPECT_TRUE(std::ranges::all_of(resized.rgb, [](int value) { return value == 201; }));
    }
  }
}

}  // namespace
}  // namespace octavo
