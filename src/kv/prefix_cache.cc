#include "octavo/kv/prefix_cache.h"

#include <algorithm>
#include <bit>
#include <new>

#include "base/error.h"
#include "base/to_size.h"
#include "kv/kv_error.h"

namespace octavo {

PrefixCache::PrefixCache(BlockPool& pool, int block_size, bool chained)
    : pool_(pool), block_size_(block_size), chained_(chained) {
  OCTAVO_CHECK(block_size >= 1, "block size {}", block_size);
  const auto blocks = to_size(pool.total_count());
  entries_.resize(blocks);
  tokens_.resize(blocks * to_size(block_size));
  index_.assign(std::bit_ceil(2 * blocks + 1), kNoBlock);  // the table is at most half full
  of_pool_ = pool_.on_evict([this](BlockId block) { unpublish(block); });
}

PrefixCache::~PrefixCache() { pool_.remove_listener(of_pool_); }

std::span<const TokenId> PrefixCache::tokens_of(BlockId block) const {
  const auto size = to_size(block_size_);
  return std::span(tokens_).subspan(to_size(block) * size, size);
}

RowSource PrefixCache::rows_of(BlockId block) const {
  return given_.empty() ? RowSource(tokens_of(block)) : RowSource(tokens_of(block), given_[to_size(block)]);
}

/// Keeps the block's rows. False where there is no memory for them.
bool PrefixCache::keep_rows(BlockId block, const RowSource& rows) try {
  if (rows.has_given() && given_.empty()) given_.resize(entries_.size());
  if (!given_.empty()) {
    std::vector<GivenRows>& kept = given_[to_size(block)];
    kept.clear();
    rows.for_given([&](const GivenRows& given) { kept.push_back(given); });
  }
  std::ranges::copy(rows.tokens(), tokens_.begin() + std::int64_t{block} * block_size_);
  return true;
} catch (const std::bad_alloc&) {
  return false;
}

BlockId PrefixCache::find_hash(const BlockHash& hash) const {
  const std::size_t mask = index_.size() - 1;
  for (std::size_t at = home(hash); index_[at] != kNoBlock; at = (at + 1) & mask)
    if (entry(index_[at]).hash == hash) return index_[at];
  return kNoBlock;
}

BlockId PrefixCache::find(const BlockHash& hash, const BlockHash& parent, const RowSource& rows,
                          BlockId parent_block) const {
  const BlockId block = find_hash(hash);
  if (block == kNoBlock || entry(block).parent != parent) return kNoBlock;
  if (chained_ && entry(block).parent_block != parent_block) return kNoBlock;
  return rows_of(block) == rows ? block : kNoBlock;
}

Result<BlockId> PrefixCache::publish(BlockId block, const BlockHash& hash, const BlockHash& parent,
                                     const RowSource& rows, BlockId parent_block) {
  if (block < 0 || block >= pool_.total_count()) return block_out_of_range(block, pool_.total_count());
  if (pool_.references(block) == 0) return block_not_in_use(block);
  if (rows.size() != to_size(block_size_)) return wrong_length(to_size(block_size_), rows.size());
  if (find_hash(hash) != kNoBlock) return find(hash, parent, rows, parent_block);
  unpublish(block);  // the block may have been published under another hash
  const bool follows = chained_ && parent_block != kNoBlock;
  if (follows && hash_of(parent_block) != parent) return kNoBlock;
  if (!keep_rows(block, rows)) return kNoBlock;
  entry(block) = {.hash = hash, .parent = parent, .published = true};
  if (follows) link_to_parent(block, parent_block);
  insert_into_index(block);
  ++num_published_;
  const Result<void> marked = pool_.set_cached(block, true);
  OCTAVO_CHECK(marked.has_value(), "{}", marked.error().message);
  return block;
}

void PrefixCache::set_owner(BlockId block, std::uint64_t owner) {
  OCTAVO_CHECK(is_published(block), "block {} is not published", block);
  entry(block).owner = owner;
}

std::optional<std::size_t> PrefixCache::common_with_others(BlockId parent, const RowSource& rows,
                                                           std::uint64_t owner) const {
  std::optional<std::size_t> most;
  if (!is_published(parent)) return most;
  int num_compared = 0;
  for (BlockId at = entry(parent).first_child; at != kNoBlock && num_compared < kMaxCompared;
       at = entry(at).next_sibling, ++num_compared) {
    if (entry(at).owner != owner) continue;
    const std::size_t common = common_rows(rows, rows_of(at));
    if (common == rows.size()) return std::nullopt;
    most = std::max(most.value_or(0), common);
  }
  return most;
}

bool PrefixCache::is_published(BlockId block) const {
  return block >= 0 && block < pool_.total_count() && entry(block).published;
}

std::optional<BlockHash> PrefixCache::hash_of(BlockId block) const {
  if (!is_published(block)) return std::nullopt;
  return entry(block).hash;
}

void PrefixCache::unpublish(BlockId block) {
  if (!is_published(block)) return;
  forget_descendants(block);  // a cache that is not chained has none
  forget(block);
}

// Forgets the leaves first, without recursion, because a chain may be long.
void PrefixCache::forget_descendants(BlockId block) {
  BlockId at = block;
  while (entry(block).first_child != kNoBlock) {
    while (entry(at).first_child != kNoBlock) at = entry(at).first_child;
    const BlockId parent = entry(at).parent_block;
    forget(at);
    at = parent;
  }
}

// Forgets a block that has no children.
void PrefixCache::forget(BlockId block) {
  unlink_from_parent(block);
  erase_from_index(block);
  const BlockHash hash = entry(block).hash;
  entry(block) = {};
  --num_published_;
  if (pool_.is_cached(block)) {  // the pool is not evicting it now
    const Result<void> unmarked = pool_.set_cached(block, false);
    OCTAVO_CHECK(unmarked.has_value(), "{}", unmarked.error().message);
  }
  on_forget_.tell(block, hash);
}

void PrefixCache::link_to_parent(BlockId block, BlockId parent) {
  const BlockId sibling = entry(parent).first_child;
  entry(block).parent_block = parent;
  entry(block).next_sibling = sibling;
  if (sibling != kNoBlock) entry(sibling).previous_sibling = block;
  entry(parent).first_child = block;
}

void PrefixCache::unlink_from_parent(BlockId block) {
  Entry& here = entry(block);
  if (here.parent_block == kNoBlock) return;
  if (here.previous_sibling != kNoBlock) {
    entry(here.previous_sibling).next_sibling = here.next_sibling;
  } else {
    entry(here.parent_block).first_child = here.next_sibling;
  }
  if (here.next_sibling != kNoBlock) entry(here.next_sibling).previous_sibling = here.previous_sibling;
  here.parent_block = here.next_sibling = here.previous_sibling = kNoBlock;
}

void PrefixCache::insert_into_index(BlockId block) {
  const std::size_t mask = index_.size() - 1;
  std::size_t at = home(entry(block).hash);
  while (index_[at] != kNoBlock) at = (at + 1) & mask;
  index_[at] = block;
}

// Closes the gap (Knuth, The Art of Computer Programming 3, section 6.4, algorithm R), so probing needs no tombstones.
void PrefixCache::erase_from_index(BlockId block) {
  const std::size_t mask = index_.size() - 1;
  std::size_t gap = home(entry(block).hash);
  while (index_[gap] != block) {
    OCTAVO_CHECK(index_[gap] != kNoBlock, "block {} is not in the index", block);
    gap = (gap + 1) & mask;
  }
  for (std::size_t at = (gap + 1) & mask; index_[at] != kNoBlock; at = (at + 1) & mask) {
    const std::size_t probed = (at - home(entry(index_[at]).hash)) & mask;
    if (probed < ((at - gap) & mask)) continue;  // the entry would move in front of its home slot
    index_[gap] = index_[at];
    gap = at;
  }
  index_[gap] = kNoBlock;
}

Result<void> PrefixCache::check_links(BlockId block) const {
  const Entry& here = entry(block);
  const BlockId parent = here.parent_block;
  if (parent != kNoBlock && (!is_published(parent) || entry(parent).hash != here.parent))
    return fail("prefix cache: block {} names {} as its parent, which holds something else", block, parent);
  const BlockId before = here.previous_sibling, after = here.next_sibling;
  const BlockId first = parent == kNoBlock ? kNoBlock : entry(parent).first_child;
  if (parent != kNoBlock && (before == kNoBlock) != (first == block))
    return fail("prefix cache: block {} is not where its parent {} looks for it", block, parent);
  if (before != kNoBlock && (entry(before).next_sibling != block || entry(before).parent_block != parent))
    return fail("prefix cache: blocks {} and {} disagree on being siblings", before, block);
  if (after != kNoBlock && (entry(after).previous_sibling != block || entry(after).parent_block != parent))
    return fail("prefix cache: blocks {} and {} disagree on being siblings", block, after);
  return {};
}

Result<void> PrefixCache::check_integrity() const {
  int published = 0;
  for (BlockId block = 0; block < pool_.total_count(); ++block) {
    if (entry(block).published != pool_.is_cached(block))
      return fail("prefix cache: block {} is {}published, the pool says otherwise", block,
                  entry(block).published ? "" : "not ");
    if (!entry(block).published) continue;
    ++published;
    const BlockId found = find_hash(entry(block).hash);
    if (found != block) return fail("prefix cache: the hash of block {} leads to {}", block, found);
    OCTAVO_TRY_VOID(check_links(block));
  }
  const auto indexed = std::ranges::count_if(index_, [](BlockId id) { return id != kNoBlock; });
  if (published != num_published_ || indexed != num_published_)
    return fail("prefix cache: {} blocks published, {} counted, {} in the index", published, num_published_, indexed);
  return {};
}

}  // namespace octavo
