#include "engine/load/timed_encoder.h"

#include <chrono>
#include <string>
#include <utility>
#include <vector>

#include "base/cpu_info.h"
#include "base/to_size.h"
#include "kernels/dispatch.h"
#include "source/open_model.h"

namespace octavo {
namespace {

Result<PictureFile> file_of(const EngineOptions& options) {
  if (!options.mmproj_path.empty()) return PictureFile::open(options);
  OCTAVO_TRY(const auto model, open_model(options.model_path, options.stop));
  if (is_encoder_file(*model)) {
    EngineOptions named = options;
    named.mmproj_path = options.model_path;
    return PictureFile::open(named);
  }
  std::optional<PictureFile> found = FoundPictures::find(options, *model).file;
  if (!found)
    return fail("{}: found no encoder of pictures that fits beside the model, expected one (--mmproj FILE)",
                model->name());
  return std::move(*found);
}

Picture made_up(PictureSize size) {
  Picture picture{.size = size};
  picture.rgb.resize(3 * to_size(size.pixels()));
  std::uint32_t noise = 1;
  for (std::uint8_t& value : picture.rgb) {
    noise = noise * 1664525U + 1013904223U;
    value = static_cast<std::uint8_t>(noise >> 24);
  }
  return picture;
}

}  // namespace

TimedEncoder::TimedEncoder(const PictureFile& file, const EngineOptions& options)
    : file_name_(file.source->path().filename().string()),
      family_(file.family),
      geometry_(file.geometry()),
      tokens_(file.tokens(options)),
      pool_(std::make_unique<ThreadPool>(options.num_threads > 0 ? options.num_threads : default_threads())) {}

Result<std::unique_ptr<TimedEncoder>> TimedEncoder::load(const EngineOptions& options) {
  OCTAVO_TRY(const IsaLevel isa, parse_isa(options.isa));
  OCTAVO_TRY(const PictureFile file, file_of(options));
  std::unique_ptr<TimedEncoder> encoder(new TimedEncoder(file, options));
  OCTAVO_TRY(encoder->tower_, VisionTower::load({.source = *file.source,
                                                 .kernels = kernel_table(isa, options.bits),
                                                 .math = Math(options.bits),
                                                 .pool = *encoder->pool_,
                                                 .manner = {.stop = options.stop}}));
  return encoder;
}

PictureLayout TimedEncoder::layout(PictureSize size) const { return family_->lay_out(size, geometry_, tokens_); }

Result<std::optional<EncodedPicture>> TimedEncoder::encode(const PictureLayout& layout,
                                                           const std::function<bool()>& is_stopped) {
  constexpr std::uint64_t kPiece = std::uint64_t{1} << 32;  // multiply-adds between two looks at whether to stop
  EncodedPicture done;
  for (const PictureTile& tile : layout.tiles) {
    const Picture picture = made_up(tile.size);
    std::vector<float> out(tower_->num_floats(tile.size));
    const auto start = std::chrono::steady_clock::now();
    OCTAVO_TRY(const auto encoding, tower_->begin(picture, out));
    while (!encoding->is_done()) {
      if (is_stopped()) return std::nullopt;
      const ThreadPool::Step step(*pool_);
      encoding->compute(kPiece);
    }
    done.seconds += std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    done.multiply_adds += encoding->total_work();
  }
  return done;
}

}  // namespace octavo
