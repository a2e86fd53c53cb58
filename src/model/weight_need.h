// Which of a file's tensors a model uses, and the memory that they take.
//
// Pure functions of a source and its specs.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>

#include "base/aligned_buffer.h"
#include "model/config.h"
#include "model/model_part.h"
#include "tensor/dtype.h"

namespace octavo {

/// True for a tensor of the file that text needs nothing of: of encoders of pictures and sound, of heads that rank or
/// embed texts, of layers that predict further tokens, and K and V of layers that borrow another layer's.
bool is_skipped(const ModelConfig& config, std::string_view tensor);

/// By name and by the kind of its layer.
ModelPart part_of(const ModelConfig& config, std::string_view tensor);

/// Floats that a vector takes with its padding: the next one begins at a cache line.
constexpr std::size_t vector_floats(std::size_t size) {
  constexpr std::size_t kAlign = kCacheLineBytes / sizeof(float);
  return (size + kAlign - 1) / kAlign * kAlign;
}

/// Matrices, by their tensors' names, that have another type in memory than in the file.
using MatrixTypes = std::map<std::string, DType, std::less<>>;

/// Memory that a model's weights take, in bytes; vectors, and the taps of convolutions, are kept as floats.
struct WeightNeed {
  std::uint64_t packed_bytes = 0;  // matrices in panels
  std::uint64_t mapped_bytes = 0;  // the same matrices left in the file
  std::uint64_t vector_bytes = 0;
};
/// Errors are those of Weights::load() that need none of the weights' bytes: a tensor is missing, or has a wrong shape.
Result<WeightNeed> weight_need(const ModelSource& source, const ModelConfig& config, const MatrixTypes& types = {});

}  // namespace octavo
