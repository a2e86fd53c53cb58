// A copy of a tile of K and V as products read it, made once for many queries: floats, or integers in pairs.
//
// Widening takes turns with multiply-adds, and transposing token-major K takes longer than they do. An item whose
// queries do not fit into the registers at once would pay for either again and again. The copy holds the same values in
// blocks of its own, so that its results have the same bits. Integers in pairs are read in place; only the contiguous
// layout, which has them token by token, is copied.
#pragma once

#include "kernels/generic/attention_values.inl"

namespace octavo {
namespace {

/// The tokens of a block of the copy, in which vectors of tokens that are scored together lie side by side.
inline constexpr int kCopyBlock = 32;
inline constexpr int kCopyBlocks = kTileTokens / kCopyBlock;
inline constexpr int32_t kCopyBlockIds[] = {0, 1, 2, 3, 4, 5, 6, 7};
static_assert(kCopyBlocks == sizeof(kCopyBlockIds) / sizeof(int32_t) && kCopyBlock % kLanes == 0);

template <KvElement E>
inline constexpr KvElement kCopyElement = kInPairs<E> ? E : KvElement::kF32;

/// A copy of elements of type E in `floats`.
template <KvElement E>
inline KvLayer copy_layer(int k_dim, int v_dim, float* floats) {
  const size_t k_dims = (size_t)k_dim, element = sizeof(typename Kv<E>::Element);
  const size_t k_bytes = (size_t)kCopyBlock * (kInPairs<E> ? (k_dims + 1) / 2 * 2 : k_dims) * element;
  size_t v_bytes = (size_t)kCopyBlock * (size_t)v_dim * element;
  if constexpr (kInPairs<E>)
    v_bytes += (size_t)(kCopyBlock * (segments_of<E>(k_dim) + segments_of<E>(v_dim))) * sizeof(uint16_t);
  KvLayer copy{};
  copy.data = (uint8_t*)floats;
  copy.block_bytes = copy.head_bytes = k_bytes + v_bytes;
  copy.v_offset = (ptrdiff_t)k_bytes;
  copy.k_order = KOrder::kDimMajor;
  copy.block_size = kCopyBlock;
  copy.num_kv_heads = 1;
  copy.k_dim = k_dim;
  copy.v_dim = copy.token_stride = v_dim;
  return copy;
}

/// The part of an item that lies in the tile at `tile`, as an item over a copy of the tile.
inline AttentionItem item_of_copy(const AttentionItem& item, int tile) {
  AttentionItem copied = item;
  copied.blocks = kCopyBlockIds;
  copied.kv_head = 0;
  copied.begin = item.begin > tile ? item.begin - tile : 0;
  copied.end = item.end - tile < kTileTokens ? item.end - tile : kTileTokens;
  return copied;
}

/// A tile's positions and the place of its K and V, or of one of them: in the cache, or in a copy whose positions count
/// from the tile.
struct TileSource {
  KvLayer kv;
  AttentionItem at;  // blocks, kv_head, and begin and end as positions of the source
  int first = 0;     // subtracted from a position to give one of the source
};

/// Copies K of the kLanes tokens from `position`, as [k_dim] vectors kCopyBlock apart. Tokens outside the item are 0.
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
    __builtin_memset(gathered, 0, sizeof(Element) * (size_t)kv.k_dim * kLanes);
    const int first = item.begin > position ? item.begin - position : 0;
    const int end = item.end - position < kLanes ? item.end - position : kLanes;
    for (int lane = first; lane < end; ++lane) {
      const int block = (position + lane) / kv.block_size, token = (position + lane) % kv.block_size;
      gather_k<E>(kv, kv_head<E>(kv, item.blocks[block], item.kv_head).k, token, lane, gathered);
    }
  }
  for (int d = 0; d < kv.k_dim; ++d, k += stride, out += kCopyBlock) f32_store(out, Kv<E>::load(k));
}

/// Copies the positions that the item sees of the tile at `tile` into `copy`, whose positions count from the tile; of V
/// that lies in K nothing.
template <KvElement E>
  requires(!kInPairs<E>)
__attribute__((noinline)) void copy_tile(const KvLayer& kv, const AttentionItem& item, int tile, const KvLayer& copy) {
  const int begin = tile > item.begin ? tile : item.begin;
  const int end = tile + kTileTokens < item.end ? tile + kTileTokens : item.end;
  const auto block_of = [&](int p) {
    return kv_head<KvElement::kF32>(copy, kCopyBlockIds[(p - tile) / kCopyBlock], 0);
  };
  for (int p = begin / kLanes * kLanes; p < end; p += kLanes)
    copy_k<E>(kv, item, p, (float*)block_of(p).k + p % kCopyBlock);
  for (int p = begin; p < end && !kv.v_in_k; ++p) {
    const auto* v = kv_head<E>(kv, item.blocks[p / kv.block_size], item.kv_head).v +
                    (size_t)(p % kv.block_size) * (size_t)kv.token_stride;
    float* out = (float*)block_of(p).v + (size_t)(p % kCopyBlock) * (size_t)kv.v_dim;
    for_vectors(
        kv.v_dim, [&](int64_t d) { f32_store(out + d, Kv<E>::load(v + d)); },
        [&](int64_t d, int n) { f32_store_n(out + d, Kv<E>::load_n(v + d, n), n); });
  }
}

/// Does copy_tile() for integers in pairs, from the contiguous layout, where scales follow each token's elements.
template <KvElement E>
  requires(kInPairs<E>)
__attribute__((noinline)) void copy_tile(const KvLayer& kv, const AttentionItem& item, int tile, const KvLayer& copy) {
  using Element = typename Kv<E>::Element;
  const size_t k_dims = (size_t)kv.k_dim, v_dims = (size_t)kv.v_dim;
  const int begin = tile > item.begin ? tile : item.begin;
  const int end = tile + kTileTokens < item.end ? tile + kTileTokens : item.end;
  if (end - begin < kTileTokens) __builtin_memset(copy.data, 0, kCopyBlocks * copy.block_bytes);
  for (int p = begin; p < end; ++p) {
    const auto from = kv_head<E>(kv, item.blocks[p / kv.block_size], item.kv_head);
    const size_t row = (size_t)(p % kv.block_size) * (size_t)kv.token_stride;
    const Element *k = from.k + row, *v = from.v + row;
    const auto to = kv_head<E>(copy, (p - tile) / kCopyBlock, 0);
    const size_t slot = (size_t)((p - tile) % kCopyBlock);
    place_k_pairs<E>(copy, to, slot, 0, k_dims, k);
    place_v_pairs<E>(copy, to, slot, 0, v_dims, v);
    for (int g = 0; g < segments_of<E>(kv.k_dim); ++g)
      __builtin_memcpy((uint16_t*)to.k_scale + (size_t)(g * kCopyBlock) + slot, k + k_dims + g, sizeof(uint16_t));
    for (int g = 0; g < segments_of<E>(kv.v_dim); ++g)
      __builtin_memcpy((uint16_t*)to.v_scale + (size_t)(g * kCopyBlock) + slot, v + v_dims + g, sizeof(uint16_t));
  }
}

/// Whether that many passes over a tile are faster with a copy. Writing it takes as long as widening it four times on
/// Zen 4. On Zen 5, which widens beside multiply-adds, it costs an eighth of six passes and a thirtieth of sixteen.
/// Passes of three queries read it so often that its bytes, twice as many, cost more than widening does.
template <KvElement E>
inline bool copy_pays(const KvLayer& kv, int passes) {
  if (kInPairs<E>) return kv.k_order == KOrder::kTokenMajor;
  if (passes < 2) return false;
  if (kv.k_order == KOrder::kTokenMajor || kv.block_size < kLanes) return true;
  return E != KvElement::kF32 && passes > 10 && !kSmallPasses<E>;
}

}  // namespace
}  // namespace octavo
