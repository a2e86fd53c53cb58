// Element types of the KV cache: how a token's K and V are written and how vectors of them are read.
#pragma once

#include "kernels/generic/elementwise.inl"
#include "kernels/kernels.h"

namespace octavo {
namespace {

enum class KvElement { kF16, kBF16, kQ8_0, kF32, kI16 };  // the order of octavo::KvType

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
    // Values beyond the largest half become it: an infinity would make every later score of the sequence NaN.
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
      const bool is_nan = (bits & 0x7FFFFFFF) > 0x7F800000;  // rounding would carry into the exponent, or the sign
      out[i] = (uint16_t)(is_nan ? bits >> 16 | 0x40 : (bits + 0x7FFF + (bits >> 16 & 1)) >> 16);
    }
  }
};

/// Traits of elements that are multiplied as integers, never as single floats: int16 in pairs, whose sums over a
/// segment of kScaleDims dimensions are exact.
template <>
struct Kv<KvElement::kQ8_0> {
  using Element = int8_t;
  static constexpr int kScaleDims = kQ8ScaleDims, kTop = 127;
  static constexpr float kUnit = 1;  // the value of an element of 1, times its scale
  static I16 load_pairs(const Element* p) { return i16_widen(p); }
  /// The scale that is stored for a segment whose largest magnitude is `top`.
  static float scale_of(float top) { return top / (float)kTop; }
};

template <>
struct Kv<KvElement::kI16> {
  using Element = int16_t;
  static constexpr int kScaleDims = kI16ScaleDims, kTop = kI16One + kI16One / 1024;  // the scale may be rounded down
  static constexpr float kUnit = 1.0F / (float)kI16One;
  static I16 load_pairs(const Element* p) { return i16_load(p); }
  static float scale_of(float top) { return top; }
};

template <KvElement E>
inline constexpr bool kInPairs = E == KvElement::kQ8_0 || E == KvElement::kI16;

template <KvElement E>
inline int segments_of(int dim) {
  return (dim + Kv<E>::kScaleDims - 1) / Kv<E>::kScaleDims;
}

inline float half_value(const uint16_t* half) {
  float lanes[kLanes];
  f32_store(lanes, f32_load_f16_n(half, 1));
  return lanes[0];
}

/// The addresses of the parts of one KV head of a block.
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
  if constexpr (kInPairs<E>) {
    const size_t tokens = (size_t)kv.block_size;
    const uint16_t* scales = (const uint16_t*)(v + (tokens + 1) / 2 * 2 * (size_t)kv.token_stride);
    return {(const Element*)base, v, scales, scales + (size_t)segments_of<E>(kv.k_dim) * tokens};
  } else {
    return {(const Element*)base, v, nullptr, nullptr};
  }
}

/// Stores kLanes integers as elements.
inline void store_narrow(int8_t* out, I32 v) { i32_store_i8(out, v); }
inline void store_narrow(int16_t* out, I32 v) { i32_store_i16(out, v); }

/// Quantizes the n <= kScaleDims dimensions at x to integers and their scale. `out` has room for whole vectors.
template <KvElement E>
inline void quantize_segment(const float* x, int n, typename Kv<E>::Element* out, uint16_t* scale) {
  F32 magnitude = f32_zero();
  for_vectors(
      n, [&](int64_t i) { magnitude = f32_max(magnitude, f32_abs(f32_load(x + i))); },
      [&](int64_t i, int count) { magnitude = f32_max(magnitude, f32_abs(f32_load_n(x + i, count))); });
  const float largest = f32_max_of(magnitude), wanted = Kv<E>::scale_of(largest), largest_half = 65504.0F;
  f32_store_f16_n(scale, f32_set(wanted < largest_half ? wanted : largest_half), 1);
  // A subnormal half may be rounded down by so much that the largest value cannot be reached.
  if (wanted < largest_half && largest > half_value(scale) * Kv<E>::kUnit * ((float)Kv<E>::kTop + 0.5F)) ++*scale;
  const float unit = half_value(scale) * Kv<E>::kUnit;  // from the scale as it will be read
  const F32 factor = f32_set(unit > 0 ? 1.0F / unit : 0.0F), top = f32_set((float)Kv<E>::kTop);
  const auto rounded = [&](F32 v) {
    const F32 scaled = f32_mul(v, factor);
    return f32_round(f32_max(f32_min(scaled, top), f32_sub(f32_zero(), top)));
  };
  for_vectors(
      n, [&](int64_t i) { store_narrow(out + i, rounded(f32_load(x + i))); },
      [&](int64_t i, int count) { store_narrow(out + i, rounded(f32_load_n(x + i, count))); });
}

/// Writes elements first .. first + count of one head of a token where K lies in pairs of dimensions.
template <KvElement E>
inline void place_k_pairs(const KvLayer& kv, const KvHead<typename Kv<E>::Element>& at, size_t slot, size_t first,
                          size_t count, const typename Kv<E>::Element* k) {
  using Element = typename Kv<E>::Element;
  const size_t tokens = (size_t)kv.block_size;
  Element* const out = (Element*)at.k + 2 * slot + first * tokens;
  size_t i = 0;
  for (; i + 2 <= count; i += 2) __builtin_memcpy(out + i * tokens, k + i, 2 * sizeof(Element));
  if (i < count) out[i * tokens] = k[i];
}

/// Writes them where V lies in pairs of tokens.
template <KvElement E>
inline void place_v_pairs(const KvLayer& kv, const KvHead<typename Kv<E>::Element>& at, size_t slot, size_t first,
                          size_t count, const typename Kv<E>::Element* v) {
  using Element = typename Kv<E>::Element;
  Element* const out = (Element*)at.v + 2 * (slot / 2 * (size_t)kv.v_dim + first) + slot % 2;
  for (size_t i = 0; i < count; ++i) out[2 * i] = v[i];
}

/// Calls place(segment, first, count, integers, scale) for each segment of one head of a token.
template <KvElement E, class Place>
inline void quantize_head(const float* x, int dim, const Place& place) {
  typename Kv<E>::Element part[Kv<E>::kScaleDims];
  for (int begin = 0, g = 0; begin < dim; begin += Kv<E>::kScaleDims, ++g) {
    const int count = dim - begin < Kv<E>::kScaleDims ? dim - begin : Kv<E>::kScaleDims;
    uint16_t scale;
    quantize_segment<E>(x + begin, count, part, &scale);
    place((size_t)g, (size_t)begin, (size_t)count, part, scale);
  }
}

/// Writes one head of a token in pairs.
template <KvElement E>
inline void write_pairs(const KvLayer& kv, const KvHead<typename Kv<E>::Element>& at, int token, const float* k,
                        const float* v) {
  using Element = typename Kv<E>::Element;
  const size_t slot = (size_t)token, tokens = (size_t)kv.block_size;
  quantize_head<E>(k, kv.k_dim, [&](size_t g, size_t first, size_t count, const Element* part, uint16_t scale) {
    ((uint16_t*)at.k_scale)[g * tokens + slot] = scale;
    place_k_pairs<E>(kv, at, slot, first, count, part);
  });
  if (kv.v_in_k) return;
  quantize_head<E>(v, kv.v_dim, [&](size_t g, size_t first, size_t count, const Element* part, uint16_t scale) {
    ((uint16_t*)at.v_scale)[g * tokens + slot] = scale;
    place_v_pairs<E>(kv, at, slot, first, count, part);
  });
}

/// Writes one head of a token of the contiguous layout: elements, then scales.
template <KvElement E>
inline void write_token(int dim, typename Kv<E>::Element* out, const float* x) {
  using Element = typename Kv<E>::Element;
  quantize_head<E>(x, dim, [&](size_t g, size_t first, size_t count, const Element* part, uint16_t scale) {
    __builtin_memcpy(out + dim + g, &scale, sizeof(scale));
    __builtin_memcpy(out + first, part, count * sizeof(Element));
  });
}

/// Writes one head of a token as floats of some width: K in its order, V by token.
template <KvElement E>
inline void write_floats(const KvLayer& kv, const KvHead<typename Kv<E>::Element>& at, int token, const float* k,
                         const float* v) {
  using Element = typename Kv<E>::Element;
  constexpr int kPart = 64;  // the dimensions that are converted at a time
  const bool by_token = kv.k_order == KOrder::kTokenMajor;
  Element* k_out = (Element*)at.k + (size_t)token * (by_token ? (size_t)kv.token_stride : 1);
  const size_t stride = by_token ? 1 : (size_t)kv.block_size;
  if (!kv.v_in_k) Kv<E>::convert(v, kv.v_dim, (Element*)at.v + (size_t)token * (size_t)kv.token_stride);
  for (int d = 0; d < kv.k_dim; d += kPart) {
    const int count = kv.k_dim - d < kPart ? kv.k_dim - d : kPart;
    Element part[kPart];
    Kv<E>::convert(k + d, count, part);
    for (int i = 0; i < count; ++i) k_out[(size_t)(d + i) * stride] = part[i];
  }
}

template <KvElement E>
void write_kv(const KvLayer& kv, int32_t block, int token, const float* k, const float* v) {
  for (int head = 0; head < kv.num_kv_heads; ++head, k += kv.k_dim, v += kv.v_dim) {
    const auto at = kv_head<E>(kv, block, head);
    if constexpr (!kInPairs<E>) {
      write_floats<E>(kv, at, token, k, v);
    } else if (kv.k_order == KOrder::kDimMajor) {
      write_pairs<E>(kv, at, token, k, v);
    } else {
      const size_t row = (size_t)token * (size_t)kv.token_stride;
      write_token<E>(kv.k_dim, (typename Kv<E>::Element*)at.k + row, k);
      write_token<E>(kv.v_dim, (typename Kv<E>::Element*)at.v + row, v);
    }
  }
}

}  // namespace
}  // namespace octavo
