// Events follow what can be found: a subscriber that applies them has the true set of blocks, whatever it missed
// between.
#include "kv_events/block_book.h"

#include <gmock/gmock.h>
#include <rapidcheck/gtest.h>

#include <map>
#include <set>
#include <thread>

namespace octavo {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr int kBlockSize = 2;

/// A subscriber: the blocks that it has been told of, each with its parent.
class Subscriber {
 public:
  void apply(const BlockChanges& changes) {
    if (changes.are_cleared) blocks_.clear();
    for (const std::uint64_t hash : changes.removed) EXPECT_EQ(blocks_.erase(hash), 1U) << hash;
    for (const StoredRun& run : changes.stored) {
      std::optional<std::uint64_t> parent = run.parent;
      EXPECT_EQ(run.tokens.size(), run.hashes.size() * kBlockSize);
      for (std::size_t i = 0; i < run.hashes.size(); ++i) {
        EXPECT_TRUE(!parent || blocks_.contains(*parent)) << "of " << run.hashes[i];
        EXPECT_TRUE(blocks_.emplace(run.hashes[i], run.tokens[i * kBlockSize]).second) << run.hashes[i];
        parent = run.hashes[i];
      }
    }
  }
  const std::map<std::uint64_t, TokenId>& blocks() const { return blocks_; }

 private:
  std::map<std::uint64_t, TokenId> blocks_;
};

BlockHash hash(std::uint64_t low) { return {.low = low, .high = 1}; }

void store(BlockFeed& feed, BlockId block, std::uint64_t name, std::uint64_t parent = 0) {
  const std::vector<TokenId> tokens(kBlockSize, static_cast<TokenId>(name));
  const BlockHash before = hash(parent);
  feed.store(block, hash(name), parent == 0 ? nullptr : &before, tokens);
}

TEST(BlockBook, TellsNothingWhereNothingHasChanged) {
  BlockFeed feed(4, kBlockSize);
  BlockBook book(feed);
  EXPECT_TRUE(book.collect().is_empty());
}

TEST(BlockBook, TellsChainsAsRuns) {
  BlockFeed feed(8, kBlockSize);
  BlockBook book(feed);
  store(feed, 3, 10);
  store(feed, 1, 11, 10);
  store(feed, 2, 12, 11);
  const BlockChanges changes = book.collect();
  ASSERT_EQ(changes.stored.size(), 1U);
  EXPECT_THAT(changes.stored[0].hashes, ElementsAre(10, 11, 12));
  EXPECT_FALSE(changes.stored[0].parent.has_value());
  EXPECT_THAT(changes.stored[0].tokens, ElementsAre(10, 10, 11, 11, 12, 12));
  store(feed, 0, 13, 12);
  const BlockChanges more = book.collect();
  ASSERT_EQ(more.stored.size(), 1U);
  EXPECT_EQ(more.stored[0].parent, 12U);
}

TEST(BlockBook, OfWhatCameAndWentNothingIsTold) {
  BlockFeed feed(4, kBlockSize);
  BlockBook book(feed);
  store(feed, 0, 10);
  feed.remove(0);
  EXPECT_TRUE(book.collect().is_empty());
}

TEST(BlockBook, ABlockThatMovesIsNeitherRemovedNorStored) {
  BlockFeed feed(4, kBlockSize);
  BlockBook book(feed);
  store(feed, 0, 10);
  book.collect();
  feed.remove(0);
  store(feed, 2, 10);
  EXPECT_TRUE(book.collect().is_empty());
  feed.remove(2);
  EXPECT_THAT(book.collect().removed, ElementsAre(10));
}

TEST(BlockBook, APlaceWithAnotherBlockIsARemovalAndAStore) {
  BlockFeed feed(4, kBlockSize);
  BlockBook book(feed);
  store(feed, 0, 10);
  book.collect();
  feed.remove(0);
  store(feed, 0, 20);
  const BlockChanges changes = book.collect();
  EXPECT_THAT(changes.removed, ElementsAre(10));
  ASSERT_EQ(changes.stored.size(), 1U);
  EXPECT_THAT(changes.stored[0].hashes, ElementsAre(20));
}

TEST(BlockBook, ABlockWaitsForTheOneBeforeIt) {
  BlockFeed feed(4, kBlockSize);
  BlockBook book(feed);
  store(feed, 1, 11, 10);
  EXPECT_TRUE(book.collect().is_empty());
  store(feed, 0, 10);
  const BlockChanges changes = book.collect();
  ASSERT_EQ(changes.stored.size(), 1U);
  EXPECT_THAT(changes.stored[0].hashes, ElementsAre(10, 11));
}

TEST(BlockBook, MadeAnewItTellsWhatStands) {
  BlockFeed feed(4, kBlockSize);
  {
    BlockBook first(feed);
    store(feed, 0, 10);
    store(feed, 1, 11, 10);
    first.collect();
  }
  BlockBook second(feed);
  Subscriber subscriber;
  subscriber.apply(second.collect());
  EXPECT_EQ(subscriber.blocks().size(), 2U);
}

/// A made-up cache: a forest of blocks, each with a place, whose leaves alone go.
class Cache {
 public:
  explicit Cache(int num_blocks) : feed_(num_blocks, kBlockSize), at_(static_cast<std::size_t>(num_blocks)) {}

  BlockFeed& feed() { return feed_; }
  void change(unsigned random) {
    const auto place = static_cast<BlockId>(random % at_.size());
    const auto index = static_cast<std::size_t>(place);
    if (at_[index] != 0) {
      if (has_children(at_[index])) return;
      parents_.erase(at_[index]);
      at_[index] = 0;
      feed_.remove(place);
      return;
    }
    const std::uint64_t parent = at_[random / at_.size() % at_.size()];
    // Few names, so that blocks come again, and at other places.
    const std::uint64_t name = 1 + parent * 7 % 1009 + random / 977 % 5;
    if (name == parent || parents_.contains(name)) return;
    parents_[name] = parent;
    at_[index] = name;
    store(feed_, place, name, parent);
  }
  std::set<std::uint64_t> names() const {
    std::set<std::uint64_t> names;
    for (const auto& [name, parent] : parents_) names.insert(name);
    return names;
  }

 private:
  bool has_children(std::uint64_t name) const {
    return std::ranges::any_of(parents_, [&](const auto& entry) { return entry.second == name; });
  }

  BlockFeed feed_;
  std::vector<std::uint64_t> at_;
  std::map<std::uint64_t, std::uint64_t> parents_;
};

std::set<std::uint64_t> names_of(const Subscriber& subscriber) {
  std::set<std::uint64_t> names;
  for (const auto& [name, token] : subscriber.blocks()) names.insert(name);
  return names;
}

RC_GTEST_PROP(BlockBookOf, AnyHistoryASubscriberEndsWithTheTrueSet, (const std::vector<unsigned>& history)) {
  Cache cache(9);
  BlockBook book(cache.feed());
  Subscriber subscriber;
  for (const unsigned random : history) {
    cache.change(random);
    if (random % 3 == 0) subscriber.apply(book.collect());
  }
  subscriber.apply(book.collect());
  RC_ASSERT(names_of(subscriber) == cache.names());
  Subscriber late;
  late.apply(book.everything());
  RC_ASSERT(late.blocks() == subscriber.blocks());
}

TEST(BlockBook, ReadsWhileAnotherThreadWrites) {
  Cache cache(64);
  BlockBook book(cache.feed());
  Subscriber subscriber;
  std::atomic<bool> is_done = false;
  std::thread writer([&] {
    unsigned random = 1;
    for (int i = 0; i < 200'000; ++i) cache.change(random = random * 1664525U + 1013904223U);
    is_done = true;
  });
  while (!is_done) subscriber.apply(book.collect());
  writer.join();
  subscriber.apply(book.collect());
  EXPECT_EQ(names_of(subscriber), cache.names());
  EXPECT_FALSE(cache.names().empty());
}

}  // namespace
}  // namespace octavo
