#include "engine/schedule/sequence_queues.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace octavo {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

struct Queues {
  Queues() {
    for (Sequence* sequence : {&first, &second, &third}) {
      sequence->tokens = {1, 2, 3};
      sequence->notes.rank.virtual_arrival = static_cast<std::int64_t>(sequence->params.id);
    }
  }
  void add(Sequence& sequence) {
    queues.reserve_for(sequence);
    queues.add(sequence);
  }
  bool intact() const { return queues.check_integrity().has_value(); }

  Sequence first{.params = {.id = 1}}, second{.params = {.id = 2}, .num_forks = 1}, third{.params = {.id = 3}};
  SequenceQueues queues{4};
};

TEST(SequenceQueues, AreInOrderOfRankHoweverTheyCame) {
  Queues q;
  for (Sequence* sequence : {&q.third, &q.first, &q.second}) q.add(*sequence);
  EXPECT_THAT(q.queues.waiting(), ElementsAre(&q.first, &q.second, &q.third));
  q.first.notes.rank.virtual_arrival = 10;
  EXPECT_FALSE(q.intact());
  q.queues.sort();
  EXPECT_THAT(q.queues.waiting(), ElementsAre(&q.second, &q.third, &q.first));
  EXPECT_TRUE(q.intact());
}

TEST(SequenceQueues, ARunningSequenceCountsForEachOfItsChoices) {
  Queues q;
  for (Sequence* sequence : {&q.first, &q.second}) q.add(*sequence);
  EXPECT_EQ(q.queues.num_free(), 4);
  q.queues.start_first(false);
  q.queues.start_first(false);
  EXPECT_EQ(q.queues.num_free(), 1);
  EXPECT_EQ(q.queues.choices_admitted(), 3);
  q.queues.suspend(q.second);
  EXPECT_EQ(q.queues.num_free(), 3);
  EXPECT_EQ(q.queues.choices_admitted(), 3) << "it was admitted once";
  EXPECT_TRUE(q.intact());
  q.queues.remove(q.second);
  EXPECT_EQ(q.queues.choices_admitted(), 1);
  EXPECT_EQ(q.queues.choices_of_all(), 1);
  EXPECT_TRUE(q.intact());
}

TEST(SequenceQueues, ChildRunsInAPlaceOfItsParent) {
  Queues q;
  q.add(q.second);
  q.queues.start_first(false);
  Sequence child{.params = {.id = 2, .choice = 1}};
  child.notes.rank = {.virtual_arrival = 2, .id = 2, .choice = 1};
  q.second.num_forks = 0;
  q.queues.add_child(child);
  EXPECT_TRUE(q.intact());
  EXPECT_EQ(q.queues.num_free(), 2);
  Sequence heir{.params = {.id = 2}};
  q.queues.replace(q.second, heir);
  EXPECT_FALSE(q.second.is_running());
  EXPECT_EQ(q.queues.running().size(), 2U);
  EXPECT_TRUE(q.intact());
}

TEST(SequenceQueues, WaitingSequencesThatHoldBlocksAreCounted) {
  Queues q;
  q.add(q.first);
  q.queues.start_first(false);
  q.first.num_computed = 3;
  q.queues.suspend(q.first);
  EXPECT_TRUE(q.queues.anybody_holds());
  q.queues.keep_computed(q.first, 2);
  EXPECT_TRUE(q.queues.anybody_holds());
  q.queues.keep_computed(q.first, 0);
  EXPECT_FALSE(q.queues.anybody_holds());
  EXPECT_TRUE(q.intact());
  q.queues.remove(q.first);
  EXPECT_THAT(q.queues.waiting(), IsEmpty());
}

}  // namespace
}  // namespace octavo
