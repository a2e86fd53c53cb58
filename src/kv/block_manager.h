// The manager of one attention group: its blocks, which of their slots are written, which can be found; and what a step
// does to a sequence's part of it.
//
// Owned by KvCacheManager. It stays where it is: tables and caches point to its pool. One thread at a time.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "kv/sequence_table.h"
#include "kv/state_layout.h"
#include "kv/written_bits.h"
#include "octavo/kv/block_pool.h"
#include "octavo/kv/prefix_cache.h"

namespace octavo {

class BlockManager {
 public:
  /// `shape` must outlive it.
  BlockManager(int number, const KvGroup& shape, int num_blocks, int block_size)
      : number_(number),
        shape_(shape),
        block_size_(block_size),
        pool_(num_blocks),
        written_(num_blocks, shape.num_layers(), block_size) {}
  BlockManager(const BlockManager&) = delete;
  BlockManager& operator=(const BlockManager&) = delete;

  /// From now on blocks can be published.
  void make_prefix_cache() { prefix_ = std::make_unique<PrefixCache>(pool_, block_size_, !is_windowed()); }

  const KvGroup& shape() const { return shape_; }
  bool is_windowed() const { return shape_.window != 0; }
  BlockPool& pool() { return pool_; }
  const BlockPool& pool() const { return pool_; }
  /// Null: nothing is published.
  PrefixCache* prefix() { return prefix_.get(); }
  const PrefixCache* prefix() const { return prefix_.get(); }
  WrittenBits& written() { return written_; }
  const WrittenBits& written() const { return written_; }
  std::uint64_t num_copies() const { return num_copies_; }

  /// The first block that the token after `num_tokens` tokens looks at.
  int first_needed_block(std::int64_t num_tokens) const;
  /// Blocks that reserve() of these positions would take.
  std::int64_t blocks_needed(const GroupState& state, std::int64_t first, std::int64_t end) const;
  /// Whether reserve() finds them. Errors: a position that was given back, kOutOfBlocks.
  Result<void> check_room(SequenceId id, const GroupState& state, std::int64_t first, std::int64_t end) const;
  /// Makes positions first .. end - 1 writable; check_room() has said that it can. Copies to make are appended to
  /// `copies`.
  void reserve(GroupState& state, std::int64_t first, std::int64_t end, std::vector<BlockCopy>& copies);
  /// New blocks until there is room for `num_tokens` tokens; that there are enough is known.
  void extend(GroupState& state, std::int64_t num_tokens);
  /// Positions up to `end` are written in all layers. A window gives back what it has passed.
  void commit(SequenceId id, GroupState& state, std::int64_t end);
  /// Positions first .. end - 1 of one layer are written.
  void mark_written(GroupState& state, int layer_index, std::int64_t first, std::int64_t end);
  void truncate(GroupState& state, std::int64_t num_tokens);

  /// Leading positions that are written in a layer.
  std::int64_t layer_length(const GroupState& state, int layer_index) const;
  bool is_visible(const GroupState& state, int layer_index, std::int64_t position) const;

  /// Lists the free blocks whose memory is worth giving back, in runs of consecutive ones: kHugePageBytes of a layer's
  /// `layer_block_bytes` at least, or the whole pool. They have no memory any more.
  void release(std::size_t layer_block_bytes, std::vector<BlockRun>& runs);
  /// Runs that release() lists at most.
  std::size_t most_runs(std::size_t layer_block_bytes) const;

  /// `tables` are all that hold blocks of the pool.
  Result<void> check_integrity(std::span<const std::span<const BlockId>> tables) const;
  /// The table agrees with what is written and what is published under `chain`.
  Result<void> check_state(const GroupState& state, std::span<const BlockHash> chain) const;

 private:
  /// Blocks that a change needs of the pool.
  struct Needed {
    int missing = 0;  // new entries
    int copies = 0;   // private copies of shared blocks
  };
  Needed needed(const GroupState& state, std::int64_t first, std::int64_t end) const;
  void make_private(GroupState& state, int index, std::vector<BlockCopy>& copies);
  void update_length(GroupState& state) const;

  const int number_;
  const KvGroup& shape_;
  const int block_size_;
  BlockPool pool_;
  WrittenBits written_;
  std::unique_ptr<PrefixCache> prefix_;
  std::uint64_t num_copies_ = 0;  // blocks copied on write
};

}  // namespace octavo
