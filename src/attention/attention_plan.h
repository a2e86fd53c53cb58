// The attention work of one step over the layers of one group: the queries and the positions that they read, cut into
// tasks that threads take.
//
// A plan is made once a step from block tables and counts, then run on every layer of the group. The cut of the work
// never changes a result (kernels.h: tiles at absolute positions, merged in their order); the cut feeds the threads and
// the caches:
// - A sequence with many query rows (a chunk of a prompt) is cut by queries; each piece walks all of its positions.
// - A sequence with few rows (a decode) goes tile by tile through all heads, because blocks lie head after head. If
//   there is enough other work for all threads, it stays uncut: one thread does all its tiles and merges as it goes.
//   Otherwise threads share its tiles, whose results are merged afterwards.
// - Rows that see what lies behind them are cut by queries, however few they are: their keys and values are as new as
//   they, and nobody shares them.
// - Sequences whose tables begin with the same blocks read a tile together, once, as far as their rows see the whole
//   tile.
// - Pieces with many queries keep the processor busy, pieces with few the memory; threads get a mixture of both.
//
// A step that may be paused (ThreadPool::Pauses) is paused between two tasks, each of some milliseconds: threads leave
// with those that they have begun, and come again for the rest.
//
// Scratch does not grow with depth: work that does not fit is done in rounds. The model's transformer or a
// BatchedAttention owns a plan; one thread at a time runs it, and shares the work out over its pool.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "attention/attention_stretch.h"
#include "attention/attention_tickets.h"
#include "base/aligned_buffer.h"
#include "base/first_seen.h"
#include "base/thread_pool.h"
#include "base/to_size.h"
#include "kernels/kernels.h"

namespace octavo {

/// The positions that a row sees.
struct AttentionReach {
  int window = 0;           // causal rows see so many up to their own, others half of it on either side; 0: all
  bool is_causal = true;    // none behind its own
  bool is_chunked = false;  // a causal row sees its own chunk of `window` positions
  bool joins = false;       // causal rows see on to the end of sight of their sequence, where that has one

  /// The first position that a causal row sees.
  int first_seen(int position) const { return static_cast<int>(octavo::first_seen(position, window, is_chunked)); }
  bool operator==(const AttentionReach&) const = default;
};

/// Query rows of one sequence, [num_rows, num_heads, k_dim], and their results, [num_rows, num_heads, v_dim], at
/// consecutive positions.
struct AttentionSequence {
  std::span<const std::int32_t> blocks;  // the table; entries that no row sees may be anything
  const float* q;                        // scaled already
  float* out;
  int first_position, num_rows;
  int num_tokens = 0;   // of the sequence, which rows that are not causal may see
  int first_token = 0;  // the first of those
  int sight_end = 0;    // the end of sight of all these rows, after the last of them; 0: each sees up to its position
};

class AttentionPlan {
 public:
  struct Shape {
    int num_heads, num_kv_heads, k_dim, v_dim;
    int max_rows;  // the most rows of a step
  };
  AttentionPlan(const Shape& shape, int num_threads);

  /// Plans a step. `block_size` in tokens. Blocks must outlive the plan's runs; every row sees at least its own
  /// position.
  void build(std::span<const AttentionSequence> sequences, const AttentionReach& reach, int block_size);

  /// Computes all outputs of one layer.
  void run(const KvLayer& kv, AttentionFn attention, MergeTilesFn merge, ThreadPool& pool,
           const SoftmaxTerms& terms = {});

  /// Bytes of K and V that one run loads from a layer: a tile once for all that read it together.
  std::uint64_t kv_bytes_loaded(const KvLayer& kv) const;
  std::uint64_t scratch_bytes() const { return partials_.size_bytes() + states_.size_bytes() + scratch_.size_bytes(); }

 private:
  // The kinds of cuts of a reading into tasks.
  enum class Cut : std::uint8_t {
    kHeads,      // a task is a KV head, whose positions begin .. end are all that the queries see
    kHeadRange,  // a task is several KV heads, tile by tile through all of them
    kTiles,      // a task is a tile and KV head, whose results are merged afterwards
  };
  // Queries that read the positions begin .. end together.
  struct Reading {
    const std::int32_t* blocks;
    int first_query, num_queries;
    int begin, end;
    Cut cut;
  };
  // A sequence whose rows are few.
  struct Seq {
    const AttentionSequence* source;
    int num_queries, begin, end;  // positions that any of its rows sees
    int first_query = 0;
    int full_begin = 0, full_end = 0;  // tiles that each of its rows sees all of
    // Tiles whose blocks the sequence before this one has too
    int shared_begin = 0, shared_end = 0;
    bool uncut = false;  // one thread does the whole sequence

    bool shares_tile(int tile) const { return shared_begin <= tile && tile < shared_end; }
    bool shares_with_last() const { return shared_begin < shared_end; }
  };

  // The tiles of the sequences that are cut by them, in rounds as large as the scratch.
  struct Rounds {
    int first_tile = 0, end_tile = 0;  // the tiles of all sequences
    int tiles_per_round = 1, count = 0;

    int first_tile_of(int round) const { return first_tile + round * tiles_per_round; }
  };

  // The place of a thread in its work.
  struct Walk {
    float* states;                       // [kMaxItemQueries][v_dim + 2] of a range of heads
    std::size_t task = 0, end_task = 0;  // the tasks of its ticket
    int tile = 0, head = 0;              // the next item of a range of heads
    bool in_range = false;
    bool started = false;  // whether the first stretch was taken; a first stretch is short, as nothing fetches it ahead
  };

  // Making a plan.
  bool is_cut_by_tiles(const AttentionSequence& sequence, const AttentionReach& reach) const;
  void add_queries(const AttentionSequence& sequence, const AttentionReach& reach);
  void add_direct_readings(const AttentionSequence& sequence, const AttentionReach& reach);
  void sort_sequences(const AttentionReach& reach, int block_size);
  void sort_by_blocks(std::span<Seq> seqs, int common, const AttentionReach& reach, int block_size);
  void keep_uncut(std::span<const AttentionSequence> sequences, const AttentionReach& reach);
  void add_tile_readings();
  void add_shared_readings(std::size_t first_seq, std::size_t end_seq);
  void add_readers(std::size_t first_seq, std::size_t end_seq, int tile);

  // Running the plan.
  std::size_t thread_floats() const {
    return to_size(attention_scratch_floats(shape_.k_dim, shape_.v_dim) + kMaxItemQueries * state_floats_);
  }
  static int tiles_up_to(int position) { return (position + kTileTokens - 1) / kTileTokens; }
  int first_tile_of(int round) const { return rounds_.first_tile_of(round); }
  void count_tasks(int round);
  int heads_of_range(const Reading& reading) const;
  int heads_of_stretch(const Reading& reading, const KvLayer& kv) const;
  AttentionItem item_of(const Reading& reading, int head, int begin_tile, int end_tile) const;
  AttentionStretch stretch(int round, const Reading& reading, std::size_t task_of_reading, int max_heads);
  AttentionStretch stretch_of_range(const Reading& reading, std::size_t task_of_reading, int max_heads,
                                    Walk& walk) const;
  bool fetches_far(const KvLayer& kv) const;
  std::size_t bytes_meanwhile(const AttentionItem& item, const KvLayer& kv) const;
  std::optional<AttentionStretch> next_stretch(int round, int worker, const KvLayer& kv, Walk& walk, ThreadPool& pool);
  void walk_tasks(int round, int worker, const KvLayer& kv, AttentionFn attention, const SoftmaxTerms& terms,
                  ThreadPool& pool);
  void run_round(int round, const KvLayer& kv, AttentionFn attention, const SoftmaxTerms& terms, ThreadPool& pool);
  void merge(int round, std::size_t seq, int head, const SoftmaxTerms& terms, MergeTilesFn merge_tiles);

  const Shape shape_;
  const int heads_per_kv_head_;  // query heads of a KV head
  const int state_floats_;       // o, max and sum of a query
  const int num_threads_;
  std::vector<Seq> seqs_;                // sequences cut by tiles; neighbours share leading blocks
  std::vector<Seq> uncut_;               // sequences that are not cut; longest first
  std::vector<Seq*> unshared_;           // sequences of seqs_ that share nothing, while a plan is built
  std::vector<AttentionQuery> queries_;  // queries, those of seqs_ first, in order
  std::vector<Reading> readings_;
  std::vector<std::size_t> open_reading_;        // [seqs_] the last reading of which the sequence is the first
  std::uint64_t tokens_ = 0, query_tokens_ = 0;  // sums over all readings: positions, and positions times queries
  int num_tile_queries_ = 0;                     // the queries of seqs_
  Rounds rounds_;
  bool has_few_ = false;  // whether readings with at most kMaxTileQueries have tasks in the round that runs
  std::vector<std::size_t> tasks_before_;  // [readings + 1] the tasks before each reading, in the round that runs
  AttentionTickets tickets_;               // the tickets of the round that runs
  AlignedBuffer<float> partials_;          // [tiles of a round][kv_heads][tile queries][v_dim + 2]
  AlignedBuffer<float> states_;            // [kv_heads][tile queries][v_dim + 2] merged so far
  AlignedBuffer<float> scratch_;           // [threads] the scratch of the kernel, then states of a range of heads
};

}  // namespace octavo
