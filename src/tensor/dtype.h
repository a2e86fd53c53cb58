// Element types of tensors in a GGUF file: one row of a table per type.
//
// A quantized row is a run of blocks; a block holds `block_elements` weights in `block_bytes`
// bytes. Ids and layouts: https://github.com/ggml-org/ggml/blob/master/docs/gguf.md and ggml's
// quantization formats.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "tensor/dtype_id.h"

namespace octavo {

struct DTypeInfo {
  DType type;
  std::string_view name;
  int block_elements;  // weights in a block; 1 for plain floats
  int block_bytes;
};

/// The table's row for a supported type.
const DTypeInfo& dtype_info(DType type);

/// Whether weights are stored in blocks with scales, rather than each as a float.
inline bool is_quantized(DType type) { return dtype_info(type).block_elements > 1; }

/// The index of a supported type in kAllDTypes, for tables by type.
int dtype_index(DType type);

/// The type with this GGUF id, if Octavo supports it.
std::optional<DType> dtype_from_id(std::uint32_t id);

/// The name of any id that ggml has given out ("IQ2_XXS" for 16), supported or not; "unknown" for the rest.
std::string_view dtype_name_of_id(std::uint32_t id);

/// The reason for which an unsupported id is not read, as the end of a sentence; mostly empty.
std::string_view dtype_reason_of_id(std::uint32_t id);

/// The names of all supported types, separated by ", ", for error messages.
std::string supported_dtype_names();

/// The bytes of `num_elements` weights; nullopt if they are no whole number of blocks or do not fit in 64 bits.
std::optional<std::uint64_t> dtype_bytes(DType type, std::uint64_t num_elements);

}  // namespace octavo
