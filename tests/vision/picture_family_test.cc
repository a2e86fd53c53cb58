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

/// The usual sizes of a family's encoders.
PictureGeometry geometry_of(const PictureFamily& family) {
  if (family.name == "gemma4v") return {.merge_side = 3};
  if (family.name == "gemma4uv") return {.patch_side = 48, .merge_side = 1};
  if (family.name == "gemma3") return {.patch_side = 14, .merge_side = 4, .tile_side = 896};
  if (family.name == "idefics3") return {.patch_side = 16, .merge_side = 4, .tile_side = 512, .longest_side = 2048};
  if (family.name == "pixtral") return {.patch_side = 14, .merge_side = 2, .longest_side = 1540};
  if (family.name == "minicpmv4_6") return {.patch_side = 14, .merge_side = 4, .tile_side = 448};
  if (family.name.starts_with("qwen2") || family.name == "muse-glimmer") return {.patch_side = 14, .merge_side = 2};
  return {};
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
    const PictureGeometry geometry = geometry_of(*family);
    for (int i = 0; i < 20'000; ++i) {
      const PictureSize size = random_size(random);
      const PictureLayout layout = family->layout(size, geometry, {std::stoi(row[1]), std::stoi(row[2])});
      for (const PictureSize scaled : layout.scaled) {
        digest.add(scaled.width);
        digest.add(scaled.height);
      }
      digest.add(layout.tiles.back().size.width);
      digest.add(layout.tiles.back().size.height);
      if (layout.tiles.size() > 1) digest.add(layout.num_tokens());
    }
    EXPECT_EQ(digest.value(), std::stoull(row[3], nullptr, 16)) << row[0] << " " << row[1] << " to " << row[2];
  }
}

TEST(PictureFamily, CountsATokenForEachSquareOfMergedPatches) {
  for (const PictureFamily& family : picture_families()) {
    const PictureGeometry geometry = geometry_of(family);
    const PictureLayout layout = family.layout({640, 480}, geometry, {64, 16384});
    int sum = 0;
    for (const PictureTile& tile : layout.tiles) {
      EXPECT_EQ(tile.columns * geometry.token_side(), tile.size.width);
      EXPECT_EQ(tile.rows * geometry.token_side(), tile.size.height);
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

TEST(PictureFamily, Gemma3HasOneSize) {
  const PictureFamily& gemma = *find_picture_family("gemma3");
  for (const PictureSize size : {PictureSize{1, 1}, {200, 1}, {4000, 3000}}) {
    const PictureLayout layout = gemma.lay_out(size, geometry_of(gemma), {1, 100});
    EXPECT_EQ(layout.num_tokens(), 256);
    EXPECT_EQ(layout.seen(), (PictureSize{896, 896}));
  }
}

TEST(PictureFamily, Gemma4EnlargesToItsBudget) {
  const PictureFamily& gemma = *find_picture_family("gemma4v");
  const auto tokens = [&](PictureSize size, int max) {
    return gemma.layout(size, {.merge_side = 3}, {1, max}).tiles.front();
  };
  EXPECT_EQ(tokens({48, 48}, 280).num_tokens(), 256) << "16 x 16 is the largest square within 280";
  EXPECT_EQ(tokens({1, 200}, 280).size, (PictureSize{48, 11328}));
  EXPECT_EQ(tokens({1, 200}, 70).num_tokens(), 70) << "a side has a token";
  EXPECT_EQ(tokens({16384, 82}, 280).num_tokens(), 236);
  EXPECT_EQ(tokens({100, 100}, 1).num_tokens(), 1);
  EXPECT_EQ(gemma.usual_tokens({.min = 0, .max = 0}).max, 280);
}

/// The texts between rows, with the tokens of each span.
std::string told(const PictureLayout& layout) {
  std::string text;
  for (const PictureTile& tile : layout.tiles) text += tile.before + "(" + std::to_string(tile.num_tokens()) + ")";
  return text + layout.after;
}

TEST(PictureFamily, SmolVlmCutsAPictureIntoTilesWithAnOverview) {
  const PictureFamily& family = *find_picture_family("idefics3");
  const auto layout = [&](PictureSize size, int max) { return family.lay_out(size, geometry_of(family), {1, max}); };
  const std::string fake = "<fake_token_around_image>";
  EXPECT_EQ(told(layout({100, 100}, 64)), fake + "<global-img>(64)" + fake);
  EXPECT_EQ(told(layout({100, 50}, 300)),
            fake + "<row_1_col_1>(64)" + fake + "<row_1_col_2>(64)\n\n" + fake + "<global-img>(64)" + fake);
  EXPECT_EQ(told(layout({50, 60}, 500)), fake + "<row_1_col_1>(64)" + fake + "<row_1_col_2>(64)\n" + fake +
                                             "<row_2_col_1>(64)" + fake + "<row_2_col_2>(64)\n\n" + fake +
                                             "<global-img>(64)" + fake);
  const PictureLayout largest = layout({3000, 2000}, 4096);
  EXPECT_EQ(largest.tiles.size(), 13U);
  EXPECT_EQ(largest.num_tokens(), 13 * 64);
  EXPECT_EQ(largest.scaled, (std::vector<PictureSize>{{2048, 1366}, {2048, 1536}}));
  EXPECT_EQ(largest.tiles[5].left, 512);
  EXPECT_EQ(largest.tiles[5].top, 512);
  EXPECT_EQ(largest.tiles.back().scaled_to, (PictureSize{512, 512}));
  EXPECT_EQ(layout({1, 200}, 4096).scaled.back(), (PictureSize{512, 2048}));
}

TEST(PictureFamily, ATileBehindWhoseLastPatchPixelsAreLeftSeesTheOthers) {
  const PictureFamily& family = *find_picture_family("idefics3");
  const PictureGeometry geometry = {.patch_side = 14, .merge_side = 3, .tile_side = 384, .longest_side = 768};
  const PictureLayout layout = family.lay_out({768, 768}, geometry, {1, 4096});
  EXPECT_EQ(layout.tiles[1].size, (PictureSize{378, 378}));
  EXPECT_EQ(layout.tiles[1].left, 384);
  EXPECT_EQ(layout.tiles[1].num_tokens(), 81);
}

TEST(PictureFamily, LfmCutsLargePicturesAlone) {
  const PictureFamily& family = *find_picture_family("lfm2");
  const auto layout = [&](PictureSize size, int max) { return family.lay_out(size, {}, {64, max}); };
  EXPECT_EQ(told(layout({256, 256}, 2816)), "<|image_start|>(64)<|image_end|>");
  EXPECT_EQ(told(layout({1024, 512}, 2816)), "<|image_start|>(242)<|image_end|>") << "twice as large is not too large";
  EXPECT_EQ(told(layout({1024, 544}, 2816)),
            "<|image_start|><|img_row_1_col_1|>(256)<|img_row_1_col_2|>(256)<|img_thumbnail|>(231)<|image_end|>");
  EXPECT_EQ(layout({4000, 3000}, 2816).scaled.front(), (PictureSize{1024 + 512, 1024}));
  EXPECT_EQ(told(layout({4000, 3000}, 256)), "<|image_start|>(234)<|image_end|>");
  EXPECT_EQ(layout({4000, 3000}, 1100).scaled.front(), (PictureSize{1024, 512})) << "no more tokens than are wanted";
  EXPECT_EQ(layout({10, 2000}, 2816).num_tokens(), 114);
}

TEST(PictureFamily, PixtralsRowsHaveEnds) {
  const PictureFamily& family = *find_picture_family("pixtral");
  const auto layout = [&](PictureSize size, int max) { return family.lay_out(size, geometry_of(family), {1, max}); };
  const PictureLayout small = layout({57, 28}, 4096);
  EXPECT_EQ(small.tiles.front().size, (PictureSize{84, 28}));
  EXPECT_EQ(small.row_end, "[IMG_BREAK]");
  EXPECT_EQ(small.after, "[IMG_END]");
  EXPECT_EQ(layout({3080, 1000}, 4096).tiles.front().size, (PictureSize{1540, 504}));
  EXPECT_EQ(layout({3080, 1000}, 100).num_tokens(), 96) << "17 x 6 would be more";
  EXPECT_EQ(layout({1, 200}, 4096).num_tokens(), 8);
  EXPECT_EQ(layout({16000, 80}, 4096).num_tokens(), 55);
}

TEST(PictureFamily, MiniCpmSlicesALargePictureBehindItsOverview) {
  const PictureFamily& family = *find_picture_family("minicpmv4_6");
  const auto layout = [&](PictureSize size, int max) { return family.lay_out(size, geometry_of(family), {1, max}); };
  EXPECT_EQ(told(layout({100, 100}, 4096)), "<image>(64)</image>") << "a small picture is enlarged";
  EXPECT_EQ(told(layout({800, 600}, 4096)),
            "<image>(63)</image><slice>(63)</slice><slice>(63)</slice>\n"
            "<slice>(63)</slice><slice>(63)</slice>");
  EXPECT_EQ(layout({800, 600}, 210).num_tokens(), 63 + 2 * 70) << "fewer slices";
  EXPECT_EQ(layout({800, 600}, 50).tiles.size(), 1U);
  EXPECT_LE(layout({800, 600}, 50).num_tokens(), 50) << "a smaller area";
  EXPECT_EQ(layout({16384, 8192}, 4096).tiles.size(), 9U);
  EXPECT_EQ(layout({100, 20000}, 1).num_tokens(), 14) << "a very long one misses it";
}

TEST(PictureFamily, MuseGlimmerKeepsTheAspect) {
  const PictureFamily& family = *find_picture_family("muse-glimmer");
  const auto tile = [&](PictureSize size, int max) {
    return family.lay_out(size, geometry_of(family), {1, max}).tiles.front();
  };
  EXPECT_EQ(tile({56, 84}, 4096).size, (PictureSize{56, 84}));
  EXPECT_EQ(tile({56, 84}, 4096).before, "<|image_start|>");
  EXPECT_EQ(tile({1, 1}, 4096).num_tokens(), 1);
  EXPECT_EQ(tile({6000, 6000}, 4096).num_tokens(), 64 * 64);
  EXPECT_LE(tile({6000, 100}, 100).num_tokens(), 100);
}

TEST(PictureFamily, MakesThePixelsOfTiles) {
  const Picture picture = test::noise_picture({128, 64});
  const PictureFamily& family = *find_picture_family("idefics3");
  const PictureLayout layout =
      family.lay_out({128, 64}, {.patch_side = 16, .merge_side = 2, .tile_side = 64, .longest_side = 128}, {1, 4096});
  const std::vector<Picture> tiles = make_tiles(picture, layout, family.filter);
  ASSERT_EQ(tiles.size(), 3U);
  EXPECT_EQ(tiles[1].rgb, cut(picture, {64, 0}, {64, 64}).rgb);
  EXPECT_EQ(tiles[2].rgb, resize(picture, {64, 64}, ResizeFilter::kLanczos).rgb);
  EXPECT_EQ(tiles[1].rgb[3 * 65], picture.rgb[3 * (128 + 65)]);
}

TEST(PictureFamily, WritesTheTextsAroundARow) {
  for (const char* name : {"gemma4v", "gemma4uv"}) {
    const PictureLayout layout = find_picture_family(name)->lay_out({48, 48}, {.merge_side = 3}, {1, 280});
    EXPECT_EQ(layout.tiles.front().before, "<|image>");
    EXPECT_EQ(layout.after, "<image|>");
  }
  EXPECT_EQ(find_picture_family("qwen3vl_merger")->lay_out({64, 64}, {}, {1, 280}).after, "") << "the template does";
}

TEST(PictureFamily, IsNotFoundByAnUnknownName) { EXPECT_EQ(find_picture_family("qwen3vl"), nullptr); }

}  // namespace
}  // namespace octavo
