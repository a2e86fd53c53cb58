#include "engine/load/picture_loader.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "cpu/vision_tower.h"
#include "kernels/dispatch.h"
#include "model/content_hash.h"
#include "source/encoder_name.h"
#include "source/open_model.h"

namespace octavo {
namespace {

/// A vision encoder behind the engine's seam.
class TowerEncoder final : public PictureEncoder {
 public:
  explicit TowerEncoder(std::unique_ptr<VisionTower> tower) : tower_(std::move(tower)) {}

  int row_floats() const override { return tower_->config().token_floats(); }
  Result<void> begin(const PreparedPicture& picture, std::span<float> out) override {
    OCTAVO_TRY(encoding_, tower_->begin(picture.pixels, out));
    return {};
  }
  std::uint64_t compute(std::uint64_t most_work) override {
    return encoding_->is_done() ? 0 : encoding_->compute(most_work);
  }
  double done_share() const override {
    return static_cast<double>(encoding_->done_work()) / static_cast<double>(encoding_->total_work());
  }
  void end() override { encoding_.reset(); }

 private:
  std::unique_ptr<VisionTower> tower_;
  std::unique_ptr<VisionEncoding> encoding_;
};

/// Whether the model's rotary positions have parts for the rows and columns of pictures.
bool turns_by_grid(const ModelConfig& config) {
  return std::ranges::any_of(config.own_layers(), [](const LayerSpec& layer) {
    return layer.attention() != nullptr && layer.attention()->rope.sections.has_value();
  });
}

constexpr std::size_t kMostBeside = 10'000;  // the most entries of a folder that are looked at

/// Files beside a model that are named like encoders, the best first; for a folder of safetensors, the folder itself
/// comes first.
std::vector<std::filesystem::path> encoders_beside(const std::filesystem::path& model) {
  namespace fs = std::filesystem;
  std::vector<fs::path> found;
  std::error_code error;
  const bool is_folder = fs::is_directory(model, error);
  const fs::path folder = is_folder ? model : model.has_parent_path() ? model.parent_path() : fs::path(".");
  std::size_t left = kMostBeside;
  for (fs::directory_iterator at(folder, error), end; !error && at != end && left > 0; at.increment(error), --left) {
    if (is_encoder_name(at->path().string())) found.push_back(at->path());
  }
  const int bits = bits_by_name(model.filename().string());
  std::ranges::sort(found, [&](const fs::path& a, const fs::path& b) {
    return suits_better(a.filename().string(), b.filename().string(), bits);
  });
  if (is_folder && has_encoder(model)) found.insert(found.begin(), model);
  return found;
}

Result<void> check_limits(const EngineOptions& options, int most) {
  const int min = options.image_min_tokens, max = options.image_max_tokens;
  if (min < 0 || min > most) return fail("image_min_tokens: found {}, expected 0 (the family's own) to {}", min, most);
  if (max < 0 || max > most || (max > 0 && max < min))
    return fail("image_max_tokens: found {}, expected 0 (the family's own), or {} to {}", max, std::max(1, min), most);
  return {};
}

/// Whether a file of a text model may have encoders of a family beside it.
bool may_see_by(const PictureFamily& family, const ModelSource& model) {
  const std::string_view architecture = model.get_string("general.architecture").value_or("");
  if (!family.text_models.empty())
    return std::ranges::find(family.text_models, architecture) != family.text_models.end();
  return model.find(fmt::format("{}.rope.dimension_sections", architecture)) != nullptr;
}

/// What a file of a text model says of the pictures that it reads.
SeeingModel seeing_model(const ModelSource& model) {
  const std::string_view architecture = model.get_string("general.architecture").value_or("");
  const auto number = [&](std::string_view key) {
    const std::uint64_t found = model.get_u64(fmt::format("{}.{}", architecture, key)).value_or(0);
    return static_cast<int>(std::min<std::uint64_t>(found, std::numeric_limits<int>::max()));
  };
  return {.width = number("embedding_length"), .num_deepstack = number("n_deepstack_layers")};
}

/// Whether an encoder that nobody has named may be a model's.
bool suits(const PictureFile& file, const ModelSource& model) {
  if (!may_see_by(*file.family, model)) return false;
  const auto words = model.get_strings("tokenizer.ggml.tokens");
  return !words || std::ranges::find(*words, file.family->markup.placeholder) != words->end();
}

Result<PictureRules> rules_of(const PictureFile& file, const EngineOptions& options, const ModelConfig& config,
                              const ModelTokenizer& words) {
  const PictureFamily* family = file.family;
  OCTAVO_TRY(const ChatTokenizer* chat, words.require());
  const Vocab& vocab = chat->tokenizer().vocab();
  const TokenId placeholder = vocab.find(family->markup.placeholder);
  if (placeholder < 0 || vocab.is_ordinary(placeholder))  // a user's own word is reserved for templates by then
    return fail("{}: the model's vocabulary has no special token {}, which stands for pictures of {}",
                file.source->path().string(), family->markup.placeholder, family->name);
  const TokenId row = family->markup.row.empty() ? -1 : vocab.find(family->markup.row);
  const TokenRange tokens = file.tokens(options);
  return PictureRules{.family = family,
                      .geometry = file.geometry(),
                      .placeholder = placeholder,
                      .row = row < config.vocab_size ? row : -1,
                      .tokenizer = &chat->tokenizer(),
                      .min_tokens = tokens.min,
                      .max_tokens = tokens.max,
                      .most_tokens = file.most_tokens(),
                      .turns_by_grid = family->turns_by_grid && turns_by_grid(config),
                      .joins_rows = config.joins_pictures(),
                      .bounds = options.picture_bounds};
}

}  // namespace

TokenRange PictureFile::tokens(const EngineOptions& options) const {
  const TokenRange usual = family->usual_tokens({.min = config.min_tokens, .max = config.max_tokens});
  const int max = options.image_max_tokens > 0 ? options.image_max_tokens : std::min(usual.max, most_tokens());
  const int min = options.image_min_tokens > 0 ? options.image_min_tokens : usual.min;
  return {.min = std::min(min, max), .max = std::max(max, options.image_min_tokens)};
}

int PictureFile::most_tokens() const {
  return config.most_tokens > 0 ? std::min(config.most_tokens, family->most_tokens) : family->most_tokens;
}

FoundPictures FoundPictures::find(const EngineOptions& options, const ModelSource& model) {
  if (std::ranges::none_of(picture_families(), [&](const auto& family) { return may_see_by(family, model); }))
    return {};
  FoundPictures found;
  for (const std::filesystem::path& path : encoders_beside(options.model_path)) {
    EngineOptions with_it = options;
    with_it.mmproj_path = path;
    Result<PictureFile> file = PictureFile::open(with_it);
    if (!file) {
      found.passed_over.push_back(file.error().message);
      continue;
    }
    const SeeingModel seeing = seeing_model(model);
    const bool is_own = path == options.model_path;  // a folder's: it is the model's, or damaged
    if (!suits(*file, model)) {
      if (is_own)
        found.passed_over.push_back(
            fmt::format("{}: the model is none that reads pictures of the family {} by the token {}", path.string(),
                        file->family->name, file->family->markup.placeholder));
      continue;
    }
    if (const Result<void> fits = file->config.check_fits(seeing); !fits) {
      if (is_own) found.passed_over.push_back(fmt::format("{}: {}", path.string(), fits.error().message));
      continue;
    }
    file->was_found = true;
    found.file = std::move(*file);
    break;
  }
  return found;
}

Result<PictureFile> PictureFile::open(const EngineOptions& options) {
  PictureFile file;
  OCTAVO_TRY(file.source, open_encoder(options.mmproj_path, options.stop));
  OCTAVO_TRY(file.config, VisionConfig::load(*file.source));
  file.family = find_picture_family(file.config.family);
  OCTAVO_CHECK(file.family != nullptr, "a family {} without a row", file.config.family);
  OCTAVO_TRY_VOID(check_limits(options, file.most_tokens()));
  return file;
}

Result<LoadedPictures> load_pictures(PictureFile file, const EngineOptions& options, const ModelConfig& config,
                                     const ModelTokenizer& words, IsaLevel isa, ThreadPool& pool) {
  const Result<void> fits = file.config.check_fits({.width = config.width, .num_deepstack = config.num_deepstack});
  if (!fits) return fail("{}: {}", file.source->path().string(), fits.error().message);
  LoadedPictures loaded;
  OCTAVO_TRY(loaded.rules, rules_of(file, options, config, words));
  OCTAVO_TRY(std::unique_ptr<VisionTower> tower, VisionTower::load({.source = *file.source,
                                                                    .kernels = kernel_table(isa, options.bits),
                                                                    .math = Math(options.bits),
                                                                    .pool = pool,
                                                                    .manner = {.stop = options.stop}}));
  loaded.rules.encoder_hash = hex_of(tower->content_hash());
  loaded.info = {.file_name = file.source->path().filename().string(),
                 .family = file.config.family,
                 .min_tokens = loaded.rules.min_tokens,
                 .max_tokens = loaded.rules.max_tokens,
                 .most_tokens = loaded.rules.most_tokens,
                 .weight_bytes = tower->weight_bytes()};
  loaded.encoder = std::make_unique<TowerEncoder>(std::move(tower));
  return loaded;
}

}  // namespace octavo
