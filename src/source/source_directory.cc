#include "source/source_directory.h"

#include "base/error.h"

namespace octavo {

MetadataValue* SourceDirectory::add(std::string_view key) {
  if (!metadata_index_.emplace(key, metadata_.size()).second) return nullptr;
  return &metadata_.emplace_back(key, MetadataValue{}).second;
}

void SourceDirectory::add(SourceTensor tensor) {
  const bool is_new = tensor_index_.emplace(tensor.name, tensors_.size()).second;
  OCTAVO_CHECK(is_new, "tensor {}", tensor.name);
  tensors_.push_back(std::move(tensor));
}

const MetadataValue* SourceDirectory::find(std::string_view key) const {
  const auto found = metadata_index_.find(key);
  return found == metadata_index_.end() ? nullptr : &metadata_[found->second].second;
}

const SourceTensor* SourceDirectory::find_tensor(std::string_view name) const {
  const auto found = tensor_index_.find(name);
  return found == tensor_index_.end() ? nullptr : &tensors_[found->second];
}

}  // namespace octavo
