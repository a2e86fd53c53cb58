// Keys and values of one layer on the card, in the layout of the processor's blocks (kernels/kernels.h, KvLayer).
#pragma once

#include "gpu/kernels/arguments.h"
#include "gpu/kernels/functions.h"

namespace octavo::gpu {

/// The types of keys and values that the card has kernels for.
enum class CardKvType : uint8_t { kF16, kI16 };

/// The largest magnitude of an int16 in i16; it exceeds kI16One because a scale may be rounded down.
inline constexpr int kI16Top = kI16One + kI16One / 1024;

/// The parts of one head in a block; only i16 has scales.
struct CardKvHead {
  uint16_t *k, *v, *k_scale, *v_scale;
};

OCTAVO_GPU_DEVICE int segments_of(int head_dim) { return (head_dim + kI16ScaleDims - 1) / kI16ScaleDims; }

OCTAVO_GPU_DEVICE CardKvHead kv_head(const CardKvLayer& kv, int block, int head) {
  uint8_t* const base = kv.data + block * kv.block_bytes + head * kv.head_bytes;
  auto* const v = (uint16_t*)(base + kv.v_offset);
  uint16_t* const scales = v + (int64_t)(kv.block_size + 1) / 2 * 2 * kv.head_dim;
  return {(uint16_t*)base, v, scales, scales + segments_of(kv.head_dim) * kv.block_size};
}

/// The offset of dimension d of a token, in elements from the beginning of K, or of V.
template <CardKvType T>
OCTAVO_GPU_DEVICE int k_place(const CardKvLayer& kv, int token, int d) {
  if (T == CardKvType::kF16) return d * kv.block_size + token;
  return (d / 2 * kv.block_size + token) * 2 + d % 2;
}
template <CardKvType T>
OCTAVO_GPU_DEVICE int v_place(const CardKvLayer& kv, int token, int d) {
  if (T == CardKvType::kF16) return token * kv.head_dim + d;
  return (token / 2 * kv.head_dim + d) * 2 + token % 2;
}

}  // namespace octavo::gpu
