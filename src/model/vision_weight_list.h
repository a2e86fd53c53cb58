// The list of a vision encoder's weights: which tensors of its file it needs, by their use, each checked, before any
// byte is read. Immutable; entries point into the source, which must outlive them.
#pragma once

#include <array>
#include <vector>

#include "model/vision_config.h"
#include "model/vision_tree.h"
#include "model/weight_list.h"

namespace octavo {

struct VisionWeightList {
  /// Makes the list. Errors name the tensor: it is missing, of a wrong shape, or not part of the family. Tensors of
  /// sound are skipped.
  static Result<VisionWeightList> create(const ModelSource& source, const VisionConfig& config);

  /// The bytes of memory that the weights take.
  std::uint64_t bytes(const VisionConfig& config) const;

  std::vector<ListedMatrix> matrices;  // in the order in which they are loaded
  std::vector<ListedVector> vectors;   // in the order in which they are loaded
  /// [width, patch_width] for each of two consecutive frames, whose products are added; the second may be absent. A
  /// picture counts as two equal frames.
  std::array<const SourceTensor*, 2> patch_kernels = {};
  const SourceTensor* transposed_down = nullptr;  // [projected width, text width]; null: `tensors` have the matrix
  VisionTensors<ListedForm> tensors;
};

}  // namespace octavo
