#include "engine/schedule/prefix_sharing.h"

#include <gtest/gtest.h>

#include "engine/room_harness.h"

namespace octavo {
namespace {

using test::RoomHarness;

TEST(PrefixSharing, AFullBlockIsPublishedWhenItIsComplete) {
  RoomHarness room({.num_blocks = 8, .prefix_cache = true});
  Sequence& first = room.run(12, 7, 7);
  EXPECT_EQ(room.sharing.num_publications(), 1U);
  Sequence& second = room.add(12, 7);
  EXPECT_EQ(room.sharing.extend(second), 4);
  EXPECT_EQ(second.num_computed, 4);
  room.compute(first, 8);
  EXPECT_EQ(room.sharing.num_publications(), 2U);
}

TEST(PrefixSharing, APromptLooksAgainWhenSomethingWasPublished) {
  RoomHarness room({.num_blocks = 8, .prefix_cache = true});
  Sequence& first = room.run(12, 4, 7);
  Sequence& second = room.add(12, 7);
  EXPECT_EQ(room.sharing.extend(second), 4);
  room.sharing.attach_published(second);
  EXPECT_EQ(second.num_computed, 4);
  room.compute(first, 8);
  room.sharing.attach_published(second);
  EXPECT_EQ(second.num_computed, 8);
  EXPECT_EQ(second.cached_tokens, 8);
  EXPECT_EQ(room.counts.cached_tokens, 8U);
}

TEST(PrefixSharing, OneWhosePromptLogitsAreWantedComputesAllOfIt) {
  RoomHarness room({.num_blocks = 8, .prefix_cache = true});
  room.run(12, 12, 7);
  Sequence& second = room.add(12, 7);
  second.pending.prompt_logits_from = 0;
  EXPECT_EQ(room.sharing.extend(second), 0);
  room.sharing.count_lookup(second);
  EXPECT_EQ(room.counts.lookup_tokens, 0U);
  EXPECT_EQ(room.counts.prompt_tokens, 12U);
}

TEST(PrefixSharing, TokensThatItHasHadItselfDoNotCountAsCached) {
  RoomHarness room({.num_blocks = 8, .prefix_cache = true});
  Sequence& sequence = room.run(13, 12, 7);
  ASSERT_TRUE(room.kv->truncate(sequence.kv, 0));
  sequence.num_computed = 0;
  EXPECT_EQ(room.sharing.extend(sequence), 12) << "its blocks stayed cached";
  room.sharing.count_cached(sequence);
  EXPECT_EQ(sequence.cached_tokens, 0);
}

TEST(PrefixSharing, WithoutAPrefixCacheNothingIsFound) {
  RoomHarness room({.num_blocks = 8});
  room.run(12, 12, 7);
  Sequence& second = room.add(12, 7);
  EXPECT_EQ(room.sharing.extend(second), 0);
  EXPECT_EQ(room.sharing.num_publications(), 0U);
}

}  // namespace
}  // namespace octavo
