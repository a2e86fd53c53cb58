// What subscribers have been told of the blocks, and what has changed since: it turns states of blocks into events.
//
// A block is told after the one before it, and nothing is told of a block that went before anybody heard of it. Blocks
// have new places now and then: a hash that moves is neither removed nor stored.
//
// Owned by the publisher; its thread.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "kv/block_feed.h"
#include "kv_events/event_batch.h"

namespace octavo {

class BlockBook {
 public:
  /// Takes the blocks that stand as changed. The feed must outlive it.
  explicit BlockBook(BlockFeed& feed);

  /// Gives what has changed since the last call.
  BlockChanges collect();
  /// Gives all that subscribers have been told and that stands, after AllBlocksCleared.
  BlockChanges everything() const;

 private:
  using Hash = std::uint64_t;
  struct Noted {
    FedBlock block = {};
    int num_places = 0;  // where it was last seen; 2 while it moves
    bool is_told = false;
  };
  using Children = std::unordered_map<Hash, std::vector<Hash>>;

  void take_changed(std::vector<Hash>& touched);
  void note(BlockId block, const FedBlock& state, std::vector<Hash>& touched);
  bool is_told(Hash hash) const;
  void sort(const std::vector<Hash>& untold, std::vector<Hash>& firsts, Children& children) const;
  std::vector<StoredRun> runs_from(std::vector<Hash> firsts, Children& children) const;

  BlockFeed& feed_;
  std::vector<Hash> at_;  // [blocks] the hash that was last seen there; 0: none
  std::unordered_map<Hash, Noted> noted_;
  std::vector<Hash> waiting_;  // hashes of blocks whose parents are not told
};

}  // namespace octavo
