// A vision encoder with its weights: it makes a picture's rows for the text model.
//
// Owned by whoever loads it; immutable but for scratch that its encodings share. One thread at a time computes, in
// steps of the pool that it was loaded with; several encodings may be under way and take turns piece by piece.
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

/// The source, and what computes. All references but the source's must outlive the tower.
struct VisionTowerRequest {
  const ModelSource& source;
  const KernelTable& kernels;
  Math math;
  ThreadPool& pool;
  RepackProgress progress = {};
  LoadManner manner = {};  // matrices are packed, whatever `repack` says
};

class VisionTower {
 public:
  /// Errors: those of VisionConfig::load() and VisionWeightList::create(); the file cannot be read; a stop was asked
  /// for. The calling thread must have no step of the pool.
  static Result<std::unique_ptr<VisionTower>> load(const VisionTowerRequest& request);
  VisionTower(const VisionTower&) = delete;
  VisionTower& operator=(const VisionTower&) = delete;

  const VisionConfig& config() const { return config_; }
  /// Tokens of a picture whose sides are multiples of config().token_side().
  int num_tokens(PictureSize size) const;
  /// Floats that it makes of such a picture: num_tokens() times config().token_floats().
  std::size_t num_floats(PictureSize size) const;
  std::uint64_t weight_bytes() const { return weights_.total_bytes(); }
  /// Scratch that all encodings share.
  std::uint64_t scratch_bytes() const { return parts_.scratch_bytes(); }
  /// Memory that the encoding of a picture takes beside that and its result.
  std::uint64_t encoding_bytes(PictureSize size) const;
  /// A hash of all bytes that the tower was made of: keys and weights.
  const ContentHash& content_hash() const { return weights_.content_hash(); }

  /// The encoding of a picture, of which nothing is computed yet. `out`: [num_tokens, num_vectors, text_width], token
  /// by token, row by row of the picture; a token's first vector stands for its embedding, the k-th one behind that is
  /// added to the text model's stream behind its layer k - 1 (DeepStack). Picture, `out` and tower must outlive it.
  /// Errors: sides that are no multiples of token_side(); no memory.
  Result<std::unique_ptr<VisionEncoding>> begin(const Picture& picture, std::span<float> out);

 private:
  VisionTower(VisionConfig config, VisionWeights weights, const VisionTowerRequest& request);

  const VisionConfig config_;
  const VisionWeights weights_;
  VisionParts parts_;  // of the two
};

}  // namespace octavo
