// Sharing by content, over all groups of a KV memory: what a sequence finds that others have computed, and what they
// find of it.
//
// Where sequences have a recurrent state a match ends at a checkpoint: keys and values behind it are of no use without
// the state. They are computed again, into blocks that publishing merges with those that are there.
//
// Owned by KvCacheManager. One thread at a time.
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "kv/block_feed.h"
#include "kv/block_manager.h"
#include "kv/sequence_table.h"
#include "kv/state_snapshots.h"
#include "octavo/kv/prefix_cache.h"

namespace octavo {

class PrefixIndex {
 public:
  /// The groups and snapshots outlive it, and no group is added. With an empty hasher nothing is published.
  PrefixIndex(std::deque<BlockManager>& groups, StateSnapshots& snapshots, BlockHashing hashing);
  PrefixIndex(const PrefixIndex&) = delete;
  PrefixIndex& operator=(const PrefixIndex&) = delete;

  /// Whether there are blocks that a feed can be told of: those of a group without a window.
  bool can_feed() const { return publishes() && group_without_window_ >= 0; }
  /// Tells the feed, from now on, which blocks of the first group without a window can be found; those of pictures, of
  /// hidden sequences, and what follows either of them, are left out. The feed has room for that group's blocks and
  /// must outlive this. can_feed() must hold.
  void set_feed(BlockFeed& feed) { feed_ = &feed; }
  int num_fed_blocks() const { return leading().pool().total_count(); }

  bool publishes() const { return hashing_.hasher != nullptr; }
  const BlockHashing& hashing() const { return hashing_; }
  std::uint64_t hits() const { return hits_; }
  std::uint64_t misses() const { return misses_; }

  /// Implements PagedKvCache::attach_prefix() and extend_prefix() for a sequence that allows it.
  int attach(SequenceState& sequence, const RowSource& rows, std::string_view domain);
  int extend(SequenceState& sequence, const RowSource& rows, const BlockChain& chain);
  bool is_published(const BlockHash& hash) const;
  /// The position at which `rows` part from what their owner published before: they equal it for a block at least, and
  /// it goes on with other rows. -1: they do not part, or there is no group without a window.
  int parting(const SequenceState& sequence, const RowSource& rows, const BlockChain& chain) const;

  /// Implements PagedKvCache::publish() for a sequence.
  Result<void> publish(SequenceState& sequence, const RowSource& rows, const BlockChain& chain);
  /// Keeps the state of a sequence as a checkpoint after its last block, if that is full and published. `uses`: as in
  /// StateSnapshots::keep().
  void keep_checkpoint(const SequenceState& sequence, int uses);
  /// The most tokens of a sequence, `most` at most, after which there is a checkpoint; 0: there is none.
  std::int64_t last_checkpoint(const SequenceState& sequence, std::int64_t most) const;
  /// Makes the state after `num_tokens` tokens the sequence's, where last_checkpoint() has found a checkpoint.
  void attach_checkpoint(SequenceState& sequence, std::int64_t num_tokens);
  /// The chain of hashes of these rows; valid until the next call.
  const BlockChain& chain_of(const RowSource& rows, std::string_view domain);

  /// Checks that each published block is published in the first group without a window too, and that checkpoints stand
  /// after such blocks.
  Result<void> check_integrity() const;

 private:
  std::size_t leading_group() const { return to_size(std::max(0, group_without_window_)); }
  BlockManager& leading() const { return groups_[leading_group()]; }
  std::optional<BlockId> leading_block(const SequenceState& sequence, std::int64_t end) const;
  Result<void> check_checkpoints() const;
  bool is_complete(int num_blocks) const;
  int match(const SequenceState& sequence, const RowSource& rows, const BlockChain& known);
  void take_references(SequenceState& sequence, const BlockChain& known, int num_blocks);
  void feed(const SequenceState& sequence, BlockId block, BlockId before, const BlockHash& hash,
            const BlockHash& parent, const RowSource& rows);
  bool publish_block(SequenceState& sequence, int index, const BlockHash& hash, const RowSource& rows);

  std::deque<BlockManager>& groups_;
  StateSnapshots& snapshots_;  // each checkpoint belongs to a block of the leading group
  BlockFeed* feed_ = nullptr;  // null: nobody is told
  const BlockHashing hashing_;
  const int block_size_;
  int group_without_window_ = -1;  // the first group without a window; -1: all have one
  std::uint64_t hits_ = 0, misses_ = 0;
  std::vector<int> matched_;     // [groups] scratch of match(): the number of consecutive blocks held or found
  std::vector<BlockId> before_;  // [groups] scratch of match(): the parent of the next block
  BlockChain chain_;             // scratch of callers that give no chain
};

}  // namespace octavo
