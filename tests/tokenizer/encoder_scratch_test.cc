#include "tokenizer/encoder_scratch.h"

#include <gtest/gtest.h>

namespace octavo {
namespace {

TEST(SpareScratch, IsTheOneThatWasGivenBack) {
  SpareScratch spare;
  auto scratch = spare.take();
  const EncoderScratch* first = scratch.get();
  spare.give(std::move(scratch));
  EXPECT_EQ(spare.take().get(), first);
}

TEST(SpareScratch, TwoCallsAtOnceHaveTheirOwn) {
  SpareScratch spare;
  spare.give(spare.take());
  auto one = spare.take(), other = spare.take();
  EXPECT_NE(one.get(), other.get());
  const EncoderScratch* last = other.get();
  spare.give(std::move(one));
  spare.give(std::move(other));
  EXPECT_EQ(spare.take().get(), last) << "one is kept";
}

TEST(SpareScratch, OfALongTextIsNotKept) {
  SpareScratch spare;
  auto scratch = spare.take();
  scratch->cutting.symbols.reserve(SpareScratch::kMaxBytes + 1);
  EXPECT_GT(scratch->bytes(), SpareScratch::kMaxBytes);
  spare.give(std::move(scratch));
  EXPECT_EQ(spare.take()->cutting.symbols.capacity(), 0U);
}

}  // namespace
}  // namespace octavo
