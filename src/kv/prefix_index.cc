#include "kv/prefix_index.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "base/to_size.h"
#include "kv/kv_error.h"

namespace octavo {

// A block is found only where it is found in every group without a window: when it goes in one of them, it goes in all
// groups. Such a group also tells contents apart whose hashes collide, after windows have left them.
PrefixIndex::PrefixIndex(std::deque<BlockManager>& groups, StateSnapshots& snapshots, BlockHashing hashing)
    : groups_(groups),
      snapshots_(snapshots),
      hashing_(std::move(hashing)),
      block_size_(hashing_.block_size),
      matched_(groups.size()),
      before_(groups.size()) {
  if (!publishes()) return;
  for (BlockManager& group : groups_) group.make_prefix_cache();
  for (std::size_t g = 0; g < groups_.size(); ++g) {
    if (groups_[g].is_windowed()) continue;
    if (group_without_window_ < 0) group_without_window_ = static_cast<int>(g);
    groups_[g].prefix()->on_forget([this, g](BlockId block, const BlockHash& hash) {
      for (std::size_t other = 0; other < groups_.size(); ++other)
        if (other != g) groups_[other].prefix()->unpublish(groups_[other].prefix()->find_hash(hash));
      if (&groups_[g] != &leading()) return;
      snapshots_.forget(block);
      if (feed_ != nullptr) feed_->remove(block);
    });
  }
  if (!snapshots_.exist()) return;
  snapshots_.make_checkpoints(leading().pool().total_count());
  if (group_without_window_ < 0)
    leading().prefix()->on_forget([this](BlockId block, const BlockHash&) { snapshots_.forget(block); });
}

bool PrefixIndex::is_published(const BlockHash& hash) const {
  return publishes() && leading().prefix()->find_hash(hash) != kNoBlock;
}

int PrefixIndex::parting(const SequenceState& sequence, const RowSource& rows, const BlockChain& chain) const {
  if (!publishes() || group_without_window_ < 0) return -1;
  const PrefixCache& prefix = *groups_[to_size(group_without_window_)].prefix();
  const auto size = to_size(block_size_);
  std::size_t followed = sequence.chain.size();
  const BlockTable& table = sequence.groups[to_size(group_without_window_)].table;
  BlockId last = followed > 0 ? table.block_ids()[followed - 1] : kNoBlock;
  while (followed < std::min(rows.size() / size, chain.size())) {
    const BlockId found =
        prefix.find(chain.hashes()[followed], chain.parent(followed), rows.subspan(followed * size, size), last);
    if (found == kNoBlock) break;
    last = found;
    ++followed;
  }
  const RowSource rest = rows.subspan(followed * size);
  if (last == kNoBlock || rest.empty()) return -1;
  const auto common = prefix.common_with_others(last, rest.first(std::min(size, rest.size())), sequence.owner);
  return common ? static_cast<int>(followed * size + *common) : -1;
}

/// Whether the blocks that match() has found so far are all that a sequence of `num_blocks` blocks needs.
bool PrefixIndex::is_complete(int num_blocks) const {
  for (std::size_t g = 0; g < groups_.size(); ++g) {
    const int first = groups_[g].first_needed_block(std::int64_t{num_blocks} * block_size_);
    if (matched_[g] < num_blocks - first) return false;
  }
  return !snapshots_.exist() || snapshots_.behind(before_[leading_group()]) != kNoBlock;
}

// Counts the leading blocks of `rows` that the sequence, which is_all_published(), holds or can attach.
int PrefixIndex::match(const SequenceState& sequence, const RowSource& rows, const BlockChain& known) {
  const auto size = to_size(block_size_);
  const std::size_t held = sequence.chain.size();
  const std::size_t most = std::min((rows.size() - 1) / size, known.size());
  auto longest = static_cast<int>(held);
  for (std::size_t g = 0; g < groups_.size(); ++g) {
    const BlockTable& table = sequence.groups[g].table;
    matched_[g] = table.num_blocks() - table.first_held();
    before_[g] = held > 0 && !groups_[g].is_windowed() ? table.block_ids()[held - 1] : kNoBlock;
  }
  for (std::size_t i = held; i < most; ++i) {
    const RowSource block = rows.subspan(i * size, size);
    for (std::size_t g = 0; g < groups_.size(); ++g) {
      const BlockId found = groups_[g].prefix()->find(known.hashes()[i], known.parent(i), block, before_[g]);
      if (!groups_[g].is_windowed() && found == kNoBlock) return longest;
      before_[g] = found;
      matched_[g] = found != kNoBlock ? matched_[g] + 1 : 0;
    }
    if (is_complete(static_cast<int>(i) + 1)) longest = static_cast<int>(i) + 1;
  }
  return longest;
}

// Takes references on the matched blocks after those that the sequence holds. No block is allocated meanwhile, so none
// of them can be evicted.
void PrefixIndex::take_references(SequenceState& sequence, const BlockChain& known, int num_blocks) {
  const auto held = static_cast<int>(sequence.chain.size());
  const std::int64_t length = static_cast<std::int64_t>(num_blocks) * block_size_;
  sequence.reserve(to_size(num_blocks), block_size_, true);  // may throw, so it comes before any reference is taken
  for (std::size_t g = 0; g < groups_.size(); ++g) {
    GroupState& state = sequence.groups[g];
    const int first = groups_[g].first_needed_block(length);
    state.table.release_before(static_cast<std::int64_t>(first) * block_size_);
    for (int i = held; i < num_blocks; ++i) {
      BlockId block = kNoBlock;
      if (i >= first) {
        block = groups_[g].prefix()->find_hash(known.hashes()[to_size(i)]);  // match() found it by the same hash
        const Result<void> shared = groups_[g].pool().add_reference(block);
        OCTAVO_CHECK(shared.has_value(), "{}", shared.error().message);
      }
      state.table.append(block);
    }
    state.visible.resize(to_size(num_blocks), block_size_);
    state.length = length;
  }
  const std::span<const BlockHash> hashes = known.hashes().first(to_size(num_blocks));
  sequence.chain.assign(hashes.begin(), hashes.end());
}

const BlockChain& PrefixIndex::chain_of(const RowSource& rows, std::string_view domain) {
  chain_ = BlockChain(hashing_.hasher, domain, hashing_.origin);
  chain_.extend(hashing_.hasher, block_size_, rows);
  return chain_;
}

int PrefixIndex::attach(SequenceState& sequence, const RowSource& rows, std::string_view domain) {
  if (!publishes() || rows.empty()) return 0;
  const int found = extend(sequence, rows, chain_of(rows.first(rows.size() - 1), domain));
  const auto size = to_size(block_size_);
  hits_ += static_cast<std::uint64_t>(found);
  misses_ += (rows.size() - 1) / size * size - to_size(found);
  return found;
}

int PrefixIndex::extend(SequenceState& sequence, const RowSource& rows, const BlockChain& chain) {
  if (!publishes() || rows.empty()) return 0;
  const std::size_t held = sequence.chain.size();
  if (!sequence.is_all_published(block_size_) || (held > 0 && sequence.root != chain.root_hash())) return 0;
  const auto matched = to_size(match(sequence, rows, chain));
  sequence.root = chain.root_hash();
  if (matched > held) {
    take_references(sequence, chain, static_cast<int>(matched));
    if (snapshots_.exist())
      snapshots_.attach(sequence.state_slot, leading().prefix()->find_hash(sequence.chain.back()));
  }
  return static_cast<int>((matched - held) * to_size(block_size_));
}

void PrefixIndex::feed(const SequenceState& sequence, BlockId block, BlockId before, const BlockHash& hash,
                       const BlockHash& parent, const RowSource& rows) {
  if (sequence.is_hidden || rows.has_given()) return;
  const bool is_first = before == kNoBlock;
  if (is_first || feed_->is_stored(before)) feed_->store(block, hash, is_first ? nullptr : &parent, rows.tokens());
}

// Publishes one block in every group, first in one without a window. False if it stays private somewhere: other
// contents have its hash, or the block is known in another domain already.
bool PrefixIndex::publish_block(SequenceState& sequence, int index, const BlockHash& hash, const RowSource& rows) {
  const BlockHash parent = index == 0 ? sequence.root : sequence.chain[to_size(index) - 1];
  const int num_groups = static_cast<int>(groups_.size());
  for (int i = 0; i < num_groups; ++i) {
    const auto g = to_size((std::max(0, group_without_window_) + i) % num_groups);
    PrefixCache& prefix = *groups_[g].prefix();
    BlockTable& table = sequence.groups[g].table;
    const std::optional<BlockId> block = table.get(index);
    if (!block) continue;  // the block has left the window
    const BlockId before = index == 0 ? kNoBlock : table.block_ids()[to_size(index) - 1];
    if (prefix.is_published(*block)) {
      if (prefix.find(hash, parent, rows, before) != *block) return false;
      continue;
    }
    const Result<BlockId> shared = prefix.publish(*block, hash, parent, rows, before);
    OCTAVO_CHECK(shared.has_value(), "{}", shared.error().message);
    if (*shared == kNoBlock) return false;
    if (*shared == *block) {
      prefix.set_owner(*block, sequence.owner);
      if (feed_ != nullptr && g == leading_group()) feed(sequence, *block, before, hash, parent, rows);
      continue;
    }
    const Result<void> referenced = groups_[g].pool().add_reference(*shared);
    OCTAVO_CHECK(referenced.has_value(), "{}", referenced.error().message);
    table.replace(index, *shared);
  }
  return true;
}

Result<void> PrefixIndex::publish(SequenceState& sequence, const RowSource& rows, const BlockChain& chain) {
  if (!publishes()) return {};
  std::int64_t length = std::numeric_limits<std::int64_t>::max();
  for (const GroupState& state : sequence.groups) length = std::min(length, state.length);
  if (static_cast<std::int64_t>(rows.size()) < length) return wrong_length(to_size(length), rows.size());
  const auto size = to_size(block_size_);
  const std::size_t num_full = std::min(to_size(length) / size, chain.size());
  if (sequence.chain.size() >= num_full) return {};
  if (chain.root_hash() != sequence.root) sequence.chain.clear();
  sequence.root = chain.root_hash();
  for (std::size_t i = sequence.chain.size(); i < num_full; ++i) {
    const BlockHash& hash = chain.hashes()[i];
    if (!publish_block(sequence, static_cast<int>(i), hash, rows.subspan(i * size, size))) break;
    sequence.chain.push_back(hash);
  }
  return {};
}

std::optional<BlockId> PrefixIndex::leading_block(const SequenceState& sequence, std::int64_t end) const {
  return sequence.groups[leading_group()].table.get(static_cast<int>(end / block_size_) - 1);
}

void PrefixIndex::keep_checkpoint(const SequenceState& sequence, int uses) {
  if (!snapshots_.exist() || sequence.chain.empty() || !sequence.is_all_published(block_size_)) return;
  const std::optional<BlockId> last = leading_block(sequence, sequence.groups.front().length);
  if (last) snapshots_.keep(sequence.state_slot, *last, uses);  // otherwise the block has left the window
}

std::int64_t PrefixIndex::last_checkpoint(const SequenceState& sequence, std::int64_t most) const {
  const auto published = static_cast<std::int64_t>(sequence.chain.size()) * block_size_;
  for (std::int64_t end = std::min(most, published) / block_size_ * block_size_; end > 0; end -= block_size_)
    if (snapshots_.behind(leading_block(sequence, end).value_or(kNoBlock)) != kNoBlock) return end;
  return 0;
}

void PrefixIndex::attach_checkpoint(SequenceState& sequence, std::int64_t num_tokens) {
  snapshots_.attach(sequence.state_slot, leading_block(sequence, num_tokens).value_or(kNoBlock));
}

Result<void> PrefixIndex::check_checkpoints() const {
  for (BlockId block = 0; block < leading().pool().total_count(); ++block)
    if (snapshots_.behind(block) != kNoBlock && !leading().prefix()->is_published(block))
      return fail("a checkpoint stands behind block {}, which is not published", block);
  return {};
}

Result<void> PrefixIndex::check_integrity() const {
  if (!publishes()) return {};
  OCTAVO_TRY_VOID(check_checkpoints());
  if (group_without_window_ < 0) return {};
  const PrefixCache& first = *groups_[to_size(group_without_window_)].prefix();
  for (std::size_t g = 0; g < groups_.size(); ++g) {
    for (BlockId block = 0; block < groups_[g].pool().total_count(); ++block) {
      const std::optional<BlockHash> hash = groups_[g].prefix()->hash_of(block);
      if (hash && first.find_hash(*hash) == kNoBlock)
        return fail("group {}: block {} is published, the same tokens in group {} are not", g, block,
                    group_without_window_);
    }
  }
  return {};
}

}  // namespace octavo
