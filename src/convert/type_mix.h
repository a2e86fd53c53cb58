// The named mixes of a quantized file: the type that each tensor gets by its role.
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
/// The mix that a user named. Error: there is none of that name; it lists all names.
Result<TypeMix> parse_type_mix(const std::string& name);
/// The mix for the float type of most weights whose type can change, quantized ones left aside; none: all are
/// quantized.
std::optional<TypeMix> float_mix_of(const ModelSource& source);
/// The names of all mixes, separated by ", ".
std::string type_mix_names();

/// The facts about a model at which the rules look.
struct MixModel {
  std::uint64_t num_layers = 0;
  std::uint64_t num_experts = 0;
  std::uint64_t num_heads = 0, num_kv_heads = 0;  // the first layer's
  std::uint64_t num_value_tensors = 0;            // the number of layers that have a value tensor of their own
  bool has_output = false;                        // otherwise the embeddings are also the output
};

/// The facts about a tensor at which the rules look.
struct MixTensor {
  std::string_view name;
  std::uint64_t cols = 0;
  std::uint64_t layer = 0;        // 0 for tensors of no layer
  std::uint64_t value_index = 0;  // the layer's place among those with a value tensor
};

/// Whether the type of a matrix may change: no norm, router, convolution, patch kernel or position table.
bool takes_mix(std::string_view name, std::size_t num_dims);
/// Whether a tensor has the values of attention: attn_v, or a joined one of Q, K and V.
bool is_value_tensor(std::string_view name);

/// The type that the mix gives a tensor for which takes_mix() holds, whatever its shape.
DType mixed_type(const TypeMix& mix, const MixModel& model, const MixTensor& tensor);

/// The type, or the one that llama.cpp takes where a row of `cols` weights is no whole number of its blocks.
DType fitting_type(DType type, std::uint64_t cols);

}  // namespace octavo
