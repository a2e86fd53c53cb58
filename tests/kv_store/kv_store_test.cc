// What is written is found and read again, by this store and by others in its directory.
#include "kv_store/kv_store.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <thread>

#include "kv_store/stored_blocks.h"
#include "support/temp_folder.h"

namespace octavo::test {
namespace {

struct KvStoreTest : testing::Test {
  TempFolder temp;
  KvStoreOptions options{.folder = temp.path() / "kv"};
};

struct NamedLayout {
  const char* name;
  StateLayout layout;
};

struct KvStoreRoundTrip : testing::TestWithParam<NamedLayout> {
  TempFolder temp;
  KvStoreOptions options{.folder = temp.path() / "kv"};
  const StateLayout& layout = GetParam().layout;
};

TEST_P(KvStoreRoundTrip, AnotherStoreReadsWhatOneHasWritten) {
  const PrefixName prefix = prefix_of(9);
  OneStore(options, layout).write(prefix);
  OneStore other(options, layout);
  other.settle();
  EXPECT_EQ(other.read(prefix), 9);
  EXPECT_EQ(other->counts().hits, 1U);
  EXPECT_EQ(other->counts().corrupt, 0U);
}

TEST_P(KvStoreRoundTrip, ARunContinuesAnother) {
  OneStore store(options, layout);
  ASSERT_TRUE(store.write(prefix_of(4)));
  ASSERT_TRUE(store.write(prefix_of(7)));
  ASSERT_TRUE(store.write(prefix_of(12)));
  EXPECT_EQ(run_files(options.folder).size(), 3U);
  EXPECT_EQ(store.read(prefix_of(12)), 12);
  EXPECT_EQ(store.read(prefix_of(7)), 7);
  EXPECT_EQ(store.read(prefix_of(12), 5), 12);
}

TEST_P(KvStoreRoundTrip, APictureMayEndInAnotherRunThanItBegins) {
  const auto seen = [](int blocks, std::uint8_t name) { return with_picture(prefix_of(blocks), 20, 100, name); };
  OneStore(options, layout).write(with_picture(prefix_of(4), 20, 44, 1));
  OneStore(options, layout).write(seen(9, 1));
  OneStore other(options, layout);
  other.settle();
  EXPECT_EQ(run_files(options.folder).size(), 2U);
  EXPECT_EQ(other.read(seen(9, 1)), 9);
  EXPECT_EQ(other.read(seen(9, 2)), ends_alone(layout) ? 0 : 1) << "the block before another picture";
  EXPECT_EQ(other.find(prefix_of(9)), ends_alone(layout) ? 0 : 1) << "and before text";
  EXPECT_EQ(other->counts().corrupt, 0U);
}

TEST_P(KvStoreRoundTrip, WhatIsThereIsNotWrittenAgain) {
  OneStore store(options, layout);
  ASSERT_TRUE(store.write(prefix_of(5)));
  ASSERT_TRUE(store.write(prefix_of(5)));
  EXPECT_EQ(store->counts().writes, 1U);
  OneStore other(options, layout);
  ASSERT_TRUE(other.write(prefix_of(5)));
  EXPECT_EQ(other->counts().writes, 0U);
}

TEST_P(KvStoreRoundTrip, AnotherAddressIsAnotherFolder) {
  OneStore(options, layout).write(prefix_of(3));
  OneStore other(options, layout, "model two");
  other.settle();
  EXPECT_EQ(other.find(prefix_of(3)), 0);
}

INSTANTIATE_TEST_SUITE_P(
    Layouts, KvStoreRoundTrip,
    testing::Values(NamedLayout{"OneGroup", one_group()}, NamedLayout{"OneGroupQ8", one_group(KvType::kQ8_0)},
                    NamedLayout{"Window", with_a_window()}, NamedLayout{"WindowQ8", with_a_window(KvType::kQ8_0)},
                    NamedLayout{"WindowsAlone", windows_alone()}, NamedLayout{"Snapshot", with_a_snapshot()},
                    NamedLayout{"SnapshotQ8", with_a_snapshot(KvType::kQ8_0)}),
    [](const auto& one) { return one.param.name; });

TEST_F(KvStoreTest, WithoutWindowsAMatchEndsAnywhere) {
  OneStore store(options, one_group());
  ASSERT_TRUE(store.write(prefix_of(8)));
  EXPECT_EQ(store.read(prefix_of(8, 1, 5)), 5);  // others go on behind the fifth block
  EXPECT_EQ(store.read(prefix_of(3)), 3);
  EXPECT_EQ(store->find(prefix_of(8).hashes, 2, 6).num_blocks, 6);
  EXPECT_EQ(store->find(prefix_of(8).hashes, 8, 8).num_blocks, 0);
}

TEST_F(KvStoreTest, WithASnapshotAMatchEndsWhereARunEnds) {
  OneStore store(options, with_a_snapshot());
  ASSERT_TRUE(store.write(prefix_of(4)));
  ASSERT_TRUE(store.write(prefix_of(8)));
  EXPECT_EQ(store.read(prefix_of(7)), 4);
  EXPECT_EQ(store.read(prefix_of(8, 1, 6)), 4);
  EXPECT_EQ(store.read(prefix_of(3)), 0);
}

TEST_F(KvStoreTest, AnEndWithinARunIsWrittenWithoutItsBlocks) {
  OneStore store(options, with_a_snapshot());
  ASSERT_TRUE(store.write(prefix_of(8)));
  const auto bytes = store->counts().written_bytes;
  ASSERT_TRUE(store.write(prefix_of(5)));
  EXPECT_LT(store->counts().written_bytes - bytes, 1000U + 1024U);
  EXPECT_EQ(store.read(prefix_of(5)), 5);
  EXPECT_EQ(store.read(prefix_of(8)), 8);
}

TEST_F(KvStoreTest, TheBytesToReadAreThoseOfTheBlocksThatAreNotKnown) {
  const StateLayout layout = with_a_window();
  OneStore store(options, layout);
  ASSERT_TRUE(store.write(prefix_of(8)));
  // A window of 40 tokens behind 128: from token 89 on, which is in block 5.
  const std::size_t windowed = 3 * layout.block_bytes(0);
  EXPECT_EQ(store->find(prefix_of(8).hashes, 0, 8).bytes, 8 * layout.block_bytes(1) + windowed);
  EXPECT_EQ(store->find(prefix_of(8).hashes, 6, 8).bytes, 2 * layout.block_bytes(1) + windowed);
}

TEST_F(KvStoreTest, OtherRowsUnderTheSameHashesAreAMiss) {
  OneStore store(options, one_group());
  ASSERT_TRUE(store.write(prefix_of(4)));
  PrefixName other = prefix_of(4);
  ++other.tokens[20];
  EXPECT_EQ(store.read(other), -1);
  EXPECT_EQ(store->counts().misses, 1U);
  EXPECT_EQ(store->counts().corrupt, 0U);
  EXPECT_EQ(run_files(options.folder).size(), 1U);
}

TEST_F(KvStoreTest, AnotherPictureUnderTheSameHashesIsAMiss) {
  OneStore store(options, one_group());
  const PrefixName seen = with_picture(prefix_of(4), 20, 30, 1);
  ASSERT_TRUE(store.write(seen));
  EXPECT_EQ(store.read(seen), 4);
  PrefixName other = seen;
  other.given[0].digest.bytes[31] = 1;
  EXPECT_EQ(store.read(other), -1);
  other = seen;
  other.given.clear();
  EXPECT_LE(store.read(other), 0);
  EXPECT_EQ(store->counts().corrupt, 0U);
}

TEST_F(KvStoreTest, TwoStoresInOneDirectoryFindEachOthersFiles) {
  options.look_every = std::chrono::milliseconds(1);
  OneStore one(options, with_a_window()), two(options, with_a_window());
  two.settle();
  ASSERT_TRUE(one.write(prefix_of(6)));
  for (int i = 0; i < 1000 && two.find(prefix_of(6)) == 0; ++i) two.settle();
  EXPECT_EQ(two.read(prefix_of(6)), 6);
  ASSERT_TRUE(two.write(prefix_of(9)));
  for (int i = 0; i < 1000 && one.find(prefix_of(9)) < 9; ++i) one.settle();
  EXPECT_EQ(one.read(prefix_of(9)), 9);
}

TEST_F(KvStoreTest, AFileThatAnotherProcessRemovesIsAMissAndWrittenAgain) {
  OneStore store(options, one_group());
  ASSERT_TRUE(store.write(prefix_of(4)));
  std::filesystem::remove(run_files(options.folder).front());
  EXPECT_EQ(store.read(prefix_of(4)), -1);
  EXPECT_EQ(store.find(prefix_of(4)), 0);
  ASSERT_TRUE(store.write(prefix_of(4)));
  EXPECT_EQ(store.read(prefix_of(4)), 4);
  EXPECT_EQ(store->counts().corrupt, 0U);
}

TEST_F(KvStoreTest, AMissingBlockIsNotWritten) {
  OneStore store(options, with_a_window());
  auto blocks = blocks_of(with_a_window(), prefix_of(4));
  blocks.pop_back();
  EXPECT_FALSE(store.end_of(store->write(prefix_of(4), blocks)));
  EXPECT_TRUE(run_files(options.folder).empty());
}

TEST_F(KvStoreTest, APrefixThatIsNoneIsRefused) {
  OneStore store(options, one_group());
  EXPECT_FALSE(store.end_of(store->write({}, {})));
  EXPECT_FALSE(store.end_of(store->read({}, {})));
  PrefixName prefix = prefix_of(3);
  prefix.tokens.pop_back();
  EXPECT_FALSE(store.end_of(store->write(prefix, blocks_of(one_group(), prefix))));
}

TEST_F(KvStoreTest, FilesAndFoldersAreTheOwnersAlone) {
  OneStore(options, one_group()).write(prefix_of(2));
  for (const auto& entry : std::filesystem::recursive_directory_iterator(options.folder)) {
    struct stat info{};
    ASSERT_EQ(::stat(entry.path().c_str(), &info), 0);
    EXPECT_EQ(info.st_mode & 0777U, entry.is_directory() ? 0700U : 0600U) << entry.path();
  }
}

TEST_F(KvStoreTest, TheContiguousLayoutIsRefused) {
  const std::vector<std::optional<KvLayerShape>> layers = {KvLayerShape{.num_kv_heads = 1, .k_dim = 8, .v_dim = 8}};
  const StateLayout layout = StateLayout::create(KvType::kF16, KvLayout::kContiguous, 64, layers).value();
  BlocksInMemory memory(layout);
  EXPECT_FALSE(KvStore::open(options, "model", layout, memory, {}));
}

TEST_F(KvStoreTest, WhoeverWaitsIsWoken) {
  std::atomic<int> woken = 0;
  BlocksInMemory memory(one_group());
  const auto store = KvStore::open(options, "model", one_group(), memory, [&] {
                       ++woken;
                       woken.notify_all();
                     }).value();
  store->read({}, {});
  woken.wait(0);
  std::vector<KvStore::Done> done;
  EXPECT_TRUE(store->wait(std::chrono::seconds(0)));
  store->take_done(done);
  EXPECT_EQ(done.size(), 1U);
  EXPECT_FALSE(store->wait(std::chrono::milliseconds(0)));
}

}  // namespace
}  // namespace octavo::test
