// The directory of a store: who may use it, its key, and which files go when there is no room.
#include "kv_store/store_folder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

#include "kv_store/housekeeping.h"
#include "kv_store/kv_store.h"
#include "kv_store/stored_blocks.h"
#include "support/temp_folder.h"

namespace octavo::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;

struct KvStoreFolder : testing::Test {
  TempFolder temp;
  std::filesystem::path folder = temp.path() / "kv";
  KvStoreOptions options{.folder = folder};

  /// Writes a prefix with a store of its own, and gives the file that is new.
  std::filesystem::path write(const PrefixName& prefix, std::string_view address = "model one") {
    const auto before = std::filesystem::exists(folder) ? run_files(folder) : std::vector<std::filesystem::path>{};
    EXPECT_TRUE(OneStore(options, one_group(), address).write(prefix));
    for (const auto& file : run_files(folder))
      if (std::ranges::find(before, file) == before.end()) return file;
    return {};
  }
  static void age(const std::filesystem::path& file, std::chrono::seconds seconds) {
    std::filesystem::last_write_time(file, std::filesystem::file_time_type::clock::now() - seconds);
  }
};

TEST_F(KvStoreFolder, AllWhoComeAtOnceHaveOneKey) {
  std::vector<Result<BlockHashKey>> keys(8, fail("not yet"));
  {
    std::vector<std::jthread> threads;
    for (auto& key : keys) threads.emplace_back([&] { key = KvStore::key_of(folder); });
  }
  for (const auto& key : keys) {
    ASSERT_TRUE(key) << key.error().message;
    EXPECT_EQ(*key, *keys.front());
  }
  EXPECT_NE(*keys.front(), BlockHashKey{});
  EXPECT_EQ(*KvStore::key_of(folder), *keys.front());
  EXPECT_NE(*KvStore::key_of(temp.path() / "another"), *keys.front());
}

TEST_F(KvStoreFolder, ADirectoryThatIsOpenToOthersIsRefused) {
  std::filesystem::create_directory(folder);
  std::filesystem::permissions(folder, std::filesystem::perms(0750));
  BlocksInMemory memory(one_group());
  const auto store = KvStore::open(options, "model", one_group(), memory, {});
  ASSERT_FALSE(store);
  EXPECT_THAT(store.error().message, AllOf(HasSubstr(folder.string()), HasSubstr("0750"), HasSubstr("expected 0700")));
  EXPECT_FALSE(KvStore::key_of(folder));
  EXPECT_FALSE(list_store(folder));
}

TEST_F(KvStoreFolder, AKeyThatIsOpenToOthersIsRefused) {
  ASSERT_TRUE(KvStore::key_of(folder));
  std::filesystem::permissions(folder / "key", std::filesystem::perms(0644));
  const auto key = KvStore::key_of(folder);
  ASSERT_FALSE(key);
  EXPECT_THAT(key.error().message, AllOf(HasSubstr("key"), HasSubstr("0644"), HasSubstr("expected 0600")));
}

TEST_F(KvStoreFolder, AKeyOfAnotherSizeIsRefused) {
  ASSERT_TRUE(KvStore::key_of(folder));
  std::filesystem::resize_file(folder / "key", 15);
  EXPECT_FALSE(KvStore::key_of(folder));
  std::filesystem::resize_file(folder / "key", 17);
  EXPECT_FALSE(KvStore::key_of(folder));
}

TEST_F(KvStoreFolder, AFileIsNoDirectory) {
  temp.write("kv", "text");
  const auto key = KvStore::key_of(folder);
  ASSERT_FALSE(key);
  EXPECT_THAT(key.error().message, HasSubstr("is no directory"));
}

TEST_F(KvStoreFolder, AnAddressIsToldByItsText) {
  write(prefix_of(2));
  const auto rows = list_store(folder);
  ASSERT_TRUE(rows);
  ASSERT_EQ(rows->size(), 1U);
  EXPECT_THAT(rows->front().address, AllOf(testing::StartsWith("model one\n"), HasSubstr(one_group().name())));
}

TEST_F(KvStoreFolder, UnfinishedFilesOfAnHourAgoAreRemoved) {
  const auto run = write(prefix_of(2));
  const auto old = run.parent_path() / "0123456789abcdef.new", fresh = run.parent_path() / "fedcba9876543210.new";
  std::filesystem::copy_file(run, old);
  std::filesystem::copy_file(run, fresh);
  age(old, std::chrono::hours(2));
  OneStore store(options, one_group());
  store.settle();
  EXPECT_FALSE(std::filesystem::exists(old));
  EXPECT_TRUE(std::filesystem::exists(fresh));
  EXPECT_EQ(store->counts().bytes, 2 * std::filesystem::file_size(run));
}

TEST_F(KvStoreFolder, TheOldestUseGoesFirst) {
  const std::vector<StoredFile> files = {
      {.bytes = 10, .used_s = 30}, {.bytes = 20, .used_s = 10}, {.bytes = 40, .used_s = 20}};
  EXPECT_EQ(choose_oldest(files, 70, 70, {}).size(), 0U);
  EXPECT_EQ(choose_oldest(files, 70, 69, {}).size(), 1U);
  EXPECT_EQ(choose_oldest(files, 70, 69, {}).front().used_s, 10);
  EXPECT_EQ(choose_oldest(files, 70, 49, {}).size(), 2U);
  EXPECT_EQ(choose_oldest(files, 70, 0, {}).size(), 3U);
  EXPECT_EQ(choose_oldest(files, 70, {}, 20).size(), 1U);
  EXPECT_EQ(choose_oldest(files, 70, {}, {}).size(), 0U);
  EXPECT_EQ(choose_oldest(files, 70, 69, 21).size(), 2U);
}

TEST_F(KvStoreFolder, OutdatedFilesGoBeforeThoseWhoseUseIsLongerAgo) {
  const std::vector<StoredFile> files = {{.bytes = 10, .used_s = 30, .is_outdated = true},
                                         {.bytes = 20, .used_s = 10},
                                         {.bytes = 40, .used_s = 40, .is_outdated = true}};
  const auto chosen = choose_oldest(files, 70, 25, {});
  ASSERT_EQ(chosen.size(), 2U);
  EXPECT_EQ(chosen[0].used_s, 30);
  EXPECT_EQ(chosen[1].used_s, 40);
  EXPECT_EQ(choose_oldest(files, 70, {}, 20).front().used_s, 10) << "who is too old goes all the same";
}

TEST_F(KvStoreFolder, AnAddressIsOutdatedWhenAnotherBuildComputesForItsModel) {
  const auto old = write(prefix_of(4, 1), "model\nold build\nhash"),
             fresh = write(prefix_of(4, 2), "model\nnew build\nhash"),
             other = write(prefix_of(4, 3), "another\nold build\nhash");
  age(fresh, std::chrono::hours(5));
  age(other, std::chrono::hours(9));
  const auto address = old.parent_path().parent_path() / "address";
  EXPECT_EQ(make_room_in_store(folder, 2 * std::filesystem::file_size(old), {})->files, 1U);
  EXPECT_FALSE(std::filesystem::exists(other)) << "both builds were used within the hour";
  age(address, std::chrono::hours(2));
  EXPECT_EQ(make_room_in_store(folder, std::filesystem::file_size(old), {})->files, 1U);
  EXPECT_FALSE(std::filesystem::exists(old));
  EXPECT_TRUE(std::filesystem::exists(fresh));
}

TEST_F(KvStoreFolder, ARunThatOthersContinueGoesAfterThem) {
  OneStore store(options, one_group());
  ASSERT_TRUE(store.write(prefix_of(4)));
  const auto head = run_files(folder).front();
  ASSERT_TRUE(store.write(prefix_of(6)));
  ASSERT_TRUE(store.write(prefix_of(8)));
  ASSERT_TRUE(store.write(prefix_of(6, 1, 4)));
  const std::uint64_t bytes = std::filesystem::file_size(head);
  ASSERT_TRUE(make_room_in_store(folder, bytes, {}));
  EXPECT_EQ(run_files(folder), std::vector{head});
}

TEST_F(KvStoreFolder, AWriteMakesRoomOfWhatWasUsedLongestAgo) {
  const auto oldest = write(prefix_of(4, 1)), older = write(prefix_of(4, 2), "model two"),
             newer = write(prefix_of(4, 3));
  const std::uint64_t bytes = std::filesystem::file_size(newer);
  age(oldest, std::chrono::hours(3));
  age(older, std::chrono::hours(2));
  age(newer, std::chrono::hours(1));
  options.max_bytes = 3 * bytes + bytes / 2;
  OneStore store(options, one_group());
  ASSERT_TRUE(store.write(prefix_of(4, 4)));
  EXPECT_FALSE(std::filesystem::exists(oldest));
  EXPECT_TRUE(std::filesystem::exists(older));
  EXPECT_EQ(store.find(prefix_of(4, 1)), 0);
  EXPECT_EQ(store.read(prefix_of(4, 3)), 4);
  EXPECT_EQ(store->counts().evictions, 1U);
  EXPECT_EQ(store->counts().bytes, 3 * bytes);
}

TEST_F(KvStoreFolder, AReadIsAUse) {
  const auto first = write(prefix_of(4, 1)), second = write(prefix_of(4, 2));
  age(first, std::chrono::hours(3));
  age(second, std::chrono::hours(2));
  options.max_bytes = 2 * std::filesystem::file_size(first) + 1000;
  OneStore store(options, one_group());
  store.settle();
  EXPECT_EQ(store.read(prefix_of(4, 1)), 4);
  ASSERT_TRUE(store.write(prefix_of(4, 3)));
  EXPECT_TRUE(std::filesystem::exists(first));
  EXPECT_FALSE(std::filesystem::exists(second));
}

TEST_F(KvStoreFolder, WhatIsLargerThanTheRoomIsRefusedAndEvictsNothing) {
  const auto file = write(prefix_of(2));
  options.max_bytes = std::filesystem::file_size(file) + 10;
  OneStore store(options, one_group());
  EXPECT_FALSE(store.write(prefix_of(40, 1)));
  store.settle();
  EXPECT_EQ(store->counts().evictions, 0U);
  EXPECT_EQ(store.read(prefix_of(2)), 2);
}

TEST_F(KvStoreFolder, ASmallerRoomIsKeptFromTheStartOn) {
  const auto first = write(prefix_of(4, 1)), second = write(prefix_of(4, 2));
  age(first, std::chrono::hours(1));
  options.max_bytes = std::filesystem::file_size(first) + 10;
  OneStore store(options, one_group());
  store.settle();
  EXPECT_EQ(run_files(folder), std::vector{second});
  EXPECT_EQ(store.find(prefix_of(4, 1)), 0);
}

TEST_F(KvStoreFolder, WhatIsOlderThanItsTimeGoes) {
  const auto first = write(prefix_of(4, 1)), second = write(prefix_of(4, 2));
  age(first, std::chrono::hours(2));
  options.ttl = std::chrono::hours(1);
  OneStore store(options, one_group());
  store.settle();
  EXPECT_EQ(run_files(folder), std::vector{second});
}

TEST_F(KvStoreFolder, AListHasARowForEachAddressAndDomain) {
  write(prefix_of(3, 1, 0, "alice"));
  write(prefix_of(4, 2, 0, "alice"));
  const auto bobs = write(prefix_of(5, 1, 0, "bob"));
  write(prefix_of(1, 1, 0, "bob"), "model two");
  age(bobs, std::chrono::hours(1));
  const auto rows = list_store(folder);
  ASSERT_TRUE(rows);
  ASSERT_EQ(rows->size(), 3U);
  int checked = 0;
  for (const StoredDomain& row : *rows) {
    if (!row.address.starts_with("model one")) continue;
    const bool is_alices = row.domain == "alice";
    EXPECT_EQ(row.files, is_alices ? 2U : 1U);
    EXPECT_EQ(row.blocks, is_alices ? 7U : 5U);
    EXPECT_EQ(row.tokens, 16 * row.blocks);
    EXPECT_GT(row.bytes, row.blocks * one_group().block_bytes());
    EXPECT_EQ(row.used_s < now_s() - 1800, !is_alices);
    ++checked;
  }
  EXPECT_EQ(checked, 2);
}

TEST_F(KvStoreFolder, RoomIsMadeByAgeAndBySize) {
  const auto oldest = write(prefix_of(4, 1)), older = write(prefix_of(4, 2)), newer = write(prefix_of(4, 3));
  const std::uint64_t bytes = std::filesystem::file_size(newer);
  age(oldest, std::chrono::hours(3));
  age(older, std::chrono::hours(2));
  const auto by_age = make_room_in_store(folder, {}, now_s() - 9000);
  ASSERT_TRUE(by_age);
  EXPECT_EQ(by_age->files, 1U);
  EXPECT_EQ(by_age->bytes_left, 2 * bytes);
  const auto by_size = make_room_in_store(folder, bytes, {});
  ASSERT_TRUE(by_size);
  EXPECT_EQ(by_size->files, 1U);
  EXPECT_EQ(run_files(folder), std::vector{newer});
}

TEST_F(KvStoreFolder, APurgeTakesADomainOrAll) {
  write(prefix_of(3, 1, 0, "alice"));
  const auto bobs = write(prefix_of(5, 1, 0, "bob"));
  write(prefix_of(3, 1, 0, "alice"), "model two");
  const auto alices = purge_store(folder, "alice", {});
  ASSERT_TRUE(alices);
  EXPECT_EQ(alices->files, 2U);
  EXPECT_EQ(run_files(folder), std::vector{bobs});
  EXPECT_EQ(purge_store(folder, {}, now_s() - 3600)->files, 0U);
  EXPECT_EQ(purge_store(folder, {}, {})->files_left, 0U);
  // Folders without files go too; the key stays, for the programs that use it.
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder), {}), 0);
}

TEST_F(KvStoreFolder, AMissingDirectoryIsAnError) {
  EXPECT_FALSE(list_store(folder));
  EXPECT_FALSE(make_room_in_store(folder, 0, {}));
  EXPECT_FALSE(purge_store(folder, {}, {}));
}

}  // namespace
}  // namespace octavo::test
