#include "cpu/vision_tower.h"

#include <algorithm>
#include <new>
#include <utility>

#include "base/to_size.h"
#include "model/vision_weight_list.h"

namespace octavo {

VisionTower::VisionTower(VisionConfig config, VisionWeights weights, const VisionTowerRequest& request)
    : config_(std::move(config)),
      weights_(std::move(weights)),
      parts_(config_, weights_, request.kernels, request.math, request.pool) {}

Result<std::unique_ptr<VisionTower>> VisionTower::load(const VisionTowerRequest& request) {
  OCTAVO_TRY(VisionConfig config, VisionConfig::load(request.source));
  OCTAVO_TRY(const VisionWeightList list, VisionWeightList::create(request.source, config));
  OCTAVO_TRY(VisionWeights weights, VisionWeights::load(request.source, config, list, request.kernels, request.pool,
                                                        request.progress, request.manner));
  return std::unique_ptr<VisionTower>(new VisionTower(std::move(config), std::move(weights), request));
}

int VisionTower::num_tokens(PictureSize size) const {
  return size.width / config_.token_side() * (size.height / config_.token_side());
}

std::size_t VisionTower::num_floats(PictureSize size) const {
  return to_size(num_tokens(size)) * to_size(config_.token_floats());
}

std::uint64_t VisionTower::encoding_bytes(PictureSize size) const {
  return VisionRows::bytes(config_, size.height / config_.patch_side, size.width / config_.patch_side);
}

Result<std::unique_ptr<VisionEncoding>> VisionTower::begin(const Picture& picture, std::span<float> out) {
  const auto [width, height] = picture.size;
  if (width < 1 || height < 1 || width % config_.token_side() != 0 || height % config_.token_side() != 0)
    return fail("the picture has {} x {} pixels, expected multiples of {}", width, height, config_.token_side());
  const int most = config_.places == LearnedPlaces::kTables ? config_.grid_side * config_.patch_side : 0;
  if (most != 0 && std::max(width, height) > most)
    return fail("the picture has {} x {} pixels, expected sides up to {}, for which the encoder has places", width,
                height, most);
  OCTAVO_CHECK(picture.rgb.size() == 3 * to_size(picture.size.pixels()), "{} bytes", picture.rgb.size());
  OCTAVO_CHECK(out.size() == num_floats(picture.size), "{} floats", out.size());
  try {
    return std::make_unique<VisionEncoding>(config_, parts_, picture, out);
  } catch (const std::bad_alloc&) {
    return fail("no memory to encode a picture of {} x {} pixels, which takes {} bytes", width, height,
                encoding_bytes(picture.size));
  }
}

}  // namespace octavo
