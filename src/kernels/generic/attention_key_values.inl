// V of a tile that is the first dimensions of K (KvLayer::v_in_k): turned from K's order into V's, once for all queries
// of an item.
//
// K lies by dimension, so that a score is a sum in one lane; values are sums over tokens, whose products want vectors
// of dimensions. Turning a tile takes about as many instructions as the products of one query, and a latent meets all
// query heads together. The copy has the stored numbers themselves, so that results have the bits of a V beside K.
#pragma once

#include "kernels/generic/attention_tile_copy.inl"

namespace octavo {
namespace {

/// The bytes of vectors in which K is turned: lanes of 16 bytes, each of which is turned for itself.
inline constexpr int kTurnBytes = kLanes < 8 ? 16 : 32;

template <class Unit>
struct TurnVector {
  using Type __attribute__((vector_size(kTurnBytes))) = Unit;
};

template <int... I>
struct Indices {};
template <int N, int... I>
struct MakeIndices : MakeIndices<N - 1, N - 1, I...> {};
template <int... I>
struct MakeIndices<0, I...> {
  using Type = Indices<I...>;
};

/// Turns the units of one half of each lane of a and b: a's and b's take turns.
template <class Unit, bool Upper, int... I>
inline auto zip_halves(typename TurnVector<Unit>::Type a, typename TurnVector<Unit>::Type b, Indices<I...>) {
  constexpr int kOfLane = 16 / (int)sizeof(Unit), kOfAll = kTurnBytes / (int)sizeof(Unit);
  return __builtin_shufflevector(
      a, b, (I / kOfLane * kOfLane + (Upper ? kOfLane / 2 : 0) + I % kOfLane / 2 + I % 2 * kOfAll)...);
}

/// Exchanges the second and third of every four elements: pairs of dimensions become pairs of tokens.
template <class Element, int... I>
inline auto pairs_of_tokens(typename TurnVector<Element>::Type a, Indices<I...>) {
  return __builtin_shufflevector(a, a, (I / 4 * 4 + (I % 4 == 1 ? 2 : I % 4 == 2 ? 1 : I % 4))...);
}

template <class Unit, int Lane, int... I>
inline auto lane_of(typename TurnVector<Unit>::Type a, Indices<I...>) {
  return __builtin_shufflevector(a, a, (Lane * (int)sizeof...(I) + I)...);
}

/// The unit that keeps its place while others are exchanged: an element, or in pairs two dimensions of two tokens.
template <class Element, bool InPairs>
struct TurnUnit {
  using Type = Element;
};
template <>
struct TurnUnit<float, false> {
  using Type = uint32_t;
};
template <>
struct TurnUnit<int8_t, true> {
  using Type = uint32_t;
};
template <>
struct TurnUnit<int16_t, true> {
  using Type = uint64_t;
};

/// Turns kTokens tokens of kDims dimensions.
template <KvElement E>
struct Turn {
  using Element = typename Kv<E>::Element;
  using Unit = typename TurnUnit<Element, kInPairs<E>>::Type;
  using Vector = typename TurnVector<Unit>::Type;
  static constexpr int kWide = kInPairs<E> ? 2 : 1;     // the dimensions, or tokens, that lie side by side
  static constexpr int kRows = 16 / (int)sizeof(Unit);  // the vectors that are turned together
  static constexpr int kDims = kWide * kRows;
  static constexpr int kTokens = kTurnBytes / 16 * kWide * kRows;

  /// `k`: the first element, dimensions `k_stride` apart; `v`: likewise, tokens `v_stride` apart.
  OCTAVO_KERNEL_PART static void turn(const Element* k, size_t k_stride, Element* v, size_t v_stride) {
    constexpr typename MakeIndices<kTurnBytes / (int)sizeof(Unit)>::Type kUnits{};
    Vector at[kRows];
#pragma GCC unroll 8
    for (int i = 0; i < kRows; ++i) at[i] = load(k + (size_t)(kWide * i) * k_stride);
#pragma GCC unroll 3
    for (int stage = 1; stage < kRows; stage *= 2) {
      Vector zipped[kRows];
#pragma GCC unroll 4
      for (int i = 0; i < kRows / 2; ++i) {
        zipped[2 * i] = zip_halves<Unit, false>(at[i], at[i + kRows / 2], kUnits);
        zipped[2 * i + 1] = zip_halves<Unit, true>(at[i], at[i + kRows / 2], kUnits);
      }
#pragma GCC unroll 8
      for (int i = 0; i < kRows; ++i) at[i] = zipped[i];
    }
#pragma GCC unroll 8
    for (int i = 0; i < kRows; ++i) {
      store<0>(at[i], v + (size_t)(kWide * i) * v_stride);
      if constexpr (kTurnBytes > 16) store<1>(at[i], v + (size_t)(kWide * (kRows + i)) * v_stride);
    }
  }

 private:
  template <int Lane>
  static void store(Vector from, Element* v) {
    const auto lane = lane_of<Unit, Lane>(from, typename MakeIndices<kRows>::Type());
    __builtin_memcpy(v, &lane, sizeof(lane));
  }
  static Vector load(const Element* k) {
    if constexpr (kInPairs<E>) {
      typename TurnVector<Element>::Type pairs;
      __builtin_memcpy(&pairs, k, sizeof(pairs));
      return (Vector)pairs_of_tokens<Element>(pairs, typename MakeIndices<kTurnBytes / (int)sizeof(Element)>::Type());
    } else {
      Vector elements;
      __builtin_memcpy(&elements, k, sizeof(elements));
      return elements;
    }
  }
};

/// Copies dimensions first_dim .. of the tokens of a block from `token` on to V of a block of the copy, from `slot` on.
template <KvElement E>
inline void copy_elements(const KvLayer& kv, const typename Kv<E>::Element* k, int token, int count, int first_dim,
                          const KvLayer& copy, typename Kv<E>::Element* v, int slot) {
  constexpr int kWide = Turn<E>::kWide;
  for (int t = 0; t < count; ++t, ++token, ++slot)
    for (int d = first_dim; d < copy.v_dim; ++d) {
      const int from = (d / kWide * kv.block_size + token) * kWide + d % kWide;
      const int to = (slot / kWide * copy.v_dim + d) * kWide + slot % kWide;
      v[to] = k[from];
    }
}

/// Copies V of the positions of the tile at `tile` that the item sees, and of whole vectors or blocks around them.
template <KvElement E>
__attribute__((noinline)) void copy_values(const KvLayer& kv, const AttentionItem& item, int tile,
                                           const KvLayer& copy) {
  using T = Turn<E>;
  const int begin = tile > item.begin ? tile : item.begin;
  const int end = tile + kTileTokens < item.end ? tile + kTileTokens : item.end;
  const int step = kv.block_size < T::kTokens ? kv.block_size : T::kTokens;
  const size_t k_stride = (size_t)kv.block_size, v_stride = (size_t)copy.v_dim;
  for (int p = begin / step * step; p < end; p += step) {
    const int token = p % kv.block_size, slot = (p - tile) % kCopyBlock;
    const auto from = kv_head<E>(kv, item.blocks[p / kv.block_size], item.kv_head);
    const auto to = kv_head<E>(copy, (p - tile) / kCopyBlock, 0);
    auto* const v = (typename Kv<E>::Element*)to.v;
    int d = 0;
    if (step == T::kTokens) {
      const auto* k_at = from.k + T::kWide * token;
      auto* v_at = v + (size_t)slot * v_stride;
      for (; d + T::kDims <= copy.v_dim; d += T::kDims, k_at += T::kDims * k_stride, v_at += T::kWide * T::kDims)
        T::turn(k_at, k_stride, v_at, v_stride);
    }
    copy_elements<E>(kv, from.k, token, step, d, copy, v, slot);
    if constexpr (kInPairs<E>)
      for (int g = 0; g < segments_of<E>(copy.v_dim); ++g)
        __builtin_memcpy((uint16_t*)to.v_scale + (g * kCopyBlock + slot), from.k_scale + (g * kv.block_size + token),
                         (size_t)step * sizeof(uint16_t));
  }
}

/// Where V of the tile at `tile` lies that is part of K at `keys`: in a copy, which is made in `floats`.
template <KvElement E>
inline TileSource copied_values(const TileSource& keys, const AttentionItem& item, int v_dim, int tile, float* floats) {
  TileSource values{copy_layer<E>(0, v_dim, floats), item_of_copy(item, tile), tile};
  copy_values<E>(keys.kv, keys.at, tile - keys.first, values.kv);
  return values;
}

}  // namespace
}  // namespace octavo
