#include "kv_events/block_book.h"

#include <algorithm>
#include <utility>

#include "base/to_size.h"

namespace octavo {

BlockBook::BlockBook(BlockFeed& feed) : feed_(feed), at_(to_size(feed.num_blocks())) {
  FedBlock state;
  for (BlockId block = 0; block < feed.num_blocks(); ++block) {
    feed.read(block, state);
    note(block, state, waiting_);
  }
}

bool BlockBook::is_told(Hash hash) const {
  const auto found = noted_.find(hash);
  return found != noted_.end() && found->second.is_told;
}

// A block that has moved has left its old place before it came to the new one: when all changes are taken, each block
// is at one place.
void BlockBook::take_changed(std::vector<Hash>& touched) {
  FedBlock state;
  while (const auto block = feed_.next()) {
    feed_.read(*block, state);
    note(*block, state, touched);
  }
}

void BlockBook::note(BlockId block, const FedBlock& state, std::vector<Hash>& touched) {
  const Hash now = state.is_stored ? state.hash : 0;
  const Hash before = std::exchange(at_[to_size(block)], now);
  if (now == before) return;
  if (before != 0) {
    --noted_[before].num_places;
    touched.push_back(before);
  }
  if (now != 0) {
    Noted& noted = noted_[now];
    noted.block = state;
    ++noted.num_places;
    touched.push_back(now);
  }
}

/// Runs of the blocks that begin with these and go on with their children. A chain of any length takes no depth.
std::vector<StoredRun> BlockBook::runs_from(std::vector<Hash> firsts, Children& children) const {
  std::vector<StoredRun> runs;
  while (!firsts.empty()) {
    Hash at = firsts.back();
    firsts.pop_back();
    StoredRun& run = runs.emplace_back();
    if (const FedBlock& first = noted_.at(at).block; first.has_parent) run.parent = first.parent;
    for (;;) {
      const FedBlock& block = noted_.at(at).block;
      run.hashes.push_back(at);
      run.tokens.insert(run.tokens.end(), block.tokens.begin(), block.tokens.end());
      const auto next = children.find(at);
      if (next == children.end()) break;
      firsts.insert(firsts.end(), next->second.begin() + 1, next->second.end());
      at = next->second.front();
      children.erase(next);
    }
  }
  return runs;
}

/// Sorts blocks by who comes before them: those that can be told now begin runs, the others follow their parents.
void BlockBook::sort(const std::vector<Hash>& untold, std::vector<Hash>& firsts, Children& children) const {
  for (const Hash hash : untold) {
    const FedBlock& block = noted_.at(hash).block;
    if (!block.has_parent || is_told(block.parent)) {
      firsts.push_back(hash);
    } else {
      children[block.parent].push_back(hash);
    }
  }
}

BlockChanges BlockBook::collect() {
  std::vector<Hash> touched = std::exchange(waiting_, {});
  take_changed(touched);
  std::ranges::sort(touched);
  const auto doubles = std::ranges::unique(touched);
  touched.erase(doubles.begin(), doubles.end());
  BlockChanges changes;
  std::vector<Hash> untold, firsts;
  for (const Hash hash : touched) {
    const auto found = noted_.find(hash);
    if (found == noted_.end()) continue;
    if (found->second.num_places > 0) {
      if (!found->second.is_told) untold.push_back(hash);
      continue;
    }
    if (found->second.is_told) changes.removed.push_back(hash);
    noted_.erase(found);
  }
  Children children;
  sort(untold, firsts, children);
  changes.stored = runs_from(std::move(firsts), children);
  for (const StoredRun& run : changes.stored)
    for (const Hash hash : run.hashes) noted_.at(hash).is_told = true;
  for (const auto& [parent, blocks] : children) waiting_.insert(waiting_.end(), blocks.begin(), blocks.end());
  return changes;
}

BlockChanges BlockBook::everything() const {
  BlockChanges changes{.are_cleared = true};
  std::vector<Hash> firsts;
  Children children;
  for (const auto& [hash, noted] : noted_) {
    if (!noted.is_told) continue;
    if (noted.block.has_parent) {
      children[noted.block.parent].push_back(hash);
    } else {
      firsts.push_back(hash);
    }
  }
  changes.stored = runs_from(std::move(firsts), children);
  return changes;
}

}  // namespace octavo
