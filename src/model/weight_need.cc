#include "model/weight_need.h"

#include <algorithm>

#include "base/to_size.h"
#include "kernels/pack.h"
#include "model/tensor_names.h"

namespace octavo {
namespace {

// As llama.cpp's converters name what images and sound go through.
constexpr std::string_view kEncoders[] = {"v.", "a.", "mm."};
// In a layer that borrows; originals have some there, and so have their files.
constexpr std::string_view kBorrowed[] = {tensor_names::kK, tensor_names::kV, tensor_names::kKNorm};

/// A tensor that becomes floats: of one row, but for a matrix that has no more, or of several.
bool is_vector(const SourceTensor& tensor) {
  const std::string_view name = tensor.name;
  if (tensor.tensor.rows == 1) return !name.ends_with(tensor_names::kSharedExpertGate);
  return name.ends_with(tensor_names::kConvolution) || name.ends_with(tensor_names::kExpertBiases);
}

}  // namespace

bool is_skipped(const ModelConfig& config, std::string_view tensor) {
  if (std::ranges::any_of(kEncoders, [&](std::string_view prefix) { return tensor.starts_with(prefix); })) return true;
  const std::optional<tensor_names::OfLayer> name = tensor_names::split(tensor);
  if (!name) return false;
  const int beyond = config.num_layers() + config.num_skipped_layers;
  if (name->layer >= config.num_layers()) return name->layer < beyond;
  const AttentionSpec* attention = config.layer(name->layer).attention();
  return attention != nullptr && attention->borrows_from &&
         std::ranges::find(kBorrowed, name->name) != std::end(kBorrowed);
}

WeightNeed weight_need(const ModelSource& source, const ModelConfig& config) {
  WeightNeed need;
  for (const SourceTensor& tensor : source.tensors()) {
    const Tensor& t = tensor.tensor;
    if (is_skipped(config, tensor.name)) continue;
    if (is_vector(tensor)) {
      need.vector_bytes += sizeof(float) * vector_floats(to_size(t.rows * t.cols));
    } else {  // each matrix of a third dimension has panels of its own
      std::int64_t count = tensor.dims.size() < 3 ? 1 : static_cast<std::int64_t>(tensor.dims[2]);
      if (std::string_view(tensor.name).ends_with(tensor_names::kGateUpOfExperts)) count *= 2;
      need.packed_bytes += to_size(count) * packed_bytes(t.type, t.rows / count, t.cols);
      need.mapped_bytes += t.data.size();
    }
  }
  return need;
}

}  // namespace octavo
