// A vision encoder with its weights: it makes a picture's rows for the text model.
//
// Owned by whoever loads it; immutable apart from scratch that its encodings share. One thread at a time computes, in
// steps of the pool that it was loaded with; several encodings may take turns, piece by piece.
//
//     OCTAVO_TRY(std::unique_ptr<VisionEncoding> encoding, tower.begin(picture, out));
//     while (!encoding->is_done()) {
//       const ThreadPool::Step step(pool);
//       encoding->compute(most_work);
//     }
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "cpu/vision_encoding.h"
#include "cpu/vision_parts.h"
#include "cpu/vision_weights.h"
#include "model/vision_config.h"
#include "vision/picture.h"

namespace octavo {

/// The encoder to load, and the means to compute it. All references but the source's must outlive the tower.
struct VisionTowerRequest {
  const ModelSource& source;
  const KernelTable& kernels;
  Math math;
  ThreadPool& pool;
  RepackProgress progress = {};
  LoadManner manner = {};  // `repack` is ignored: matrices are always packed
};

class VisionTower {
 public:
  /// Errors: those of VisionConfig::load() and VisionWeightList::create(); the file cannot be read; a stop was asked
  /// for. The calling thread must have no step of the pool.
  static Result<std::unique_ptr<VisionTower>> load(const VisionTowerRequest& request);
  VisionTower(const VisionTower&) = delete;
  VisionTower& operator=(const VisionTower&) = delete;

  const VisionConfig& config() const { return config_; }
  /// The tokens of a picture whose sides are multiples of config().token_side().
  int num_tokens(PictureSize size) const;
  /// The floats of the rows for such a picture: num_tokens() times config().token_floats().
  std::size_t num_floats(PictureSize size) const;
  std::uint64_t weight_bytes() const { return weights_.total_bytes(); }
  /// The bytes of scratch that all encodings share.
  std::uint64_t scratch_bytes() const { return parts_.scratch_bytes(); }
  /// The bytes that the encoding of a picture takes beside the scratch and its result.
  std::uint64_t encoding_bytes(PictureSize size) const;
  /// A hash of all bytes that the tower was made of, keys and weights.
  const ContentHash& content_hash() const { return weights_.content_hash(); }

  /// Begins the encoding of a picture; nothing is computed yet. `out`: [num_tokens, num_vectors, text_width], tokens
  /// row by row of the picture. A token's first vector replaces its embedding; vector k is added to the text model's
  /// stream after layer k - 1 (DeepStack). Picture, `out` and tower must outlive the encoding. Errors: sides that are
  /// no multiples of token_side(); no memory.
  Result<std::unique_ptr<VisionEncoding>> begin(const Picture& picture, std::span<float> out);

 private:
  VisionTower(VisionConfig config, VisionWeights weights, const VisionTowerRequest& request);

  const VisionConfig config_;
  const VisionWeights weights_;
  VisionParts parts_;  // refers to the two above
};

}  // namespace octavo
