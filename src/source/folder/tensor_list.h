// The tensors of a checkpoint under GGUF's names, shapes and types.
#pragma once

#include <memory>
#include <stop_token>
#include <string>
#include <vector>

#include "base/math.h"
#include "source/folder/checkpoint.h"
#include "source/folder/family.h"
#include "source/folder/folder_tensor.h"
#include "source/folder/sentence_keys.h"
#include "tensor/tensor.h"

namespace octavo {

struct NamedTensor {
  std::string name;
  std::vector<std::uint64_t> dims;  // ggml's order: the row's length first
  DType type;
  std::unique_ptr<const FolderTensor> data;
};

/// The config of the language model, and that of all parts.
struct ModelConfigs {
  JsonObject language;
  JsonObject whole;
  Math math;  // what numbers that the checkpoint has in another form are computed with
};

/// All tensors, in the order of their bytes. Rows of the output are the matrix of scores of a model that ranks by
/// `rank`. Errors: a tensor that GGUF has no place for, or whose shape or type is not supported; an expert that is
/// missing; an output of its own that the config says there is none of, or the reverse; a stop was asked for.
Result<std::vector<NamedTensor>> list_tensors(const Checkpoint& checkpoint, const Family& family,
                                              const ModelConfigs& configs, const std::optional<RankTokens>& rank,
                                              const std::stop_token& stop);

}  // namespace octavo
