// The ids of the element types of tensors, as GGUF files write them. A plain header: kernels of every instruction set
// include it.
#pragma once

#include <stdint.h>

namespace octavo {

enum class DType : uint32_t {
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
  kIQ2_XXS = 16,
  kIQ2_XS = 17,
  kIQ3_XXS = 18,
  kIQ1_S = 19,
  kIQ4_NL = 20,
  kIQ3_S = 21,
  kIQ2_S = 22,
  kIQ4_XS = 23,
  kIQ1_M = 29,
  kBF16 = 30,
  kTQ1_0 = 34,
  kTQ2_0 = 35,
  kMXFP4 = 39,
  kNVFP4 = 40,
  kQ1_0 = 41,
  kQ2_0 = 42,
};

/// The order of tables that are indexed by type.
inline constexpr DType kAllDTypes[] = {
    DType::kF32,    DType::kF16,     DType::kBF16,  DType::kQ4_0,  DType::kQ4_1,  DType::kQ5_0,    DType::kQ5_1,
    DType::kQ8_0,   DType::kQ2_K,    DType::kQ3_K,  DType::kQ4_K,  DType::kQ5_K,  DType::kQ6_K,    DType::kIQ4_NL,
    DType::kIQ4_XS, DType::kTQ1_0,   DType::kTQ2_0, DType::kMXFP4, DType::kQ1_0,  DType::kIQ2_XXS, DType::kIQ2_XS,
    DType::kIQ2_S,  DType::kIQ3_XXS, DType::kIQ3_S, DType::kIQ1_S, DType::kIQ1_M, DType::kNVFP4,   DType::kQ2_0,
};
inline constexpr int kNumDTypes = (int)(sizeof(kAllDTypes) / sizeof(kAllDTypes[0]));

}  // namespace octavo
