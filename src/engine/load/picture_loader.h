// Loads the encoder of pictures beside a text model.
//
// Free function; the thread that loads the engine.
#pragma once

#include <memory>

#include "base/isa_level.h"
#include "base/thread_pool.h"
#include "engine/pictures/picture_encoder.h"
#include "engine/text/model_text_impl.h"
#include "model/config.h"
#include "octavo/engine.h"

namespace octavo {

struct LoadedPictures {
  std::unique_ptr<PictureEncoder> encoder;
  PictureRules rules;
  VisionInfo info;
};

/// The encoder of options.mmproj_path, which packs its weights. Errors: those of the file; one of another model, with
/// both widths; a vocabulary without the family's placeholder; limits out of order.
Result<LoadedPictures> load_pictures(const EngineOptions& options, const ModelConfig& config,
                                     const ModelTokenizer& words, IsaLevel isa, ThreadPool& pool);

}  // namespace octavo
