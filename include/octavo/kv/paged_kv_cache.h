// The paged KV cache: sequences, their blocks in every attention group, and the arena that holds keys and values.
//
//     auto cache = *octavo::PagedKvCache::create({.num_kv_heads = 2, .head_dim = 64, .layer_windows = {0, 0},
//                                                 .num_blocks = 64});
//     octavo::SequenceId a = cache->create_sequence();
//     cache->write_kv(a, layer, position, key, value);        // [num_kv_heads * head_dim] floats each
//     octavo::SequenceId b = *cache->fork(a);                 // shares every block until one of the two writes
//
// Layers that look back equally far and have equal heads form an attention group; a block id covers block_size tokens
// of all layers of its group, and a sequence has one table a group. The arena is one allocation, whose memory the
// system provides as blocks are written for the first time, and gets back from release_memory().
//
// The cache puts two things together that Octavo's engine has apart: the manager (integers: KvCacheManager, the
// engine's) and the bytes (KvArena, the device's). Users with an engine of their own call write_kv() and read_kv(); or
// they compute whole steps, with reserve() before a step, commit() after it, and publish() for blocks that became full.
//
// A written position is visible in the sequence that wrote it and its forks; reading anything else is an error, and
// never gives stale data. One thread at a time may call a cache.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "octavo/kv/block_pool.h"
#include "octavo/kv/block_table.h"
#include "octavo/kv/layer_shape.h"
#include "octavo/kv/prefix_cache.h"
#include "octavo/kv/types.h"
#include "octavo/kv_stats.h"

namespace octavo {

struct KvLayer;  // src/kernels/kernels.h
class KvArena;   // src/kv/kv_arena.h: the bytes, as the library's kernels see them

struct PagedKvOptions {
  KvType type = KvType::kF16;
  KvLayout layout = KvLayout::kPaged;  // contiguous: one sequence, one block as long as the memory, no q8_0 and no
                                       // prefix cache
  int block_size = kDefaultBlockSize;  // tokens: a power of two, 1 to 256
  int num_kv_heads = 0;
  int head_dim = 0;
  std::vector<int> layer_windows = {};    // [num_layers] positions that a token sees, its own included; 0: all
  std::vector<KvLayerShape> layers = {};  // [num_layers] for layers that differ; where it is not empty, it counts in
                                          // place of the three fields above
  int num_blocks = 0;                     // blocks of each group; 0: as many as memory_bytes holds, shared out so that
                                          // sequences of four windows use all groups' pools evenly
  std::uint64_t memory_bytes = 0;         // the most bytes of the arena, if num_blocks is 0
  std::int64_t max_tokens = 0;            // tokens that all sequences together can ever use; 0: no such limit. Caps an
                                          // arena of memory_bytes, and is the longest sequence of the contiguous layout
  int longest_sequence = 0;               // tokens; 0: unknown. One of this length fits if any does
  int max_sequences = 0;  // that there are at once; 0: unknown. Caps windowed groups at twice what these
                          // need at their longest: the rest is for prefixes that are kept
  bool prefix_cache = true;
  BlockHasher hasher = {};  // empty: make_block_hasher(). If every layer has a window, a match relies on it
};

/// K or V of one position: element (head, d) is data[head * head_stride + d * dim_stride].
struct StridedKv {
  const float* data;
  std::ptrdiff_t head_stride, dim_stride;
};
struct KvView {
  StridedKv key, value;
};

class PagedKvCache {
 public:
  struct Group {
    int window = 0;           // in tokens; 0: all
    std::vector<int> layers;  // ascending: the layers with KV of their own; an index in it is the layer's in the group
    int num_blocks = 0;
    int num_kv_heads = 0;
    int head_dim = 0;
  };

  /// Makes a cache. Errors name the finding and the expectation: a shape that makes no sense, a budget that does not
  /// hold one block of every group, no memory.
  static Result<std::unique_ptr<PagedKvCache>> create(const PagedKvOptions& options);
  ~PagedKvCache();
  PagedKvCache(const PagedKvCache&) = delete;
  PagedKvCache& operator=(const PagedKvCache&) = delete;

  // Shape
  int block_size() const;  // the capacity in the contiguous layout
  int num_layers() const;
  int num_kv_heads(int layer = 0) const;  // CHECKs the layer, as head_dim() and window() do
  int head_dim(int layer = 0) const;
  int window(int layer) const;  // positions that a token sees; 0: all
  KvType type() const;
  int num_groups() const;
  const Group& group(int group) const;  // CHECKs the number
  int group_of_layer(int layer) const;  // the group whose blocks have the layer's keys and values; CHECKs the layer
  std::uint64_t arena_bytes() const;
  /// The tokens of the longest sequence that fits alone if it is committed token by token.
  std::int64_t max_sequence_tokens() const;

  // Sequences
  /// Takes the memory to keep books of `reserve_tokens` tokens, so that growing up to this number allocates none.
  SequenceId create_sequence(std::int64_t reserve_tokens = 0);
  bool has_sequence(SequenceId id) const;
  /// Drops a sequence, which gives every block back. An unknown sequence is an error of every call that takes an id and
  /// gives a Result.
  Result<void> drop_sequence(SequenceId id);
  /// Takes blocks for `num_tokens` tokens in every group, or in none; it never shrinks a sequence. Errors:
  /// kOutOfBlocks, kOutOfMemory, a negative number.
  Result<void> ensure_capacity(SequenceId id, std::int64_t num_tokens);
  /// The number of leading positions, those that left the window included, that are written in every layer of the
  /// group. 0: unknown id.
  std::int64_t sequence_length(SequenceId id, int group = 0) const;
  /// The number of leading positions that are written in a layer: the length of its group, or more while later layers
  /// still have to write the same positions. 0: unknown id or layer.
  std::int64_t layer_length(SequenceId id, int layer) const;
  /// The number of tokens that the blocks span; 0 for an unknown id.
  std::int64_t token_capacity(SequenceId id, int group = 0) const;
  /// Makes a sequence with the same contents that shares every block. A write to a shared block copies it first.
  Result<SequenceId> fork(SequenceId id);
  /// Forks into the empty sequence `to`, which was made with its own room for ids. Error: `to` holds blocks.
  Result<void> fork_into(SequenceId from, SequenceId to);
  /// Forgets positions from `num_tokens` on and gives tail blocks back, even within a shared block, and without taking
  /// memory. Errors: a negative number; a windowed group no longer has the blocks that the shorter sequence sees (0
  /// always works).
  Result<void> truncate(SequenceId id, std::int64_t num_tokens);

  // Data, decoded and checked; `layer` counts from 0 over all groups
  /// Writes `num_positions` positions from `position` on: [num_positions][num_kv_heads][head_dim] keys and values.
  /// Gaps are allowed; with num_positions below 1 the arrays are empty and nothing is written. The call grows the
  /// sequence in the layer's group and copies shared blocks. Errors, in this order: lengths of the keys, of the values,
  /// the sequence, the layer (unknown, or one that borrows), the position (negative, or it left the window),
  /// kOutOfBlocks, kOutOfMemory.
  /// Widths are those of the layer, or those of the first layer where the layer is unknown.
  Result<void> write_kv(SequenceId id, int layer, std::int64_t position, std::span<const float> keys,
                        std::span<const float> values, int num_positions = 1);
  /// The views of f32 elements, not copied, valid until the next change of the cache. Errors: the sequence, the layer,
  /// the position (never written, or it left the window), another element type.
  Result<KvView> read_kv(SequenceId id, int layer, std::int64_t position) const;
  /// Decodes copies of elements of any type, [num_kv_heads][head_dim] each. Errors: lengths, then those of the view.
  Result<void> read_kv(SequenceId id, int layer, std::int64_t position, std::span<float> key,
                       std::span<float> value) const;

  // Steps of an engine
  /// Makes positions first .. end - 1 writable in all groups, or in none: takes missing blocks and private copies of
  /// shared blocks (a published block with one holder is unpublished instead). The copies are appended to `copies`, and
  /// the caller makes them in that order before it writes; without `copies` this call makes them.
  /// Errors: the position (negative, end before first, or it left a window), kOutOfBlocks, kOutOfMemory.
  Result<void> reserve(SequenceId id, std::int64_t first, std::int64_t end, std::vector<BlockCopy>* copies = nullptr);
  /// The number of free blocks of a group that reserve() would take. 0 for an unknown id or group.
  int blocks_needed(SequenceId id, int group, std::int64_t first, std::int64_t end) const;
  /// Notes that positions up to `end` are written in all layers, and that attention of their rows is done. Windowed
  /// groups then give back blocks that positions from `end` on do not see. No other call gives them back: users of
  /// write_kv() call commit() too. The call CHECKs that the blocks of the positions were
  /// reserved.
  void commit(SequenceId id, std::int64_t end);
  /// Makes the copies that reserve() has listed; CHECKs their blocks.
  void make_copies(std::span<const BlockCopy> copies);

  /// Gives the memory of free blocks that the prefix cache does not hold back to the system, in pieces of at least 2
  /// MiB per layer; with `cached` also that of blocks in the prefix cache, whose contents are lost. Blocks have memory
  /// again when they are written. Nothing changes for sequences, and the call takes no memory.
  void release_memory(bool cached);

  // Sharing
  /// Attaches the longest cached run of full blocks at the beginning of `rows`, at most rows.size() - 1 tokens, to an
  /// empty sequence, and gives the run's length in tokens. A windowed group needs only blocks of its last window.
  /// The length is 0 without a prefix cache. Error: the sequence holds blocks.
  Result<int> attach_prefix(SequenceId id, const RowSource& rows, std::string_view domain);
  /// Attaches further blocks after those that a sequence holds, which must all be full and published, and gives the
  /// number of tokens attached now: 0 where the sequence holds other blocks. `chain` has the hashes of the leading full
  /// blocks of `rows`.
  Result<int> extend_prefix(SequenceId id, const RowSource& rows, const BlockChain& chain);
  /// Whether a block is published under `hash` (in the group without a window, if any), so that it can be attached.
  bool is_published(const BlockHash& hash) const;
  /// The function that hashes blocks; empty without a prefix cache. A copy that was made while no thread used this
  /// function may hash at the same time.
  const BlockHasher& hasher() const;
  /// Publishes the full blocks of a sequence that are written in every layer. `rows` has at least the sequence's
  /// written tokens. A block whose contents were published by another sequence meanwhile is given back for that block.
  /// Blocks behind one that cannot be published (its hash belongs to other contents, or it was published in another
  /// domain) stay private. The call does nothing without a prefix cache. Error: fewer tokens than are written.
  /// Blocks that write_kv() filled are published before commit(), because blocks that a window has given back cannot be
  /// found.
  Result<void> publish(SequenceId id, const RowSource& rows, std::string_view domain);
  /// Publishes without hashing: `chain` has the hashes of leading full blocks of `rows`; blocks after its end stay
  /// private.
  Result<void> publish(SequenceId id, const RowSource& rows, const BlockChain& chain);

  // Counts and checks
  /// The sequence's table; CHECKs the id.
  const BlockTable& table(SequenceId id, int group) const;
  const BlockPool& pool(int group) const;
  double utilization() const;  // the share of referenced blocks
  KvStats stats() const;
  /// Checks that every block of every pool is free, cached, or held by exactly the sequences that refer to it, and that
  /// hashes, written positions and windows agree with the tables.
  Result<void> check_integrity() const;

  /// A layer as the library's kernels see it; for a layer that borrows, its lender. CHECKs the number.
  const KvLayer& memory(int layer) const;
  const KvArena& arena() const;

 private:
  PagedKvCache();
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace octavo
