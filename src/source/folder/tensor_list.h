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
  std::vector<std::uint64_t> dims;  // in ggml's order: the row's length comes first
  DType type;
  std::unique_ptr<const FolderTensor> data;
};

/// The config of the language model, and the config of all parts.
struct ModelConfigs {
  JsonObject language;
  JsonObject whole;
  Math math;  // for numbers that the checkpoint has in another form
};

/// All tensors, in the order of their bytes. In a model that ranks, the rows of the output that `rank` names are the
/// matrix of scores. Errors: a tensor without a place in GGUF, or of a shape or type that is not supported; a missing
/// expert; an output although the config says that it is tied, or the reverse; a stop was asked for.
Result<std::vector<NamedTensor>> list_tensors(const Checkpoint& checkpoint, const Family& family,
                                              const ModelConfigs& configs, const std::optional<RankTokens>& rank,
                                              const std::stop_token& stop);

}  // namespace octavo
