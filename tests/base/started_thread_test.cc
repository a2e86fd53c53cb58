#include "base/started_thread.h"

#include <gtest/gtest.h>

#include <new>
#include <stdexcept>

namespace octavo {
namespace {

struct Told {
  int num_errors = 0;
  Error error = {};
};

template <class Work>
Told told_of(Work work) {
  Told told;
  start_thread(std::move(work), [&told](Error error) {
    ++told.num_errors;
    told.error = std::move(error);
  }).join();
  return told;
}

TEST(StartedThread, AnExceptionIsToldAsAnErrorAndEndsNoProcess) {
  const Told told =
      told_of([](const std::stop_token&) { throw std::runtime_error("Too many levels of symbolic links"); });
  EXPECT_EQ(told.num_errors, 1);
  EXPECT_EQ(told.error.message, "Too many levels of symbolic links");
  EXPECT_EQ(told.error.kind, ErrorKind::kOther);
}

TEST(StartedThread, WantOfMemoryIsAKindOfItsOwn) {
  const Told told = told_of([](const std::stop_token&) { throw std::bad_alloc(); });
  EXPECT_EQ(told.error.message, "out of memory");
  EXPECT_EQ(told.error.kind, ErrorKind::kOutOfMemory);
}

TEST(StartedThread, AnExceptionThatIsNoneOfTheLibraryIsToldToo) {
  EXPECT_EQ(told_of([](const std::stop_token&) { throw 7; }).num_errors, 1);
}

TEST(StartedThread, WorkThatEndsWellTellsNothing) {
  EXPECT_EQ(told_of([](const std::stop_token&) {}).num_errors, 0);
}

TEST(StartedThread, AnExceptionOfWhoIsToldIsDropped) {
  start_thread([](const std::stop_token&) { throw std::bad_alloc(); }, [](const Error&) { throw std::bad_alloc(); })
      .join();
}

TEST(StartedThread, TheWorkHearsOfAStop) {
  bool has_heard = false;
  {
    const std::jthread thread = start_thread(
        [&has_heard](const std::stop_token& stop) {
          while (!stop.stop_requested()) std::this_thread::yield();
          has_heard = true;
        },
        [](const Error&) {});
  }
  EXPECT_TRUE(has_heard);
}

}  // namespace
}  // namespace octavo
