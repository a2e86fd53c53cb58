// Arguments of the kernels of rows, heads and attention, and the shapes of their launches. A plain header: kernels and
// the host include it. Pointers are addresses of the card.
#pragma once

#include <stdint.h>

#include "kernels/kernels.h"
#include "model/activation.h"

namespace octavo::gpu {

/// The threads of a block of kernels of rows. Where these go over columns, each thread takes one.
inline constexpr int kRowThreads = 256;

/// The work on each row between two parts of a layer (cpu/residual_stream.h): h += bias; h = post_norm(h); x += h; x *=
/// scale; h = next_norm(x). One block for each row.
struct FinishRowsArguments {
  float* x = nullptr;                // [rows, width]
  float* h = nullptr;                // [rows, width]
  const float* bias = nullptr;       // [width]; null: none
  const float* post_norm = nullptr;  // [width]; null: none
  const float* next_norm = nullptr;  // [width]; null: h becomes a copy of x
  float scale = 1, epsilon = 0;
  int width = 0, lanes = 16;  // `lanes`: 8 or 16, in sums
  bool adds = false;          // false: no part came before, and there is only the norm
};
/// The bytes of shared memory of a block, as in all functions of this kind below.
constexpr int finish_rows_shared(int width) { return (width + 1) * (int)sizeof(float); }

/// out = activation(gate + gate_bias, up + up_bias), element by element. One block for kRowThreads columns (x) of a row
/// (y).
struct ActivateArguments {
  const float *gate, *up;            // [rows, width]; up null: the activation has no second factor
  const float *gate_bias, *up_bias;  // [width]; null: none
  float* out;                        // [rows, width]
  int width;
  Activation activation;
};

/// Row i of `to` becomes row rows[i] of `from`. One block for kRowThreads columns (x) of a row (y).
struct GatherRowsArguments {
  const float* from;
  const int32_t* rows;
  float* to;
  int width;
};

/// is_finite[row]: whether all numbers of a row are finite. One block for each row.
struct FindFiniteArguments {
  const float* x;  // [rows, width]
  int32_t* is_finite;
  int width;
};
inline constexpr int kFindFiniteShared = sizeof(int32_t);

/// sums[i] = the sum, modulo 2^32, of all words that thread i of the grid reads: 16 bytes at a time, with a stride of
/// kRowThreads x blocks x 16 bytes.
struct ReadWordsArguments {
  const uint32_t* from;
  int64_t num_words;  // a multiple of 4
  uint32_t* sums;     // [blocks, kRowThreads]
};

/// The end of logits: y += bias, then y = cap tanh(y / cap). One block for kRowThreads columns (x) of a row (y).
struct FinishLogitsArguments {
  float* y;           // [rows, width]
  const float* bias;  // [width]; null: none
  float cap;          // 0: none
  int width;
};

/// The warps and threads of a block of kernels of heads; each warp takes one head.
inline constexpr int kHeadWarps = 4, kHeadThreads = kHeadWarps * 32;
constexpr int heads_shared(int head_dim) { return kHeadWarps * 2 * head_dim * (int)sizeof(float); }

/// The rotation of heads by the positions of rows.
struct RotationArguments {
  const float *cosines, *sines;  // [batch rows, num_rotated / 2]
  int num_rotated;               // 0: none
  bool halves;                   // pairs are i and i + num_rotated / 2; else 2i and 2i + 1
};
/// The work that heads of Q and K have in common.
struct HeadArguments {
  const float* norm;  // [head_dim]; null: none
  RotationArguments rope;
  float epsilon;
  int head_dim, lanes;
};

/// q = scale rotate(norm(products + bias)), head by head. One block for kHeadWarps heads (x) of a row (y).
struct FinishQueriesArguments {
  const float* products;     // [rows, num_heads, product_dim]: a head's queries, then its gates, if it has some
  float* q;                  // [rows, num_heads, head_dim]; without gates it may be the products
  const float* bias;         // [num_heads, product_dim]; null: none
  const float* scales;       // [batch rows], the scales of scores
  const int32_t* batch_row;  // [rows], the batch's row of each; null: row r is the batch's row r
  HeadArguments head;
  int num_heads, product_dim;
};

/// x *= sigmoid(gate + bias), element by element; a head's gates follow its queries. One block for kRowThreads columns
/// (x) of a row (y).
struct GateAttendedArguments {
  float* x;               // [rows, num_heads, head_dim]
  const float* products;  // [rows, num_heads, 2 head_dim]
  const float* bias;      // [num_heads, 2 head_dim]; null: none
  int num_heads, head_dim;
};

/// The keys and values of one layer, in the layout of the processor's blocks (KvLayer): paged, K by dimensions.
struct CardKvLayer {
  uint8_t* data;
  int64_t block_bytes, head_bytes, v_offset;
  int block_size, num_kv_heads, head_dim;
};

/// Writes K and V of the batch's rows into the cache, after bias, norm and rotation. One block for kHeadWarps KV heads
/// (x) of a row (y).
struct WriteKvArguments {
  const float *k, *v;            // [rows, kv heads, head_dim]; v null: V is K before its norm
  const float *k_bias, *v_bias;  // [kv heads, head_dim]; null: none
  const int32_t* positions;      // [rows]
  const int32_t* first_block;    // [rows]: where the blocks of the row's sequence begin in `blocks`
  const int32_t* blocks;         // position p is in block blocks[first_block + p / block_size]
  CardKvLayer kv;
  HeadArguments head;
  bool v_norm;  // V is normed, without weights
};

/// The threads of a block of attention, one for each position of a tile.
inline constexpr int kAttentionThreads = kTileTokens;
/// The most queries that a block takes. There are kernels for 1, 2, 4 and 8.
inline constexpr int kMaxCardQueries = 8;

/// Consecutive rows of a sequence, with some of the query heads of each KV head; rows times heads are the queries.
struct AttentionEntry {
  int32_t first_row, num_rows;
  int32_t first_head, num_heads;  // among the query heads of a KV head
};

/// One block for an entry (x) and a KV head (y). With partials, x / num_entries is the tile.
struct AttentionArguments {
  CardKvLayer kv;
  const AttentionEntry* entries;
  const float* q;              // [rows, query heads, head_dim], scaled
  float* out;                  // [rows, query heads, head_dim]
  float* partials;             // [tiles][rows, query heads][head_dim + 2]; null: a block goes over all tiles
  const float* sinks;          // [query heads]; null: none
  const int32_t* batch_row;    // [rows], the batch's row of each; null: row r is the batch's row r
  const int32_t* positions;    // [batch rows]
  const int32_t* first_block;  // [batch rows]: where the blocks of the row's sequence begin in `blocks`
  const int32_t* blocks;
  int num_entries, num_rows;
  int window;              // how many positions a row sees, its own included; 0: all up to its own
  int heads_of_kv, lanes;  // the query heads of a KV head; the lanes of sums, 8 or 16
  float soft_cap;          // 0: none
};

/// The shared memory of a block of attention with N queries.
template <int N>
struct AttentionMemory {
  float scores[N][kTileTokens];     // scores, which become weights
  int16_t rounded[N][kTileTokens];  // weights times scales of V, as int16
  float top[N][8];                  // the largest score of each warp
  float unit[N];                    // the value of a score of 1
  float scale[N];                   // the value of a rounded weight of 1
  int lo[N], hi[N];                 // the positions of the tile that query i sees; lo == hi: none
  int begin, end;                   // the range of positions of the tile that any query sees
  int32_t sums[4][N][kI16ScaleDims];
  bool is_first[N];  // no earlier tile had a score

  // Behind this struct in memory lie [N][head_dim] of q, as floats or int16, then [N][head_dim + 2] results of the
  // tile, then as many of all tiles so far.
};
template <int N>
constexpr int attention_shared(int head_dim) {
  return (int)sizeof(AttentionMemory<N>) + N * (head_dim + 2 * (head_dim + 2)) * (int)sizeof(float);
}

/// Merges the partials of all tiles into the outputs. One warp for a query head (x) of a row (y).
struct MergeTilesArguments {
  const float* partials;  // [num_tiles][rows, query heads][head_dim + 2]
  const float* sinks;     // [query heads]; null: none
  float* out;             // [rows, query heads, head_dim]
  int num_tiles, num_rows, num_heads, head_dim;
};
constexpr int merge_tiles_shared(int head_dim) { return head_dim * (int)sizeof(float); }

}  // namespace octavo::gpu
