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

namespace octavo {

/// Values are the ids used in GGUF files.
enum class DType : std::uint32_t {
  kF32 = 0,
  kF16 = 1,
  kQ4_0 = 2,
  kQ4_1 = 3,
  kQ5_0 = 6,
  kQ5_1 = 7,
  kQ8_0 = 8,
  kQ2_K = 10,
  kQ3_K = 11,
  kQ4_K = 12,
  kQ5_K = 13,
  kQ6_K = 14,
  kIQ4_NL = 20,
  kIQ4_XS = 23,
  kBF16 = 30,
  kTQ1_0 = 34,
  kTQ2_0 = 35,
  kMXFP4 = 39,
  kQ1_0 = 41,
};

inline constexpr DType kAllDTypes[] = {
    DType::kF32,    DType::kF16,   DType::kBF16,  DType::kQ4_0,  DType::kQ4_1, DType::kQ5_0, DType::kQ5_1,
    DType::kQ8_0,   DType::kQ2_K,  DType::kQ3_K,  DType::kQ4_K,  DType::kQ5_K, DType::kQ6_K, DType::kIQ4_NL,
    DType::kIQ4_XS, DType::kTQ1_0, DType::kTQ2_0, DType::kMXFP4, DType::kQ1_0,
};
inline constexpr int kNumDTypes = static_cast<int>(std::size(kAllDTypes));

struct DTypeInfo {
  DType type;
  std::string_view name;
  int block_elements;  // weights in a block; 1 for plain floats
  int block_bytes;
};

/// The table's row for a supported type.
const DTypeInfo& dtype_info(DType type);

/// Place of a supported type in kAllDTypes, for tables indexed by type.
int dtype_index(DType type);

/// The type with this GGUF id, if Octavo supports it.
std::optional<DType> dtype_from_id(std::uint32_t id);

/// The name of any id that ggml has given out ("IQ2_XXS" for 16), supported or not; "unknown" for the rest.
std::string_view dtype_name_of_id(std::uint32_t id);

/// Names of all supported types, separated by ", ", for error messages.
std::string supported_dtype_names();

/// Bytes of `num_elements` weights, a whole number of blocks; nullopt if it is not whole or does not fit in 64 bits.
std::optional<std::uint64_t> dtype_bytes(DType type, std::uint64_t num_elements);

}  // namespace octavo
