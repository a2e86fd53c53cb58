// Arguments of the kernels of rows, heads and attention, and the shapes of their launches. A plain header: kernels and
// the host include it. Pointers are addresses of the card.
#pragma once

#include <stdint.h>

#include "kernels/kernels.h"
#include "model/activation.h"

namespace octavo::gpu {

/// The threads of a block of the kernels of rows; where they take columns, one each.
inline constexpr int kRowThreads = 256;

/// The work on each row behind a part of a layer, and in front of the next one (cpu/residual_stream.h): h += bias; h =
/// post_norm(h); x += h; x *= scale; h = next_norm(x). A block a row.
struct FinishRowsArguments {
  float* x = nullptr;                // [rows, width]
  float* h = nullptr;                // [rows, width]
  const float* bias = nullptr;       // [width]; null: none
  const float* post_norm = nullptr;  // [width]; null: none
  const float* next_norm = nullptr;  // [width]; null: h becomes a copy of x
  float scale = 1, epsilon = 0;
  int width = 0, lanes = 16;  // lanes of sums: 8 or 16
  bool adds = false;          // false: there is no part behind, only the norm
};
/// Bytes of shared memory of a block; the same below.
constexpr int finish_rows_shared(int width) { return (width + 1) * (int)sizeof(float); }

/// out = activation(gate + gate_bias, up + up_bias), element by element. A block for kRowThreads columns (x) of a row
/// (y).
struct ActivateArguments {
  const float *gate, *up;            // [rows, width]; up null: of the gate alone
  const float *gate_bias, *up_bias;  // [width]; null: none
  float* out;                        // [rows, width]
  int width;
  Activation activation;
};

/// Row i of `to` becomes row rows[i] of `from`. A block for kRowThreads columns (x) of a row (y).
struct GatherRowsArguments {
  const float* from;
  const int32_t* rows;
  float* to;
  int width;
};

/// is_finite[row]: whether all numbers of a row are. A block a row.
struct FindFiniteArguments {
  const float* x;  // [rows, width]
  int32_t* is_finite;
  int width;
};
inline constexpr int kFindFiniteShared = sizeof(int32_t);

/// sums[i] = the sum, modulo 2^32, of all words that thread i of the grid reads: 16 bytes at a time, each kRowThreads
/// x blocks x 16 bytes behind those before.
struct ReadWordsArguments {
  const uint32_t* from;
  int64_t num_words;  // a multiple of 4
  uint32_t* sums;     // [blocks, kRowThreads]
};

/// The end of logits: y += bias, then y = cap tanh(y / cap). A block for kRowThreads columns (x) of a row (y).
struct FinishLogitsArguments {
  float* y;           // [rows, width]
  const float* bias;  // [width]; null: none
  float cap;          // 0: none
  int width;
};

/// The warps of a block of the kernels of heads, one head each.
inline constexpr int kHeadWarps = 4, kHeadThreads = kHeadWarps * 32;
constexpr int heads_shared(int head_dim) { return kHeadWarps * 2 * head_dim * (int)sizeof(float); }

/// The rotation of heads by the positions of rows.
struct RotationArguments {
  const float *cosines, *sines;  // [batch rows, num_rotated / 2]
  int num_rotated;               // 0: none
  bool halves;                   // element i with i + num_rotated / 2, otherwise 2i with 2i + 1
};
/// The work on each head.
struct HeadArguments {
  const float* norm;  // [head_dim]; null: none
  RotationArguments rope;
  float epsilon;
  int head_dim, lanes;
};

/// q = scale rotate(norm(products + bias)), head by head. A block for kHeadWarps heads (x) of a row (y).
struct FinishQueriesArguments {
  const float* products;     // [rows, num_heads, product_dim]: a head's queries, and behind them its gates or nothing
  float* q;                  // [rows, num_heads, head_dim]; without gates it may be the products
  const float* bias;         // [num_heads, product_dim]; null: none
  const float* scales;       // [batch rows] of scores
  const int32_t* batch_row;  // [rows] of the batch; null: row r is r
  HeadArguments head;
  int num_heads, product_dim;
};

/// x *= sigmoid(gate + bias), element by element; the gates of a head are behind its queries. A block for kRowThreads
/// columns (x) of a row (y).
struct GateAttendedArguments {
  float* x;               // [rows, num_heads, head_dim]
  const float* products;  // [rows, num_heads, 2 head_dim]
  const float* bias;      // [num_heads, 2 head_dim]; null: none
  int num_heads, head_dim;
};

/// Keys and values of one layer in the layout of the processor's blocks (KvLayer): paged, K by dimensions.
struct CardKvLayer {
  uint8_t* data;
  int64_t block_bytes, head_bytes, v_offset;
  int block_size, num_kv_heads, head_dim;
};

/// K and V of the batch's rows, behind bias, norm and rotation, into the cache. A block for kHeadWarps KV heads (x) of
/// a row (y).
struct WriteKvArguments {
  const float *k, *v;            // [rows, kv heads, head_dim]; v null: V is K before its norm
  const float *k_bias, *v_bias;  // [kv heads, head_dim]; null: none
  const int32_t* positions;      // [rows]
  const int32_t* first_block;    // [rows] of the row's sequence in `blocks`
  const int32_t* blocks;         // block of position p: blocks[first_block + p / block_size]
  CardKvLayer kv;
  HeadArguments head;
  bool v_norm;  // V is normed, without weights
};

/// The threads of a block of attention: one for each position of a tile.
inline constexpr int kAttentionThreads = kTileTokens;
/// The most queries of a block. Kernels are for 1, 2, 4 and 8.
inline constexpr int kMaxCardQueries = 8;

/// Neighbouring rows of a sequence with some query heads of each KV head; rows times heads are the queries.
struct AttentionEntry {
  int32_t first_row, num_rows;
  int32_t first_head, num_heads;  // of those that read a KV head
};

/// A block for an entry (x) and a KV head (y). Where there are partials, the entries come once for each tile (x /
/// num_entries) of those that they see.
struct AttentionArguments {
  CardKvLayer kv;
  const AttentionEntry* entries;
  const float* q;              // [rows, query heads, head_dim], scaled
  float* out;                  // the same
  float* partials;             // [tiles][rows, query heads][head_dim + 2]; null: a block goes over all tiles
  const float* sinks;          // [query heads]; null: none
  const int32_t* batch_row;    // [rows] of the batch; null: row r is r
  const int32_t* positions;    // [batch rows]
  const int32_t* first_block;  // [batch rows] of the row's sequence in `blocks`
  const int32_t* blocks;
  int num_entries, num_rows;
  int window;              // positions that a row sees, its own included; 0: all before it
  int heads_of_kv, lanes;  // query heads that read a KV head; lanes of sums: 8 or 16
  float soft_cap;          // 0: none
};

/// Memory of a block of attention with N queries.
template <int N>
struct AttentionMemory {
  float scores[N][kTileTokens];     // later weights
  int16_t rounded[N][kTileTokens];  // weights times the scales of V
  float top[N][8];                  // of each warp
  float unit[N];                    // what a score of 1 is worth
  float scale[N];                   // what a rounded weight is worth
  int lo[N], hi[N];                 // positions that query i sees of the tile; lo == hi: none
  int begin, end;                   // positions around all that any query sees of it
  int32_t sums[4][N][kI16ScaleDims];
  bool is_first[N];  // no earlier tile had a score

  // Behind it lie [N][head_dim] of q, as floats or int16, and the results of the tile and of all tiles so far,
  // [N][head_dim + 2] each.
};
template <int N>
constexpr int attention_shared(int head_dim) {
  return (int)sizeof(AttentionMemory<N>) + N * (head_dim + 2 * (head_dim + 2)) * (int)sizeof(float);
}

/// Partials of all tiles into the outputs. A warp for a query head (x) of a row (y).
struct MergeTilesArguments {
  const float* partials;  // [num_tiles][rows, query heads][head_dim + 2]
  const float* sinks;     // [query heads]; null: none
  float* out;             // [rows, query heads, head_dim]
  int num_tiles, num_rows, num_heads, head_dim;
};
constexpr int merge_tiles_shared(int head_dim) { return head_dim * (int)sizeof(float); }

}  // namespace octavo::gpu
