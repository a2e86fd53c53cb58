// The sequences of a KV memory: each one's part of every group, and the chain of what it has published.
//
// Owned by KvCacheManager. One thread at a time.
#pragma once

#include <bit>
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "octavo/kv/block_table.h"
#include "octavo/kv/prefix_cache.h"

namespace octavo {

/// A sequence's state in one attention group.
struct GroupState {
  BlockTable table;
  std::vector<std::int32_t> visible;  // [entries] leading slots of the block that the sequence sees. Fewer than all
                                      // where it was truncated in a block that others hold too
  std::int64_t length = 0;            // leading positions that are written in every layer of the group
};

struct SequenceState {
  std::vector<GroupState> groups;
  std::uint64_t owner = 0;       // the owner of the blocks that it publishes
  bool is_hidden = false;        // nobody outside is told of these blocks
  BlockHash root;                // the root of the chain
  std::vector<BlockHash> chain;  // the hashes of its leading blocks, all of which are published (where held)
  BlockTable state_slot;         // the table of its snapshot, once it has a recurrent state

  bool is_empty() const;
  /// Whether it holds its leading blocks that are published, and nothing else.
  bool is_all_published(int block_size) const;
  /// Reserves room for as many blocks in each group, and for as many hashes if `publishes`.
  void reserve(std::size_t entries, int block_size, bool publishes);
  /// Gives every block back.
  void clear();
};

/// Sequences that were dropped, emptied: the next ones of about their size reuse their memory, so that beginning a
/// sequence allocates nothing where such a one has ended.
class SpareSequences {
 public:
  using Node = std::unordered_map<SequenceId, SequenceState>::node_type;

  SpareSequences() { nodes_.reserve(kMost); }
  /// The number of entries for which a sequence gets room where `entries` blocks are asked for in each group: a power
  /// of two, so that many sequences are of one size.
  static std::size_t room_for(std::size_t entries) { return std::bit_ceil(entries); }
  /// Keeps a sequence that holds no block, unless enough are kept.
  void keep(Node node);
  /// Takes a sequence with room for `entries` entries; empty where there is none.
  Node take(std::size_t entries);

 private:
  static constexpr std::size_t kMost = 512, kMostEntries = std::size_t{1} << 18;

  static std::size_t room(const Node& node) { return std::bit_floor(node.mapped().groups.front().visible.capacity()); }

  std::vector<Node> nodes_;
  std::size_t num_entries_ = 0;  // the entries of all kept sequences
};

class SequenceTable {
 public:
  SequenceState* find(SequenceId id);
  const SequenceState* find(SequenceId id) const;
  /// Adds a sequence under the next id: a spare one, or one that make() gives, with room for `entries` blocks in each
  /// group.
  template <class Make>
  SequenceId add(std::size_t entries, int block_size, bool publishes, const Make& make);
  /// Drops a sequence. False: the id is unknown.
  bool drop(SequenceId id);

  const std::unordered_map<SequenceId, SequenceState>& all() const { return sequences_; }

 private:
  std::unordered_map<SequenceId, SequenceState> sequences_;
  SpareSequences spares_;
  SequenceId next_id_ = 0;
};

template <class Make>
SequenceId SequenceTable::add(std::size_t entries, int block_size, bool publishes, const Make& make) {
  if (SpareSequences::Node spare = spares_.take(entries)) {
    spare.mapped().reserve(entries, block_size, publishes);
    spare.key() = next_id_;
    sequences_.insert(std::move(spare));
    return next_id_++;
  }
  SequenceState sequence = make();  // it gets its id once it is whole
  sequence.reserve(entries, block_size, publishes);
  sequences_.emplace(next_id_, std::move(sequence));
  return next_id_++;
}

}  // namespace octavo
