// The states of published blocks, as another thread reads them.
#include "kv/block_feed.h"

#include <gmock/gmock.h>

#include <numeric>
#include <thread>

namespace octavo {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;

std::vector<TokenId> tokens(int count, TokenId first) {
  std::vector<TokenId> made(static_cast<std::size_t>(count));
  std::iota(made.begin(), made.end(), first);
  return made;
}

std::vector<BlockId> changed(BlockFeed& feed) {
  std::vector<BlockId> blocks;
  while (const auto block = feed.next()) blocks.push_back(*block);
  return blocks;
}

TEST(BlockFeed, HasTheStateThatWasWritten) {
  for (const int size : {1, 2, 3, 16}) {
    BlockFeed feed(4, size);
    const BlockHash parent{.low = 5, .high = 6};
    feed.store(2, {.low = 7, .high = 8}, &parent, tokens(size, 100));
    FedBlock block;
    feed.read(2, block);
    EXPECT_TRUE(block.is_stored && block.has_parent);
    EXPECT_EQ(block.hash, 7U);
    EXPECT_EQ(block.parent, 5U);
    EXPECT_EQ(block.tokens, tokens(size, 100));
    feed.remove(2);
    feed.read(2, block);
    EXPECT_FALSE(block.is_stored);
    feed.read(0, block);
    EXPECT_FALSE(block.is_stored);
  }
}

TEST(BlockFeed, GivesEachChangedBlockOnceHoweverOftenItChanged) {
  BlockFeed feed(4, 1);
  const TokenId token[] = {1};
  for (std::uint64_t i = 0; i < 1000; ++i) {
    feed.store(3, {.low = i, .high = 0}, nullptr, token);
    feed.store(1, {.low = i, .high = 0}, nullptr, token);
    feed.remove(3);
  }
  EXPECT_THAT(changed(feed), ElementsAre(3, 1));
  EXPECT_FALSE(feed.next());
  feed.remove(1);
  feed.remove(1);  // it was not stored any more
  feed.remove(0);
  EXPECT_THAT(changed(feed), ElementsAre(1));
}

TEST(BlockFeed, HasRoomForEveryBlock) {
  BlockFeed feed(1000, 1);
  const TokenId token[] = {1};
  for (int round = 0; round < 3; ++round) {
    for (BlockId block = 0; block < 1000; ++block) feed.store(block, {.low = 1, .high = 0}, nullptr, token);
    EXPECT_EQ(changed(feed).size(), 1000U);
  }
}

TEST(BlockFeed, AReaderNeverSeesHalfOfAState) {
  BlockFeed feed(1, 16);
  std::atomic<bool> is_done = false;
  std::thread writer([&] {
    for (int i = 1; i < 200'000; ++i)
      feed.store(0, {.low = static_cast<std::uint64_t>(i), .high = 0}, nullptr, std::vector<TokenId>(16, i));
    is_done = true;
  });
  FedBlock block;
  while (!is_done) {
    feed.read(0, block);
    if (block.is_stored) ASSERT_THAT(block.tokens, Each(static_cast<TokenId>(block.hash)));
  }
  writer.join();
  feed.read(0, block);
  EXPECT_EQ(block.hash, 199'999U);
}

}  // namespace
}  // namespace octavo
