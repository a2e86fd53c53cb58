// The pairs of neighbours that may be merged: the best rank first and, within a rank, the pair that stands first.
//
// Positions wait in a list for each rank, and the ranks in a heap. Lists are mostly filled from left to right, so that
// a long text, which has few ranks beside its length, is read and written in order; a heap of all pairs would jump
// through memory. Any order of calls takes n log n. Not thread-safe; reused from word to word.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "octavo/request_work.h"

namespace octavo {

class MergeQueue {
 public:
  struct Entry {
    std::uint32_t rank;
    std::int32_t position;  // the position of the left neighbour
  };

  void clear();
  void push(Entry entry);
  /// Watches `work`: once it is stopped, which the queue looks for now and then, the queue seems empty; null: nothing
  /// stops it.
  void watch(const RequestWork* work) { work_ = work; }
  bool is_stopped() const { return work_ != nullptr && work_->is_stopped(); }
  /// Takes the entry with the lowest rank, and within a rank the lowest position; none: the queue is empty.
  std::optional<Entry> pop();

  /// The bytes that the queue holds.
  std::size_t bytes() const;

 private:
  struct Bucket {
    std::uint32_t rank = 0;
    std::uint32_t slot = 0;  // its index in table_
    std::size_t next = 0;    // positions before it were taken; 0: none was taken, and positions are in any order
    std::vector<std::int32_t> positions = {};
    std::vector<std::int32_t> late = {};  // a heap of the positions that were pushed after the first was taken
  };
  static constexpr std::uint32_t kFree = 0xFFFFFFFF;

  Bucket& bucket(std::uint32_t rank);
  void grow();
  std::uint32_t free_or_own_slot(std::uint32_t rank) const;

  static constexpr std::uint32_t kPopsBetweenLooks = 4096;

  const RequestWork* work_ = nullptr;
  std::uint32_t pops_ = 0;
  std::vector<Bucket> buckets_;  // the first used_ belong to ranks that were pushed since clear()
  std::size_t used_ = 0;
  std::size_t last_ = 0;              // the bucket of the last pop(), because many of one rank come in a row
  std::vector<std::uint32_t> table_;  // [hashes of ranks, open addressing] a bucket, or kFree
  std::vector<std::uint32_t> ranks_;  // a heap of the ranks whose buckets are not empty
};

}  // namespace octavo
