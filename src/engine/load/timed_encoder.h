// A model's encoder of pictures alone, to be timed: no text model is loaded, and nothing else computes.
//
// Used by one thread, the one that measures.
#pragma once

#include <functional>
#include <memory>
#include <optional>

#include "base/isa_level.h"
#include "base/thread_pool.h"
#include "cpu/vision_tower.h"
#include "engine/load/picture_loader.h"

namespace octavo {

/// The times of one encoding of a picture.
struct EncodedPicture {
  double seconds = 0;
  std::uint64_t multiply_adds = 0;
};

class TimedEncoder {
 public:
  /// Loads the encoder that the options name or that the model has, or the model's file if it is an encoder. Errors:
  /// there is none; those of loading it.
  static Result<std::unique_ptr<TimedEncoder>> load(const EngineOptions& options);

  const VisionConfig& config() const { return tower_->config(); }
  std::uint64_t weight_bytes() const { return tower_->weight_bytes(); }
  const std::string& file_name() const { return file_name_; }
  /// The layout that the encoder makes for a picture of this size in pixels.
  PictureLayout layout(PictureSize size) const;
  /// Encodes made-up pixels, tile by tile. None: `is_stopped` said so between two pieces. Error: there is no memory.
  Result<std::optional<EncodedPicture>> encode(const PictureLayout& layout, const std::function<bool()>& is_stopped);

 private:
  TimedEncoder(const PictureFile& file, const EngineOptions& options);

  std::string file_name_;
  const PictureFamily* family_;
  PictureGeometry geometry_;
  TokenRange tokens_;
  std::unique_ptr<ThreadPool> pool_;
  std::unique_ptr<VisionTower> tower_;
};

}  // namespace octavo
