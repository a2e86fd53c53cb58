// Sharing by content, over all groups of a KV memory: what a sequence finds that others have computed, and what they
// find of it.
//
// Owned by KvBooks. One thread at a time.
#pragma once

#include <cstdint>
#include <deque>
#include <span>
#include <string_view>
#include <vector>

#include "kv/group_books.h"
#include "kv/sequence_table.h"
#include "octavo/kv/prefix_cache.h"

namespace octavo {

class PrefixBooks {
 public:
  /// The groups must outlive it, and stay as many. With an empty hasher nothing is published.
  PrefixBooks(std::deque<GroupBooks>& groups, int block_size, BlockHasher hasher);
  PrefixBooks(const PrefixBooks&) = delete;
  PrefixBooks& operator=(const PrefixBooks&) = delete;

  bool publishes() const { return hasher_ != nullptr; }
  const BlockHasher& hasher() const { return hasher_; }
  std::uint64_t hits() const { return hits_; }
  std::uint64_t misses() const { return misses_; }

  /// PagedKvCache::attach_prefix() and extend_prefix() of a sequence that is known to allow it.
  int attach(SequenceState& sequence, std::span<const TokenId> tokens, std::string_view domain);
  int extend(SequenceState& sequence, std::span<const TokenId> tokens, const BlockChain& chain);
  bool is_published(const BlockHash& hash) const;
  /// The position at which `tokens` part from what their owner published before: they follow it over a block at least,
  /// and it goes on with other tokens. -1: they do not part, or there is no group without a window.
  int parting(const SequenceState& sequence, std::span<const TokenId> tokens, const BlockChain& chain) const;

  /// PagedKvCache::publish() of a sequence; DimMismatch.
  KvResult<void> publish(SequenceState& sequence, std::span<const TokenId> tokens, const BlockChain& chain);
  /// The chain of these tokens; valid until the next call.
  const BlockChain& chain_of(std::span<const TokenId> tokens, std::string_view domain);

  /// A published block is published in the first group without a window too.
  Result<void> check_integrity() const;

 private:
  int match(const SequenceState& sequence, std::span<const TokenId> tokens, const BlockChain& known);
  void take_references(SequenceState& sequence, const BlockChain& known, int num_blocks);
  bool publish_block(SequenceState& sequence, int index, const BlockHash& hash, std::span<const TokenId> tokens);

  std::deque<GroupBooks>& groups_;
  const int block_size_;
  const BlockHasher hasher_;
  int group_without_window_ = -1;  // the first; -1: all have a window
  std::uint64_t hits_ = 0, misses_ = 0;
  std::vector<int> matched_;     // [groups] scratch of match(): blocks held or found in a row
  std::vector<BlockId> before_;  // [groups] scratch of match(): the block that the next one follows
  BlockChain chain_;             // scratch of callers that give no chain
};

}  // namespace octavo
