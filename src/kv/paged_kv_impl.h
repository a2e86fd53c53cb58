// The books of PagedKvCache, shared by the files that implement it: paged_kv_cache.cc (making one, sequences),
// paged_kv_steps.cc (reserve, commit, truncate, copies), paged_kv_prefix.cc (attach, publish), paged_kv_data.cc (write
// and read), paged_kv_memory.cc (memory given back), paged_kv_check.cc (stats, integrity).
#pragma once

#include <bit>
#include <memory>
#include <unordered_map>
#include <utility>
#include <vector>

#include "kv/kv_storage.h"
#include "kv/written_bits.h"
#include "octavo/kv/paged_kv_cache.h"

namespace octavo {

/// A sequence's share of an attention group.
struct GroupState {
  BlockTable table;
  std::vector<std::int32_t> visible;  // [entries] leading slots of the block that the sequence sees. Fewer than all
                                      // where it was truncated in a block that others hold too
  std::int64_t length = 0;            // leading positions that are written in every layer of the group
};

struct SequenceState {
  std::vector<GroupState> groups;
  BlockHash root;                // of the chain
  std::vector<BlockHash> chain;  // of its leading blocks, all of which are published (where held)

  /// It holds its leading blocks that are published, and nothing else.
  bool is_all_published(int block_size) const;
};

/// Sequences that were dropped, emptied: the next ones of about their size take over their memory, so that beginning a
/// sequence allocates none where such a one has ended.
class SpareSequences {
 public:
  using Node = std::unordered_map<SequenceId, SequenceState>::node_type;

  SpareSequences() { nodes_.reserve(kMost); }
  /// Entries that a sequence gets room for where somebody asks for `entries` blocks in each group: a power of two, so
  /// that many are of one size.
  static std::size_t room_for(std::size_t entries) { return std::bit_ceil(entries); }
  /// Keeps a sequence that holds no block, unless enough are kept.
  void keep(Node node);
  /// One with room for as many entries; empty where there is none.
  Node take(std::size_t entries);

 private:
  static constexpr std::size_t kMost = 512, kMostEntries = std::size_t{1} << 18;

  static std::size_t room(const Node& node) { return std::bit_floor(node.mapped().groups.front().visible.capacity()); }

  std::vector<Node> nodes_;
  std::size_t num_entries_ = 0;  // of all
};

struct PagedKvCache::Impl {
  struct GroupBooks {
    GroupBooks(Group shape, int block_size)
        : group(std::move(shape)),
          pool(group.num_blocks),
          written(group.num_blocks, static_cast<int>(group.layers.size()), block_size) {}

    Group group;
    BlockPool pool;
    WrittenBits written;
    std::unique_ptr<PrefixCache> prefix;  // null: nothing is published
  };
  /// Blocks that a change needs of a group's pool.
  struct Needed {
    int missing = 0;  // new entries
    int copies = 0;   // private copies of shared blocks
  };

  Impl(PagedKvOptions given, KvStorage memory) : options(std::move(given)), storage(std::move(memory)) {}

  PagedKvOptions options;  // as given, but a hasher is there if blocks are published
  KvStorage storage;
  int block_size = 0;
  std::vector<std::unique_ptr<GroupBooks>> groups;  // each stays where it is: tables and caches point to its pool
  int global_group = -1;                            // the one without a window; -1: all have one
  std::vector<std::pair<int, int>> layer_places;    // [layers] group, index in the group
  std::unordered_map<SequenceId, SequenceState> sequences;
  SpareSequences spares;
  SequenceId next_id = 0;
  WriteKvFn write_token = nullptr;  // of the element type
  std::uint64_t hits = 0, misses = 0, copies = 0;
  std::vector<BlockCopy> made;  // scratch of reserve() without a list
  std::vector<int> runs;        // [groups] scratch of match()
  BlockChain chain;             // scratch of callers that give no chain

  SequenceState* find(SequenceId id);
  const SequenceState* find(SequenceId id) const;
  int num_layers() const { return static_cast<int>(layer_places.size()); }

  void make_prefix_caches();
  void reserve_entries(SequenceState& sequence, std::size_t entries) const;
  bool publishes() const { return groups.front()->prefix != nullptr; }
  Needed needed(const SequenceState& sequence, int g, std::int64_t first, std::int64_t end) const;
  KvResult<void> check_room(SequenceId id, const SequenceState& sequence, int g, std::int64_t first,
                            std::int64_t end) const;
  bool grow_memory(std::int64_t end);
  void release_arena();
  KvResult<void> reserve_groups(SequenceId id, SequenceState& sequence, int first_group, int end_group,
                                std::int64_t first, std::int64_t end, std::vector<BlockCopy>* list);
  void make_writable(GroupState& state, int g, std::int64_t first, std::int64_t end, std::vector<BlockCopy>& list);
  void make_private(GroupState& state, int g, int index, std::vector<BlockCopy>& list);
  void extend(GroupState& state, int g, std::int64_t num_tokens);
  void update_length(GroupState& state, int g) const;
  KvResult<BlockId> find_written(SequenceId id, int layer, std::int64_t position) const;
  bool is_visible(const GroupState& state, int g, int layer_index, std::int64_t position) const;
  void truncate_group(GroupState& state, int g, std::int64_t num_tokens);
  int match(const SequenceState& sequence, std::span<const TokenId> tokens, const BlockChain& known);
  void attach(SequenceState& sequence, const BlockChain& known, int num_blocks);
  bool publish_block(SequenceState& sequence, int index, const BlockHash& hash, std::span<const TokenId> tokens);
  int first_needed_block(int g, std::int64_t num_tokens) const;

  Result<void> check_sequence(SequenceId id, const SequenceState& sequence) const;
  Result<void> check_group(int g) const;
};

}  // namespace octavo
