#include "kv/snapshot_arena.h"

#include <cstring>
#include <new>

#include "base/to_size.h"

namespace octavo {

SnapshotArena::SnapshotArena(const StateRoom& room)
    : shape_(room.layout.snapshot),
      number_(room.layout.num_groups()),
      num_snapshots_(room.num_snapshots),
      memory_(to_size(room.num_snapshots) * shape_.bytes) {}

Result<SnapshotArena> SnapshotArena::create(const StateRoom& room) try {
  return SnapshotArena(room);
} catch (const std::bad_alloc&) {
  return fail(
      "no memory for the recurrent states of {} sequences, {} bytes each: the system's or the process's limits "
      "forbid so much",
      room.num_snapshots, room.layout.snapshot.bytes);
}

std::size_t SnapshotArena::offset_of(int snapshot) const {
  OCTAVO_CHECK(snapshot >= 0 && snapshot < num_snapshots_, "snapshot {} of {}", snapshot, num_snapshots_);
  return to_size(snapshot) * shape_.bytes;
}

float* SnapshotArena::state(int snapshot, int layer) {
  const std::optional<std::size_t>& place = shape_.places[to_size(layer)];
  OCTAVO_CHECK(place.has_value(), "layer {} is not recurrent", layer);
  return reinterpret_cast<float*>(memory_.data() + offset_of(snapshot) + *place);
}

void SnapshotArena::leave_out(int count) { begin_ = shape_.bytes_of_first(count); }

void SnapshotArena::copy(std::span<const BlockCopy> copies) {
  for (const auto& [group, from, to] : copies)
    if (group == number_)
      std::memcpy(memory_.data() + offset_of(to) + begin_, memory_.data() + offset_of(from) + begin_,
                  shape_.bytes - begin_);
}

void SnapshotArena::release(std::span<const BlockRun> runs) {
  for (const BlockRun& run : runs)
    if (run.group == number_)
      memory_.release(offset_of(run.first), offset_of(run.first + run.count - 1) + shape_.bytes);
}

}  // namespace octavo
