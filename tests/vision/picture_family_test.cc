#include "vision/picture_family.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <utility>

#include "vision/picture_truth.h"

namespace octavo {
namespace {

/// Sides of any order of magnitude, a third of them halves of a token's side, at most 200 to 1.
PictureSize random_size(test::TruthRandom& random) {
  while (true) {
    int sides[2] = {};
    for (int& side : sides) {
      side = 1 + random.below(1 << (3 + random.below(12)));
      if (random.below(3) == 0) side = std::max(side / 16, 1) * 16;
    }
    if (std::max(sides[0], sides[1]) <= 200 * std::min(sides[0], sides[1])) return {sides[0], sides[1]};
  }
}

PictureTile qwen_tile(PictureSize size, TokenRange tokens) {
  return find_picture_family("qwen3vl_merger")->layout(size, {}, tokens).tiles.front();
}

TEST(PictureFamily, ChoosesTheSizesOfTheMakersProcessor) {
  const auto rows = test::truth_rows("sizes.tsv");
  ASSERT_GE(rows.size(), 4U);
  for (const auto& row : rows) {
    const PictureFamily* family = find_picture_family(row[0]);
    ASSERT_NE(family, nullptr) << row[0];
    test::TruthRandom random(1);
    test::TruthDigest digest;
    for (int i = 0; i < 20'000; ++i) {
      const PictureSize size = random_size(random);
      const PictureLayout layout = family->layout(size, {}, {std::stoi(row[1]), std::stoi(row[2])});
      digest.add(layout.tiles.front().size.width);
      digest.add(layout.tiles.front().size.height);
    }
    EXPECT_EQ(digest.value(), std::stoull(row[3], nullptr, 16)) << row[0] << " " << row[1] << " to " << row[2];
  }
}

TEST(PictureFamily, CountsATokenForEachSquareOfMergedPatches) {
  for (const PictureFamily& family : picture_families()) {
    const PictureLayout layout = family.layout({640, 480}, {}, {64, 16384});
    int sum = 0;
    for (const PictureTile& tile : layout.tiles) {
      EXPECT_EQ(tile.columns * PictureGeometry{}.token_side(), tile.size.width);
      EXPECT_EQ(tile.rows * PictureGeometry{}.token_side(), tile.size.height);
      sum += tile.num_tokens();
    }
    EXPECT_EQ(layout.num_tokens(), sum);
  }
  EXPECT_EQ(qwen_tile({640, 480}, {64, 16384}).num_tokens(), 300);
  EXPECT_EQ(qwen_tile({1024, 768}, {64, 16384}).num_tokens(), 768);
  EXPECT_EQ(qwen_tile({1920, 1080}, {64, 16384}).num_tokens(), 2040);
}

TEST(PictureFamily, RoundsHalvesOfATokenToEven) {
  EXPECT_EQ(qwen_tile({336, 336}, {1, 16384}).size, (PictureSize{320, 320}));  // 10.5 tokens a side
  EXPECT_EQ(qwen_tile({368, 368}, {1, 16384}).size, (PictureSize{384, 384}));  // 11.5
}

TEST(PictureFamily, HasATokenForThePictureOfOnePixel) {
  EXPECT_EQ(qwen_tile({1, 1}, {0, 16}).num_tokens(), 1);
  EXPECT_EQ(qwen_tile({1, 1}, {64, 16384}).num_tokens(), 64);
}

TEST(PictureFamily, TakesTheEndOfARangeWhoseBeginIsBeyondIt) {
  EXPECT_EQ(qwen_tile({32, 32}, {64, 16}).num_tokens(), 16);
  EXPECT_EQ(qwen_tile({3200, 3200}, {64, 16}).num_tokens(), 16);
}

TEST(PictureFamily, KnowsTheTokensOfAnotherGeometry) {
  const PictureGeometry geometry = {.patch_side = 14, .merge_side = 2};
  const PictureLayout layout = find_picture_family("qwen3vl_merger")->layout({280, 560}, geometry, {1, 4096});
  EXPECT_EQ(layout.num_tokens(), 200);
  EXPECT_EQ(layout.tiles.front().size, (PictureSize{280, 560}));
}

TEST(PictureFamily, BoundsOfAFileGoBeforeItsOwn) {
  const PictureFamily& qwen = *find_picture_family("qwen3vl_merger");
  const auto usual = [&](int min, int max) {
    const TokenRange range = qwen.usual_tokens({.min = min, .max = max});
    return std::pair(range.min, range.max);
  };
  EXPECT_EQ(usual(0, 0), std::pair(64, 1280));
  EXPECT_EQ(usual(4, 16384), std::pair(4, 1280)) << "the most that are made without being told";
  EXPECT_EQ(usual(0, 32), std::pair(32, 32));
  EXPECT_EQ(usual(100, 50), std::pair(50, 50));
}

TEST(PictureFamily, IsNotFoundByAnUnknownName) { EXPECT_EQ(find_picture_family("qwen3vl"), nullptr); }

}  // namespace
}  // namespace octavo
