// How much the error of each column of a matrix counts: the mean square of what it is multiplied by, as measured by
// llama.cpp's llama-imatrix. Read-only once loaded.
//
// Two forms: GGUF, with tensors NAME.in_sum2 and NAME.counts, and the older .dat (tools/imatrix in llama.cpp).
#pragma once

#include <filesystem>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "source/model_source.h"

namespace octavo {

class Importance {
 public:
  /// Reads a file of either form. Errors name the file, the entry and its fault.
  static Result<Importance> load(const std::filesystem::path& path);
  /// Reads the bytes of a .dat file; `name` stands for its path in messages.
  static Result<Importance> parse_dat(std::span<const std::byte> bytes, const std::string& name);
  static Result<Importance> from_source(const ModelSource& source);

  /// [matrices of the tensor, columns], all positive; a tensor of experts has a matrix for each. Empty: the file does
  /// not name this tensor. Error: the file has the tensor in another shape.
  Result<std::span<const float>> of(const SourceTensor& tensor) const;
  std::size_t num_tensors() const { return tensors_.size(); }

 private:
  std::string name_;  // the file's name
  std::map<std::string, std::vector<float>, std::less<>> tensors_;
};

}  // namespace octavo
