// The named mixes of a quantized file: which type each tensor gets by the part it plays.
//
// The rules are llama.cpp's (llama_tensor_get_type in src/llama-quant.cpp), so that a file of a name has the size and
// quality that people know by it: values, down projections and the output are more sensitive than the rest.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "source/model_source.h"
#include "tensor/dtype.h"

namespace octavo {

struct TypeMix {
  std::string_view name;    // the name as asked for, such as "Q4_K_M"
  DType base;               // the type of most tensors
  std::uint32_t file_type;  // GGUF's general.file_type
  bool more_bits = false;   // "_M": half of the sensitive tensors have a larger type
  bool more_first = false;  // "_S" of four bits: the sensitive tensors of the first layers have a larger type
};

/// A mix by name, whatever the name's case. None: there is no such mix.
std::optional<TypeMix> find_type_mix(std::string_view name);
/// A mix by a user's name. Error: there is none, with the names of all.
Result<TypeMix> parse_type_mix(const std::string& name);
/// The mix of the float type that most weights of a model have whose type can change, quantized ones left aside; none:
/// all are quantized.
std::optional<TypeMix> float_mix_of(const ModelSource& source);
/// The names, separated by ", ".
std::string type_mix_names();

/// The facts about a model at which the rules look.
struct MixModel {
  std::uint64_t num_layers = 0;
  std::uint64_t num_experts = 0;
  std::uint64_t num_heads = 0, num_kv_heads = 0;  // of the first layer
  std::uint64_t num_value_tensors = 0;            // the number of layers that have a value tensor of their own
  bool has_output = false;                        // else the embeddings are the output, too
};

/// The facts about a tensor at which the rules look.
struct MixTensor {
  std::string_view name;
  std::uint64_t cols = 0;
  std::uint64_t layer = 0;        // 0 for tensors of no layer
  std::uint64_t value_index = 0;  // the layer's place among those with a value tensor
};

/// Whether the type of a matrix may change: it is no norm, router, convolution, kernel of patches, table of positions.
bool takes_mix(std::string_view name, std::size_t num_dims);
/// Whether a tensor carries values of attention: attn_v, or one that attention's inputs share.
bool is_value_tensor(std::string_view name);

/// The type that the mix gives a tensor for which takes_mix() holds, whatever its shape.
DType mixed_type(const TypeMix& mix, const MixModel& model, const MixTensor& tensor);

/// The type, or the one that llama.cpp takes where rows of `cols` weights are no whole blocks of it.
DType fitting_type(DType type, std::uint64_t cols);

}  // namespace octavo
