#include "kv/snapshot_books.h"

#include "base/error.h"

namespace octavo {

BlockTable SnapshotBooks::make_seat() {
  BlockTable seat(pool_, 1);
  if (exist()) seat.reserve_ids(1);
  return seat;
}

int SnapshotBooks::needed(const BlockTable& seat) const {
  if (!exist()) return 0;
  return seat.num_blocks() == 0 || pool_.references(seat.block_ids().front()) > 1 ? 1 : 0;
}

void SnapshotBooks::take(BlockTable& seat, std::vector<BlockCopy>& copies) {
  if (needed(seat) == 0) return;
  const BlockId own = pool_.allocate();
  OCTAVO_CHECK(own != kNoBlock, "{} snapshots, none is free", pool_.total_count());
  if (seat.num_blocks() == 0) return seat.append(own);
  copies.push_back({.group = number_, .from = seat.block_ids().front(), .to = own});
  seat.replace(0, own);
}

void SnapshotBooks::share(const BlockTable& parent, BlockTable& child) {
  if (parent.num_blocks() == 0) return;
  const BlockId id = parent.block_ids().front();
  const KvResult<void> shared = pool_.add_reference(id);
  OCTAVO_CHECK(shared.has_value(), "{}", describe(shared.error()));
  child.append(id);
}

void SnapshotBooks::release(std::vector<BlockRun>& runs) {
  for (BlockPool::Run run = pool_.free_run(0); run.count > 0; run = pool_.free_run(run.first + run.count)) {
    pool_.give_back(run);
    runs.push_back({.group = number_, .first = run.first, .count = run.count});
  }
  pool_.sort_free();
}

}  // namespace octavo
