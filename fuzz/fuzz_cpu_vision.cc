// A tiny vision encoder's file, its bytes changed at some places: it gives an encoder or an error, and an encoder
// encodes a picture. Four bytes of input are a change: three of the place, one of the value; every other one is in the
// head.
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "base/aligned_buffer.h"
#include "cpu/vision_tower.h"
#include "kernels/dispatch.h"
#include "source/gguf/gguf_file.h"
#include "support/tiny_tower.h"

namespace {

using octavo::test::TinyTower;

constexpr std::size_t kHeadBytes = 3500;       // about: keys, and the directory of tensors
constexpr std::size_t kMostFloats = 1U << 20;  // of a picture's vectors; keys may ask for far more

/// A small encoder of a family.
TinyTower small(const char* family, int grid, int merge = 2) {
  TinyTower tower{
      .layers = 1, .width = 32, .heads = 2, .ffn = 32, .patch = 2, .merge = merge, .grid = grid, .text = 16};
  tower.family = family;
  tower.clamps = tower.standardizes = tower.norms_joined = true;
  tower.edge = 8;
  tower.hidden = 24;
  return tower;
}

const std::string& bytes_of_tower(std::size_t index) {
  static const std::array<std::string, 14> kTowers = {
      TinyTower{.layers = 1, .width = 32, .heads = 2, .ffn = 32, .patch = 2, .grid = 3, .text = 16}.bytes(),
      TinyTower{.layers = 1, .width = 32, .heads = 2, .ffn = 64, .patch = 2, .grid = 3, .type = octavo::DType::kQ8_0}
          .bytes(),
      TinyTower{.layers = 2, .width = 24, .heads = 2, .ffn = 20, .patch = 2, .grid = 3, .text = 20, .deepstack = {0}}
          .bytes(),
      TinyTower{.layers = 1, .width = 32, .heads = 2, .ffn = 32, .patch = 2, .grid = 3, .fused = false}.bytes(),
      small("gemma4v", 20).bytes(),
      small("gemma4uv", 20, 3).bytes(),
      small("gemma3", 4).bytes(),
      small("idefics3", 2).bytes(),
      small("lfm2", 3).bytes(),
      small("pixtral", 1).bytes(),
      small("qwen2vl_merger", 0).bytes(),
      small("qwen2.5vl_merger", 0).bytes(),
      small("minicpmv4_6", 3, 4).bytes(),
      small("muse-glimmer", 4).bytes()};
  return kTowers[index % kTowers.size()];
}

/// A picture of six tokens.
void encode(octavo::VisionTower& tower, octavo::ThreadPool& pool) {
  const int side = tower.config().token_side();
  octavo::Picture picture{.size = {3 * side, 2 * side}};
  picture.rgb.resize(3 * static_cast<std::size_t>(picture.size.pixels()), 100);
  if (tower.num_floats(picture.size) > kMostFloats) return;
  std::vector<float> out(tower.num_floats(picture.size));
  const auto encoding = tower.begin(picture, out);
  if (!encoding && tower.config().places == octavo::LearnedPlaces::kTables) return;  // which may be too short
  if (!encoding) std::abort();
  while (!(*encoding)->is_done()) {
    const octavo::ThreadPool::Step step(pool);
    if ((*encoding)->compute(100'000) == 0) std::abort();
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string& whole = bytes_of_tower(data[0]);
  octavo::AlignedBuffer<std::byte> bytes(whole.size());
  std::memcpy(bytes.data(), whole.data(), whole.size());
  const std::size_t end = std::min(size, 1 + 4 * (1 + std::size_t{data[0]} / 8 % 4));  // more would leave no encoder
  for (std::size_t i = 1; i + 4 <= end; i += 4) {
    const std::size_t place = data[i] | data[i + 1] << 8 | data[i + 2] << 16;
    bytes.data()[place % ((i & 4) != 0 ? kHeadBytes : whole.size())] = static_cast<std::byte>(data[i + 3]);
  }
  const auto file = octavo::GgufFile::parse(bytes.span(), "fuzz");
  if (!file) return 0;
  octavo::ThreadPool pool(1);
  const auto tower = octavo::VisionTower::load({.source = *file,
                                                .kernels = octavo::kernel_table(octavo::IsaLevel::kScalar),
                                                .math = octavo::Math(),
                                                .pool = pool});
  if (!tower) {
    if (tower.error().message.empty()) std::abort();  // every refusal gives its reason
    return 0;
  }
  encode(**tower, pool);
  return 0;
}
