// The store's thread: what goes before what, what is refused, how it ends, and what a disk that fails does to it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/uio.h>

#include <atomic>
#include <ctime>
#include <semaphore>
#include <thread>

#include "kv_store/kv_store.h"
#include "kv_store/stored_blocks.h"
#include "support/temp_folder.h"

namespace octavo::test {
namespace {

/// Blocks of 4 MiB: a run of some has several chunks.
StateLayout large_blocks() {
  return layout_of(
      std::vector<std::optional<KvLayerShape>>(32, KvLayerShape{.num_kv_heads = 8, .k_dim = 256, .v_dim = 256}));
}

::ssize_t write_through(int fd, std::span<const ::iovec> pieces, ::off_t offset) {
  return ::pwritev(fd, pieces.data(), static_cast<int>(pieces.size()), offset);
}

std::size_t count_files(const std::filesystem::path& folder) {
  std::size_t files = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder))
    files += entry.is_regular_file() && entry.path().filename() != "address" ? 1 : 0;
  return files;
}

struct KvStoreThread : testing::Test {
  TempFolder temp;
  std::vector<std::string> warnings;
  std::atomic<int> num_calls = 0;
  std::function<void(int call)> on_write;  // on the store's thread
  std::atomic<int> error = 0;              // that writes end with
  KvStoreOptions options{.folder = temp.path() / "kv",
                         .warn = [this](const std::string& message) { warnings.push_back(message); },
                         .write = [this](int fd, std::span<const ::iovec> pieces, ::off_t offset) -> ::ssize_t {
                           if (on_write) on_write(++num_calls);
                           if (error == 0) return write_through(fd, pieces, offset);
                           errno = error;
                           return -1;
                         }};
};

/// A writer that has begun and goes on when it is told to.
struct HeldWriter {
  std::binary_semaphore begun{0}, may_go_on{0};
  void operator()(int call) {
    if (call != 1) return;
    begun.release();
    may_go_on.acquire();
  }
};

/// A disk that takes much processor time a write.
void take_processor_time(int) {
  constexpr long kMost_ns = 30'000'000;
  const auto now_ns = [] {
    ::timespec time{};
    ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return time.tv_sec * 1'000'000'000 + time.tv_nsec;
  };
  for (const long end = now_ns() + kMost_ns; now_ns() < end;) continue;
}

TEST_F(KvStoreThread, AReadDoesNotWaitForAWrite) {
  const StateLayout layout = large_blocks();
  OneStore store(options, layout);
  ASSERT_TRUE(store.write(prefix_of(1, 5)));
  HeldWriter held;
  on_write = std::ref(held);
  const auto write = store->write(prefix_of(5), blocks_of(layout, prefix_of(5)));
  held.begun.acquire();
  EXPECT_EQ(store.read(prefix_of(1, 5)), 1);
  held.may_go_on.release();
  EXPECT_TRUE(store.end_of(write));
  EXPECT_GE(num_calls, 3);
}

TEST_F(KvStoreThread, WritesBeyondTheirShareOfProcessorTimeAreRefusedAtOnce) {
  options.write_share = 0;
  on_write = take_processor_time;
  OneStore store(options, one_group());
  store->set_busy(true);
  int written = 0;
  while (written < 100 && store->takes_writes()) EXPECT_TRUE(store.write(prefix_of(2, written++)));
  EXPECT_GE(written, 1) << "some time is there from the beginning";
  EXPECT_LT(written, 10);
  EXPECT_FALSE(store.write(prefix_of(2, written)));
  EXPECT_EQ(store.read(prefix_of(2, written - 1)), 2) << "reads have no bound";
  store->set_busy(false);
  while (!store->takes_writes()) std::this_thread::sleep_for(std::chrono::milliseconds(10));
  EXPECT_TRUE(store.write(prefix_of(2, written))) << "nobody computes";
}

TEST_F(KvStoreThread, WritesBeyondTheBytesInFlightAreRefusedAtOnce) {
  const StateLayout layout = one_group();
  options.max_bytes_in_flight = 4 * layout.block_bytes(0);
  HeldWriter held;
  on_write = std::ref(held);
  OneStore store(options, layout);
  store.settle();
  const auto first = store->write(prefix_of(3), blocks_of(layout, prefix_of(3)));
  held.begun.acquire();
  EXPECT_EQ(store->bytes_in_flight(), 3 * layout.block_bytes(0));
  EXPECT_FALSE(store.end_of(store->write(prefix_of(2, 1), blocks_of(layout, prefix_of(2, 1)))));
  const auto second = store->write(prefix_of(1, 1), blocks_of(layout, prefix_of(1, 1)));
  held.may_go_on.release();
  EXPECT_TRUE(store.end_of(first));
  EXPECT_TRUE(store.end_of(second));
  EXPECT_EQ(store->bytes_in_flight(), 0U);
  EXPECT_TRUE(store.write(prefix_of(9, 2))) << "a single write may be larger";
}

TEST_F(KvStoreThread, CancelledTasksEndAndLeaveNoFile) {
  const StateLayout layout = large_blocks();
  HeldWriter held;
  on_write = std::ref(held);
  OneStore store(options, layout);
  store.settle();
  const auto running = store->write(prefix_of(6), blocks_of(layout, prefix_of(6)));
  held.begun.acquire();
  const auto waiting = store->write(prefix_of(1, 1), blocks_of(layout, prefix_of(1, 1)));
  const auto read = store->read(prefix_of(1, 2), blocks_of(layout, prefix_of(1, 2)));
  std::thread cancelling([&] { store->cancel_all(); });
  EXPECT_FALSE(store.end_of(waiting));
  EXPECT_FALSE(store.end_of(read));
  held.may_go_on.release();
  cancelling.join();
  EXPECT_FALSE(store.end_of(running));
  EXPECT_LE(num_calls, 2);
  EXPECT_EQ(store->bytes_in_flight(), 0U);
  EXPECT_EQ(count_files(options.folder), 0U);
  EXPECT_TRUE(store.write(prefix_of(2, 3))) << "later tasks are done as ever";
}

TEST_F(KvStoreThread, AnEndedStoreLeavesNoUnfinishedFile) {
  const StateLayout layout = large_blocks();
  HeldWriter held;
  on_write = std::ref(held);
  {
    OneStore store(options, layout);
    for (int seed = 0; seed < 4; ++seed) store->write(prefix_of(3, seed), blocks_of(layout, prefix_of(3, seed)));
    held.begun.acquire();
    held.may_go_on.release();
  }
  EXPECT_EQ(count_files(options.folder), run_files(options.folder).size());
}

TEST_F(KvStoreThread, AFullDiskIsARefusedWriteAndOneLine) {
  OneStore store(options, with_a_window());
  error = ENOSPC;
  EXPECT_FALSE(store.write(prefix_of(3)));
  EXPECT_FALSE(store.write(prefix_of(4)));
  EXPECT_EQ(count_files(options.folder), 0U);
  EXPECT_THAT(warnings, testing::ElementsAre(testing::HasSubstr("No space left on device")));
  error = 0;
  EXPECT_TRUE(store.write(prefix_of(4)));
  EXPECT_EQ(store.read(prefix_of(4)), 4);
}

TEST_F(KvStoreThread, ADiskThatTakesALittleAtATimeGetsAll) {
  options.write = [](int fd, std::span<const ::iovec> pieces, ::off_t offset) -> ::ssize_t {
    ::iovec some = pieces.front();
    some.iov_len = std::min<std::size_t>(some.iov_len, 333);
    return write_through(fd, std::span(&some, 1), offset);
  };
  OneStore store(options, with_a_window());
  ASSERT_TRUE(store.write(prefix_of(4)));
  EXPECT_EQ(store.read(prefix_of(4)), 4);
}

TEST_F(KvStoreThread, ADirectoryThatIsGoneIsAMissAndALine) {
  OneStore store(options, one_group());
  ASSERT_TRUE(store.write(prefix_of(4)));
  std::filesystem::remove_all(options.folder);
  EXPECT_EQ(store.read(prefix_of(4)), -1);
  EXPECT_FALSE(store.write(prefix_of(4)));
  EXPECT_THAT(warnings, testing::ElementsAre(testing::HasSubstr("No such file")));
}

TEST_F(KvStoreThread, AFolderOfAnAddressThatIsGoneIsMadeAgain) {
  OneStore store(options, one_group());
  ASSERT_TRUE(store.write(prefix_of(4)));
  std::filesystem::remove_all(run_files(options.folder).front().parent_path().parent_path());
  EXPECT_EQ(store.read(prefix_of(4)), -1);
  EXPECT_TRUE(store.write(prefix_of(4)));
  EXPECT_EQ(store.read(prefix_of(4)), 4);
}

TEST_F(KvStoreThread, ReadsTellTheirRateAndLatency) {
  OneStore store(options, large_blocks());
  const double before = store->read_rate(), latency = store->read_latency_s();
  EXPECT_GT(before, 0);
  ASSERT_TRUE(store.write(prefix_of(3)));
  EXPECT_EQ(store.read(prefix_of(3)), 3);
  EXPECT_NE(store->read_rate(), before);
  EXPECT_NE(store->read_latency_s(), latency);
  EXPECT_EQ(store->counts().read_bytes, 3 * large_blocks().block_bytes(0));
  EXPECT_GT(store->counts().read_s, 0);
  EXPECT_GT(store->counts().write_s, 0);
}

}  // namespace
}  // namespace octavo::test
