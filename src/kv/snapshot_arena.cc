#include "kv/snapshot_arena.h"

#include <cstring>
#include <new>

#include "base/to_size.h"

namespace octavo {

SnapshotArena::SnapshotArena(const StateRoom& room, LayerRange layers)
    : shape_(room.layout.snapshot),
      own_(layers),
      number_(room.layout.num_groups()),
      num_snapshots_(room.num_snapshots),
      begin_(shape_.bytes_of_first(layers.first)),
      bytes_(shape_.bytes_of_first(layers.end) - begin_),
      memory_(to_size(room.num_snapshots) * bytes_) {}

Result<SnapshotArena> SnapshotArena::create(const StateRoom& room, LayerRange layers) try {
  return SnapshotArena(room, layers);
} catch (const std::bad_alloc&) {
  return fail(
      "no memory for the recurrent states of {} sequences, {} bytes each: the system's or the process's limits "
      "forbid so much",
      room.num_snapshots, room.layout.snapshot.bytes);
}

std::size_t SnapshotArena::offset_of(int snapshot) const {
  OCTAVO_CHECK(snapshot >= 0 && snapshot < num_snapshots_, "snapshot {} of {}", snapshot, num_snapshots_);
  return to_size(snapshot) * bytes_;
}

float* SnapshotArena::state(int snapshot, int layer) {
  const std::optional<std::size_t>& place = shape_.places[to_size(layer)];
  OCTAVO_CHECK(place.has_value() && own_.contains(layer), "layer {} has no state here", layer);
  return reinterpret_cast<float*>(memory_.data() + offset_of(snapshot) + *place - begin_);
}

std::span<std::byte> SnapshotArena::bytes(int snapshot) {
  return {reinterpret_cast<std::byte*>(memory_.data() + offset_of(snapshot)), bytes_};
}

void SnapshotArena::copy(std::span<const BlockCopy> copies) {
  for (const auto& [group, from, to] : copies)
    if (group == number_) std::memcpy(memory_.data() + offset_of(to), memory_.data() + offset_of(from), bytes_);
}

void SnapshotArena::release(std::span<const BlockRun> runs) {
  for (const BlockRun& run : runs)
    if (run.group == number_ && bytes_ > 0)
      memory_.release(offset_of(run.first), offset_of(run.first + run.count - 1) + bytes_);
}

}  // namespace octavo
