// The lines that a thread fetches of the stretches that wait for it: its portion of the next one, more if there is
// time, none twice, and no more than a cache holds.
#include "attention/attention_stretch.h"

#include <gtest/gtest.h>

#include <map>
#include <numeric>
#include <random>
#include <span>
#include <vector>

namespace octavo {
namespace {

constexpr int kBlockSize = 16, kHeads = 4;
constexpr std::size_t kTokenBytes = 256;  // a tile and head: 64 KiB
constexpr std::size_t kHeadTileBytes = kTileTokens * kTokenBytes;

struct Fixture {
  Fixture() : blocks(100 * kTileTokens / kBlockSize) { std::iota(blocks.begin(), blocks.end(), 0); }

  AttentionStretch tiles(int first, int count, int head, int num_heads) const {
    AttentionStretch s;
    s.num_heads = num_heads;
    s.first = {.blocks = blocks.data(),
               .queries = nullptr,
               .partial = nullptr,
               .states = nullptr,
               .resumes = false,
               .num_queries = 1,
               .kv_head = head,
               .q_stride = 0,
               .out_stride = 0,
               .begin = first * kTileTokens,
               .end = (first + count) * kTileTokens};
    return s;
  }

  std::vector<std::int32_t> blocks;
  KvLayer kv{.data = nullptr,
             .block_bytes = kHeads * kBlockSize * kTokenBytes,
             .head_bytes = kBlockSize * kTokenBytes,
             .v_offset = 0,
             .token_bytes = kTokenBytes,
             .k_order = KOrder::kDimMajor,
             .block_size = kBlockSize,
             .num_kv_heads = kHeads,
             .k_dim = 64,
             .v_dim = 64,
             .token_stride = 64};
};

std::size_t bytes_of(const AttentionAhead& ahead) {
  std::size_t bytes = 0;
  for (const AttentionAhead::Part& part : std::span(ahead.parts, static_cast<std::size_t>(ahead.num_parts)))
    bytes += static_cast<std::size_t>(part.num_blocks * part.num_heads * kBlockSize) * kTokenBytes;
  return bytes;
}

TEST(StretchQueue, WithoutTimeToSpareTheNextStretchIsFetchedShareByShare) {
  const Fixture f;
  StretchQueue queue(f.kv);
  EXPECT_TRUE(queue.wants_more(0));
  queue.push(f.tiles(0, 1, 0, 4));
  EXPECT_FALSE(queue.wants_more(0));
  for (int i = 0; i < 4; ++i) EXPECT_EQ(bytes_of(queue.fetch(i, 4, 0)), kHeadTileBytes) << i;
  EXPECT_EQ(bytes_of(queue.fetch(3, 4, 0)), 0U);
}

TEST(StretchQueue, WithTimeToSpareLaterStretchesAreFetchedUpToWhatACacheHolds) {
  const Fixture f;
  StretchQueue queue(f.kv);
  queue.push(f.tiles(0, 1, 0, 1));
  EXPECT_FALSE(queue.wants_more(kHeadTileBytes));
  EXPECT_TRUE(queue.wants_more(kHeadTileBytes + 1));
  for (int tile = 1; tile <= 3; ++tile) queue.push(f.tiles(tile, 1, 0, 4));
  EXPECT_EQ(bytes_of(queue.fetch(0, 1, 2 * kHeadTileBytes)), 2 * kHeadTileBytes);
  EXPECT_LE(bytes_of(queue.fetch(0, 1, std::size_t{1} << 30)), kStretchBytes - 2 * kHeadTileBytes + kHeads * 4096);
  EXPECT_FALSE(queue.wants_more(std::size_t{1} << 30));
  EXPECT_EQ(bytes_of(queue.fetch(0, 1, std::size_t{1} << 30)), 0U);
}

// Such an item fetches its own further tiles; what comes after it would be gone when it is done.
TEST(StretchQueue, NothingIsFetchedBeyondAStretchOfSeveralTiles) {
  const Fixture f;
  StretchQueue queue(f.kv);
  queue.push(f.tiles(0, 3, 0, 1));
  EXPECT_FALSE(queue.wants_more(std::size_t{1} << 30));
  EXPECT_EQ(bytes_of(queue.fetch(0, 1, std::size_t{1} << 30)), kHeadTileBytes);
}

TEST(StretchQueue, EveryBlockIsFetchedOnceBeforeItsTurnHoweverMuchTimeThereIs) {
  const Fixture f;
  std::mt19937 random(3);
  for (int round = 0; round < 50; ++round) {
    StretchQueue queue(f.kv);
    std::map<std::pair<int, int>, int> fetches;
    int pushed = 1, popped = 0;
    const auto push_next = [&] {
      if (pushed == 40) return false;
      const int head = static_cast<int>(random() % kHeads);
      queue.push(f.tiles(pushed++, 1, head, 1 + static_cast<int>(random() % static_cast<unsigned>(kHeads - head))));
      return true;
    };
    push_next();
    AttentionStretch at = f.tiles(0, 1, 0, 2);
    while (true) {
      for (int i = 0; i < at.num_heads; ++i) {
        const std::size_t bytes = random() % 3 == 0 ? 0 : random() % (4 * kHeadTileBytes);
        while (queue.wants_more(bytes) && push_next()) {
        }
        const AttentionAhead ahead = queue.fetch(i, at.num_heads, bytes);
        for (const AttentionAhead::Part& part : std::span(ahead.parts, static_cast<std::size_t>(ahead.num_parts)))
          for (int block = 0; block < part.num_blocks; ++block)
            for (int head = 0; head < part.num_heads; ++head) ++fetches[{part.blocks[block], part.first_head + head}];
      }
      if (queue.empty()) break;
      at = queue.pop();
      ++popped;
      for (int block = 0; block < kTileTokens / kBlockSize; ++block)
        for (int head = 0; head < at.num_heads; ++head) {
          const std::pair key{f.blocks[static_cast<std::size_t>(at.first.begin / kBlockSize + block)],
                              at.first.kv_head + head};
          ASSERT_EQ(fetches[key], 1) << key.first << ' ' << key.second;
        }
    }
    ASSERT_EQ(popped, 39);
  }
}

}  // namespace
}  // namespace octavo
