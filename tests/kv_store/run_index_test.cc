// The index of files: against a plain map, and bounded while files come and go.
#include "kv_store/run_index.h"

#include <gtest/gtest.h>

#include <map>
#include <random>

#include "kv_store/stored_blocks.h"

namespace octavo::test {
namespace {

RunHeader run_of(std::uint64_t first, std::uint64_t count) {
  RunHeader header{.block_size = 16, .first = 0, .end = static_cast<std::uint32_t>(count)};
  header.groups.push_back({.first = 0, .count = static_cast<std::uint32_t>(count), .block_bytes = 64});
  for (std::uint64_t i = 0; i < count; ++i)
    header.hashes.push_back({.low = (first + i) * 0x9e3779b97f4a7c15, .high = 1});
  return header;
}

TEST(RunIndex, FindsWhatAMapFinds) {
  std::mt19937 random(7);
  RunIndex index;
  std::map<std::uint64_t, std::uint64_t> files;  // first block -> number
  for (int step = 0; step < 20'000; ++step) {
    const std::uint64_t first = random() % 300 * 32, count = 1 + random() % 32;
    if (files.contains(first)) {
      index.forget(run_of(first, files[first]).last());
      files.erase(first);
    } else {
      ASSERT_TRUE(index.add(run_of(first, count), step));
      files[first] = count;
    }
    ASSERT_EQ(index.num_files(), files.size());
    const std::uint64_t block = random() % (300 * 32), run = block / 32 * 32;
    const bool is_there = files.contains(run) && block - run < files[run];
    const RunIndex::File* found = index.file_with(run_of(block, 1).last());
    ASSERT_EQ(found != nullptr, is_there);
    ASSERT_TRUE(found == nullptr || found->end == run_of(run, files[run]).last());
  }
  EXPECT_EQ(index.ends().size(), files.size());
}

TEST(RunIndex, AFileOfTheSameNameTakesThePlaceOfAnOlderOne) {
  RunIndex index;
  ASSERT_TRUE(index.add(run_of(3, 2), 1));
  ASSERT_TRUE(index.add(run_of(1, 4), 2));
  EXPECT_EQ(index.num_files(), 1U);
  EXPECT_EQ(index.file_ending(run_of(1, 4).last())->used_s, 2);
  EXPECT_NE(index.file_with(run_of(1, 1).last()), nullptr);
}

TEST(RunIndex, ARunWithoutBlocksIsFoundByItsEnd) {
  RunIndex index;
  RunHeader header = run_of(0, 0);
  header.before = {.low = 5, .high = 6};
  ASSERT_TRUE(index.add(header, 0));
  EXPECT_NE(index.file_ending(header.before), nullptr);
  EXPECT_EQ(index.file_with(header.before), nullptr);
}

TEST(RunIndex, ThereIsRoomForSoManyBlocks) {
  RunIndex index;
  const RunHeader half = run_of(0, RunIndex::kMaxBlocks / 2);
  ASSERT_TRUE(index.add(half, 0));
  EXPECT_FALSE(index.add(run_of(RunIndex::kMaxBlocks, RunIndex::kMaxBlocks / 2 + 1), 0));
  EXPECT_EQ(index.num_files(), 1U);
  EXPECT_NE(index.file_with(half.last()), nullptr);
}

}  // namespace
}  // namespace octavo::test
