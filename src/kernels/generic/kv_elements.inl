// Element types of the KV cache: how a token's K and V are written and how vectors of them are read.
#pragma once

#include "kernels/kernels.h"

namespace octavo {
namespace {

enum class KvElement { kF16, kBF16, kQ8_0, kF32 };  // the order of octavo::KvType

template <KvElement E>
struct Kv;

template <>
struct Kv<KvElement::kF32> {
  using Element = float;
  static F32 load(const Element* p) { return f32_load(p); }
  static F32 load_n(const Element* p, int n) { return f32_load_n(p, n); }
  static void convert(const float* x, int n, Element* out) { __builtin_memcpy(out, x, (size_t)n * sizeof(float)); }
};

template <>
struct Kv<KvElement::kF16> {
  using Element = uint16_t;
  static F32 load(const Element* p) { return f32_load_f16(p); }
  static F32 load_n(const Element* p, int n) { return f32_load_f16_n(p, n); }
  static void convert(const float* x, int n, Element* out) {
    // Values beyond the largest half are held there: an infinity would make every later score of the sequence NaN.
    const F32 top = f32_set(65504.0F), bottom = f32_set(-65504.0F);
    for (int i = 0; i < n; i += kLanes) {
      const int count = n - i < kLanes ? n - i : kLanes;
      f32_store_f16_n(out + i, f32_max(f32_min(f32_load_n(x + i, count), top), bottom), count);
    }
  }
};

template <>
struct Kv<KvElement::kBF16> {
  using Element = uint16_t;
  static F32 load(const Element* p) { return f32_load_bf16(p); }
  static F32 load_n(const Element* p, int n) { return f32_load_bf16_n(p, n); }
  static void convert(const float* x, int n, Element* out) {
    for (int i = 0; i < n; ++i) {
      uint32_t bits;
      __builtin_memcpy(&bits, x + i, 4);
      out[i] = (uint16_t)((bits + 0x7FFF + (bits >> 16 & 1)) >> 16);
    }
  }
};

template <>
struct Kv<KvElement::kQ8_0> {
  using Element = int8_t;  // multiplied as integers, never as one float
};

inline int scale_groups_of(int head_dim) { return (head_dim + kKvScaleDims - 1) / kKvScaleDims; }

/// Where one KV head of a block keeps its parts.
template <class Element>
struct KvHead {
  const Element* k;
  const Element* v;
  const uint16_t* k_scale;
  const uint16_t* v_scale;
};

template <KvElement E>
inline KvHead<typename Kv<E>::Element> kv_head(const KvLayer& kv, int32_t block, int head) {
  using Element = typename Kv<E>::Element;
  const uint8_t* base = kv.data + (size_t)block * kv.block_bytes + (size_t)head * kv.head_bytes;
  const Element* v = (const Element*)(base + kv.v_offset);
  if constexpr (E == KvElement::kQ8_0) {
    const size_t tokens = (size_t)kv.block_size;
    const uint16_t* scales = (const uint16_t*)(v + (tokens + 1) / 2 * 2 * (size_t)kv.head_dim);
    return {(const Element*)base, v, scales, scales + (size_t)scale_groups_of(kv.head_dim) * tokens};
  } else {
    return {(const Element*)base, v, nullptr, nullptr};
  }
}

/// int8 of up to kKvScaleDims dimensions, and their scale.
inline void quantize_head(const float* x, int n, int8_t* out, uint16_t* scale) {
  float top = 0;
  for (int i = 0; i < n; ++i) {
    const float magnitude = __builtin_fabsf(x[i]);
    top = magnitude > top ? magnitude : top;
  }
  const float largest_scale = 65504.0F;
  f32_store_f16_n(scale, f32_set(top / 127.0F < largest_scale ? top / 127.0F : largest_scale), 1);
  float lanes[kLanes];
  f32_store(lanes, f32_load_f16_n(scale, 1));
  const float d = lanes[0];  // the scale as it will be read
  for (int i = 0; i < n; ++i) {
    const float v = d > 0 ? x[i] / d : 0.0F;
    const float clamped = v < -127.0F ? -127.0F : v > 127.0F ? 127.0F : v;
    out[i] = (int8_t)(int32_t)__builtin_rintf(clamped);
  }
}

/// One head of a token in pairs: K of dimensions, V of tokens.
inline void write_pairs(const KvLayer& kv, const KvHead<int8_t>& at, int token, const float* k, const float* v) {
  int8_t part[kKvScaleDims];
  const size_t tokens = (size_t)kv.block_size, slot = (size_t)token, dims = (size_t)kv.head_dim;
  for (int begin = 0, g = 0; begin < kv.head_dim; begin += kKvScaleDims, ++g) {
    const int count = kv.head_dim - begin < kKvScaleDims ? kv.head_dim - begin : kKvScaleDims;
    const size_t first = (size_t)begin;
    quantize_head(k + begin, count, part, (uint16_t*)at.k_scale + (size_t)g * tokens + slot);
    for (size_t i = 0; i < (size_t)count; ++i) ((int8_t*)at.k)[2 * ((first + i) / 2 * tokens + slot) + i % 2] = part[i];
    quantize_head(v + begin, count, part, (uint16_t*)at.v_scale + (size_t)g * tokens + slot);
    for (size_t i = 0; i < (size_t)count; ++i) ((int8_t*)at.v)[2 * (slot / 2 * dims + first + i) + slot % 2] = part[i];
  }
}

/// One head of a token as floats of some width: K in its order, V by token.
template <KvElement E>
inline void write_floats(const KvLayer& kv, const KvHead<typename Kv<E>::Element>& at, int token, const float* k,
                         const float* v) {
  using Element = typename Kv<E>::Element;
  constexpr int kPart = 64;  // dimensions converted at a time
  const bool by_token = kv.k_order == KOrder::kTokenMajor;
  Element* k_out = (Element*)at.k + (size_t)token * (by_token ? (size_t)kv.token_stride : 1);
  const size_t stride = by_token ? 1 : (size_t)kv.block_size;
  Kv<E>::convert(v, kv.head_dim, (Element*)at.v + (size_t)token * (size_t)kv.token_stride);
  for (int d = 0; d < kv.head_dim; d += kPart) {
    const int count = kv.head_dim - d < kPart ? kv.head_dim - d : kPart;
    Element part[kPart];
    Kv<E>::convert(k + d, count, part);
    for (int i = 0; i < count; ++i) k_out[(size_t)(d + i) * stride] = part[i];
  }
}

template <KvElement E>
void write_kv(const KvLayer& kv, int32_t block, int token, const float* k, const float* v) {
  for (int head = 0; head < kv.num_kv_heads; ++head, k += kv.head_dim, v += kv.head_dim) {
    if constexpr (E == KvElement::kQ8_0) {
      write_pairs(kv, kv_head<E>(kv, block, head), token, k, v);
    } else {
      write_floats<E>(kv, kv_head<E>(kv, block, head), token, k, v);
    }
  }
}

}  // namespace
}  // namespace octavo
