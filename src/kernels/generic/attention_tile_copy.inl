// A tile of K and V as floats, made once for many queries.
//
// Widening takes turns with multiply-adds, and turning token-major K round takes longer than they do, so an item whose
// queries do not fit into the registers at once would pay for either again and again. The copy holds the same values in
// blocks of its own, so that what is computed from it has the same bits.
#pragma once

#include "kernels/generic/attention_values.inl"

namespace octavo {
namespace {

/// Tokens of a block of the copy: the vectors of tokens that score together lie side by side.
inline constexpr int kCopyBlock = 32;
inline constexpr int kCopyBlocks = kTileTokens / kCopyBlock;
inline constexpr int32_t kCopyBlockIds[] = {0, 1, 2, 3, 4, 5, 6, 7};
static_assert(kCopyBlocks == sizeof(kCopyBlockIds) / sizeof(int32_t) && kCopyBlock % kLanes == 0);

inline KvLayer copy_layer(int head_dim, float* floats) {
  const size_t half = (size_t)kCopyBlock * (size_t)head_dim * sizeof(float);
  KvLayer copy{};
  copy.data = (uint8_t*)floats;
  copy.block_bytes = copy.head_bytes = 2 * half;
  copy.v_offset = (ptrdiff_t)half;
  copy.k_order = KOrder::kDimMajor;
  copy.block_size = kCopyBlock;
  copy.num_kv_heads = 1;
  copy.head_dim = copy.token_stride = head_dim;
  return copy;
}

/// K of the kLanes tokens from `position`, [head_dim] vectors kCopyBlock apart. Tokens outside the item become 0.
template <KvElement E>
inline void copy_k(const KvLayer& kv, const AttentionItem& item, int position, float* out) {
  using Element = typename Kv<E>::Element;
  Element gathered[kMaxHeadDim * kLanes];
  const Element* k = gathered;
  size_t stride = kLanes;
  if (kv.k_order == KOrder::kDimMajor && kv.block_size >= kLanes) {
    k = kv_head<E>(kv, item.blocks[position / kv.block_size], item.kv_head).k + position % kv.block_size;
    stride = (size_t)kv.block_size;
  } else {
    __builtin_memset(gathered, 0, sizeof(Element) * (size_t)kv.head_dim * kLanes);
    const int first = item.begin > position ? item.begin - position : 0;
    const int end = item.end - position < kLanes ? item.end - position : kLanes;
    for (int lane = first; lane < end; ++lane) {
      const int block = (position + lane) / kv.block_size, token = (position + lane) % kv.block_size;
      gather_k<E>(kv, kv_head<E>(kv, item.blocks[block], item.kv_head).k, token, lane, gathered);
    }
  }
  for (int d = 0; d < kv.head_dim; ++d, k += stride, out += kCopyBlock) f32_store(out, Kv<E>::load(k));
}

/// What the item sees of the tile at `tile`, into `copy`, whose positions count from the tile.
template <KvElement E>
__attribute__((noinline)) void copy_tile(const KvLayer& kv, const AttentionItem& item, int tile, const KvLayer& copy) {
  const int begin = tile > item.begin ? tile : item.begin;
  const int end = tile + kTileTokens < item.end ? tile + kTileTokens : item.end;
  const auto block_of = [&](int p) {
    return kv_head<KvElement::kF32>(copy, kCopyBlockIds[(p - tile) / kCopyBlock], 0);
  };
  for (int p = begin / kLanes * kLanes; p < end; p += kLanes)
    copy_k<E>(kv, item, p, (float*)block_of(p).k + p % kCopyBlock);
  for (int p = begin; p < end; ++p) {
    const auto* v = kv_head<E>(kv, item.blocks[p / kv.block_size], item.kv_head).v +
                    (size_t)(p % kv.block_size) * (size_t)kv.token_stride;
    float* out = (float*)block_of(p).v + (size_t)(p % kCopyBlock) * (size_t)kv.head_dim;
    for_vectors(
        kv.head_dim, [&](int64_t d) { f32_store(out + d, Kv<E>::load(v + d)); },
        [&](int64_t d, int n) { f32_store_n(out + d, Kv<E>::load_n(v + d, n), n); });
  }
}

/// Whether `groups` passes over a tile are faster with a copy. Writing it takes as long as widening it four times.
template <KvElement E>
inline bool copy_pays(const KvLayer& kv, int groups) {
  if (groups < 2) return false;
  if (kv.k_order == KOrder::kTokenMajor || kv.block_size < kLanes) return true;
  return E != KvElement::kF32 && groups > 5;
}

}  // namespace
}  // namespace octavo
