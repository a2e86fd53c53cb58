// The kernels: what one instruction-set level offers, as a plain struct of function pointers.
//
// Chosen once at load (kernels/dispatch.h). Every function is pure: it reads its inputs, writes its output,
// allocates nothing and may run on any thread. What a row's result is does not depend on how many rows are
// computed with it, nor on how the work is cut into calls. Plain header: every instruction set's unit includes it.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "tensor/dtype_id.h"

namespace octavo {

/// Activations are quantized in blocks of this many.
inline constexpr int kActBlock = 32;

/// Rows of activations: floats, and their int8 form for quantized weights. Row r of `x` begins at x + r * cols;
/// the other arrays likewise with their own lengths.
struct ActivationRows {
  int64_t cols;
  const float* x;       // [rows][cols]; what plain float weights meet
  const int8_t* q;      // [rows][cols], -127 .. 127
  const float* scale;   // [rows][cols / 32]   x is about q * scale
  const float* sum32;   // [rows][cols / 32]   scale times the sum of the block's q
  const float* sum16;   // [rows][cols / 16]   the same for each half of a block
  const int32_t* bias;  // [rows][cols / 32]   what the level's byte products of eight-bit weights begin with
};

/// Where quantize_row puts one row; the arrays of ActivationRows.
struct QuantizedRow {
  int8_t* q;
  float *scale, *sum32, *sum16;
  int32_t* bias;
};

/// A weight matrix in packed panels (kernels/packed_layout.h).
struct PackedMatrix {
  DType type;
  int64_t rows, cols;  // outputs, inputs
  const uint8_t* data;
};

/// y[r][n] = sum over k of w[n][k] x[r][k], for rows row_begin..row_end of x and the outputs of panels
/// panel_begin..panel_end of w; row r of y begins at y + r * ldy. K is summed in ascending order.
using MatmulFn = void (*)(const PackedMatrix& w, const ActivationRows& x, int64_t panel_begin, int64_t panel_end,
                          int64_t row_begin, int64_t row_end, float* y, int64_t ldy);

/// Decodes row `row` of w into y[0 .. cols).
using DecodeRowFn = void (*)(const PackedMatrix& w, int64_t row, float* y);

enum class KOrder : uint8_t {
  kDimMajor,    // [head_dim][block_size]: one vector holds consecutive tokens' values of a dimension
  kTokenMajor,  // [block_size][head_dim]: as V; turned round a vector of tokens at a time
};

/// The K and V of one layer: blocks of `block_size` tokens, each block [kv_heads][head_bytes], a head being
///     K       in k_order
///     V       [block_size][head_dim], v_offset bytes after K
///     K scale [ceil(head_dim / 32)][block_size]      IEEE halfs, q8_0 only, which is dimension-major and without gaps
///     V scale [block_size][ceil(head_dim / 32)]
/// The contiguous layout is one block as long as the cache's capacity, token-major, with all V after all K.
struct KvLayer {
  uint8_t* data;
  size_t block_bytes;  // from one block of this layer to the next
  size_t head_bytes;   // from one head of a block to the next
  size_t v_offset;
  KOrder k_order;
  int block_size, num_kv_heads, head_dim;
};

/// Dimensions of a head that share a q8_0 scale.
inline constexpr int kKvScaleDims = 32;

/// Writes the K and V of one token, [kv_heads][head_dim] each, rounded to the cache's type.
using WriteKvFn = void (*)(const KvLayer& kv, int32_t block, int token_in_block, const float* k, const float* v);

/// Attention is cut into splits of this many positions, at multiples of it, whatever the batch; each split is
/// summed on its own and the splits are merged in the order of their positions.
inline constexpr int kSplitTokens = 256;
/// Largest head_dim.
inline constexpr int kMaxHeadDim = 512;
/// Queries (rows times heads of one KV head group) that share each loaded K and V.
inline constexpr int kMaxTileQueries = 8;

/// One item of attention work: up to kMaxTileQueries queries of one KV head, over splits split_begin .. split_end.
/// Query i belongs to row (first_query + i) / group of the sequence's rows in this step and to head
/// kv_head * group + (first_query + i) % group; its position is first_position + its row, and it sees the positions
/// from max(0, position - window + 1) to its own.
struct AttentionItem {
  const int32_t* blocks;  // the sequence's block table
  int32_t num_blocks;
  const float* q;  // first row of the sequence, [rows][num_heads][head_dim], scaled already
  float* out;      // as q; written when the item covers all splits of its queries
  float* partial;  // else: [splits][num_queries][head_dim + 2] (o, max, sum), at the item's first split
  int32_t first_query, num_queries;
  int32_t first_position;
  int32_t kv_head, group, num_heads;
  int32_t window;  // 0: none
  int32_t split_begin, split_end;
};
using AttentionFn = void (*)(const KvLayer& kv, const AttentionItem& item);

/// Merges `num_splits` partial results of `num_queries` queries, at partial [splits][num_queries][head_dim + 2], in
/// order, and writes the queries' outputs as the item that covers them would.
using MergeSplitsFn = void (*)(const AttentionItem& item, int head_dim, int num_splits);

/// Index of WriteKvFn and AttentionFn tables; the order of octavo::KvType.
inline constexpr int kNumKvTypes = 4;

struct KernelTable {
  MatmulFn matmul[kNumDTypes];
  DecodeRowFn decode_row[kNumDTypes];
  WriteKvFn write_kv[kNumKvTypes];
  AttentionFn attention[kNumKvTypes];
  MergeSplitsFn merge_splits;

  /// int8 form of x[0 .. n), n a multiple of 32.
  void (*quantize_row)(const float* x, int64_t n, const QuantizedRow& out);
  /// y = x / sqrt(mean(x^2) + eps) * weight. x and y may be the same.
  void (*rms_norm)(const float* x, const float* weight, int64_t n, float eps, float* y);
  /// x += y.
  void (*add)(float* x, const float* y, int64_t n);
  /// x *= s.
  void (*scale)(float* x, float s, int64_t n);
  /// out = silu(gate) * up; silu(x) = x / (1 + exp(-x)).
  void (*silu_mul)(const float* gate, const float* up, int64_t n, float* out);
  /// out = gelu(gate) * up, with the tanh form of gelu (Hendrycks and Gimpel 2016).
  void (*gelu_mul)(const float* gate, const float* up, int64_t n, float* out);
  /// Rotates one head by angles whose cosines and sines are given, [head_dim / 2] each (Su et al. 2021).
  void (*rope_neighbours)(float* x, const float* cosines, const float* sines, int64_t head_dim);
  void (*rope_halves)(float* x, const float* cosines, const float* sines, int64_t head_dim);
};

}  // namespace octavo
