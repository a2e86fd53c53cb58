#include "engine/batch_builder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace octavo {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

Sequence make_sequence(std::vector<TokenId> tokens, int num_computed, std::vector<BlockPool>& pools, int block_size) {
  Sequence sequence;
  sequence.prompt_tokens = static_cast<int>(tokens.size());
  sequence.prompt_logits_from = sequence.prompt_tokens;
  sequence.tokens = std::move(tokens);
  sequence.num_computed = num_computed;
  for (BlockPool& pool : pools) {
    EXPECT_TRUE(sequence.tables.emplace_back(pool, block_size).ensure_capacity(sequence.num_tokens()));
  }
  return sequence;
}

TEST(BatchBuilder, LaysOutADecodeAndAChunkInOneBatch) {
  std::vector<BlockPool> pools(2, BlockPool(16));
  Sequence decode = make_sequence({10, 11, 12, 13, 14}, 4, pools, 4);
  Sequence chunk = make_sequence({20, 21, 22, 23, 24, 25, 26, 27, 28}, 2, pools, 4);
  BatchBuilder builder(2, 4, {});
  const ScheduledSequence plan[] = {{&decode, 1}, {&chunk, 3}};
  builder.build(plan);
  const Batch& batch = builder.batch();
  EXPECT_THAT(batch.tokens, ElementsAre(14, 22, 23, 24));
  EXPECT_THAT(batch.positions, ElementsAre(4, 2, 3, 4));
  EXPECT_THAT(batch.seq_begin, ElementsAre(0, 1, 4));
  EXPECT_THAT(batch.kv_len, ElementsAre(5, 5));
  ASSERT_EQ(batch.groups.size(), 2U);
  for (const Batch::Group& group : batch.groups) {
    EXPECT_THAT(group.block_begin, ElementsAre(0, 2, 4));
    EXPECT_THAT(group.block_ids, ElementsAre(0, 1, 2, 3));  // of the chunk's three blocks the two in use
  }
  EXPECT_THAT(batch.logit_rows, ElementsAre(0));  // the chunk does not reach its prompt's end
  EXPECT_THAT(batch.copies, IsEmpty());
}

TEST(BatchBuilder, AsksForTheLogitsOfTheLastRowOnly) {
  std::vector<BlockPool> pools(1, BlockPool(16));
  Sequence prompt = make_sequence({1, 2, 3, 4, 5}, 2, pools, 4);
  BatchBuilder builder(1, 4, {});
  const ScheduledSequence plan[] = {{&prompt, 3}};
  builder.build(plan);
  EXPECT_THAT(builder.batch().logit_rows, ElementsAre(2));
  ASSERT_EQ(builder.logit_rows().size(), 1U);
  EXPECT_EQ(builder.logit_rows()[0].position, 4);
}

TEST(BatchBuilder, AsksForPromptLogitsFromWhereTheyAreWanted) {
  std::vector<BlockPool> pools(1, BlockPool(16));
  Sequence prompt = make_sequence({1, 2, 3, 4, 5}, 0, pools, 4);
  prompt.prompt_logits_from = 2;  // the first two were handed out before a preemption
  prompt.samples = false;
  BatchBuilder builder(1, 4, {});
  const ScheduledSequence plan[] = {{&prompt, 5}};
  builder.build(plan);
  EXPECT_THAT(builder.batch().logit_rows, ElementsAre(2, 3, 4));
}

TEST(BatchBuilder, BuildsTheNextStepFromScratch) {
  std::vector<BlockPool> pools(1, BlockPool(16));
  Sequence first = make_sequence({1, 2, 3}, 0, pools, 4);
  Sequence second = make_sequence({7, 8}, 0, pools, 4);
  BatchBuilder builder(1, 4, {});
  const ScheduledSequence both[] = {{&first, 3}, {&second, 2}};
  builder.build(both);
  builder.build(std::span(both).last(1));
  EXPECT_THAT(builder.batch().tokens, ElementsAre(7, 8));
  EXPECT_THAT(builder.batch().seq_begin, ElementsAre(0, 2));
  EXPECT_THAT(builder.batch().groups[0].block_ids, ElementsAre(1));
  EXPECT_EQ(builder.logit_rows().size(), 1U);
}

}  // namespace
}  // namespace octavo
