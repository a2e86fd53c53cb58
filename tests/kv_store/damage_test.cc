// Whatever has become of a file: what is read of it is right, or it is a miss.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "kv_store/kv_store.h"
#include "kv_store/run_file.h"
#include "kv_store/stored_blocks.h"
#include "support/temp_folder.h"

namespace octavo::test {
namespace {

std::string bytes_of_file(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

void put_bytes(const std::filesystem::path& path, std::string_view bytes) {
  std::ofstream out(path, std::ios::binary | std::ios::trunc);
  out.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
}

struct KvStoreDamage : testing::Test {
  TempFolder temp;
  std::vector<std::string> warnings;
  KvStoreOptions options{.folder = temp.path() / "kv",
                         .warn = [this](const std::string& message) { warnings.push_back(message); }};
  StateLayout layout = with_a_snapshot();
  PrefixName prefix = with_picture(prefix_of(2), 10, 9, 1);
  std::filesystem::path file;
  std::string whole;

  KvStoreDamage() {
    OneStore(options, layout).write(prefix);
    file = run_files(options.folder).front();
    whole = bytes_of_file(file);
  }
  /// A store that begins with these bytes in the file misses, removes it, and writes it again as it was.
  void expect_miss(std::string_view bytes, std::string_view what) {
    put_bytes(file, bytes);
    OneStore store(options, layout);
    store.settle();
    EXPECT_LE(store.read(prefix), 0) << what;
    EXPECT_EQ(store->counts().corrupt, 1U) << what;
    EXPECT_FALSE(std::filesystem::exists(file)) << what;
    EXPECT_TRUE(store.write(prefix)) << what;
    EXPECT_EQ(store.read(prefix), 2) << what;
    EXPECT_TRUE(bytes_of_file(file) == whole) << what;
  }
};

TEST_F(KvStoreDamage, AFlippedBitIsAMissWhereverItIs) {
  for (std::size_t at = 0; at < whole.size(); at += at < 512 ? 3 : 97) {
    std::string bytes = whole;
    bytes[at] = static_cast<char>(bytes[at] ^ (1 << at % 8));
    expect_miss(bytes, "bit of byte " + std::to_string(at));
  }
}

TEST_F(KvStoreDamage, ACutFileIsAMiss) {
  for (const std::size_t left : {std::size_t{0}, std::size_t{1}, std::size_t{50}, std::size_t{111}, std::size_t{112},
                                 std::size_t{200}, whole.size() / 2, whole.size() - 1})
    expect_miss(whole.substr(0, left), "cut to " + std::to_string(left));
}

TEST_F(KvStoreDamage, AnExtendedFileIsAMiss) {
  expect_miss(whole + '\0', "one byte more");
  expect_miss(whole + whole, "twice");
}

TEST_F(KvStoreDamage, ATornFileIsAMiss) {
  std::string bytes = whole;
  std::fill_n(bytes.begin() + static_cast<std::ptrdiff_t>(whole.size() / 2), 512, '\0');
  expect_miss(bytes, "zeros where a sector was");
}

TEST_F(KvStoreDamage, AnotherVersionIsAMiss) {
  std::string bytes = whole;
  ++bytes[8];
  expect_miss(bytes, "version");
}

TEST_F(KvStoreDamage, AFileOfAnotherAddressIsAMiss) {
  KvStoreOptions others{.folder = temp.path() / "others"};
  OneStore(others, layout, "model two").write(prefix);
  expect_miss(bytes_of_file(run_files(others.folder).front()), "another address");
}

TEST_F(KvStoreDamage, AFileOfAnotherNameIsAMiss) {
  KvStoreOptions others{.folder = temp.path() / "others"};
  OneStore(others, layout).write(prefix_of(2, 7));
  expect_miss(bytes_of_file(run_files(others.folder).front()), "another name");
}

TEST_F(KvStoreDamage, AFileThatIsDamagedWhileItIsKnownIsAMiss) {
  OneStore store(options, layout);
  store.settle();
  std::string bytes = whole;
  bytes.back() = static_cast<char>(bytes.back() ^ 1);
  put_bytes(file, bytes);
  EXPECT_EQ(store.read(prefix), -1);
  EXPECT_EQ(store.find(prefix), 0);
  EXPECT_EQ(store->counts().corrupt, 1U);
  EXPECT_EQ(store->counts().misses, 1U);
}

TEST_F(KvStoreDamage, AFileThatShrinksUnderItsReaderIsDamaged) {
  const auto run = RunFile::open(file);
  ASSERT_TRUE(run) << run.error().message;
  std::filesystem::resize_file(file, whole.size() - 100);
  BlocksInMemory memory(layout);
  const auto done = run->read(blocks_of(layout, prefix), layout, memory, [] { return true; });
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().fault, RunFault::kDamaged);
}

TEST_F(KvStoreDamage, AFileThatIsRemovedUnderItsReaderIsRead) {
  const auto run = RunFile::open(file);
  ASSERT_TRUE(run) << run.error().message;
  std::filesystem::remove(file);
  BlocksInMemory memory(layout);
  const auto blocks = blocks_of(layout, prefix);
  EXPECT_TRUE(run->read(blocks, layout, memory, [] { return true; }));
  EXPECT_EQ(count_wrong(memory, layout, prefix, blocks), 0);
}

TEST_F(KvStoreDamage, ALinkIsNotFollowed) {
  std::filesystem::rename(file, temp.path() / "elsewhere");
  std::filesystem::create_symlink(temp.path() / "elsewhere", file);
  OneStore store(options, layout);
  store.settle();
  EXPECT_EQ(store.read(prefix), 0);
}

TEST_F(KvStoreDamage, ManyDamagedFilesAreOneLine) {
  OneStore(options, layout).write(prefix_of(2, 8));
  for (const auto& path : run_files(options.folder)) put_bytes(path, "damaged");
  OneStore store(options, layout);
  store.settle();
  EXPECT_EQ(store->counts().corrupt, 2U);
  EXPECT_THAT(warnings, testing::ElementsAre(testing::HasSubstr(".run: ")));
}

}  // namespace
}  // namespace octavo::test
