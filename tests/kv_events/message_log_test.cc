// The batches that can be had again.
#include "kv_events/message_log.h"

#include <gtest/gtest.h>

namespace octavo {
namespace {

SharedText text(std::string value) { return std::make_shared<const std::string>(std::move(value)); }

TEST(MessageLog, NumbersBatchesFromZeroAndKeepsTheLast) {
  MessageLog log(3);
  EXPECT_EQ(log.next_number(), 0U);
  EXPECT_EQ(log.first_number(), 0U);
  for (int i = 0; i < 5; ++i) log.add(text(std::to_string(i)));
  EXPECT_EQ(log.next_number(), 5U);
  EXPECT_EQ(log.first_number(), 2U);
  EXPECT_EQ(*log.batch(2), "2");
  EXPECT_EQ(*log.batch(4), "4");
}

TEST(MessageLog, KeepsNoMoreBytesThanItMay) {
  MessageLog log(100);
  const SharedText large = text(std::string(MessageLog::kMaxBytes / 2 + 1, 'x'));
  log.add(large);
  log.add(large);
  EXPECT_EQ(log.first_number(), 1U);
  log.add(text(std::string(2 * MessageLog::kMaxBytes, 'x')));
  EXPECT_EQ(log.first_number(), 2U);
  EXPECT_EQ(log.next_number(), 3U);
}

TEST(NumberFrame, HasTheHighestByteFirst) {
  EXPECT_EQ(number_frame(0x0102), std::string("\0\0\0\0\0\0\1\2", 8));
  EXPECT_EQ(number_of_frame(number_frame(UINT64_MAX)), UINT64_MAX);
  EXPECT_EQ(number_of_frame(number_frame(12345)), 12345U);
  EXPECT_EQ(number_frame(kEndOfReplay), std::string(8, '\xFF'));
}

TEST(NumberFrame, OfAnotherLengthIsNone) {
  for (const std::size_t size : {0U, 7U, 9U, 1000U}) EXPECT_FALSE(number_of_frame(std::string(size, 'x'))) << size;
}

}  // namespace
}  // namespace octavo
