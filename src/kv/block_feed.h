// What another thread has to know of the published blocks: the state of each, and which have changed since it looked.
//
// The thread that drives the engine writes, and neither waits nor allocates: it writes a block's state in its place,
// and puts the block's number into a ring unless it is there already. So the ring has room for every block and never
// overflows. A reader that falls behind sees the last state of a block and misses those between, which are of no use to
// anybody: it never has to be told everything again.
//
// store() and remove() belong to one thread, next() and read() to another one.
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/to_size.h"
#include "octavo/kv/prefix_cache.h"

namespace octavo {

/// A block that can be found, or none.
struct FedBlock {
  bool is_stored = false;
  bool has_parent = false;  // else it is the first of its chain
  std::uint64_t hash = 0, parent = 0;
  std::vector<TokenId> tokens = {};  // [block_size]
};

class BlockFeed {
 public:
  BlockFeed(int num_blocks, int block_size);

  int num_blocks() const { return static_cast<int>(num_blocks_); }
  int block_size() const { return block_size_; }

  /// A block can be found from now on. `parent`: the hash of the block before it; null: there is none.
  void store(BlockId block, const BlockHash& hash, const BlockHash* parent, std::span<const TokenId> tokens);
  /// A block can be found no more; nothing where it was not stored.
  void remove(BlockId block);
  /// Whether a block is stored, for the thread that stores.
  bool is_stored(BlockId block) const { return is_stored_[to_size(block)]; }

  /// The next block that has changed since next() gave it last; none: no other has.
  std::optional<BlockId> next();
  /// Reads the present state of a block into `state`.
  void read(BlockId block, FedBlock& state) const;

 private:
  // Words of a block: its version (odd while it is written), its state, its hash and its parent's, then its tokens, two
  // in a word.
  static constexpr std::size_t kVersion = 0, kState = 1, kHash = 2, kParent = 3, kTokens = 4;
  static constexpr std::uint64_t kStored = 1, kHasParent = 2;

  std::span<std::atomic<std::uint64_t>> words_of(BlockId block);
  std::span<const std::atomic<std::uint64_t>> words_of(BlockId block) const;
  void mark(BlockId block);

  const std::size_t num_blocks_;
  const int block_size_;
  const std::size_t words_per_block_;
  std::vector<bool> is_stored_;  // [blocks]
  std::vector<std::atomic<std::uint64_t>> words_;
  std::vector<std::atomic<bool>> is_marked_;  // [blocks]; the block is in the ring
  std::vector<std::atomic<BlockId>> ring_;    // a power of two
  std::atomic<std::uint64_t> end_ = 0;        // of the ring
  std::uint64_t begin_ = 0;                   // of the ring; the reader's
};

}  // namespace octavo
