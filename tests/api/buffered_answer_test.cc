// What answers hold: bounds of one, of a client's, and of all together.
#include "api/buffered_answer.h"

#include <gmock/gmock.h>

#include <utility>

namespace octavo {
namespace {

using ::testing::HasSubstr;

constexpr BufferBudget::Limits kLimits{.answer_bytes = 600'000, .all_bytes = 1'000'000};

TEST(BufferedAnswer, OneClientHoldsFourTimesWhatIsLeftAndAnotherHasRoom) {
  BufferBudget budget(kLimits);
  BufferedAnswer first(budget, "a"), second(budget, "a"), other(budget, "b");
  EXPECT_FALSE(first.hold(400'000));
  EXPECT_FALSE(second.hold(400'000)) << "four fifths";
  const auto error = second.hold(400'001);
  ASSERT_TRUE(error);
  EXPECT_EQ(error->status, 503);
  EXPECT_THAT(error->message, HasSubstr("found 800001 bytes of this client's answers"));
  second.set(400'000);
  EXPECT_FALSE(other.hold(100'000));
  EXPECT_EQ(budget.bytes(), 900'000U);
}

TEST(BufferedAnswer, ManyAnswersOfAClientCountTogetherAndGoWithThem) {
  BufferBudget budget(kLimits);
  {
    std::vector<BufferedAnswer> answers;
    for (int i = 0; i < 100; ++i) EXPECT_EQ(answers.emplace_back(budget, "a").hold(10'000).has_value(), i >= 80) << i;
    EXPECT_EQ(budget.bytes(), 1'000'000U) << "they are counted all the same, until they go";
  }
  EXPECT_EQ(budget.bytes(), 0U);
  BufferedAnswer moved, made(budget, "a");
  EXPECT_FALSE(made.hold(500'000));
  moved = std::move(made);
  EXPECT_EQ(budget.bytes(), 500'000U);
  moved = BufferedAnswer();
  EXPECT_EQ(budget.bytes(), 0U);
}

TEST(BufferedAnswer, AFewBytesAreAlwaysHeldAndAnAnswerThatShrinksIsNoError) {
  BufferBudget budget({.answer_bytes = 1'000'000, .all_bytes = 10'000});
  BufferedAnswer large(budget, "a"), small(budget, "a");
  EXPECT_TRUE(large.hold(20'000));
  EXPECT_FALSE(small.hold(BufferBudget::kAlwaysHeld));
  EXPECT_TRUE(small.hold(BufferBudget::kAlwaysHeld + 1));
  EXPECT_FALSE(large.hold(19'000));
}

TEST(BufferedAnswer, WhoIsAloneMayHoldAll) {
  BufferBudget budget(kLimits);
  BufferedAnswer first(budget), second(budget);
  EXPECT_FALSE(first.hold(500'000));
  EXPECT_FALSE(second.hold(500'000));
  EXPECT_TRUE(second.hold(500'001));
}

}  // namespace
}  // namespace octavo
