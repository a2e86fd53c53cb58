// The decoded scales of a panel's blocks: decoded as they are met, or once for several row tiles.
#pragma once

#include "kernels/generic/weights.inl"

namespace octavo {
namespace {

/// The scales of one block, decoded for vector h of a panel's outputs.
template <DType T>
struct BlockScales {
  F32 scale[sub_blocks<T>()], minimum[sub_blocks<T>()];

  void decode(const uint8_t* scales, int h) { Weights<T>::scales(scales, h, scale, minimum); }
};
template <DType T>
  requires(has_integer_scales(T))
struct BlockScales<T> {  // scales are read as they are multiplied
  void decode(const uint8_t*, int) {}
};
template <DType T>
  requires(!has_integer_scales(T) && !has_word_scales(T) && !Weights<T>::kHasMin)
struct BlockScales<T> {
  F32 scale[sub_blocks<T>()];
  static constexpr F32* minimum = nullptr;

  void decode(const uint8_t* scales, int h) { Weights<T>::scales(scales, h, scale, nullptr); }
};
/// Integers for sums of 16 bits, twice in each lane. A zero point is a minimum here: to subtract it in integers, too,
/// would cost more than its multiply-add.
template <DType T>
  requires(has_word_scales(T))
struct BlockScales<T> {
  I16 scale[sub_blocks<T>()];
  F32 minimum[sub_blocks<T>()];
  F32 d;

  void decode(const uint8_t* scales, int h) {
    using W = Weights<T>;
    d = half_field(scales, h);
    const F32 factor = W::kHasMin ? minimum_factor(scales, h) : times(d, (float)-W::kZero);
    W::integers(scales, h, [&](int i, auto integer, I32 min) {
      scale[i] = i16_twice(integer);
      minimum[i] = f32_mul(factor, i32_to_f32(W::kHasMin ? min : integer));
    });
  }
};

/// Decodes the scales of a block at `scales`, of V vectors from vector h on.
template <DType T, int V>
OCTAVO_KERNEL_PART void decode_scales(const WeightStream& s, const uint8_t* scales, int h, BlockScales<T> (&out)[V]) {
  for (int v = 0; v < V; ++v) out[v].decode(scales + (size_t)v * s.next_panel(), h + v * s.kNextVector);
}

/// Whether several row tiles share a block's decoded scales: where a row has more than an f16 or two of them, which are
/// put together from packed integers.
template <DType T>
constexpr bool decodes_scales_once() {
  return packed_block(T).scale_bytes > 2 * 2 * kPanelRows || T == DType::kNVFP4;
}

/// The scales of the blocks of V panels for vector h of their outputs, decoded once for several row tiles.
template <DType T, int V>
struct PanelScales {
  // Bounds the stack: 66 KiB, for Q6_K with AVX-512.
  static constexpr int64_t kMostBlocks = 64 * 256 / packed_block(T).block / V;
  static constexpr int64_t kMostCols = kMostBlocks * packed_block(T).block;
  BlockScales<T> of_block[kMostBlocks][V];

  PanelScales(const WeightStream& s, int64_t cols, int h) {
    auto* out = of_block;
    for_blocks<T>(s.panel, cols, [&](const uint8_t*, int, const uint8_t*, const uint8_t* scales) {
      decode_scales<T, V>(s, scales, h, *out++);
    });
  }
};

}  // namespace
}  // namespace octavo
