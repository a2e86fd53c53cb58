// The directory of a model source: the values of its keys and the places of its tensors, by name.
//
// A source fills it while it is opened; after that it is immutable. Names, texts and data are views into what the
// source keeps; moving a directory leaves them valid.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "source/metadata.h"
#include "tensor/tensor.h"

namespace octavo {

struct SourceTensor {
  std::string_view name;
  std::uint64_t offset = 0;              // the offset in the source, for ModelSource::read()
  std::vector<std::uint64_t> dims = {};  // in ggml's order: dims[0] is the row's length; 1 to 4 of them
  Tensor tensor = {};                    // cols = dims[0], rows = the product of the others
};

class SourceDirectory {
 public:
  using Entry = std::pair<std::string_view, MetadataValue>;

  /// Adds a key and gives its empty value, valid until the next call; nullptr: the key exists already.
  MetadataValue* add(std::string_view key);
  /// Adds a tensor, whose name must be new.
  void add(SourceTensor tensor);

  /// The keys in their order.
  const std::vector<Entry>& metadata() const { return metadata_; }
  const MetadataValue* find(std::string_view key) const;

  /// The tensors in their order.
  const std::vector<SourceTensor>& tensors() const { return tensors_; }
  std::span<SourceTensor> tensors() { return tensors_; }
  const SourceTensor* find_tensor(std::string_view name) const;

 private:
  std::vector<Entry> metadata_;
  std::map<std::string_view, std::size_t> metadata_index_;
  std::vector<SourceTensor> tensors_;
  std::map<std::string_view, std::size_t> tensor_index_;
};

}  // namespace octavo
