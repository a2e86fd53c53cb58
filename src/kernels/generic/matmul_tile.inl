// A tile of a matrix product: up to kTileVectors vectors of kLanes outputs by some rows of a row tile, K in ascending
// order. The vectors are those of a panel or, where a panel is one vector, of as many panels.
//
// The parts of a kernel are inlined by name (OCTAVO_KERNEL_PART of the level). The compiler, which has a budget for a
// whole unit, would make calls of some, and their sums would go through memory.
#pragma once

#include "kernels/generic/block_scales.inl"
#include "kernels/generic/matmul_low_bit.inl"
#include "kernels/generic/matmul_word_scales.inl"
#include "kernels/kernels.h"

namespace octavo {
namespace {

/// The difference between a byte and the weight that it stands for: a power of 2, or 0.
template <DType T>
constexpr int byte_offset() {
  return Weights<T>::kWide ? kWideBias : Weights<T>::kZero;
}
template <DType T>
constexpr int offset_shift() {
  constexpr int kOffset = byte_offset<T>(), kShift = __builtin_ctz(kOffset == 0 ? 1 : kOffset);
  static_assert(kOffset == 0 || kOffset == 1 << kShift);
  return kShift;
}

/// The start of the sums of products of sub-block `part` of an activation block: weights are bytes less kZero.
template <DType T, int R>
inline I32 first_sum(const ActTile<R>& x, int part, int r) {
  using W = Weights<T>;
  if constexpr (has_integer_scales(T)) {
    return i32_set(x.sum_pair[r]);
  } else {
    if constexpr (byte_offset<T>() == 0) return i32_zero();
    return i32_shl<offset_shift<T>()>(i32_set(W::kSubBlock == 32 ? x.minus_sum32[r] : x.minus_sum16[part][r]));
  }
}

/// Bytes of weights in the form that the product of their type takes.
template <DType T>
inline auto operand_of(U8 w) {
  if constexpr (Weights<T>::kWide) {
    return wide_operand(w);
  } else {
    return w;
  }
}
template <DType T>
using Operand = decltype(operand_of<T>(U8{}));

/// 32 weights of each of some vectors of outputs, `stride` bytes apart: read where they are multiplied, which leaves
/// registers for the sums.
template <DType T>
struct PackedQuads {
  const uint8_t* first;
  size_t stride;
  int g;  // the number of the 32 weights in their block

  template <int J>
  Operand<T> quad(int v) const {
    return operand_of<T>(Weights<T>::template quad<J>(first + (size_t)v * stride, g));
  }
};
/// 32 weights of one vector of outputs, in registers.
template <DType T>
struct LoadedQuads {
  const U8 (&q)[8];

  template <int J>
  Operand<T> quad(int /*v*/) const {
    return operand_of<T>(q[J]);
  }
};

/// Computes dot[v][r] = the weights of vector v times row `row` + r, over sub-block `Part` of an activation block. Rows
/// lie in the inner loop: their sums are independent of each other, and a sum waits for its own last product. Four
/// activations that meet several vectors are loaded once for them.
template <DType T, int Part, int V, int N, int R, class Quads>
OCTAVO_KERNEL_PART void dot_sub_block(const Quads& weights, const ActTile<R>& x, int row, I32 (&dot)[V][N]) {
  using W = Weights<T>;
  constexpr int kQuads = W::kSubBlock / kQuad, kFirst = Part * kQuads;
  for (int r = 0; r < N; ++r) {
    const I32 start = first_sum<T, R>(x, Part, row + r);
    for (int v = 0; v < V; ++v) dot[v][r] = start;
  }
  const auto for_rows = [&]<int J>(const auto& add) __attribute__((always_inline)) {
    Operand<T> w[V];
    for (int v = 0; v < V; ++v) w[v] = weights.template quad<kFirst + J>(v);
    for (int r = 0; r < N; ++r) {
      const auto a = u8_broadcast4(&x.q[row + r][(kFirst + J) * kQuad]);
      if constexpr (V == 1) {
        add(0, r, w[0], a);
      } else {
        const U8 loaded = a;
        for (int v = 0; v < V; ++v) add(v, r, w[v], loaded);
      }
    }
  };
  if constexpr (W::kWide) {
    for_constants<kQuads>([&]<int J>() __attribute__((always_inline)) {
      for_rows.template operator()<J>([&](int v, int r, const Operand<T>& w, auto a) __attribute__((always_inline)) {
        dot[v][r] = keep_chain<V * N>(dot_wide(dot[v][r], w, a));
      });
    });
  } else {
    constexpr int kQuadsAtOnce = small_sum_quads(W::kMaxByte) < kQuads ? small_sum_quads(W::kMaxByte) : kQuads;
    for_constants<kQuads / kQuadsAtOnce>([&]<int G>() __attribute__((always_inline)) {
      SmallSum sum[V][N];
      for (int v = 0; v < V; ++v)
        for (int r = 0; r < N; ++r) sum[v][r] = small_sum_of(dot[v][r]);
      for_constants<kQuadsAtOnce>([&]<int J>() __attribute__((always_inline)) {
        for_rows.template operator()<G * kQuadsAtOnce + J>(
            [&](int v, int r, U8 w, auto a)
                __attribute__((always_inline)) { sum[v][r] = keep_chain<V * N>(add_products(sum[v][r], w, a)); });
      });
      for (int v = 0; v < V; ++v)
        for (int r = 0; r < N; ++r) dot[v][r] = small_sum_end(sum[v][r], dot[v][r]);
    });
  }
}

/// Returns acc plus the products of 32 weights of one scale with row `row` of x; `dot` is their sum. `minimum` is the
/// weights' own where the type has one.
template <DType T, class Rows>
OCTAVO_KERNEL_PART F32 add_scaled(F32 acc, I32 dot, F32 scale, const F32* minimum, const Rows& x, int row) {
  acc = f32_fma(i32_to_f32(dot), f32_mul(scale, f32_set(x.scale[row])), acc);
  if constexpr (Weights<T>::kHasMin) acc = f32_fma(*minimum, f32_set(x.sum32[row]), acc);
  return acc;
}

/// add_scaled() for weights whose scale and minimum are a pair of integers, in units of their row.
template <class Rows>
OCTAVO_KERNEL_PART F32 add_scaled_pair(F32 acc, I32 dot, I16 scales, const Rows& x, int row) {
  return f32_fma(i32_to_f32(dot_pairs(i32_zero(), i16_pair_of(dot), scales)), f32_set(x.scale[row]), acc);
}

/// acc[v][r] += the 32 weights that meet activation block g times row `row` + r's activations. If its halves are
/// sub-blocks, they are added up before the scale of the activations, common to both, comes in. `scale` and `minimum`
/// are those of each vector's block.
template <DType T, int V, int N, int R, class Quads>
OCTAVO_KERNEL_PART void add_act_block(const Quads& weights, const F32* const (&scale)[V],
                                      const F32* const (&minimum)[V], int g, const ActTile<R>& x, int row,
                                      F32 (&acc)[V][N]) {
  using W = Weights<T>;
  constexpr int kParts = 32 / W::kSubBlock;  // the sub-blocks of the 32 weights
  F32 sum[V][N];
  for (int v = 0; v < V; ++v)
    for (int r = 0; r < N; ++r) sum[v][r] = f32_zero();  // GCC 12 for 64-bit ARM reads it before the first part sets it
  for_constants<kParts>([&]<int Part>() __attribute__((always_inline)) {
    const int s = sub_blocks<T>() == 1 ? 0 : g * kParts + Part;
    I32 dot[V][N];
    dot_sub_block<T, Part, V, N, R>(weights, x, row, dot);
    for (int r = 0; r < N; ++r) {
      for (int v = 0; v < V; ++v) {
        if constexpr (kParts == 1) {
          acc[v][r] =
              add_scaled<T>(acc[v][r], dot[v][r], scale[v][s], W::kHasMin ? minimum[v] + s : nullptr, x, row + r);
        } else {
          const F32 of_rows = f32_set(x.scale[row + r]), products = i32_to_f32(dot[v][r]);
          sum[v][r] = Part == 0 ? f32_mul(products, scale[v][s]) : f32_fma(products, scale[v][s], sum[v][r]);
          if constexpr (Part == kParts - 1) acc[v][r] = f32_fma(sum[v][r], of_rows, acc[v][r]);
          if constexpr (W::kHasMin) acc[v][r] = f32_fma(minimum[v][s], f32_set(x.sum16[Part][row + r]), acc[v][r]);
        }
      }
    }
  });
}

/// Computes acc[v][r] += the 32 weights of a block times row `row` + r's activations, in units of the weights' row. The
/// sum of products of q - 8 and the sum of the activations are one pair of integers, the block's scales another.
template <DType T, int V, int N, int R, class Quads>
OCTAVO_KERNEL_PART void add_pairs(const Quads& weights, const I16 (&scales)[V], const ActTile<R>& x, int row,
                                  F32 (&acc)[V][N]) {
  I32 dot[V][N];
  dot_sub_block<T, 0, V, N, R>(weights, x, row, dot);
  for (int r = 0; r < N; ++r)
    for (int v = 0; v < V; ++v) acc[v][r] = add_scaled_pair(acc[v][r], dot[v][r], scales[v], x, row + r);
}

/// Asks for portion `part` of `parts` of the lines ahead of the unit at byte `offset` of the panel. Always inlined,
/// like prefetch(): a call of it would be dropped.
template <DType T, int R>
OCTAVO_KERNEL_PART void prefetch_portion(const WeightStream& stream, size_t offset, int h, int part, int parts) {
  constexpr PackedBlock kB = packed_block(T);
  constexpr int kPasses = panel_passes<T>();
  constexpr int kLines = (unit_blocks(T) * (kB.quad_bytes + kB.scale_bytes) / 64 + kPasses - 1) / kPasses;
  constexpr PrefetchLead kLead = prefetch_lead<T, R>();
  const uint8_t* from = stream.ahead<kPasses>(offset, h, kLead.bytes) + part * kLines / parts * 64;
  for (int line = 0; line < (kLines + parts - 1) / parts; ++line) {
    if constexpr (kLead.far) prefetch_far(from + line * 64);
    if constexpr (!kLead.far) prefetch(from + line * 64);
  }
}

/// Computes acc[v][r] += 32 weights of vector h + v times row `row` + r of x. `scales`: of each vector's block.
template <DType T, int V, int N, int R, class Quads>
OCTAVO_KERNEL_PART void add_weights(const WeightStream& stream, const Quads& weights, int g, const uint8_t* scale_bytes,
                                    const BlockScales<T> (&scales)[V], int h, const ActTile<R>& x, int row,
                                    F32 (&acc)[V][N]) {
  if constexpr (has_integer_scales(T)) {
    I16 pairs[V];
    for (int v = 0; v < V; ++v)
      pairs[v] = Weights<T>::pairs(scale_bytes + (size_t)v * stream.next_panel(), h + v * stream.kNextVector);
    add_pairs<T, V, N, R>(weights, pairs, x, row, acc);
  } else {
    const F32 *scale[V], *minimum[V];
    for (int v = 0; v < V; ++v) scale[v] = scales[v].scale, minimum[v] = scales[v].minimum;
    add_act_block<T, V, N, R>(weights, scale, minimum, g, x, row, acc);
  }
}

/// Computes acc[v][r] += a K block of weights of vector h + v times row `row` + r of the row tile at x, which advances
/// to the next block. quads_of(g) gives the weights for activation block g, and ask() is called before each.
template <DType T, int V, int N, int R, class QuadsOf, class Ask>
OCTAVO_KERNEL_PART void add_block(const WeightStream& stream, const QuadsOf& quads_of, const uint8_t* scale_bytes,
                                  const BlockScales<T> (&scales)[V], int h, const ActTile<R>*& x, int row,
                                  F32 (&acc)[V][N], const Ask& ask) {
  constexpr int kActBlocks = packed_block(T).block / kActBlock;
  if constexpr (has_word_scales(T)) {
    WordSums sums[V][N];
    for (int v = 0; v < V; ++v)
      for (int r = 0; r < N; ++r) sums[v][r] = {f32_zero(), acc[v][r]};
    for (int g = 0; g < kActBlocks; ++g) {
      ask(g);
      add_word_block<T, V, N, R>(quads_of(g), scales, g, *x++, row, sums);
    }
    for (int v = 0; v < V; ++v)
      for (int r = 0; r < N; ++r) acc[v][r] = f32_fma(sums[v][r].scaled, scales[v].d, sums[v][r].rest);
  } else {
    for (int g = 0; g < kActBlocks; ++g) {
      ask(g);
      add_weights<T, V, N, R>(stream, quads_of(g), g, scale_bytes, scales, h, *x++, row, acc);
    }
  }
}

/// The quads of a panel's block from vector h on, for add_block().
template <DType T>
OCTAVO_KERNEL_PART auto packed_quads(const WeightStream& stream, const uint8_t* quads, int h) {
  return [first = quads + h * kRowBytes, stride = stream.next_quads()](int g)
             __attribute__((always_inline)) { return PackedQuads<T>{first, stride, g}; };
}

/// Computes acc[v][r] = kLanes outputs of vector h + v, times row r of a row tile that is alone.
template <DType T, int V, int R>
OCTAVO_KERNEL_PART void dot_tile(const WeightStream& stream, int64_t cols, int h, const ActTile<R>* x,
                                 F32 (&acc)[V][R]) {
  constexpr int kActBlocks = packed_block(T).block / kActBlock, kOfUnit = unit_blocks(T) * kActBlocks;
  for_blocks<T>(stream.panel, cols, [&](const uint8_t* unit, int b, const uint8_t* quads, const uint8_t* scales) {
    BlockScales<T> block[V];
    decode_scales<T, V>(stream, scales, h, block);
    const auto ask = [&](int g) __attribute__((always_inline)) {
      prefetch_portion<T, R>(stream, (size_t)(unit - stream.panel), h, b * kActBlocks + g, kOfUnit);
    };
    add_block<T, V, R, R>(stream, packed_quads<T>(stream, quads, h), scales, block, h, x, 0, acc, ask);
  });
}

/// Computes acc[v][r] = kLanes outputs of vector h + v, times row `row` + r of a row tile: one of several passes over
/// the panels; the next one asks for what follows. `decoded` are the scales of their blocks where the passes share them
/// (Decoded).
template <DType T, bool Decoded, int V, int N, int R>
OCTAVO_KERNEL_PART NextPanels dot_pass(const WeightStream& stream, NextPanels ahead, const BlockScales<T> (*decoded)[V],
                                       int64_t cols, int h, const ActTile<R>* x, int row, F32 (&acc)[V][N]) {
  const auto ask = [&](int) __attribute__((always_inline)) { ahead.read(); };
  for_blocks<T>(stream.panel, cols, [&](const uint8_t*, int, const uint8_t* quads, const uint8_t* scales) {
    const auto met = packed_quads<T>(stream, quads, h);
    if constexpr (Decoded) {
      add_block<T, V, N, R>(stream, met, scales, *decoded++, h, x, row, acc, ask);
    } else {
      BlockScales<T> block[V];
      decode_scales<T, V>(stream, scales, h, block);
      add_block<T, V, N, R>(stream, met, scales, block, h, x, row, acc, ask);
    }
  });
  return ahead;
}

template <DType T>
inline F32 load_plain(const uint8_t* p, int64_t element) {
  if constexpr (T == DType::kF32) return f32_load((const float*)p + element);
  if constexpr (T == DType::kF16) return f32_load_f16((const uint16_t*)p + element);
  if constexpr (T == DType::kBF16) return f32_load_bf16((const uint16_t*)p + element);
}

template <DType T, int V, int R, bool Prefetch>
OCTAVO_KERNEL_PART void dot_tile_plain(const WeightStream& stream, int64_t cols, int h, const float* x,
                                       F32 (&acc)[V][R]) {
  constexpr int kPasses = panel_passes<T>(), kLead = prefetch_lead<T, R>().bytes;
  constexpr int kColumnBytes = packed_block(T).scale_bytes, kColumnsAtOnce = 64 / kColumnBytes * kPasses;
  for (int64_t k = 0; k < cols; ++k) {
    F32 w[V];
    for (int v = 0; v < V; ++v) w[v] = load_plain<T>(stream.panel, k * kPanelRows + (h + v) * kLanes);
    if (Prefetch && k % kColumnsAtOnce == 0) prefetch(stream.ahead<kPasses>((size_t)k * kColumnBytes, h, kLead));
    for (int r = 0; r < R; ++r) {
      const F32 a = f32_set(x[r * cols + k]);
      for (int v = 0; v < V; ++v) acc[v][r] = f32_fma(w[v], a, acc[v][r]);
    }
  }
}

/// A place among the outputs: vector h of a stream's panels, whose first output is `output` of a row of y.
struct OutputPlace {
  int h;
  int64_t output;
  float* y;
  int64_t ldy;
};

/// Stores kLanes outputs of one row, or as many of them as the matrix has.
inline void store_outputs(F32 v, const PackedMatrix& w, int64_t output, float* row) {
  if (const int64_t left = w.rows - output; left >= kLanes) {
    f32_store(row + output, v);
  } else if (left > 0) {
    f32_store_n(row + output, v, (int)left);
  }
}

/// Stores rows row .. row + N of y for V vectors of outputs.
template <DType T, int V, int N>
OCTAVO_KERNEL_PART void store_tile(const WeightStream& stream, const PackedMatrix& w, const OutputPlace& out,
                                   int64_t row, F32 (&acc)[V][N]) {
  for (int v = 0; v < V; ++v) {
    const uint8_t* panel = stream.panel + (size_t)v * stream.next_panel();
    const int h = out.h + v * stream.kNextVector;
    if constexpr (has_integer_scales(T)) {
      const F32 unit = f32_load((const float*)(panel + place_of_units(T, w.cols)) + h * kLanes);
      for (int r = 0; r < N; ++r) acc[v][r] = f32_mul(acc[v][r], unit);
    }
    if constexpr (T == DType::kNVFP4)
      for (int r = 0; r < N; ++r) acc[v][r] = f32_mul(acc[v][r], f32_set(w.scale));
    for (int r = 0; r < N; ++r) store_outputs(acc[v][r], w, out.output + v * kLanes, out.y + (row + r) * out.ldy);
  }
}

/// Computes the row tile of R rows at `row`, for all vectors of one panel that are met together. Always inlined: as a
/// function of its own GCC 12 keeps a part of its addresses on the stack, and 32 rows of Q8_0 take 1.15 times as long.
template <DType T, int R, bool Prefetch>
OCTAVO_KERNEL_PART void tile(const WeightStream& stream, const PackedMatrix& w, const ActivationRows& a,
                             const OutputPlace& out, int64_t row) {
  constexpr int V = vectors_at_once<T>();
  F32 acc[V][R];
  for (int v = 0; v < V; ++v)
#pragma GCC unroll 8
    for (int r = 0; r < R; ++r) acc[v][r] = f32_zero();
  const auto* x = (const ActTile<R>*)(a.tiles + (size_t)row * act_row_bytes(a.cols));
  if constexpr (is_plain_float(T)) {
    dot_tile_plain<T, V, R, Prefetch>(stream, w.cols, out.h, a.x + row * a.cols, acc);
  } else if constexpr (is_low_bit(T)) {
    dot_tile_low_bit<T, R, Prefetch>(stream, w.cols, out.h, x, acc[0]);
  } else {
    dot_tile<T, V, R>(stream, w.cols, out.h, x, acc);
  }
  store_tile<T, V, R>(stream, w, out, row, acc);
}

}  // namespace
}  // namespace octavo
