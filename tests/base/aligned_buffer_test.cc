#include "base/aligned_buffer.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <new>

namespace octavo {
namespace {

TEST(AlignedBuffer, BeginsAtACacheLine) {
  for (const std::size_t count : {1, 3, 64, 1000}) {
    const AlignedBuffer<float> buffer(count);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(buffer.data()) % kCacheLineBytes, 0U);
    EXPECT_EQ(buffer.size(), count);
    EXPECT_EQ(buffer.size_bytes(), count * sizeof(float));
  }
}

TEST(AlignedBuffer, ZeroedIsZeroAndEmptyIsNull) {
  const auto buffer = AlignedBuffer<std::int64_t>::zeroed(100);
  for (const std::int64_t value : buffer.span()) EXPECT_EQ(value, 0);
  EXPECT_EQ(AlignedBuffer<int>(0).data(), nullptr);
}

TEST(AlignedBuffer, MemoryForHugePagesBeginsAtOneAndIsAsLongAsAskedFor) {
  for (const std::size_t count : {std::size_t{1}, 3 * kHugePageBytes + 5}) {
    auto buffer = AlignedBuffer<std::uint8_t>::with_huge_pages(count);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(buffer.data()) % kHugePageBytes, 0U);
    EXPECT_EQ(buffer.size(), count);
    buffer[0] = 1;
    buffer[count - 1] = 2;
    EXPECT_EQ(buffer[count - 1], 2);
  }
  EXPECT_EQ(AlignedBuffer<int>::with_huge_pages(0).data(), nullptr);
}

TEST(AlignedBuffer, ASizeThatOverflowsThrows) {
  EXPECT_THROW(AlignedBuffer<std::int64_t>(SIZE_MAX / 4), std::bad_alloc);
  EXPECT_THROW(AlignedBuffer<std::int64_t>::with_huge_pages(SIZE_MAX / 8), std::bad_alloc);
}

}  // namespace
}  // namespace octavo
