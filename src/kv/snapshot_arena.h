// The bytes of recurrent states: snapshots of one size, one behind another, each with the states of all recurrent
// layers that lie here.
//
// Owned by a runner; StateSnapshots (state_snapshots.h) says who holds which. One thread at a time may copy and
// release; the threads of a step write different states.
#pragma once

#include <span>

#include "base/error.h"
#include "base/page_memory.h"
#include "kv/layer_range.h"
#include "kv/state_layout.h"

namespace octavo {

class SnapshotArena {
 public:
  /// Memory for the snapshots of `room`, in those layers that lie here; none where it has none. Error: there is no
  /// memory.
  static Result<SnapshotArena> create(const StateRoom& room, LayerRange layers = {});

  /// The state of a recurrent layer in a snapshot. CHECKs both.
  float* state(int snapshot, int layer);
  /// All that lies here of a snapshot. CHECKs the number.
  std::span<std::byte> bytes(int snapshot);
  /// Makes those of a batch's copies that are of snapshots, in this order.
  void copy(std::span<const BlockCopy> copies);
  /// Gives the memory of those runs back that are of snapshots.
  void release(std::span<const BlockRun> runs);

 private:
  SnapshotArena(const StateRoom& room, LayerRange layers);
  std::size_t offset_of(int snapshot) const;

  SnapshotShape shape_;
  LayerRange own_;
  int number_ = 0;  // of the pool of snapshots
  int num_snapshots_ = 0;
  std::size_t begin_, bytes_;  // of the states that lie here, in a whole snapshot
  PageMemory memory_;
};

}  // namespace octavo
