// The kernels of one instruction-set level, as a plain struct of function pointers.
//
// A table is chosen once at load (kernels/dispatch.h). Every function is pure: it reads its inputs, writes its output,
// allocates nothing and may run on any thread. A row's result depends neither on other rows that are computed with it
// nor on the cut of the work into calls. Plain header: every instruction set's unit includes it.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "kernels/act_tiles.h"
#include "kernels/packed_layout.h"
#include "kernels/xielu_numbers.h"
#include "tensor/dtype_id.h"

namespace octavo {

/// Rows of activations: floats for plain float weights, and their int8 or bf16 form for quantized ones.
struct ActivationRows {
  int64_t cols;
  const float* x;                  // [rows][cols]
  const uint8_t* tiles;            // int8 form (kernels/act_tiles.h)
  const uint8_t* bf16 = nullptr;   // bf16 form (there, too)
  const int8_t* joined = nullptr;  // the bytes of the int8 form side by side, where the level reads them
};

/// The form in which products read activations.
enum class ActivationForm : uint8_t {
  kFloat,       // ActivationRows::x
  kInt8Blocks,  // ActivationRows::tiles: int8 in blocks of kActBlock columns that share a scale
  kBf16Blocks,  // ActivationRows::bf16: bf16 in blocks of kActBlock columns
};

/// A weight matrix in packed panels (kernels/packed_layout.h).
struct PackedMatrix {
  DType type;
  int64_t rows, cols;  // outputs, inputs
  const uint8_t* data;
  float scale = 1;  // a factor of all weights, which NVFP4 alone has
};

/// y[r][n] = sum over k of w[n][k] x[r][k], for rows row_begin..row_end of x and the outputs of panels
/// panel_begin..panel_end of w. Row r of y begins at y + r * ldy. Both ends of the rows are ends of row tiles of the
/// form that is read (act_tiles.h). K is summed in ascending order of blocks.
using MatmulFn = void (*)(const PackedMatrix& w, const ActivationRows& x, int64_t panel_begin, int64_t panel_end,
                          int64_t row_begin, int64_t row_end, float* y, int64_t ldy);

/// Decodes row `row` of w into y[0 .. cols).
using DecodeRowFn = void (*)(const PackedMatrix& w, int64_t row, float* y);

enum class KOrder : uint8_t {
  kDimMajor,    // [k_dim][block_size]: a vector holds one dimension of consecutive tokens
  kTokenMajor,  // [block_size][k_dim], like V: a vector of tokens is transposed at a time
};

/// The K and V of one layer: blocks of `block_size` tokens, each block [kv_heads][head_bytes], a head being, where
/// token_stride is v_dim,
///     K       in k_order
///     V       [block_size][v_dim], v_offset bytes after K
///     K scale [ceil(k_dim / segment)][block_size]     IEEE halfs, q8_0 and i16 only, behind V
///     V scale [ceil(v_dim / segment)][block_size]     segment: kQ8ScaleDims or kI16ScaleDims
/// q8_0 and i16 lie in pairs, for integer products: K is [ceil(k_dim / 2)][block_size][2 dimensions], V is
/// [ceil(block_size / 2)][v_dim][2 tokens].
/// The contiguous layout is one block as long as the cache's capacity, token-major, with all V after all K. Scales of
/// i16 lie behind each token's elements there, and so between them.
/// With v_in_k, V is the first v_dim dimensions of K as they are stored, and has neither elements nor scales of its
/// own: token_stride is 0, so that K's scales lie at v_offset, right behind K. K is dim-major then.
struct KvLayer {
  uint8_t* data;
  size_t block_bytes;  // the distance from one block of this layer to the next
  size_t head_bytes;   // the distance from one head of a block to the next
  ptrdiff_t v_offset;
  size_t token_bytes;  // the bytes of K and V of one token and head, scales included
  KOrder k_order;
  int block_size, num_kv_heads;
  int k_dim, v_dim;  // of a head
  int token_stride;  // elements from one token to the next in V and in token-major K; v_dim where heads lie apart
  bool v_in_k = false;
};

/// The dimensions of a segment, which share a scale, in q8_0 and i16.
inline constexpr int kQ8ScaleDims = 32, kI16ScaleDims = 64;
/// A q8_0 scale is worth the integer 1. An i16 scale, too small for a half, is worth this integer, which the segment's
/// largest dimension becomes. It has 14 bits, so that 64 products with 14 more stay within 32.
inline constexpr int kI16One = 1 << 13;

/// Writes the K and V of one token, [kv_heads][k_dim] and [kv_heads][v_dim], rounded to the cache's type. V is not read
/// where it lies in K.
using WriteKvFn = void (*)(const KvLayer& kv, int32_t block, int token_in_block, const float* k, const float* v);

/// Attention is cut into tiles of this many positions, at multiples of this number, whatever the batch. Each tile has a
/// softmax of its own, and tiles are merged in the order of their positions.
inline constexpr int kTileTokens = 256;
/// The largest k_dim and v_dim.
inline constexpr int kMaxHeadDim = 576;
/// The most queries of one item, which share the tiles of K and V that the item loads.
inline constexpr int kMaxItemQueries = 128;
/// The queries whose sums are in registers at the same time, which share each vector of K and V.
inline constexpr int kMaxTileQueries = 8;
/// The most queries that wait for memory; more of them wait for their own products.
inline constexpr int kFewQueries = 4;

/// A row of the step with one query head of each KV head, and the positions begin <= p < end that it sees.
struct AttentionQuery {
  const float* q;  // [k_dim], scaled already; the query head that reads KV head 0
  float* out;      // [v_dim]
  int32_t begin, end;
  int32_t head = 0;  // the number of the query head among those of its KV head
};

/// A layer's additions to the softmax of its scores.
struct SoftmaxTerms {
  const float* sinks = nullptr;  // [query heads] logits that share in the sum of weights and have no value; null: none
  float soft_cap = 0;            // a score s becomes soft_cap tanh(s / soft_cap); 0: scores stay
};

/// One item of attention work: queries of one KV head over the positions begin .. end, which hold all that its queries
/// see, or whole tiles of it. The queries may belong to several sequences that share these blocks.
///
/// A tile's results are o[v_dim], max and sum of each query. With `partial` they stay there, for MergeTilesFn.
/// Otherwise tiles are merged, and outputs of queries whose last position is among the item's are written.
///
/// With `states` the item has only some of its queries' tiles; items before and after it have the others.
struct AttentionItem {
  const int32_t* blocks;          // block of position p: blocks[p / block_size]
  const AttentionQuery* queries;  // [num_queries]
  float* partial;                 // [tiles][num_queries][v_dim + 2], or null
  float* states;                  // [num_queries][v_dim + 2] merged so far, or null
  bool resumes;                   // whether `states` hold the results of positions before begin
  int32_t num_queries, kv_head;
  int32_t q_stride, out_stride;  // floats from the query heads of one KV head to those of the next
  int32_t begin, end;
  SoftmaxTerms terms = {};
  bool sums_of_16 = false;  // sums across positions or dimensions have 16 lanes, not as many as the level's vectors
};

/// Floats of scratch that an AttentionFn needs, for one thread.
constexpr int64_t attention_scratch_floats(int k_dim, int v_dim) {
  return (int64_t)(kMaxItemQueries + kMaxTileQueries) * (v_dim + 2) +  // the states and the results of a tile
         (int64_t)kTileTokens * (k_dim + v_dim + 2);                   // the copy of K and V of a tile
}

/// Memory that this thread will likely read after an item: neighbouring KV heads of some blocks, part after part. The
/// item fetches it during its last tile, evenly over its passes.
struct AttentionAhead {
  struct Part {
    const int32_t* blocks;
    int32_t num_blocks, first_head, num_heads;
  };
  static constexpr int kMaxParts = 4;
  Part parts[kMaxParts];
  int32_t num_parts = 0;
};

/// The item's blocks in the tile at position `tile`, of its KV head. The function is always inlined, because a level's
/// kernels and code for every processor use it.
[[gnu::always_inline]] constexpr AttentionAhead::Part blocks_of_tile(const AttentionItem& item, int tile,
                                                                     int block_size) {
  const int begin = (tile > item.begin ? tile : item.begin) / block_size;
  const int last = (tile + kTileTokens < item.end ? tile + kTileTokens : item.end) - 1;
  return {item.blocks + begin, last / block_size + 1 - begin, item.kv_head, 1};
}

using AttentionFn = void (*)(const KvLayer& kv, const AttentionItem& item, const AttentionAhead& next, float* scratch);

/// The results of queries of one KV head in consecutive tiles, which are merged into the states of earlier tiles.
struct TileMerge {
  const float* partials;          // [num_tiles][num_queries][v_dim + 2], `stride` floats from tile to tile
  float* states;                  // [num_queries][v_dim + 2]
  const AttentionQuery* queries;  // queries whose outputs are written; null: more tiles follow
  int64_t stride;
  ptrdiff_t head;  // the place of the KV head's first float in a query's out
  int32_t num_tiles, num_queries, v_dim;
  bool first;                    // there are no earlier tiles, and `states` has nothing yet
  const float* sinks = nullptr;  // the sinks of the KV head's query heads; null: none
};
using MergeTilesFn = void (*)(const TileMerge& merge);

/// Columns of a recurrent state that lie together, [rows][kStateColumns]; zeros fill up a head's last columns.
inline constexpr int kStateColumns = 32;

/// Consecutive tokens of one head of a gated delta net, with up to kStateColumns columns of its state and of V.
struct DeltaColumns {
  const float* q;      // [num_tokens] of [key_dim], `stride` floats apart, like the two below
  const float* k;      // [num_tokens] of [key_dim]
  float* v;            // [num_tokens] of [columns]; becomes the result
  const float* gates;  // [num_tokens] of {decay, beta}, `gate_stride` floats apart
  int64_t stride, gate_stride, num_tokens;
  int32_t key_dim, columns;
};

/// Consecutive tokens of one head of Mamba-2, with up to kStateColumns columns of its state and of x.
struct ScanColumns {
  const float* b;      // [num_tokens] of [state_dim], `stride` floats apart, like the two below
  const float* c;      // [num_tokens] of [state_dim]
  float* x;            // [num_tokens] of [columns]; becomes the result
  const float* steps;  // [num_tokens] of {decay, step}, `step_stride` floats apart
  int64_t stride, step_stride, num_tokens;
  float skip;  // times x, added to the result
  int32_t state_dim, columns;
};

/// The slope of the gate in clamped_swiglu, and the bound of both inputs (gpt-oss).
inline constexpr float kSwigluSlope = 1.702F, kSwigluLimit = 7.0F;

/// Index of WriteKvFn and AttentionFn tables; the order of octavo::KvType.
inline constexpr int kNumKvTypes = 5;

/// The place of a type in the tables.
static inline constexpr int type_index(DType type) {
  int index = 0;
  while (kAllDTypes[index] != type) ++index;
  return index;
}

struct KernelTable {
  MatmulFn matmul[kNumDTypes];
  ActivationForm activation_forms[kNumDTypes];
  PanelOrder panel_orders[kNumDTypes];
  DecodeRowFn decode_row[kNumDTypes];
  WriteKvFn write_kv[kNumKvTypes];
  AttentionFn attention[kNumKvTypes];
  MergeTilesFn merge_tiles;

  /// The rows of a row tile of the int8 form: 4 or 8.
  int tile_rows;
  /// Rows are cut between calls at multiples of it, which are ends of row tiles in every form that products read.
  int row_step;
  /// kJoinedRows where the quantizers below write rows side by side, too, for products that read them; else 0.
  int joined_rows;
  /// The int8 form of x[0 .. n), n a multiple of 32.
  void (*quantize_row)(const float* x, int64_t n, const ActPlace& out);
  /// The int8 form of 32 columns for `count` rows of a row tile, x + r * stride, from the row of `out` on.
  void (*quantize_column)(const float* x, int64_t stride, int count, const ActPlace& out);
  /// The same of the bf16 form; null where no product reads it.
  void (*round_row)(const float* x, int64_t n, const ActPlace& out);
  void (*round_column)(const float* x, int64_t stride, int count, const ActPlace& out);
  /// y = x / sqrt(mean(x^2) + eps) * weight. x and y may be the same.
  void (*rms_norm)(const float* x, const float* weight, int64_t n, float eps, float* y);
  /// y = (x - mean(x)) / sqrt(variance(x) + eps) * weight + bias (Ba, Kiros and Hinton, 2016); bias null: none. x and y
  /// may be the same.
  void (*layer_norm)(const float* x, const float* weight, const float* bias, int64_t n, float eps, float* y);
  /// x += y.
  void (*add)(float* x, const float* y, int64_t n);
  /// x *= s.
  void (*scale)(float* x, float s, int64_t n);
  /// Updates a state token after token (Yang, Kautz and Hatamizadeh, 2024): state = decay state, then state += k (beta
  /// (v - state^T k))^T, and v = state^T q. The result does not depend on the cut of tokens into calls.
  void (*delta_rule)(const DeltaColumns& columns, float* state);
  /// Updates a state token after token (Dao and Gu, 2024): state = decay state + step b x^T, and x = state^T c + skip
  /// x. The result does not depend on the cut of tokens into calls.
  void (*selective_scan)(const ScanColumns& columns, float* state);
  /// y[i] = silu(bias[i] + sum over j of taps[j][i] x[j][i]), j ascending; taps are [num_taps][n]; bias null: none.
  void (*short_conv)(const float* const* x, const float* taps, const float* bias, int num_taps, int64_t n, float* y);
  /// out = x / (1 + exp(-gate)).
  void (*sigmoid_mul)(const float* gate, const float* x, int64_t n, float* out);
  /// out = silu(gate) * up; silu(x) = x / (1 + exp(-x)).
  void (*silu_mul)(const float* gate, const float* up, int64_t n, float* out);
  /// out = gelu(gate) * up, with the tanh form of gelu (Hendrycks and Gimpel 2016); up null: gelu(gate).
  void (*gelu_mul)(const float* gate, const float* up, int64_t n, float* out);
  /// out = gelu(gate) * up, with the error function; up null: gelu(gate).
  void (*gelu_erf_mul)(const float* gate, const float* up, int64_t n, float* out);
  /// out = g sigmoid(kSwigluSlope g) (u + 1), with g = gate up to kSwigluLimit, and u = up within it on both sides. A
  /// NaN in either input is one in the output.
  void (*clamped_swiglu)(const float* gate, const float* up, int64_t n, float* out);
  /// The xIELU of gate. A NaN stays one.
  void (*xielu)(const float* gate, const XieluNumbers& numbers, int64_t n, float* out);
  /// out = gate^2 where gate is above 0, else 0 (So et al. 2021), times up where that is not null. A NaN stays one.
  void (*squared_relu)(const float* gate, const float* up, int64_t n, float* out);
  /// x = cap tanh(x / cap); a NaN stays one.
  void (*soft_cap)(float* x, float cap, int64_t n);
  /// Rotates one head by angles whose cosines and sines are given, [head_dim / 2] each (Su et al. 2021).
  void (*rope_neighbours)(float* x, const float* cosines, const float* sines, int64_t head_dim);
  void (*rope_halves)(float* x, const float* cosines, const float* sines, int64_t head_dim);

  /// The level's limits (kernels/machine.h). Reads whole lines of 64 bytes and asks for memory `ahead` bytes before its
  /// turn (0: not at all; it need not be there). The result depends on all that was read.
  uint64_t (*probe_read)(const uint8_t* data, size_t bytes, size_t ahead);
  /// `rounds` of products in registers, of bytes with int32 sums and of floats; operands are [16], 1 to 127. They give
  /// the number of multiply-adds done and a result that depends on all of them.
  int64_t (*probe_int8)(int64_t rounds, const int8_t* operands, int32_t* result);
  int64_t (*probe_float)(int64_t rounds, const int8_t* operands, float* result);

  /// The form in which products with weights of `type` read activations.
  ActivationForm activation_form(DType type) const { return activation_forms[type_index(type)]; }
  /// The order in which they read the weights.
  PanelOrder panel_order(DType type) const { return panel_orders[type_index(type)]; }
};

}  // namespace octavo
