#include "kv_library/decode_kv.h"

#include <cstring>
#include <utility>

#include "base/to_size.h"
#include "kv/kv_element.h"
#include "tensor/dequantize.h"

namespace octavo {
namespace {

/// The indexes of the first elements of a position's K and V, and the step between the dimensions of K.
struct Places {
  std::size_t k_first, k_stride, v_first;
};

Places places(const KvLayer& kv, int slot) {
  const auto at = to_size(slot), dim = to_size(kv.k_dim);
  const bool by_token = kv.k_order == KOrder::kTokenMajor;
  return {.k_first = by_token ? at * dim : at, .k_stride = by_token ? 1 : to_size(kv.block_size), .v_first = at * dim};
}

const std::uint8_t* head_data(const KvLayer& kv, BlockId block, int head) {
  return kv.data + to_size(block) * kv.block_bytes + to_size(head) * kv.head_bytes;
}

template <class T>
T load(const std::uint8_t* data, std::size_t index) {
  T value;
  std::memcpy(&value, data + index * sizeof(T), sizeof(T));
  return value;
}

template <class T, class Decode>
void decode_heads(const KvLayer& kv, BlockId block, int slot, float* key, float* value, Decode decode) {
  const Places at = places(kv, slot);
  const auto dim = to_size(kv.k_dim);
  for (int head = 0; head < kv.num_kv_heads; ++head, key += dim, value += dim) {
    const std::uint8_t* const k = head_data(kv, block, head);
    const std::uint8_t* const v = k + kv.v_offset;
    for (std::size_t d = 0; d < dim; ++d) {
      key[d] = decode(load<T>(k, at.k_first + d * at.k_stride));
      value[d] = decode(load<T>(v, at.v_first + d));
    }
  }
}

// Integers times the scale of their dimensions; K in pairs of dimensions, V in pairs of tokens, the scales behind V
// (kernels.h, KvLayer). `unit` is what an integer of 1 is worth, times the scale.
template <class T>
void decode_pairs(const KvLayer& kv, KvType type, float unit, BlockId block, int slot, float* key, float* value) {
  const auto dim = to_size(kv.k_dim), size = to_size(kv.block_size);
  const auto token = to_size(slot), run = to_size(scale_dims(type));
  const std::size_t groups = scales_per_head(type, kv.k_dim);
  for (int head = 0; head < kv.num_kv_heads; ++head, key += dim, value += dim) {
    const std::uint8_t* const k = head_data(kv, block, head);
    const std::uint8_t* const v = k + kv.v_offset;
    const std::uint8_t* const scales = v + (size + 1) / 2 * 2 * dim * sizeof(T);
    for (std::size_t d = 0; d < dim; ++d) {
      const std::size_t at = d / run * size + token;
      key[d] = static_cast<float>(load<T>(k, 2 * (d / 2 * size + token) + d % 2)) *
               (f16_to_f32(load<std::uint16_t>(scales, at)) * unit);
      value[d] = static_cast<float>(load<T>(v, 2 * (token / 2 * dim + d) + token % 2)) *
                 (f16_to_f32(load<std::uint16_t>(scales, groups * size + at)) * unit);
    }
  }
}

// Decodes the contiguous layout, which has a token's integers, then its scales.
void decode_i16_by_token(const KvLayer& kv, BlockId block, int slot, float* key, float* value) {
  const auto dim = to_size(kv.k_dim);
  const std::size_t row = to_size(slot) * to_size(kv.token_stride);
  for (int head = 0; head < kv.num_kv_heads; ++head) {
    const std::uint8_t* const k = head_data(kv, block, head);
    for (const auto& [from, to] : {std::pair{k, &key}, std::pair{k + kv.v_offset, &value}})
      for (std::size_t d = 0; d < dim; ++d)
        *(*to)++ = static_cast<float>(load<std::int16_t>(from, row + d)) *
                   (f16_to_f32(load<std::uint16_t>(from, row + dim + d / kI16ScaleDims)) / kI16One);
  }
}

}  // namespace

void decode_kv(const KvLayer& kv, KvType type, BlockId block, int slot, float* key, float* value) {
  switch (type) {
    case KvType::kF32: decode_heads<float>(kv, block, slot, key, value, [](float x) { return x; }); return;
    case KvType::kF16: decode_heads<std::uint16_t>(kv, block, slot, key, value, f16_to_f32); return;
    case KvType::kBF16: decode_heads<std::uint16_t>(kv, block, slot, key, value, bf16_to_f32); return;
    case KvType::kQ8_0: decode_pairs<std::int8_t>(kv, type, 1.0F, block, slot, key, value); return;
    case KvType::kI16:
      if (kv.k_order == KOrder::kTokenMajor)
        decode_i16_by_token(kv, block, slot, key, value);
      else
        decode_pairs<std::int16_t>(kv, type, 1.0F / kI16One, block, slot, key, value);
      return;
  }
}

KvView view_kv(const KvLayer& kv, BlockId block, int slot) {
  const Places at = places(kv, slot);
  const auto* const k = reinterpret_cast<const float*>(head_data(kv, block, 0));
  const auto* const v = reinterpret_cast<const float*>(head_data(kv, block, 0) + kv.v_offset);
  const auto head_stride = static_cast<std::ptrdiff_t>(kv.head_bytes / sizeof(float));
  return {.key = {k + at.k_first, head_stride, static_cast<std::ptrdiff_t>(at.k_stride)},
          .value = {v + at.v_first, head_stride, 1}};
}

}  // namespace octavo
