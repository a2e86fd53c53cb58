#include "model/weight_need.h"

#include <algorithm>

#include "model/weight_loader.h"
#include "source/tensor_names.h"

namespace octavo {
namespace {

// Names that llama.cpp's converters give to what images and sound go through, and to the heads of models that rank
// or embed texts.
constexpr std::string_view kOtherParts[] = {"v.", "a.", "mm.", "cls.", "dense_2.", "dense_3."};
// In a layer that borrows; originals have some there, and so have their files.
constexpr std::string_view kBorrowed[] = {tensor_names::kK, tensor_names::kV, tensor_names::kKNorm};

}  // namespace

bool is_skipped(const ModelConfig& config, std::string_view tensor) {
  if (std::ranges::any_of(kOtherParts, [&](std::string_view prefix) { return tensor.starts_with(prefix); }))
    return true;
  const std::optional<tensor_names::OfLayer> name = tensor_names::split(tensor);
  if (!name) return false;
  const int beyond = config.num_layers() + config.num_skipped_layers;
  if (name->layer >= config.num_layers()) return name->layer < beyond;
  const AttentionSpec* attention = config.layer(name->layer).attention();
  return attention != nullptr && attention->borrows_from &&
         std::ranges::find(kBorrowed, name->name) != std::end(kBorrowed);
}

ModelPart part_of(const ModelConfig& config, std::string_view tensor) {
  const ModelPart part = part_of(tensor);
  if (part == ModelPart::kRanking) return part;
  if (is_skipped(config, tensor)) return ModelPart::kSkipped;
  const std::optional<tensor_names::OfLayer> name = tensor_names::split(tensor);
  const bool attends = name && name->layer < config.num_layers() && config.layer(name->layer).attention() != nullptr;
  return part == ModelPart::kRecurrence && attends ? ModelPart::kAttention : part;
}

Result<WeightNeed> weight_need(const ModelSource& source, const ModelConfig& config, const MatrixTypes& types) {
  Weights weights;
  WeightLoader loader(source, config, types);
  OCTAVO_TRY_VOID(loader.list(weights));
  return loader.need();
}

}  // namespace octavo
