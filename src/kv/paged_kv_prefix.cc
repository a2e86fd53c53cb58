// PagedKvCache: finding what others have computed, and letting them find what a sequence has.
#include <algorithm>
#include <limits>

#include "base/to_size.h"
#include "kv/paged_kv_impl.h"

namespace octavo {

bool SequenceState::is_all_published(int block_size) const {
  return std::ranges::all_of(groups, [&](const GroupState& state) {
    return to_size(state.table.num_blocks()) == chain.size() &&
           state.length == static_cast<std::int64_t>(chain.size()) * block_size;
  });
}

const BlockHasher& PagedKvCache::hasher() const { return impl_->options.hasher; }

bool PagedKvCache::is_published(const BlockHash& hash) const {
  if (!impl_->publishes()) return false;
  const auto group = to_size(std::max(0, impl_->global_group));
  return impl_->groups[group]->prefix->find_hash(hash) != kNoBlock;
}

// Leading blocks of `tokens` that the sequence, which is_all_published(), holds or can attach.
int PagedKvCache::Impl::match(const SequenceState& sequence, std::span<const TokenId> tokens, const BlockChain& known) {
  const auto size = to_size(block_size);
  const std::size_t held = sequence.chain.size();
  const std::size_t most = std::min((tokens.size() - 1) / size, known.size());
  auto longest = static_cast<int>(held);
  BlockId before = kNoBlock;  // the group's without a window
  for (std::size_t g = 0; g < groups.size(); ++g) {
    const BlockTable& table = sequence.groups[g].table;
    runs[g] = table.num_blocks() - table.first_held();  // blocks held or found in a row up to here
    if (groups[g]->group.window == 0 && held > 0) before = table.block_ids()[held - 1];
  }
  for (std::size_t i = held; i < most; ++i) {
    const std::span<const TokenId> block = tokens.subspan(i * size, size);
    bool complete = true;
    BlockId next = kNoBlock;
    for (std::size_t g = 0; g < groups.size(); ++g) {
      const BlockId found = groups[g]->prefix->find(known.hashes()[i], known.parent(i), block, before);
      if (groups[g]->group.window == 0) {
        if (found == kNoBlock) return longest;
        next = found;
      }
      runs[g] = found != kNoBlock ? runs[g] + 1 : 0;
      const int first = first_needed_block(static_cast<int>(g), static_cast<std::int64_t>((i + 1) * size));
      complete &= runs[g] >= static_cast<int>(i) + 1 - first;
    }
    before = next;
    if (complete) longest = static_cast<int>(i) + 1;
  }
  return longest;
}

// Takes references on the matched blocks behind those that it holds. No block is allocated meanwhile, so none of them
// can be evicted.
void PagedKvCache::Impl::attach(SequenceState& sequence, const BlockChain& known, int num_blocks) {
  const auto held = static_cast<int>(sequence.chain.size());
  const std::int64_t length = static_cast<std::int64_t>(num_blocks) * block_size;
  for (GroupState& state : sequence.groups) {  // what can fail, before any reference is taken
    state.table.reserve_ids(length);
    state.visible.reserve(to_size(num_blocks));
  }
  sequence.chain.reserve(to_size(num_blocks));
  for (std::size_t g = 0; g < groups.size(); ++g) {
    GroupState& state = sequence.groups[g];
    const int first = first_needed_block(static_cast<int>(g), length);
    state.table.release_before(static_cast<std::int64_t>(first) * block_size);
    for (int i = held; i < num_blocks; ++i) {
      BlockId block = kNoBlock;
      if (i >= first) {
        block = groups[g]->prefix->find_hash(known.hashes()[to_size(i)]);  // what match() found
        const KvResult<void> shared = groups[g]->pool.add_reference(block);
        OCTAVO_CHECK(shared.has_value(), "{}", describe(shared.error()));
      }
      state.table.append(block);
    }
    state.visible.resize(to_size(num_blocks), block_size);
    state.length = length;
  }
  const std::span<const BlockHash> hashes = known.hashes().first(to_size(num_blocks));
  sequence.chain.assign(hashes.begin(), hashes.end());
}

KvResult<int> PagedKvCache::attach_prefix(SequenceId id, std::span<const TokenId> tokens, std::string_view domain) {
  SequenceState* sequence = impl_->find(id);
  if (sequence == nullptr) return std::unexpected(SequenceNotFound{id});
  for (const GroupState& state : sequence->groups)
    if (state.table.num_blocks() != 0) return std::unexpected(PositionOutOfRange{id, 0});
  if (!impl_->publishes() || tokens.empty()) return 0;
  impl_->chain = BlockChain(hasher(), domain);
  impl_->chain.extend(hasher(), block_size(), tokens.first(tokens.size() - 1));
  const KvResult<int> found = extend_prefix(id, tokens, impl_->chain);
  const auto size = to_size(block_size());
  impl_->hits += static_cast<std::uint64_t>(*found);
  impl_->misses += (tokens.size() - 1) / size * size - to_size(*found);
  return found;
}

KvResult<int> PagedKvCache::extend_prefix(SequenceId id, std::span<const TokenId> tokens, const BlockChain& chain) {
  SequenceState* sequence = impl_->find(id);
  if (sequence == nullptr) return std::unexpected(SequenceNotFound{id});
  if (!impl_->publishes() || tokens.empty()) return 0;
  const std::size_t held = sequence->chain.size();
  if (!sequence->is_all_published(block_size()) || (held > 0 && sequence->root != chain.root_hash())) return 0;
  const auto matched = to_size(impl_->match(*sequence, tokens, chain));
  sequence->root = chain.root_hash();
  if (matched > held) impl_->attach(*sequence, chain, static_cast<int>(matched));
  const auto size = to_size(block_size());
  return static_cast<int>((matched - held) * size);
}

// Publishes one block in every group, first in the one without a window. False if it stays private somewhere: other
// contents have its hash, or the block is known in another domain already.
bool PagedKvCache::Impl::publish_block(SequenceState& sequence, int index, const BlockHash& hash,
                                       std::span<const TokenId> tokens) {
  const BlockHash parent = index == 0 ? sequence.root : sequence.chain[to_size(index) - 1];
  const int num_groups = static_cast<int>(groups.size());
  for (int i = 0; i < num_groups; ++i) {
    const int g = global_group < 0 ? i : (global_group + i) % num_groups;
    GroupBooks& books = *groups[to_size(g)];
    BlockTable& table = sequence.groups[to_size(g)].table;
    const std::optional<BlockId> block = table.get(index);
    if (!block) continue;  // it left the window
    const BlockId before = index == 0 ? kNoBlock : table.block_ids()[to_size(index) - 1];
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
  const SequenceState* sequence = impl_->find(id);
  if (sequence != nullptr && impl_->publishes()) {
    impl_->chain = BlockChain(hasher(), domain);
    impl_->chain.extend(hasher(), block_size(), tokens);
  }
  return publish(id, tokens, impl_->chain);
}

KvResult<void> PagedKvCache::publish(SequenceId id, std::span<const TokenId> tokens, const BlockChain& chain) {
  SequenceState* sequence = impl_->find(id);
  if (sequence == nullptr) return std::unexpected(SequenceNotFound{id});
  if (!impl_->publishes()) return {};
  std::int64_t length = std::numeric_limits<std::int64_t>::max();
  for (const GroupState& state : sequence->groups) length = std::min(length, state.length);
  if (static_cast<std::int64_t>(tokens.size()) < length)
    return std::unexpected(DimMismatch{to_size(length), tokens.size()});
  const auto size = to_size(block_size());
  const std::size_t num_full = std::min(to_size(length) / size, chain.size());
  if (sequence->chain.size() >= num_full) return {};
  if (chain.root_hash() != sequence->root) sequence->chain.clear();
  sequence->root = chain.root_hash();
  for (std::size_t i = sequence->chain.size(); i < num_full; ++i) {
    const BlockHash& hash = chain.hashes()[i];
    if (!impl_->publish_block(*sequence, static_cast<int>(i), hash, tokens.subspan(i * size, size))) break;
    sequence->chain.push_back(hash);
  }
  return {};
}

}  // namespace octavo
