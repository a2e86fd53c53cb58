// Description of all that a sequence keeps between steps: which layers share a block table, how wide their keys and
// values are, how many bytes a block takes.
//
// Made once from the layers of a model (or from PagedKvOptions); manager, arena and attention read it and derive
// nothing a second time. Plain values. Groups of blocks stand in a list of their own: recurrent layers, whose state is
// not keys and values, have no place in it, but one in the snapshot.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/first_seen.h"
#include "base/to_size.h"
#include "octavo/kv/layer_shape.h"
#include "octavo/kv/types.h"

namespace octavo {

/// Layers that share a block table: those that look back equally far and have equal heads.
struct KvGroup {
  int window = 0;           // tokens; 0: all
  bool is_chunked = false;  // a token sees its own chunk of `window` tokens
  int num_kv_heads = 0;
  int k_dim = 0, v_dim = 0;  // of a head
  bool v_in_k = false;       // a value is the first v_dim numbers of its key
  std::vector<int> layers;   // with keys and values of their own, ascending

  int num_layers() const { return static_cast<int>(layers.size()); }
  /// The first token that the one behind `num_tokens` tokens sees.
  std::int64_t first_seen(std::int64_t num_tokens) const { return octavo::first_seen(num_tokens, window, is_chunked); }
};

/// A layer's keys and values: those of the layer at `index` of a group, its own or its lender's.
struct KvPlace {
  int group = 0, index = 0;
  int window = 0;  // tokens that the layer looks back, at most the group's; 0: all
};

/// The states of all recurrent layers of a sequence together, of one size whatever its length.
struct SnapshotShape {
  std::size_t bytes = 0;                           // 0: no layer is recurrent
  std::vector<std::optional<std::size_t>> places;  // [layers] where the layer's state begins, in bytes

  /// Bytes of the states of the first `num_layers` layers, which lie in front of the others.
  std::size_t bytes_of_first(int num_layers) const;
};

struct StateLayout {
  /// Groups in the order in which their layers first appear; an empty entry is a layer without keys and values.
  /// `recurrent_bytes`: [layers] of their states, 0 where a layer has none; or empty. Errors: sizes below 1, no layer,
  /// a lender that does not fit. The caller bounds the sizes.
  static Result<StateLayout> create(KvType type, KvLayout layout, int block_size,
                                    std::span<const std::optional<KvLayerShape>> layers,
                                    std::span<const std::size_t> recurrent_bytes = {});

  KvType type = KvType::kF16;
  KvLayout layout = KvLayout::kPaged;
  int block_size = kDefaultBlockSize;          // tokens; of the contiguous layout: the longest sequence
  std::vector<KvGroup> groups;                 // of keys and values
  std::vector<std::optional<KvPlace>> places;  // [layers]
  SnapshotShape snapshot = {};

  bool is_contiguous() const { return layout == KvLayout::kContiguous; }
  int num_layers() const { return static_cast<int>(places.size()); }
  int num_groups() const { return static_cast<int>(groups.size()); }
  const KvGroup& group(int g) const { return groups[to_size(g)]; }
  /// All of it in one line: blocks and snapshots of two layouts hold the same only where these are equal.
  std::string name() const;
  /// CHECKs the layer.
  const KvPlace& place(int layer) const;
  /// The layer whose keys and values a layer reads: itself, unless it borrows.
  int lender(int layer) const;

  /// Bytes of one KV head, one layer, one block of a group, and where V begins in it (of the contiguous layout: not
  /// within the head; of values in keys: where K ends).
  std::size_t head_bytes(int g) const;
  std::size_t v_offset(int g) const;
  /// Bytes of one block in one layer of a group.
  std::size_t layer_block_bytes(int g) const { return to_size(group(g).num_kv_heads) * head_bytes(g); }
  /// Bytes of one block in all layers of a group.
  std::size_t block_bytes(int g) const { return to_size(group(g).num_layers()) * layer_block_bytes(g); }
  /// Bytes of one block of every group: block_size tokens of a sequence.
  std::size_t block_bytes() const;
  std::size_t bytes_per_token() const { return block_bytes() / to_size(block_size); }
  /// Tokens, in whole blocks, whose keys and values take at least the memory of a snapshot; at least one block.
  int tokens_of_a_snapshot() const;
};

/// A layout, and how much of it there is memory for.
struct StateRoom {
  StateLayout layout;
  std::vector<int> num_blocks;  // [groups]
  int num_snapshots = 0;        // sequences that can have a recurrent state at once; 0: no layer is recurrent

  /// Tokens of the longest sequence that fits alone, if it is committed token by token as it grows.
  std::int64_t longest_sequence() const;
  /// Bytes of all blocks, and of all blocks and snapshots.
  std::uint64_t block_bytes() const;
  std::uint64_t bytes() const { return block_bytes() + to_size(num_snapshots) * layout.snapshot.bytes; }
};

/// Consecutive blocks of a group; behind the last group: snapshots.
struct BlockRun {
  std::int32_t group;
  BlockId first;
  std::int32_t count;
};

}  // namespace octavo
