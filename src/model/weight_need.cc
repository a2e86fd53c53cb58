#include "model/weight_need.h"

#include <algorithm>

#include "kernels/pack.h"
#include "source/tensor_names.h"

namespace octavo {
namespace {

// Names that llama.cpp's converters give to what images and sound go through.
constexpr std::string_view kOtherParts[] = {"v.", "a.", "mm."};
// In a layer that borrows; originals have some there, and so have their files.
constexpr std::string_view kBorrowed[] = {tensor_names::kK, tensor_names::kV, tensor_names::kKNorm};

/// Whether a tensor is the one of two lists of factors that is not read.
bool is_other_list_of_factors(const ModelConfig& config, std::string_view tensor) {
  const RopeFactors read = config.rope_factors();
  return (tensor == tensor_names::kLongRopeFactors && read == RopeFactors::kOfShortContexts) ||
         (tensor == tensor_names::kShortRopeFactors && read == RopeFactors::kOfLongContexts);
}

}  // namespace

bool is_skipped(const ModelConfig& config, std::string_view tensor) {
  if (std::ranges::any_of(kOtherParts, [&](std::string_view prefix) { return tensor.starts_with(prefix); }))
    return true;
  if (config.is_assistant() && tensor.starts_with(tensor_names::kOfMaskedEmbedding)) return true;
  if (is_other_list_of_factors(config, tensor)) return true;
  if (tensor.starts_with("cls.")) return config.head.num_scores == 0;
  if (config.is_encoder && (tensor == tensor_names::kOutput || tensor == tensor_names::kOutputBias)) return true;
  const std::optional<tensor_names::OfLayer> name = tensor_names::split(tensor);
  if (!name) return false;
  const int beyond = config.num_layers() + config.num_skipped_layers;
  const int num_used = static_cast<int>(config.layers.size());
  if (name->layer >= num_used) return name->layer < beyond;
  const std::optional<KvLayerShape> shape = config.layer(name->layer).kv_shape();
  return shape && shape->borrows_from && std::ranges::find(kBorrowed, name->name) != std::end(kBorrowed);
}

ModelPart part_of(const ModelConfig& config, std::string_view tensor) {
  const ModelPart part = part_of(tensor);
  if (part == ModelPart::kRanking) return part;
  if (is_skipped(config, tensor)) return ModelPart::kSkipped;
  const std::optional<tensor_names::OfLayer> name = tensor_names::split(tensor);
  const bool attends =
      name && to_size(name->layer) < config.layers.size() && config.layer(name->layer).kv_shape().has_value();
  const bool is_beside = tensor.contains(".ssm_");  // attention in the same layer
  return part == ModelPart::kRecurrence && attends && !is_beside ? ModelPart::kAttention : part;
}

WeightNeed weight_need(const WeightList& list) {
  WeightNeed need;
  for (const ListedVector& v : list.vectors) need.vector_bytes += sizeof(float) * vector_floats(v.num_floats());
  for (const ListedMatrix& m : list.matrices) {
    const std::size_t bytes = to_size(m.count) * packed_bytes(m.type, m.rows, m.cols);
    need.packed_bytes += bytes;
    if (m.is_transposed) need.turned_bytes += bytes;
    if (!m.is_transposed) need.mapped_bytes += m.file_bytes();
  }
  return need;
}

Result<WeightNeed> weight_need(const ModelSource& source, const ModelConfig& config, const MatrixTypes& types) {
  OCTAVO_TRY(const WeightList list, WeightList::create(source, config, types));
  return weight_need(list);
}

}  // namespace octavo
