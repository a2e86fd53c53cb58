#include "engine/drive/batch_builder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <memory>

#include "support/state_room.h"

namespace octavo {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

Sequence make_sequence(std::vector<TokenId> tokens, int num_computed, KvCacheManager& kv) {
  Sequence sequence;
  sequence.params.prompt_tokens = static_cast<int>(tokens.size());
  sequence.pending.prompt_logits_from = sequence.params.prompt_tokens;
  sequence.notes.num_admitted_tokens = sequence.params.prompt_tokens;
  sequence.tokens = std::move(tokens);
  sequence.num_computed = num_computed;
  sequence.kv = kv.create_sequence();
  std::vector<BlockCopy> copies;
  EXPECT_TRUE(kv.reserve(sequence.kv, 0, sequence.num_tokens(), copies));
  kv.commit(sequence.kv, num_computed);
  return sequence;
}

TEST(BatchBuilder, LaysOutADecodeAndAChunkInOneBatch) {
  const auto kv = test::tiny_manager({0, 16}, 4, 16, true);
  Sequence decode = make_sequence({10, 11, 12, 13, 14}, 4, *kv);
  Sequence chunk = make_sequence({20, 21, 22, 23, 24, 25, 26, 27, 28}, 2, *kv);
  StepPlan plan({}, *kv);
  plan.sequences = {{&decode, 1}, {&chunk, 3}};
  build_batch(plan, *kv);
  const Batch& batch = plan.batch;
  EXPECT_THAT(batch.tokens, ElementsAre(14, 22, 23, 24));
  EXPECT_THAT(batch.positions, ElementsAre(4, 2, 3, 4));
  EXPECT_THAT(batch.rope_positions, ElementsAre(4, 2, 3, 4));
  EXPECT_THAT(batch.given, IsEmpty());
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
  const auto kv = test::tiny_manager({0}, 4, 16, true);
  Sequence prompt = make_sequence({1, 2, 3, 4, 5}, 2, *kv);
  StepPlan plan({}, *kv);
  plan.sequences = {{&prompt, 3}};
  build_batch(plan, *kv);
  EXPECT_THAT(plan.batch.logit_rows, ElementsAre(2));
  ASSERT_EQ(plan.logit_rows.size(), 1U);
  EXPECT_EQ(plan.logit_rows[0].position, 4);
  EXPECT_TRUE(plan.logit_rows[0].draws);
}

TEST(BatchBuilder, DrawsFromEveryRowBehindTheTokensThatASequenceHadAtFirst) {
  const auto kv = test::tiny_manager({0}, 4, 16, true);
  Sequence sequence = make_sequence({1, 2, 3, 4, 5, 6}, 3, *kv);
  sequence.notes.num_admitted_tokens = 3;
  StepPlan plan({}, *kv);
  plan.sequences = {{&sequence, 3}};
  build_batch(plan, *kv);
  EXPECT_THAT(plan.batch.logit_rows, ElementsAre(0, 1, 2));
  for (const LogitRow& row : plan.logit_rows) EXPECT_TRUE(row.draws) << row.position;
}

TEST(BatchBuilder, AsksForPromptLogitsFromWhereTheyAreWanted) {
  const auto kv = test::tiny_manager({0}, 4, 16, true);
  Sequence prompt = make_sequence({1, 2, 3, 4, 5}, 0, *kv);
  prompt.pending.prompt_logits_from = 2;  // the first two were handed out before a preemption
  prompt.params.samples = false;
  StepPlan plan({}, *kv);
  plan.sequences = {{&prompt, 5}};
  build_batch(plan, *kv);
  EXPECT_THAT(plan.batch.logit_rows, ElementsAre(2, 3, 4));
}

TEST(BatchBuilder, CopiesTablesWithTheBlocksThatAWindowGaveBackAndTheStepsCopies) {
  const auto kv = test::tiny_manager({6}, 4, 16, true);
  Sequence sequence = make_sequence({1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14}, 13, *kv);
  StepPlan plan({}, *kv);
  plan.sequences = {{&sequence, 1}};
  plan.copies = {{.group = 0, .from = 3, .to = 9}};
  build_batch(plan, *kv);
  EXPECT_THAT(plan.batch.groups[0].block_ids, ElementsAre(kNoBlock, kNoBlock, 2, 3));  // sees 8 to 13
  ASSERT_EQ(plan.batch.copies.size(), 1U);
  EXPECT_EQ(plan.batch.copies[0].to, 9);
  plan.copies.clear();
  build_batch(plan, *kv);
  EXPECT_THAT(plan.batch.copies, IsEmpty());
}

TEST(BatchBuilder, RowsThatWereGivenNameTheirVectorsInEveryChunk) {
  const auto kv = test::tiny_manager({0}, 4, 16, true);
  Sequence text = make_sequence({1, 2}, 1, *kv), pictures = make_sequence(std::vector<TokenId>(9, 5), 2, *kv);
  const std::vector<float> vectors(8);
  const auto picture = [](const float* of_it) {
    return std::make_shared<PictureRows>(
        PictureRows{.grid_rows = 3, .grid_columns = 2, .row_floats = 1, .vectors = of_it});
  };
  pictures.given = {.rows = {{.first = 1, .count = 3}, {.first = 6, .count = 2, .index = 4}},
                    .pictures = {picture(vectors.data()), picture(vectors.data() + 1)}};
  StepPlan plan({}, *kv);
  const auto build = [&](int num_tokens) {
    plan.sequences = {{&text, 1}, {&pictures, num_tokens}};
    build_batch(plan, *kv);
    std::vector<std::array<std::int32_t, 3>> given;
    for (const GivenVectors& g : plan.batch.given) {
      EXPECT_EQ(g.vectors, vectors.data() + (g.index >= 4 ? 1 : 0));
      given.push_back({g.first_row, g.num_rows, g.index});
    }
    pictures.num_computed += num_tokens;
    return given;
  };
  using Given = std::array<std::int32_t, 3>;
  EXPECT_THAT(build(5), ElementsAre(Given{1, 2, 1}, Given{5, 1, 4}));
  EXPECT_THAT(build(1), ElementsAre(Given{1, 1, 5}));
  EXPECT_THAT(build(1), IsEmpty());
}

TEST(BatchBuilder, BuildsTheNextStepFromScratch) {
  const auto kv = test::tiny_manager({0}, 4, 16, true);
  Sequence first = make_sequence({1, 2, 3}, 0, *kv);
  Sequence second = make_sequence({7, 8}, 0, *kv);
  StepPlan plan({}, *kv);
  plan.sequences = {{&first, 3}, {&second, 2}};
  build_batch(plan, *kv);
  plan.sequences = {{&second, 2}};
  build_batch(plan, *kv);
  EXPECT_THAT(plan.batch.tokens, ElementsAre(7, 8));
  EXPECT_THAT(plan.batch.seq_begin, ElementsAre(0, 2));
  EXPECT_THAT(plan.batch.groups[0].block_ids, ElementsAre(1));
  EXPECT_EQ(plan.logit_rows.size(), 1U);
}

}  // namespace
}  // namespace octavo
