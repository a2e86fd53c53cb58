// An index that finds KV blocks by their contents: by their rows, all rows before them, the domain, and what computed
// them.
//
// A full block has a chain hash, over its rows and the hash of the block before it. The first links of a chain have the
// model, the layout and the cache domain, so that none sees another's blocks. Hashes have 128 bits and a secret key
// (SipHash-2-4, Aumasson and Bernstein 2012), and are never trusted alone: a hit compares rows and the chain.
//
// A cache belongs to one BlockPool, that of an attention group; it must not move, and the pool must outlive it. A
// published block that is freed stays findable until the pool needs it. One thread at a time may call a cache. No call
// allocates after construction, but for listeners and for blocks with given rows, whose room is used again.
//
// In a chained cache no block stays published without its parent, because a block is worth nothing without those before
// it. A windowed group is not chained: its leading blocks go first, and blocks behind them can still be attached.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "octavo/kv/block_pool.h"
#include "octavo/kv/listeners.h"
#include "octavo/kv/row_source.h"

namespace octavo {

struct BlockHash {
  std::uint64_t low = 0, high = 0;
  friend bool operator==(const BlockHash&, const BlockHash&) = default;
};

/// The hash of one link of a chain, which must depend on all arguments. If two contents collide, the first one stays
/// findable and the other is not shared. Domains, and in a cache that is not chained also the tokens before a block,
/// are told apart by the hash alone (PagedKvCache asks the group without a window, if there is one).
using BlockHasher = std::function<BlockHash(const BlockHash& parent, std::span<const std::byte> bytes)>;

/// The key of the hashes. Whoever keeps it finds the same blocks in another process; whoever knows it can probe for
/// texts of others.
using BlockHashKey = std::array<std::byte, 16>;

/// Makes a hasher: SipHash-2-4 with 128-bit results under `key`, or under a random key of this hasher and its copies.
/// Error: OpenSSL offers no SipHash.
Result<BlockHasher> make_block_hasher(const std::optional<BlockHashKey>& key = {});

/// The hasher, the origin and the block size that all chains of one memory share.
struct BlockHashing {
  BlockHasher hasher = {};  // empty: nothing is hashed
  BlockHash origin = {};
  int block_size = kDefaultBlockSize;
};

/// The chain of a sequence: the hashes under which its blocks are looked up and published. A plain value; hashing with
/// a copy of a hasher needs no lock.
class BlockChain {
 public:
  /// The link before all roots of one memory: `model` names all that the bits of keys and values depend on, `layout`
  /// names their order in a block. It is needed where caches of other models or layouts could find the blocks.
  static BlockHash origin(const BlockHasher& hasher, std::string_view model, std::string_view layout);
  /// The first link of a domain, such as an API key; sequences of equal domains and origins find each other's blocks.
  static BlockHash root(const BlockHasher& hasher, std::string_view domain, const BlockHash& origin = {});
  /// The next link of a chain. Where a block has given rows, each piece of them is a link of its own after the tokens'
  /// link.
  static BlockHash next(const BlockHasher& hasher, const BlockHash& parent, const RowSource& block);

  /// An empty chain of no domain.
  BlockChain() = default;
  BlockChain(const BlockHasher& hasher, std::string_view domain, const BlockHash& origin = {})
      : root_(root(hasher, domain, origin)) {}

  /// Adds the missing hashes of full blocks of `rows`, which must begin with the rows of earlier calls.
  void extend(const BlockHasher& hasher, int block_size, const RowSource& rows);
  /// Reserves room for the hashes of `num_blocks` blocks, so that extend() up to this number allocates no memory.
  void reserve(std::size_t num_blocks) { hashes_.reserve(num_blocks); }
  void clear() { hashes_.clear(); }

  const BlockHash& root_hash() const { return root_; }
  std::span<const BlockHash> hashes() const { return hashes_; }
  std::size_t size() const { return hashes_.size(); }
  /// The parent of block `index`: the hash before it, or the root.
  const BlockHash& parent(std::size_t index) const { return index == 0 ? root_ : hashes_[index - 1]; }

 private:
  BlockHash root_;
  std::vector<BlockHash> hashes_;
};

class PrefixCache {
 public:
  /// Makes a cache that is told the pool's evictions from now on. `block_size` is in tokens, at least 1.
  PrefixCache(BlockPool& pool, int block_size, bool chained = true);
  ~PrefixCache();
  PrefixCache(const PrefixCache&) = delete;
  PrefixCache& operator=(const PrefixCache&) = delete;

  /// The block published under `hash` with these block_size rows after `parent`, or kNoBlock. In a chained cache
  /// `parent_block` is the block found before it (kNoBlock for the first of a chain), because hashes are not trusted.
  /// The call takes no reference: the next allocation may evict a free block.
  BlockId find(const BlockHash& hash, const BlockHash& parent, const RowSource& rows,
               BlockId parent_block = kNoBlock) const;
  /// The block published under `hash`, whatever it holds, or kNoBlock.
  BlockId find_hash(const BlockHash& hash) const;

  /// Makes a referenced block findable; it is immutable from now on. The result is the block that is findable under the
  /// hash: `block`, or a block with the same contents that was published before, which the caller should use instead
  /// (and take a reference to). kNoBlock: other contents have the same hash, or a chained cache does not know
  /// `parent_block` under `parent`, or there is no memory for given rows; then the block stays private. A block that
  /// was published under another hash is unpublished first. Errors: a block that is not referenced, a wrong number of
  /// rows.
  Result<BlockId> publish(BlockId block, const BlockHash& hash, const BlockHash& parent, const RowSource& rows,
                          BlockId parent_block = kNoBlock);

  /// Sets the owner of a published block, which a number names.
  void set_owner(BlockId block, std::uint64_t owner);
  /// The most leading rows that `rows` has in common with one of this owner's latest kMaxCompared blocks that were
  /// published after `parent` in a chained cache. None: there is no such block, or one begins with all of `rows`.
  std::optional<std::size_t> common_with_others(BlockId parent, const RowSource& rows, std::uint64_t owner) const;
  static constexpr int kMaxCompared = 64;

  bool is_published(BlockId block) const;
  /// The hash under which a block is published; none for other blocks.
  std::optional<BlockHash> hash_of(BlockId block) const;
  /// Forgets a block before it is written, and in a chained cache all blocks that were published after it. A block that
  /// is not published is left alone. A block that the pool evicts is forgotten in the same way.
  void unpublish(BlockId block);
  /// Adds a listener that is told each block that unpublish() or an eviction forgets, with the hash that it had, before
  /// anybody writes the block; it must not call the cache.
  ListenerId on_forget(std::function<void(BlockId, const BlockHash&)> listener) {
    return on_forget_.add(std::move(listener));
  }
  void remove_listener(ListenerId id) { on_forget_.remove(id); }

  int num_published() const { return num_published_; }

  /// Checks that the index agrees with the entries, the links between entries with each other and with the hashes, and
  /// the pool's cached flags with both. The error names the block and its fault.
  Result<void> check_integrity() const;

 private:
  struct Entry {
    BlockHash hash, parent;
    bool published = false;
    BlockId parent_block = kNoBlock, first_child = kNoBlock, next_sibling = kNoBlock, previous_sibling = kNoBlock;
    std::uint64_t owner = 0;
  };
  Entry& entry(BlockId block) { return entries_[static_cast<std::size_t>(block)]; }
  const Entry& entry(BlockId block) const { return entries_[static_cast<std::size_t>(block)]; }
  std::span<const TokenId> tokens_of(BlockId block) const;
  RowSource rows_of(BlockId block) const;
  bool keep_rows(BlockId block, const RowSource& rows);
  std::size_t home(const BlockHash& hash) const { return hash.low & (index_.size() - 1); }
  void insert_into_index(BlockId block);
  void erase_from_index(BlockId block);
  void link_to_parent(BlockId block, BlockId parent);
  void unlink_from_parent(BlockId block);
  void forget(BlockId block);
  void forget_descendants(BlockId block);
  Result<void> check_links(BlockId block) const;

  BlockPool& pool_;
  int block_size_;
  bool chained_;
  int num_published_ = 0;
  std::vector<Entry> entries_;                 // [blocks]
  std::vector<TokenId> tokens_;                // [blocks][block_size]
  std::vector<std::vector<GivenRows>> given_;  // [blocks]; empty until a block with given rows is published
  std::vector<BlockId> index_;  // open addressing by hash.low, linear probing; kNoBlock: empty; a power of two
  Listeners<BlockId, const BlockHash&> on_forget_;
  ListenerId of_pool_;  // its id in the pool's list of listeners
};

}  // namespace octavo
