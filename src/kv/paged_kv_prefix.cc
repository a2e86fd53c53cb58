// PagedKvCache: finding what others have computed, and letting them find what a sequence has.
#include <algorithm>
#include <limits>

#include "kv/paged_kv_impl.h"

namespace octavo {

// Leading blocks of `tokens` that can be attached; their hashes, and some more, are put into the sequence's chain.
int PagedKvCache::Impl::match(SequenceState& sequence, std::span<const TokenId> tokens) {
  const auto size = static_cast<std::size_t>(block_size);
  const std::size_t most = (tokens.size() - 1) / size;
  std::ranges::fill(runs, 0);  // blocks found in a row up to here, in every group
  int longest = 0;
  BlockId before = kNoBlock;  // the group's without a window
  for (std::size_t i = 0; i < most; ++i) {
    const std::span<const TokenId> block = tokens.subspan(i * size, size);
    const BlockHash parent = i == 0 ? sequence.root : sequence.chain.back();
    const BlockHash hash = BlockChain::next(options.hasher, parent, block);
    bool complete = true;
    BlockId next = kNoBlock;
    for (std::size_t g = 0; g < groups.size(); ++g) {
      const BlockId found = groups[g]->prefix->find(hash, parent, block, before);
      if (groups[g]->group.window == 0) {
        if (found == kNoBlock) return longest;
        next = found;
      }
      runs[g] = found != kNoBlock ? runs[g] + 1 : 0;
      const int first = first_needed_block(static_cast<int>(g), static_cast<std::int64_t>((i + 1) * size));
      complete &= runs[g] >= static_cast<int>(i) + 1 - first;
    }
    sequence.chain.push_back(hash);
    before = next;
    if (complete) longest = static_cast<int>(i) + 1;
  }
  return longest;
}

// Takes references on the matched blocks. No block is allocated meanwhile, so none of them can be evicted.
void PagedKvCache::Impl::attach(SequenceState& sequence, int num_blocks) {
  const std::int64_t length = static_cast<std::int64_t>(num_blocks) * block_size;
  for (std::size_t g = 0; g < groups.size(); ++g) {
    GroupState& state = sequence.groups[g];
    const int first = first_needed_block(static_cast<int>(g), length);
    for (int i = 0; i < num_blocks; ++i) {
      BlockId block = kNoBlock;
      if (i >= first) {
        block = groups[g]->prefix->find_hash(sequence.chain[static_cast<std::size_t>(i)]);  // what match() found
        const KvResult<void> shared = groups[g]->pool.add_reference(block);
        OCTAVO_CHECK(shared.has_value(), "{}", describe(shared.error()));
      }
      state.table.append(block);
    }
    state.visible.assign(static_cast<std::size_t>(num_blocks), block_size);
    state.length = length;
  }
}

KvResult<int> PagedKvCache::attach_prefix(SequenceId id, std::span<const TokenId> tokens, std::string_view domain) {
  SequenceState* sequence = impl_->find(id);
  if (sequence == nullptr) return std::unexpected(SequenceNotFound{id});
  for (const GroupState& state : sequence->groups)
    if (state.table.num_blocks() != 0) return std::unexpected(PositionOutOfRange{id, 0});
  if (!impl_->publishes() || tokens.empty()) return 0;
  sequence->root = BlockChain::root(impl_->options.hasher, domain);
  sequence->chain.clear();
  const int matched = impl_->match(*sequence, tokens);
  sequence->chain.resize(static_cast<std::size_t>(matched));
  impl_->attach(*sequence, matched);
  const auto size = static_cast<std::uint64_t>(block_size());
  impl_->hits += static_cast<std::uint64_t>(matched) * size;
  impl_->misses += ((tokens.size() - 1) / size - static_cast<std::uint64_t>(matched)) * size;
  return matched * block_size();
}

// Publishes one block in every group, first in the one without a window. False if it stays private somewhere: other
// contents have its hash, or the block is known in another domain already.
bool PagedKvCache::Impl::publish_block(SequenceState& sequence, int index, const BlockHash& hash,
                                       std::span<const TokenId> tokens) {
  const BlockHash parent = index == 0 ? sequence.root : sequence.chain[static_cast<std::size_t>(index) - 1];
  const int num_groups = static_cast<int>(groups.size());
  for (int i = 0; i < num_groups; ++i) {
    const int g = global_group < 0 ? i : (global_group + i) % num_groups;
    GroupBooks& books = *groups[static_cast<std::size_t>(g)];
    BlockTable& table = sequence.groups[static_cast<std::size_t>(g)].table;
    const std::optional<BlockId> block = table.get(index);
    if (!block) continue;  // it left the window
    const BlockId before = index == 0 ? kNoBlock : table.block_ids()[static_cast<std::size_t>(index) - 1];
    if (books.prefix->is_published(*block)) {
      if (books.prefix->find(hash, parent, tokens, before) != *block) return false;
      continue;
    }
    const KvResult<BlockId> shared = books.prefix->publish(*block, hash, parent, tokens, before);
    OCTAVO_CHECK(shared.has_value(), "{}", describe(shared.error()));
    if (*shared == kNoBlock) return false;
    if (*shared == *block) continue;
    const KvResult<void> referenced = books.pool.add_reference(*shared);
    OCTAVO_CHECK(referenced.has_value(), "{}", describe(referenced.error()));
    table.replace(index, *shared);
  }
  return true;
}

KvResult<void> PagedKvCache::publish(SequenceId id, std::span<const TokenId> tokens, std::string_view domain) {
  SequenceState* sequence = impl_->find(id);
  if (sequence == nullptr) return std::unexpected(SequenceNotFound{id});
  if (!impl_->publishes()) return {};
  std::int64_t length = std::numeric_limits<std::int64_t>::max();
  for (const GroupState& state : sequence->groups) length = std::min(length, state.length);
  if (static_cast<std::int64_t>(tokens.size()) < length)
    return std::unexpected(DimMismatch{static_cast<std::size_t>(length), tokens.size()});
  const auto size = static_cast<std::size_t>(block_size());
  const std::size_t num_full = static_cast<std::size_t>(length) / size;
  if (sequence->chain.size() >= num_full) return {};
  const BlockHash root = BlockChain::root(impl_->options.hasher, domain);
  if (root != sequence->root) sequence->chain.clear();
  sequence->root = root;
  for (std::size_t i = sequence->chain.size(); i < num_full; ++i) {
    const std::span<const TokenId> block = tokens.subspan(i * size, size);
    const BlockHash hash = BlockChain::next(impl_->options.hasher, i == 0 ? root : sequence->chain.back(), block);
    if (!impl_->publish_block(*sequence, static_cast<int>(i), hash, block)) break;
    sequence->chain.push_back(hash);
  }
  return {};
}

}  // namespace octavo
