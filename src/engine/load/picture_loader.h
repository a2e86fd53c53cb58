// Loads the encoder of pictures beside a text model.
//
// The thread that loads the engine.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/isa_level.h"
#include "base/thread_pool.h"
#include "chat/picture_marks.h"
#include "engine/pictures/picture_encoder.h"
#include "engine/text/model_text_impl.h"
#include "model/config.h"
#include "model/vision_config.h"
#include "octavo/engine.h"

namespace octavo {

/// The file of an encoder, or the folder that has one, with its keys read.
struct PictureFile {
  /// Opens options.mmproj_path. Errors: those of the file and its keys; limits in the options out of order.
  static Result<PictureFile> open(const EngineOptions& options);

  /// The range of tokens of a picture where a request does not say.
  TokenRange tokens(const EngineOptions& options) const;
  /// The most tokens of a picture that may be asked for.
  int most_tokens() const;
  PictureGeometry geometry() const {
    return {.patch_side = config.patch_side,
            .merge_side = config.merge_side,
            .tile_side = config.tile_side,
            .longest_side = config.longest_side};
  }
  PictureMarks marks() const {
    return {
        .place = family->markup.place, .placeholder = family->markup.placeholder, .spelled = family->markup.spelled};
  }

  std::unique_ptr<const ModelSource> source;
  VisionConfig config;
  const PictureFamily* family = nullptr;
  bool was_found = false;  // it was found, not named
};

/// The encoders of pictures beside a model, or in its folder.
struct FoundPictures {
  /// The best that fits, if the model may see (EngineOptions::finds_mmproj).
  static FoundPictures find(const EngineOptions& options, const ModelSource& model);

  std::optional<PictureFile> file = {};
  std::vector<std::string> passed_over = {};  // errors of those that cannot be read
};

struct LoadedPictures {
  std::unique_ptr<PictureEncoder> encoder;
  PictureRules rules;
  VisionInfo info;
};

/// Packs the encoder's weights. Errors: it belongs to another model, with both widths; the vocabulary has no token for
/// the family's placeholder.
Result<LoadedPictures> load_pictures(PictureFile file, const EngineOptions& options, const ModelConfig& config,
                                     const ModelTokenizer& words, IsaLevel isa, ThreadPool& pool);

}  // namespace octavo
