// The index of an address as a file: what it says is known at once, and whatever has become of it is a rebuilt one.
#include "kv_store/index_file.h"

#include <gtest/gtest.h>

#include <fstream>

#include "kv_store/stored_blocks.h"
#include "support/temp_folder.h"

namespace octavo::test {
namespace {

constexpr int kFiles = 80;

std::string bytes_of_file(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

void put_bytes(const std::filesystem::path& path, std::string_view bytes) {
  std::ofstream out(path, std::ios::binary | std::ios::trunc);
  out.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
}

RunIndex::File a_file(std::uint64_t number) {
  return {.end = {.low = number, .high = 1}, .bytes = 100 * number, .used_s = static_cast<std::int64_t>(number)};
}

TEST(IndexFile, HasWhatTheIndexHas) {
  RunIndex index;
  std::vector<BlockHash> hashes;
  for (std::uint64_t i = 1; i <= 100; ++i) {
    hashes.push_back({.low = i * 0x9e3779b97f4a7c15, .high = 2});
    ASSERT_TRUE(index.add(a_file(i), std::span(hashes).last(std::min<std::size_t>(i, 3))));  // the next takes two of it
  }
  index.forget(a_file(50).end);
  const AddressDigest address = digest_of("one");
  const auto bytes = index_bytes(address, index.contents());
  const auto again = parse_index(bytes, address);
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_EQ(again->num_files(), 99U);
  for (const BlockHash& hash : hashes) {
    ASSERT_EQ(again->file_with(hash) != nullptr, index.file_with(hash) != nullptr);
    if (index.file_with(hash) == nullptr) continue;
    EXPECT_EQ(again->file_with(hash)->end, index.file_with(hash)->end);
    EXPECT_EQ(again->file_with(hash)->bytes, index.file_with(hash)->bytes);
    EXPECT_EQ(again->file_with(hash)->used_s, index.file_with(hash)->used_s);
  }
  EXPECT_FALSE(parse_index(bytes, digest_of("two")));
}

TEST(IndexFile, ChangedOrTornBytesAreAnError) {
  RunIndex index;
  const std::vector<BlockHash> hashes = {{.low = 5, .high = 5}, {.low = 6, .high = 6}};
  ASSERT_TRUE(index.add(a_file(1), hashes));
  ASSERT_TRUE(index.add(a_file(2), {}));
  const AddressDigest address = digest_of("one");
  const auto whole = index_bytes(address, index.contents());
  for (std::size_t bit = 0; bit < 8 * whole.size(); ++bit) {
    auto bytes = whole;
    bytes[bit / 8] ^= static_cast<std::byte>(1 << bit % 8);
    EXPECT_FALSE(parse_index(bytes, address)) << bit;
  }
  for (std::size_t size = 0; size < whole.size(); ++size)
    EXPECT_FALSE(parse_index(std::span(whole).first(size), address)) << size;
  auto longer = whole;
  longer.push_back(std::byte{0});
  EXPECT_FALSE(parse_index(longer, address));
}

struct KvStoreIndexFile : testing::Test {
  TempFolder temp;
  KvStoreOptions options{.folder = temp.path() / "kv"};
  std::filesystem::path index;

  KvStoreIndexFile() {
    OneStore store(options, one_group());
    for (int i = 0; i < kFiles; ++i) EXPECT_TRUE(store.write(prefix_of(2, i)));
    index = run_files(options.folder).front().parent_path().parent_path() / "index";
  }
  /// A store knows all files, and leaves an index that says so.
  void expect_all_known() {
    {
      OneStore store(options, one_group());
      store.settle();
      for (int i = 0; i < kFiles; ++i) EXPECT_EQ(store.read(prefix_of(2, i)), 2);
      EXPECT_TRUE(store.write(prefix_of(2, kFiles)));
    }
    const std::string bytes = bytes_of_file(index);
    EXPECT_TRUE(parse_index(std::as_bytes(std::span(bytes)), digest_of(address()))) << bytes.size();
  }
  std::string address() const { return bytes_of_file(index.parent_path() / "address"); }
};

TEST_F(KvStoreIndexFile, IsLeftByAStoreThatEnds) { expect_all_known(); }

TEST_F(KvStoreIndexFile, WhatItSaysIsFoundBeforeFilesAreLookedAt) {
  for (const auto& file : run_files(options.folder)) std::filesystem::remove(file);
  OneStore store(options, one_group());
  // Whether the look over the directory has ended is another thread's to say; a read is a miss in any case.
  EXPECT_LE(store.read(prefix_of(2, 3)), 0);
  store.settle();
  EXPECT_EQ(store.find(prefix_of(2, 3)), 0);
  EXPECT_EQ(store.find(prefix_of(2, 4)), 0);
}

TEST_F(KvStoreIndexFile, OneThatIsGoneIsMadeAgain) {
  std::filesystem::remove(index);
  expect_all_known();
}

TEST_F(KvStoreIndexFile, ATornOneIsMadeAgain) {
  const std::string whole = bytes_of_file(index);
  put_bytes(index, std::string_view(whole).substr(0, whole.size() / 2));
  expect_all_known();
  put_bytes(index, "");
  expect_all_known();
}

TEST_F(KvStoreIndexFile, AStaleOneLearnsWhatIsNewAndForgetsWhatIsGone) {
  const std::string stale = bytes_of_file(index);
  {
    OneStore store(options, one_group());
    EXPECT_TRUE(store.write(prefix_of(3, 500)));
  }
  put_bytes(index, stale);
  std::filesystem::remove(run_files(options.folder).front());
  OneStore store(options, one_group());
  store.settle();
  int found = store.find(prefix_of(3, 500)) == 3 ? 1 : 0;
  for (int i = 0; i < kFiles; ++i) found += store.find(prefix_of(2, i)) == 2 ? 1 : 0;
  EXPECT_EQ(found, kFiles);
}

TEST_F(KvStoreIndexFile, AFileThatIsAnotherThanItSaysIsLookedAtAgain) {
  const auto files = run_files(options.folder);
  for (const auto& file : files) put_bytes(file, "short");
  OneStore store(options, one_group());
  store.settle();
  EXPECT_EQ(store.find(prefix_of(2, 1)), 0);
  EXPECT_EQ(store->counts().corrupt, files.size());
}

TEST_F(KvStoreIndexFile, TwoStoresThatEndLeaveOneThatCanBeRead) {
  {
    OneStore one(options, one_group()), two(options, one_group());
    EXPECT_TRUE(one.write(prefix_of(2, 600)));
    EXPECT_TRUE(two.write(prefix_of(2, 601)));
  }
  expect_all_known();
}

TEST_F(KvStoreIndexFile, AnUnfinishedOneOfLongAgoIsRemoved) {
  const auto unfinished = index.parent_path() / "0123456789abcdef.new";
  put_bytes(unfinished, "half");
  std::filesystem::last_write_time(unfinished, std::filesystem::file_time_type::clock::now() - std::chrono::hours(2));
  OneStore(options, one_group()).settle();
  EXPECT_FALSE(std::filesystem::exists(unfinished));
}

TEST_F(KvStoreIndexFile, OneThatIsOpenToOthersIsNotUsed) {
  std::filesystem::permissions(index, std::filesystem::perms(0644));
  expect_all_known();
  EXPECT_EQ(std::filesystem::status(index).permissions(), std::filesystem::perms(0600));
}

}  // namespace
}  // namespace octavo::test
