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
// It puts two things together that Octavo's engine has apart: the books (integers: KvBooks, the engine's) and the bytes
// (KvArena, the device's). Somebody with an engine of their own calls write_kv() and read_kv(); or computes whole
// steps: reserve() before the step, commit() after it, publish() what became full. Both keep the same books.
//
// A written position is visible in the sequence that wrote it and its forks; everything else is an error, never stale
// data. One thread at a time.
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
#include "octavo/kv/kv_stats.h"
#include "octavo/kv/prefix_cache.h"
#include "octavo/kv/types.h"

namespace octavo {

struct KvLayer;  // src/kernels/kernels.h
class KvArena;   // src/kv/kv_arena.h: the bytes, as the library's kernels see them

/// Keys and values of one layer.
struct KvLayerShape {
  int num_kv_heads = 0;
  int head_dim = 0;
  int window = 0;                        // tokens that the layer looks back, itself included; 0: all
  std::optional<int> borrows_from = {};  // the earlier layer whose keys and values it reads; none: it has its own. Both
                                         // have equal heads, and it looks back no further
};

struct PagedKvOptions {
  KvType type = KvType::kF16;
  KvLayout layout = KvLayout::kPaged;  // contiguous: one sequence, one block as long as the memory; never q8_0, no
                                       // prefix cache
  int block_size = kDefaultBlockSize;  // tokens: a power of two, 1 to 256
  int num_kv_heads = 0;
  int head_dim = 0;
  std::vector<int> layer_windows = {};    // [num_layers] tokens that a layer looks back, itself included; 0: all
  std::vector<KvLayerShape> layers = {};  // [num_layers] for layers that differ; where it is not empty, the three
                                          // fields above are not looked at
  int num_blocks = 0;                     // of each group; 0: as many as memory_bytes holds, shared out so that
                                          // sequences of four windows use all groups' pools evenly
  std::uint64_t memory_bytes = 0;         // hard budget of the arena, if num_blocks is 0
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
    int window = 0;           // tokens; 0: all
    std::vector<int> layers;  // with keys and values of their own, ascending; a place in here is an index in the group
    int num_blocks = 0;
    int num_kv_heads = 0;
    int head_dim = 0;
  };

  /// Errors, with what was found and expected: a shape that makes no sense, a budget that does not hold one block of
  /// every group, no memory.
  static Result<std::unique_ptr<PagedKvCache>> create(const PagedKvOptions& options);
  ~PagedKvCache();
  PagedKvCache(const PagedKvCache&) = delete;
  PagedKvCache& operator=(const PagedKvCache&) = delete;

  // Shape
  int block_size() const;  // of the contiguous layout: its capacity
  int num_layers() const;
  int num_kv_heads(int layer = 0) const;  // CHECKs the layer, as the next ones do
  int head_dim(int layer = 0) const;
  int window(int layer) const;  // tokens that it looks back; 0: all
  KvType type() const;
  int num_groups() const;
  const Group& group(int group) const;  // CHECKs the number
  int group_of_layer(int layer) const;  // whose blocks have its keys and values; CHECKs the layer
  std::uint64_t arena_bytes() const;
  /// Tokens of the longest sequence that fits alone, if it is committed token by token as it grows.
  std::int64_t max_sequence_tokens() const;

  // Sequences
  /// Room for the bookkeeping of `reserve_tokens` tokens is taken now, so that growing up to it allocates no memory.
  SequenceId create_sequence(std::int64_t reserve_tokens = 0);
  bool has_sequence(SequenceId id) const;
  /// Gives every block back. Error: an unknown sequence, as in all calls that take an id and give a Result.
  Result<void> drop_sequence(SequenceId id);
  /// Blocks for n tokens in every group; all or nothing; never shrinks. Errors: kOutOfBlocks, kOutOfMemory, a
  /// negative number.
  Result<void> ensure_capacity(SequenceId id, std::int64_t num_tokens);
  /// Leading positions that are written in every layer of the group; those that left its window count. 0: unknown id.
  std::int64_t sequence_length(SequenceId id, int group = 0) const;
  /// Leading positions that are written in a layer: the length of its group, or more while later layers of the same
  /// positions are not written yet. 0: unknown id or layer.
  std::int64_t layer_length(SequenceId id, int layer) const;
  /// Tokens that the blocks span; 0 for an unknown id.
  std::int64_t token_capacity(SequenceId id, int group = 0) const;
  /// A new sequence with the same contents that shares every block. A write to a shared block copies it first.
  Result<SequenceId> fork(SequenceId id);
  /// The same into a sequence that exists and is empty (it was made with its own room for ids). Error: `to`
  /// holds blocks.
  Result<void> fork_into(SequenceId from, SequenceId to);
  /// Forgets positions from n on and gives tail blocks back; needs no memory, even in the middle of a shared block.
  /// Errors: n is negative, or in a windowed group blocks that the shorter sequence would look at are gone (n = 0
  /// always works).
  Result<void> truncate(SequenceId id, std::int64_t num_tokens);

  // Data, decoded and checked; `layer` counts from 0 over all groups
  /// Keys and values of `num_positions` positions from `position` on: [num_positions][num_kv_heads][head_dim] each.
  /// Gaps are allowed; with num_positions below 1 the arrays are empty and nothing is written. Grows the sequence in
  /// the layer's group, copies shared blocks. Errors, in this order: lengths of the keys, of the values, the sequence,
  /// the layer (unknown, or it borrows another one's), the position (negative, or it left the window), kOutOfBlocks,
  /// kOutOfMemory.
  /// Widths are the layer's; of a layer that there is not, the first one's.
  Result<void> write_kv(SequenceId id, int layer, std::int64_t position, std::span<const float> keys,
                        std::span<const float> values, int num_positions = 1);
  /// Views without copying, of element type f32; valid until the next change of the cache. Errors: the
  /// sequence, the layer, the position (never written, or it left the window), another element type.
  Result<KvView> read_kv(SequenceId id, int layer, std::int64_t position) const;
  /// Decoded copies, [num_kv_heads][head_dim] each, of every element type. Errors: lengths, then as above.
  Result<void> read_kv(SequenceId id, int layer, std::int64_t position, std::span<float> key,
                       std::span<float> value) const;

  // Steps of an engine
  /// Makes positions first .. end - 1 writable: takes missing blocks and private copies of shared ones (a published
  /// block with one holder is unpublished instead). All or nothing over all groups. The copies are appended to
  /// `copies`, and the caller makes them in that order before it writes; without `copies` they are made here.
  /// Errors: the position (negative, end before first, or it left a window), kOutOfBlocks, kOutOfMemory.
  Result<void> reserve(SequenceId id, std::int64_t first, std::int64_t end, std::vector<BlockCopy>* copies = nullptr);
  /// Free blocks that reserve() of the same positions would take, in a group. 0 for an unknown id or group.
  int blocks_needed(SequenceId id, int group, std::int64_t first, std::int64_t end) const;
  /// Positions up to `end` are written in all layers, and attention of their rows is done; the next one written is
  /// `end`. Windowed groups give back blocks that positions from `end` on do not see: nothing else does, so that
  /// somebody who calls write_kv() calls commit() too. CHECKs that the blocks of what it says was written had been
  /// reserved.
  void commit(SequenceId id, std::int64_t end);
  /// Copies that reserve() has listed; CHECKs their blocks.
  void make_copies(std::span<const BlockCopy> copies);

  /// Gives memory of free blocks back to the system, in pieces of 2 MiB a layer at least: of those that the prefix
  /// cache does not hold. With `cached` it gives back all others too, whose contents are given up. Blocks have memory
  /// again when they are written. Nothing changes for sequences. Takes no memory itself.
  void release_memory(bool cached);

  // Sharing
  /// Attaches the longest cached run of full blocks that begins `tokens` to an empty sequence, at most tokens.size() -
  /// 1 tokens; gives its length in tokens. A windowed group needs only the blocks of its last window. Gives 0 without a
  /// prefix cache. Error: the sequence holds blocks.
  Result<int> attach_prefix(SequenceId id, std::span<const TokenId> tokens, std::string_view domain);
  /// The same for a sequence that may hold blocks already, all of them full and published: goes on behind them. Gives
  /// the number of tokens attached now; 0 as well where it holds anything else. `chain` has the hashes of the leading
  /// full blocks of `tokens`.
  Result<int> extend_prefix(SequenceId id, std::span<const TokenId> tokens, const BlockChain& chain);
  /// Some block is published under `hash`, in the group without a window if there is one: worth an extend_prefix().
  bool is_published(const BlockHash& hash) const;
  /// The function that hashes the blocks; empty without a prefix cache. A copy of it may hash at the same time, if it
  /// was made while nobody used this one.
  const BlockHasher& hasher() const;
  /// Makes the full blocks of a sequence findable that are written in every layer and not yet published. `tokens` are
  /// the sequence's, as many as written at least. A block whose contents somebody else has published meanwhile is given
  /// back for that one. Blocks behind one that cannot be published (its hash belongs to other contents, or it was
  /// published in another domain) stay private. Does nothing without a prefix cache. Error:
  /// fewer tokens than are written. Blocks that write_kv() filled are published before commit(): those that a window
  /// has given back by then cannot be found.
  Result<void> publish(SequenceId id, std::span<const TokenId> tokens, std::string_view domain);
  /// The same without hashing: `chain` has the hashes of the leading full blocks of `tokens`; those behind its end stay
  /// private.
  Result<void> publish(SequenceId id, std::span<const TokenId> tokens, const BlockChain& chain);

  // The books
  /// The sequence's table; CHECKs the id.
  const BlockTable& table(SequenceId id, int group) const;
  const BlockPool& pool(int group) const;
  double utilization() const;  // referenced blocks of all
  KvStats stats() const;
  /// Every block of every pool is free, cached, or held by exactly the sequences that refer to it; hashes, written
  /// positions and windows agree with the tables.
  Result<void> check_integrity() const;

  /// Layer `layer` as the library's kernels see it: of one that borrows, the lender's. CHECKs the number.
  const KvLayer& memory(int layer) const;
  const KvArena& arena() const;

 private:
  PagedKvCache();
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace octavo
