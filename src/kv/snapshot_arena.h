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
  /// Takes the memory of the snapshots of `room` in those layers of it that are in `layers`; empty where there are
  /// none. Error: there is not enough memory.
  static Result<SnapshotArena> create(const StateRoom& room, LayerRange layers = {});

  /// The state of a recurrent layer in a snapshot. CHECKs both numbers.
  float* state(int snapshot, int layer);
  /// The bytes of a snapshot in these layers. CHECKs the number.
  std::span<std::byte> bytes(int snapshot);
  /// Makes the copies of snapshots among a batch's copies, in this order.
  void copy(std::span<const BlockCopy> copies);
  /// Gives back the memory of the snapshots among these runs.
  void release(std::span<const BlockRun> runs);

 private:
  SnapshotArena(const StateRoom& room, LayerRange layers);
  std::size_t offset_of(int snapshot) const;

  SnapshotShape shape_;
  LayerRange own_;
  int number_ = 0;  // the number of the pool of snapshots
  int num_snapshots_ = 0;
  std::size_t begin_, bytes_;  // the range of these layers' states in a whole snapshot
  PageMemory memory_;
};

}  // namespace octavo
