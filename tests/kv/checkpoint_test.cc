// Checkpoints in the manager: where a prefix ends, what is kept and given up, and where a sequence can be cut.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>

#include "kv/kv_cache_manager.h"
#include "support/state_room.h"

namespace octavo {
namespace {

using test::kRecurrent;
using test::tiny_manager;

constexpr int kMaxSequences = 1;  // the pool behind the one group

class CheckpointCase : public ::testing::Test {
 protected:
  explicit CheckpointCase(int num_snapshots = 4) : kv(tiny_manager({kRecurrent, 0}, 4, 32, true, num_snapshots)) {}

  /// A sequence that computes tokens 0 .. end - 1 of the text, a chunk up to each of `places`, and keeps its state
  /// there.
  SequenceId compute(std::initializer_list<int> places, int end) {
    const SequenceId id = kv->create_sequence();
    int at = 0;
    for (const int place : places) {
      advance(id, at, place);
      kv->keep_checkpoint(id);
      at = place;
    }
    if (end > at) advance(id, at, end);
    return id;
  }
  void advance(SequenceId id, int first, int end) {
    ASSERT_TRUE(kv->reserve(id, first, end, copies));
    kv->commit(id, end);
    ASSERT_TRUE(kv->publish(id, std::span(text).first(static_cast<std::size_t>(end)), ""));
    ASSERT_TRUE(kv->check_integrity());
  }
  int attach(SequenceId id) { return kv->attach_prefix(id, text, "").value(); }
  std::optional<BlockId> state_slot(SequenceId id) const { return kv->table(id, kMaxSequences).get(0); }
  int checkpoints() const { return kv->stats().checkpoints; }

  std::unique_ptr<KvCacheManager> kv;
  std::vector<TokenId> text = [] {
    std::vector<TokenId> tokens(64);
    std::iota(tokens.begin(), tokens.end(), 0);
    return tokens;
  }();
  std::vector<BlockCopy> copies;
};

class CheckpointCaseOfOne : public CheckpointCase {
 protected:
  CheckpointCaseOfOne() : CheckpointCase(1) {}
};

TEST_F(CheckpointCase, APrefixEndsAtTheLastCheckpoint) {
  compute({8, 16}, 22);
  const SequenceId id = kv->create_sequence();
  EXPECT_EQ(attach(id), 16) << "the block behind it is published, and of no use without a state";
  EXPECT_EQ(kv->table(id, 0).num_blocks(), 4);
  EXPECT_EQ(kv->sequence_length(id), 16);
  EXPECT_TRUE(state_slot(id));
  EXPECT_TRUE(kv->check_integrity());
}

TEST_F(CheckpointCase, WithoutOneNothingIsAttached) {
  compute({}, 22);
  const SequenceId id = kv->create_sequence();
  EXPECT_EQ(attach(id), 0);
  EXPECT_FALSE(state_slot(id));
  EXPECT_EQ(kv->table(id, 0).num_blocks(), 0);
}

TEST_F(CheckpointCase, AStateIsKeptWithoutACopyUntilItsHolderAdvances) {
  const SequenceId id = compute({8}, 8);
  EXPECT_EQ(checkpoints(), 1);
  EXPECT_TRUE(copies.empty());
  const std::optional<BlockId> kept = state_slot(id);
  advance(id, 8, 9);
  ASSERT_EQ(copies.size(), 1U);
  EXPECT_EQ(copies[0].group, kMaxSequences);
  EXPECT_EQ(copies[0].from, kept);
  EXPECT_EQ(copies[0].to, state_slot(id));
  EXPECT_NE(state_slot(id), kept);
  EXPECT_EQ(kv->pool(kMaxSequences).free_count(), 3) << "the checkpoint is nobody's state_slot: it counts as free";
}

TEST_F(CheckpointCase, HoldersOfACheckpointCopyItEach) {
  compute({8}, 8);
  const SequenceId first = kv->create_sequence(), second = kv->create_sequence();
  ASSERT_EQ(attach(first), 8);
  ASSERT_EQ(attach(second), 8);
  EXPECT_EQ(state_slot(first), state_slot(second));
  EXPECT_EQ(kv->blocks_needed(first, kMaxSequences, 8, 9), 1);
  advance(first, 8, 12);
  advance(second, 8, 12);
  EXPECT_EQ(copies.size(), 2U);
  EXPECT_NE(state_slot(first), state_slot(second));
  EXPECT_EQ(kv->table(second, 0).get(2), kv->table(first, 0).get(2)) << "the same tokens: publishing merges them";
  EXPECT_EQ(checkpoints(), 1);
}

TEST_F(CheckpointCaseOfOne, TheLastHolderWritesInPlaceWhereNoneIsFree) {
  const SequenceId id = compute({8}, 8);
  EXPECT_EQ(kv->blocks_needed(id, kMaxSequences, 8, 9), 0);
  const std::optional<BlockId> kept = state_slot(id);
  advance(id, 8, 9);
  EXPECT_TRUE(copies.empty());
  EXPECT_EQ(state_slot(id), kept);
  EXPECT_EQ(checkpoints(), 0);
}

TEST_F(CheckpointCase, TheOneThatWasUsedLastIsGivenUpAtLast) {
  ASSERT_TRUE(kv->drop_sequence(compute({8, 16, 24}, 24)));
  EXPECT_EQ(checkpoints(), 3);
  const SequenceId reader = kv->create_sequence();
  ASSERT_EQ(kv->attach_prefix(reader, std::span(text).first(10), "").value(), 8);
  ASSERT_TRUE(kv->drop_sequence(reader));  // of 16, 24 and 8, in that order, 8 was used last
  for (TokenId i = 0; i < 3; ++i) {
    const SequenceId other = kv->create_sequence();
    ASSERT_TRUE(kv->reserve(other, 0, 1, copies));
    EXPECT_EQ(checkpoints(), 3 - i);
  }
  const SequenceId last = kv->create_sequence();
  EXPECT_EQ(attach(last), 8);
}

TEST_F(CheckpointCase, ACheckpointIsForgottenWithItsBlock) {
  ASSERT_TRUE(kv->drop_sequence(compute({8, 16}, 16)));
  const SequenceId hungry = kv->create_sequence();
  ASSERT_TRUE(kv->reserve(hungry, 0, 4 * 32, copies));  // of all blocks
  EXPECT_EQ(checkpoints(), 0);
  EXPECT_EQ(kv->pool(kMaxSequences).stats().cached, 0);
  EXPECT_TRUE(kv->check_integrity());
}

TEST_F(CheckpointCase, GivingMemoryBackForgetsThem) {
  const SequenceId holder = compute({8}, 12);
  std::vector<BlockRun> runs;
  kv->release_memory(false, runs);
  EXPECT_EQ(checkpoints(), 1);
  kv->release_memory(true, runs);
  EXPECT_EQ(checkpoints(), 0) << "though a sequence holds the block that it stood behind";
  EXPECT_LE(runs.size(), kv->most_released_runs());
  EXPECT_TRUE(kv->check_integrity());
  EXPECT_EQ(kv->sequence_length(holder), 12);
}

TEST_F(CheckpointCase, ASequenceIsCutAtACheckpointOrToNothing) {
  const SequenceId id = compute({8, 16}, 22);
  EXPECT_EQ(kv->longest_cut(id, 21), 16);
  EXPECT_EQ(kv->longest_cut(id, 15), 8);
  EXPECT_EQ(kv->longest_cut(id, 7), 0);
  EXPECT_FALSE(kv->truncate(id, 20));
  EXPECT_FALSE(kv->truncate(id, 12));
  EXPECT_EQ(kv->sequence_length(id), 22);
  ASSERT_TRUE(kv->truncate(id, 8));
  EXPECT_EQ(kv->sequence_length(id), 8);
  EXPECT_EQ(kv->table(id, 0).num_blocks(), 2);
  copies.clear();
  advance(id, 8, 12);
  EXPECT_EQ(copies.size(), 1U) << "it goes on from the checkpoint's state";
  EXPECT_TRUE(kv->check_integrity());
}

TEST_F(CheckpointCase, StandEverySoManyTokensThatTheyTakeNoMoreThanWhatTheyStandBeside) {
  EXPECT_EQ(kv->checkpoint_interval() * kv->layout().bytes_per_token(), 64U);  // a snapshot's
  EXPECT_TRUE(kv->keeps_checkpoints());
  EXPECT_FALSE(tiny_manager({kRecurrent, 0}, 4, 32, false, 4)->keeps_checkpoints());
  EXPECT_FALSE(tiny_manager({0}, 4, 32, true)->keeps_checkpoints());
}

// The window of one token has given back the block that the checkpoint stands behind by the time it is attached.
TEST(CheckpointCaseOfWindows, AWindowNeedsNothingOfTheBlockBehindWhichTheStateStands) {
  for (const int window : {1, 4, 6}) {
    const auto kv = tiny_manager({kRecurrent, window}, 4, 32, true, 4);
    const std::vector<TokenId> text(40, 3);
    std::vector<BlockCopy> copies;
    const SequenceId id = kv->create_sequence();
    for (int end = 4; end <= 16; end += 4) {
      ASSERT_TRUE(kv->reserve(id, end - 4, end, copies));
      kv->commit(id, end);
      ASSERT_TRUE(kv->publish(id, text, ""));
    }
    kv->keep_checkpoint(id);
    const SequenceId other = kv->create_sequence();
    EXPECT_EQ(kv->attach_prefix(other, text, "").value(), window == 1 ? 0 : 16) << window;
    EXPECT_TRUE(kv->check_integrity());
    EXPECT_EQ(kv->longest_cut(other, 8), 0) << "the only checkpoint lies behind";
    ASSERT_TRUE(kv->truncate(other, 0));
    EXPECT_TRUE(kv->check_integrity());
  }
}

}  // namespace
}  // namespace octavo
