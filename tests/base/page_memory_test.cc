#include "base/page_memory.h"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <cstdlib>
#include <fstream>
#include <limits>
#include <new>
#include <utility>

#include "base/aligned_buffer.h"

namespace octavo {
namespace {

constexpr std::size_t kMiB = std::size_t{1} << 20;

TEST(PageMemory, IsTakenAsItIsWrittenAndGivenBack) {
  PageMemory memory(256 * kMiB);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(memory.data()) % kHugePageBytes, 0U);
  EXPECT_EQ(memory.resident_bytes(), 0U) << "nothing touches it when it is made";
  for (const std::size_t at : {std::size_t{0}, 100 * kMiB, 256 * kMiB - 1}) memory.data()[at] = 7;
  EXPECT_GE(memory.resident_bytes(), 3 * 4096U);
  EXPECT_LE(memory.resident_bytes(), 3 * kHugePageBytes);
  memory.release(64 * kMiB, 256 * kMiB);
  EXPECT_LE(memory.resident_bytes(), kHugePageBytes);
  EXPECT_EQ(memory.data()[0], 7);
  EXPECT_EQ(memory.data()[100 * kMiB], 0);
  memory.data()[100 * kMiB] = 8;
  EXPECT_EQ(memory.data()[100 * kMiB], 8);
}

TEST(PageMemory, PagesThatOthersShareStay) {
  PageMemory memory(8 * kMiB + 5);
  for (std::size_t i = 0; i < memory.size(); ++i) memory.data()[i] = static_cast<std::uint8_t>(1 + i % 251);
  const std::size_t begin = 3 * kMiB + 17, end = 5 * kMiB + 99;
  memory.release(begin, end);
  for (std::size_t i = 0; i < memory.size(); ++i) {
    if (i < begin || i >= end) {
      ASSERT_EQ(memory.data()[i], 1 + i % 251) << i;
    }
  }
  EXPECT_EQ(memory.data()[4 * kMiB], 0);
  memory.release(0, memory.size());
  EXPECT_EQ(memory.resident_bytes(), 0U) << "the last page, of which the data fill five bytes, goes too";
}

TEST(PageMemory, MovesAndMayBeEmpty) {
  PageMemory memory(kMiB), empty(0);
  memory.data()[5] = 9;
  PageMemory moved(std::move(memory));
  EXPECT_EQ(moved.data()[5], 9);
  empty = std::move(moved);
  EXPECT_EQ(empty.data()[5], 9);
  EXPECT_EQ(empty.size(), kMiB);
  EXPECT_EQ(PageMemory().resident_bytes(), 0U);
}

TEST(PageMemory, MoreThanAnAddressCountsIsNoMemory) {
  for (const std::size_t bytes : {std::numeric_limits<std::size_t>::max(), std::size_t{1} << 60})
    EXPECT_THROW(PageMemory{bytes}, std::bad_alloc) << bytes;
}

TEST(PageMemoryDeathTest, AnAccessBesideItEndsTheProcess) {
  PageMemory memory(2 * kMiB);
  volatile std::uint8_t* data = memory.data();
  EXPECT_DEATH(data[2 * kMiB] = 1, "");
  EXPECT_DEATH(data[-1] = 1, "");
}

// In a process of its own, whose address space is bounded.
void ask_within_a_limit() {
  std::size_t pages = 0;
  std::ifstream("/proc/self/statm") >> pages;
  const rlimit limit{.rlim_cur = pages * 4096 + 300 * kMiB, .rlim_max = RLIM_INFINITY};
  ASSERT_EQ(setrlimit(RLIMIT_AS, &limit), 0);
  ASSERT_EQ(PageMemory::allowed_bytes(100 * kMiB), 100 * kMiB);
  const std::uint64_t allowed = PageMemory::allowed_bytes(1024 * kMiB);  // 512 MiB are refused, 256 are not
  ASSERT_EQ(allowed, 128 * kMiB);
  ASSERT_THROW(PageMemory(512 * kMiB), std::bad_alloc);
  const PageMemory memory(allowed);
}

TEST(PageMemoryDeathTest, WhatLimitsForbidIsHalvedUntilTheyAllowIt) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "a sanitizer's own memory needs the address space";
#endif
  EXPECT_EXIT(
      {
        ask_within_a_limit();
        std::exit(testing::Test::HasFailure() ? 1 : 0);
      },
      testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace octavo
