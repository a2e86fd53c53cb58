// Finds KV blocks by what they hold: which tokens, after which tokens, in which domain.
//
// A full block has a chain hash: of its tokens and of the hash of the block before it; the first link of a chain
// carries the domain (who may share), so domains do not see each other. Hashes are 128 bits, keyed with a random key of
// the process (SipHash-2-4, Aumasson and Bernstein 2012), and never trusted alone: a hit compares tokens and the chain.
//
// One cache belongs to one BlockPool, of one attention group; it must not move, and the pool must outlive it. A
// published block that is freed stays findable until the pool needs it. In a group without a window a parent outlives
// its children: a sequence frees its last block first. In a windowed group the leading blocks go first, and a child may
// stay alone. One thread at a time; nothing allocates after construction.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string_view>
#include <vector>

#include "octavo/kv/block_pool.h"

namespace octavo {

struct BlockHash {
  std::uint64_t low = 0, high = 0;
  friend bool operator==(const BlockHash&, const BlockHash&) = default;
};

/// Hash of one link of a chain. Must depend on all of its arguments; a poor one costs time, never a wrong hit.
using BlockHasher = std::function<BlockHash(const BlockHash& parent, std::span<const std::byte> bytes)>;

/// SipHash-2-4 with 128-bit results under a random key.
BlockHasher make_block_hasher();

/// The chain of a sequence: what a block is looked up and published under.
class BlockChain {
 public:
  /// The first link: `domain` names who shares, such as an API key; equal domains see each other's blocks.
  static BlockHash root(const BlockHasher& hasher, std::string_view domain);
  static BlockHash next(const BlockHasher& hasher, const BlockHash& parent, std::span<const TokenId> block);
};

class PrefixCache {
 public:
  /// Registers itself for the pool's evictions.
  PrefixCache(BlockPool& pool, int block_size);
  ~PrefixCache();
  PrefixCache(const PrefixCache&) = delete;
  PrefixCache& operator=(const PrefixCache&) = delete;

  /// The block published under `hash` with these tokens (block_size of them) after `parent`, or kNoBlock. Takes no
  /// reference: a free one may be evicted by the next allocation.
  BlockId find(const BlockHash& hash, const BlockHash& parent, std::span<const TokenId> tokens) const;

  /// Makes a referenced block findable; from now on it is immutable. Gives the block that is findable under the hash:
  /// `block`, or the one that was there already with the same contents, which the caller should use instead (its
  /// reference is the caller's to take). kNoBlock if another content has the same hash: the block stays private.
  BlockId publish(BlockId block, const BlockHash& hash, const BlockHash& parent, std::span<const TokenId> tokens);

  bool is_published(BlockId block) const;
  /// Forgets a block before it is written, and in a chain all that follows it, which could not be found any more.
  void unpublish(BlockId block);

  int num_published() const { return num_published_; }

  /// The index agrees with the entries, cached flags of the pool agree with both, and (`parents_outlive_children`: a
  /// group without a window) every published block's parent is published.
  Result<void> check_integrity(bool parents_outlive_children) const;

 private:
  // Private members are the implementation's to choose.
  struct Entry {
    BlockHash hash, parent;
    bool published = false;
    BlockId parent_block = kNoBlock, first_child = kNoBlock, next_sibling = kNoBlock, previous_sibling = kNoBlock;
  };
  BlockPool& pool_;
  int block_size_;
  int num_published_ = 0;
  std::vector<Entry> entries_;   // [blocks]
  std::vector<TokenId> tokens_;  // [blocks][block_size]
  std::vector<BlockId> index_;   // open addressing by hash.low, kNoBlock: empty
};

}  // namespace octavo
