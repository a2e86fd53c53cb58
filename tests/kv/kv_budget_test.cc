#include "kv/kv_budget.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace octavo {
namespace {

using ::testing::ElementsAre;

// 64 bytes a token and layer: a block of 16 tokens is 1 KiB in a group of one layer.
StateLayout layout_of(const std::vector<int>& group_layers, const std::vector<int>& windows,
                      const std::vector<int>& head_dims = {16, 16}) {
  std::vector<std::optional<KvLayerShape>> layers;
  for (std::size_t g = 0; g < group_layers.size(); ++g)
    layers.insert(layers.end(), static_cast<std::size_t>(group_layers[g]),
                  KvLayerShape{.num_kv_heads = 1, .k_dim = head_dims[g], .v_dim = head_dims[g], .window = windows[g]});
  return StateLayout::create(KvType::kF16, KvLayout::kPaged, 16, layers).value();
}

TEST(KvBudget, OneGroupTakesAllOfIt) {
  const std::vector<int> windows = {0};
  EXPECT_THAT(*divide_budget(layout_of({1}, windows), {.bytes = 10 * 1024 + 1023}), ElementsAre(10));
  EXPECT_THAT(*divide_budget(layout_of({5}, windows), {.bytes = 51 * 1024}), ElementsAre(10));
  EXPECT_THAT(*divide_budget(layout_of({1}, windows), {.bytes = 1 << 30, .max_tokens = 161}), ElementsAre(11));
}

TEST(KvBudget, TooSmallABudgetIsRefusedWithTheNumbers) {
  const std::vector<int> windows = {512, 0};
  const Result<std::vector<int>> result = divide_budget(layout_of({3, 1}, windows), {.bytes = 4095});
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().message,
            "a KV memory of 4095 bytes holds no block: one of 16 tokens in every layer takes 4096 bytes");
  EXPECT_THAT(*divide_budget(layout_of({3, 1}, windows), {.bytes = 4096}), ElementsAre(1, 1));
}

TEST(KvBudget, ASequenceOfFourWindowsUsesAllPoolsEvenly) {
  const std::vector<int> windows = {512, 0};
  // Such a sequence takes 66 blocks of the windowed group (a window, a step, two more) and 128 of the other.
  const std::vector<int> blocks = *divide_budget(layout_of({3, 1}, windows), {.bytes = 100 * (3 * 66 + 128) * 1024});
  EXPECT_THAT(blocks, ElementsAre(6600, 12'800));
}

TEST(KvBudget, ALongestSequenceFitsIfAnySharingLetsIt) {
  const std::vector<int> windows = {512, 0};
  // 32768 tokens: 66 and 2048 blocks. Evenly shared, the second pool would get fewer.
  const std::uint64_t bytes = (3 * 66 + 2048) * 1024;
  EXPECT_THAT(*divide_budget(layout_of({3, 1}, windows), {.bytes = bytes, .longest_sequence = 32'768}),
              ElementsAre(66, 2048));
  // One byte less, and no sharing lets it.
  const std::vector<int> less =
      *divide_budget(layout_of({3, 1}, windows), {.bytes = bytes - 1, .longest_sequence = 32'768});
  EXPECT_GT(less[0], 66);
  EXPECT_LT(less[1], 2048);
}

TEST(KvBudget, AWindowedPoolGetsTwiceWhatTheSequencesNeedAtMost) {
  const std::vector<int> windows = {512, 0};
  // A sequence of 32768 tokens takes 66 and 2048 blocks.
  KvBudget budget{
      .bytes = std::uint64_t{1} << 40, .max_tokens = 32'784, .longest_sequence = 32'768, .max_sequences = 1};
  EXPECT_THAT(*divide_budget(layout_of({3, 1}, windows), budget), ElementsAre(2 * 66, 2049));
  budget.max_sequences = 0;
  EXPECT_THAT(*divide_budget(layout_of({3, 1}, windows), budget), ElementsAre(2049, 2049));
  budget = {.bytes = std::uint64_t{1} << 40, .max_tokens = 100, .longest_sequence = 50, .max_sequences = 2};
  EXPECT_THAT(*divide_budget(layout_of({3, 1}, windows), budget), ElementsAre(7, 7));
}

TEST(KvBudget, WhatAPoolAtItsLimitDoesNotTakeGoesToTheOthers) {
  const std::vector<int> windows = {64, 0};
  // Even weights would be 16 (4 windows are 16 blocks in both groups); the first comes to its limit with the second.
  EXPECT_THAT(*divide_budget(layout_of({1, 1}, windows), {.bytes = 1 << 30, .max_tokens = 1600}),
              ElementsAre(100, 100));
}

TEST(KvBudget, ABlockTakesTheBytesOfItsGroupsHeads) {
  // Gemma 4's shapes: heads of 512 dimensions in layers that see all, of 256 in those with a window. A block takes 32
  // and 16 KiB.
  const StateLayout layout = layout_of({1, 1}, {0, 512}, {512, 256});
  EXPECT_EQ(layout.block_bytes(0), 32U * 1024);
  EXPECT_EQ(layout.block_bytes(1), 16U * 1024);
  // A sequence of four windows takes 128 and 66 blocks.
  const std::uint64_t one = 128 * 32 * 1024 + 66 * 16 * 1024;
  EXPECT_THAT(*divide_budget(layout, {.bytes = 10 * one}), ElementsAre(1280, 660));
  // One of 32768 tokens takes 2048 and 66.
  const std::uint64_t longest = 2048 * 32 * 1024 + 66 * 16 * 1024;
  EXPECT_THAT(*divide_budget(layout, {.bytes = longest, .longest_sequence = 32'768}), ElementsAre(2048, 66));
  EXPECT_LT(divide_budget(layout, {.bytes = longest - 1, .longest_sequence = 32'768})->at(0), 2048);
}

TEST(KvBudget, TheContiguousLayoutHoldsTheWidestLayerTwice) {
  const auto tokens = [](const std::vector<int>& head_dims, std::uint64_t bytes) {
    StateLayout layout = layout_of({1, 1}, {0, 0}, head_dims);
    layout.layout = KvLayout::kContiguous;
    return make_room(std::move(layout), {.bytes = bytes})->layout.block_size;
  };
  EXPECT_EQ(tokens({16, 32}, 1000 * (64 + 128 + 128)), 1000);
  EXPECT_EQ(tokens({16, 32}, 1000 * (64 + 128 + 128) - 1), 999);
  EXPECT_EQ(tokens({16, 16}, 1000 * (64 + 64 + 64)), 1000);
}

RC_GTEST_PROP(KvBudget, NeverExceedsTheBudgetAndWastesLessThanABlockOfEveryGroup, ()) {
  const auto layers = *rc::gen::container<std::vector<int>>(*rc::gen::inRange(1, 4), rc::gen::inRange(1, 20));
  std::vector<int> windows = *rc::gen::container<std::vector<int>>(layers.size(), rc::gen::inRange(1, 5000));
  if (*rc::gen::arbitrary<bool>()) windows.back() = 0;
  std::vector<int> head_dims;  // that differ, so that equal windows make groups of their own
  for (std::size_t g = 0; g < layers.size(); ++g) head_dims.push_back(static_cast<int>(16 + g));
  const StateLayout layout = layout_of(layers, windows, head_dims);
  const KvBudget budget{.bytes = *rc::gen::inRange<std::uint64_t>(layout.block_bytes(), std::uint64_t{1} << 34),
                        .max_tokens = *rc::gen::element(0, 1000, 1'000'000),
                        .longest_sequence = *rc::gen::inRange(0, 200'000)};
  const Result<std::vector<int>> blocks = divide_budget(layout, budget);
  RC_ASSERT(blocks.has_value());
  std::uint64_t used = 0;
  bool all_at_limit = budget.max_tokens != 0;
  for (std::size_t g = 0; g < layers.size(); ++g) {
    RC_ASSERT((*blocks)[g] >= 1);
    if (budget.max_tokens != 0) RC_ASSERT((*blocks)[g] <= (budget.max_tokens + 15) / 16);
    all_at_limit = all_at_limit && (*blocks)[g] == (budget.max_tokens + 15) / 16;
    used += static_cast<std::uint64_t>((*blocks)[g]) * layout.block_bytes(static_cast<int>(g));
  }
  RC_ASSERT(used <= budget.bytes);
  RC_ASSERT(all_at_limit || budget.max_tokens != 0 || budget.bytes - used < 2 * layout.block_bytes());
}

}  // namespace
}  // namespace octavo
