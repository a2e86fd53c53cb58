#include "kv/kv_budget.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace octavo {
namespace {

using ::testing::ElementsAre;

// 64 bytes a token and layer: a block of 16 tokens is 1 KiB in a group of one layer.
KvShape shape_of(std::vector<int> group_layers) {
  return {.type = KvType::kF16,
          .block_size = 16,
          .num_kv_heads = 1,
          .head_dim = 16,
          .group_layers = std::move(group_layers)};
}

TEST(KvBudget, OneGroupTakesAllOfIt) {
  const std::vector<int> windows = {0};
  EXPECT_THAT(*share_budget(shape_of({1}), windows, {.bytes = 10 * 1024 + 1023}), ElementsAre(10));
  EXPECT_THAT(*share_budget(shape_of({5}), windows, {.bytes = 51 * 1024}), ElementsAre(10));
  EXPECT_THAT(*share_budget(shape_of({1}), windows, {.bytes = 1 << 30, .max_tokens = 161}), ElementsAre(11));
}

TEST(KvBudget, TooSmallABudgetIsRefusedWithTheNumbers) {
  const std::vector<int> windows = {512, 0};
  const Result<std::vector<int>> result = share_budget(shape_of({3, 1}), windows, {.bytes = 4095});
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().message,
            "a KV memory of 4095 bytes holds no block: one of 16 tokens in every layer takes 4096 bytes");
  EXPECT_THAT(*share_budget(shape_of({3, 1}), windows, {.bytes = 4096}), ElementsAre(1, 1));
}

TEST(KvBudget, ASequenceOfFourWindowsUsesAllPoolsEvenly) {
  const std::vector<int> windows = {512, 0};
  // Such a sequence takes 66 blocks of the windowed group (a window, a step, two more) and 128 of the other.
  const std::vector<int> blocks = *share_budget(shape_of({3, 1}), windows, {.bytes = 100 * (3 * 66 + 128) * 1024});
  EXPECT_THAT(blocks, ElementsAre(6600, 12'800));
}

TEST(KvBudget, ALongestSequenceFitsIfAnySharingLetsIt) {
  const std::vector<int> windows = {512, 0};
  // 32768 tokens: 66 and 2048 blocks. Evenly shared, the second pool would get fewer.
  const std::uint64_t bytes = (3 * 66 + 2048) * 1024;
  EXPECT_THAT(*share_budget(shape_of({3, 1}), windows, {.bytes = bytes, .longest_sequence = 32'768}),
              ElementsAre(66, 2048));
  // One byte less, and no sharing lets it.
  const std::vector<int> less =
      *share_budget(shape_of({3, 1}), windows, {.bytes = bytes - 1, .longest_sequence = 32'768});
  EXPECT_GT(less[0], 66);
  EXPECT_LT(less[1], 2048);
}

TEST(KvBudget, AWindowedPoolGetsTwiceWhatTheSequencesNeedAtMost) {
  const std::vector<int> windows = {512, 0};
  // A sequence of 32768 tokens takes 66 and 2048 blocks.
  KvBudget budget{
      .bytes = std::uint64_t{1} << 40, .max_tokens = 32'784, .longest_sequence = 32'768, .max_sequences = 1};
  EXPECT_THAT(*share_budget(shape_of({3, 1}), windows, budget), ElementsAre(2 * 66, 2049));
  budget.max_sequences = 0;
  EXPECT_THAT(*share_budget(shape_of({3, 1}), windows, budget), ElementsAre(2049, 2049));
  budget = {.bytes = std::uint64_t{1} << 40, .max_tokens = 100, .longest_sequence = 50, .max_sequences = 2};
  EXPECT_THAT(*share_budget(shape_of({3, 1}), windows, budget), ElementsAre(7, 7));
}

TEST(KvBudget, WhatAPoolAtItsLimitDoesNotTakeGoesToTheOthers) {
  const std::vector<int> windows = {64, 0};
  // Even weights would be 16 (4 windows are 16 blocks in both groups); the first comes to its limit with the second.
  EXPECT_THAT(*share_budget(shape_of({1, 1}), windows, {.bytes = 1 << 30, .max_tokens = 1600}), ElementsAre(100, 100));
}

RC_GTEST_PROP(KvBudget, NeverExceedsTheBudgetAndWastesLessThanABlockOfEveryGroup, ()) {
  const auto layers = *rc::gen::container<std::vector<int>>(*rc::gen::inRange(1, 4), rc::gen::inRange(1, 20));
  std::vector<int> windows = *rc::gen::container<std::vector<int>>(layers.size(), rc::gen::inRange(1, 5000));
  if (*rc::gen::arbitrary<bool>()) windows.back() = 0;
  const KvShape shape = shape_of(layers);
  const KvBudget budget{.bytes = *rc::gen::inRange<std::uint64_t>(shape.block_bytes(), std::uint64_t{1} << 34),
                        .max_tokens = *rc::gen::element(0, 1000, 1'000'000),
                        .longest_sequence = *rc::gen::inRange(0, 200'000)};
  const Result<std::vector<int>> blocks = share_budget(shape, windows, budget);
  RC_ASSERT(blocks.has_value());
  std::uint64_t used = 0;
  bool all_at_limit = budget.max_tokens != 0;
  for (std::size_t g = 0; g < layers.size(); ++g) {
    RC_ASSERT((*blocks)[g] >= 1);
    if (budget.max_tokens != 0) RC_ASSERT((*blocks)[g] <= (budget.max_tokens + 15) / 16);
    all_at_limit = all_at_limit && (*blocks)[g] == (budget.max_tokens + 15) / 16;
    used += static_cast<std::uint64_t>((*blocks)[g]) * shape.group_block_bytes(static_cast<int>(g));
  }
  RC_ASSERT(used <= budget.bytes);
  RC_ASSERT(all_at_limit || budget.max_tokens != 0 || budget.bytes - used < 2 * shape.block_bytes());
}

}  // namespace
}  // namespace octavo
