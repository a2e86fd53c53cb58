#include "engine/load/picture_loader.h"

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "cpu/vision_tower.h"
#include "kernels/dispatch.h"
#include "model/content_hash.h"
#include "source/open_model.h"

namespace octavo {
namespace {

/// A vision encoder as the engine has it.
class TowerEncoder final : public PictureEncoder {
 public:
  TowerEncoder(std::unique_ptr<const ModelSource> source, std::unique_ptr<VisionTower> tower)
      : source_(std::move(source)), tower_(std::move(tower)) {}

  int row_floats() const override { return tower_->config().token_floats(); }
  Result<void> begin(const PreparedPicture& picture, std::span<float> out) override {
    OCTAVO_TRY(encoding_, tower_->begin(picture.pixels, out));
    return {};
  }
  std::uint64_t compute(std::uint64_t most_work) override {
    return encoding_->is_done() ? 0 : encoding_->compute(most_work);
  }
  void end() override { encoding_.reset(); }

 private:
  std::unique_ptr<const ModelSource> source_;
  std::unique_ptr<VisionTower> tower_;
  std::unique_ptr<VisionEncoding> encoding_;
};

/// Rotations of the model have parts for the rows and the columns of pictures.
bool turns_by_grid(const ModelConfig& config) {
  return std::ranges::any_of(config.own_layers(), [](const LayerSpec& layer) {
    return layer.attention() != nullptr && layer.attention()->rope.sections.has_value();
  });
}

Result<void> check_limits(const EngineOptions& options, const PictureFamily& family) {
  const int min = options.image_min_tokens, max = options.image_max_tokens;
  if (min < 0 || min > family.most_tokens)
    return fail("image_min_tokens: found {}, expected 0 (the family's own) to {}", min, family.most_tokens);
  if (max < 0 || max > family.most_tokens || (max > 0 && max < min))
    return fail("image_max_tokens: found {}, expected 0 (the family's own), or {} to {}", max, std::max(1, min),
                family.most_tokens);
  return {};
}

Result<PictureRules> rules_of(const PictureFile& file, const EngineOptions& options, const ModelConfig& config,
                              const ModelTokenizer& words) {
  const PictureFamily* family = file.family;
  OCTAVO_TRY(const ChatTokenizer* chat, words.require());
  const TokenId placeholder = chat->tokenizer().vocab().find(family->markup.placeholder);
  if (placeholder < 0 || !chat->tokenizer().is_control(placeholder))
    return fail("{}: the model's vocabulary has no control token {}, which stands for pictures of {}",
                options.mmproj_path.string(), family->markup.placeholder, family->name);
  const int max = options.image_max_tokens > 0 ? options.image_max_tokens : family->usual_max_tokens;
  const int min = options.image_min_tokens > 0 ? options.image_min_tokens : family->min_tokens;
  return PictureRules{.family = family,
                      .geometry = {.patch_side = file.config.patch_side, .merge_side = file.config.merge_side},
                      .placeholder = placeholder,
                      .min_tokens = std::min(min, max),
                      .max_tokens = std::max(max, options.image_min_tokens),
                      .turns_by_grid = turns_by_grid(config),
                      .bounds = options.picture_bounds};
}

}  // namespace

Result<PictureFile> PictureFile::open(const EngineOptions& options) {
  PictureFile file;
  OCTAVO_TRY(file.source, open_model(options.mmproj_path, options.stop, Math(options.bits)));
  OCTAVO_TRY(file.config, VisionConfig::load(*file.source));
  file.family = find_picture_family(file.config.family);
  OCTAVO_CHECK(file.family != nullptr, "a family {} without a row", file.config.family);
  OCTAVO_TRY_VOID(check_limits(options, *file.family));
  return file;
}

Result<LoadedPictures> load_pictures(PictureFile file, const EngineOptions& options, const ModelConfig& config,
                                     const ModelTokenizer& words, IsaLevel isa, ThreadPool& pool) {
  const Result<void> fits = file.config.check_fits(config.width, config.num_deepstack);
  if (!fits) return fail("{}: {}", options.mmproj_path.string(), fits.error().message);
  LoadedPictures loaded;
  OCTAVO_TRY(loaded.rules, rules_of(file, options, config, words));
  OCTAVO_TRY(std::unique_ptr<VisionTower> tower, VisionTower::load({.source = *file.source,
                                                                    .kernels = kernel_table(isa, options.bits),
                                                                    .math = Math(options.bits),
                                                                    .pool = pool,
                                                                    .manner = {.stop = options.stop}}));
  loaded.rules.encoder_hash = hex_of(tower->content_hash());
  loaded.info = {.family = file.config.family,
                 .min_tokens = loaded.rules.min_tokens,
                 .max_tokens = loaded.rules.max_tokens,
                 .most_tokens = loaded.rules.family->most_tokens,
                 .weight_bytes = tower->weight_bytes()};
  loaded.encoder = std::make_unique<TowerEncoder>(std::move(file.source), std::move(tower));
  return loaded;
}

}  // namespace octavo
