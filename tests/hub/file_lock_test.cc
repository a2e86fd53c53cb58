#include "hub/file_lock.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "support/temp_folder.h"

namespace octavo::hub {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

TEST(FileLock, IsHeldByOneAtATime) {
  const test::TempFolder folder;
  const auto path = folder.path() / "x.lock";
  std::optional<FileLock> held = FileLock::take(path, 1s, [] { return false; }).value();
  std::atomic<bool> was_asked = false, released = false;
  std::thread other([&] {
    const auto lock = FileLock::take(path, 1h, [&] {
      was_asked = true;
      return true;
    });
    EXPECT_TRUE(lock);
    EXPECT_TRUE(released);
  });
  while (!was_asked) std::this_thread::yield();
  released = true;
  held.reset();
  other.join();
}

TEST(FileLock, AHolderWithoutProgressIsAnErrorAfterAWhile) {
  const test::TempFolder folder;
  const auto path = folder.path() / "x.lock";
  const FileLock held = FileLock::take(path, 1s, [] { return false; }).value();
  const auto second = FileLock::take(path, 0ms, [] { return false; });
  EXPECT_THAT(second.error().message, testing::AllOf(HasSubstr("x.lock"), HasSubstr("another process")));
}

TEST(FileLock, IsNotWaitedForOnceAStopIsAskedFor) {
  const test::TempFolder folder;
  const auto path = folder.path() / "x.lock";
  const FileLock held = FileLock::take(path, 1s, [] { return false; }).value();
  std::stop_source stop;
  int num_asked = 0;
  const auto asks_for_a_stop = [&] {
    ++num_asked;
    stop.request_stop();
    return true;
  };
  EXPECT_EQ(FileLock::take(path, 1h, asks_for_a_stop, stop.get_token()).error().message, "fetching was stopped");
  EXPECT_EQ(num_asked, 1);
}

TEST(FileLock, AFileThatItsHolderRemovedIsNoLock) {
  const test::TempFolder folder;
  const auto path = folder.path() / "x.lock";
  std::optional<FileLock> held = FileLock::take(path, 1s, [] { return false; }).value();
  bool was_removed = false;
  const auto second = FileLock::take(path, 1h, [&] {
    std::filesystem::remove(path);  // while the second waits with the file open
    held.reset();
    was_removed = true;
    return true;
  });
  ASSERT_TRUE(second);
  EXPECT_TRUE(was_removed);
  EXPECT_THAT(FileLock::take(path, 0ms, [] { return false; }).error().message, HasSubstr("another process"));
}

TEST(FileLock, AFolderThatIsNotThereIsAnError) {
  EXPECT_THAT(FileLock::take("/no/such/folder/x.lock", 1s, [] { return false; }).error().message,
              HasSubstr("cannot open"));
}

}  // namespace
}  // namespace octavo::hub
