// Which of a file's tensors a model uses, and the memory that they take.
//
// Pure functions of a source and its specs.
#pragma once

#include <cstdint>
#include <string_view>

#include "base/aligned_buffer.h"
#include "model/config.h"
#include "model/model_part.h"
#include "model/weight_list.h"

namespace octavo {

/// True for a tensor of the file that text needs nothing of: of encoders of pictures and sound, of layers that predict
/// further tokens, K and V of layers that borrow another layer's, and the clusters of an assistant's words.
bool is_skipped(const ModelConfig& config, std::string_view tensor);

/// The part that a tensor belongs to, by its name and the kind of its layer.
ModelPart part_of(const ModelConfig& config, std::string_view tensor);

/// Floats that a vector takes with its padding: the next one begins at a cache line.
constexpr std::size_t vector_floats(std::size_t size) {
  constexpr std::size_t kAlign = kCacheLineBytes / sizeof(float);
  return (size + kAlign - 1) / kAlign * kAlign;
}

/// Memory that a model's weights take, in bytes; vectors, and the taps of convolutions, are kept as floats.
struct WeightNeed {
  std::uint64_t packed_bytes = 0;  // matrices in panels
  std::uint64_t mapped_bytes = 0;  // the bytes of these matrices in the file
  std::uint64_t turned_bytes = 0;  // in panels, those that lie in the file by columns: they are never left there
  std::uint64_t vector_bytes = 0;

  std::uint64_t bytes(bool is_packed) const {
    return vector_bytes + (is_packed ? packed_bytes : mapped_bytes + turned_bytes);
  }
};
WeightNeed weight_need(const WeightList& list);
/// Errors are those of WeightList::create().
Result<WeightNeed> weight_need(const ModelSource& source, const ModelConfig& config, const MatrixTypes& types = {});

}  // namespace octavo
