// How the tensors of a file become entries of a list, by name and shape.
#include "model/tensor_lister.h"

#include <fmt/ranges.h>

#include "base/text.h"
#include "model/weight_need.h"
#include "source/tensor_names.h"

namespace octavo {

Result<const SourceTensor*> TensorLister::find(const std::string& name, std::int64_t rows, std::int64_t cols,
                                               Presence presence) {
  const SourceTensor* tensor = presence == Presence::kAbsent ? nullptr : source_.find_tensor(name);
  if (tensor == nullptr) {
    if (presence != Presence::kRequired) return nullptr;
    return fail("{}: no tensor {}, which architecture {} needs", source_.name(), name, config_.architecture);
  }
  if (tensor->tensor.rows != rows || tensor->tensor.cols != cols)
    return fail("{}: tensor {} has {} rows of {}, expected {} rows of {} by the metadata of {}", source_.name(), name,
                tensor->tensor.rows, tensor->tensor.cols, rows, cols, config_.architecture);
  used_.insert(tensor->name);
  return tensor;
}

DType TensorLister::type_of(const SourceTensor& tensor) const {
  const auto other = types_.find(tensor.name);
  return other == types_.end() ? tensor.tensor.type : other->second;
}

Result<void> TensorLister::plain_matrix(const std::string& name, std::int64_t rows, std::int64_t cols,
                                        WeightIndex& target) {
  OCTAVO_TRY(const SourceTensor* tensor, find(name, rows, cols, Presence::kRequired));
  target = add({.source = tensor, .type = type_of(*tensor), .rows = rows, .cols = cols});
  return {};
}

WeightIndex TensorLister::add(const ListedMatrix& matrix) {
  list_.matrices.push_back(matrix);
  return {static_cast<int>(list_.matrices.size()) - 1};
}

/// NVFP4 has a factor by its format. Matrices of layers keep theirs when llama.cpp's tools make them another type.
Result<void> TensorLister::matrix(const std::string& name, std::int64_t rows, std::int64_t cols, WeightIndex& target,
                                  bool has_factor) {
  OCTAVO_TRY_VOID(plain_matrix(name, rows, cols, target));
  const bool is_nvfp4 = list_.matrix(target).source->tensor.type == DType::kNVFP4;
  if (!is_nvfp4 && !tensor_names::split(name)) return {};
  return scale(name, 1, target, has_factor || is_nvfp4);
}

/// The factors of `count` whole matrices, one a matrix, stand beside them as a tensor, and not at all if they are 1.
/// Others are those of activations in 4 bits, which are not made here.
Result<void> TensorLister::scale(const std::string& weights, int count, WeightIndex matrix, bool is_factor) {
  const std::string stem = stem_of(weights);
  if (is_factor) {
    WeightIndex factors;
    OCTAVO_TRY_VOID(vector(stem + ".scale", count, Presence::kOptional, factors));
    list_.matrices[to_size(matrix.value)].scale = factors;
  }
  for (const char* unread : {".scale", ".input_scale"}) {
    OCTAVO_TRY(const SourceTensor* tensor, find(stem + unread, 1, count, Presence::kOptional));
    static_cast<void>(tensor);
  }
  return {};
}

Result<const SourceTensor*> TensorLister::find_several(const std::string& name, int count, std::string_view what,
                                                       std::int64_t rows, std::int64_t cols) {
  const SourceTensor* tensor = source_.find_tensor(name);
  if (tensor != nullptr &&
      (tensor->dims.size() != 3 || tensor->tensor.cols != cols || static_cast<std::int64_t>(tensor->dims[1]) != rows ||
       tensor->dims[2] != static_cast<std::uint64_t>(count)))
    return fail("{}: tensor {} has the dimensions {}, expected {}, {}, {}: {} {} by the metadata of {}", source_.name(),
                name, fmt::join(tensor->dims, ", "), cols, rows, count, count, what, config_.architecture);
  return find(name, rows * count, cols, Presence::kRequired);
}

Result<void> TensorLister::vectors(const std::string& name, std::int64_t count, std::int64_t size, Presence presence,
                                   WeightIndex& target) {
  OCTAVO_TRY(const SourceTensor* tensor, find(name, count, size, presence));
  if (tensor == nullptr) return {};
  list_.vectors.push_back({.source = tensor});
  target.value = static_cast<int>(list_.vectors.size()) - 1;
  return {};
}

Result<void> TensorLister::scaled_bias(const std::string& name, WeightIndex matrix, Presence presence,
                                       WeightIndex& target) {
  const ListedMatrix& scaled = list_.matrix(matrix);
  OCTAVO_TRY_VOID(vector(name, scaled.rows, presence, target));
  if (is_present(target) && scaled.type != DType::kNVFP4) list_.vectors.back().scale = scaled.scale;
  return {};
}

Result<void> TensorLister::transposed(const std::string& name, std::int64_t rows, std::int64_t cols,
                                      WeightIndex& target) {
  OCTAVO_TRY_VOID(vectors(name, rows, cols, Presence::kRequired, target));
  list_.vectors.back().transposed = true;
  return {};
}

Result<void> TensorLister::parts(const std::string& name, std::initializer_list<Part> all, bool has_factor) {
  std::int64_t rows = 0, first = 0;
  for (const Part& part : all) rows += part.rows;
  OCTAVO_TRY(const SourceTensor* tensor, find(name, rows, config_.width, Presence::kRequired));
  for (const Part& part : all) {
    *part.target =
        add({.source = tensor, .type = type_of(*tensor), .rows = part.rows, .cols = config_.width, .first_row = first});
    OCTAVO_TRY_VOID(scale(name, 1, *part.target, has_factor || tensor->tensor.type == DType::kNVFP4));
    first += part.rows;
  }
  return {};
}

Result<void> TensorLister::check_all_used() const {
  for (const SourceTensor& tensor : source_.tensors())
    if (!used_.contains(tensor.name) && !is_skipped(config_, tensor.name))
      return fail("{}: tensor {} is not part of architecture {} as Octavo knows it", source_.name(), quote(tensor.name),
                  config_.architecture);
  return {};
}

Result<void> TensorLister::of_heads(const std::string& name, int num_heads, std::int64_t rows, std::int64_t cols,
                                    ExpertsIndex& target) {
  OCTAVO_TRY(const SourceTensor* tensor, find_several(name, num_heads, "heads", rows, cols));
  target.index = add({.source = tensor, .type = type_of(*tensor), .rows = rows, .cols = cols, .count = num_heads});
  return scale(name, num_heads, target.index, tensor->tensor.type == DType::kNVFP4);
}

}  // namespace octavo
