#include "kv/block_feed.h"

#include <bit>

#include "base/error.h"

namespace octavo {

BlockFeed::BlockFeed(int num_blocks, int block_size)
    : num_blocks_(to_size(num_blocks)),
      block_size_(block_size),
      words_per_block_(kTokens + (to_size(block_size) + 1) / 2),
      is_stored_(num_blocks_),
      words_(num_blocks_ * words_per_block_),
      is_marked_(num_blocks_),
      ring_(std::bit_ceil(num_blocks_ + 1)) {}

std::span<std::atomic<std::uint64_t>> BlockFeed::words_of(BlockId block) {
  return std::span(words_).subspan(to_size(block) * words_per_block_, words_per_block_);
}

std::span<const std::atomic<std::uint64_t>> BlockFeed::words_of(BlockId block) const {
  return std::span(words_).subspan(to_size(block) * words_per_block_, words_per_block_);
}

// A reader that has seen a new word sees a newer version too, as the stores release and the loads acquire.
void BlockFeed::store(BlockId block, const BlockHash& hash, const BlockHash* parent, std::span<const TokenId> tokens) {
  OCTAVO_CHECK(tokens.size() == to_size(block_size_), "{} tokens in a block of {}", tokens.size(), block_size_);
  const std::span words = words_of(block);
  const std::uint64_t version = words[kVersion].load(std::memory_order_relaxed);
  words[kVersion].store(version + 1, std::memory_order_relaxed);
  words[kState].store(kStored | (parent != nullptr ? kHasParent : 0), std::memory_order_release);
  words[kHash].store(hash.low, std::memory_order_release);
  words[kParent].store(parent != nullptr ? parent->low : 0, std::memory_order_release);
  for (std::size_t i = 0; i < tokens.size(); i += 2) {
    const std::uint64_t first = static_cast<std::uint32_t>(tokens[i]);
    const std::uint64_t second = i + 1 < tokens.size() ? static_cast<std::uint32_t>(tokens[i + 1]) : 0;
    words[kTokens + i / 2].store(first | second << 32, std::memory_order_release);
  }
  words[kVersion].store(version + 2, std::memory_order_release);
  is_stored_[to_size(block)] = true;
  mark(block);
}

void BlockFeed::remove(BlockId block) {
  if (!is_stored_[to_size(block)]) return;
  const std::span words = words_of(block);
  const std::uint64_t version = words[kVersion].load(std::memory_order_relaxed);
  words[kVersion].store(version + 1, std::memory_order_relaxed);
  words[kState].store(0, std::memory_order_release);
  words[kVersion].store(version + 2, std::memory_order_release);
  is_stored_[to_size(block)] = false;
  mark(block);
}

void BlockFeed::mark(BlockId block) {
  if (is_marked_[to_size(block)].exchange(true, std::memory_order_acq_rel)) return;
  const std::uint64_t end = end_.load(std::memory_order_relaxed);
  ring_[end & (ring_.size() - 1)].store(block, std::memory_order_relaxed);
  end_.store(end + 1, std::memory_order_release);
}

std::optional<BlockId> BlockFeed::next() {
  if (begin_ == end_.load(std::memory_order_acquire)) return std::nullopt;
  const BlockId block = ring_[begin_++ & (ring_.size() - 1)].load(std::memory_order_relaxed);
  is_marked_[to_size(block)].exchange(false, std::memory_order_acq_rel);
  return block;
}

void BlockFeed::read(BlockId block, FedBlock& state) const {
  const std::span words = words_of(block);
  state.tokens.resize(to_size(block_size_));
  for (;;) {
    const std::uint64_t version = words[kVersion].load(std::memory_order_acquire);
    if (version % 2 != 0) continue;  // the block is being written, which takes some nanoseconds
    const std::uint64_t bits = words[kState].load(std::memory_order_acquire);
    state.is_stored = (bits & kStored) != 0;
    state.has_parent = (bits & kHasParent) != 0;
    state.hash = words[kHash].load(std::memory_order_acquire);
    state.parent = words[kParent].load(std::memory_order_acquire);
    for (std::size_t i = 0; i < state.tokens.size(); ++i) {
      const std::uint64_t pair = words[kTokens + i / 2].load(std::memory_order_acquire);
      state.tokens[i] = static_cast<TokenId>(static_cast<std::uint32_t>(i % 2 == 0 ? pair : pair >> 32));
    }
    if (words[kVersion].load(std::memory_order_relaxed) == version) return;
  }
}

}  // namespace octavo
