#include "tokenizer/words/merge_queue.h"

#include <algorithm>
#include <functional>

namespace octavo {

namespace {

constexpr std::size_t kFirstSlots = 64;

void push_least(std::vector<std::int32_t>& heap, std::int32_t position) {
  heap.push_back(position);
  std::push_heap(heap.begin(), heap.end(), std::greater<>());
}

std::int32_t pop_least(std::vector<std::int32_t>& heap) {
  std::pop_heap(heap.begin(), heap.end(), std::greater<>());
  const std::int32_t position = heap.back();
  heap.pop_back();
  return position;
}

}  // namespace

void MergeQueue::clear() {
  for (std::size_t i = 0; i < used_; ++i) {
    Bucket& old = buckets_[i];
    table_[old.slot] = kFree;
    old.next = 0;
    old.positions.clear();
    old.late.clear();
  }
  used_ = 0;
  ranks_.clear();
}

std::size_t MergeQueue::bytes() const {
  std::size_t bytes =
      buckets_.capacity() * sizeof(Bucket) + (table_.capacity() + ranks_.capacity()) * sizeof(table_[0]);
  for (const Bucket& bucket : buckets_)
    bytes += (bucket.positions.capacity() + bucket.late.capacity()) * sizeof(std::int32_t);
  return bytes;
}

std::uint32_t MergeQueue::free_or_own_slot(std::uint32_t rank) const {
  const auto mask = static_cast<std::uint32_t>(table_.size() - 1);
  std::uint32_t slot = (rank * 0x9E3779B1U) >> 7 & mask;
  while (table_[slot] != kFree && buckets_[table_[slot]].rank != rank) slot = (slot + 1) & mask;
  return slot;
}

void MergeQueue::grow() {
  table_.assign(std::max(kFirstSlots, table_.size() * 2), kFree);
  for (std::uint32_t i = 0; i < used_; ++i) {
    buckets_[i].slot = free_or_own_slot(buckets_[i].rank);
    table_[buckets_[i].slot] = i;
  }
}

MergeQueue::Bucket& MergeQueue::bucket(std::uint32_t rank) {
  if (used_ * 2 >= table_.size()) grow();
  const std::uint32_t slot = free_or_own_slot(rank);
  if (table_[slot] == kFree) {
    table_[slot] = static_cast<std::uint32_t>(used_);
    if (used_ == buckets_.size()) buckets_.emplace_back();
    buckets_[used_].rank = rank;
    buckets_[used_].slot = slot;
    ++used_;
  }
  return buckets_[table_[slot]];
}

void MergeQueue::push(Entry entry) {
  Bucket& own = bucket(entry.rank);
  const bool was_empty = own.next == own.positions.size() && own.late.empty();
  if (was_empty) {
    own.next = 0;
    own.positions.clear();
    ranks_.push_back(entry.rank);
    std::push_heap(ranks_.begin(), ranks_.end(), std::greater<>());
  }
  if (own.next == 0) {
    own.positions.push_back(entry.position);
  } else {
    push_least(own.late, entry.position);
  }
}

std::optional<MergeQueue::Entry> MergeQueue::pop() {
  if (ranks_.empty() || (++pops_ % kPopsBetweenLooks == 0 && is_stopped())) return std::nullopt;
  const std::uint32_t rank = ranks_.front();
  if (last_ >= used_ || buckets_[last_].rank != rank) last_ = table_[free_or_own_slot(rank)];
  Bucket& own = buckets_[last_];
  auto& positions = own.positions;
  if (own.next == 0 && !std::is_sorted(positions.begin(), positions.end())) {
    std::sort(positions.begin(), positions.end());
  }
  const bool is_late = own.next == positions.size() || (!own.late.empty() && own.late.front() < positions[own.next]);
  const std::int32_t position = is_late ? pop_least(own.late) : positions[own.next++];
  if (own.next == positions.size() && own.late.empty()) {
    std::pop_heap(ranks_.begin(), ranks_.end(), std::greater<>());
    ranks_.pop_back();
  }
  return Entry{rank, position};
}

}  // namespace octavo
