#include "tokenizer/words/merge_queue.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <set>
#include <utility>
#include <vector>

namespace octavo {
namespace {

TEST(MergeQueue, GivesTheBestRankAndOfOneRankTheFirstPosition) {
  MergeQueue queue;
  for (const auto& [rank, position] : {std::pair{7U, 2}, {3U, 9}, {7U, 1}, {3U, 4}}) queue.push({rank, position});
  for (const auto& [rank, position] : {std::pair{3U, 4}, {3U, 9}, {7U, 1}, {7U, 2}}) {
    const auto entry = queue.pop();
    ASSERT_TRUE(entry);
    EXPECT_EQ(entry->rank, rank);
    EXPECT_EQ(entry->position, position);
  }
  EXPECT_FALSE(queue.pop());
}

TEST(MergeQueue, SeemsEmptySoonAfterItsWorkWasStopped) {
  std::stop_source stop;
  const RequestWork work(stop.get_token());
  MergeQueue queue;
  queue.watch(&work);
  constexpr int kMany = 20'000;
  for (int i = 0; i < kMany; ++i) queue.push({.rank = 1, .position = i});
  ASSERT_TRUE(queue.pop());
  stop.request_stop();
  int num_popped = 0;
  while (queue.pop()) ++num_popped;
  EXPECT_LT(num_popped, 5000);
}

// Calls in any order, with clears between, against a sorted set. Few ranks, so that lists are taken and filled again;
// or many, so that the table grows.
RC_GTEST_PROP(MergeQueueProperty, IsASetInOrder, (const std::vector<std::pair<std::uint16_t, std::uint16_t>>& calls)) {
  MergeQueue queue;
  for (const std::uint32_t ranks : {3U, 60000U}) {
    std::multiset<std::pair<std::uint32_t, std::int32_t>> expected;
    queue.clear();
    const auto pop = [&] {
      const auto entry = queue.pop();
      RC_ASSERT(entry.has_value() == !expected.empty());
      if (!entry) return;
      RC_ASSERT(std::pair(entry->rank, entry->position) == *expected.begin());
      expected.erase(expected.begin());
    };
    for (const auto& [rank, position] : calls) {
      queue.push({rank % ranks, position});
      expected.emplace(rank % ranks, position);
      if (position % 3 == 0) pop();
      if (position % 5 == 0) pop();
    }
    while (!expected.empty()) pop();
    RC_ASSERT(!queue.pop().has_value());
  }
}

}  // namespace
}  // namespace octavo
