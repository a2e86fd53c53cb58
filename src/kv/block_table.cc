#include "octavo/kv/block_table.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "base/error.h"
#include "base/to_size.h"

namespace octavo {
namespace {

// A table holds references on its blocks, so one that is not in use can only be a bug of ours.
void give_back(BlockPool& pool, BlockId id) {
  const Result<void> freed = pool.free(id);
  OCTAVO_CHECK(freed.has_value(), "{}", freed.error().message);
}

}  // namespace

BlockTable::BlockTable(BlockPool& pool, int block_size) : pool_(&pool), block_size_(block_size) {
  OCTAVO_CHECK(block_size >= 1, "block size {}", block_size);
}

BlockTable::BlockTable(BlockTable&& other) noexcept
    : pool_(other.pool_),
      block_size_(other.block_size_),
      first_held_(std::exchange(other.first_held_, 0)),
      blocks_(std::exchange(other.blocks_, {})) {}

BlockTable& BlockTable::operator=(BlockTable&& other) noexcept {
  if (this == &other) return *this;
  truncate(0);
  pool_ = other.pool_;
  block_size_ = other.block_size_;
  first_held_ = std::exchange(other.first_held_, 0);
  blocks_ = std::exchange(other.blocks_, {});
  return *this;
}

int BlockTable::blocks_for(std::int64_t num_tokens) const {
  OCTAVO_CHECK(num_tokens >= 0, "{} tokens", num_tokens);
  const std::int64_t blocks = num_tokens / block_size_ + (num_tokens % block_size_ != 0 ? 1 : 0);
  return static_cast<int>(std::min<std::int64_t>(blocks, std::numeric_limits<int>::max()));
}

std::optional<BlockId> BlockTable::get(int index) const {
  if (index < first_held_ || index >= num_blocks()) return std::nullopt;
  return blocks_[to_size(index)];
}

int BlockTable::blocks_missing(std::int64_t num_tokens) const {
  return std::max(0, blocks_for(num_tokens) - num_blocks());
}

bool BlockTable::ensure_capacity(std::int64_t num_tokens) {
  const int missing = blocks_missing(num_tokens);
  if (missing == 0) return true;
  if (missing > pool_->free_count()) return false;
  const BlockId last = blocks_.empty() ? kNoBlock : blocks_.back();
  const std::size_t held = blocks_.size();
  blocks_.resize(held + to_size(missing));
  const bool taken = pool_->allocate_run(std::span(blocks_).subspan(held), last);
  OCTAVO_CHECK(taken, "{} blocks were free", missing);
  return true;
}

void BlockTable::append(BlockId id) {
  if (id == kNoBlock) {
    OCTAVO_CHECK(first_held_ == num_blocks(), "entry {} behind a block that is held", num_blocks());
    ++first_held_;
  } else {
    OCTAVO_CHECK(pool_->references(id) >= 1, "block {}", id);
  }
  blocks_.push_back(id);
}

void BlockTable::replace(int index, BlockId id) {
  const std::optional<BlockId> old = get(index);
  OCTAVO_CHECK(old.has_value(), "entry {} of {}", index, num_blocks());
  OCTAVO_CHECK(pool_->references(id) >= 1, "block {}", id);
  blocks_[to_size(index)] = id;
  give_back(*pool_, *old);
}

void BlockTable::truncate(std::int64_t num_tokens) {
  const auto kept = to_size(blocks_for(num_tokens));
  while (blocks_.size() > kept) {
    if (blocks_.back() != kNoBlock) give_back(*pool_, blocks_.back());
    blocks_.pop_back();
  }
  first_held_ = std::min(first_held_, num_blocks());
}

void BlockTable::release_before(std::int64_t position) {
  const std::int64_t gone = std::min<std::int64_t>(std::max<std::int64_t>(position, 0) / block_size_, num_blocks());
  for (; first_held_ < gone; ++first_held_) {
    BlockId& id = blocks_[to_size(first_held_)];
    give_back(*pool_, id);
    id = kNoBlock;
  }
}

void BlockTable::reserve_ids(std::int64_t num_tokens) { blocks_.reserve(to_size(blocks_for(num_tokens))); }

int BlockTable::num_runs() const {
  const auto first = to_size(first_held_);
  int runs = 0;
  for (std::size_t i = first; i < blocks_.size(); ++i) runs += i == first || blocks_[i] != blocks_[i - 1] + 1 ? 1 : 0;
  return runs;
}

}  // namespace octavo
