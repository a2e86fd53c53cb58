// The tensors of a checkpoint under GGUF's names, shapes and types.
#pragma once

#include <memory>
#include <stop_token>
#include <string>
#include <vector>

#include "source/folder/checkpoint.h"
#include "source/folder/family.h"
#include "source/folder/folder_tensor.h"
#include "tensor/tensor.h"

namespace octavo {

struct NamedTensor {
  std::string name;
  std::vector<std::uint64_t> dims;  // ggml's order: the row's length first
  DType type;
  std::unique_ptr<const FolderTensor> data;
};

/// All tensors, in the order of their bytes. `config` is that of the language model, `whole` that of all parts. Errors:
/// a tensor that GGUF has no place for, or whose shape or type is not supported; an expert that is missing; an output
/// of its own that the config says there is none of, or the reverse; a stop was asked for.
Result<std::vector<NamedTensor>> list_tensors(const Checkpoint& checkpoint, const Family& family,
                                              const JsonObject& config, const JsonObject& whole,
                                              const std::stop_token& stop);

}  // namespace octavo
