// Masks between two draws: found within the step where they are kept or quick, else outside of it.
#include "engine/answers/mask_finder.h"

#include <gtest/gtest.h>

#include "engine/drawn_choice.h"

namespace octavo {
namespace {

using namespace std::chrono_literals;
using Drawn = test::DrawnChoice;

TEST(MaskFinder, FindsAMaskWithinTheStep) {
  Drawn drawn(MaskFinder::kMostMs * 1000);
  drawn.finder.want(drawn.request, drawn.choice);
  drawn.finder.find();
  EXPECT_EQ(drawn.choice.mask.state, NextMask::State::kReady);
  EXPECT_EQ(drawn.choice.mask.bits, drawn.truth());
  EXPECT_GT(drawn.choice.mask.work, 0U);
  EXPECT_FALSE(drawn.finder.has_jobs());
}

TEST(MaskFinder, FindsItOutsideWhereTheStepHasNoTimeAndTheChoiceWaits) {
  Drawn drawn(0), quick(MaskFinder::kMostMs * 1000);
  drawn.finder.want(drawn.request, drawn.choice);
  drawn.finder.find();
  EXPECT_EQ(drawn.choice.mask.state, NextMask::State::kOutside);
  EXPECT_TRUE(drawn.choice.sequence.waits_for_mask);
  while (drawn.choice.mask.state == NextMask::State::kOutside) {
    drawn.finder.wait(1000ms);
    drawn.finder.collect();
  }
  EXPECT_EQ(drawn.choice.mask.state, NextMask::State::kReady);
  EXPECT_FALSE(drawn.choice.sequence.waits_for_mask);
  EXPECT_EQ(drawn.choice.mask.bits, drawn.truth());
  quick.finder.want(quick.request, quick.choice);
  quick.finder.find();
  EXPECT_EQ(drawn.choice.mask.work, quick.choice.mask.work) << "where it is found does not count";
}

TEST(MaskFinder, WhatIsKeptIsReadyAtOnceWithoutAnyTime) {
  Drawn drawn(0);
  std::vector<MaskWord> bits(mask_words(drawn.vocabulary->size()));
  ASSERT_TRUE(drawn.choice.constraint.allow(bits));
  drawn.finder.want(drawn.request, drawn.choice);
  drawn.finder.find();
  EXPECT_EQ(drawn.choice.mask.state, NextMask::State::kReady);
  EXPECT_EQ(drawn.choice.mask.bits, bits);
}

TEST(MaskFinder, AChoiceThatEndsMeanwhileIsNotLookedAtAgain) {
  Drawn drawn(0);
  drawn.finder.want(drawn.request, drawn.choice);
  drawn.finder.find();
  drawn.choice.active = false;
  drawn.choice.mask.drop();
  while (drawn.finder.has_jobs()) drawn.finder.collect();
  EXPECT_EQ(drawn.choice.mask.state, NextMask::State::kUnknown);
}

}  // namespace
}  // namespace octavo
