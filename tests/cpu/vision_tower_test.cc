// Vision encoders against what the original implementations make of the same pictures, and against themselves.
#include "cpu/vision_tower.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/to_size.h"
#include "emulated_isa/level_kernels.h"
#include "source/gguf/gguf_file.h"
#include "source/open_model.h"
#include "support/source_dir.h"
#include "support/tiny_tower.h"

namespace octavo::test {
namespace {

using Floats = std::vector<float>;

constexpr std::uint64_t kAllAtOnce = std::numeric_limits<std::uint64_t>::max();

/// An encoder on a number of threads.
struct LoadedTower {
  std::string bytes;
  GgufFile file;
  ThreadPool pool;
  std::unique_ptr<VisionTower> tower;

  explicit LoadedTower(const TinyTower& made, int threads = 2,
                       const KernelTable& kernels = kernel_table(supported_isa_levels().back()), Math math = Math())
      : bytes(made.bytes()), file(GgufFile::parse(std::as_bytes(std::span(bytes)), "tower").value()), pool(threads) {
    auto loaded = VisionTower::load({.source = file, .kernels = kernels, .math = math, .pool = pool});
    if (!loaded) throw std::runtime_error(loaded.error().message);
    tower = std::move(*loaded);
  }

  Floats encode(const Picture& picture, std::uint64_t most_work = kAllAtOnce) {
    Floats out(tower->num_floats(picture.size), std::nanf(""));
    const auto encoding = tower->begin(picture, out).value();
    while (!encoding->is_done()) {
      const ThreadPool::Step step(pool);
      encoding->compute(most_work);
    }
    return out;
  }
};

struct Grid {
  int rows, columns;
};
/// The patches of the pictures that tools/tiny_tower.py makes.
std::vector<Grid> grids_of(const TinyTower& made) {
  if (made.family == "idefics3" || made.family == "gemma3") return {{made.grid, made.grid}};  // tiles of one size
  std::vector<Grid> grids = {{1, 1}, {3, 5}, {12, 10}};
  for (Grid& grid : grids) grid = {grid.rows * made.merge, grid.columns * made.merge};
  return grids;
}

/// The vectors of tools/original_towers.py.
Floats original(const std::string& shape, Grid grid) {
  static const auto file = open_model(source_dir() + "/tests/data/original_towers.gguf").value();
  const SourceTensor* tensor =
      file->find_tensor(shape + " " + std::to_string(grid.rows) + "x" + std::to_string(grid.columns));
  if (tensor == nullptr) return {};
  Floats floats(to_size(tensor->tensor.rows * tensor->tensor.cols));
  dequantize(tensor->tensor.type, tensor->tensor.data.data(), floats);
  return floats;
}

float largest_difference(const Floats& a, const Floats& b) {
  float most = 0;
  for (std::size_t i = 0; i < a.size(); ++i) most = std::max(most, std::abs(a[i] - b[i]));
  return most;
}
float largest_of(const Floats& a) { return largest_difference(a, Floats(a.size())); }

double least_cosine(const Floats& a, const Floats& b, std::size_t cols) {
  double least = 1;
  for (std::size_t row = 0; row < a.size(); row += cols) {
    double ab = 0, aa = 0, bb = 0;
    for (std::size_t i = row; i < row + cols; ++i) {
      const double x = static_cast<double>(a[i]), y = static_cast<double>(b[i]);
      ab += x * y, aa += x * x, bb += y * y;
    }
    least = std::min(least, ab / std::sqrt(aa * bb));
  }
  return least;
}

TEST(VisionTower, ItMakesTheVectorsOfTheOriginal) {
  for (const auto& [name, made] :
       {std::pair{"plain", TinyTower()}, std::pair{"deepstack", TinyTower::odd()},
        std::pair{"threes", TinyTower::threes()}, std::pair{"gemma4v", TinyTower::gemma4v()},
        std::pair{"gemma4v-clamped", TinyTower::gemma4v_clamped()}, std::pair{"idefics3", TinyTower::idefics3()},
        std::pair{"gemma4uv", TinyTower::gemma4uv()}, std::pair{"gemma3", TinyTower::gemma3()},
        std::pair{"lfm2", TinyTower::lfm2()}, std::pair{"pixtral", TinyTower::pixtral()},
        std::pair{"mistral3", TinyTower::mistral3()}, std::pair{"qwen2vl", TinyTower::qwen2vl()},
        std::pair{"qwen2.5vl", TinyTower::qwen25vl()}, std::pair{"minicpmv", TinyTower::minicpmv()},
        std::pair{"minicpmv-4x", TinyTower::minicpmv_4x()}, std::pair{"muse-glimmer", TinyTower::muse_glimmer()}}) {
    LoadedTower loaded(made);
    for (const Grid grid : grids_of(made)) {
      SCOPED_TRACE(testing::Message() << name << ", " << grid.rows << " x " << grid.columns << " patches");
      const Floats found = loaded.encode(made.picture(grid.rows, grid.columns)), expected = original(name, grid);
      ASSERT_EQ(found.size(), expected.size());
      EXPECT_LT(largest_difference(found, expected), 1e-3F * largest_of(expected));
    }
  }
}

TEST(VisionTower, WeightsOfFewerBitsMakeNearlyTheSame) {
  const auto least = [](TinyTower made, const char* name, DType type) {
    made.type = type;
    LoadedTower loaded(made);
    const Grid grid = grids_of(made).back();
    return least_cosine(loaded.encode(made.picture(grid.rows, grid.columns)), original(name, grid), to_size(made.text));
  };
  EXPECT_GT(least(TinyTower(), "plain", DType::kF16), 0.9999);
  EXPECT_GT(least(TinyTower::odd(), "deepstack", DType::kF16), 0.9999);
  EXPECT_GT(least(TinyTower(), "plain", DType::kBF16), 0.999);
  EXPECT_GT(least(TinyTower(), "plain", DType::kQ8_0), 0.999);
  for (const DType type : {DType::kF16, DType::kQ8_0}) {
    EXPECT_GT(least(TinyTower::gemma4v(), "gemma4v", type), type == DType::kF16 ? 0.9999 : 0.99);
    EXPECT_GT(least(TinyTower::gemma3(), "gemma3", DType::kF16), 0.9999);
    EXPECT_GT(least(TinyTower::idefics3(), "idefics3", type), type == DType::kF16 ? 0.9999 : 0.999);
    EXPECT_GT(least(TinyTower::pixtral(), "pixtral", type), type == DType::kF16 ? 0.9999 : 0.999);
  }
  EXPECT_GT(least(TinyTower::gemma4v_clamped(), "gemma4v-clamped", DType::kF16), 0.9999);
  EXPECT_GT(least(TinyTower::gemma4uv(), "gemma4uv", DType::kF16), 0.9999);
  EXPECT_GT(least(TinyTower::lfm2(), "lfm2", DType::kF16), 0.9999);
  EXPECT_GT(least(TinyTower::mistral3(), "mistral3", DType::kF16), 0.9999);
  EXPECT_GT(least(TinyTower::qwen2vl(), "qwen2vl", DType::kF16), 0.9999);
  EXPECT_GT(least(TinyTower::qwen25vl(), "qwen2.5vl", DType::kF16), 0.9999);
  EXPECT_GT(least(TinyTower::minicpmv(), "minicpmv", DType::kF16), 0.9999);
  EXPECT_GT(least(TinyTower::muse_glimmer(), "muse-glimmer", DType::kF16), 0.9999);
}

TEST(VisionTower, ThreadsAndPiecesChangeNoBit) {
  TinyTower deepstack, clamped = TinyTower::gemma4v();
  deepstack.deepstack = {0};
  clamped.clamps = true;
  for (auto [made, type] :
       {std::pair{deepstack, DType::kF32}, std::pair{deepstack, DType::kF16}, std::pair{deepstack, DType::kQ8_0},
        std::pair{TinyTower::gemma4v(), DType::kQ8_0}, std::pair{clamped, DType::kQ8_0},
        std::pair{TinyTower::gemma4uv(), DType::kF32}, std::pair{TinyTower::gemma4uv(), DType::kF16},
        std::pair{TinyTower::pixtral(), DType::kQ8_0}, std::pair{TinyTower::mistral3(), DType::kF32},
        std::pair{TinyTower::lfm2(), DType::kF32}, std::pair{TinyTower::gemma3(), DType::kF32},
        std::pair{TinyTower::qwen25vl(), DType::kF32}, std::pair{TinyTower::minicpmv(), DType::kF32},
        std::pair{TinyTower::muse_glimmer(), DType::kF16}}) {
    made.type = type;
    const Picture picture =
        made.picture(24, 27 / made.merge * made.merge);  // more rows than a piece, and than two tiles
    LoadedTower one(made, 1), three(made, 3);
    const Floats expected = one.encode(picture);
    for (const std::uint64_t most_work : {std::uint64_t{1}, std::uint64_t{3'000'000}, kAllAtOnce}) {
      EXPECT_EQ(three.encode(picture, most_work), expected) << dtype_info(type).name << ", " << most_work;
      if (most_work == kAllAtOnce) continue;
      EXPECT_EQ(one.encode(picture, most_work), expected) << dtype_info(type).name;
    }
  }
}

TEST(VisionTower, PortableBitsAreTheSameOnEveryLevel) {
  for (const TinyTower& made : {TinyTower{.type = DType::kQ8_0}, TinyTower::odd(), TinyTower::gemma4v_clamped(),
                                TinyTower::gemma4uv(), TinyTower::lfm2(), TinyTower::mistral3(), TinyTower::qwen2vl(),
                                TinyTower::qwen25vl(), TinyTower::minicpmv(), TinyTower::muse_glimmer()}) {
    const Picture picture = made.picture(2 * made.merge, 3 * made.merge);
    Floats expected;
    for (const IsaLevel level : {IsaLevel::kScalar, IsaLevel::kAvx2, IsaLevel::kAvxVnni, IsaLevel::kAvx512Vnni,
                                 IsaLevel::kAmxBf16, IsaLevel::kAmx, IsaLevel::kNeon}) {
      const KernelTable* kernels = kernels_of_level(level, Bits::kPortable);
      if (kernels == nullptr) continue;
      const Floats found = LoadedTower(made, 2, *kernels, Math(Bits::kPortable)).encode(picture);
      if (expected.empty()) expected = found;
      EXPECT_EQ(found, expected) << isa_name(level);
    }
  }
}

TEST(VisionTower, QueriesKeysAndValuesMayLieInATensorEach) {
  TinyTower apart = TinyTower::odd();
  apart.fused = false;
  const Picture picture = apart.picture(6, 10);
  EXPECT_EQ(LoadedTower(apart).encode(picture), LoadedTower(TinyTower::odd()).encode(picture));
}

TEST(VisionTower, PicturesUnderWayDoNotDisturbEachOther) {
  const TinyTower made = TinyTower::odd();
  LoadedTower loaded(made);
  const Picture first = made.picture(6, 10), second = made.picture(10, 6);
  Floats of_first(loaded.tower->num_floats(first.size)), of_second(of_first.size());
  const auto one = loaded.tower->begin(first, of_first).value(), other = loaded.tower->begin(second, of_second).value();
  while (!one->is_done() || !other->is_done()) {
    const ThreadPool::Step step(loaded.pool);
    if (!one->is_done()) one->compute(1);
    if (!other->is_done()) other->compute(200'000);
  }
  EXPECT_EQ(of_first, loaded.encode(first));
  EXPECT_EQ(of_second, loaded.encode(second));
  EXPECT_NE(of_first, of_second);
}

TEST(VisionTower, PiecesKeepToTheirBoundAndTellHowFarTheyAre) {
  const TinyTower made;
  LoadedTower loaded(made);
  const Picture picture = made.picture(24, 20);
  Floats out(loaded.tower->num_floats(picture.size));
  const auto encoding = loaded.tower->begin(picture, out).value();
  constexpr std::uint64_t kMost = 2'000'000;
  std::uint64_t done = 0;
  while (!encoding->is_done()) {
    const ThreadPool::Step step(loaded.pool);
    const std::uint64_t work = encoding->compute(kMost);
    EXPECT_GT(work, 0U);
    EXPECT_LE(work, kMost);
    done += work;
    EXPECT_EQ(encoding->done_work(), done);
  }
  EXPECT_EQ(done, encoding->total_work());
}

TEST(VisionTower, APictureOfAnotherSizeIsRefused) {
  const TinyTower made;
  LoadedTower loaded(made);
  Picture picture = made.picture(2, 2);
  picture.size = {48, 32};
  Floats out(32);
  const auto encoding = loaded.tower->begin(picture, out);
  ASSERT_FALSE(encoding);
  EXPECT_THAT(encoding.error().message, testing::HasSubstr("48 x 32 pixels, expected multiples of 32"));
}

TEST(VisionTower, APictureBeyondTheLearnedPlacesIsRefused) {
  const TinyTower made = TinyTower::gemma4v();
  LoadedTower loaded(made);
  const Picture picture = made.picture(3, 42);
  Floats out(loaded.tower->num_floats(picture.size));
  const auto encoding = loaded.tower->begin(picture, out);
  ASSERT_FALSE(encoding);
  EXPECT_THAT(encoding.error().message, testing::HasSubstr("672 x 48 pixels, expected sides up to 640"));
  EXPECT_EQ(loaded.tower->config().most_tokens, 13);
}

TEST(VisionTower, TheWidestTakesLittleMemoryBesideItsWeights) {
  AttentionSpec attention{.num_heads = 16, .num_kv_heads = 16, .head_dim = 72, .is_causal = false, .rope = {}};
  attention.rope.num_rotated = 72;
  VisionConfig config;
  config.width = 1152;
  config.text_width = 4096;
  config.patch_side = 16;
  config.merge_side = 2;
  config.grid_side = 48;
  config.deviation = {0.5F, 0.5F, 0.5F};
  config.layers.assign(27, {.mixer = attention, .feed_forward = DenseFfnSpec{.width = 4304}});
  ThreadPool pool(2);
  const VisionWeights weights;
  const VisionParts parts(config, weights, kernel_table(IsaLevel::kScalar), Math(), pool);
  constexpr int kSide = 128;  // of 4096 tokens
  EXPECT_LT(parts.scratch_bytes() + VisionRows::bytes(config, kSide, kSide), 350'000'000U);
}

TEST(VisionTower, OtherWeightsHaveAnotherHash) {
  TinyTower halves = TinyTower::odd();
  halves.type = DType::kF16;
  const LoadedTower one(TinyTower::odd(), 1), same(TinyTower::odd(), 2), other(halves);
  EXPECT_EQ(one.tower->content_hash(), same.tower->content_hash());
  EXPECT_NE(one.tower->content_hash(), other.tower->content_hash());
}

}  // namespace
}  // namespace octavo::test
