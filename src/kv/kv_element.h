// The sizes of the element types of the KV cache in memory (the layout: kernels.h, KvLayer).
#pragma once

#include <cstddef>

#include "base/error.h"
#include "base/to_size.h"
#include "kernels/kernels.h"
#include "octavo/kv/types.h"

namespace octavo {

constexpr std::size_t element_bytes(KvType type) {
  switch (type) {
    case KvType::kF32: return 4;
    case KvType::kQ8_0: return 1;
    case KvType::kF16:
    case KvType::kBF16:
    case KvType::kI16: return 2;
  }
  return 0;
}

/// Error: the number is no type's.
inline Result<void> check_type(KvType type) {
  if (static_cast<int>(type) < kNumKvTypes) return {};
  return fail("KV type: found number {}, expected i16, f16, bf16, q8_0 or f32", static_cast<int>(type));
}

/// The number of a head's dimensions that share a scale; 0: the type has no scales.
constexpr int scale_dims(KvType type) {
  return type == KvType::kQ8_0 ? kQ8ScaleDims : type == KvType::kI16 ? kI16ScaleDims : 0;
}

/// The number of scales of one token's K (or V) of one head.
constexpr std::size_t scales_per_head(KvType type, int dim) {
  const int dims = scale_dims(type);
  return dims == 0 ? 0 : to_size((dim + dims - 1) / dims);
}

}  // namespace octavo
