// The manager of a KV memory: all that is known about it in integers. That is the sequences, their blocks in every
// attention group, which positions are written, and which blocks can be found by their contents.
//
// It knows no memory: a block is a number. The bytes are a KvArena's, which belongs to a runner; what the manager
// decides crosses to it as numbers (copies, runs of blocks, tables of a Batch). Owned by the engine, or by a
// PagedKvCache, whose functions of the same names say what they do. It stays where it is. One thread at a time.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "kv/block_manager.h"
#include "kv/prefix_index.h"
#include "kv/sequence_table.h"
#include "kv/state_layout.h"
#include "kv/state_snapshots.h"
#include "octavo/kv_stats.h"

namespace octavo {

class KvCacheManager {
 public:
  /// Sequences share by content if `prefix_cache` says so, but never in the contiguous layout; an empty hasher stands
  /// for make_block_hasher(). `model` names all that the bits of keys and values depend on beside the layout; where it
  /// is not empty, the chains of the manager begin with both. Error: no memory for the manager itself.
  static Result<std::unique_ptr<KvCacheManager>> create(StateRoom room, bool prefix_cache, BlockHasher hasher = {},
                                                        std::string_view model = {});
  KvCacheManager(const KvCacheManager&) = delete;
  KvCacheManager& operator=(const KvCacheManager&) = delete;

  const StateLayout& layout() const { return room_.layout; }
  int block_size() const { return layout().block_size; }
  int num_groups() const { return layout().num_groups(); }
  const KvGroup& group(int group) const;  // CHECKs the number
  /// Whether sequences have a recurrent state. Then the pool of snapshots follows the groups' pools, under the number
  /// num_groups(), and a sequence's table there is its state slot. Sequences attach and are cut only where there is a
  /// checkpoint: truncate() fails where nobody has the state after so many tokens.
  bool has_snapshots() const { return snapshots_.exist(); }
  bool keeps_checkpoints() const { return has_snapshots() && prefix_.publishes(); }
  /// The tokens between checkpoints at which these take no more memory than the keys and values beside them.
  int checkpoint_interval() const { return layout().tokens_of_a_snapshot(); }
  int num_pools() const { return num_groups() + (has_snapshots() ? 1 : 0); }
  std::int64_t max_sequence_tokens() const { return room_.longest_sequence(); }

  // Sequences
  SequenceId create_sequence(std::int64_t reserve_tokens = 0);
  bool has_sequence(SequenceId id) const { return sequences_.find(id) != nullptr; }
  Result<void> drop_sequence(SequenceId id);
  /// Drops a sequence that the caller knows to exist: CHECKs the id.
  void drop(SequenceId id);
  Result<void> ensure_capacity(SequenceId id, std::int64_t num_tokens);
  /// Says whether ensure_capacity() would succeed.
  Result<void> check_capacity(SequenceId id, std::int64_t num_tokens) const;
  std::int64_t sequence_length(SequenceId id, int group = 0) const;
  std::int64_t layer_length(SequenceId id, int layer) const;
  std::int64_t token_capacity(SequenceId id, int group = 0) const;
  Result<SequenceId> fork(SequenceId id);
  Result<void> fork_into(SequenceId from, SequenceId to);
  Result<void> truncate(SequenceId id, std::int64_t num_tokens);
  /// Whether truncate() would succeed: making its error takes memory, which a step of the engine must not.
  bool can_truncate(SequenceId id, std::int64_t num_tokens) const;

  // Steps
  Result<void> reserve(SequenceId id, std::int64_t first, std::int64_t end, std::vector<BlockCopy>& copies);
  /// Reserves in one group alone.
  Result<void> reserve_in_group(SequenceId id, int group, std::int64_t first, std::int64_t end,
                                std::vector<BlockCopy>& copies);
  /// Says whether reserve() would succeed in the groups first_group .. end_group - 1.
  Result<void> check_reserve(SequenceId id, std::int64_t first, std::int64_t end, int first_group, int end_group) const;
  /// The number of blocks that reserve() would take from a pool.
  int blocks_needed(SequenceId id, int pool, std::int64_t first, std::int64_t end) const;
  void commit(SequenceId id, std::int64_t end);

  // Single layers, for callers that write them one by one
  void mark_written(SequenceId id, int layer, std::int64_t first, std::int64_t end);
  /// The block of a written position that the sequence sees. Errors: an unknown sequence, layer or position.
  Result<BlockId> find_written(SequenceId id, int layer, std::int64_t position) const;
  /// The number of the contiguous layout's slots up to the last one that any layer has written.
  int written_extent() const;

  /// Lists the free blocks whose memory goes back to the system, in `runs`, which has room for most_released_runs() so
  /// that no memory is taken; they have none any more. With `cached`, contents that were kept to be found are given up
  /// before.
  void release_memory(bool cached, std::vector<BlockRun>& runs);
  std::size_t most_released_runs() const;

  // Sharing
  Result<int> attach_prefix(SequenceId id, const RowSource& rows, std::string_view domain);
  Result<int> extend_prefix(SequenceId id, const RowSource& rows, const BlockChain& chain);
  /// Keeps the state of a sequence, of which nothing is half computed, as a checkpoint, if its length is whole blocks
  /// and all of them are published. `uses`: how many others are expected to go on from it. CHECKs the id, as the next
  /// function does.
  void keep_checkpoint(SequenceId id, int uses = 0);
  /// The most tokens, `most` at most, to which truncate() can cut a sequence. Windows may have given back more.
  std::int64_t longest_cut(SequenceId id, std::int64_t most) const;
  bool is_published(const BlockHash& hash) const { return prefix_.is_published(hash); }
  /// The hashing of the chains of its sequences.
  const BlockHashing& hashing() const { return prefix_.hashing(); }
  /// Sets the owner of the blocks that a sequence publishes from now on. CHECKs the id, as the next function does.
  void set_owner(SequenceId id, std::string_view owner);
  /// Tells nobody outside of the blocks that a sequence publishes from now on. CHECKs the id.
  void hide(SequenceId id);
  /// The feed that PrefixIndex::set_feed() describes, with the number of blocks that it must have room for; 0: no block
  /// can be told of.
  int num_fed_blocks() const { return prefix_.can_feed() ? prefix_.num_fed_blocks() : 0; }
  void set_feed(BlockFeed& feed) { prefix_.set_feed(feed); }
  /// Gives PrefixIndex::parting() of a sequence.
  int parting(SequenceId id, const RowSource& rows, const BlockChain& chain) const;
  Result<void> publish(SequenceId id, const RowSource& rows, std::string_view domain);
  Result<void> publish(SequenceId id, const RowSource& rows, const BlockChain& chain);

  // Their figures
  const BlockTable& table(SequenceId id, int pool) const;  // CHECKs both, as the next
  const BlockPool& pool(int pool) const;
  double utilization() const;
  KvStats stats() const;
  /// Notes the bytes that growing memory (the contiguous layout's) has grown to, as its owner says, for stats().
  void set_grown_bytes(std::uint64_t bytes) { grown_bytes_ = bytes; }
  Result<void> check_integrity() const;

 private:
  KvCacheManager(StateRoom room, BlockHashing hashing);
  /// `sequence`: that of `id`; nullptr: there is none.
  /// The position that is missing to a sequence that is cut to so many tokens; nothing: it can be.
  std::optional<std::int64_t> missing_behind(const SequenceState& sequence, std::int64_t num_tokens) const;
  Result<void> check_reserve(SequenceId id, const SequenceState* sequence, std::int64_t first, std::int64_t end,
                             int first_group, int end_group) const;
  /// Reserves in all of these groups or in none.
  Result<void> reserve_groups(SequenceId id, SequenceState* sequence, std::int64_t first, std::int64_t end,
                              int first_group, int end_group, std::vector<BlockCopy>& copies);

  const StateRoom room_;
  std::deque<BlockManager> groups_;  // the attention groups; each one's address stays the same
  StateSnapshots snapshots_;
  PrefixIndex prefix_;
  SequenceTable sequences_;
  std::uint64_t grown_bytes_ = 0;
};

}  // namespace octavo
